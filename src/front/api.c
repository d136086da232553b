/* SPDX-License-Identifier: MIT */
/*
 * api.c - the s5_* functions: -1 and errno from here on
 *
 * Owns nothing. errno is untouched on success.
 */
#include "../../include/sysfive/sysfive.h"
#include "../msg/room.h"
#include "../region/ns.h"
#include "../sem/room.h"
#include "../shm/room.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>

#define S5_EXPORT __attribute__((visibility("default")))

/* Maps an existing namespace, so that later changes of root, rights or working
 * directory cannot lose it. Touches no shared page. */
__attribute__((constructor)) static void at_load(void)
{
	struct s5_ns_status st;

	s5__msg_init();
	s5__sem_init();
	s5__shm_init();
	(void)s5__ns_attach(NULL, false, &st);
}

static inline long result(long ret)
{
	if (S5_UNLIKELY(ret < 0)) {
		errno = (int)-ret;
		return -1;
	}
	return ret;
}

S5_EXPORT int s5_msgget(key_t key, int msgflg)
{
	return (int)result(s5__msgget(key, msgflg));
}

S5_EXPORT int s5_msgsnd(int msqid, const void *msgp, size_t msgsz, int msgflg)
{
	pthread_testcancel();
	return (int)result(s5__msgsnd(msqid, msgp, msgsz, msgflg));
}

S5_EXPORT ssize_t s5_msgrcv(int msqid, void *msgp, size_t msgsz, long msgtyp,
			    int msgflg)
{
	pthread_testcancel();
	return result(s5__msgrcv(msqid, msgp, msgsz, msgtyp, msgflg));
}

S5_EXPORT int s5_msgctl(int msqid, int cmd, struct msqid_ds *buf)
{
	return (int)result(s5__msgctl(msqid, cmd, buf));
}

S5_EXPORT int s5_semget(key_t key, int nsems, int semflg)
{
	return (int)result(s5__semget(key, nsems, semflg));
}

S5_EXPORT int s5_semop(int semid, struct sembuf *sops, size_t nsops)
{
	return (int)result(s5__semtimedop(semid, sops, nsops, NULL));
}

S5_EXPORT int s5_semtimedop(int semid, struct sembuf *sops, size_t nsops,
			    const struct timespec *timeout)
{
	return (int)result(s5__semtimedop(semid, sops, nsops, timeout));
}

S5_EXPORT int s5_semctl(int semid, int semnum, int cmd, ...)
{
	unsigned long arg;
	va_list ap;

	/* An int, or a pointer, in a register of its own; not there for some
	 * commands, which do not look at it. */
	va_start(ap, cmd);
	arg = va_arg(ap, unsigned long);
	va_end(ap);
	return (int)result(s5__semctl(semid, semnum, cmd, arg));
}

S5_EXPORT int s5_shmget(key_t key, size_t size, int shmflg)
{
	return (int)result(s5__shmget(key, size, shmflg));
}

S5_EXPORT void *s5_shmat(int shmid, const void *shmaddr, int shmflg)
{
	long ret = s5__shmat(shmid, shmaddr, shmflg);

	if (S5_UNLIKELY(ret < 0 && ret >= -4095))
		ret = result(ret);
	return (void *)(uintptr_t)ret;
}

S5_EXPORT int s5_shmdt(const void *shmaddr)
{
	return (int)result(s5__shmdt(shmaddr));
}

S5_EXPORT int s5_shmctl(int shmid, int cmd, struct shmid_ds *buf)
{
	return (int)result(s5__shmctl(shmid, cmd, buf));
}

/* By exit(): when the process let its segments go. */
__attribute__((destructor)) static void at_exit(void)
{
	s5__shm_exit();
}
