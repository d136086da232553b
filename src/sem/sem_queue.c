/* SPDX-License-Identifier: MIT */
/*
 * sem_queue.c - who sleeps at a set, and who can proceed
 *
 * The set's lock is held. Values, adjustments and the sleepers' states change
 * in transactions, one for each call that is completed; lists and counts are
 * not logged: `busy` says that they may be half changed, and they are rebuilt
 * from the slots (E2). Between "the value rose" and "all who could go have
 * gone" the set is `due` (E3).
 */
#include "semset.h"

#include <string.h>
#include <sys/sem.h>

/* slot->lane: which list a sleeper stands in. */
enum place {
	PLACE_SET_ALTER = 1,
	PLACE_SET_ZERO = 2,
	PLACE_SEM_ALTER = 3,
	PLACE_SEM_ZERO = 4,
};

/* slot->wait_size: what kind of call it is. */
#define CALL_ALTERS 1u
#define CALL_MIXED  2u /* several operations, some with IPC_NOWAIT */

#define NUMS_MAX 64u /* semaphores of a completed call that are looked at */

/* --- operations ------------------------------------------------------------
 */

struct s5__ops s5__ops_of(const struct s5__slot *w)
{
	struct s5__ops ops = {.slot = w, .n = w->wait_flags, .pid = w->pid};
	const struct s5__message *m;

	ops.undo = w->wait_undo;
	if (ops.n > S5__SEMOPM_MOST)
		ops.n = 0; /* damaged */
	if (ops.n > 1) {
		m = s5__message_at(w->hand);
		if (!m || m->size / sizeof(struct s5__op) < ops.n)
			ops.n = 0; /* damaged */
	}
	return ops;
}

struct s5__op s5__op_get(const struct s5__ops *ops, uint32_t i)
{
	struct s5__op op = {0, 0, 0, 0};

	if (ops->array)
		return ops->array[i];
	if (ops->n == 1) {
		memcpy(&op, &ops->slot->wait_type, sizeof(op));
	} else {
		const struct s5__message *m = s5__message_at(ops->slot->hand);
		const void *p = m ? s5__body_at(m, i * sizeof(op)) : NULL;

		if (p)
			memcpy(&op, p, sizeof(op));
	}
	return op;
}

void s5__sem_freeze(struct s5__sem *sem)
{
	if (!(s5__a64_load_rlx(&sem->word) & S5__SEM_SLOW))
		(void)s5__a64_or_full(&sem->word, S5__SEM_SLOW);
}

void s5__sem_thaw(struct s5__sem *sem)
{
	uint64_t word = s5__a64_load_rlx(&sem->word);

	/* PAIR sem-word: release; while it is SLOW nobody else stores it. */
	if (sem->refs == 0 && (word & S5__SEM_SLOW))
		s5__a64_store_rel(&sem->word, word & ~S5__SEM_SLOW);
}

void s5__set_freeze(struct s5__semset *set)
{
	for (uint32_t i = 0; i < s5__set_n(set); i++) {
		struct s5__sem *sem = s5__sem_at(set, i);

		if (sem)
			s5__sem_freeze(sem);
	}
}

void s5__set_thaw(struct s5__semset *set)
{
	for (uint32_t i = 0; i < s5__set_n(set); i++) {
		struct s5__sem *sem = s5__sem_at(set, i);

		if (sem)
			s5__sem_thaw(sem);
	}
}

void s5__ops_thaw(struct s5__semset *set, const struct s5__ops *ops)
{
	for (uint32_t i = 0; i < ops->n; i++) {
		struct s5__sem *sem = s5__sem_at(set, s5__op_get(ops, i).num);

		if (sem)
			s5__sem_thaw(sem);
	}
}

/* One operation: 0, 1 if it would have to wait, -ERANGE, or -EIDRM if the set
 * is damaged. */
