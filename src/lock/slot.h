/* SPDX-License-Identifier: MIT */
/*
 * slot.h - a thread's slot: its robust word, undo log, wake list, waiter
 *
 * Everything that a thread owns, and that somebody else must find if it dies,
 * stands in its slot. One thread writes a slot; others read it, and write the
 * waiter part under the lock of the object that the thread waits for.
 */
#ifndef S5_LOCK_SLOT_H
#define S5_LOCK_SLOT_H

#include "arena.h"

#include <linux/futex.h>

#define S5__LOG_MAX  64u
#define S5__LOG_PAGE 256u /* entries in a page; see s5__log_far() */
#define S5__WAKE_MAX 32u

/* Bits of s5__slot.wait_word; the rest of it counts interruptions. */
#define S5__WAIT_ASLEEP                                                        \
	1u		    /* exact: the owner is in, or on its way to, futex \
			     */
#define S5__WAIT_DONE	 2u /* exact: `result` is there */
#define S5__WAIT_BUMP	 16u
#define S5__WAIT_TAKEN	 4u /* exact: the owner has accepted the result */
#define S5__WAIT_REVOKED 8u /* exact: the result was taken back */

/* What a slot's `hand` is. */
enum s5__hand {
	S5__HAND_NONE = 0,
	S5__HAND_PUT = 1, /* cells on their way in: freed if the owner dies */
	S5__HAND_GOT = 2, /* a message on its way out: put back */
};

/* What a slot's `wait_kind` is: which list it stands in. */
enum s5__wait_kind {
	S5__WAIT_NONE = 0,
	S5__WAIT_SEND = 1,
	S5__WAIT_RECV_ANY = 2,	/* type 0, <0, MSG_EXCEPT */
	S5__WAIT_RECV_TYPE = 3, /* one type */
	S5__WAIT_SEM = 4,
};

/*
 * s5__slot.state: phase, generation, and who claims it. All exact. It is one
 * word so that a claimer that dies before it is registered with the kernel can
 * be told from one that is slow: by a member of the same pid namespace (`ns` is
 * 16 bits of its inode) which finds no such thread.
 */
#define S5__SLOT_FREE	 0u
#define S5__SLOT_CLAIMED 1u /* `word` is not the claimer's yet */
#define S5__SLOT_USED	 2u

static inline uint32_t s5__slot_phase(uint64_t state)
{
	return (uint32_t)(state & 3u);
}

static inline uint64_t s5__slot_state(uint32_t phase, uint64_t gen, uint64_t ns,
				      uint64_t tid)
{
	return phase | (gen & 0xfffffu) << 2 | (ns & 0xffffu) << 22 | tid << 38;
}

#define S5__SLOT_GEN(state) ((uint32_t)((state) >> 2) & 0xfffffu)
#define S5__SLOT_NS(state)  ((uint32_t)((state) >> 22) & 0xffffu)
#define S5__SLOT_TID(state) ((uint32_t)((state) >> 38))

/*
 * What a lock word holds: the index of its owner's slot in bits 0-14, and bits
 * of the slot's generation above, so that who was delayed cannot take the lock
 * of a slot's next owner for that of the dead one it saw.
 */
#define S5__TOKEN_IDX(token) ((token) & (S5__SLOTS_MAX - 1u))

static inline uint32_t s5__token(uint32_t idx, uint64_t state)
{
	return idx | S5__SLOT_GEN(state) << 15;
}
_Static_assert(S5__SLOTS_MAX == 1u << 15, "index bits of a token");
#define S5__TOKEN_NONE (~(S5__SLOTS_MAX - 1u)) /* of slot 0, which is none */

/*
 * s5__slot.holding: bits 0-39 the offset of the lock that the owner takes or
 * holds, 0 if none, exact; bits 40-63 count its sections. Two looks that find
 * the same value have seen no section begin or end in between.
 */
#define S5__HOLDING	((UINT64_C(1) << 40) - 1)
#define S5__SECTION_ONE (UINT64_C(1) << 40)

/* Bits of s5__slot.hollow: pages that may be without memory. */
#define S5__HOLLOW_PAGES 1u /* those of `pages` */
#define S5__HOLLOW_HAND	 2u /* those of the message that is being freed */

struct s5__log_entry {
	uint64_t where; /* offset << 1 | 1 if 8 bytes wide, else 4 bytes */
	uint64_t old;
};

struct s5__wake_entry {
	uint32_t slot;	 /* whom */
	uint32_t seq;	 /* its wait_seq */
	uint32_t result; /* goes to its `result` */
	uint32_t asleep; /* filled in when published: needs a system call */
};

