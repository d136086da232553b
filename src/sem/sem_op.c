/* SPDX-License-Identifier: MIT */
/*
 * sem_op.c - semop and semtimedop
 *
 * One operation that need not wait, wake or be undone is a compare-and-swap on
 * the semaphore's word. Everything else takes the set's lock. Who has to wait
 * leaves its operations where others can perform them (docs/design/
 * semaphores.md).
 */
#include "../base/probe.h"
#include "room.h"
#include "semset.h"

#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define OPS_HERE 32u	   /* operations that need no memory of their own */
#define CROWD	 16u	   /* sleepers of a set, from which on nobody spins */
#define UNDO_NS	 10000000u /* how often a watcher looks for the dead */

/* What a step of a call came to, besides 0 and -errno. */
#define AGAIN  1 /* from the top */
#define ASLEEP 2 /* registered: sleep */

/* One semtimedop under way. */
struct call {
	struct s5__semset *set;
	uint32_t id;
	struct s5__ops ops;
	bool alters, undoes;
	bool at_once;	   /* a timeout of 0 */
	uint64_t deadline; /* CLOCK_MONOTONIC, ns; 0: none */
	uint32_t gen;	   /* self->wait_gen when it began */
	uint32_t proc;	   /* its process's slot, if it undoes */
	uint32_t log;	   /* room in the log that it has seen to */
	struct s5__wakes wakes;
};

/* --- the fast path
 * ------------------------------------------------------------ */

/*
 * True if the operation was done, or failed for good: *ret. A P or V that
 * succeeds needs no look at what dead processes have left; a wait for zero
 * does, so it comes here only where nobody has anything to give back.
 */
static bool operate_fast(struct s5__semset *set, uint32_t id, struct s5__op op)
{
	struct s5__sem *sem = s5__sem_at(set, op.num);
	uint64_t word;

	if (S5_UNLIKELY(!sem || sem->owner != id + 1))
		return false;
	if (op.op == 0 && *(const volatile uint32_t *)&set->undo != 0)
		return false;
	word = s5__a64_load_rlx(&sem->word);
	for (;;) {
		int value = (int)(word & S5__SEM_VALUE) + op.op;
		uint64_t pid = (uint64_t)s5__self.slot->pid << 32;

		if ((word & (S5__SEM_SLOW | S5__SEM_GEN)) != s5__sem_gen(id) ||
		    value < 0 || value > S5__SEM_MAX ||
		    (op.op == 0 && value != 0))
			return false;
		/* PAIR sem-word: acquire and release; P after V sees all that
		 * came before it. */
		if (S5_LIKELY(s5__a64_cas_full(&sem->word, word,
					       s5__sem_gen(id) |
						       (uint64_t)value | pid)))
			break;
		word = s5__a64_load_rlx(&sem->word);
	}
	s5__a64_store_rlx(&sem->otime, (uint64_t)s5__now_s());
	return true;
}

/* --- sleeping
 * ----------------------------------------------------------------- */

/* The role of who looks for the dead, for one sleeper of a set (DESIGN: the
 * watcher). It falls to the next who looks when its holder does not sleep here
 * any more. */
static bool watches(struct s5__self *self, struct s5__semset *set)
{
	uint32_t at = s5__a32_load_rlx(&set->watcher);
	const struct s5__slot *w;

	if (at == self->token)
		return true;
	w = s5__slot_at(S5__TOKEN_IDX(at));
	if (w &&
	    s5__token(S5__TOKEN_IDX(at), s5__a64_load_rlx(&w->state)) == at &&
	    s5__hint(&w->wait_kind) == S5__WAIT_SEM &&
	    s5__hint(&w->wait_id) == self->slot->wait_id &&
	    !(s5__a32_load_rlx(&w->word) & FUTEX_OWNER_DIED))
		return false;
	s5__a32_store_rlx(&set->watcher, self->token);
	return true;
}

/* Takes the thread off its list, unless it was completed before: then the
 * result, else `err`. */
