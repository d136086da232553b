/* SPDX-License-Identifier: MIT */
/*
 * seat.h - futex words that sleepers share, so that one call wakes many
 *
 * Whoever may be woken together with others sleeps not on its slot's word but
 * on a seat: one bit of a word that belongs to the CPU on which it went to
 * sleep. A wake names the bits of those it means. docs/design/waiting.md has
 * the protocol.
 */
#ifndef S5_LOCK_SEAT_H
#define S5_LOCK_SEAT_H

#include "slot.h"

#define S5__SEAT_CPUS	64u /* a machine with more has two on one bench */
#define S5__SEAT_WORDS	16u
#define S5__SEAT_BITS	32u
#define S5__BENCH_SEATS (S5__SEAT_WORDS * S5__SEAT_BITS)

/*
 * struct s5__bench - the seats of one CPU; bench CPU % 64
 * A seat is given to whoever asks for the next one, taken or not: two on one
 * seat are woken together, and one of them in vain. So nothing is to be given
 * back, and nothing lost when a sleeper dies.
 * Field  writer                    under  lock-free read
 * next   who is about to sleep     -      a hint: any seat will do
 * word   who wakes, adding 1; a    -      yes, futex words [PAIR seat]
 *        handler, S5__SLEEP_BUMP
 * Death  who dies between adding and waking: the sleepers look each second.
 */
struct s5__bench {
	struct s5__a32 next;
	uint32_t unused[15];
	struct s5__a32 word[S5__SEAT_WORDS];
};
_Static_assert(sizeof(struct s5__bench) * S5__SEAT_CPUS == 2 * S5__PAGE,
	       "S5__FIX_SEATS");

/* A seat on the calling thread's CPU. Seats that were taken one after another
 * share their word. */
uint32_t s5__seat_take(void);

/* The word of a seat; any number is one. Seats of a word have equal quotients
 * by S5__SEAT_BITS, and words of a CPU follow each other. */
struct s5__a32 *s5__seat_word(uint32_t seat);

static inline uint32_t s5__seat_bit(uint32_t seat)
{
	return 1u << seat % S5__SEAT_BITS;
}

/*
 * Wakes the sleepers in those slots, to whom results have been published: by
 * CPU, and those who share a word by one system call. No lock is held.
 */
void s5__wake_many(const uint32_t *slots, uint32_t n);

#endif
