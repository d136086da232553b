/* SPDX-License-Identifier: MIT */
/*
 * report.h - what was measured, as a table or as JSON
 */
#ifndef S5_BENCH_REPORT_H
#define S5_BENCH_REPORT_H

#include "bench.h"
#include "cli/table.h"

#define BENCH_ROUNDS_MAX 100

/* One side of a row over all rounds. */
struct bench_series {
	bool present;
	size_t n;
	double value[BENCH_ROUNDS_MAX];
	double extra[BENCH_EXTRAS][BENCH_ROUNDS_MAX];
	bool has[BENCH_EXTRAS];
	char skipped[160]; /* why it is not present */
};

struct bench_outcome {
	const struct bench_row *row;
	struct bench_series side[BENCH_SIDES];
	char failed[256]; /* why the row could not be measured; or empty */
};

struct bench_report {
	int rounds;
	double seconds;
	size_t n;
	struct bench_outcome *outcome;
};

struct bench_summary {
	double min, q1, median, q3, max;
};

/* Summary of n unsorted values, at least one. */
struct bench_summary bench_summarise(const double *values, size_t n);

/*
 * How many times as fast as the kernel a side is: the median over the rounds,
 * each round's two values side by side.  False if one is missing.
 */
bool bench_speedup(const struct bench_outcome *outcome, enum bench_side side,
		   double *ret_ratio);

/* What a goal's value is held against, as measured; false if not known. */
bool bench_measured(const struct bench_outcome *outcome, enum bench_goal goal,
		    double *ret_value);
/* Does the row meet its targets?  1, 0, or -1 if that cannot be said. */
int bench_meets(const struct bench_outcome *outcome);
/* Writes the targets in words, or "-". */
void bench_target_text(const struct bench_row *row, char *text, size_t size);

const char *bench_extra_name(enum bench_extra extra);
const char *bench_side_name(enum bench_side side);

/* Where and with what this runs. */
struct bench_machine {
	char cpu[128];
	long ncpus;
	char kernel[256];
	const char *compiler;
	const char *version;
	const char *commit;
};
void bench_machine_read(struct bench_machine *ret_machine);

extern const struct cli_columns bench_columns;

/* Print to standard output; 0 or -errno. */
int bench_print_table(const struct bench_report *report, const char *wanted);
int bench_print_json(const struct bench_report *report);

#endif
