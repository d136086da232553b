/* SPDX-License-Identifier: MIT */
/*
 * shm_layout.h - a segment and its attachers in shared memory
 *
 * The bytes of a segment are a file of their own beside the arena; what lies
 * here is what the kernel keeps in its shmid_kernel.
 */
#ifndef S5_SHM_LAYOUT_H
#define S5_SHM_LAYOUT_H

#include "../region/layout.h"

#include <assert.h>

/*
 * struct s5__attach - a process that has, or lately had, the segment mapped
 * How many mappings it has is looked up in /proc whenever somebody asks; the
 * count here is what was last seen.
 */
struct s5__attach {
	uint32_t pid;
	uint32_t count; /* mappings; 0: the entry is free */
	uint32_t start; /* start time in clock ticks, lower half */
	uint32_t ns;	/* inode of its pid namespace, lower half */
	uint32_t left;	/* s since the Epoch when it said it ends; or 0 */
	uint32_t unused;
};

#define S5__ATTACHES 5u

/* Some attachers, and the cell with more of them, or 0. One is part of the
 * segment, the others are cells. */
struct s5__attaches {
	uint32_t next;
	union {
		uint32_t mag_next; /* in a cell */
		uint32_t attached; /* in a segment: how many attached so far */
	};
	struct s5__attach at[S5__ATTACHES];
};
static_assert(sizeof(struct s5__attaches) == S5__CELL, "one cell");

/*
 * struct s5__seg - one segment
 * Invariants  S1 A process of this pid namespace that has the segment mapped
 *             has an entry, or `strays` is not 0, or it is a child by a fork
 *             past libc that made no call yet.
 *             S2 The segment's file has its name as long as the id is valid.
 * Field            writer                     under     lock-free read
 * id               creator, remover           lock or   yes, acquire [PAIR
 *                                             reg_lock  seg-id]
 * dest             remover                    reg_lock  yes; a hint
 * size..name_key   creator                    -         yes, after id
 * strays           forking, forked processes  -         yes
 * ipc              see region/layout.h
 * all else         attachers, detachers, who  lock      no
 *                  counts, IPC_SET
 * Death       the undo log of the owner of the lock. A segment that is marked
 *             for destruction and not mapped is destroyed by who meets it.
 */
struct s5__seg {
	struct s5__a32 lock;
	struct s5__a32 id; /* id + 1; 0: there is no such segment */
	uint32_t dest;	   /* 1: to be destroyed when nobody has it mapped */
	struct s5__a32 strays;
	uint64_t size;	  /* bytes, as asked for */
	uint64_t serial;  /* the file's name, with name_key */
	int32_t name_key; /* key that it was made with */
	uint32_t cpid, lpid;
	uint32_t locker; /* SHM_LOCK: uid + 1 of who did it; or 0 */
	int64_t atime, dtime;

	struct s5__ipc ipc;
	struct s5__attaches attaches;
};
static_assert(sizeof(struct s5__seg) == 256,
	      "segment size is part of the format");

#endif
