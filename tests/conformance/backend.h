/* SPDX-License-Identifier: MIT */
/*
 * backend.h - the calls of one world, behind one table.
 *
 * Every entry returns the call's value, or -errno.  The kernel's table enters
 * the kernel by its own instruction, so that no library can stand in between;
 * the libc table calls the names a program would call, and is thereby the
 * kernel, sysfive preloaded or sysfive linked, as the process was started.
 */
#ifndef S5_CONFORMANCE_BACKEND_H
#define S5_CONFORMANCE_BACKEND_H

#include <stddef.h>
#include <sys/sem.h>
#include <sys/types.h>
#include <time.h>

/* Added to a result that is right, but came with errno changed. */
#define ERRNO_TOUCHED (-(1L << 40))

struct backend {
	const char *name;
	long (*msgget)(key_t key, int flags);
	long (*msgsnd)(int id, const void *msg, size_t size, int flags);
	long (*msgrcv)(int id, void *msg, size_t size, long type, int flags);
	long (*msgctl)(int id, int cmd, void *arg);
	long (*semget)(key_t key, int nsems, int flags);
	long (*semop)(int id, struct sembuf *sops, size_t nsops);
	long (*semtimedop)(int id, struct sembuf *sops, size_t nsops,
			   const struct timespec *timeout);
	/* `arg` is the union's value: an int, or a pointer. */
	long (*semctl)(int id, int num, int cmd, unsigned long arg);
};

extern const struct backend backend_kernel;
extern const struct backend backend_libc;
extern const struct backend backend_number; /* libc's syscall() */

#endif
