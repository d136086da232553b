/* SPDX-License-Identifier: MIT */
/*
 * rows_semwake.c - one call and the many who wait
 *
 * The call that releases many, and the one that passes over many who must go on
 * waiting.  Before each measured call all of them sleep in the kernel; what is
 * measured ends when the call returns.
 */
#include "bench.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define WAITERS_MAX 1000
#define SAMPLES_MAX 4096
/* Each of the three sizes. */
#define SIZES 3

struct waiter {
	struct crowd *crowd;
	struct sembuf op[2];
	size_t nops;
	pthread_t thread;
};

struct crowd {
	struct bench_run *run;
	int id;
	int n;
	int semaphores; /* that are waited for */
	atomic_int started;
	atomic_bool over;
	struct waiter waiter[WAITERS_MAX];
	pid_t tid[WAITERS_MAX];
};

static void *wait_again(void *argument)
{
	struct waiter *self = argument;
	struct crowd *crowd = self->crowd;
	struct bench_run *run = crowd->run;

	crowd->tid[self - crowd->waiter] = gettid();
	(void)atomic_fetch_add(&crowd->started, 1);
	while (run->ops->semtimedop(crowd->id, self->op, self->nops, NULL) == 0)
		continue;
	/* The end is that the set is removed. */
	if (!atomic_load(&crowd->over) || (errno != EIDRM && errno != EINVAL))
		bench_fail(run, "semop");
	return NULL;
}

/* A set and those who will wait, one on each of so many semaphores, or all on
 * the first. */
static struct crowd *gather(struct bench_run *run, int n, int semaphores)
{
	struct crowd *crowd = calloc(1, sizeof(*crowd));
	int i;

	if (!crowd)
		bench_fail(run, "malloc");
	crowd->run = run;
	crowd->n = n;
	crowd->semaphores = semaphores;
	crowd->id = bench_set(run, 0, semaphores + 1);
	for (i = 0; i < n; i++)
		crowd->waiter[i] = (struct waiter){
			.crowd = crowd,
			.op = {{(unsigned short)(i % semaphores), -1, 0}},
			.nops = 1,
		};
	return crowd;
}

static void start(struct crowd *crowd)
{
	int i;

	for (i = 0; i < crowd->n; i++)
		crowd->waiter[i].thread =
			bench_thread(crowd->run, wait_again, &crowd->waiter[i]);
	bench_meet(&crowd->started, crowd->n);
}

static void await_all(struct crowd *crowd)
{
	struct timespec pause = {0, 50000};

	while (bench_set_waiters(crowd->run, crowd->id, crowd->semaphores) !=
	       crowd->n)
		(void)nanosleep(&pause, NULL);
	bench_await_asleep(crowd->run, crowd->tid, crowd->n);
}

static void dismiss(struct crowd *crowd)
{
	int i;

	atomic_store(&crowd->over, true);
	bench_set_remove(crowd->run, crowd->id);
	for (i = 0; i < crowd->n; i++)
		(void)pthread_join(crowd->waiter[i].thread, NULL);
	free(crowd);
}

/* The time of one call, in nanoseconds. */
static double timed(struct crowd *crowd, struct sembuf *ops, size_t nops)
{
	uint64_t begin = bench_now_ns();

	if (crowd->run->ops->semtimedop(crowd->id, ops, nops, NULL))
		bench_fail(crowd->run, "semop");
	return (double)(bench_now_ns() - begin);
}

struct samples {
	double value[SAMPLES_MAX];
	size_t n;
};

static double median_of(struct samples *samples)
{
	qsort(samples->value, samples->n, sizeof(samples->value[0]),
	      bench_compare_double);
	return bench_quantile(samples->value, samples->n, 0.5);
}

static bool is_enough(const struct samples *samples, uint64_t end)
{
	return samples->n == SAMPLES_MAX ||
	       (samples->n > 0 && bench_now_ns() >= end);
}

/* The median time of the call that releases all, again and again for a time. */
static double release_all(struct crowd *crowd, struct sembuf *ops, size_t nops,
			  double seconds)
{
	struct samples samples = {.n = 0};
	uint64_t end = bench_now_ns() + (uint64_t)(seconds * 1e9);

	while (!is_enough(&samples, end)) {
		await_all(crowd);
		samples.value[samples.n++] = timed(crowd, ops, nops);
	}
	return median_of(&samples);
}

/* The argument is the number of waiters, each on a semaphore of its own. */
void bench_run_sem_bulk(struct bench_run *run, uint64_t count,
			struct bench_result *ret_result)
{
	int n = (int)run->row->argument;
	struct crowd *crowd = gather(run, n, n);
	struct sembuf ops[WAITERS_MAX];
	int i;

	(void)count;
	for (i = 0; i < n; i++)
		ops[i] = (struct sembuf){(unsigned short)i, 1, 0};
	start(crowd);
	ret_result->value =
		release_all(crowd, ops, (size_t)n, run->seconds) / 1e3;
	ret_result->count = 1;
	dismiss(crowd);
}

/* What a measurement with n waiters costs for each of them. */
typedef double per_waiter_fn(struct bench_run *run, int n);

static void by_size(struct bench_run *run, per_waiter_fn *measure,
		    struct bench_result *ret_result)
{
	bench_result_extra(ret_result, BENCH_OF_10, measure(run, 10));
	bench_result_extra(ret_result, BENCH_OF_100, measure(run, 100));
	ret_result->value = measure(run, 1000);
	ret_result->count = 1;
}

static double release_by_one(struct bench_run *run, int n)
{
	struct crowd *crowd = gather(run, n, 1);
	struct sembuf op = {0, (short)n, 0};
	double ns;

	start(crowd);
	ns = release_all(crowd, &op, 1, run->seconds / SIZES);
	dismiss(crowd);
	return ns / n;
}

void bench_run_sem_release(struct bench_run *run, uint64_t count,
			   struct bench_result *ret_result)
{
	(void)count;
	by_size(run, release_by_one, ret_result);
}

/* All wait for the first semaphore and for another, which nobody raises. */
static double pass_over(struct bench_run *run, int n)
{
	struct crowd *crowd = gather(run, n, 1);
	struct samples samples = {.n = 0};
	struct sembuf up = {0, 1, 0};
	uint64_t end;
	double ns;
	int i;

	for (i = 0; i < n; i++) {
		crowd->waiter[i].op[1] = (struct sembuf){1, -1, 0};
		crowd->waiter[i].nops = 2;
	}
	start(crowd);
	await_all(crowd);
	end = bench_now_ns() + (uint64_t)(run->seconds / SIZES * 1e9);
	while (!is_enough(&samples, end)) {
		samples.value[samples.n++] = timed(crowd, &up, 1);
		bench_semop(run, crowd->id, 0, -1, IPC_NOWAIT);
	}
	ns = median_of(&samples);
	dismiss(crowd);
	return ns / n;
}

void bench_run_sem_pass(struct bench_run *run, uint64_t count,
			struct bench_result *ret_result)
{
	(void)count;
	by_size(run, pass_over, ret_result);
}
