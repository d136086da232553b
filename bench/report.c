/* SPDX-License-Identifier: MIT */
/*
 * report.c - the table
 *
 * One line a row: medians, spread, ratio, target, and what a row measures
 * beside its figure in words.
 */
#include "report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bench_vcs.h"

static const struct cli_column column[] = {
	{"ROW", "name of the benchmark", 0},
	{"UNIT", "unit of KERNEL and SYSFIVE", 0},
	{"KERNEL", "the kernel's figure, median of the rounds",
	 CLI_COLUMN_RIGHT},
	{"K-RANGE", "smallest and largest of the rounds", CLI_COLUMN_RIGHT},
	{"SYSFIVE", "the same of sysfive", CLI_COLUMN_RIGHT},
	{"S-RANGE", "smallest and largest of the rounds", CLI_COLUMN_RIGHT},
	{"RATIO", "how many times the kernel's speed; median by round",
	 CLI_COLUMN_RIGHT},
	{"TARGET", "what sysfive should reach", CLI_COLUMN_RIGHT},
	{"MET", "does this run reach it", 0},
	{"NOTES", "latencies, switches, peers", CLI_COLUMN_WRAP},
	{"WHAT", "what the benchmark does", CLI_COLUMN_HIDDEN},
};

const struct cli_columns bench_columns = {
	"rows",
	column,
	sizeof(column) / sizeof(column[0]),
};

enum cell {
	ROW,
	UNIT,
	KERNEL,
	KERNEL_RANGE,
	SYSFIVE,
	SYSFIVE_RANGE,
	RATIO,
	TARGET,
	MET,
	NOTES,
	WHAT,
	CELLS,
};

#define CELL_SIZE 256

void bench_machine_read(struct bench_machine *ret_machine)
{
	struct utsname names;
	char line[256];
	FILE *file = fopen("/proc/cpuinfo", "re");

	(void)uname(&names);
	(void)snprintf(ret_machine->cpu, sizeof(ret_machine->cpu), "%s",
		       names.machine);
	while (file && fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':');

		if (strncmp(line, "model name", 10) != 0 || !colon)
			continue;
		line[strcspn(line, "\n")] = '\0';
		(void)snprintf(ret_machine->cpu, sizeof(ret_machine->cpu), "%s",
			       colon + 1 + strspn(colon + 1, " "));
		break;
	}
	if (file)
		(void)fclose(file);
	ret_machine->ncpus = sysconf(_SC_NPROCESSORS_ONLN);
	(void)snprintf(ret_machine->kernel, sizeof(ret_machine->kernel),
		       "%s %s", names.sysname, names.release);
#if defined(__clang__)
	ret_machine->compiler = "clang " __clang_version__;
#else
	ret_machine->compiler = "gcc " __VERSION__;
#endif
	ret_machine->version = S5_VERSION;
	ret_machine->commit = BENCH_COMMIT;
}

static void print_number(char *text, size_t size, double value)
{
	int digits = value >= 100 ? 0 : value >= 10 ? 1 : value >= 0.1 ? 2 : 4;

	(void)snprintf(text, size, "%.*f", digits, value);
}

static void print_series(const struct bench_series *series, char *figure,
			 char *range)
{
	struct bench_summary s;
	char low[32];
	char high[32];

	(void)snprintf(figure, CELL_SIZE, "-");
	(void)snprintf(range, CELL_SIZE, "-");
	if (!series->present)
		return;
	s = bench_summarise(series->value, series->n);
	print_number(figure, CELL_SIZE, s.median);
	print_number(low, sizeof(low), s.min);
	print_number(high, sizeof(high), s.max);
	(void)snprintf(range, CELL_SIZE, "%s-%s", low, high);
}

/* Adds to a list of notes. */
__attribute__((format(printf, 2, 3))) static void
add_note(char *notes, const char *format, ...)
{
	size_t n = strlen(notes);
	va_list args;

	if (n)
		n += (size_t)snprintf(notes + n, CELL_SIZE - n, "; ");
	if (n >= CELL_SIZE)
		return;
	va_start(args, format);
	(void)vsnprintf(notes + n, CELL_SIZE - n, format, args);
	va_end(args);
}

