/* SPDX-License-Identifier: MIT */
/*
 * ops.c - the calls of the kernel's side and of sysfive's
 *
 * The kernel's are raw system calls, so that neither libc nor a preloaded
 * library stands between; sysfive's are the library's own functions.
 */
#include "bench.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sysfive/sysfive.h"

#if defined(__x86_64__)
static long raw(long number, long a, long b, long c, long d, long e)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10),
			   "r"(r8)
			 : "rcx", "r11", "memory");
	return result;
}
#elif defined(__aarch64__)
static long raw(long number, long a, long b, long c, long d, long e)
{
	register long x8 __asm__("x8") = number;
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
static long raw(long number, long a, long b, long c, long d, long e)
{
	long result = syscall(number, a, b, c, d, e);

	return result < 0 ? -errno : result;
}
#endif

static long result_of(long result)
{
	if (result >= 0)
		return result;
	errno = (int)-result;
	return -1;
}

static int kernel_get(key_t key, int flags)
{
	return (int)result_of(raw(SYS_msgget, key, flags, 0, 0, 0));
}

static int kernel_snd(int id, const void *msg, size_t size, int flags)
{
	return (int)result_of(
		raw(SYS_msgsnd, id, (long)msg, (long)size, flags, 0));
}

static ssize_t kernel_rcv(int id, void *msg, size_t size, long type, int flags)
{
	return result_of(
		raw(SYS_msgrcv, id, (long)msg, (long)size, type, flags));
}

static int kernel_ctl(int id, int command, struct msqid_ds *ds)
{
	return (int)result_of(raw(SYS_msgctl, id, command, (long)ds, 0, 0));
}

static int kernel_semget(key_t key, int nsems, int flags)
{
	return (int)result_of(raw(SYS_semget, key, nsems, flags, 0, 0));
}

static int kernel_semtimedop(int id, struct sembuf *ops, size_t nops,
			     const struct timespec *timeout)
{
	return (int)result_of(raw(SYS_semtimedop, id, (long)ops, (long)nops,
				  (long)timeout, 0));
}

static int kernel_semctl(int id, int number, int command, union bench_semun arg)
{
	return (int)result_of(
		raw(SYS_semctl, id, number, command, (long)arg.buf, 0));
}

const struct bench_ops bench_kernel_ops = {
	kernel_get,    kernel_snd,	  kernel_rcv,	 kernel_ctl,
	kernel_semget, kernel_semtimedop, kernel_semctl,
};

static int sysfive_semctl(int id, int number, int command,
			  union bench_semun arg)
{
	return s5_semctl(id, number, command, arg);
}

const struct bench_ops bench_sysfive_ops = {
	s5_msgget, s5_msgsnd,	  s5_msgrcv,	  s5_msgctl,
	s5_semget, s5_semtimedop, sysfive_semctl,
};
