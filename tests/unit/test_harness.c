/* SPDX-License-Identifier: MIT */
/*
 * test_harness.c - the harness notices what it must: runs the cases of
 * harness_samples one by one and looks at the TAP that comes out.
 */
#include "harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char output[65536];
static int status;

/* Runs one sample, with an environment assignment before it. */
static void run_sample(const char *assignment, const char *name)
{
	const char *build = getenv("S5_BUILD_DIR");
	char command[1024];
	size_t n;
	FILE *f;

	CHECK(build != NULL, "S5_BUILD_DIR is not set");
	snprintf(command, sizeof(command),
		 "%s '%s/tests/unit/harness_samples' --verbose --only %s 2>&1",
		 assignment, build, name);
	f = popen(command, "re");
	CHECK(f != NULL);
	n = fread(output, 1, sizeof(output) - 1, f);
	output[n] = 0;
	status = pclose(f);
	printf("%s", output);
}

static bool has(const char *text)
{
	return strstr(output, text) != NULL;
}

static void check_fails(const char *name, const char *why)
{
	char line[128];

	run_sample("", name);
	snprintf(line, sizeof(line), "not ok 1 - %s\n", name);
	CHECK(has(line));
	CHECK(has(why), "no \"%s\"", why);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

static void check_passes(const char *name)
{
	char line[128];

	run_sample("", name);
	snprintf(line, sizeof(line), "\nok 1 - %s", name);
	CHECK(has("\n1..1\n"));
	CHECK(has(line));
	CHECK_EQ_INT(status, 0);
}

TEST(pass)
{
	check_passes("passes");
	CHECK(has("# passing output\n"));
}

TEST(failed_check)
{
	check_fails("fails", "failed: 1 == 2: value 42");
	CHECK(has("# output before\n"));
	CHECK(has("1 failed check\n"));
}

TEST(skip)
{
	check_passes("skips");
	CHECK(has("# SKIP not today\n"));
}

TEST(failed_check_in_grandchild)
{
	check_fails("fails_in_grandchild", "failed: arg != NULL");
}

TEST(failed_check_after_exec)
{
	check_fails("fails_after_exec", "failed: argc == 0: got 1, want 0");
}

TEST(hang)
{
	check_fails("hangs", "timed out");
}

TEST(condition_never_true)
{
	check_fails("waits_for_nothing", "never came true");
}

TEST(death)
{
	check_fails("crashes", "killed by signal 9");
	check_fails("exits", "exit status 7");
}

TEST(leaked_child)
{
	check_fails("leaves_child", "left behind:");
}

TEST(leaked_daemon)
{
	check_fails("leaves_daemon", "left behind:");
}

TEST(leaked_queue)
{
	if (access("/proc/sysvipc/msg", F_OK) != 0)
		SKIP("this kernel has no message queues");
	if (geteuid() != 0)
		SKIP("needs an IPC namespace of its own");
	check_fails("leaves_queue", "left behind: kernel msg id");
}

TEST(ending_child_is_no_leak)
{
	check_passes("child_that_is_just_ending");
}

TEST(fresh_directory)
{
	char *dir, *end;

	check_passes("has_fresh_directory");
	dir = strstr(output, "dir=");
	CHECK(dir != NULL);
	dir += 4;
	end = strchr(dir, '\n');
	CHECK(end != NULL);
	*end = 0;
	CHECK(access(dir, F_OK) != 0, "%s is still there", dir);
}

TEST(seed_replays)
{
	char first[64];

	run_sample("SYSFIVE_SEED=7", "uses_seed");
	CHECK(has("# seed: SYSFIVE_SEED=7 --only uses_seed\n"));
	CHECK(strstr(output, "first=") != NULL);
	snprintf(first, sizeof(first), "%.40s", strstr(output, "first="));
	run_sample("SYSFIVE_SEED=7", "uses_seed");
	CHECK(strncmp(strstr(output, "first="), first, strlen(first)) == 0);
}

TEST(list)
{
	run_sample("", "passes --list");
	CHECK_EQ_STR(output, "passes\n");
}

static void sleeper(void *arg)
{
	static int word;

	(void)arg;
	for (;;)
		syscall(SYS_futex, &word, 0, 0, NULL, NULL, 0);
}

TEST(wait_for_sleep_and_death)
{
	pid_t pid = harness_spawn(sleeper, NULL);

	wait_sleeping(pid);
	CHECK_OK(kill(pid, SIGKILL));
	wait_dead(pid);
	CHECK(WIFSIGNALED(harness_reap(pid)));
}
