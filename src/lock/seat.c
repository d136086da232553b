/* SPDX-License-Identifier: MIT */
/*
 * seat.c - futex words that sleepers share, so that one call wakes many
 */
#include "seat.h"

#include "crash.h"
#include "wait.h"

/* Wakes that are sorted together. */
#define BLOCK 256u

/* Whom to wake on one word. */
struct group {
	uint32_t word; /* seats of it / S5__SEAT_BITS */
	uint32_t bits;
};

static struct s5__bench *bench_at(uint32_t n)
{
	struct s5__bench *all =
		(struct s5__bench *)(void *)(s5__arena.base +
					     S5__FIX_SEATS * S5__PAGE);

	return &all[n % S5__SEAT_CPUS];
}

uint32_t s5__seat_take(void)
{
	uint32_t cpu = s5__cpu() % S5__SEAT_CPUS;
	uint32_t seat = s5__a32_add_full(&bench_at(cpu)->next, 1);

	return cpu * S5__BENCH_SEATS + seat % S5__BENCH_SEATS;
}

struct s5__a32 *s5__seat_word(uint32_t seat)
{
	return &bench_at(seat / S5__BENCH_SEATS)
			->word[seat / S5__SEAT_BITS % S5__SEAT_WORDS];
}

/* Adds a seat to the groups, of which there is one for each word. Seats of a
 * word come in runs, so the search begins at the end. */
static uint32_t add(struct group *groups, uint32_t n, uint32_t seat)
{
	uint32_t word = seat / S5__SEAT_BITS;

	for (uint32_t i = n; i-- > 0;) {
		if (groups[i].word == word) {
			groups[i].bits |= s5__seat_bit(seat);
			return n;
		}
	}
	groups[n] = (struct group){word, s5__seat_bit(seat)};
	return n + 1;
}

/* There are few, so the simplest will do. */
static void sort(struct group *groups, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		struct group g = groups[i];
		uint32_t to = i;

		for (; to > 0 && groups[to - 1].word > g.word; to--)
			groups[to] = groups[to - 1];
		groups[to] = g;
	}
}

static void wake_groups(const struct group *groups, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct s5__a32 *word =
			s5__seat_word(groups[i].word * S5__SEAT_BITS);

		S5_CRASH_POINT("wake-seat-before");
		/* PAIR seat: release; who looked at its result before, and not
		 * yet sleeps, finds another value. */
		(void)s5__a32_add_full(word, 1);
		S5_CRASH_POINT("wake-seat-added");
		(void)s5__futex_wake_bits(s5__a32_raw(word), groups[i].bits);
	}
}

static void wake_block(const uint32_t *slots, uint32_t n)
{
	struct group groups[BLOCK];
	uint32_t n_groups = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct s5__slot *w = s5__slot_at(slots[i]);
		uint32_t seat = w ? s5__hint(&w->wait_seat) : 0;

		/* A seat that changes now is that of a wait which has ended,
		 * or which sees our result before it sleeps there. */
		if (seat) {
			n_groups = add(groups, n_groups, seat - 1);
			continue;
		}
		S5_CRASH_POINT("wake-before");
		if (w)
			(void)s5__futex_wake(s5__a32_raw(&w->wait_word),
					     INT32_MAX);
	}
	sort(groups, n_groups);
	wake_groups(groups, n_groups);
}

void s5__wake_many(const uint32_t *slots, uint32_t n)
{
	for (; n > BLOCK; slots += BLOCK, n -= BLOCK)
		wake_block(slots, BLOCK);
	wake_block(slots, n);
}