static int leave(struct s5__self *self, struct call *c, int err)
{
	struct s5__slot *s = self->slot;
	int ret;

	while ((ret = s5__set_lock(self, c->set, c->id, &c->wakes)) == -EAGAIN)
		(void)s5__lock_wait(self);
	if (ret == 0) {
		if (self->wait_gen != c->gen) {
			err = -EINTR; /* a nested call has given it up */
		} else if (s->wait_kind == S5__WAIT_SEM) {
			s5__sleeper_unlink(self, c->set, s);
		} else {
			(void)s5__wait_accept(self);
			err = -(int)s->result;
		}
		s5__set_unlock(self, c->set, &c->wakes);
		self->unfinished &= ~S5__UNFINISHED_WAIT;
		return err;
	}
	/* Removed; perhaps it was completed before. */
	while (s5__drop(self, s) == -EAGAIN)
		(void)s5__lock_wait(self);
	/* PAIR wait-result: acquire */
	return s5__a32_load_acq(&s->wait_word) & S5__WAIT_DONE ? -(int)s->result
							       : -EIDRM;
}

/* A look at the world: what the dead left may let us go. */
static void look(struct s5__self *self, struct call *c)
{
	if (s5__set_lock(self, c->set, c->id, &c->wakes) != 0)
		return; /* EIDRM comes as a result */
	(void)s5__undo_apply(self, c->set, &c->wakes);
	s5__set_unlock(self, c->set, &c->wakes);
	if (c->wakes.log)
		s5__set_catch_up(self, c->set, c->id, &c->wakes);
}

/* Sleeps until completed; the thread is registered, no lock is held. */
static int sleep_for_result(struct s5__self *self, struct call *c)
{
	uint32_t event = s5__hint(&c->set->n_wait) > CROWD
				 ? S5__NO_SPIN
				 : s5__a32_load_rlx(&c->set->event);

	for (;;) {
		uint64_t now = s5__now_ns(), until = c->deadline;
		bool watching =
			s5__hint(&c->set->undo) != 0 && watches(self, c->set);
		enum s5__wait_end end;

		if (watching && (until == 0 || until > now + UNDO_NS))
			until = now + UNDO_NS;
		end = s5__wait_seated(self, until, false, event);
		event = S5__NO_SPIN;
		if (self->wait_gen != c->gen)
			return -EINTR;
		if (end == S5__WAIT_END_DONE) {
			(void)s5__wait_accept(self);
			self->unfinished &= ~S5__UNFINISHED_WAIT;
			return -(int)self->slot->result;
		}
		if (end == S5__WAIT_END_INTR)
			return leave(self, c, -EINTR);
		if (c->deadline && s5__now_ns() >= c->deadline)
			return leave(self, c, -EAGAIN);
		look(self, c);
		if (end == S5__WAIT_END_LOOK)
			s5__janitor(self);
	}
}

/* --- one round under the lock
 * ---------------------------------------------------
 */

/* Registers the thread; the lock is held. */
static void go_to_sleep(struct s5__self *self, struct call *c, uint32_t block)
{
	struct s5__slot *s = self->slot;

	s5__wait_prepare(self, S5__KIND_SEM);
	s->wait_obj = c->id % S5__IPC_MNI;
	s->wait_id = c->id + 1;
	s->wait_since = s5__now_ns();
	s5__a64_store_rlx(&s->wait_stamp, s->wait_since);
	s5__sleeper_link(self, c->set, &c->ops, block);
}

/* All operations were performed, in a transaction that is armed. */
static void complete(struct s5__self *self, struct call *c)
{
	struct s5__semset *set = c->set;
	struct s5__sem *first = s5__sem_at(set, c->ops.array[0].num);

	if (c->alters && set->n_wait) {
		s5__tx_log32(self, &set->due);
		s5__tx_arm(self);
		set->due = 1;
	}
	s5__tx_commit(self);
	s5__event(&set->event);
	if (first)
		s5__a64_store_rlx(&first->otime, (uint64_t)s5__now_s());
	S5_CRASH_POINT("sem-completed");
	if (set->due)
		(void)s5__set_update(self, set, &c->ops, &c->wakes);
}

/* What dead processes left is applied before anything depends on it. */
static int perform(struct s5__self *self, struct call *c, uint32_t *ret_block)
{
	int ret = s5__ops_perform(self, c->set, &c->ops, ret_block);

	if (S5_LIKELY(c->set->undo == 0 || (ret == 0 && c->alters)))
		return ret;
	if (self->log_n)
		s5__tx_abort(self);
	(void)s5__undo_apply(self, c->set, &c->wakes);
	return s5__ops_perform(self, c->set, &c->ops, ret_block);
}

