/* SPDX-License-Identifier: MIT */
/*
 * sem_repair.c - what callers that died or jumped away left, and removal
 *
 * Each step takes the set's lock, looks whether it is still due, and does it in
 * one transaction; so it may be done again, and by several at once.
 */
#include "room.h"
#include "semset.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

int s5__log_extend(struct s5__self *self, uint32_t n)
{
	uint32_t pages = (n + S5__LOG_PAGE - 1) / S5__LOG_PAGE;
	int err;

	if (n <= S5__LOG_MAX)
		return 0;
	if (n > S5__LOG_FAR_MAX)
		return -ENOMEM;
	err = s5__pages_take(self, pages);
	if (err == 0)
		self->log_cap = S5__LOG_MAX + pages * S5__LOG_PAGE;
	return err;
}

void s5__log_shrink(struct s5__self *self)
{
	if (S5_LIKELY(self->log_cap == S5__LOG_MAX))
		return;
	self->log_cap = S5__LOG_MAX;
	/* If the heap's lock is not to be had, the next taker puts them back.
	 */
	(void)s5__pages_put(self, &self->slot->pages);
}

void s5__set_catch_up(struct s5__self *self, struct s5__semset *set,
		      uint32_t id, struct s5__wakes *wakes)
{
	bool due = true;

	while (due) {
		int err = wakes->log > self->log_cap
				  ? s5__log_extend(self, wakes->log)
				  : 0;

		wakes->log = 0;
		if (err == -ENOMEM)
			break; /* who takes the lock next may have room */
		if (err == 0)
			err = s5__set_lock(self, set, id, wakes);
		if (err == -EAGAIN) {
			(void)s5__lock_wait(self);
			continue;
		}
		if (err)
			break;
		due = set->due;
		s5__set_unlock(self, set, wakes);
	}
	s5__log_shrink(self);
}

static bool may_touch(const struct s5__self *self, const struct s5__slot *s)
{
	return s == self->slot ||
	       (s5__a32_load_rlx(&s->word) & FUTEX_OWNER_DIED);
}

/* Takes the slot's waiter off its list; what was granted stands. */
static int drop(struct s5__self *self, struct s5__slot *s)
{
	struct s5__semset *set = s5__set_at(s->wait_obj);
	struct s5__wakes wakes = {.n = 0};
	int err;

	if (s->room != S5__KIND_SEM || !set ||
	    (s == self->slot && !(self->unfinished & S5__UNFINISHED_WAIT)))
		return 0;
	if (s == self->slot)
		(void)s5__wait_accept(self);
	err = s5__set_lock(self, set, s->wait_id - 1, &wakes);
	if (err == -EIDRM) {
		/* It is dying, or gone: then nobody waits there any more. */
		if (!s5__set_lock_dying(self, set, s->wait_id, &wakes)) {
			if (may_touch(self, s))
				s->wait_kind = S5__WAIT_NONE;
			return 0;
		}
		err = 0;
	}
	if (err)
		return err;
	if (s->wait_kind == S5__WAIT_SEM && s->room == S5__KIND_SEM &&
	    s5__set_at(s->wait_obj) == set && may_touch(self, s))
		s5__sleeper_unlink(self, set, s);
	s5__set_unlock(self, set, &wakes);
	S5_CRASH_POINT("sem-drop");
	return 0;
}

/* How many threads the process has, by the links of its task directory. */
static bool has_one_thread(void)
{
	struct stat sb;

	return s5__sys(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/task",
		       (long)&sb, 0, 0, 0) == 0 &&
	       sb.st_nlink == 3;
}

void s5__sem_unshared(void)
{
	struct s5__self *self;

	/* With other threads, only the last one's leaving would count. */
	if (!has_one_thread() || s5__enter(&self, false) != 0)
		return;
	if (s5__proc_forsake(self)) {
		for (uint32_t i = 0; i < S5__IPC_MNI; i++) {
			struct s5__semset *set = s5__set_at(i);
			struct s5__wakes wakes = {.n = 0};

			if (!set) {
				i |= (uint32_t)S5__SET_CHUNK - 1;
				continue;
			}
			if (s5__hint(&set->undo) == 0)
				continue;
			if (!s5__lock_firmly(self, &set->lock))
				break;
			s5__set_settle(self, set, i, &wakes);
			s5__set_unlock(self, set, &wakes);
		}
	}
	s5__leave(self);
}

/* --- removal
 * ------------------------------------------------------------------ */

/* Everybody who waits gets EIDRM; true: there are more. */
static bool release_step(struct s5__self *self, struct s5__semset *set,
			 struct s5__wakes *wakes)
{
	return !s5__set_release(self, set, wakes);
}

static bool undo_step(struct s5__self *self, struct s5__semset *set,
		      struct s5__wakes *wakes)
{
	(void)wakes;
	return s5__undo_free_first(self, set);
}

/* The pages go to our slot, which is empty, and from there to their list. */
static bool memory_step(struct s5__self *self, struct s5__semset *set,
			struct s5__wakes *wakes)
{
	(void)wakes;
	if (set->array == 0)
		return false;
	s5__tx_log32(self, &set->array);
	s5__tx_log32(self, &self->slot->held);
	s5__tx_arm(self);
	self->slot->held = set->array;
	set->array = 0;
	s5__tx_commit(self);
	return false;
}

/* As in msg_repair.c: a name that somebody removed who died before the commit
 * is there again once its lock was taken. */
static bool is_dying(struct s5__self *self, const struct s5__semset *set,
		     uint32_t dying)
{
	bool due;

	if (!s5__lock_firmly(self, &s5__header()->reg_lock))
		return false;
	due = set->ipc.phase == S5__PHASE_DYING && set->ipc.dying == dying;
	s5__unlock(self, &s5__header()->reg_lock);
	return due;
}

void s5__set_dismantle(struct s5__self *self, uint32_t index)
{
	static bool (*const step[])(struct s5__self *, struct s5__semset *,
				    struct s5__wakes *) = {release_step,
							   undo_step,
							   memory_step};
	struct s5__semset *set = s5__set_at(index);
	uint32_t dying = set ? set->ipc.dying : 0;
	uint32_t *kept = &s5__header()->sem_page;
	struct s5__wakes wakes = {.n = 0};
	int at = 0;

	while (set && at < 3) {
		bool more;

		s5__pages_let_go(self, &self->slot->held, kept);
		if (!s5__set_lock_dying(self, set, dying, &wakes)) {
			if (!is_dying(self, set, dying))
				return;
			continue;
		}
		more = step[at](self, set, &wakes);
		s5__set_unlock(self, set, &wakes);
		s5__cells_overflow(self);
		if (!more)
			at++;
		S5_CRASH_POINT("sem-dismantle-step");
	}
	s5__pages_let_go(self, &self->slot->held, kept);
	while (set &&
	       s5__names_remove(self, &s5__sem_kind, index, dying) == -EAGAIN)
		(void)s5__lock_wait(self);
}

const struct s5__facility s5__sem_facility = {
	.drop = drop,
	.dismantle = s5__set_dismantle,
};
