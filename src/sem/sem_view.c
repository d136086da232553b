/* SPDX-License-Identifier: MIT */
/*
 * sem_view.c - reading sets, semaphores, who waits, and adjustments, for
 * display
 *
 * Owns nothing. One entry at a time is copied under its set's lock to a local
 * record, and only then to the caller's memory. What dead processes left is
 * applied first, as for semctl. The waiters are found in the thread slots: that
 * is one bounded loop, whatever a member has written there. A lock whose owner
 * is stopped is not waited for.
 */
#include "../../include/sysfive/admin.h"
#include "room.h"
#include "semset.h"

#include <string.h>

/* A lock is given up after 20 ms; the owner may just have lost its CPU. */
#define LOCK_TRIES 4

/* Cells of adjustments that one look goes through at most. */
#define LOOK_MAX (1u << 22)

/* One look at a set. */
struct view {
	struct s5__self *self;
	struct s5__semset *set;
	uint32_t id;
	bool locked;
	struct s5__wakes wakes;
};

/* Whether that set is there. view_end() must follow. */
static bool view_begin(struct view *view, struct s5__self *self, int id)
{
	int err = -EAGAIN;

	view->self = self;
	view->id = (uint32_t)id;
	view->locked = false;
	view->wakes.n = 0;
	view->wakes.log = 0;
	view->set = s5__set_find(id);
	if (!view->set)
		return false;
	for (int i = 0; err == -EAGAIN && i < LOCK_TRIES; i++)
		err = s5__set_lock(self, view->set, view->id, &view->wakes);
	view->locked = err == 0;
	if (view->locked && view->set->undo)
		(void)s5__undo_apply(self, view->set, &view->wakes);
	/* relaxed: the lock orders it, if we have it */
	return s5__a32_load_rlx(&view->set->id) == view->id + 1;
}

static void view_end(struct view *view)
{
	if (!view->locked)
		return;
	s5__set_unlock(view->self, view->set, &view->wakes);
	if (view->wakes.log)
		s5__set_catch_up(view->self, view->set, view->id, &view->wakes);
	s5__cells_overflow(view->self);
}

static uint32_t view_flags(const struct view *view)
{
	return view->locked ? 0 : S5_INFO_UNLOCKED;
}

static int enter(struct s5__self **ret_self)
{
	int err = s5__enter(ret_self, false);

	return err == -EACCES ? -EINVAL : err;
}

/* --- sets ----------------------------------------------------------------- */

static uint64_t last_semop(struct s5__semset *set)
{
	uint64_t otime = 0;

	for (uint32_t i = 0; i < set->nsems && i < S5__SEMMSL_MOST; i++) {
		const struct s5__sem *sem = s5__sem_at(set, i);
		uint64_t t = sem ? s5__a64_load_rlx(&sem->otime) : 0;

		otime = t > otime ? t : otime;
	}
	return otime;
}

/* Has one of the record's adjustments a value? */
static bool is_holder(const struct s5__undo *u, uint32_t *budget)
{
	for (; u && *budget; u = u->next ? s5__undo_at(u->next) : NULL) {
		(*budget)--;
		for (uint32_t i = 0; i < u->n && i < S5__UNDO_ADJ; i++)
			if (u->adj[i].adj != 0)
				return true;
	}
	return false;
}

static uint32_t count_holders(const struct s5__semset *set)
{
	const struct s5__undo *u = set->undo ? s5__undo_at(set->undo) : NULL;
	uint32_t budget = LOOK_MAX;
	uint32_t n = 0;

	for (; u && budget; u = u->rec_next ? s5__undo_at(u->rec_next) : NULL)
		n += is_holder(u, &budget);
	return n;
}

static void fill_set(struct view *view, struct s5_semset_info *info)
{
	struct s5__semset *set = view->set;

	info->key = set->ipc.key;
	info->uid = s5__a32_load_rlx(&set->ipc.uid);
	info->gid = s5__a32_load_rlx(&set->ipc.gid);
	info->cuid = s5__a32_load_rlx(&set->ipc.cuid);
	info->cgid = s5__a32_load_rlx(&set->ipc.cgid);
	info->mode = s5__a32_load_rlx(&set->ipc.mode) & 0777u;
	info->nsems =
		set->nsems < S5__SEMMSL_MOST ? set->nsems : S5__SEMMSL_MOST;
	info->waiters = set->n_wait;
	info->undoers = count_holders(set);
	info->otime = (int64_t)last_semop(set);
	info->ctime = set->ipc.ctime;
	if (s5__perm_owner(&set->ipc) == 0)
		info->flags |= S5_INFO_CONTROL;
}