static int perform_one(struct s5__self *self, struct s5__semset *set,
		       const struct s5__ops *ops, struct s5__op op)
{
	struct s5__sem *sem = s5__sem_at(set, op.num);
	struct s5__adj *adj = NULL;
	uint64_t word;
	int value;

	if (!sem)
		return -EIDRM;
	s5__sem_freeze(sem);
	word = s5__a64_load_rlx(&sem->word);
	value = (int)(word & S5__SEM_VALUE);
	if (op.op == 0 && value != 0)
		return 1;
	value += op.op;
	if (value < 0)
		return 1;
	if (value > S5__SEM_MAX)
		return -ERANGE;
	if ((op.flg & SEM_UNDO) && op.op != 0)
		adj = s5__undo_find(ops->undo, op.num);
	if (adj) {
		int left = adj->adj - op.op;

		if (left < S5__SEM_ADJ_LOW || left > S5__SEM_MAX)
			return -ERANGE;
		s5__tx_log32(self, (const uint32_t *)&adj->adj);
		s5__tx_arm(self);
		adj->adj = left;
	}
	s5__tx_log64(self, &sem->word);
	s5__tx_arm(self);
	word = (word & (S5__SEM_SLOW | S5__SEM_GEN)) | (uint64_t)value |
	       (uint64_t)ops->pid << 32;
	s5__a64_store_rlx(&sem->word, word);
	S5_CRASH_POINT("sem-performed");
	return 0;
}

int s5__ops_perform(struct s5__self *self, struct s5__semset *set,
		    const struct s5__ops *ops, uint32_t *ret_block)
{
	for (uint32_t i = 0; i < ops->n; i++) {
		struct s5__op op = s5__op_get(ops, i);
		int ret = perform_one(self, set, ops, op);

		if (ret == 0)
			continue;
		if (self->log_n)
			s5__tx_abort(self);
		if (ret == 1 && (op.flg & IPC_NOWAIT))
			ret = -EAGAIN;
		*ret_block = i;
		return ret;
	}
	return 0;
}

/* --- lists ------------------------------------------------------------------
 */

__attribute__((nonnull)) static struct s5__sem_list *
list_of(struct s5__semset *set, const struct s5__slot *w)
{
	struct s5__ops ops = s5__ops_of(w);
	struct s5__sem *sem;

	switch (w->lane) {
	case PLACE_SET_ALTER:
		return &set->alter;
	case PLACE_SET_ZERO:
		return &set->zero;
	default:
		sem = s5__sem_at(set, s5__op_get(&ops, 0).num);
		if (!sem)
			return NULL;
		return w->lane == PLACE_SEM_ALTER ? &sem->alter : &sem->zero;
	}
}

/* Enters a slot by its arrival number; most are the last. */
static void insert(struct s5__sem_list *list, uint32_t idx, struct s5__slot *w)
{
	uint32_t before = list->tail;
	struct s5__slot *b = s5__slot_at(before);

	for (uint32_t n = 0; b && b->wait_order > w->wait_order; n++) {
		before = n < S5__SLOTS_MAX ? b->prev : 0;
		b = s5__slot_at(before);
	}
	w->prev = b ? before : 0;
	w->next = b ? b->next : list->head;
	if (b)
		b->next = idx;
	else
		list->head = idx;
	if (w->next) {
		struct s5__slot *after = s5__slot_at(w->next);

		if (after)
			after->prev = idx;
	} else {
		list->tail = idx;
	}
}

static void take_out(struct s5__sem_list *list, const struct s5__slot *w)
{
	struct s5__slot *before = s5__slot_at(w->prev);
	struct s5__slot *after = s5__slot_at(w->next);

	if (before)
		before->next = w->next;
	else
		list->head = w->next;
	if (after)
		after->prev = w->prev;
	else
		list->tail = w->prev;
}

/* Adds `by` to the count of each semaphore that the call names. */
static void count_refs(struct s5__semset *set, const struct s5__ops *ops,
		       uint32_t by)
{
	for (uint32_t i = 0; i < ops->n; i++) {
		struct s5__sem *sem = s5__sem_at(set, s5__op_get(ops, i).num);

		if (sem)
			sem->refs += by;
	}
}

/* Single decrements wait behind one another with the calls of several
 * operations as long as one of these waits (E4). */
static void merge(struct s5__semset *set)
{
	for (uint32_t i = 0; i < s5__set_n(set); i++) {
		struct s5__sem *sem = s5__sem_at(set, i);
		uint32_t at = sem ? sem->alter.head : 0;

		for (uint32_t n = 0; at && n < S5__SLOTS_MAX; n++) {
			struct s5__slot *w = s5__slot_at(at);
			uint32_t next = w ? w->next : 0;

			if (!w)
				break; /* damaged */
			w->lane = PLACE_SET_ALTER;
			insert(&set->alter, at, w);
			at = next;
		}
		if (sem)
			sem->alter = (struct s5__sem_list){0, 0};
	}
}

