/* SPDX-License-Identifier: MIT */
/*
 * wait.h - sleeping for a result, and spinning before that
 *
 * A waiter is registered under its object's lock; the waker takes it off its
 * list in a transaction, adds it to the wake list, and the commit publishes
 * the result in the waiter's slot. From then on the waiter needs no lock.
 */
#ifndef S5_LOCK_WAIT_H
#define S5_LOCK_WAIT_H

#include "lock.h"

#include <sched.h>

enum s5__wait_end {
	S5__WAIT_END_DONE,    /* the result is there: s5__wait_accept() it */
	S5__WAIT_END_INTR,    /* a handler ran, or a nested call gave it up */
	S5__WAIT_END_LOOK,    /* a second has passed: look at the world again */
	S5__WAIT_END_TIMEOUT, /* the deadline has come */
};

#define S5__WAIT_LOOK_NS 1000000000u

/* Makes the slot's waiter ready to be linked; the object's lock is held. */
static inline void s5__wait_prepare(struct s5__self *self, uint32_t room)
{
	struct s5__slot *s = self->slot;

	s->room = room;
	s->wait_seq++;
	/* PAIR wait-word: release; after the wait_seq. */
	s5__a32_store_rel(&s->wait_word, 0);
	self->unfinished |= S5__UNFINISHED_WAIT;
	s5__order();
}

/*
 * Sleeps for the result of the registered wait. No lock held; signals are let
 * in. `deadline` is CLOCK_MONOTONIC in ns, 0 for none. With `cancel`, the sleep
 * is a cancellation point. Before it sleeps it spins as
 * s5__spin_while() does with that event, unless `event` is S5__NO_SPIN.
 */
#define S5__NO_SPIN UINT32_MAX
enum s5__wait_end s5__wait(struct s5__self *self, uint64_t deadline,
			   bool cancel, uint32_t event);

/* The same on a seat (seat.h), for whoever may be woken with many others. */
enum s5__wait_end s5__wait_seated(struct s5__self *self, uint64_t deadline,
				  bool cancel, uint32_t event);

/* The owner's claim on a published result; false if it was taken back. */
static inline bool s5__wait_accept(struct s5__self *self)
{
	return !(s5__a32_or_full(&self->slot->wait_word, S5__WAIT_TAKEN) &
		 S5__WAIT_REVOKED);
}

/* Somebody else's claim on a result that the owner has not accepted yet. */
bool s5__wait_revoke(struct s5__slot *s);

/*
 * An event word counts what happened to an object, and says on which CPUs it
 * last did. Bits 0-9: the last CPU; 10-19: the last one before that was another
 * CPU; both hints: a wrong one spins or yields in vain. Bits 20-31: the count,
 * modulo 4096: a spinner that misses a whole round sleeps.
 */
#define S5__EVENT_CPU	0x3ffu
#define S5__EVENT_SHIFT 10
#define S5__EVENT_ONE	(1u << 20)

/* Where glibc (2.35) has registered restartable sequences, the kernel keeps the
 * CPU's number in a word of the thread. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));

static inline uint32_t s5__cpu(void)
{
	int32_t cpu = -1;

	const char *thread = __builtin_thread_pointer();

	if (S5_LIKELY(&__rseq_offset != NULL))
		cpu = *(const volatile int32_t *)(const void *)(thread +
								__rseq_offset +
								4);
	if (S5_UNLIKELY(cpu < 0))
		cpu = sched_getcpu();
	return (uint32_t)cpu & S5__EVENT_CPU;
}

/* Counts an event; the object's lock is held. */
static inline void s5__event(struct s5__a32 *word)
{
	uint32_t v = s5__a32_load_rlx(word) + S5__EVENT_ONE;
	uint32_t cpu = s5__cpu();

	if (S5_UNLIKELY((v & S5__EVENT_CPU) != cpu))
		v = (v & ~(S5__EVENT_ONE - 1)) |
		    (v & S5__EVENT_CPU) << S5__EVENT_SHIFT | cpu;
	s5__a32_store_rlx(word, v);
}

/* Where is the partner? On this CPU, or on another, as far as one can tell. */
static inline bool s5__event_elsewhere(uint32_t event)
{
	uint32_t cpu = s5__cpu();

	return (event & S5__EVENT_CPU) != cpu ||
	       (event >> S5__EVENT_SHIFT & S5__EVENT_CPU) != cpu;
}

/*
 * How often a spinner looks. Who answers, or waits for an answer, looks often.
 * Who only sends, or only receives, is one end of a stream: if it looks rarely,
 * its partner gets ahead, and both work in bursts on lines that stay in their
 * caches, instead of passing them to and fro for each message.
 */
enum s5__pace { S5__PACE_REPLY, S5__PACE_STREAM };

/*
 * Waits for a moment without sleeping, if that has been worth it lately, until
 * `*word` is no longer `seen`. `event` is the event word of what is waited for.
 * Ends early for a signal. Returns whether the word changed.
 */
bool s5__spin_while(struct s5__self *self, const struct s5__a32 *word,
		    uint32_t seen, uint32_t event, enum s5__pace pace);

/* Has this waiter not looked for longer than it should? */
bool s5__slot_is_late(const struct s5__slot *w);
/* Is its thread stopped, by a signal or a debugger? */
bool s5__slot_is_stopped(const struct s5__slot *w);

#endif
