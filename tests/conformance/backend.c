/* SPDX-License-Identifier: MIT */
/* backend.c - the kernel by raw system calls, and whatever libc's names are. */
#include "backend.h"

#include <errno.h>
#include <stdint.h>
#include <sys/msg.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
static long raw5(long nr, long a, long b, long c, long d, long e)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return ret;
}
#elif defined(__aarch64__)
static long raw5(long nr, long a, long b, long c, long d, long e)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
			 : "memory");
	return x0;
}
#else
#error "write raw5() for this processor"
#endif

static long raw_msgget(key_t key, int flags)
{
	return raw5(SYS_msgget, key, flags, 0, 0, 0);
}

static long raw_msgsnd(int id, const void *msg, size_t size, int flags)
{
	return raw5(SYS_msgsnd, id, (long)(uintptr_t)msg, (long)size, flags, 0);
}

static long raw_msgrcv(int id, void *msg, size_t size, long type, int flags)
{
	return raw5(SYS_msgrcv, id, (long)(uintptr_t)msg, (long)size, type,
		    flags);
}

static long raw_msgctl(int id, int cmd, void *arg)
{
	return raw5(SYS_msgctl, id, cmd, (long)(uintptr_t)arg, 0, 0);
}

static long raw_semget(key_t key, int nsems, int flags)
{
	return raw5(SYS_semget, key, nsems, flags, 0, 0);
}

static long raw_semop(int id, struct sembuf *sops, size_t nsops)
{
	return raw5(SYS_semop, id, (long)(uintptr_t)sops, (long)nsops, 0, 0);
}

static long raw_semtimedop(int id, struct sembuf *sops, size_t nsops,
			   const struct timespec *timeout)
{
	return raw5(SYS_semtimedop, id, (long)(uintptr_t)sops, (long)nsops,
		    (long)(uintptr_t)timeout, 0);
}

static long raw_semctl(int id, int num, int cmd, unsigned long arg)
{
	return raw5(SYS_semctl, id, num, cmd, (long)arg, 0);
}

const struct backend backend_kernel = {
	.name = "kernel",
	.msgget = raw_msgget,
	.msgsnd = raw_msgsnd,
	.msgrcv = raw_msgrcv,
	.msgctl = raw_msgctl,
	.semget = raw_semget,
	.semop = raw_semop,
	.semtimedop = raw_semtimedop,
	.semctl = raw_semctl,
};

/* A value that no call sets: whoever succeeds must leave it alone. */
#define ERRNO_MARK 4094

static long outcome(long ret)
{
	if (ret == -1)
		return -errno;
	return errno == ERRNO_MARK ? ret : ret + ERRNO_TOUCHED;
}

static long libc_msgget(key_t key, int flags)
{
	errno = ERRNO_MARK;
	return outcome(msgget(key, flags));
}

static long libc_msgsnd(int id, const void *msg, size_t size, int flags)
{
	errno = ERRNO_MARK;
	return outcome(msgsnd(id, msg, size, flags));
}

static long libc_msgrcv(int id, void *msg, size_t size, long type, int flags)
{
	errno = ERRNO_MARK;
	return outcome(msgrcv(id, msg, size, type, flags));
}

static long libc_msgctl(int id, int cmd, void *arg)
{
	errno = ERRNO_MARK;
	return outcome(msgctl(id, cmd, arg));
}

static long libc_semget(key_t key, int nsems, int flags)
{
	errno = ERRNO_MARK;
	return outcome(semget(key, nsems, flags));
}

static long libc_semop(int id, struct sembuf *sops, size_t nsops)
{
	errno = ERRNO_MARK;
	return outcome(semop(id, sops, nsops));
}

static long libc_semtimedop(int id, struct sembuf *sops, size_t nsops,
			    const struct timespec *timeout)
{
	errno = ERRNO_MARK;
	return outcome(semtimedop(id, sops, nsops, timeout));
}

/* The caller defines it; what is not an int is a pointer. */
union semun {
	int val;
	void *buf;
	unsigned long whole;
};

static long libc_semctl(int id, int num, int cmd, unsigned long arg)
{
	union semun u = {.whole = arg};

	errno = ERRNO_MARK;
	return outcome(semctl(id, num, cmd, u));
}

const struct backend backend_libc = {
	.name = "libc",
	.msgget = libc_msgget,
	.msgsnd = libc_msgsnd,
	.msgrcv = libc_msgrcv,
	.msgctl = libc_msgctl,
	.semget = libc_semget,
	.semop = libc_semop,
	.semtimedop = libc_semtimedop,
	.semctl = libc_semctl,
};

/* ---- by number, through libc's syscall() ---- */

static long number(long ret)
{
	return ret == -1 ? -errno : ret;
}

static long number_msgget(key_t key, int flags)
{
	return number(syscall(SYS_msgget, key, flags));
}

static long number_msgsnd(int id, const void *msg, size_t size, int flags)
{
	return number(syscall(SYS_msgsnd, id, msg, size, flags));
}

static long number_msgrcv(int id, void *msg, size_t size, long type, int flags)
{
	return number(syscall(SYS_msgrcv, id, msg, size, type, flags));
}

static long number_msgctl(int id, int cmd, void *arg)
{
	return number(syscall(SYS_msgctl, id, cmd, arg));
}

static long number_semget(key_t key, int nsems, int flags)
{
	return number(syscall(SYS_semget, key, nsems, flags));
}

static long number_semop(int id, struct sembuf *sops, size_t nsops)
{
	return number(syscall(SYS_semop, id, sops, nsops));
}

static long number_semtimedop(int id, struct sembuf *sops, size_t nsops,
			      const struct timespec *timeout)
{
	return number(syscall(SYS_semtimedop, id, sops, nsops, timeout));
}

static long number_semctl(int id, int num, int cmd, unsigned long arg)
{
	return number(syscall(SYS_semctl, id, num, cmd, arg));
}

const struct backend backend_number = {
	.name = "number",
	.msgget = number_msgget,
	.msgsnd = number_msgsnd,
	.msgrcv = number_msgrcv,
	.msgctl = number_msgctl,
	.semget = number_semget,
	.semop = number_semop,
	.semtimedop = number_semtimedop,
	.semctl = number_semctl,
};