static void unmerge(struct s5__semset *set)
{
	uint32_t at = set->alter.head;

	set->alter = (struct s5__sem_list){0, 0};
	for (uint32_t n = 0; at && n < S5__SLOTS_MAX; n++) {
		struct s5__slot *w = s5__slot_at(at);
		uint32_t next = w ? w->next : 0;
		struct s5__sem_list *list;

		if (!w)
			break; /* damaged */
		w->lane = PLACE_SEM_ALTER;
		list = list_of(set, w);
		if (list)
			insert(list, at, w);
		at = next;
	}
}

static void enter(struct s5__semset *set, uint32_t idx, struct s5__slot *w)
{
	struct s5__ops ops = s5__ops_of(w);
	bool alters = w->wait_size & CALL_ALTERS;
	struct s5__sem_list *list;

	if (ops.n > 1)
		w->lane = alters ? PLACE_SET_ALTER : PLACE_SET_ZERO;
	else if (alters)
		w->lane = set->complex ? PLACE_SET_ALTER : PLACE_SEM_ALTER;
	else
		w->lane = PLACE_SEM_ZERO;
	list = list_of(set, w);
	if (list)
		insert(list, idx, w);
	count_refs(set, &ops, 1);
	set->n_wait++;
	if (w->wait_size & CALL_MIXED)
		set->mixed++;
}

void s5__sleeper_link(struct s5__self *self, struct s5__semset *set,
		      const struct s5__ops *ops, uint32_t block)
{
	struct s5__slot *w = self->slot;
	struct s5__op first = s5__op_get(ops, 0);

	w->wait_flags = ops->n;
	w->wait_undo = ops->undo;
	w->wait_block = block;
	w->wait_size = 0;
	memcpy(&w->wait_type, &first, sizeof(first));
	for (uint32_t i = 0; i < ops->n; i++) {
		struct s5__op op = s5__op_get(ops, i);

		if (op.op != 0)
			w->wait_size |= CALL_ALTERS;
		if (ops->n > 1 && (op.flg & IPC_NOWAIT))
			w->wait_size |= CALL_MIXED;
	}
	w->wait_order = set->order++;
	if (ops->n > 1 && set->complex++ == 0)
		merge(set);
	enter(set, self->idx, w);
	s5__order(); /* a rebuild finds it from here on */
	w->wait_kind = S5__WAIT_SEM;
}

/* What a completed call has done: kept while its slot goes its own way. */
struct deed {
	uint32_t n; /* semaphores named, or more than NUMS_MAX: too many */
	uint16_t num[NUMS_MAX];
	bool rose; /* a value */
	bool several;
};

static struct deed deed_of(const struct s5__ops *ops)
{
	struct deed deed = {.n = ops ? ops->n : NUMS_MAX + 1};

	deed.several = deed.n > 1;
	for (uint32_t i = 0; ops && i < ops->n; i++) {
		struct s5__op op = s5__op_get(ops, i);

		if (deed.n <= NUMS_MAX)
			deed.num[i] = op.num;
		deed.rose |= op.op > 0;
	}
	return deed;
}

/* Lets the fast path in again where nobody waits any more; what was done to the
 * words has been committed. */
static void thaw_after(struct s5__semset *set, const struct deed *deed)
{
	if (deed->n > NUMS_MAX) {
		s5__set_thaw(set);
		return;
	}
	for (uint32_t i = 0; i < deed->n; i++) {
		struct s5__sem *sem = s5__sem_at(set, deed->num[i]);

		if (sem)
			s5__sem_thaw(sem);
	}
}

static void leave(struct s5__semset *set, struct s5__slot *w)
{
	struct s5__ops ops = s5__ops_of(w);
	struct s5__sem_list *list = list_of(set, w);

	if (list)
		take_out(list, w);
	count_refs(set, &ops, (uint32_t)-1);
	if (w->wait_flags > 1)
		set->complex--;
	if (w->wait_size & CALL_MIXED)
		set->mixed--;
	set->n_wait--;
}

