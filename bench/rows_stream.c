/* SPDX-License-Identifier: MIT */
/*
 * rows_stream.c - two processes: streaming and round trips
 *
 * The partner is a child.  They meet at a counter in memory that they share,
 * so neither side's own means are used to start them.
 */
#include "bench.h"

#include <stdlib.h>
#include <unistd.h>

/* One message of so many carries the time at which it was sent. */
#define SAMPLE 64

static void produce(struct bench_run *run, int id, uint64_t count)
{
	struct bench_msg msg = {.type = 1};
	uint64_t i;

	for (i = 0; i < count; i++) {
		msg.word[0] = i % SAMPLE ? 0 : bench_now_ns();
		msg.word[1] = i;
		bench_send(run, id, &msg);
	}
}

/* Returns how many latencies, in microseconds, were written to samples. */
static size_t consume(struct bench_run *run, int id, uint64_t count,
		      double *samples)
{
	struct bench_msg msg;
	size_t n = 0;
	uint64_t i;

	for (i = 0; i < count; i++) {
		bench_receive(run, id, &msg, 0);
		if (msg.word[1] != i)
			bench_wrong(run, "message %llu came in place of %llu",
				    (unsigned long long)msg.word[1],
				    (unsigned long long)i);
		if (msg.word[0])
			samples[n++] =
				(double)(bench_now_ns() - msg.word[0]) / 1e3;
	}
	return n;
}

/* The argument is 1 for producer and consumer pinned to a CPU each. */
void bench_run_stream(struct bench_run *run, uint64_t count,
		      struct bench_result *ret_result)
{
	double *samples = malloc((count / SAMPLE + 1) * sizeof(*samples));
	atomic_int *counter = bench_shared_page(run);
	int id = bench_queue(run, 0);
	uint64_t start;
	size_t n;
	pid_t child;

	if (!samples)
		bench_fail(run, "malloc");
	child = bench_fork(run);
	if (run->row->argument)
		bench_pin(run, run->cpu[child == 0]);
	bench_meet(counter, 2);
	if (child == 0) {
		produce(run, id, count);
		_exit(0);
	}
	start = bench_now_ns();
	n = consume(run, id, count, samples);
	bench_result_rate(ret_result, count, bench_now_ns() - start, 1e6);
	bench_join(run, child);

	qsort(samples, n, sizeof(*samples), bench_compare_double);
	bench_result_extra(ret_result, BENCH_P50_US,
			   bench_quantile(samples, n, 0.5));
	bench_result_extra(ret_result, BENCH_P99_US,
			   bench_quantile(samples, n, 0.99));
	free(samples);
	bench_queue_remove(run, id);
}

static void echo(struct bench_run *run, int there, int back, uint64_t count)
{
	struct bench_msg msg;
	uint64_t i;

	for (i = 0; i < count; i++) {
		bench_receive(run, there, &msg, 0);
		bench_send(run, back, &msg);
	}
}

static void call(struct bench_run *run, int there, int back, uint64_t count)
{
	struct bench_msg msg = {.type = 1, .text = "a message"};
	uint64_t i;

	for (i = 0; i < count; i++) {
		bench_send(run, there, &msg);
		bench_receive(run, back, &msg, 0);
	}
}

/* The argument is the number of CPUs to pin the two processes to; 0: none. */
void bench_run_pingpong(struct bench_run *run, uint64_t count,
			struct bench_result *ret_result)
{
	atomic_int *counter = bench_shared_page(run);
	int there = bench_queue(run, 0);
	int back = bench_queue(run, 1);
	uint64_t start;
	pid_t child;

	child = bench_fork(run);
	if (run->row->argument)
		bench_pin(run, run->cpu[child == 0 && run->row->argument == 2]);
	bench_meet(counter, 2);
	if (child == 0) {
		echo(run, there, back, count);
		_exit(0);
	}
	start = bench_now_ns();
	call(run, there, back, count);
	bench_result_time(ret_result, count, bench_now_ns() - start);
	bench_join(run, child);
	bench_queue_remove(run, there);
	bench_queue_remove(run, back);
}