static double extra_of(const struct bench_series *series,
		       enum bench_extra extra)
{
	return bench_summarise(series->extra[extra], series->n).median;
}

/* A figure of both sides, the kernel's first. */
static void note_both(char *notes, const struct bench_outcome *outcome,
		      enum bench_extra extra, const char *name,
		      const char *unit)
{
	const struct bench_series *kernel = &outcome->side[BENCH_KERNEL];
	const struct bench_series *ours = &outcome->side[BENCH_SYSFIVE];
	char k[32] = "-";
	char s[32] = "-";

	if (kernel->present && kernel->has[extra])
		print_number(k, sizeof(k), extra_of(kernel, extra));
	if (ours->present && ours->has[extra])
		print_number(s, sizeof(s), extra_of(ours, extra));
	if (k[0] != '-' || s[0] != '-')
		add_note(notes, "%s %s / %s%s", name, k, s, unit);
}

static void note_flag(char *notes, const struct bench_series *series,
		      enum bench_extra extra, const char *yes, const char *no)
{
	size_t i;
	bool all = true;

	if (!series->present || !series->has[extra])
		return;
	for (i = 0; i < series->n; i++)
		all = all && series->extra[extra][i] > 0;
	add_note(notes, "%s", all ? yes : no);
}

static void note_peer(char *notes, const struct bench_outcome *outcome,
		      enum bench_side side, const char *name)
{
	const struct bench_series *peer = &outcome->side[side];
	struct bench_summary s;
	double ratio;

	if (!peer->present)
		return;
	s = bench_summarise(peer->value, peer->n);
	add_note(notes, "%s %.4g", name, s.median);
	if (bench_speedup(outcome, side, &ratio))
		add_note(notes, "%s's ratio %.1fx", name, ratio);
}

/* Targets other than the ratio to the kernel. */
static void note_targets(char *notes, const struct bench_outcome *outcome)
{
	double value;

	if (bench_measured(outcome, BENCH_GOAL_PEER, &value))
		add_note(notes, "%.2fx glibc's time", value);
	if (bench_measured(outcome, BENCH_GOAL_SYSTEM, &value))
		add_note(notes, "%.2fx system time", value);
	if (bench_measured(outcome, BENCH_GOAL_LINEAR, &value))
		add_note(notes, "%.2fx that of 10", value);
}

/* How the time for a deep queue compares with that for ten messages. */
static void note_depth(char *notes, const struct bench_report *report,
		       const struct bench_outcome *outcome)
{
	const struct bench_series *deep = &outcome->side[BENCH_SYSFIVE];
	const struct bench_series *flat;
	size_t i;

	if (outcome->row->run != bench_run_deep || !deep->present)
		return;
	for (i = 0; i < report->n; i++) {
		flat = &report->outcome[i].side[BENCH_SYSFIVE];
		if (strcmp(report->outcome[i].row->name, "deep-10") != 0 ||
		    &report->outcome[i] == outcome || !flat->present)
			continue;
		add_note(notes, "%.2f times the time at depth 10",
			 bench_summarise(deep->value, deep->n).median /
				 bench_summarise(flat->value, flat->n).median);
		return;
	}
}

