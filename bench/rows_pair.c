/* SPDX-License-Identifier: MIT */
/*
 * rows_pair.c - one process, nothing blocks: send and receive, get, create
 *
 * On sysfive's side `pair` also shows that the calls need no system call: a
 * child does them under a seccomp filter that allows none.
 */
#include "bench.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define QUIET_COUNT 1000

static void pairs(struct bench_run *run, int id, uint64_t count)
{
	struct bench_msg msg = {.type = 1, .text = "a message"};
	uint64_t i;

	for (i = 0; i < count; i++) {
		bench_send(run, id, &msg);
		bench_receive(run, id, &msg, 0);
	}
}

/* From here on any system call but exit_group(2) kills the process. */
static int forbid_system_calls(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {
		.len = sizeof(code) / sizeof(code[0]),
		.filter = code,
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return -errno;
	return 0;
}

int bench_is_quiet(struct bench_run *run, int id,
		   void (*work)(struct bench_run *, int id, uint64_t count))
{
	pid_t child = bench_fork(run);
	int status;

	if (child == 0) {
		work(run, id, QUIET_COUNT);
		if (forbid_system_calls())
			_exit(2);
		work(run, id, QUIET_COUNT);
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child)
		return -1;
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGSYS ? 0 : -1;
	return WEXITSTATUS(status) == 0 ? 1 : -1;
}

void bench_run_pair(struct bench_run *run, uint64_t count,
		    struct bench_result *ret_result)
{
	int id = bench_queue(run, 0);
	uint64_t start = bench_now_ns();

	pairs(run, id, count);
	bench_result_time(ret_result, count, bench_now_ns() - start);
	if (run->final && run->side == BENCH_SYSFIVE) {
		int quiet = bench_is_quiet(run, id, pairs);

		if (quiet >= 0)
			bench_result_extra(ret_result, BENCH_QUIET, quiet);
	}
	bench_queue_remove(run, id);
}

void bench_run_get(struct bench_run *run, uint64_t count,
		   struct bench_result *ret_result)
{
	int id = bench_queue(run, 0);
	uint64_t start = bench_now_ns();
	uint64_t i;

	for (i = 0; i < count; i++)
		if (run->ops->get(run->shared->key, 0) != id)
			bench_fail(run, "msgget of an existing key");
	bench_result_time(ret_result, count, bench_now_ns() - start);
	bench_queue_remove(run, id);
}

void bench_run_create(struct bench_run *run, uint64_t count,
		      struct bench_result *ret_result)
{
	uint64_t start = bench_now_ns();
	uint64_t i;

	for (i = 0; i < count; i++)
		bench_queue_remove(run, bench_queue(run, 0));
	bench_result_time(ret_result, count, bench_now_ns() - start);
}
