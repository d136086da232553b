/* SPDX-License-Identifier: MIT */
/*
 * settle.c - what dead threads left behind
 *
 * Anybody may settle a dead slot, several at a time: each step takes the lock
 * of what it touches, looks again, and is repeatable. The slot becomes free by
 * one compare-and-swap on its state, generation included, so that somebody who
 * was delayed cannot free its next owner's.
 */
#include "enter.h"

#include "../lock/seat.h"

#include <sys/syscall.h>

/* Is this word a lock? Then its owner says that it holds it. One that nobody
 * holds needs no repair, and may be any word, if the slot is damaged. */
static bool is_held(const struct s5__a32 *lock, uint64_t off)
{
	uint32_t o = s5__a32_load_acq(lock); /* PAIR lock: acquire */
	const struct s5__slot *owner = s5__slot_at(S5__TOKEN_IDX(o));

	return owner && s5__slot_holding(owner) == off &&
	       s5__token(S5__TOKEN_IDX(o), s5__a64_load_rlx(&owner->state)) ==
		       o;
}

/* The lock that it died with: taking it once is what repairs the object. */
static int settle_lock(struct s5__self *self, struct s5__slot *dead)
{
	uint64_t off = s5__slot_holding(dead);
	struct s5__a32 *lock;
	int err;

	if (off == 0)
		return 0;
	lock = (off & 3u) ? NULL : s5__at(off, sizeof(*lock));
	if (!lock || !is_held(lock, off))
		return 0;
	err = s5__lock(self, lock);
	if (err == 0)
		s5__unlock(self, lock);
	return err;
}

/* It may have died between its unlock and its wakes. */
static void settle_wakes(struct s5__slot *dead)
{
	uint32_t n = (uint32_t)(s5__a64_load_rlx(&dead->commit) >> 32);

	if (n > S5__WAKE_MAX)
		n = S5__WAKE_MAX;
	for (uint32_t i = 0; i < n; i++)
		s5__wake_many(&dead->wake[i].slot, 1);
}

/*
 * Nothing is left in it. Somebody else may have freed it and a thread may have
 * claimed it since we looked, or a settler that died may have stored what it
 * did not commit; under the heap's lock neither is possible.
 */
static void free_slot(struct s5__self *self, struct s5__slot *dead,
		      uint64_t state)
{
	struct s5__a32 *lock = &s5__header()->heap_lock;

	if (s5__lock(self, lock) != 0)
		return;
	if (s5__a64_load_rlx(&dead->state) == state &&
	    (s5__a32_load_rlx(&dead->word) & FUTEX_OWNER_DIED) &&
	    !(dead->hand | dead->wait_kind | dead->mag[0] | dead->mag[1] |
	      dead->pages | dead->held)) {
		dead->dismantle = 0;
		s5__a64_store_rlx(&dead->holding, 0);
		s5__a64_store_rlx(&dead->commit, 0);
		(void)s5__a64_cas_full(&dead->state, state,
				       s5__slot_state(S5__SLOT_FREE,
						      S5__SLOT_GEN(state), 0,
						      0));
	}
	s5__unlock(self, lock);
}

void s5__settle(struct s5__self *self, uint32_t idx)
{
	struct s5__slot *dead = s5__slot_at(idx);
	uint64_t state;

	if (!dead || idx == self->idx)
		return;
	/* PAIR slot-word: acquire */
	state = s5__a64_load_acq(&dead->state);
	if (s5__slot_phase(state) != S5__SLOT_USED ||
	    !(s5__a32_load_acq(&dead->word) & FUTEX_OWNER_DIED))
		return;
	if (settle_lock(self, dead) != 0)
		return;
	S5_CRASH_POINT("settle-lock");
	settle_wakes(dead);
	if (s5__drop(self, dead) != 0)
		return;
	S5_CRASH_POINT("settle-drop");
	if (dead->dismantle) {
		/* Messages go through our hand. It may be in use, or about to
		 * be filled by who serves our waiter: later, then. */
		if (self->slot->hand || self->slot->held || self->unfinished)
			return;
		s5__dismantle(self, dead->dismantle);
	}
	if (s5__heap_settle(self, dead) != 0)
		return;
	S5_CRASH_POINT("settle-before-free");
	free_slot(self, dead, state);
}

/* A claimer that died before the kernel knew of its slot. */
static void free_half_claimed(const struct s5__self *self, struct s5__slot *s,
			      uint64_t state)
{
	if (self->pid_ns == 0 || /* unknown, and so need not be its own */
	    S5__SLOT_NS(state) != (self->pid_ns & 0xffffu) ||
	    s5__sys(SYS_tkill, (long)S5__SLOT_TID(state), 0, 0, 0, 0, 0) !=
		    -ESRCH)
		return;
	(void)s5__a64_cas_full(&s->state, state,
			       s5__slot_state(S5__SLOT_FREE,
					      S5__SLOT_GEN(state), 0, 0));
}

void s5__janitor(struct s5__self *self)
{
	struct s5__header *h = s5__header();
	uint64_t now = s5__now_ns() / S5__WAIT_LOOK_NS + 1;
	uint64_t last = s5__a64_load_rlx(&h->janitor_s); /* a hint */
	uint32_t most;

	if (last == now || !s5__a64_cas_full(&h->janitor_s, last, now))
		return;
	most = s5__a32_load_acq(&h->slot_chunks) * 8u; /* PAIR dir: acquire */
	for (uint32_t i = 1; i < most && i < S5__SLOTS_MAX; i++) {
		struct s5__slot *s = s5__slot_at(i);
		uint64_t state;

		if (!s)
			break;
		state = s5__a64_load_rlx(&s->state);
		if (s5__slot_phase(state) == S5__SLOT_CLAIMED)
			free_half_claimed(self, s, state);
		if (s5__slot_phase(state) != S5__SLOT_USED || i == self->idx)
			continue;
		if (s5__slot_check_gone(s))
			s5__settle(self, i);
		else if (s5__hint(&s->hand_kind) == S5__HAND_GOT)
			s5__facilities[S5__KIND_MSG]->revoke(self, s);
	}
	for (int k = 0; k < S5__KINDS && !self->unfinished; k++) {
		if (s5__facilities[k] && s5__facilities[k]->sweep)
			s5__facilities[k]->sweep(self);
	}
}
