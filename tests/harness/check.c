/* SPDX-License-Identifier: MIT */
/*
 * check.c - what runs inside the process of a case: checks, seeds, children,
 * and waiting for observable state.  Safe in any descendant and any thread.
 */
#include "harness.h"
#include "run.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REPORT_MARGIN_NS 500000000LL

void harness_fail(const char *file, int line, const char *what,
		  const char *format, ...)
{
	char text[1024];
	va_list ap;
	size_t used;

	atomic_fetch_add(&harness_shared->failures, 1);
	snprintf(text, sizeof(text) - 1, "%s:%d: [%d] failed: %s:", file, line,
		 (int)getpid(), what);
	used = strlen(text);
	va_start(ap, format);
	vsnprintf(text + used, sizeof(text) - 1 - used, format, ap);
	va_end(ap);
	used = strlen(text);
	text[used++] = '\n';
	if (write(STDERR_FILENO, text, used) < 0)
		_exit(98);
	_exit(1);
}

void harness_skip(const char *reason)
{
	snprintf(harness_shared->skip_reason,
		 sizeof(harness_shared->skip_reason), "%s", reason);
	atomic_store(&harness_shared->is_skipped, 1);
	_exit(0);
}

uint64_t harness_seed(void)
{
	atomic_store(&harness_shared->is_seed_used, 1);
	return harness_shared->seed;
}

/* splitmix64 */
uint64_t harness_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

pid_t harness_spawn(void (*fn)(void *), void *arg)
{
	pid_t pid;

	fflush(NULL);
	pid = CHECK_OK(fork());
	if (pid == 0) {
		fn(arg);
		fflush(NULL);
		_exit(0);
	}
	return pid;
}

int harness_reap(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) != pid)
		CHECK(errno == EINTR, "waitpid: errno %d", errno);
	return status;
}

void harness_join(pid_t pid)
{
	int status = harness_reap(pid);

	CHECK(!WIFSIGNALED(status), "child %d: signal %d", (int)pid,
	      WTERMSIG(status));
	CHECK(WEXITSTATUS(status) == 0, "child %d: exit status %d", (int)pid,
	      WEXITSTATUS(status));
}

void harness_pause(const char *file, int line, const char *what)
{
	struct timespec ms = {0, 1000000};

	if (harness_now() > harness_shared->deadline - REPORT_MARGIN_NS)
		harness_fail(file, line, what, " never came true");
	nanosleep(&ms, NULL);
}

void wait_until(bool (*cond)(void *), void *arg)
{
	WAIT_UNTIL(cond(arg));
}

struct thread_look {
	char state;
	long switches;
	int call; /* the system call it is in; -1 unknown */
};

static bool look_at(pid_t pid, pid_t tid, struct thread_look *ret_look)
{
	char path[96], line[256];
	FILE *f;

	*ret_look = (struct thread_look){.call = -1};
	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid,
		 (int)tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		(void)sscanf(line, "State: %c", &ret_look->state);
		(void)sscanf(line, "voluntary_ctxt_switches: %ld",
			     &ret_look->switches);
	}
	if (f)
		fclose(f);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid,
		 (int)tid);
	f = fopen(path, "re");
	if (f && fgets(line, sizeof(line), f))
		(void)sscanf(line, "%d", &ret_look->call);
	if (f)
		fclose(f);
	return ret_look->state != 0;
}

static bool is_ipc_sleep(const struct thread_look *look)
{
	static const int calls[] = {
		SYS_futex,	     449 /* futex_waitv */,
		SYS_msgsnd,	     SYS_msgrcv,
		SYS_semop,	     SYS_semtimedop,
		SYS_restart_syscall,
	};

	if (look->state != 'S')
		return false;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (look->call == calls[i])
			return true;
	return look->call == -1;
}

static bool is_sleeping(pid_t pid, pid_t tid)
{
	struct timespec gap = {0, 5000000};
	struct thread_look first, second;

	if (!look_at(pid, tid, &first) || !is_ipc_sleep(&first))
		return false;
	nanosleep(&gap, NULL);
	return look_at(pid, tid, &second) && is_ipc_sleep(&second) &&
	       first.switches == second.switches;
}

void wait_thread_sleeping(pid_t pid, pid_t tid)
{
	WAIT_UNTIL(is_sleeping(pid, tid));
}

void wait_sleeping(pid_t pid)
{
	WAIT_UNTIL(is_sleeping(pid, pid));
}

void wait_dead(pid_t pid)
{
	struct thread_look look;

	WAIT_UNTIL(!look_at(pid, pid, &look) || look.state == 'Z' ||
		   look.state == 'X');
}
