/* SPDX-License-Identifier: MIT */
/*
 * msg_layout.h - a queue, a message and a lane in shared memory
 */
#ifndef S5_MSG_LAYOUT_H
#define S5_MSG_LAYOUT_H

#include "../region/body.h"

#include <assert.h>

/* Head and tail of a list of waiters, logged as one word. */
struct s5__wait_list {
	uint32_t head, tail;
} __attribute__((aligned(8)));

/*
 * struct s5__msgq - one queue
 * Invariants  M1 head..tail by fifo_next links exactly qnum messages, oldest
 *             first.  M2 cbytes is the sum of their sizes.  M3 Each is, in the
 *             same order, in the lane of its type; the tree at `root` holds
 *             exactly the queue's lanes.  M4 No message is queued that a
 *             waiting receiver which is not stopped would take.
 *             All may be false only while `lock` is held and armed.
 *             The fifo_next of the tail, and the lane_next of a lane's tail,
 *             mean nothing.
 * Field            writer                   under   lock-free read
 * id               creator, remover         lock or yes, acquire [PAIR
 * queue-id] reg_lock arrivals,        senders, receivers       lock    yes;
 * hints to spin on: a departures                                        missed
 * change costs a sleep ipc              see region/layout.h all else senders,
 * receivers,      lock    no IPC_SET, settlers Death       the undo log in the
 * owner's slot; committed results are published by who takes the lock
 * (lock/lock.c).
 */
struct s5__msgq {
	struct s5__a32 lock;
	struct s5__a32 id;   /* id + 1; 0: there is no such queue */
	uint32_t head, tail; /* messages: cells */
	uint32_t qnum;
	struct s5__a32 arrivals;
	uint32_t lspid, lrpid;
	uint64_t cbytes;
	uint64_t qbytes;
	int64_t stime, rtime;

	struct s5__wait_list any;     /* receivers that name no single type */
	struct s5__wait_list senders; /* waiting for room */
	uint32_t n_recv, n_send;      /* how many wait, in all lists */
	uint32_t root;		      /* tree of lanes: a node reference */
	uint32_t n_lanes;
	struct s5__a32 departures;
	uint32_t skip;	    /* every message before it is of skip_type */
	int64_t skip_type;  /* 0: nothing is known */
	uint64_t order;	    /* arrival number of the next waiter */
	uint32_t handed_to; /* slot that was last handed a message; a hint */
	uint32_t unused0;

	struct s5__ipc ipc;
	uint64_t unused1[40];
};
static_assert(sizeof(struct s5__msgq) == 512,
	      "queue size is part of the format");
static_assert(offsetof(struct s5__msgq, any) == 64, "one line each");
static_assert(offsetof(struct s5__msgq, ipc) == 128, "one line each");

/*
 * struct s5__lane - what a queue knows of one type: its messages, and the
 * receivers that wait for just this type
 *
 * Lanes are the leaves of a crit-bit tree over the types, so the lane of a type
 * and the lowest type are found without a search through the messages, and one
 * insertion or deletion changes two words. Each lane's cell also holds one
 * inner node of the tree, always an ancestor of its leaf.
 */
struct s5__lane {
	uint32_t next; /* as in every cell; unused */
	uint32_t mag_next;
	uint32_t head, tail; /* messages, oldest first */
	struct s5__wait_list receivers;
	int64_t type;
	uint32_t child[2]; /* inner node: references */
	uint32_t bit;	   /* inner node: the bit it decides on, 62..0 */
	uint32_t has_node; /* 1 if the inner node is part of the tree */
	uint64_t unused[10];
};
static_assert(sizeof(struct s5__lane) == S5__CELL, "one cell");

/* Node references: 0 none; cell << 1 a leaf; cell << 1 | 1 an inner node. */

static inline struct s5__lane *s5__lane_at(uint32_t cell)
{
	return (struct s5__lane *)(void *)s5__cell_at(cell);
}

#endif
