/* SPDX-License-Identifier: MIT */
/*
 * preloaded.h - runs a helper of the test program with the drop-in preloaded
 */
#ifndef S5_TESTS_PRELOADED_H
#define S5_TESTS_PRELOADED_H

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/defer.h"
#include "base/sys.h"
#include "harness.h"

/* Runs a helper in this process, preloaded or not. Does not return. */
static inline void become(const char *helper, bool is_preloaded)
{
	char self[4096];
	ssize_t n = CHECK_OK(readlink("/proc/self/exe", self, 4095));

	self[n] = 0;
	if (is_preloaded) {
		CHECK(getenv("S5_DROPIN"), "S5_DROPIN is not set");
		CHECK_OK(setenv("LD_PRELOAD", getenv("S5_DROPIN"), 1));
	}
	execl(self, self, "--helper", helper, (char *)NULL);
	CHECK(false, "exec: errno %d", errno);
}

static inline void run_preloaded(const char *helper)
{
	pid_t pid = CHECK_OK(fork());

	if (pid == 0)
		become(helper, true);
	harness_join(pid);
}

/* The kernel's record of a handler, asked for without any wrapper. */
static inline struct s5__ksigaction kernel_action(int sig)
{
	struct s5__ksigaction act = {0};

	CHECK_EQ_INT(s5__sys(SYS_rt_sigaction, sig, 0, (long)&act, 8, 0, 0), 0);
	return act;
}

#endif