static void note_owner(const struct view *view, struct s5_semset_info *info)
{
	uint32_t token = s5__a32_load_rlx(&view->set->lock);
	const struct s5__slot *owner = s5__slot_at(S5__TOKEN_IDX(token));

	info->held_pid = owner ? (int32_t)owner->pid : 0;
}

/* 0, or -EINVAL if there is no set of that id now. */
static int read_set(struct s5__self *self, int id, struct s5_semset_info *info)
{
	struct view view;
	bool found = view_begin(&view, self, id);

	if (found) {
		memset(info, 0, sizeof(*info));
		info->semid = id;
		info->flags = view_flags(&view);
		if (!view.locked)
			note_owner(&view, info);
		fill_set(&view, info);
	}
	view_end(&view);
	return found ? 0 : -EINVAL;
}

/* The id of the set at an index, or -1. What a dead remover did not commit
 * still has its name: s5__set_find() looks closer. */
static int id_at(const struct s5__semset *set, uint32_t index)
{
	uint32_t at = s5__a32_load_acq(&set->id); /* PAIR set-id: acquire */

	if (at == 0)
		at = *(const volatile uint32_t *)&set->ipc.dying;
	if (at == 0 || at > INT32_MAX || (at - 1) % S5__IPC_MNI != index)
		return -1;
	return (int)(at - 1);
}

int s5__semset_info_next(uint32_t *cursor, struct s5_semset_info *ret_info)
{
	struct s5_semset_info info;
	struct s5__self *self;
	uint32_t i = *cursor;
	int found = 0;
	int err = enter(&self);

	if (err)
		return err;
	for (; !found && i < S5__IPC_MNI; i++) {
		const struct s5__semset *set = s5__set_at(i);
		int id;

		if (!set) {
			i |= (uint32_t)S5__SET_CHUNK - 1;
			continue;
		}
		id = id_at(set, i);
		found = id >= 0 && read_set(self, id, &info) == 0;
	}
	s5__leave(self);
	*cursor = i;
	if (found)
		*ret_info = info;
	return found;
}

int s5__semset_info_get(int id, struct s5_semset_info *ret_info)
{
	struct s5_semset_info info;
	struct s5__self *self;
	int err = enter(&self);

	if (err)
		return err;
	err = read_set(self, id, &info);
	s5__leave(self);
	if (err == 0)
		*ret_info = info;
	return err;
}

/* --- semaphores ----------------------------------------------------------- */

static bool read_sem(struct view *view, uint32_t num, struct s5_sem_info *info)
{
	const struct s5__sem *sem =
		num < S5__SEMMSL_MOST ? s5__sem_at(view->set, num) : NULL;
	uint64_t word = sem ? s5__a64_load_rlx(&sem->word) : 0;

	if (!sem)
		return false;
	memset(info, 0, sizeof(*info));
	info->semid = (int32_t)view->id;
	info->number = num;
	info->value = (uint32_t)(word & S5__SEM_VALUE);
	info->pid = (int32_t)(word >> 32);
	info->flags = view_flags(view);
	if (view->locked) {
		info->ncnt = (uint32_t)s5__set_count(view->self, view->set, num,
						     false, &view->wakes);
		info->zcnt = (uint32_t)s5__set_count(view->self, view->set, num,
						     true, &view->wakes);
	}
	return true;
}

int s5__sem_info_get(int id, uint32_t num, struct s5_sem_info *ret_info)
{
	struct s5_sem_info info;
	struct s5__self *self;
	struct view view;
	bool found;
	int err = enter(&self);

	if (err)
		return err;
	found = view_begin(&view, self, id) && read_sem(&view, num, &info);
	view_end(&view);
	s5__leave(self);
	if (found)
		*ret_info = info;
	return found ? 0 : -EINVAL;
}

/* --- waiters -------------------------------------------------------------- */

/* What the slot's thread waits for; false if it does not wait at that set. */
static bool fill_waiter(const struct s5__slot *w, const struct view *view,
			struct s5_sem_waiter_info *info)
{
	struct s5__ops ops;
	struct s5__op op;