/* Memory that the locked part needs, and is not had there. */
static int provide(struct s5__self *self, struct call *c, bool cells)
{
	uint32_t log = s5__ops_log(c->ops.n);
	int err = 0;

	if (c->undoes) {
		err = s5__proc_register(self);
		if (err < 0)
			return err;
		c->proc = (uint32_t)err;
		err = cells ? s5__cells_reserve(self, 16) : 0;
	}
	if (err == 0 && log > self->log_cap)
		err = s5__log_extend(self, log);
	return err;
}

/* Its operations, for others to perform while it sleeps. */
static int put_ops_in_hand(struct s5__self *self, const struct call *c)
{
	s5__log_shrink(self);
	return s5__body_make(self, c->ops.array, 1,
			     c->ops.n * sizeof(struct s5__op));
}

static int finish(struct s5__self *self, struct call *c, int ret)
{
	s5__ops_thaw(c->set, &c->ops);
	s5__set_unlock(self, c->set, &c->wakes);
	return ret;
}

/* One round: 0, AGAIN, ASLEEP, or -errno. */
static int operate_once(struct s5__self *self, struct call *c, bool *cells)
{
	uint32_t block = 0;
	int ret = provide(self, c, *cells);

	if (ret == 0)
		ret = s5__set_lock(self, c->set, c->id, &c->wakes);
	if (ret == -EAGAIN) {
		ret = s5__lock_wait(self);
		return ret ? ret : AGAIN;
	}
	if (ret)
		return ret;
	if (c->undoes) {
		c->ops.undo = s5__undo_prepare(self, c->set, c->proc, &c->ops);
		if (c->ops.undo == 0) {
			*cells = true;
			return finish(self, c, AGAIN);
		}
	}
	ret = perform(self, c, &block);
	if (ret == 0) {
		complete(self, c);
		return finish(self, c, 0);
	}
	if (ret < 0)
		return finish(self, c, ret);
	if (c->at_once)
		return finish(self, c, -EAGAIN);
	if (c->ops.n > 1 && self->slot->hand == 0) {
		(void)finish(self, c, AGAIN);
		ret = put_ops_in_hand(self, c);
		if (ret == -EAGAIN)
			ret = s5__lock_wait(self);
		return ret ? ret : AGAIN;
	}
	go_to_sleep(self, c, block);
	return finish(self, c, ASLEEP);
}

static int operate(struct s5__self *self, struct call *c)
{
	bool cells = false;
	int ret = AGAIN;

	while (ret == AGAIN) {
		if (self->wait_gen != c->gen) {
			ret = -EINTR; /* a nested call has emptied our hand */
			break;
		}
		ret = operate_once(self, c, &cells);
	}
	if (c->wakes.log)
		s5__set_catch_up(self, c->set, c->id, &c->wakes);
	s5__log_shrink(self);
	if (ret == ASLEEP)
		ret = sleep_for_result(self, c);
	s5__hand_empty(self);
	if (ret == -EAGAIN || ret == -EINTR)
		s5__janitor(self);
	return ret;
}

/* --- arguments
 * ------------------------------------------------------------------
 */

/* EFBIG, EACCES; no lock. */
static int check(struct call *c)
{
	for (uint32_t i = 0; i < c->ops.n; i++) {
		struct s5__op op = c->ops.array[i];

		if (op.num >= s5__set_n(c->set))
			return -EFBIG;
		c->alters |= op.op != 0;
	}
	return s5__perm_check(&c->set->ipc,
			      c->alters ? S5__WANT_WRITE : S5__WANT_READ);
}

/* A call with SEM_UNDO makes a record before it fails; that shows in
 * otime when the process ends. */
static void make_record(struct s5__self *self, struct call *c)
{
	const struct s5__ops none = {.array = c->ops.array, .n = 0};

	/* If it is not to be had it has none: no harm. */
	if (provide(self, c, true) == 0 &&
	    s5__set_lock(self, c->set, c->id, &c->wakes) == 0) {
		(void)s5__undo_prepare(self, c->set, c->proc, &none);
		s5__set_unlock(self, c->set, &c->wakes);
	}
	s5__log_shrink(self);
}

