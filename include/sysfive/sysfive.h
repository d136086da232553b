/* SPDX-License-Identifier: MIT */
/*
 * sysfive/sysfive.h - System V message queues, semaphores and shared memory in
 * user space
 *
 * Each function has the arguments, the result and the errno of the libc
 * function whose name follows "s5_"; msgop(2), msgget(2) and msgctl(2) describe
 * them, and docs/errors.md lists every errno with its cause. What differs from
 * Linux on purpose stands in docs/compat.md. Two errno values are this
 * library's own:
 *   EACCES from s5_msgget   the namespace cannot be reached or used; other
 *                           calls then give EINVAL, as no id can be valid
 *   EDEADLK                 called from a handler for a signal that a fault
 *                           raised inside the library's own critical section
 */
#ifndef SYSFIVE_SYSFIVE_H
#define SYSFIVE_SYSFIVE_H

#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/types.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The id of the queue of `key`, made if need be. Returns -1 and EACCES, EEXIST,
 * EINVAL, ENOENT, ENOMEM or ENOSPC. */
int s5_msgget(key_t key, int msgflg);

/* Puts `msgsz` bytes (after a long, the type) into a queue; blocks while there
 * is no room unless IPC_NOWAIT. Returns 0, or -1 and EACCES, EAGAIN, EFAULT,
 * EIDRM, EINTR, EINVAL or ENOMEM. */
int s5_msgsnd(int msqid, const void *msgp, size_t msgsz, int msgflg);

/* Takes a message out; blocks while there is none that `msgtyp` and `msgflg`
 * select unless IPC_NOWAIT. Returns the number of bytes copied after the type,
 * or -1 and E2BIG, EACCES, EFAULT, EIDRM, EINTR, EINVAL or ENOMSG (A-056 to
 * */
ssize_t s5_msgrcv(int msqid, void *msgp, size_t msgsz, long msgtyp, int msgflg);

/* IPC_STAT, IPC_SET, IPC_RMID. Returns 0, or -1 and EACCES, EFAULT, EIDRM,
 * EINVAL or EPERM. */
int s5_msgctl(int msqid, int cmd, struct msqid_ds *buf);

/* The id of the set of `key`, made with `nsems` semaphores of value 0 if need
 * be. Returns -1 and EACCES, EEXIST, EINVAL, ENOENT, ENOMEM or ENOSPC (A-001 to
 * */
int s5_semget(key_t key, int nsems, int semflg);

/* Performs all `nsops` operations, or none; blocks while that cannot be unless
 * the operation that would has IPC_NOWAIT. Returns 0, or -1 and E2BIG, EACCES,
 * EAGAIN, EFAULT, EFBIG, EIDRM, EINTR, EINVAL, ENOMEM or ERANGE (A-095 to
 * */
int s5_semop(int semid, struct sembuf *sops, size_t nsops);

/* The same, for at most `timeout` (relative; NULL: no limit): then EAGAIN. */
int s5_semtimedop(int semid, struct sembuf *sops, size_t nsops,
		  const struct timespec *timeout);

/* The commands of semctl(2), with their fourth argument, a union semun or its
 * member. Returns what semctl returns, or -1 and EACCES, EFAULT, EIDRM, EINVAL,
 * ENOMEM, EPERM or ERANGE. */
int s5_semctl(int semid, int semnum, int cmd, ...);

/* The id of the segment of `key`, made with `size` bytes if need be; its memory
 * is reserved now, unless SHM_NORESERVE. Returns -1 and EACCES, EEXIST, EINVAL,
 * ENOENT, ENOMEM, ENOSPC or EPERM. */
int s5_shmget(key_t key, size_t size, int shmflg);

/* Maps the segment. Returns its address, or (void *)-1 and EACCES, EIDRM,
 * EINVAL or ENOMEM. */
void *s5_shmat(int shmid, const void *shmaddr, int shmflg);

/* Unmaps what s5_shmat() mapped at that address. Returns 0, or -1 and EINVAL
 * (A-161 to A-163). */
int s5_shmdt(const void *shmaddr);

/* The commands of shmctl(2). Returns what shmctl returns, or -1 and EACCES,
 * EFAULT, EIDRM, EINVAL, ENOMEM or EPERM. */
int s5_shmctl(int shmid, int cmd, struct shmid_ds *buf);

#ifdef __cplusplus
}
#endif

#endif
