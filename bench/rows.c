/* SPDX-License-Identifier: MIT */
/*
 * rows.c - the table of benchmarks and of what each should reach
 *
 * A row that is added here is known to the options, the table and the JSON.
 */
#include "bench.h"

/* What bench_run_deep() takes as argument: a depth and a kind. */
#define DEEP(depth, kind) ((depth)*4L + (kind))

const struct bench_row bench_rows[] = {
	{"pair", "send and receive by one process, nothing blocks", "ns",
	 BENCH_PEERS, BENCH_GOAL_FASTER, 10, bench_run_pair, 0},
	{"stream", "one producer, one consumer, on two CPUs", "M/s",
	 BENCH_RATE | BENCH_CROSS, BENCH_GOAL_FASTER, 8, bench_run_stream, 1},
	{"stream-free", "the same, not pinned", "M/s",
	 BENCH_RATE | BENCH_EXTRA_ROW, BENCH_GOAL_FASTER, 8, bench_run_stream,
	 0},
	{"pingpong-cross", "round trip between two CPUs", "ns", BENCH_CROSS,
	 BENCH_GOAL_FASTER, 8, bench_run_pingpong, 2},
	{"pingpong-same", "round trip on one CPU", "ns", 0, BENCH_GOAL_TIME,
	 1.1, bench_run_pingpong, 1},
	{"pingpong-free", "round trip, not pinned", "ns", BENCH_EXTRA_ROW,
	 BENCH_GOAL_NONE, 0, bench_run_pingpong, 0},
	{"pmsg-2", "2 threads in pairs, one queue", "M/s",
	 BENCH_RATE | BENCH_BY_TIME, BENCH_GOAL_FASTER, 2, bench_run_pmsg, 2},
	{"pmsg-4", "4 threads", "M/s", BENCH_RATE | BENCH_BY_TIME,
	 BENCH_GOAL_FASTER, 1.2, bench_run_pmsg, 4},
	{"pmsg-8", "8 threads", "M/s", BENCH_RATE | BENCH_BY_TIME,
	 BENCH_GOAL_FASTER, 1.2, bench_run_pmsg, 8},
	{"pmsg-64", "64 threads", "M/s", BENCH_RATE | BENCH_BY_TIME,
	 BENCH_GOAL_FASTER, 1.2, bench_run_pmsg, 64},
	{"deep-10", "by type from the end of 10 messages", "ns", 0,
	 BENCH_GOAL_NONE, 0, bench_run_deep, DEEP(10, 0)},
	{"deep", "by type from the end of 100,000 messages", "ns", 0,
	 BENCH_GOAL_FASTER, 1000, bench_run_deep, DEEP(100000, 0)},
	{"deep-lowest", "the same by lowest type", "ns", 0, BENCH_GOAL_FASTER,
	 1000, bench_run_deep, DEEP(100000, 1)},
	{"deep-types", "the same, 100,000 types", "ns", 0, BENCH_GOAL_FASTER,
	 1000, bench_run_deep, DEEP(100000, 2)},
	{"deep-types-low", "lowest of 100,000 types", "ns", 0,
	 BENCH_GOAL_FASTER, 1000, bench_run_deep, DEEP(100000, 3)},
	{"get", "msgget of an existing key", "ns", 0, BENCH_GOAL_TIME, 1.1,
	 bench_run_get, 0},
	{"create", "creating and removing a queue", "ns", 0, BENCH_GOAL_TIME,
	 1.1, bench_run_create, 0},
	{"load", "starting a program with the drop-in", "ms", BENCH_ALONE,
	 BENCH_GOAL_DELTA, 0.15, bench_run_load, 0},
	{"memory-idle", "shared memory of an idle namespace", "bytes",
	 BENCH_ALONE | BENCH_BY_TIME, BENCH_GOAL_VALUE, 262144, bench_run_idle,
	 0},
	{"memory-queue", "shared memory of an empty queue", "bytes",
	 BENCH_ALONE | BENCH_BY_TIME, BENCH_GOAL_VALUE, 1024, bench_run_queue,
	 1000},
};

const size_t bench_nrows = sizeof(bench_rows) / sizeof(bench_rows[0]);