static int set_timeout(struct call *c, const struct timespec *t)
{
	uint64_t now, ns;

	if (t->tv_sec < 0 || t->tv_nsec < 0 || t->tv_nsec >= 1000000000)
		return -EINVAL;
	c->at_once = t->tv_sec == 0 && t->tv_nsec == 0;
	now = s5__now_ns();
	if ((uint64_t)t->tv_sec > (UINT64_MAX - now) / 1000000000u - 2)
		return 0; /* longer than anybody lives */
	ns = (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
	c->deadline = now + ns;
	return 0;
}

static int run(struct s5__self *self, int id, const struct sembuf *user,
	       struct s5__op *ops, size_t nsops, const struct timespec *timeout)
{
	struct call c;
	int err;

	c.gen = self->wait_gen;
	c.alters = false;
	c.undoes = false;
	c.wakes.n = 0;
	c.wakes.log = 0;
	c.ops = (struct s5__ops){.array = ops,
				 .n = (uint32_t)nsops,
				 .pid = self->slot->pid};
	for (size_t i = 0; i < nsops; i++) {
		struct sembuf buf;

		memcpy(&buf, (const char *)user + i * sizeof(buf),
		       sizeof(buf)); /* it need not be aligned */
		ops[i] = (struct s5__op){buf.sem_num, buf.sem_op, buf.sem_flg,
					 0};
		c.undoes |= (buf.sem_flg & SEM_UNDO) != 0;
	}
	c.deadline = 0;
	c.at_once = false;
	if (id < 0)
		return -EINVAL;
	if (timeout) {
		err = set_timeout(&c, timeout);
		if (err)
			return err;
	}
	c.set = s5__set_find(id);
	if (!c.set)
		return -EINVAL;
	c.id = (uint32_t)id;
	err = check(&c);
	if (S5_UNLIKELY(err)) {
		if (c.undoes)
			make_record(self, &c);
		/* a race with removal must not look like a lack of rights */
		return s5__a32_load_rlx(&c.set->id) == c.id + 1 ? err : -EIDRM;
	}
	if (S5_LIKELY(nsops == 1 && !c.undoes) &&
	    S5_LIKELY(operate_fast(c.set, c.id, ops[0])))
		return 0;
	return operate(self, &c);
}

/* Memory for many operations, or for the values of many semaphores. */
static int run_large(struct s5__self *self, int id, const struct sembuf *user,
		     size_t nsops, const struct timespec *timeout)
{
	size_t size = nsops * sizeof(struct s5__op);
	long p = s5__sys(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int ret;

	if (p < 0 && p >= -4095)
		return -ENOMEM;
	ret = run(self, id, user, (struct s5__op *)p, nsops, timeout);
	(void)s5__sys(SYS_munmap, p, (long)size, 0, 0, 0, 0);
	return ret;
}

static int semtimedop_here(struct s5__self *self, int id,
			   const struct sembuf *user, size_t nsops,
			   const struct timespec *timeout)
{
	struct s5__op here[OPS_HERE];
	struct timespec t;

	if (timeout) {
		if (s5__probe(timeout, sizeof(t), S5__PROBE_READ))
			return -EFAULT;
		memcpy(&t, timeout, sizeof(t));
		timeout = &t;
	}
	if (nsops > s5__a64_load_rlx(&s5__header()->semopm))
		return -E2BIG;
	if (nsops == 0)
		return -EINVAL;
	if (s5__probe(user, nsops * sizeof(*user), S5__PROBE_READ))
		return -EFAULT;
	if (S5_UNLIKELY(nsops > OPS_HERE))
		return run_large(self, id, user, nsops, timeout);
	return run(self, id, user, here, nsops, timeout);
}

int s5__semtimedop(int id, const struct sembuf *user, size_t nsops,
		   const struct timespec *timeout)
{
	struct s5__self *self;
	int err = s5__enter(&self, false);

	if (S5_UNLIKELY(err))
		return err == -EACCES ? -EINVAL : err;
	err = semtimedop_here(self, id, user, nsops, timeout);
	s5__leave(self);
	return err;
}
