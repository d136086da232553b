/* SPDX-License-Identifier: MIT */
/*
 * lock.h - the robust lock and the transaction that runs under it
 *
 * A lock word names its owner's thread slot (s5__token()), 0 when free. A
 * thread holds one lock at a time. What happens under a lock is a transaction:
 *
 *	err = s5__lock(self, &q->lock);
 *	s5__tx_log32(self, &q->head);		old values to the undo log
 *	s5__tx_arm(self);			from here on a death rolls back
 *	q->head = ...;				any number of plain stores
 *	s5__tx_commit(self);			one store; results published
 *	s5__unlock(self, &q->lock);
 *	s5__wake_flush(self);			the system calls
 *
 * More words may be logged and armed later in the same transaction. Who takes
 * the lock of a dead owner rolls back what was not committed, publishes what
 * was, and finds the object consistent: there is no per-object repair.
 * docs/design/locking.md has the reasoning, docs/design/ordering.md the pairs.
 */
#ifndef S5_LOCK_LOCK_H
#define S5_LOCK_LOCK_H

#include "crash.h"
#include "self.h"

#include <errno.h>

/* Contended: returns 0, -EAGAIN (not to be had soon; the caller unwinds what
 * it holds, calls s5__lock_wait() and starts over). */
int s5__lock_slow(struct s5__self *self, struct s5__a32 *lock);

/* Locks for work that must be done, however long it takes; signals are let in
 * while it waits. */
bool s5__lock_firmly(struct s5__self *self, struct s5__a32 *lock);

/* Waits, interruptibly and with signals let in, until the lock that -EAGAIN
 * was about may be free.
 * Returns 0, or -EINTR if a handler ran. The slot's waiter and hand may have
 * been given up by a nested call meanwhile. */
int s5__lock_wait(struct s5__self *self);

void s5__unlock_wake(struct s5__self *self);
void s5__wake_publish(struct s5__self *self);
void s5__wake_flush_slow(struct s5__self *self);

/* Takes over from the dead owner `token` and restores the object. Returns
 * false if somebody else was faster. On success the caller holds the lock. */
bool s5__lock_take_over(struct s5__self *self, struct s5__a32 *lock,
			uint32_t token);

/* Marks the slot's owner as dead if this process can tell that it is gone
 * though the kernel did not mark it. Returns whether it is marked. */
bool s5__slot_check_gone(struct s5__slot *s);

/* L1: announced before it can be ours. */
static inline void s5__announce(struct s5__self *self,
				const struct s5__a32 *lock)
{
	self->sections += S5__SECTION_ONE;
	s5__a64_store_rlx(&self->slot->holding, s5__off(lock) | self->sections);
	s5__order();
}

/* Takes `lock` (no lock held). Returns as s5__lock_slow(). */
static inline int s5__lock(struct s5__self *self, struct s5__a32 *lock)
{
	s5__announce(self, lock);
	/* PAIR lock: acquire, sees all that the last owner wrote. */
	if (S5_LIKELY(s5__a32_cas_acq(lock, self->unlocked, self->token))) {
		S5_CRASH_POINT("lock-taken");
		return 0;
	}
	return s5__lock_slow(self, lock);
}

/* Releases `lock`; the transaction is committed or was never armed. */
static inline void s5__unlock(struct s5__self *self, struct s5__a32 *lock)
{
	struct s5__slot *s = self->slot;

	S5_CRASH_POINT("unlock-before");
	/*
	 * PAIR lock: release. A plain store will do, although a waiter's flag
	 * is looked at right after: a waiter issues membarrier() between
	 * setting the flag and its last look at the lock.
	 */
	if (S5_LIKELY(s5__arena.plain_release))
		s5__a32_store_rel(lock, 0);
	else
		(void)s5__a32_xchg_full(lock, 0);
	s5__order();
	S5_CRASH_POINT("unlock-after");
	if (S5_UNLIKELY(s5__a32_load_rlx(&s->word) & FUTEX_WAITERS))
		s5__unlock_wake(self);
	s5__a64_store_rlx(&s->holding, self->sections);
}

/* More are not rolled back. */
#define S5__LOG_FAR_MAX (S5__LOG_MAX + 512u * S5__LOG_PAGE)

/* Log entries beyond S5__LOG_MAX lie in the pages that the slot owns, which the
 * caller has taken before (self->log_cap). Entry `i`, or NULL. */
struct s5__log_entry *s5__log_far(struct s5__slot *s, uint32_t i);

static inline struct s5__log_entry *s5__log_next(struct s5__self *self)
{
	uint32_t i = self->log_n++;

	if (S5_LIKELY(i < S5__LOG_MAX))
		return &self->slot->log[i];
	return s5__log_far(self->slot, i);
}

/* Logs a word that is about to change. */
static inline void s5__tx_log32(struct s5__self *self, const uint32_t *p)
{
	struct s5__log_entry *e = s5__log_next(self);

	if (S5_UNLIKELY(!e))
		return; /* damaged */

	e->where = s5__off(p) << 1;
	e->old = *p;
}

static inline void s5__tx_log64(struct s5__self *self, const void *p)
{
	struct s5__log_entry *e = s5__log_next(self);

	if (S5_UNLIKELY(!e))
		return; /* damaged */
	e->where = s5__off(p) << 1 | 1;
	e->old = *(const uint64_t *)p;
}

/* How many more words this transaction can log. */
static inline uint32_t s5__tx_room(const struct s5__self *self)
{
	return self->log_cap - self->log_n;
}

/* Makes the entries logged so far count: from here on death rolls them back. */
static inline void s5__tx_arm(struct s5__self *self)
{
	s5__order();
	s5__a64_store_rlx(&self->slot->commit, self->log_n);
	s5__order();
	S5_CRASH_POINT("tx-armed");
}

/* Ends the transaction: its changes stay, its results become visible. */
static inline void s5__tx_commit(struct s5__self *self)
{
	s5__order();
	S5_CRASH_POINT("tx-commit-before");
	s5__a64_store_rlx(&self->slot->commit, (uint64_t)self->wake_n << 32);
	s5__order();
	self->log_n = 0;
	S5_CRASH_POINT("tx-commit-after");
	if (S5_UNLIKELY(self->wake_n != self->wake_done))
		s5__wake_publish(self);
}

/* Puts the values back that the last commit left; the lock is still held. */
void s5__tx_abort(struct s5__self *self);

/* Adds a sleeper, already taken off its list in this transaction, to the
 * private wake list. False if the list is full: commit and flush first. */
static inline bool s5__wake_add(struct s5__self *self, uint32_t slot,
				uint32_t seq, uint32_t result)
{
	struct s5__wake_entry *e;

	if (self->wake_n >= S5__WAKE_MAX)
		return false;
	e = &self->slot->wake[self->wake_n++];
	e->slot = slot;
	e->seq = seq;
	e->result = result;
	e->asleep = 0;
	return true;
}

/* Wakes whom the transaction released; no lock held. */
static inline void s5__wake_flush(struct s5__self *self)
{
	if (S5_UNLIKELY(self->wake_n))
		s5__wake_flush_slow(self);
}

#endif
