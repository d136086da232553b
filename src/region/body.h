/* SPDX-License-Identifier: MIT */
/*
 * body.h - a message: bytes of any number, in cells and pages
 *
 * A message is built in its owner's hand, and lies in one place at every
 * instant: a hand, or an object. Queues hold them; the operations of a semop
 * that sleeps are one, too, so that others can perform them.
 */
#ifndef S5_REGION_BODY_H
#define S5_REGION_BODY_H

#include "heap.h"

#include <assert.h>

#define S5__MSG_INLINE 64u
#define S5__MSG_CELLS  15u /* most further cells before pages are used */

/* The first cell of a message; the beginning of the body is in it. */
struct s5__message {
	uint32_t next; /* further cells of the body */
	uint32_t mag_next;
	uint32_t fifo_next, fifo_prev;
	uint32_t lane_next;
	uint32_t lane;
	uint32_t pages; /* pages of the body, if it is large */
	uint32_t pid;	/* who sent it; for display */
	int64_t type;
	uint64_t size;
	int64_t since; /* when it was sent, s; for display */
	uint64_t unused;
	uint8_t data[S5__MSG_INLINE];
};
static_assert(sizeof(struct s5__message) == S5__CELL, "one cell");

static inline struct s5__message *s5__message_at(uint32_t cell)
{
	return (struct s5__message *)(void *)s5__cell_at(cell);
}

/* Builds a message from user memory (already probed) in the slot's hand. */
int s5__body_make(struct s5__self *self, const void *user, int64_t type,
		  uint64_t size);
/* The same without the bytes. */
int s5__body_alloc(struct s5__self *self, int64_t type, uint64_t size);
/* Copies type and body between two messages of the same size. */
bool s5__body_clone(struct s5__message *to, const struct s5__message *from,
		    uint64_t size);
/* The bytes at that offset of the body, within one piece of it (the first has
 * S5__MSG_INLINE bytes, the others S5__CELL_DATA or S5__PAGE), or NULL. */
const void *s5__body_at(const struct s5__message *m, uint64_t offset);
/* Copies the body out; false if its chain is damaged. */
bool s5__body_copy(const struct s5__message *m, void *user, uint64_t n);
/* Frees the message in the thread's own hand. False if the heap's lock was not
 * to be had: it is still in hand, and the next call frees it. */
bool s5__body_free(struct s5__self *self);
/* The same, however long it takes; signals are let in while it waits. */
void s5__hand_empty(struct s5__self *self);
/* Frees the message in the hand of a dead thread. 0, or as s5__lock(). */
int s5__body_free_dead(struct s5__self *self, struct s5__slot *dead);

#endif
