/* SPDX-License-Identifier: MIT */
/*
 * rows_sembench.c - many threads asleep, each on a semaphore of its own
 *
 * As in the historic test: the semaphores lie in sets of 250, a thread that is
 * about to sleep raises its flag, and one other thread releases up to so many
 * of those at a time, by calls of up to 64 operations on a set.  It looks for
 * flags all the time and never sleeps, so the system time is that of the calls
 * and of switching between threads.  The sleepers are spread over two CPUs.
 */
#include "bench.h"

#include <errno.h>
#include <sys/resource.h>

#define THREADS_MAX 1000
#define PER_SET	    250
#define SETS	    (THREADS_MAX / PER_SET)
#define OPS	    64

struct sleeper {
	_Alignas(128) struct bench *bench;
	int number;
	atomic_bool ready;
	_Atomic uint64_t count; /* written by itself */
	pthread_t thread;
};

struct bench {
	struct bench_run *run;
	int threads;
	int wake;
	int next; /* where to look for a flag */
	int id[SETS];
	atomic_int started;
	atomic_bool stop;
	struct sleeper *sleeper;
};

/* The operations that one call is to do. */
struct batch {
	struct sembuf op[OPS];
	int n;
};

static void *sleeper_thread(void *argument)
{
	struct sleeper *self = argument;
	struct bench *bench = self->bench;
	struct bench_run *run = bench->run;
	int id = bench->id[self->number / PER_SET];
	struct sembuf op = {
		.sem_num = (unsigned short)(self->number % PER_SET),
		.sem_op = -1,
	};
	uint64_t count = 0;

	bench_pin(run, run->cpu[self->number % 2]);
	(void)atomic_fetch_add(&bench->started, 1);
	for (;;) {
		atomic_store(&self->ready, true);
		if (run->ops->semtimedop(id, &op, 1, NULL))
			break;
		atomic_store_explicit(&self->count, ++count,
				      memory_order_relaxed);
	}
	/* The end is that the set is removed. */
	if (!atomic_load(&bench->stop) || (errno != EIDRM && errno != EINVAL))
		bench_fail(run, "semop");
	return NULL;
}

static void start_sleepers(struct bench *bench)
{
	static struct sleeper sleepers[THREADS_MAX];
	int i;

	bench->sleeper = sleepers;
	for (i = 0; i < bench->threads; i++) {
		sleepers[i].bench = bench;
		sleepers[i].number = i;
		sleepers[i].thread =
			bench_thread(bench->run, sleeper_thread, &sleepers[i]);
	}
	bench_meet(&bench->started, bench->threads);
}

/* Somebody whose flag is up, or -1. */
static int next_ready(struct bench *bench)
{
	int i;

	for (i = 0; i < bench->threads; i++) {
		int number = bench->next;
		atomic_bool *ready = &bench->sleeper[number].ready;

		bench->next = number + 1 < bench->threads ? number + 1 : 0;
		if (!atomic_load_explicit(ready, memory_order_relaxed))
			continue;
		atomic_store(ready, false);
		return number;
	}
	return -1;
}

static void flush(struct bench *bench, struct batch *batch, int set)
{
	if (batch->n && bench->run->ops->semtimedop(bench->id[set], batch->op,
						    (size_t)batch->n, NULL))
		bench_fail(bench->run, "semtimedop");
	batch->n = 0;
}

static void release_some(struct bench *bench)
{
	struct batch batch[SETS];
	int i;

	for (i = 0; i < SETS; i++)
		batch[i].n = 0;
	for (i = 0; i < bench->wake; i++) {
		int number = next_ready(bench);
		int set = number / PER_SET;

		if (number < 0)
			break;
		batch[set].op[batch[set].n++] = (struct sembuf){
			.sem_num = (unsigned short)(number % PER_SET),
			.sem_op = 1,
			.sem_flg = IPC_NOWAIT,
		};
		if (batch[set].n == OPS)
			flush(bench, &batch[set], set);
	}
	for (i = 0; i < SETS; i++)
		flush(bench, &batch[i], i);
}

static uint64_t count_of(struct bench *bench)
{
	uint64_t count = 0;
	int i;

	for (i = 0; i < bench->threads; i++)
		count += atomic_load_explicit(&bench->sleeper[i].count,
					      memory_order_relaxed);
	return count;
}

static void measure(struct bench *bench, struct bench_result *ret_result)
{
	struct bench_usage before = bench_usage(RUSAGE_SELF);
	uint64_t first = count_of(bench);
	uint64_t start = bench_now_ns();
	uint64_t end = start + (uint64_t)(bench->run->seconds * 1e9);
	struct bench_usage after;
	double system;
	uint64_t count;
	uint64_t now;

	do {
		release_some(bench);
		now = bench_now_ns();
	} while (now < end);
	count = count_of(bench) - first;
	after = bench_usage(RUSAGE_SELF);
	system = after.system_seconds - before.system_seconds;
	bench_result_rate(ret_result, count, now - start, 1e6);
	bench_result_extra(ret_result, BENCH_SYSTEM,
			   system / ret_result->seconds);
	bench_result_extra(ret_result, BENCH_SYSTEM_US,
			   system * 1e6 / (double)(count + 1));
	bench_result_extra(ret_result, BENCH_SWITCHES,
			   (after.switches - before.switches) * 1000 /
				   (double)(count + 1));
}

/* The argument is made by SEMBENCH() in rows.c. */
void bench_run_sembench(struct bench_run *run, uint64_t count,
			struct bench_result *ret_result)
{
	struct bench bench = {
		.run = run,
		.threads = (int)(run->row->argument / 10000),
		.wake = (int)(run->row->argument % 10000),
	};
	int sets = (bench.threads + PER_SET - 1) / PER_SET;
	int i;

	(void)count;
	for (i = 0; i < sets; i++)
		bench.id[i] = bench_set(run, (unsigned int)i, PER_SET);
	start_sleepers(&bench);
	measure(&bench, ret_result);
	atomic_store(&bench.stop, true);
	for (i = 0; i < sets; i++)
		bench_set_remove(run, bench.id[i]);
	for (i = 0; i < bench.threads; i++)
		(void)pthread_join(bench.sleeper[i].thread, NULL);
}
