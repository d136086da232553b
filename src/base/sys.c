/* SPDX-License-Identifier: MIT */
/*
 * sys.c - raw system calls, clocks, the debug line
 *
 * Owns no shared state.
 */
#include "sys.h"

#include <linux/futex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#ifdef S5_FAULT_INJECTION
long (*s5__sys_hook)(long nr);
#endif

static long raw(long nr, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	long ret;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#else
#error "sysfive knows the system call conventions of x86-64 and AArch64"
#endif
}

long s5__sys(long nr, long a, long b, long c, long d, long e, long f)
{
#ifdef S5_FAULT_INJECTION
	if (s5__sys_hook) {
		long err = s5__sys_hook(nr);

		if (err)
			return err;
	}
#endif
	return raw(nr, a, b, c, d, e, f);
}

long s5__futex_wait_bits(uint32_t *word, uint32_t value, uint32_t bits,
			 const struct timespec *deadline)
{
	/*
	 * FUTEX_WAIT_BITSET with a timeout is the form that returns EINTR
	 * after a handler ran even under SA_RESTART.
	 */
	return s5__sys(SYS_futex, (long)word, FUTEX_WAIT_BITSET, (long)value,
		       (long)deadline, 0, (long)bits);
}

long s5__futex_wait(uint32_t *word, uint32_t value,
		    const struct timespec *deadline)
{
	return s5__futex_wait_bits(word, value, FUTEX_BITSET_MATCH_ANY,
				   deadline);
}

long s5__futex_wake_bits(uint32_t *word, uint32_t bits)
{
	return s5__sys(SYS_futex, (long)word, FUTEX_WAKE_BITSET, INT32_MAX, 0,
		       0, (long)bits);
}

long s5__futex_wake(uint32_t *word, int n)
{
	return s5__sys(SYS_futex, (long)word, FUTEX_WAKE, n, 0, 0, 0);
}

uint64_t s5__now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int64_t s5__now_s(void)
{
	return (int64_t)time(NULL);
}

void s5__debug(const char *what, const char *detail)
{
	static int wanted = -1;
	char line[256];
	size_t n = 0;
	const char *parts[] = {"sysfive: ", what, ": ", detail, "\n"};

	if (wanted < 0)
		wanted = secure_getenv("SYSFIVE_DEBUG") != NULL;
	if (!wanted)
		return;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		size_t len = strlen(parts[i]);

		if (len > sizeof(line) - n)
			len = sizeof(line) - n;
		memcpy(line + n, parts[i], len); /* NOLINT: no string */
		n += len;
	}
	(void)s5__sys(SYS_write, 2, (long)line, (long)n, 0, 0, 0);
}
