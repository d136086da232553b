/* SPDX-License-Identifier: MIT */
/*
 * harness_samples.c - cases that misbehave in every way the harness must
 * notice; run and judged by test_harness.c and test_guard.sh, never alone.
 */
#include "harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(passes)
{
	CHECK_EQ_INT(1 + 1, 2);
	CHECK_EQ_STR("a", "a");
	CHECK_ERRNO(close(-1), EBADF);
	puts("passing output");
}

TEST(fails)
{
	puts("output before");
	CHECK(1 == 2, "value %d", 42);
}

TEST(skips)
{
	SKIP("not today");
}

static void fail_here(void *arg)
{
	CHECK(arg != NULL);
}

static void fail_below(void *arg)
{
	harness_reap(harness_spawn(fail_here, arg));
}

TEST(fails_in_grandchild)
{
	harness_reap(harness_spawn(fail_below, NULL));
}

HELPER(failing_helper)
{
	CHECK_EQ_INT(argc, 0);
	return 0;
}

TEST(fails_after_exec)
{
	pid_t pid = CHECK_OK(fork());

	if (pid == 0) {
		execl("/proc/self/exe", "self", "--helper", "failing_helper",
		      (char *)NULL);
		_exit(97);
	}
	harness_reap(pid);
}

TEST_TIMEOUT(hangs, 1)
{
	for (;;)
		pause();
}

TEST_TIMEOUT(waits_for_nothing, 2)
{
	WAIT_UNTIL(access("/nonexistent", F_OK) == 0);
}

TEST(crashes)
{
	raise(SIGKILL);
}

TEST(exits)
{
	exit(7);
}

static void sleep_for_long(void)
{
	for (;;)
		pause();
}

TEST(leaves_child)
{
	if (CHECK_OK(fork()) == 0)
		sleep_for_long();
}

/* A daemon: not in the process group, not a child, deaf to SIGTERM. */
TEST(leaves_daemon)
{
	int ready[2];
	char c;

	CHECK_OK(pipe(ready));
	if (CHECK_OK(fork()) == 0) {
		setsid();
		signal(SIGTERM, SIG_IGN);
		if (fork() == 0) {
			close(ready[0]);
			close(ready[1]);
			sleep_for_long();
		}
		_exit(0);
	}
	close(ready[1]);
	CHECK(read(ready[0], &c, 1) == 0);
	wait(NULL);
}

TEST(leaves_queue)
{
	CHECK_OK(msgget(IPC_PRIVATE, 0600 | IPC_CREAT));
}

TEST(child_that_is_just_ending)
{
	if (CHECK_OK(fork()) == 0) {
		usleep(100000);
		_exit(0);
	}
}

TEST(has_fresh_directory)
{
	const char *dir = getenv("SYSFIVE_DIR");
	struct stat st;
	char path[300];

	CHECK(dir != NULL);
	CHECK_OK(stat(dir, &st));
	CHECK_EQ_INT(st.st_mode & 07777, 0700);
	snprintf(path, sizeof(path), "%s/file", dir);
	CHECK(access(path, F_OK) != 0, "%s was there already", path);
	CHECK(fopen(path, "w") != NULL);
	printf("dir=%s\n", dir);
}

TEST(has_fresh_directory_again)
{
	has_fresh_directory();
}

TEST(uses_seed)
{
	uint64_t state = harness_seed();

	printf("first=%llu\n", (unsigned long long)harness_random(&state));
}
