/* SPDX-License-Identifier: MIT */
/*
 * run.h - running one body of test code in a guarded process (internal to the
 * harness).
 */
#ifndef S5_TESTS_RUN_H
#define S5_TESTS_RUN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Shared by the runner and all descendants of a case, through exec too. */
struct harness_shared {
	atomic_int failures;
	atomic_int is_skipped;
	atomic_int is_seed_used;
	uint64_t seed;
	int64_t deadline; /* CLOCK_MONOTONIC, in nanoseconds */
	char skip_reason[256];
};

struct run_result {
	int status; /* of the body's process, as of waitpid() */
	bool is_timed_out, is_flooding, is_interrupted;
	int leaks;	   /* processes and kernel objects left behind */
	char notes[4096];  /* lines about leaks and hung processes */
	char *output;	   /* what was printed, if captured; to be freed */
	size_t output_len; /* its length; only the end of it is kept */
};

/* The shared page: of this run, or the one that the environment names. */
extern struct harness_shared *harness_shared;

int64_t harness_now(void);

/* Once per program, before the first run. */
void run_init(void);
/*
 * Runs body(arg) in a process of its own until it ends or `seconds` have
 * passed, then kills whatever is left of it.
 */
void run_guarded(void (*body)(void *), void *arg, int seconds, bool capture,
		 struct run_result *ret_result);
/* In a helper that was executed by a case: finds the shared page. */
void run_attach(void);

#endif
