/* SPDX-License-Identifier: MIT */
/*
 * sys.h - the one door to the kernel
 *
 * Every system call that the library makes goes through s5__sys(), for three
 * reasons: other preload libraries interpose libc's functions and would
 * recurse; errno must stay untouched; tests make the Nth call fail.
 */
#ifndef S5_BASE_SYS_H
#define S5_BASE_SYS_H

#include <stdint.h>
#include <time.h>

/* Returns what the kernel returns: >= 0, or -errno. */
long s5__sys(long nr, long a, long b, long c, long d, long e, long f);

#ifdef S5_FAULT_INJECTION
/* Tests set it: returns 0 to let the call through, or -errno. */
extern long (*s5__sys_hook)(long nr);
#endif

/* A shared (not process-private) futex. `deadline` is absolute, of
 * CLOCK_MONOTONIC; NULL waits without limit. Returns 0 or -errno. */
long s5__futex_wait(uint32_t *word, uint32_t value,
		    const struct timespec *deadline);
/* Wakes at most `n`; returns how many were woken, or -errno. */
long s5__futex_wake(uint32_t *word, int n);
/* The same among sleepers that can be told apart: each names bits, and all that
 * have one of those in a wake are woken. */
long s5__futex_wait_bits(uint32_t *word, uint32_t value, uint32_t bits,
			 const struct timespec *deadline);
long s5__futex_wake_bits(uint32_t *word, uint32_t bits);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t s5__now_ns(void);
/* Whole seconds of the realtime clock, as ipc_perm's times are. */
int64_t s5__now_s(void);

/* One line to stderr, if SYSFIVE_DEBUG was set at the first call. */
void s5__debug(const char *what, const char *detail);

/* Tells the processor that this is a spin loop. */
static inline void s5__pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#endif
}

/* What a kill can see is program order; this keeps the compiler to it. */
static inline void s5__order(void)
{
	__asm__ volatile("" ::: "memory");
}

#define S5_LIKELY(x)   __builtin_expect(!!(x), 1)
#define S5_UNLIKELY(x) __builtin_expect(!!(x), 0)

#endif