void s5__sleeper_unlink(struct s5__self *self, struct s5__semset *set,
			struct s5__slot *w)
{
	struct s5__ops ops = s5__ops_of(w);
	struct deed deed = deed_of(&ops);

	s5__tx_log32(self, &w->wait_kind);
	s5__tx_arm(self);
	leave(set, w);
	w->wait_kind = S5__WAIT_NONE;
	s5__tx_commit(self);
	thaw_after(set, &deed);
}

static bool sleeps_at(const struct s5__slot *w, const struct s5__semset *set,
		      uint32_t index)
{
	return s5__slot_phase(s5__a64_load_acq(&w->state)) == S5__SLOT_USED &&
	       w->room == S5__KIND_SEM && w->wait_kind == S5__WAIT_SEM &&
	       w->wait_obj == index &&
	       (w->wait_id == s5__a32_load_rlx(&set->id) ||
		w->wait_id == set->ipc.dying);
}

/* E1, from the counts. */
static void set_slow(struct s5__semset *set)
{
	for (uint32_t i = 0; i < s5__set_n(set); i++) {
		struct s5__sem *sem = s5__sem_at(set, i);

		if (!sem)
			break;
		if (sem->refs)
			s5__sem_freeze(sem);
		else
			s5__sem_thaw(sem);
	}
}

/* E2: a holder died while lists were being changed. */
static void rebuild(struct s5__semset *set, uint32_t index)
{
	/* PAIR dir: acquire */
	uint32_t most = s5__a32_load_acq(&s5__header()->slot_chunks) * 8u;

	if (most > S5__SLOTS_MAX)
		most = S5__SLOTS_MAX;
	set->alter = (struct s5__sem_list){0, 0};
	set->zero = set->alter;
	set->complex = 0;
	set->mixed = 0;
	set->n_wait = 0;
	for (uint32_t i = 0; i < s5__set_n(set); i++) {
		struct s5__sem *sem = s5__sem_at(set, i);

		if (!sem)
			break;
		sem->alter = set->alter;
		sem->zero = set->alter;
		sem->refs = 0;
	}
	for (uint32_t i = 1; i < most; i++) {
		const struct s5__slot *w = s5__slot_at(i);

		if (w && sleeps_at(w, set, index) && w->wait_flags > 1)
			set->complex++;
	}
	for (uint32_t i = 1; i < most; i++) {
		struct s5__slot *w = s5__slot_at(i);

		if (w && sleeps_at(w, set, index)) {
			enter(set, i, w);
			if (w->wait_order >= set->order)
				set->order = w->wait_order + 1;
		}
	}
	set_slow(set);
}

/* --- lock --------------------------------------------------------------------
 */

static void bring_in_order(struct s5__self *self, struct s5__semset *set,
			   uint32_t index, struct s5__wakes *wakes)
{
	if (S5_UNLIKELY(set->busy))
		rebuild(set, index);
	set->busy = 1;
	s5__order();
	if (S5_UNLIKELY(set->due))
		(void)s5__set_update(self, set, NULL, wakes);
}

int s5__set_lock(struct s5__self *self, struct s5__semset *set, uint32_t id,
		 struct s5__wakes *wakes)
{
	int err = s5__lock(self, &set->lock);

	if (err)
		return err;
	/* relaxed: the lock orders it */
	if (S5_UNLIKELY(s5__a32_load_rlx(&set->id) != id + 1)) {
		s5__unlock(self, &set->lock);
		return -EIDRM;
	}
	bring_in_order(self, set, id % S5__IPC_MNI, wakes);
	return 0;
}

bool s5__set_lock_dying(struct s5__self *self, struct s5__semset *set,
			uint32_t dying, struct s5__wakes *wakes)
{
	if (!s5__lock_firmly(self, &set->lock))
		return false;
	if (set->ipc.phase != S5__PHASE_DYING || set->ipc.dying != dying) {
		s5__unlock(self, &set->lock);
		return false;
	}
	set->due = 0; /* nobody proceeds any more */
	bring_in_order(self, set, (dying - 1) % S5__IPC_MNI, wakes);
	return true;
}

