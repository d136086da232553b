/* SPDX-License-Identifier: MIT */
/*
 * worker.c - the process that measures one row on one side once
 *
 * Owns nothing that outlives it but what its keys and its SYSFIVE_DIR name;
 * the supervisor removes both.  An error anywhere in the process group is
 * noted in the shared result, once, and ends the group.
 */
#include "bench.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sysfive/admin.h"

/* Calibration starts here, and is done when a run took this part of the aim. */
#define COUNT_FIRST 64
#define ENOUGH	    0.25

/* Notes what happened, and the meaning of error if that is not 0; ends all. */
__attribute__((noreturn, format(printf, 3, 0))) static void
end_all(struct bench_run *run, int error, const char *format, va_list args)
{
	if (atomic_exchange(&run->shared->failed, 1) == 0) {
		char *why = run->shared->result.why;
		size_t size = sizeof(run->shared->result.why);
		size_t n;

		(void)vsnprintf(why, size, format, args);
		n = strlen(why);
		if (error)
			(void)snprintf(why + n, size - n, ": %s",
				       strerror(error));
	}
	(void)kill(0, SIGKILL);
	_exit(1);
}

void bench_fail(struct bench_run *run, const char *format, ...)
{
	int error = errno;
	va_list args;

	va_start(args, format);
	end_all(run, error, format, args);
}

void bench_wrong(struct bench_run *run, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	end_all(run, 0, format, args);
}

void bench_skip(struct bench_run *run, const char *why)
{
	struct bench_result *result = &run->shared->result;

	(void)snprintf(result->why, sizeof(result->why), "%s", why);
	result->skipped = true;
	result->done = true;
	_exit(0);
}

uint64_t bench_now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

void bench_pin(struct bench_run *run, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		bench_fail(run, "cannot pin a process to CPU %d", cpu);
}

/* The CPUs that this process may use; the first two of them for pinning. */
static void find_cpus(struct bench_run *run)
{
	cpu_set_t set;
	int cpu;

	run->ncpus = 0;
	if (sched_getaffinity(0, sizeof(set), &set))
		bench_fail(run, "cannot read the CPU affinity");
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &set))
			continue;
		if (run->ncpus < 2)
			run->cpu[run->ncpus] = cpu;
		run->ncpus++;
	}
	if (run->ncpus == 1)
		run->cpu[1] = run->cpu[0];
}

void bench_namespace(struct bench_run *run)
{
	struct s5_ns_status status;
	int err = s5_ns_open(NULL, 1, &status);

	errno = -err;
	if (err)
		bench_fail(run, "the namespace");
}

int bench_queue(struct bench_run *run, unsigned int index)
{
	key_t key = run->shared->key + (key_t)index;
	int id = run->ops->get(key, IPC_CREAT | IPC_EXCL | 0600);

	if (id < 0)
		bench_fail(run, "msgget");
	return id;
}

void bench_queue_remove(struct bench_run *run, int id)
{
	if (run->ops->ctl(id, IPC_RMID, NULL))
		bench_fail(run, "msgctl IPC_RMID");
}

void bench_send(struct bench_run *run, int id, const struct bench_msg *msg)
{
	if (run->ops->snd(id, msg, BENCH_TEXT, 0))
		bench_fail(run, "msgsnd");
}

void bench_receive(struct bench_run *run, int id, struct bench_msg *ret_msg,
		   long type)
{
	ssize_t n = run->ops->rcv(id, ret_msg, BENCH_TEXT, type, 0);

	if (n < 0)
		bench_fail(run, "msgrcv");
	if (n != BENCH_TEXT)
		bench_wrong(run, "msgrcv gave %zd bytes", n);
}

pid_t bench_fork(struct bench_run *run)
{
	pid_t parent = getpid();
	pid_t child = fork();

	if (child < 0)
		bench_fail(run, "fork");
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
	}
	return child;
}

void bench_join(struct bench_run *run, pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child)
		bench_fail(run, "waitpid");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	bench_wrong(run, "a partner process ended with wait status %d", status);
}

void *bench_shared_page(struct bench_run *run)
{
	void *page =
		mmap(NULL, (size_t)sysconf(_SC_PAGESIZE),
		     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		bench_fail(run, "mmap");
	return page;
}

void bench_meet(atomic_int *counter, int parties)
{
	(void)atomic_fetch_add(counter, 1);
	while (atomic_load(counter) < parties)
		(void)sched_yield();
}

void bench_result_rate(struct bench_result *result, uint64_t count, uint64_t ns,
		       double scale)
{
	result->count = count;
	result->seconds = (double)ns / 1e9;
	result->value = (double)count / result->seconds / scale;
}

void bench_result_time(struct bench_result *result, uint64_t count, uint64_t ns)
{
	result->count = count;
	result->seconds = (double)ns / 1e9;
	result->value = (double)ns / (double)count;
}

void bench_result_extra(struct bench_result *result, enum bench_extra extra,
			double value)
{
	result->has[extra] = true;
	result->extra[extra] = value;
}

static double seconds_of(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

struct bench_usage bench_usage(int who)
{
	struct bench_usage usage = {0};
	struct rusage r;

	if (getrusage(who, &r))
		return usage;
	usage.switches = (double)(r.ru_nvcsw + r.ru_nivcsw);
	usage.cpu_seconds = seconds_of(r.ru_utime) + seconds_of(r.ru_stime);
	usage.system_seconds = seconds_of(r.ru_stime);
	return usage;
}

/* Finds how many operations take the time aimed at. */
static uint64_t calibrate(struct bench_run *run, struct bench_result *result)
{
	uint64_t count = COUNT_FIRST;

	for (;;) {
		double part;

		run->row->run(run, count, result);
		part = result->seconds / run->seconds;
		if (part >= ENOUGH)
			return (uint64_t)((double)count / part) + 1;
		/* Towards the aim, but no further than sixteenfold. */
		if (part * 16 > 1)
			count = (uint64_t)((double)count / part) + 1;
		else
			count *= 16;
	}
}

static void measure(struct bench_run *run, struct bench_result *result)
{
	uint64_t count = run->shared->count;

	if (run->side == BENCH_BOOST) {
		bench_peer(run, count, result);
		return;
	}
	if (run->row->flags & BENCH_BY_TIME) {
		run->final = true;
		run->row->run(run, count, result);
		return;
	}
	if (count == 0) {
		count = calibrate(run, result);
	} else {
		run->row->run(run, count / 8 + 1, result);
		memset(result, 0, sizeof(*result));
		run->final = true;
		run->row->run(run, count, result);
	}
	result->count = count;
}

int bench_worker(int fd)
{
	struct bench_run run = {0};
	struct bench_result result = {0};
	struct bench_shared *shared;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED,
		      fd, 0);
	if (shared == MAP_FAILED || shared->row >= bench_nrows ||
	    shared->side >= BENCH_SIDES)
		return 1;
	(void)close(fd);
	run.row = &bench_rows[shared->row];
	run.side = shared->side;
	run.shared = shared;
	run.seconds = shared->seconds;
	if (run.side == BENCH_KERNEL)
		run.ops = &bench_kernel_ops;
	else if (run.side == BENCH_SYSFIVE)
		run.ops = &bench_sysfive_ops;
	find_cpus(&run);
	if ((run.row->flags & BENCH_CROSS) && run.ncpus < 2)
		bench_skip(&run, "needs two CPUs");

	measure(&run, &result);
	if (atomic_load(&shared->failed))
		return 1;
	result.done = true;
	shared->result = result;
	return 0;
}