	/* PAIR slot-word: acquire */
	if (w->wait_kind != S5__WAIT_SEM || w->wait_id != view->id + 1 ||
	    (s5__a32_load_acq(&w->word) & FUTEX_OWNER_DIED))
		return false;
	ops = s5__ops_of(w);
	if (w->wait_block >= ops.n)
		return false;
	op = s5__op_get(&ops, w->wait_block);
	memset(info, 0, sizeof(*info));
	info->semid = (int32_t)view->id;
	info->number = op.num;
	info->op = op.op;
	info->nsops = ops.n;
	info->pid = (int32_t)w->pid;
	info->tid = (int32_t)w->tid;
	info->pid_ns = w->pid_ns;
	info->euid = w->euid;
	info->flags = view_flags(view);
	info->since = w->wait_since;
	info->order = w->wait_order;
	return true;
}

/* The id of the set that the slot seems to wait at, or -1. No lock. */
static int waits_at(const struct s5__slot *w)
{
	uint32_t at = *(const volatile uint32_t *)&w->wait_id;

	if (*(const volatile uint32_t *)&w->wait_kind != S5__WAIT_SEM ||
	    at == 0 || at > INT32_MAX)
		return -1;
	return (int)(at - 1);
}

static bool read_waiter(struct s5__self *self, const struct s5__slot *w, int id,
			struct s5_sem_waiter_info *info)
{
	struct view view;
	bool found = view_begin(&view, self, id) && fill_waiter(w, &view, info);

	view_end(&view);
	return found;
}

int s5__sem_waiter_next(uint32_t *cursor, int id,
			struct s5_sem_waiter_info *ret_info)
{
	struct s5_sem_waiter_info info;
	struct s5__self *self;
	uint32_t i = *cursor;
	int found = 0;
	int err = enter(&self);
	uint32_t most;

	if (err)
		return err;
	/* PAIR dir: acquire */
	most = s5__a32_load_acq(&s5__header()->slot_chunks);
	most = most < S5__SLOT_CHUNK ? most * 8u : S5__SLOTS_MAX;
	for (; !found && i < most; i++) {
		const struct s5__slot *w = s5__slot_at(i);
		int at = w ? waits_at(w) : -1;

		if (at < 0 || i == self->idx || (id >= 0 && at != id))
			continue;
		found = read_waiter(self, w, at, &info);
	}
	s5__leave(self);
	*cursor = i;
	if (found)
		*ret_info = info;
	return found;
}

/* --- adjustments ---------------------------------------------------------- */

static void fill_undo(const struct view *view, const struct s5__undo *record,
		      const struct s5__adj *adj, struct s5_sem_undo_info *info)
{
	const struct s5__proc *p = s5__proc_at(record->proc);

	memset(info, 0, sizeof(*info));
	info->semid = (int32_t)view->id;
	info->number = adj->num;
	info->adjust = adj->adj;
	info->pid = (int32_t)record->pid;
	info->pid_ns = p ? p->pid_ns : 0;
	info->flags = view_flags(view);
}

/* The first adjustment at or after the cursor: bits 32-63 count the set's
 * records, bits 0-31 what lies in one. */
static bool find_undo(const struct view *view, uint64_t *cursor,
		      struct s5_sem_undo_info *info)
{
	uint32_t cell = view->set->undo;
	uint32_t budget = LOOK_MAX;

	for (uint32_t r = 0; cell && budget; r++) {
		const struct s5__undo *record = s5__undo_at(cell);
		const struct s5__undo *u = record;
		uint64_t at = (uint64_t)r << 32;

		for (; u && budget; budget--) {
			for (uint32_t i = 0; i < S5__UNDO_ADJ; i++, at++) {
				if (at < *cursor || i >= u->n ||
				    u->adj[i].adj == 0)
					continue;
				fill_undo(view, record, &u->adj[i], info);
				*cursor = at + 1;
				return true;
			}
			u = u->next ? s5__undo_at(u->next) : NULL;
		}
		cell = record ? record->rec_next : 0;
	}
	return false;
}

int s5__sem_undo_next(uint64_t *cursor, int id,
		      struct s5_sem_undo_info *ret_info)
{
	struct s5_sem_undo_info info;
	uint64_t at = *cursor;
	struct s5__self *self;
	struct view view;
	bool found;
	int err = enter(&self);

	if (err)
		return err;
	found = view_begin(&view, self, id) && find_undo(&view, &at, &info);
	view_end(&view);
	s5__leave(self);
	if (found) {
		*cursor = at;
		*ret_info = info;
	}
	return found;
}
