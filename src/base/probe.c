/* SPDX-License-Identifier: MIT */
/*
 * probe.c - may this user memory be touched? (EFAULT without a handler)
 *
 * Owns a small private cache per thread.
 */
#include "probe.h"

#include "sys.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

_Thread_local uintptr_t s5__probed[S5__PROBE_PAGES];

/*
 * Where the kernel does not populate (before 5.14, device memory, a stack that
 * has not grown so far yet) it is asked to copy, by calls without effect:
 * epoll_ctl reads its event before it finds that there is no such descriptor;
 * getrandom writes one byte.
 */
static int probe_by_copy(uintptr_t a, uint32_t how)
{
	const uintptr_t mask = ((uintptr_t)1 << S5__PROBE_SHIFT) - 1;
	long err;

	if (how & S5__PROBE_WRITE)
		err = s5__sys(SYS_getrandom, (long)a, 1, 1 /* no wait */, 0, 0,
			      0);
	else
		err = s5__sys(SYS_epoll_ctl, -1, 1 /* add */, -1,
			      (long)(a & ~mask), 0, 0);
	return err == -EFAULT ? -EFAULT : 0;
}

static int probe_range(uintptr_t p, uintptr_t end, uint32_t how)
{
	const uintptr_t mask = ((uintptr_t)1 << S5__PROBE_SHIFT) - 1;
	uintptr_t start = p & ~mask;

	if (s5__sys(SYS_madvise, (long)start,
		    (long)(((end + mask) & ~mask) - start),
		    how & S5__PROBE_WRITE ? MADV_POPULATE_WRITE
					  : MADV_POPULATE_READ,
		    0, 0, 0) == 0)
		return 0;
	for (uintptr_t a = p; a < end; a = (a & ~mask) + mask + 1)
		if (probe_by_copy(a, how) != 0)
			return -EFAULT;
	return 0;
}

int s5__probe_slow(uintptr_t p, size_t n, uint32_t how)
{
	uintptr_t end = p + n;
	uintptr_t last = (end - 1) >> S5__PROBE_SHIFT;
	uintptr_t page = p >> S5__PROBE_SHIFT;

	if (end < p || (intptr_t)end < 0)
		return -EFAULT;
	if (last - page >= S5__PROBE_PAGES / 2)
		return probe_range(p, end, how);
	for (; page <= last; page++) {
		uintptr_t from = page << S5__PROBE_SHIFT;
		uintptr_t to = from + ((uintptr_t)1 << S5__PROBE_SHIFT);

		if (s5__probe_hit(page, how))
			continue;
		if (probe_range(from > p ? from : p, to < end ? to : end,
				how) != 0)
			return -EFAULT;
		s5__probed[page % S5__PROBE_PAGES] =
			page << 2 | how | S5__PROBE_READ;
	}
	return 0;
}
