/* SPDX-License-Identifier: MIT */
/*
 * heap.h - memory of the arena: cells of 128 bytes, pages, chunks of tables
 *
 * A thread has two magazines of free cells in its slot and touches the shared
 * free lists once in 32 cells. What a thread owns is written in its slot
 * before it is taken from where it was, or in the same transaction, so that a
 * death leaks nothing (docs/design/layout.md, "Who owns a cell").
 */
#ifndef S5_REGION_HEAP_H
#define S5_REGION_HEAP_H

#include "../lock/lock.h"
#include "layout.h"

/* Sees to it that the thread's magazines hold at least `n` <= 32 cells. No
 * lock held. 0, -ENOMEM, or as s5__lock() for the heap's lock. */
int s5__cells_reserve(struct s5__self *self, uint32_t n);

/* Gives magazines that are full back to the depot. No lock held. */
void s5__cells_overflow(struct s5__self *self);

/* Makes slot->pages a chain of `n` pages that have memory. 0, -ENOMEM or as
 * s5__lock(); then the chain holds some of them. */
int s5__pages_take(struct s5__self *self, uint32_t n);

/* Frees the chain that starts in *head, and clears that. 0, or as s5__lock();
 * then the chain stays where it is. No lock held. */
int s5__pages_put(struct s5__self *self, uint32_t *head);

/* Frees a part of a chain that others may free, too: the heap's lock is held.
 * `hollow`: it may have no memory. True if nothing is left of it. */
bool s5__pages_put_some(struct s5__self *self, uint32_t *head, bool hollow);

/* Brings `n` pages into slot->held: from the list *kept of pages that keep
 * their kind, and new ones. No lock held. 0, -ENOMEM or as s5__lock(). */
int s5__pages_hold(struct s5__self *self, uint32_t n, uint32_t *kept);
/* Puts the chain that starts in *head, which is the caller's, into that list.
 */
void s5__pages_let_go(struct s5__self *self, uint32_t *head, uint32_t *kept);

/* Adds a chunk of tables (4 zeroed pages in a row) at dir[at], if that entry is
 * still empty, and counts it in *count. 0, -ENOMEM or as s5__lock(). */
int s5__chunk_add(struct s5__self *self, struct s5__a32 *dir, uint32_t at,
		  struct s5__a32 *count);

/*
 * May what the slot owns be taken from it? Its owner is dead, and what it did
 * not commit has been rolled back. The heap's lock is held: without it nobody
 * frees the slot of a dead thread, so it does not get another owner either.
 */
static inline bool s5__slot_is_left(const struct s5__slot *s)
{
	/* PAIR slot-word: acquire, in this order; who claims a freed slot
	 * stores its tid before it says that the slot is used. */
	return s5__slot_phase(s5__a64_load_acq(&s->state)) == S5__SLOT_USED &&
	       (s5__a32_load_acq(&s->word) & FUTEX_OWNER_DIED) &&
	       /* PAIR rollback: acquire */
	       (uint32_t)s5__a64_load_acq(&s->commit) == 0;
}

/* Everything that a dead thread's slot owns goes to the shared lists.
 * 0 or as s5__lock(). */
int s5__heap_settle(struct s5__self *self, struct s5__slot *dead);

/* Takes a cell that s5__cells_reserve() provided. It stays the head of the
 * magazine until the caller has written it where it belongs and calls
 * s5__cell_taken(). */
static inline uint32_t s5__cell_peek(struct s5__self *self)
{
	struct s5__slot *s = self->slot;

	if (S5_UNLIKELY(s->mag[0] == 0)) {
		s->mag[0] = s->mag[1]; /* both for a moment: counts once */
		s->mag_n[0] = s->mag_n[1];
		s5__order();
		s->mag[1] = 0;
		s->mag_n[1] = 0;
	}
	return s->mag[0];
}

static inline void s5__cell_taken(struct s5__self *self, struct s5__cell *c)
{
	struct s5__slot *s = self->slot;

	s5__order(); /* it is owned elsewhere before it leaves the magazine */
	s->mag[0] = c->mag_next;
	s->mag_n[0]--;
}

/* Puts a cell that the caller owns, and names somewhere, into the magazine;
 * the caller then removes that name. */
static inline void s5__cell_put(struct s5__self *self, uint32_t idx,
				struct s5__cell *c)
{
	struct s5__slot *s = self->slot;

	c->mag_next = s->mag[0];
	s5__order();
	s->mag[0] = idx;
	s->mag_n[0]++;
	s5__order();
}

#endif
