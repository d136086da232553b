/* SPDX-License-Identifier: MIT */
/*
 * lock.c - the contended and the recovering half of the lock
 *
 * Who waits for a lock sleeps on the *owner's slot word*, because that is the
 * word which the kernel marks, and wakes a sleeper of, when the owner dies.
 * The order is: set FUTEX_WAITERS in that word, membarrier, look at the lock
 * once more, sleep while the word is unchanged. The owner stores 0 to the lock
 * and then looks at the flag; the membarrier makes one of the two see the
 * other. Every sleep has a deadline, so that damage cannot hang anybody.
 */
#include "lock.h"

#include "../base/defer.h"
#include "seat.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>

#define SPIN_PAUSES   3000u /* in all: about 30 us */
#define SPIN_FIRST    16u   /* pauses until the first look */
#define SPIN_MOST     128u  /* pauses between two looks */
#define YIELDS	      2u
#define BRIEF_NS      20000000u	 /* how long a lock is waited for inside */
#define SLEEP_NS      2000000u	 /* one sleep inside a section */
#define OUTSIDE_NS    100000000u /* one sleep outside */
#define SUSPECT_LOOKS 4u	 /* until a lock that nobody holds is damage */
#define CHAIN_MAX     64u	 /* recoverers that died one after another */
#define PUBLISH_TRIES 1000	 /* the word changes by handlers, and damage */

static void deadline_in(struct timespec *t, uint64_t ns)
{
	uint64_t at = s5__now_ns() + ns;

	t->tv_sec = (time_t)(at / 1000000000u);
	t->tv_nsec = (long)(at % 1000000000u);
}

void s5__unlock_wake(struct s5__self *self)
{
	struct s5__slot *s = self->slot;

	(void)s5__a32_and_full(&s->word, ~(uint32_t)FUTEX_WAITERS);
	(void)s5__futex_wake(s5__a32_raw(&s->word), INT32_MAX);
}

struct s5__log_entry *s5__log_far(struct s5__slot *s, uint32_t i)
{
	uint32_t page = s->pages;
	struct s5__log_entry *e;

	i -= S5__LOG_MAX;
	for (; i >= S5__LOG_PAGE && page; i -= S5__LOG_PAGE) {
		const uint32_t *link = s5__page_link(page);

		page = link ? *link : 0;
	}
	e = (struct s5__log_entry *)s5__page_at(page);
	return e ? &e[i] : NULL;
}

/*
 * Writes the logged values back, newest first. Repeatable: whoever dies in
 * here leaves the log as it was. The entries are shared memory, thus bounded.
 */
static void roll_back(struct s5__slot *dead)
{
	uint64_t commit = s5__a64_load_rlx(&dead->commit);
	uint32_t n = (uint32_t)commit;

	if (n > S5__LOG_FAR_MAX)
		n = S5__LOG_FAR_MAX;
	while (n-- > 0) {
		const struct s5__log_entry *e =
			n < S5__LOG_MAX ? &dead->log[n] : s5__log_far(dead, n);
		uint64_t where = e ? e->where : 0;
		uint64_t old = e ? e->old : 0;
		uint64_t off = where >> 1;
		void *p = e ? s5__at(off, 8) : NULL;

		if (!p || (off & ((where & 1) ? 7u : 3u)))
			continue;
		if (where & 1)
			*(volatile uint64_t *)p = old;
		else
			*(volatile uint32_t *)p = (uint32_t)old;
		S5_CRASH_POINT("rollback-step");
	}
	s5__order();
	/* PAIR rollback: release; who sees it undone sees the old values. */
	s5__a64_store_rel(&dead->commit, commit & ~(uint64_t)UINT32_MAX);
	s5__order();
}

/* Publishes one result; the lock of the waiter's object is held. */
static void publish(struct s5__wake_entry *e)
{
	struct s5__slot *w = s5__slot_at(e->slot);

	for (int tries = 0; w && tries < PUBLISH_TRIES; tries++) {
		/* PAIR wait-word: acquire; the word of a later wait comes with
		 * its wait_seq. */
		uint32_t v = s5__a32_load_acq(&w->wait_word);

		if (w->wait_seq != e->seq || (v & S5__WAIT_DONE))
			return; /* not any more, or published already */
		w->result = e->result;
		/* PAIR wait-result: release; the sleeper's look acquires it. */
		if (s5__a32_cas_full(&w->wait_word, v, v | S5__WAIT_DONE)) {
			e->asleep = v & S5__WAIT_ASLEEP;
			return;
		}
	}
}

