/* SPDX-License-Identifier: MIT */
/*
 * msgq.h - what the files of this room share
 */
#ifndef S5_MSG_MSGQ_H
#define S5_MSG_MSGQ_H

#include "../lock/wait.h"
#include "../region/names.h"
#include "lanes.h"

#define S5__MSGQ_CHUNK (S5__CHUNK_PAGES * S5__PAGE / sizeof(struct s5__msgq))
#define S5__LANES_KEPT 32u /* lanes that may stay without a message */

/* Results given to waiters; else an errno. */
#define S5__GOT_MESSAGE 0u /* it is in the waiter's hand */
#define S5__TRY_AGAIN	EAGAIN

/* What a receiver wants. */
struct s5__want {
	int64_t type;  /* as given; LONG_MIN is -LONG_MAX */
	uint64_t size; /* most bytes it takes */
	enum {
		S5__SELECT_ANY,
		S5__SELECT_TYPE,
		S5__SELECT_EXCEPT,
		S5__SELECT_UPTO, /* the lowest type <= -type */
	} select;
};

extern const struct s5__kind_ops s5__msg_kind;

/* The queue at an index, or NULL. */
struct s5__msgq *s5__msgq_at(uint32_t index);
/* The queue of an id, or NULL if there is none now (EINVAL). No lock. */
struct s5__msgq *s5__msgq_find(int id);

/* --- queue.c: messages in and out; lock held, within a transaction -------- */

/* Does a message of that size have room now? */
static inline bool s5__msgq_fits(const struct s5__msgq *q, uint64_t size)
{
	return q->cbytes + size <= q->qbytes && q->qnum + 1ull <= q->qbytes;
}

/* The message that `want` selects, or 0. */
uint32_t s5__msgq_select(struct s5__self *self, struct s5__msgq *q,
			 const struct s5__want *want);
/* Puts the message in slot `from`'s hand at the end, or in front. A lane's cell
 * has been reserved. False if the queue is damaged. */
bool s5__msgq_append(struct s5__self *self, struct s5__msgq *q,
		     struct s5__slot *from, bool in_front);
/* Moves a message to the hand of `to`. */
bool s5__msgq_remove(struct s5__self *self, struct s5__msgq *q, uint32_t cell,
		     struct s5__slot *to);

/* --- waiters.c: who waits at a queue; lock held --------------------------- */

/* Enters the thread's prepared waiter at the tail of its list. For
 * S5__WAIT_RECV_TYPE `lane` is the lane of its type. */
void s5__waiter_link(struct s5__self *self, struct s5__msgq *q,
		     enum s5__wait_kind kind, uint32_t lane);
/* Takes a waiter off its list, and then its lane out if nothing else is in
 * it. */
void s5__waiter_unlink(struct s5__self *self, struct s5__msgq *q,
		       struct s5__slot *w);
/* The slot index of the receiver to be served first for a message of that type
 * and size, or 0; receivers that are stopped are passed over. */
uint32_t s5__waiter_for(struct s5__self *self, struct s5__msgq *q,
			int64_t type);
/* Adds those senders to the wake list whose message fits now, up to what one
 * transaction can log. True if there are more. */
bool s5__waiters_fit(struct s5__self *self, struct s5__msgq *q);
/* Unlinks receivers (and, for EIDRM, senders) whose wait_order is below `until`
 * and gives them `result`, up to what one transaction can log. True if there
 * are more. */
bool s5__waiters_release(struct s5__self *self, struct s5__msgq *q,
			 uint32_t result, uint64_t until);
/* Words that unlinking one waiter, and dropping its lane, logs. */
#define S5__UNLINK_LOG 15u

/* Offers the message in slot `from`'s hand to the waiting receivers, else
 * queues it. Commits at least once. -ENOMEM if it needs a lane and no cell was
 * reserved, -EIDRM if the queue is damaged; then the message is still there. */
int s5__deliver(struct s5__self *self, struct s5__msgq *q,
		struct s5__slot *from, bool in_front);

/* --- msg_repair.c ----------------------------------------------------------
 */
extern const struct s5__facility s5__msg_facility;
/* Takes the last hand-over back if its receiver is stopped or dead. True if the
 * queue should be searched again. No lock held. */
bool s5__msgq_recall(struct s5__self *self, const struct s5__msgq *q);
/* Finishes a removal that somebody began. No lock held. */
void s5__msgq_dismantle(struct s5__self *self, uint32_t index);

#endif
