/* SPDX-License-Identifier: MIT */
/*
 * probe.h - may this user memory be touched? (EFAULT without a handler)
 *
 * Each thread remembers the pages that it has probed. A page that the program
 * unmaps after it was probed faults in the program, as in any libc function.
 */
#ifndef S5_BASE_PROBE_H
#define S5_BASE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define S5__PROBE_READ	1u
#define S5__PROBE_WRITE 2u
#define S5__PROBE_PAGES 64u
#define S5__PROBE_SHIFT 12

/* page number << 2 | what was probed */
extern _Thread_local uintptr_t s5__probed[S5__PROBE_PAGES]
	__attribute__((tls_model("initial-exec")));

/* 0 or -EFAULT. With S5__PROBE_WRITE, memory that cannot be probed otherwise
 * gets a zero written to it: ask only for what is about to be written. */
int s5__probe_slow(uintptr_t p, size_t n, uint32_t how);

static inline bool s5__probe_hit(uintptr_t page, uint32_t how)
{
	uintptr_t e = s5__probed[page % S5__PROBE_PAGES];

	return e >> 2 == page && (e & how);
}

/* Are [p, p+n) readable (writable)? 0 or -EFAULT. */
static inline int s5__probe(const void *ptr, size_t n, uint32_t how)
{
	uintptr_t p = (uintptr_t)ptr;
	uintptr_t first = p >> S5__PROBE_SHIFT;
	uintptr_t last = (p + n - 1) >> S5__PROBE_SHIFT;

	if (__builtin_expect(n == 0, 0))
		return 0;
	if (__builtin_expect(last - first <= 1 && s5__probe_hit(first, how) &&
				     s5__probe_hit(last, how),
			     1))
		return 0;
	return s5__probe_slow(p, n, how);
}

#endif