void s5__wake_publish(struct s5__self *self)
{
	while (self->wake_done < self->wake_n) {
		publish(&self->slot->wake[self->wake_done++]);
		S5_CRASH_POINT("wake-published");
	}
}

void s5__wake_flush_slow(struct s5__self *self)
{
	uint32_t whom[S5__WAKE_MAX];
	uint32_t n = 0;

	for (uint32_t i = 0; i < self->wake_n && i < S5__WAKE_MAX; i++)
		if (self->slot->wake[i].asleep)
			whom[n++] = self->slot->wake[i].slot;
	s5__wake_many(whom, n);
	self->wake_n = 0;
	self->wake_done = 0;
	s5__a64_store_rlx(&self->slot->commit, 0);
}

void s5__tx_abort(struct s5__self *self)
{
	self->wake_n = self->wake_done;
	s5__tx_arm(self);
	roll_back(self->slot);
	self->log_n = 0;
}

/* Finishes what the dead owner had committed but not made visible, and wakes
 * whom it did not live to wake. */
static void finish_wakes(struct s5__slot *dead)
{
	uint32_t n = (uint32_t)(s5__a64_load_rlx(&dead->commit) >> 32);

	if (n > S5__WAKE_MAX)
		n = S5__WAKE_MAX;
	for (uint32_t i = 0; i < n; i++) {
		publish(&dead->wake[i]);
		s5__wake_many(&dead->wake[i].slot, 1);
	}
	s5__order();
	s5__a64_store_rlx(&dead->commit, 0);
}

/*
 * `self` holds the lock that the slot of `token` died with. If that one, in its
 * turn, died while it recovered another, its own log is empty and the other's
 * is still due: follow the chain. `holding` tells a link that is due from a
 * stale one.
 */
static void recover(struct s5__self *self, uint64_t lock_off, uint32_t token)
{
	for (uint32_t i = 0; i < CHAIN_MAX; i++) {
		uint32_t idx = S5__TOKEN_IDX(token);
		struct s5__slot *dead = s5__slot_at(idx);
		uint32_t next;

		/* A link that lives again is somebody else's. PAIR slot-word:
		 * acquire */
		if (!dead || s5__slot_holding(dead) != lock_off ||
		    !(s5__a32_load_acq(&dead->word) & FUTEX_OWNER_DIED) ||
		    s5__token(idx, s5__a64_load_rlx(&dead->state)) != token)
			break;
		next = dead->recovering;
		roll_back(dead);
		S5_CRASH_POINT("recover-rolled-back");
		finish_wakes(dead);
		s5__order();
		if (next == 0) {
			s5__a64_store_rlx(&dead->holding, 0);
			break;
		}
		/* Settle the far end first: this link leads to it. */
		token = next;
		if (token == self->token)
			break;
	}
	self->slot->recovering = 0;
}

bool s5__lock_take_over(struct s5__self *self, struct s5__a32 *lock,
			uint32_t token)
{
	struct s5__slot *dead = s5__slot_at(S5__TOKEN_IDX(token));

	self->slot->recovering = token;
	s5__announce(self, lock);
	S5_CRASH_POINT("takeover-before");
	/* PAIR lock: acquire; the kernel's mark ordered the dead's stores. */
	if (!s5__a32_cas_acq(lock, token, self->token)) {
		self->slot->recovering = 0;
		s5__a64_store_rlx(&self->slot->holding, self->sections);
		return false;
	}
	S5_CRASH_POINT("takeover-after");
	recover(self, s5__off(lock), token);
	/* The kernel woke one of those who waited for the dead. */
	if (dead)
		(void)s5__futex_wake(s5__a32_raw(&dead->word), INT32_MAX);
	return true;
}