void s5__set_settle(struct s5__self *self, struct s5__semset *set,
		    uint32_t index, struct s5__wakes *wakes)
{
	bring_in_order(self, set, index, wakes);
	if (s5__a32_load_rlx(&set->id))
		(void)s5__undo_apply(self, set, wakes);
}

void s5__set_unlock(struct s5__self *self, struct s5__semset *set,
		    struct s5__wakes *wakes)
{
	if (S5_UNLIKELY(set->complex == 0 && set->alter.head))
		unmerge(set);
	s5__order();
	set->busy = 0;
	s5__unlock(self, &set->lock);
	S5_CRASH_POINT("sem-unlocked");
	if (S5_UNLIKELY(wakes->n)) {
		s5__wake_many(wakes->slot, wakes->n); /* W7 */
		wakes->n = 0;
	}
}

/* --- who can proceed --------------------------------------------------------
 */

enum tried {
	TRIED_WAITS, /* it still has to */
	TRIED_DONE,  /* completed */
	TRIED_GONE,  /* it got an error, or is dead */
	TRIED_STOP,  /* there is no room to complete it */
};

/* Commits, and keeps the wakeup for later (W5). */
static void commit(struct s5__self *self, struct s5__wakes *wakes)
{
	s5__tx_commit(self);
	for (uint32_t i = 0; i < self->wake_n; i++)
		if (self->slot->wake[i].asleep && wakes->n < S5__WAKES)
			wakes->slot[wakes->n++] = self->slot->wake[i].slot;
	self->wake_n = 0;
	self->wake_done = 0;
	s5__a64_store_rlx(&self->slot->commit, 0);
}

/* Ends the sleep of `w` with `result`, 0 or an errno, in one transaction with
 * what was performed for it. */
static void finish(struct s5__self *self, struct s5__semset *set, uint32_t idx,
		   struct s5__slot *w, uint32_t result, struct s5__wakes *wakes)
{
	struct s5__ops ops = s5__ops_of(w);
	struct deed deed = deed_of(&ops);

	s5__tx_log32(self, &w->wait_kind);
	s5__tx_arm(self);
	leave(set, w);
	w->wait_kind = S5__WAIT_NONE;
	(void)s5__wake_add(self, idx, w->wait_seq, result);
	S5_CRASH_POINT("sem-granted");
	commit(self, wakes);
	thaw_after(set, &deed);
}

static enum tried try(struct s5__self *self, struct s5__semset *set,
		      uint32_t idx, struct s5__slot *w, struct s5__wakes *wakes)
{
	struct s5__ops ops = s5__ops_of(w);
	uint32_t block = 0;
	int ret;

	/* PAIR slot-word: acquire */
	if (s5__a32_load_acq(&w->word) & FUTEX_OWNER_DIED) {
		s5__sleeper_unlink(self, set, w);
		return TRIED_GONE;
	}
	/* One that a handler has interrupted leaves, or was left for good. */
	if (s5__a32_load_rlx(&w->wait_word) >= S5__WAIT_BUMP)
		return TRIED_WAITS;
	if (s5__slot_is_late(w) && s5__slot_is_stopped(w)) { /* */
		finish(self, set, idx, w, EINTR, wakes);
		return TRIED_GONE;
	}
	if (s5__ops_log(ops.n) > s5__tx_room(self) || wakes->n >= S5__WAKES) {
		wakes->log = s5__ops_log(ops.n);
		return TRIED_STOP;
	}
	ret = s5__ops_perform(self, set, &ops, &block);
	if (ret == 1) {
		w->wait_block = block;
		return TRIED_WAITS;
	}
	finish(self, set, idx, w, (uint32_t)-ret, wakes);
	return ret == 0 ? TRIED_DONE : TRIED_GONE;
}

/* A scan under way. */
struct scan {
	struct s5__self *self;
	struct s5__semset *set;
	struct s5__wakes *wakes;
	bool completed; /* somebody */
	bool stopped;	/* for lack of room */
};

static int value_of(struct s5__semset *set, uint32_t num)
{
	const struct s5__sem *sem = s5__sem_at(set, num);

	return sem ? (int)(s5__a64_load_rlx(&sem->word) & S5__SEM_VALUE) : -1;
}

