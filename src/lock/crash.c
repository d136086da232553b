/* SPDX-License-Identifier: MIT */
/*
 * crash.c - dies at a named point; only in builds for the crash suite
 */
#include "crash.h"

#ifdef S5_CRASH_POINTS

#include "../base/atomic.h"
#include "../base/sys.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

extern const struct s5__crash_point __start_s5_crash_points[];
extern const struct s5__crash_point __stop_s5_crash_points[];

static char armed[64];
static struct s5__a32 left; /* visits until death, of all threads together */

/* For the suite: name of the i-th point, or NULL. */
__attribute__((visibility("default"))) const char *s5_crash_name(unsigned i);
/* For the suite: arms the point for this process and its children. */
__attribute__((visibility("default"))) void s5_crash_arm(const char *name,
							 unsigned visit);

const char *s5_crash_name(unsigned i)
{
	size_t n = (size_t)(__stop_s5_crash_points - __start_s5_crash_points);

	return i < n ? __start_s5_crash_points[i].name : NULL;
}

void s5_crash_arm(const char *name, unsigned visit)
{
	memset(armed, 0, sizeof(armed));
	s5__a32_store_rlx(&left, visit);
	strncpy(armed, name, sizeof(armed) - 1);
}

static void read_environment(void)
{
	const char *e = secure_getenv("S5_CRASH");
	const char *colon = e ? strchr(e, ':') : NULL;

	if (!colon || (size_t)(colon - e) >= sizeof(armed))
		return;
	s5__a32_store_rlx(&left, (uint32_t)strtoul(colon + 1, NULL, 10));
	memcpy(armed, e, (size_t)(colon - e));
}

void s5__crash_hit(const struct s5__crash_point *p)
{
	static bool looked;

	if (!looked) {
		looked = true;
		if (!armed[0])
			read_environment();
	}
	if (!armed[0] || strcmp(armed, p->name) != 0)
		return;
	if (s5__a32_add_full(&left, (uint32_t)-1) != 1)
		return;
	for (;;)
		(void)s5__sys(SYS_kill, s5__sys(SYS_getpid, 0, 0, 0, 0, 0, 0),
			      SIGKILL, 0, 0, 0, 0);
}

#endif