bool s5__slot_check_gone(struct s5__slot *s)
{
	uint32_t v = s5__a32_load_acq(&s->word); /* PAIR slot-word: acquire */

	if (v & FUTEX_OWNER_DIED)
		return true;
	if (s->pid_ns != s5__self.pid_ns || s->pid_ns == 0 || s->tid == 0)
		return false; /* 0: unknown, perhaps another */
	if (s5__sys(SYS_tgkill, (long)s->pid, (long)s->tid, 0, 0, 0, 0) !=
		    -ESRCH ||
	    (v & FUTEX_TID_MASK & ~s->tid))
		return false;
	return s5__a32_cas_full(&s->word, v, v | FUTEX_OWNER_DIED) ||
	       (s5__a32_load_rlx(&s->word) & FUTEX_OWNER_DIED);
}

/* What a look at a lock that is not ours came to. */
enum look {
	LOOK_FREE,    /* try it */
	LOOK_TAKEN,   /* we took it from a dead owner */
	LOOK_HELD,    /* by a living owner; *ret_owner, *ret_word are set */
	LOOK_SUSPECT, /* by somebody who does not say so, or by nobody */
};

static enum look look_at(struct s5__self *self, struct s5__a32 *lock, bool take,
			 struct s5__slot **ret_owner, uint32_t *ret_word)
{
	uint32_t o = s5__a32_load_acq(lock); /* PAIR lock: acquire */
	struct s5__slot *owner;
	uint32_t v;

	if (o == 0)
		return LOOK_FREE;
	owner = s5__slot_at(S5__TOKEN_IDX(o));
	if (!owner || owner == self->slot) /* damage may alias an index */
		return LOOK_SUSPECT;
	v = s5__a32_load_acq(&owner->word); /* PAIR slot-word: acquire */
	if (v & FUTEX_OWNER_DIED) {
		if (!take)
			return LOOK_FREE;
		return s5__lock_take_over(self, lock, o) ? LOOK_TAKEN
							 : LOOK_FREE;
	}
	*ret_owner = owner;
	*ret_word = v;
	if (s5__token(S5__TOKEN_IDX(o), s5__a64_load_rlx(&owner->state)) != o ||
	    s5__slot_holding(owner) != s5__off(lock))
		return s5__a32_load_acq(lock) == o ? LOOK_SUSPECT : LOOK_FREE;
	return LOOK_HELD;
}

/* Sleeps until the owner releases, dies, or `ns` have passed. */
static void sleep_on_owner(struct s5__a32 *lock, struct s5__slot *owner,
			   uint32_t v, uint64_t ns)
{
	uint32_t o = s5__a32_load_rlx(lock);
	struct timespec t;
	long err;

	if (!(v & FUTEX_WAITERS)) {
		if (!s5__a32_cas_full(&owner->word, v, v | FUTEX_WAITERS))
			return;
		v |= FUTEX_WAITERS;
	}
	err = s5__sys(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0, 0,
		      0, 0);
	if (err < 0) /* refused: the owner may miss the flag, so look often */
		ns = ns > 1000000u ? 1000000u : ns;
	if (s5__a32_load_acq(lock) != o ||
	    s5__slot_at(S5__TOKEN_IDX(o)) != owner)
		return; /* PAIR lock: acquire, after the barrier */
	deadline_in(&t, ns);
	(void)s5__futex_wait(s5__a32_raw(&owner->word), v, &t);
}

/*
 * A lock word that names a slot whose owner does not say that it holds it. For
 * an instant that is normal, as lock and `holding` are read one after the
 * other; but if the owner's count of sections has not moved either, through
 * several sleeps, then nobody holds it: it is damage, and is taken as it is.
 */
struct suspicion {
	uint32_t owner;
	uint32_t looks;
	uint64_t holding;
};

static bool is_damage(struct suspicion *sus, uint32_t owner)
{
	const struct s5__slot *s = s5__slot_at(S5__TOKEN_IDX(owner));
	uint64_t holding = s ? s5__a64_load_rlx(&s->holding) : 0;

	if (sus->looks == 0 || sus->owner != owner || sus->holding != holding)
		sus->looks = 0;
	sus->owner = owner;
	sus->holding = holding;
	return ++sus->looks > SUSPECT_LOOKS;
}

static int seize(struct s5__self *self, struct s5__a32 *lock, uint32_t owner)
{
	s5__debug("damage", "a lock that nobody holds was seized");
	s5__announce(self, lock);
	/* PAIR lock: acquire */
	if (s5__a32_cas_acq(lock, owner, self->token))
		return 0;
	s5__a64_store_rlx(&self->slot->holding, self->sections);
	self->wanted = lock;
	return -EAGAIN;
}