/* Completes those who wait for zero in one list; they change nothing. */
static void wake_zero_list(struct scan *scan, const struct s5__sem_list *list)
{
	uint32_t at = list->head;

	for (uint32_t n = 0; at && n < S5__SLOTS_MAX && !scan->stopped; n++) {
		struct s5__slot *w = s5__slot_at(at);
		uint32_t next = w ? w->next : 0;
		enum tried t =
			w ? try(scan->self, scan->set, at, w, scan->wakes)
			  : TRIED_WAITS;

		scan->completed |= t == TRIED_DONE;
		scan->stopped |= t == TRIED_STOP;
		at = next;
	}
}

/* A semaphore may have become zero; whether it is. */
static bool wake_zero(struct scan *scan, uint32_t num)
{
	struct s5__sem *sem = s5__sem_at(scan->set, num);

	if (!sem || value_of(scan->set, num) != 0)
		return false;
	if (sem->zero.head)
		wake_zero_list(scan, &sem->zero);
	return true;
}

static void wake_zero_after(struct scan *scan, const struct deed *deed)
{
	bool any = false;

	if (deed->n <= NUMS_MAX) {
		for (uint32_t i = 0; i < deed->n; i++)
			any |= wake_zero(scan, deed->num[i]);
	} else {
		for (uint32_t i = 0; i < s5__set_n(scan->set); i++)
			any |= wake_zero(scan, i);
	}
	if (any && scan->set->zero.head)
		wake_zero_list(scan, &scan->set->zero);
}

/*
 * Linux looks through the whole queue again after each call that it completes
 * there, which is quadratic. Who could not proceed before can now only
 * if a value rose or became zero; or must give up, if an operation with
 * IPC_NOWAIT would now be the one to wait.
 */
static bool must_restart(const struct scan *scan, const struct deed *deed)
{
	if (!scan->set->alter.head && !deed->several)
		return false;
	if (deed->rose || scan->set->mixed || deed->n > NUMS_MAX)
		return true;
	for (uint32_t i = 0; i < deed->n; i++)
		if (value_of(scan->set, deed->num[i]) == 0)
			return true;
	return false;
}

/* Completes those of a list who can proceed, first come first served; `num` is
 * the semaphore whose list it is, or -1. */
static void serve_list(struct scan *scan, const struct s5__sem_list *list,
		       int num)
{
	uint32_t at = list->head;
	uint32_t restarts = 0;

	for (uint32_t n = 0; at && n < S5__SLOTS_MAX && !scan->stopped; n++) {
		struct s5__slot *w = s5__slot_at(at);
		struct s5__ops ops;
		struct deed deed;
		enum tried t;
		uint32_t next;

		if (!w || (num >= 0 && value_of(scan->set, (uint32_t)num) == 0))
			break;
		next = w->next;
		ops = s5__ops_of(w);
		deed = deed_of(&ops);
		t = try(scan->self, scan->set, at, w, scan->wakes);
		scan->stopped |= t == TRIED_STOP;
		if (t == TRIED_DONE) {
			scan->completed = true;
			wake_zero_after(scan, &deed);
			if (must_restart(scan, &deed) &&
			    restarts++ < S5__SLOTS_MAX) {
				next = list->head;
				n = 0;
			}
		}
		at = next;
	}
}

static void serve(struct scan *scan, uint32_t num)
{
	struct s5__sem *sem = s5__sem_at(scan->set, num);

	if (sem && sem->alter.head)
		serve_list(scan, &sem->alter, (int)num);
}

static void serve_all(struct scan *scan, const struct s5__ops *ops)
{
	struct s5__semset *set = scan->set;

	if (set->alter.head) {
		serve_list(scan, &set->alter, -1);
	} else if (!ops) {
		for (uint32_t i = 0; i < s5__set_n(set) && !scan->stopped; i++)
			serve(scan, i);
	} else {
		for (uint32_t i = 0; i < ops->n && !scan->stopped; i++) {
			struct s5__op op = s5__op_get(ops, i);

			if (op.op > 0)
				serve(scan, op.num);
		}
	}
}

