/* SPDX-License-Identifier: MIT */
/*
 * sem_layout.h - a semaphore set in shared memory
 */
#ifndef S5_SEM_LAYOUT_H
#define S5_SEM_LAYOUT_H

#include "../region/body.h"
#include "../region/layout.h"

#include <assert.h>

/*
 * s5__sem.word, one word, so that one compare-and-swap is a whole operation:
 * bits 0-15 the value; 16 SLOW: only who holds the set's lock may change it;
 * 17-31 a generation of the set, never 0, so that a stale id does not match;
 * 32-63 the process that last operated on it.
 */
#define S5__SEM_VALUE	UINT64_C(0xffff)
#define S5__SEM_SLOW	(UINT64_C(1) << 16)
#define S5__SEM_GEN	(UINT64_C(0x7fff) << 17)
#define S5__SEM_PID	(UINT64_C(0xffffffff) << 32)
#define S5__SEM_MAX	32767
#define S5__SEM_ADJ_LOW (-32768)

static inline uint64_t s5__sem_gen(uint32_t id)
{
	return (uint64_t)(1 + (id >> S5__IPC_SHIFT) % 32767u) << 17;
}

struct s5__sem_list {
	uint32_t head, tail; /* thread slots */
};

/*
 * struct s5__sem - one semaphore; a cache line
 * Invariants  E1 SLOW is set while `refs` is not 0, and while somebody who
 *             holds the set's lock decides on the word.
 * Field       writer                        under          lock-free read
 * word        anybody, if not SLOW          -              yes
 *             holder of the set's lock      lock, SLOW
 * otime       who operated                  -              yes
 * owner       creator                       -              yes
 * others      sleepers, wakers              set's lock     no
 */
struct s5__sem {
	struct s5__a64 word;
	struct s5__a64 otime; /* s; of the last call whose first it was */
	uint32_t owner;	      /* id + 1 of its set */
	uint32_t refs;	      /* operations of sleeping calls that name it */
	struct s5__sem_list alter; /* single decrements that wait for it */
	struct s5__sem_list zero;  /* single waits for zero */
	uint64_t unused[3];
};
static_assert(sizeof(struct s5__sem) == 64, "one line");

#define S5__SEM_OWN	 4u /* semaphores that lie in the set itself */
#define S5__SEM_PER_PAGE (S5__PAGE / sizeof(struct s5__sem))

/*
 * struct s5__semset - one set
 * Invariants  E2 The lists hold exactly the slots whose wait_kind and wait_id
 *             say so, in order of wait_order; `refs` counts their operations.
 *             May be false while `busy`: who finds it set, after the death of a
 *             holder, rebuilds lists and counts from the slots.
 *             E3 Nobody sleeps who could proceed, unless `due`: then the next
 *             holder looks through all lists.
 *             E4 Single decrements wait at their semaphore, but in `alter` as
 *             long as `complex` calls wait there.
 * Field            writer                   under   lock-free read
 * id               creator, remover         lock    yes, acquire [PAIR set-id]
 * nsems, array     creator                  -       yes, after id
 * event            who operated             lock    yes: a hint to spin on
 * undo             processes with SEM_UNDO  lock    yes: 0 or not
 * watcher          sleepers                 lock    no
 * all else         holders                  lock    no
 * Death       values, undo and waiters' states: the undo log. Lists: E2.
 */
struct s5__semset {
	struct s5__a32 lock;
	struct s5__a32 id; /* id + 1; 0: there is no such set */
	uint32_t nsems;
	uint32_t array; /* first page of its semaphores, if they are many */
	uint32_t busy, due;
	uint32_t complex; /* calls of several operations that wait */
	uint32_t n_wait;
	struct s5__sem_list alter, zero;
	uint64_t order; /* arrival number of the next waiter */
	uint32_t undo;	/* cell of the first undo record */
	struct s5__a32 watcher;

	struct s5__a32 event;
	uint32_t mixed; /* waiting calls that have IPC_NOWAIT somewhere */
	uint64_t unused1[7];

	struct s5__ipc ipc;
	uint64_t unused2[8];
	struct s5__sem own[S5__SEM_OWN];
};
static_assert(sizeof(struct s5__semset) == 512,
	      "set size is part of the format");
static_assert(offsetof(struct s5__semset, ipc) == 128, "one line each");
static_assert(offsetof(struct s5__semset, own) == 256, "one line each");

/* One operation, as a sleeping call keeps it for others. */
struct s5__op {
	uint16_t num;
	int16_t op;
	int16_t flg;
	uint16_t unused;
};
static_assert(sizeof(struct s5__op) == 8, "fits wait_type");

struct s5__adj {
	uint32_t num;
	int32_t adj;
};

/*
 * struct s5__undo - what one process will give back to one set: a cell, and
 * further cells by `next`, of which only `n` and the adjustments count
 */
struct s5__undo {
	uint32_t next;
	uint32_t mag_next;
	uint32_t rec_next; /* the set's next record */
	uint32_t proc, proc_gen;
	uint32_t set_id; /* id + 1 */
	uint32_t n;
	uint32_t pid; /* of the process */
	struct s5__adj adj[12];
};
static_assert(sizeof(struct s5__undo) == S5__CELL, "one cell");
#define S5__UNDO_ADJ 12u

static inline struct s5__undo *s5__undo_at(uint32_t cell)
{
	return (struct s5__undo *)(void *)s5__cell_at(cell);
}

#endif
