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

int bench_meets(const struct bench_outcome *outcome)
{
	const struct bench_series *ours = &outcome->side[BENCH_SYSFIVE];
	const struct bench_row *row = outcome->row;
	double ratio;

	if (!ours->present)
		return -1;
	switch (row->goal) {
	case BENCH_GOAL_FASTER:
		if (!bench_speedup(outcome, BENCH_SYSFIVE, &ratio))
			return -1;
		return ratio >= row->goal_value;
	case BENCH_GOAL_TIME:
		if (!bench_speedup(outcome, BENCH_SYSFIVE, &ratio))
			return -1;
		return 1 / ratio <= row->goal_value;
	case BENCH_GOAL_VALUE:
		return bench_summarise(ours->value, ours->n).median <=
		       row->goal_value;
	case BENCH_GOAL_DELTA:
		return bench_summarise(ours->extra[BENCH_DELTA], ours->n)
			       .median <= row->goal_value;
	case BENCH_GOAL_NONE:
		break;
	}
	return -1;
}

void bench_target_text(const struct bench_row *row, char *text, size_t size)
{
	switch (row->goal) {
	case BENCH_GOAL_FASTER:
		(void)snprintf(text, size, ">=%gx", row->goal_value);
		return;
	case BENCH_GOAL_TIME:
		(void)snprintf(text, size, "<=%gx time", row->goal_value);
		return;
	case BENCH_GOAL_VALUE:
		(void)snprintf(text, size, "<=%.0f", row->goal_value);
		return;
	case BENCH_GOAL_DELTA:
		(void)snprintf(text, size, "<=+%g", row->goal_value);
		return;
	case BENCH_GOAL_NONE:
		break;
	}
	(void)snprintf(text, size, "-");
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
	};

	return names[extra];
}

const char *bench_side_name(enum bench_side side)
{
	static const char *const names[BENCH_SIDES] = {
		[BENCH_KERNEL] = "kernel",
		[BENCH_SYSFIVE] = "sysfive",
		[BENCH_BOOST] = "boost",
	};

	return names[side];
}