bool s5__set_update(struct s5__self *self, struct s5__semset *set,
		    const struct s5__ops *ops, struct s5__wakes *wakes)
{
	struct scan scan = {.self = self, .set = set, .wakes = wakes};
	struct deed deed = deed_of(ops);
	struct s5__sem *sem;

	wake_zero_after(&scan, &deed);
	if (!scan.stopped)
		serve_all(&scan, ops);
	sem = s5__sem_at(set, ops ? s5__op_get(ops, 0).num : 0);
	if (scan.completed && sem)
		s5__a64_store_rlx(&sem->otime, (uint64_t)s5__now_s());
	if (scan.stopped)
		return false;
	set->due = 0;
	return true;
}

/* --- removal, counting -------------------------------------------------------
 */

static bool release_list(struct s5__self *self, struct s5__semset *set,
			 struct s5__sem_list *list, struct s5__wakes *wakes)
{
	for (uint32_t n = 0; list->head && n < S5__SLOTS_MAX; n++) {
		struct s5__slot *w = s5__slot_at(list->head);

		if (wakes->n >= S5__WAKES)
			return false;
		if (!w || w->wait_kind != S5__WAIT_SEM) {
			list->head = 0; /* damaged: cut it off */
			list->tail = 0;
			break;
		}
		finish(self, set, list->head, w, EIDRM, wakes);
	}
	return true;
}

bool s5__set_release(struct s5__self *self, struct s5__semset *set,
		     struct s5__wakes *wakes)
{
	if (!release_list(self, set, &set->alter, wakes) ||
	    !release_list(self, set, &set->zero, wakes))
		return false;
	for (uint32_t i = 0; i < s5__set_n(set) && set->n_wait; i++) {
		struct s5__sem *sem = s5__sem_at(set, i);

		if (!sem)
			break;
		if (!release_list(self, set, &sem->alter, wakes) ||
		    !release_list(self, set, &sem->zero, wakes))
			return false;
	}
	return true;
}

/* Killed; or interrupted by a handler, which may have jumped away. */
static bool has_left(struct s5__slot *w)
{
	return (s5__a32_load_rlx(&w->word) & FUTEX_OWNER_DIED) ||
	       s5__a32_load_rlx(&w->wait_word) >= S5__WAIT_BUMP;
}

/* The operation that a sleeper waits for now. What is noted may be one that it
 * waited for before, as not all are tried again (must_restart()). */
static uint32_t blocking_now(struct s5__self *self, struct s5__semset *set,
			     const struct s5__slot *w,
			     const struct s5__ops *ops)
{
	uint32_t block = w->wait_block;

	if (ops->n < 2 || s5__ops_log(ops->n) > s5__tx_room(self))
		return block;
	if (s5__ops_perform(self, set, ops, &block) == 1)
		return block;
	if (self->log_n)
		s5__tx_abort(self);
	return w->wait_block;
}

static int count_list(struct s5__self *self, struct s5__semset *set,
		      const struct s5__sem_list *list, uint32_t num, bool zero,
		      struct s5__wakes *wakes)
{
	uint32_t at = list->head;
	int found = 0;

	for (uint32_t n = 0; at && n < S5__SLOTS_MAX; n++) {
		struct s5__slot *w = s5__slot_at(at);
		struct s5__ops ops;
		struct s5__op op;
		uint32_t idx = at, block;

		if (!w)
			break;
		ops = s5__ops_of(w);
		at = w->next;
		if (has_left(w))
			continue;
		block = blocking_now(self, set, w, &ops);
		if (block >= ops.n)
			continue;
		op = s5__op_get(&ops, block);
		if (op.num != num || (zero ? op.op != 0 : op.op >= 0))
			continue;
		if (wakes->n < S5__WAKES && s5__slot_is_stopped(w))
			finish(self, set, idx, w, EINTR, wakes);
		else
			found++;
	}
	return found;
}

int s5__set_count(struct s5__self *self, struct s5__semset *set, uint32_t num,
		  bool zero, struct s5__wakes *wakes)
{
	const struct s5__sem *sem = s5__sem_at(set, num);
	int n = count_list(self, set, &set->alter, num, zero, wakes);

	if (!sem)
		return 0;
	if (!zero)
		return n +
		       count_list(self, set, &sem->alter, num, false, wakes);
	return n + count_list(self, set, &set->zero, num, true, wakes) +
	       count_list(self, set, &sem->zero, num, true, wakes);
}