/*
 * struct s5__slot - one thread
 * Invariants  L1 If a lock word holds this slot's index, `holding` has its
 *             offset.  L2 `commit` is 0 outside of critical sections, but for
 *             a wake list that is being worked off.
 * Field         writer                  under        lock-free read
 * word          owner once; kernel      -            yes [PAIR slot-word]
 *               (death); lock waiters
 * state         claimer, settler        CAS          yes
 * holding,commit,log,wake  owner        -            by who takes a dead
 * recovering                                         owner's lock
 * hand*,mag*,pages,chunk,     owner;    -            no
 * hollow,dismantle  settler of the dead     object/heap lock
 * wait_word     owner, wakers           atomic       yes, futex word
 *                                                    [PAIR wait-result]
 * wait_seat     owner                   -            by who woke it
 *                                                    [PAIR seat]
 * wait_*,prev,next,result  owner,       object lock  no
 *               wakers
 * Death       the kernel sets FUTEX_OWNER_DIED in `word`, because the
 *             owner's list_op_pending points at it. s5__settle() then goes
 *             through every field; each step is repeatable.
 */
struct s5__slot {
	/* Read by others that wait for a lock. */
	struct s5__a32 word; /* TID | FUTEX_WAITERS | FUTEX_OWNER_DIED */
	uint32_t pid;
	struct s5__a64 state; /* see S5__SLOT_* */
	uint32_t tid;
	uint32_t euid;	 /* as seen when the slot was taken; for display */
	uint64_t pid_ns; /* inode of the owner's pid namespace */
	uint64_t start;	 /* start time of the process, clock ticks */
	uint32_t held;	 /* chain of pages for the object that is being made */
	uint32_t unused_held;
	uint64_t unused0[2];

	/* The owner's own, written in every call. */
	struct s5__a64 holding; /* see S5__HOLDING */
	struct s5__a64 commit;	/* log entries | wake entries << 32 */
	uint32_t hand;		/* first cell of a message in transit */
	uint32_t hand_kind;	/* enum s5__hand */
	uint32_t hand_obj;	/* queue index it came from */
	uint32_t hand_id;	/* and that queue's id + 1 */
	uint32_t recovering;	/* token of the dead owner being recovered */
	uint32_t mag[2];	/* magazines of free cells, private */
	uint32_t mag_n[2];	/* how many are in each; a hint after death */
	uint32_t pages;		/* chain of pages owned, not yet attached */
	uint32_t dismantle;	/* the removal it began: s5__dismantle() */
	uint32_t chunk;		/* directory entry that `pages` are for */

	/* The waiter. */
	struct s5__a32 wait_word; /* futex word */
	uint32_t result;
	uint32_t wait_seq;  /* grows with each wait */
	uint32_t wait_kind; /* enum s5__wait_kind; 0: in no list */
	uint32_t wait_obj;  /* object index */
	uint32_t wait_id;   /* object id + 1 */
	uint32_t prev, next;
	uint32_t lane;	     /* receiver of one type: its lane */
	uint32_t wait_flags; /* facility's own */
	int64_t wait_type;
	uint64_t wait_size;  /* sender: bytes; receiver: most it takes */
	uint64_t wait_order; /* arrival number within the object */

	uint64_t wait_since;	   /* CLOCK_MONOTONIC ns; for display */
	struct s5__a64 wait_stamp; /* when it last looked; ns */
	uint32_t room;	     /* kind of what it waits, or waited last, for */
	uint32_t wait_seat;  /* seat + 1 that it sleeps on; 0: `wait_word` */
	uint32_t wait_block; /* semaphores: operation that it sleeps on */
	uint32_t wait_undo;  /* semaphores: its undo record's cell, or 0 */
	uint32_t hollow;     /* S5__HOLLOW_*; exact */
	uint32_t unused2;
	uint64_t unused3[3];

	struct s5__wake_entry wake[S5__WAKE_MAX];
	struct s5__log_entry log[S5__LOG_MAX];
	uint64_t unused4[32];
};
_Static_assert(sizeof(struct s5__slot) == 2048,
	       "slot size is part of the format");
_Static_assert(offsetof(struct s5__slot, holding) == 64, "own line");
_Static_assert(offsetof(struct s5__slot, hand) % 8 == 0, "logged as a pair");
_Static_assert(offsetof(struct s5__slot, wait_word) == 128, "own line");

/* The offset of the lock that the slot's owner takes or holds, or 0. */
static inline uint64_t s5__slot_holding(const struct s5__slot *s)
{
	return s5__a64_load_rlx(&s->holding) & S5__HOLDING;
}

/* The slot of that index, or NULL if there is none. 0 is never a slot. */
static inline struct s5__slot *s5__slot_at(uint32_t idx)
{
	struct s5__a32 *dir;
	uint32_t page;

	if (S5_UNLIKELY(idx == 0 || idx >= S5__SLOTS_MAX))
		return NULL;
	dir = (struct s5__a32 *)(void *)(s5__arena.base +
					 S5__FIX_SLOT_DIR * S5__PAGE);
	page = s5__a32_load_acq(&dir[idx / 8u]); /* PAIR dir: acquire */
	if (S5_UNLIKELY(page < S5__FIX_PAGES))
		return NULL;
	return s5__at(((uint64_t)page << S5__PAGE_SHIFT) +
			      (idx % 8u) * sizeof(struct s5__slot),
		      sizeof(struct s5__slot));
}

#endif