static bool try_take(struct s5__self *self, struct s5__a32 *lock)
{
	s5__announce(self, lock);
	return s5__a32_cas_acq(lock, 0, self->token); /* PAIR lock: acquire */
}

/* Spins with back-off; true if the lock was taken. */
static bool spin_for(struct s5__self *self, struct s5__a32 *lock)
{
	uint32_t pauses = SPIN_FIRST;

	/*
	 * Looking rarely lets the owner do many operations in a row with the
	 * lines in its cache, which is worth more than a short wait is.
	 */
	for (uint32_t done = 0; done < SPIN_PAUSES; done += pauses) {
		for (uint32_t k = 0; k < pauses; k++)
			s5__pause();
		if (pauses < SPIN_MOST)
			pauses *= 2;
		if (s5__a32_load_rlx(lock) == 0 && try_take(self, lock))
			return true; /* relaxed: only a hint to try */
	}
	return false;
}

/* The owner may have been preempted by us. */
static bool yield_for(struct s5__self *self, struct s5__a32 *lock)
{
	for (uint32_t i = 0; i < YIELDS; i++) {
		(void)s5__sys(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
		if (s5__a32_load_rlx(lock) == 0 && try_take(self, lock))
			return true; /* relaxed: only a hint to try */
	}
	return false;
}

/* One look at a lock that spinning has not got, and a sleep if it is held.
 * 0: it is ours; -EAGAIN: not, nor will it be; 1: look again. */
static int look_and_sleep(struct s5__self *self, struct s5__a32 *lock,
			  struct suspicion *sus, struct s5__slot **ret_owner)
{
	uint32_t o = s5__a32_load_rlx(lock); /* only compared */
	uint32_t v = 0;
	enum look look;

	*ret_owner = NULL;
	look = look_at(self, lock, true, ret_owner, &v);
	if (look == LOOK_TAKEN)
		return 0;
	if (look == LOOK_FREE)
		return try_take(self, lock) ? 0 : 1;
	if (look == LOOK_SUSPECT && is_damage(sus, o))
		return seize(self, lock, o);
	if (*ret_owner)
		sleep_on_owner(lock, *ret_owner, v, SLEEP_NS);
	else
		(void)s5__sys(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	return 1;
}

int s5__lock_slow(struct s5__self *self, struct s5__a32 *lock)
{
	struct suspicion sus = {0, 0, 0};
	uint64_t until;

	if (self->unlocked)
		return -EINTR; /* an orphan */
	if ((s5__process.other_cpus && spin_for(self, lock)) ||
	    yield_for(self, lock))
		return 0;
	until = s5__now_ns() + BRIEF_NS;
	for (;;) {
		struct s5__slot *owner;
		int got = look_and_sleep(self, lock, &sus, &owner);

		if (got <= 0)
			return got;
		if (s5__now_ns() < until ||
		    (owner && s5__slot_check_gone(owner)))
			continue;
		s5__a64_store_rlx(&self->slot->holding, self->sections);
		self->wanted = lock;
		return -EAGAIN;
	}
}

int s5__lock_wait(struct s5__self *self)
{
	struct s5__a32 *lock = self->wanted;
	uint32_t first = s5__a32_load_rlx(lock);
	uint32_t gen = self->wait_gen;
	struct s5__gap gap;
	int err = 0;

	gap = s5__let_in(self);
	while (err == 0) {
		struct s5__slot *owner = NULL;
		uint32_t v = 0;

		if (look_at(self, lock, false, &owner, &v) != LOOK_HELD ||
		    s5__a32_load_rlx(lock) != first)
			break;
		if (s5__slot_check_gone(owner))
			break;
		sleep_on_owner(lock, owner, v, OUTSIDE_NS);
		if (s5__defer_intr() != gap.intr)
			err = -EINTR;
	}
	if (!s5__shut_out(self, &gap) || self->wait_gen != gen)
		err = -EINTR; /* forked, or given up by a nested call */
	return err;
}

bool s5__lock_firmly(struct s5__self *self, struct s5__a32 *lock)
{
	int err;

	while ((err = s5__lock(self, lock)) == -EAGAIN)
		(void)s5__lock_wait(self);
	return err == 0;
}
