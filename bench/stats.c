/* SPDX-License-Identifier: MIT */
/*
 * stats.c - from values to figures
 *
 * Medians and quantiles over rounds, and ratios of what was measured in the
 * same round, so that a machine that becomes slower spoils neither.
 */
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int bench_compare_double(const void *a, const void *b)
{
	const double *x = a;
	const double *y = b;

	return (*x > *y) - (*x < *y);
}

double bench_quantile(const double *sorted, size_t n, double q)
{
	double at;
	size_t i;

	if (n == 0)
		return 0;
	at = q * (double)(n - 1);
	i = (size_t)at;
	if (i + 1 >= n)
		return sorted[n - 1];
	return sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]);
}

struct bench_summary bench_summarise(const double *values, size_t n)
{
	struct bench_summary summary;
	double sorted[BENCH_ROUNDS_MAX];

	if (n > BENCH_ROUNDS_MAX)
		n = BENCH_ROUNDS_MAX;
	memcpy(sorted, values, n * sizeof(*values));
	qsort(sorted, n, sizeof(*sorted), bench_compare_double);
	summary.min = bench_quantile(sorted, n, 0);
	summary.q1 = bench_quantile(sorted, n, 0.25);
	summary.median = bench_quantile(sorted, n, 0.5);
	summary.q3 = bench_quantile(sorted, n, 0.75);
	summary.max = bench_quantile(sorted, n, 1);
	return summary;
}

bool bench_speedup(const struct bench_outcome *outcome, enum bench_side side,
		   double *ret_ratio)
{
	const struct bench_series *kernel = &outcome->side[BENCH_KERNEL];
	const struct bench_series *other = &outcome->side[side];
	double ratio[BENCH_ROUNDS_MAX];
	size_t i;

	if (!kernel->present || !other->present)
		return false;
	for (i = 0; i < kernel->n && i < other->n; i++) {
		if (kernel->value[i] <= 0 || other->value[i] <= 0)
			return false;
		ratio[i] = outcome->row->flags & BENCH_RATE
				   ? other->value[i] / kernel->value[i]
				   : kernel->value[i] / other->value[i];
	}
	if (i == 0)
		return false;
	*ret_ratio = bench_summarise(ratio, i).median;
	return true;
}

/* The median by round of how many times one side's value, or an extra figure of
 * it, is another's.  False if one is missing. */
static bool times(const struct bench_series *above, const double *a,
		  const struct bench_series *below, const double *b,
		  double *ret_times)
{
	double ratio[BENCH_ROUNDS_MAX];
	size_t i;

	if (!above->present || !below->present)
		return false;
	for (i = 0; i < above->n && i < below->n; i++) {
		if (b[i] <= 0)
			return false;
		ratio[i] = a[i] / b[i];
	}
	if (i == 0)
		return false;
	*ret_times = bench_summarise(ratio, i).median;
	return true;
}

bool bench_measured(const struct bench_outcome *outcome, enum bench_goal goal,
		    double *ret_value)
{
	const struct bench_series *kernel = &outcome->side[BENCH_KERNEL];
	const struct bench_series *ours = &outcome->side[BENCH_SYSFIVE];
	const struct bench_series *glibc = &outcome->side[BENCH_GLIBC];
	bool known = ours->present;

	switch (goal) {
	case BENCH_GOAL_FASTER:
		return bench_speedup(outcome, BENCH_SYSFIVE, ret_value);
	case BENCH_GOAL_TIME:
		known = bench_speedup(outcome, BENCH_SYSFIVE, ret_value);
		if (known)
			*ret_value = 1 / *ret_value;
		return known;
	case BENCH_GOAL_VALUE:
		if (known)
			*ret_value =
				bench_summarise(ours->value, ours->n).median;
		return known;
	case BENCH_GOAL_DELTA:
		if (known)
			*ret_value = bench_summarise(ours->extra[BENCH_DELTA],
						     ours->n)
					     .median;
		return known;
	case BENCH_GOAL_PEER:
		return times(ours, ours->value, glibc, glibc->value, ret_value);
	case BENCH_GOAL_SYSTEM:
		return times(ours, ours->extra[BENCH_SYSTEM], kernel,
			     kernel->extra[BENCH_SYSTEM], ret_value);
	case BENCH_GOAL_LINEAR:
		return times(ours, ours->value, ours, ours->extra[BENCH_OF_10],
			     ret_value);
	case BENCH_GOAL_NONE:
		break;
	}
	return false;
}

int bench_meets(const struct bench_outcome *outcome)
{
	int meets = -1;
	size_t i;

	for (i = 0; i < BENCH_TARGETS; i++) {
		const struct bench_target *target = &outcome->row->target[i];
		double value;

		if (target->goal == BENCH_GOAL_NONE)
			continue;
		if (!bench_measured(outcome, target->goal, &value))
			return -1;
		if (target->goal == BENCH_GOAL_FASTER ? value < target->value
						      : value > target->value)
			return 0;
		meets = 1;
	}
	return meets;
}

static void target_text(const struct bench_target *target, char *text,
			size_t size)
{
	static const struct {
		const char *before;
		const char *after;
	} words[] = {
		[BENCH_GOAL_FASTER] = {">=", "x"},
		[BENCH_GOAL_TIME] = {"<=", "x time"},
		[BENCH_GOAL_VALUE] = {"<=", ""},
		[BENCH_GOAL_DELTA] = {"<=+", ""},
		[BENCH_GOAL_PEER] = {"<=", "x glibc's time"},
		[BENCH_GOAL_SYSTEM] = {"<=", "x system time"},
		[BENCH_GOAL_LINEAR] = {"<=", "x that of 10"},
	};

	(void)snprintf(text, size, "%s%.10g%s", words[target->goal].before,
		       target->value, words[target->goal].after);
}

void bench_target_text(const struct bench_row *row, char *text, size_t size)
{
	size_t n = 0;
	size_t i;

	(void)snprintf(text, size, "-");
	for (i = 0; i < BENCH_TARGETS && n + 2 < size; i++) {
		if (row->target[i].goal == BENCH_GOAL_NONE)
			continue;
		if (n)
			n += (size_t)snprintf(text + n, size - n, ", ");
		target_text(&row->target[i], text + n, size - n);
		n = strlen(text);
	}
}

const char *bench_extra_name(enum bench_extra extra)
{
	static const char *const names[BENCH_EXTRAS] = {
		[BENCH_P50_US] = "latency_p50_us",
		[BENCH_P99_US] = "latency_p99_us",
		[BENCH_SWITCHES] = "context_switches_per_1000",
		[BENCH_CPU] = "cpus_busy",
		[BENCH_BASE] = "without",
		[BENCH_DELTA] = "difference",
		[BENCH_QUIET] = "no_system_call",
		[BENCH_UNTOUCHED] = "shared_memory_untouched",
		[BENCH_SYSTEM] = "system_cpus",
		[BENCH_SYSTEM_US] = "system_us_per_operation",
		[BENCH_OF_10] = "with_10",
		[BENCH_OF_100] = "with_100",
	};

	return names[extra];
}

const char *bench_side_name(enum bench_side side)
{
	static const char *const names[BENCH_SIDES] = {
		[BENCH_KERNEL] = "kernel",
		[BENCH_SYSFIVE] = "sysfive",
		[BENCH_BOOST] = "boost",
		[BENCH_GLIBC] = "glibc",
	};

	return names[side];
}