static void fill_notes(char *notes, const struct bench_report *report,
		       const struct bench_outcome *outcome)
{
	const struct bench_series *ours = &outcome->side[BENCH_SYSFIVE];
	unsigned side;

	if (outcome->failed[0])
		add_note(notes, "FAILED: %s", outcome->failed);
	for (side = 0; side < BENCH_SIDES; side++)
		if (outcome->side[side].skipped[0])
			add_note(notes, "%s: %s", bench_side_name(side),
				 outcome->side[side].skipped);
	note_flag(notes, ours, BENCH_QUIET, "no system call",
		  "MAKES SYSTEM CALLS");
	note_peer(notes, outcome, BENCH_BOOST, "Boost");
	note_peer(notes, outcome, BENCH_GLIBC, "glibc");
	note_targets(notes, outcome);
	note_depth(notes, report, outcome);
	note_both(notes, outcome, BENCH_P50_US, "p50", " us");
	note_both(notes, outcome, BENCH_P99_US, "p99", " us");
	note_both(notes, outcome, BENCH_SWITCHES, "switches/1000", "");
	note_both(notes, outcome, BENCH_CPU, "CPUs", "");
	note_both(notes, outcome, BENCH_SYSTEM, "system time", " CPUs");
	note_both(notes, outcome, BENCH_SYSTEM_US, "by operation", " us");
	note_both(notes, outcome, BENCH_OF_10, "with 10", "");
	note_both(notes, outcome, BENCH_OF_100, "with 100", "");
	if (ours->present && ours->has[BENCH_BASE])
		add_note(notes, "without it %.3f ms",
			 extra_of(ours, BENCH_BASE));
	note_flag(notes, ours, BENCH_UNTOUCHED, "shared memory untouched",
		  "SHARED MEMORY TOUCHED");
}

static void fill_ratio(char *text, const struct bench_outcome *outcome)
{
	const struct bench_series *ours = &outcome->side[BENCH_SYSFIVE];
	double ratio;

	if (outcome->row->target[0].goal == BENCH_GOAL_DELTA && ours->present)
		(void)snprintf(text, CELL_SIZE, "%+.3f",
			       extra_of(ours, BENCH_DELTA));
	else if (bench_speedup(outcome, BENCH_SYSFIVE, &ratio))
		(void)snprintf(text, CELL_SIZE, "%.*fx", ratio < 10 ? 2 : 1,
			       ratio);
	else
		(void)snprintf(text, CELL_SIZE, "-");
}

static int add_outcome(struct cli_table *table,
		       const struct bench_report *report,
		       const struct bench_outcome *outcome)
{
	char text[CELLS][CELL_SIZE] = {{0}};
	const char *cells[CELLS];
	const struct bench_row *row = outcome->row;
	int meets = bench_meets(outcome);
	size_t i;

	(void)snprintf(text[ROW], CELL_SIZE, "%s", row->name);
	(void)snprintf(text[UNIT], CELL_SIZE, "%s", row->unit);
	(void)snprintf(text[WHAT], CELL_SIZE, "%s", row->what);
	print_series(&outcome->side[BENCH_KERNEL], text[KERNEL],
		     text[KERNEL_RANGE]);
	print_series(&outcome->side[BENCH_SYSFIVE], text[SYSFIVE],
		     text[SYSFIVE_RANGE]);
	fill_ratio(text[RATIO], outcome);
	bench_target_text(row, text[TARGET], CELL_SIZE);
	(void)snprintf(text[MET], CELL_SIZE, "%s",
		       meets < 0 ? "-"
		       : meets	 ? "yes"
				 : "no");
	fill_notes(text[NOTES], report, outcome);
	for (i = 0; i < CELLS; i++)
		cells[i] = text[i];
	return cli_table_add(table, cells);
}

int bench_print_table(const struct bench_report *report, const char *wanted)
{
	struct bench_machine machine;
	struct cli_table table;
	const char *bad;
	size_t i;
	int err;

	bench_machine_read(&machine);
	printf("sysfive %s (%s), %s\n%s, %ld CPUs, %s\n"
	       "%d rounds of %g s, kernel and sysfive by turns; messages of "
	       "%d bytes\n\n",
	       machine.version, machine.commit, machine.compiler, machine.cpu,
	       machine.ncpus, machine.kernel, report->rounds, report->seconds,
	       BENCH_TEXT);
	(void)fflush(stdout);
	err = cli_table_open(&table, &bench_columns, wanted, false, &bad);
	for (i = 0; !err && i < report->n; i++)
		err = add_outcome(&table, report, &report->outcome[i]);
	return err ? err : cli_table_close(&table);
}
