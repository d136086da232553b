/* SPDX-License-Identifier: MIT */
/*
 * process.h - processes that leave something to be done when they end
 *
 * A process that uses SEM_UNDO has a slot of its own in the arena. It is found
 * again after an exec, by pid, start time, pid namespace and the inode of its
 * pidfd, and belongs to all threads of the process. docs/design/processes.md
 * has the reasoning.
 */
#ifndef S5_REGION_PROCESS_H
#define S5_REGION_PROCESS_H

#include "enter.h"

/*
 * struct s5__proc - one process
 * Field      writer                     under     lock-free read
 * state      registering, collector     reg_lock  yes, acquire [PAIR proc]
 * pid..start registering                reg_lock  yes, after state
 * witness    threads of the process     -         yes: a token, see below
 * Death      the witness is a thread slot, which the kernel marks. The slot
 *            is collected when nothing refers to it any more.
 */
struct s5__proc {
	struct s5__a32 state; /* 0: free; else its generation */
	uint32_t pid;
	struct s5__a32 witness; /* token of a thread of it that lives; or 0 */
	uint32_t gen;
	uint64_t pid_ns, start;
	uint64_t ident; /* inode of its pidfd, 0 where that tells nothing */
	uint64_t unused[3];
};
_Static_assert(sizeof(struct s5__proc) == 64, "one line");

#define S5__PROC_CHUNK (S5__CHUNK_PAGES * S5__PAGE / sizeof(struct s5__proc))
#define S5__PROCS_MAX  (1024u * (uint32_t)S5__PROC_CHUNK)

/* How many slots there are, free ones included: a bound for walks. */
uint32_t s5__proc_count(void);

/* The slot of that index (from 1), or NULL. */
struct s5__proc *s5__proc_at(uint32_t idx);

/*
 * The calling process's slot; made if need be, and this thread is its witness
 * if it has none. No lock held. Returns the index, -ENOMEM, or as s5__lock().
 */
int s5__proc_register(struct s5__self *self);

/* Has the process of that slot, of that generation, ended? May look into
 * /proc, if no thread of it bears witness. */
bool s5__proc_is_dead(const struct s5__proc *p, uint32_t gen);

/* The process has no slot any more: what it has left is due, as if it had
 * ended. Whether it had one. */
bool s5__proc_forsake(struct s5__self *self);

/* A thread ends: another one bears witness. */
void s5__proc_leave(const struct s5__self *self);

/* Clears idle[idx] for each process slot that an object still refers to. Set at
 * load. */
extern void (*s5__proc_mark_used)(uint32_t *idle, uint32_t n);

#endif
