/* SPDX-License-Identifier: MIT */
/*
 * json.c - the same as JSON, with every round's value
 *
 * Objects are written member by member; a member knows from *first whether a
 * comma goes before it.
 */
#include "report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

static void put_string(const char *text)
{
	(void)putchar('"');
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20)
			printf("\\u%04x", c);
		else
			(void)putchar(c);
	}
	(void)putchar('"');
}

static void put_name(bool *first, const char *name)
{
	if (!*first)
		(void)putchar(',');
	*first = false;
	(void)putchar('\n');
	put_string(name);
	(void)putchar(':');
}

static void put_text(bool *first, const char *name, const char *value)
{
	put_name(first, name);
	put_string(value);
}

static void put_value(double value)
{
	if (isfinite(value))
		printf("%.9g", value);
	else
		(void)fputs("null", stdout);
}

static void put_number(bool *first, const char *name, double value)
{
	put_name(first, name);
	put_value(value);
}

static void put_series(bool *first, const struct bench_outcome *outcome,
		       enum bench_side side)
{
	const struct bench_series *series = &outcome->side[side];
	struct bench_summary s;
	bool inner = true;
	double ratio;
	unsigned i;

	s = bench_summarise(series->value, series->n);
	put_name(first, bench_side_name(side));
	(void)putchar('{');
	put_number(&inner, "median", s.median);
	put_number(&inner, "min", s.min);
	put_number(&inner, "q1", s.q1);
	put_number(&inner, "q3", s.q3);
	put_number(&inner, "max", s.max);
	if (side != BENCH_KERNEL && bench_speedup(outcome, side, &ratio))
		put_number(&inner, "ratio", ratio);
	for (i = 0; i < BENCH_EXTRAS; i++)
		if (series->has[i])
			put_number(&inner, bench_extra_name(i),
				   bench_summarise(series->extra[i], series->n)
					   .median);
	put_name(&inner, "rounds");
	for (i = 0; i < series->n; i++) {
		(void)putchar(i ? ',' : '[');
		put_value(series->value[i]);
	}
	(void)fputs("]}", stdout);
}

static void put_outcome(const struct bench_outcome *outcome)
{
	const struct bench_row *row = outcome->row;
	int meets = bench_meets(outcome);
	bool first = true;
	char target[64];
	unsigned side;

	bench_target_text(row, target, sizeof(target));
	(void)putchar('{');
	put_text(&first, "name", row->name);
	put_text(&first, "what", row->what);
	put_text(&first, "unit", row->unit);
	put_text(&first, "better", row->flags & BENCH_RATE ? "more" : "less");
	if (row->target[0].goal != BENCH_GOAL_NONE)
		put_text(&first, "target", target);
	if (meets >= 0) {
		put_name(&first, "met");
		(void)fputs(meets ? "true" : "false", stdout);
	}
	if (outcome->failed[0])
		put_text(&first, "failed", outcome->failed);
	for (side = 0; side < BENCH_SIDES; side++) {
		char name[32];

		if (outcome->side[side].present) {
			put_series(&first, outcome, side);
		} else if (outcome->side[side].skipped[0]) {
			(void)snprintf(name, sizeof(name), "%s_skipped",
				       bench_side_name(side));
			put_text(&first, name, outcome->side[side].skipped);
		}
	}
	(void)putchar('}');
}

static void put_machine(bool *first)
{
	struct bench_machine machine;
	char date[32] = "";
	time_t now = time(NULL);
	struct tm tm;

	bench_machine_read(&machine);
	if (gmtime_r(&now, &tm))
		(void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &tm);
	put_text(first, "date", date);
	put_text(first, "version", machine.version);
	put_text(first, "commit", machine.commit);
	put_text(first, "compiler", machine.compiler);
	put_text(first, "cpu", machine.cpu);
	put_number(first, "cpus", (double)machine.ncpus);
	put_text(first, "kernel", machine.kernel);
}

int bench_print_json(const struct bench_report *report)
{
	bool first = true;
	size_t i;

	(void)putchar('{');
	put_machine(&first);
	put_number(&first, "rounds", report->rounds);
	put_number(&first, "seconds", report->seconds);
	put_number(&first, "message_bytes", BENCH_TEXT);
	put_name(&first, "rows");
	(void)putchar('[');
	for (i = 0; i < report->n; i++) {
		if (i)
			(void)putchar(',');
		put_outcome(&report->outcome[i]);
	}
	(void)fputs("]}\n", stdout);
	return ferror(stdout) ? -EIO : 0;
}
