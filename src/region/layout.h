/* SPDX-License-Identifier: MIT */
/*
 * layout.h - the arena file: header, and what every object begins with
 *
 * docs/design/layout.md draws the file. A change here is a change of
 * S5__FORMAT.
 */
#ifndef S5_REGION_LAYOUT_H
#define S5_REGION_LAYOUT_H

#include "../lock/slot.h"

#define S5__MAGIC  "SYSFIVE\n"
#define S5__FORMAT 2u

#define S5__IPC_MNI    32768u /* most objects of a kind; bits of an index */
#define S5__IPC_SHIFT  15
#define S5__KEY_BUCKET 4096u

#define S5__SEMMSL_MOST 65536u			  /* sem_num has 16 bits */
#define S5__SHM_MOST	(UINT64_MAX - (1u << 24)) /* shmmax, shmall */
#define S5__SEMOPM_MOST 32768u

enum s5__kind {
	S5__KIND_MSG = 0,
	S5__KIND_SEM = 1,
	S5__KIND_SHM = 2,
	S5__KINDS = 3,
};

enum s5__phase {
	S5__PHASE_FREE = 0,
	S5__PHASE_LIVE = 1,
	S5__PHASE_DYING = 2, /* removed; its parts are being given back */
};

/* Names of one kind: who holds which index. Guarded by reg_lock. */
struct s5__names {
	uint32_t in_use;
	uint32_t next; /* where the cyclic search for an index begins */
	uint32_t last; /* last index given + 1; 0: none yet */
	uint32_t seq;
	uint32_t chunks;	/* chunks of objects that exist */
	uint32_t parts;		/* of all objects: semaphores */
	struct s5__a32 next_id; /* chosen for the next object + 1; 0: none */
	uint32_t unused;
};

/*
 * struct s5__header - the first page
 * Invariants  R1 Pages below `top` are reserved in the file system.
 *             R2 Pages from `bump` on were never given out.
 *             R3 A cell or page is in exactly one of: a free list, one
 *             thread's slot, one object; but for what docs/invariants.md
 *             says of a death between two steps.
 * Field         writer              under      lock-free read
 * magic..mode   creator, once       -          yes
 * limits        anybody             -          yes
 * top           who reserved pages  heap_lock  yes, acquire [PAIR top]
 * bump..depot   any thread          heap_lock  no
 * names         any thread          reg_lock   next_id, to show it
 * slot_chunks   who added a chunk   heap_lock  yes, acquire [PAIR dir]
 * janitor_s     any thread          -          yes, a hint
 * Death       the undo log of the owner of the lock.
 */
struct s5__header {
	char magic[8];
	uint32_t format;
	uint32_t word; /* 64: bits of a long; wrong byte order shows too */
	uint32_t cell, slot, queue, fix_pages; /* sizes it was made with */
	uint8_t boot_id[16];
	uint64_t pages; /* size of the file */
	int64_t created_s;

	struct s5__a64 msgmax, msgmnb, msgmni;
	struct s5__a64 semmsl, semmns, semopm, semmni;
	uint64_t unused0[1];

	struct s5__a32 heap_lock;
	struct s5__a32 top; /* pages reserved */
	uint32_t bump;	    /* first page never given out */
	uint32_t free_page; /* free pages that keep their memory */
	uint32_t free_n;
	uint32_t punched; /* free pages whose memory was given back */
	uint32_t punched_n;
	uint32_t depot; /* full magazines of free cells */
	uint32_t depot_n;
	struct s5__a32 slot_chunks;
	struct s5__a32 proc_chunks;
	uint32_t sem_page; /* free pages that only semaphores lie in */
	uint32_t unused1[4];

	struct s5__a32 reg_lock;
	uint32_t unused2[15];
	struct s5__names names[S5__KINDS];
	struct s5__a64 shmmax, shmall, shmmni;
	uint64_t unused3[1];

	struct s5__a64 janitor_s; /* when somebody last looked for the dead */
	uint64_t unused4[7];
};
_Static_assert(sizeof(struct s5__header) <= S5__PAGE, "one page");
_Static_assert(offsetof(struct s5__header, heap_lock) == 128, "own line");
_Static_assert(offsetof(struct s5__header, reg_lock) == 192, "own line");

static inline struct s5__header *s5__header(void)
{
	return (struct s5__header *)(void *)s5__arena.base;
}

/*
 * struct s5__ipc - what every object has: who may use it, and its name
 * Field         writer            under      lock-free read
 * key..key_next creator, remover  reg_lock   no
 * uid..mode     creator, IPC_SET  obj lock   yes, relaxed: a check that races
 *                                            with IPC_SET may see either
 * phase         creator, remover  reg_lock,  no
 *                                 obj lock
 * Death       undo log; a DYING object is finished by whoever meets it.
 */
struct s5__ipc {
	int32_t key;
	uint32_t key_next; /* index + 1 of the next in its bucket */
	uint32_t phase;
	uint32_t dying; /* id + 1 it had */
	struct s5__a32 uid, gid, cuid, cgid, mode;
	uint32_t seq;
	int64_t ctime;
	uint64_t unused[2];
};
_Static_assert(sizeof(struct s5__ipc) == 64, "one line");

/*
 * struct s5__cell - the unit of message memory, 128 bytes
 * A free cell hangs in a magazine by `mag_next`; the first of a magazine in
 * the depot leads to the next magazine. `next` links the cells of a message.
 */
struct s5__cell {
	uint32_t next;
	uint32_t mag_next;
	union {
		struct {
			uint32_t batch_next;
			uint32_t batch_n;
		};
		uint8_t data[S5__CELL - 8];
	};
};
_Static_assert(sizeof(struct s5__cell) == S5__CELL, "cell size");

#define S5__CELL_DATA	   (S5__CELL - 8u)
#define S5__CELLS_PER_PAGE (S5__PAGE / S5__CELL)
#define S5__MAG_MAX	   S5__CELLS_PER_PAGE

/* The cell of that index, or NULL; cells lie beyond the fixed part. */
static inline struct s5__cell *s5__cell_at(uint32_t idx)
{
	if (S5_UNLIKELY(idx < S5__FIX_PAGES * S5__CELLS_PER_PAGE))
		return NULL;
	return s5__at((uint64_t)idx << S5__CELL_SHIFT, S5__CELL);
}

#endif
