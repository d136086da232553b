/* SPDX-License-Identifier: MIT */
/*
 * crash.h - named places where the crash suite kills the process
 *
 * S5_CRASH_POINT("room-step") compiles to nothing in the product. In a crash
 * build every point is listed in the section s5_crash_points, so that the suite
 * can enumerate them, and a process whose environment says
 * S5_CRASH=name:N dies by SIGKILL at its Nth visit (from 1).
 */
#ifndef S5_LOCK_CRASH_H
#define S5_LOCK_CRASH_H

#ifdef S5_CRASH_POINTS

struct s5__crash_point {
	const char *name;
};
void s5__crash_hit(const struct s5__crash_point *p);

#define S5_CRASH_POINT(n)                                                     \
	do {                                                                  \
		static const struct s5__crash_point point                     \
			__attribute__((section("s5_crash_points"), used)) = { \
				n};                                           \
		__asm__ volatile("" ::: "memory");                            \
		s5__crash_hit(&point);                                        \
	} while (0)

#else
#define S5_CRASH_POINT(n) ((void)0)
#endif

#endif
