/* SPDX-License-Identifier: MIT */
/*
 * rows.c - the table of benchmarks and of what each should reach
 *
 * A row that is added here is known to the options, the table and the JSON.
 */
#include "bench.h"

/* What bench_run_deep() takes as argument: a depth and a kind. */
#define DEEP(depth, kind) ((depth)*4L + (kind))

/* What bench_run_sembench() takes: threads, and how many are released at a
 * time. */
#define SEMBENCH(threads, wake) ((threads)*10000L + (wake))

/* The targets of a row, up to two. */
#define TARGETS(...)        \
	{                   \
		__VA_ARGS__ \
	}
#define TO(goal, value)                  \
	{                                \
		BENCH_GOAL_##goal, value \
	}

const struct bench_row bench_rows[] = {
	{"pair", "send and receive by one process, nothing blocks", "ns",
	 BENCH_PEERS, TARGETS(TO(FASTER, 10)), bench_run_pair, 0},
	{"stream", "one producer, one consumer, on two CPUs", "M/s",
	 BENCH_RATE | BENCH_CROSS, TARGETS(TO(FASTER, 8)), bench_run_stream, 1},
	{"stream-free", "the same, not pinned", "M/s",
	 BENCH_RATE | BENCH_EXTRA_ROW, TARGETS(TO(FASTER, 8)), bench_run_stream,
	 0},
	{"pingpong-cross", "round trip between two CPUs", "ns", BENCH_CROSS,
	 TARGETS(TO(FASTER, 8)), bench_run_pingpong, 2},
	{"pingpong-same", "round trip on one CPU", "ns", 0,
	 TARGETS(TO(TIME, 1.1)), bench_run_pingpong, 1},
	{"pingpong-free", "round trip, not pinned", "ns", BENCH_EXTRA_ROW,
	 TARGETS(TO(NONE, 0)), bench_run_pingpong, 0},
	{"pmsg-2", "2 threads in pairs, one queue", "M/s",
	 BENCH_RATE | BENCH_BY_TIME, TARGETS(TO(FASTER, 2)), bench_run_pmsg, 2},
	{"pmsg-4", "4 threads", "M/s", BENCH_RATE | BENCH_BY_TIME,
	 TARGETS(TO(FASTER, 1.2)), bench_run_pmsg, 4},
	{"pmsg-8", "8 threads", "M/s", BENCH_RATE | BENCH_BY_TIME,
	 TARGETS(TO(FASTER, 1.2)), bench_run_pmsg, 8},
	{"pmsg-64", "64 threads", "M/s", BENCH_RATE | BENCH_BY_TIME,
	 TARGETS(TO(FASTER, 1.2)), bench_run_pmsg, 64},
	{"deep-10", "by type from the end of 10 messages", "ns", 0,
	 TARGETS(TO(NONE, 0)), bench_run_deep, DEEP(10, 0)},
	{"deep", "by type from the end of 100,000 messages", "ns", 0,
	 TARGETS(TO(FASTER, 1000)), bench_run_deep, DEEP(100000, 0)},
	{"deep-lowest", "the same by lowest type", "ns", 0,
	 TARGETS(TO(FASTER, 1000)), bench_run_deep, DEEP(100000, 1)},
	{"deep-types", "the same, 100,000 types", "ns", 0,
	 TARGETS(TO(FASTER, 1000)), bench_run_deep, DEEP(100000, 2)},
	{"deep-types-low", "lowest of 100,000 types", "ns", 0,
	 TARGETS(TO(FASTER, 1000)), bench_run_deep, DEEP(100000, 3)},
	{"get", "msgget of an existing key", "ns", 0, TARGETS(TO(TIME, 1.1)),
	 bench_run_get, 0},
	{"create", "creating and removing a queue", "ns", 0,
	 TARGETS(TO(TIME, 1.1)), bench_run_create, 0},
	{"sem-pair", "P and V by one process, nothing blocks", "ns",
	 BENCH_GLIBC_TOO, TARGETS(TO(FASTER, 8), TO(PEER, 1.6)),
	 bench_run_sem_pair, 0},
	{"sem-pair-undo", "the same with SEM_UNDO", "ns", 0,
	 TARGETS(TO(FASTER, 4)), bench_run_sem_pair, SEM_UNDO},
	{"sem-zero-1", "waiting for zero, which it is, by 1 thread", "M/s",
	 BENCH_RATE | BENCH_BY_TIME, TARGETS(TO(FASTER, 10)),
	 bench_run_sem_zero, 1},
	{"sem-zero-2", "2 threads, a semaphore each", "M/s",
	 BENCH_RATE | BENCH_BY_TIME, TARGETS(TO(FASTER, 10)),
	 bench_run_sem_zero, 2},
	{"sem-zero-4", "4 threads", "M/s", BENCH_RATE | BENCH_BY_TIME,
	 TARGETS(TO(FASTER, 10)), bench_run_sem_zero, 4},
	{"sem-zero-16", "16 threads", "M/s", BENCH_RATE | BENCH_BY_TIME,
	 TARGETS(TO(FASTER, 10)), bench_run_sem_zero, 16},
	{"sem-pingpong-cross", "round trip by two semaphores, two CPUs", "ns",
	 BENCH_CROSS, TARGETS(TO(FASTER, 8)), bench_run_sem_pingpong, 2},
	{"sem-pingpong-same", "round trip by two semaphores, one CPU", "ns", 0,
	 TARGETS(TO(TIME, 1.1)), bench_run_sem_pingpong, 1},
	{"sembench-16", "16 asleep, released 8 at a time", "M/s",
	 BENCH_RATE | BENCH_BY_TIME, TARGETS(TO(FASTER, 1.3), TO(SYSTEM, 0.75)),
	 bench_run_sembench, SEMBENCH(16, 8)},
	{"sembench-250", "250 asleep, released 250 at a time", "M/s",
	 BENCH_RATE | BENCH_BY_TIME, TARGETS(TO(FASTER, 1.3), TO(SYSTEM, 0.75)),
	 bench_run_sembench, SEMBENCH(250, 250)},
	{"sembench-1000", "1000 asleep, released 500 at a time", "M/s",
	 BENCH_RATE | BENCH_BY_TIME, TARGETS(TO(FASTER, 1.3), TO(SYSTEM, 0.75)),
	 bench_run_sembench, SEMBENCH(1000, 500)},
	{"sem-bulk", "the semop that releases 250: until it returns", "us",
	 BENCH_BY_TIME, TARGETS(TO(TIME, 0.6)), bench_run_sem_bulk, 250},
	{"sem-release", "releasing 1000 by one call, for each of them", "ns",
	 BENCH_BY_TIME, TARGETS(TO(LINEAR, 1.25)), bench_run_sem_release, 0},
	{"sem-pass", "passing over 1000 that must wait, for each", "ns",
	 BENCH_BY_TIME, TARGETS(TO(LINEAR, 1.25)), bench_run_sem_pass, 0},
	{"sem-lock-1", "16 processes lock and unlock 1 semaphore", "M/s",
	 BENCH_RATE | BENCH_BY_TIME, TARGETS(TO(FASTER, 2)), bench_run_sem_lock,
	 1},
	{"sem-lock-8", "16 processes lock and unlock 8 semaphores", "M/s",
	 BENCH_RATE | BENCH_BY_TIME, TARGETS(TO(FASTER, 2)), bench_run_sem_lock,
	 8},
	{"load", "starting a program with the drop-in", "ms", BENCH_ALONE,
	 TARGETS(TO(DELTA, 0.15)), bench_run_load, 0},
	{"memory-idle", "shared memory of an idle namespace", "bytes",
	 BENCH_ALONE | BENCH_BY_TIME, TARGETS(TO(VALUE, 262144)),
	 bench_run_idle, 0},
	{"memory-queue", "shared memory of an empty queue", "bytes",
	 BENCH_ALONE | BENCH_BY_TIME, TARGETS(TO(VALUE, 1024)), bench_run_queue,
	 1000},
};

const size_t bench_nrows = sizeof(bench_rows) / sizeof(bench_rows[0]);
