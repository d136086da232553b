/* SPDX-License-Identifier: MIT */
/*
 * dropin_syscall.c - the numbers that syscall() does not pass on
 *
 * All others never come here: dropin_entry.S looks them up in
 * s5__front_numbers and jumps to libc. Owns nothing that changes.
 */
#include "dropin.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/msg.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#include <sysfive/sysfive.h>

#include "base/cred.h"
#include "base/defer.h"

#define MASK_SIZE 8
#define BAD_HOW	  99

__attribute__((visibility("hidden")))
const unsigned char s5__front_numbers[SYS_setns + 1] = {
	[SYS_msgget] = 1,    [SYS_msgsnd] = 1,	     [SYS_msgrcv] = 1,
	[SYS_msgctl] = 1,    [SYS_rt_sigaction] = 1, [SYS_setuid] = 1,
	[SYS_setgid] = 1,    [SYS_setreuid] = 1,     [SYS_setregid] = 1,
	[SYS_setresuid] = 1, [SYS_setresgid] = 1,    [SYS_setfsuid] = 1,
	[SYS_setfsgid] = 1,  [SYS_setgroups] = 1,    [SYS_capset] = 1,
	[SYS_unshare] = 1,   [SYS_setns] = 1,	     [SYS_semget] = 1,
	[SYS_semop] = 1,     [SYS_semtimedop] = 1,   [SYS_semctl] = 1,
	[SYS_openat] = 1,
#ifdef SYS_open
	[SYS_open] = 1,
#endif
	[SYS_shmget] = 1,    [SYS_shmat] = 1,	     [SYS_shmdt] = 1,
	[SYS_shmctl] = 1,
};

/* Can the kernel read there? It copies a signal set before it refuses to use
 * it. errno is EFAULT if not, and untouched else. */
static bool is_readable(const void *addr)
{
	int saved = errno;

	(void)s5__front_real_syscall(SYS_rt_sigprocmask, BAD_HOW, addr, NULL,
				     MASK_SIZE);
	if (errno == EFAULT)
		return false;
	errno = saved;
	return true;
}

static long raw_sigaction(long sig, const struct s5__ksigaction *act,
			  struct s5__ksigaction *old, long size)
{
	struct s5__ksigaction wrapped;
	long ret;

	if (act && size == MASK_SIZE) {
		if (!is_readable(&act->handler) || !is_readable(&act->mask))
			return -1;
		wrapped = *act;
		s5__defer_wrap(&wrapped.handler, &wrapped.flags);
		act = &wrapped;
	}
	ret = s5__front_real_syscall(SYS_rt_sigaction, sig, act, old, size);
	if (ret == 0 && old)
		s5__defer_unwrap(&old->handler, &old->flags);
	return ret;
}

/* NOLINTNEXTLINE(readability-function-size): a number and six registers */
long s5__front_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	long ret;

	switch (nr) {
	case SYS_msgget:
		return s5_msgget((key_t)a, (int)b);
	case SYS_msgsnd:
		return s5_msgsnd((int)a, (const void *)b, (size_t)c, (int)d);
	case SYS_msgrcv:
		return s5_msgrcv((int)a, (void *)b, (size_t)c, d, (int)e);
	case SYS_msgctl:
		return s5_msgctl((int)a, (int)b, (struct msqid_ds *)c);
	case SYS_semget:
		return s5_semget((key_t)a, (int)b, (int)c);
	case SYS_semop:
		return s5_semop((int)a, (struct sembuf *)b, (size_t)c);
	case SYS_semtimedop:
		return s5_semtimedop((int)a, (struct sembuf *)b, (size_t)c,
				     (const struct timespec *)d);
	case SYS_semctl:
		return s5_semctl((int)a, (int)b, (int)c, (unsigned long)d);
	case SYS_shmget:
		return shmget((key_t)a, (size_t)b, (int)c);
	case SYS_shmat:
		return (long)(uintptr_t)shmat((int)a, (const void *)b, (int)c);
	case SYS_shmdt:
		return shmdt((const void *)a);
	case SYS_shmctl:
		return shmctl((int)a, (int)b, (struct shmid_ds *)c);
	case SYS_rt_sigaction:
		return raw_sigaction(a, (const struct s5__ksigaction *)b,
				     (struct s5__ksigaction *)c, d);
	case SYS_unshare:
		return unshare((int)a);
	case SYS_setns:
		return setns((int)a, (int)b);
#ifdef SYS_open
	case SYS_open:
		ret = s5__front_real_syscall(nr, a, b, c, d, e, f);
		return s5__front_opened(ret, (const char *)a, (int)b);
#endif
	case SYS_openat:
		ret = s5__front_real_syscall(nr, a, b, c, d, e, f);
		return s5__front_opened(ret, (const char *)b, (int)c);
	default:
		ret = s5__front_real_syscall(nr, a, b, c, d, e, f);
		s5__cred_changed();
		return ret;
	}
}
