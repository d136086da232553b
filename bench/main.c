/* SPDX-License-Identifier: MIT */
/*
 * main.c - sysfive bench: the options, the rows, the rounds
 *
 * In each round every side of a row is measured once, one after the other; the
 * rounds follow a warm-up, which also finds out how many operations fit.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "report.h"
#include "supervise.h"

#define ROUNDS_DEFAULT	5
#define SECONDS_DEFAULT 0.3
#define SECONDS_MAX	60
/* Rows that run by time warm up for this part of it. */
#define WARM_UP 0.25

struct request {
	struct bench_report report;
	const char *columns;
	bool json;
	bool list;
	bool help;
	int worker_fd;
};

static const struct option options[] = {
	{"rounds", required_argument, NULL, 'r'},
	{"seconds", required_argument, NULL, 's'},
	{"json", no_argument, NULL, 'J'},
	{"columns", required_argument, NULL, 'o'},
	{"list", no_argument, NULL, 'l'},
	{"help", no_argument, NULL, 'h'},
	{"worker", required_argument, NULL, 'W'}, /* for our own use */
	{NULL, 0, NULL, 0},
};

static int print_help(void)
{
	printf("Usage: sysfive bench [OPTION]... [ROW]...\n"
	       "\n"
	       "Measures message queues and semaphores in the kernel and "
	       "in\n"
	       "sysfive by turns, and shows medians, spread and ratios.\n"
	       "\n"
	       "Options:\n"
	       "  -r, --rounds N      rounds after the warm-up (%d; 1 to %d)\n"
	       "  -s, --seconds S     aim of one measurement (%g)\n"
	       "  -J, --json          print JSON, with every round's value\n"
	       "  -o, --columns LIST  show these columns, with commas between\n"
	       "  -l, --list          list the rows and their targets\n"
	       "  -h, --help          show this text\n",
	       ROUNDS_DEFAULT, BENCH_ROUNDS_MAX, SECONDS_DEFAULT);
	cli_table_help(&bench_columns);
	puts("\nExit status: 0 done, 1 if a row could not be measured, 2 "
	     "wrong\n"
	     "usage. A missed target does not count as failure.");
	return cli_close_stdout(CLI_DONE);
}

static int print_list(bool json)
{
	static const struct cli_column column[] = {
		{"ROW", "", 0},
		{"UNIT", "", 0},
		{"TARGET", "", 0},
		{"WHAT", "", 0},
	};
	static const struct cli_columns columns = {"rows", column, 4};
	struct cli_table table;
	const char *bad;
	size_t i;
	int err;

	err = cli_table_open(&table, &columns, NULL, json, &bad);
	for (i = 0; !err && i < bench_nrows; i++) {
		const struct bench_row *row = &bench_rows[i];
		char target[64];
		char what[128];
		const char *cells[] = {row->name, row->unit, target, what};

		bench_target_text(row, target, sizeof(target));
		(void)snprintf(what, sizeof(what), "%s%s", row->what,
			       row->flags & BENCH_EXTRA_ROW ? " (only if named)"
							    : "");
		err = cli_table_add(&table, cells);
	}
	if (!err)
		err = cli_table_close(&table);
	if (!err)
		return cli_close_stdout(CLI_DONE);
	cli_error("cannot list the rows: %s", strerror(-err));
	return CLI_FAILED;
}

static int parse_number(const char *text, double min, double max,
			double *ret_value)
{
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (end == text || *end || errno || !(value >= min && value <= max))
		return cli_usage("'%s' is not a number from %g to %g", text,
				 min, max);
	*ret_value = value;
	return CLI_DONE;
}

static int parse_option(int option, struct request *request)
{
	double number = 0;
	int err = CLI_DONE;

	switch (option) {
	case 'r':
		err = parse_number(optarg, 1, BENCH_ROUNDS_MAX, &number);
		if (!err)
			request->report.rounds = (int)number;
		break;
	case 's':
		err = parse_number(optarg, 0.01, SECONDS_MAX,
				   &request->report.seconds);
		break;
	case 'W':
		err = parse_number(optarg, 0, INT_MAX, &number);
		if (!err)
			request->worker_fd = (int)number;
		break;
	case 'J':
		request->json = true;
		break;
	case 'o':
		request->columns = optarg;
		break;
	case 'l':
		request->list = true;
		break;
	case 'h':
		request->help = true;
		break;
	default:
		return cli_usage(NULL);
	}
	return err;
}

static const struct bench_row *find_row(const char *name)
{
	size_t i;

	for (i = 0; i < bench_nrows; i++)
		if (strcmp(bench_rows[i].name, name) == 0)
			return &bench_rows[i];
	return NULL;
}

/* Takes the rows that are named, or all that need not be named. */
static int choose_rows(char **names, int n, struct bench_report *report)
{
	size_t i;

	report->outcome =
		calloc((size_t)n + bench_nrows, sizeof(*report->outcome));
	if (!report->outcome) {
		cli_error("out of memory");
		return CLI_FAILED;
	}
	for (i = 0; i < (size_t)n; i++) {
		const struct bench_row *row = find_row(names[i]);

		if (!row)
			return cli_usage("there is no row '%s'; --list shows "
					 "them",
					 names[i]);
		report->outcome[report->n++].row = row;
	}
	for (i = 0; n == 0 && i < bench_nrows; i++)
		if (!(bench_rows[i].flags & BENCH_EXTRA_ROW))
			report->outcome[report->n++].row = &bench_rows[i];
	return CLI_DONE;
}

static int check_columns(const char *wanted)
{
	struct cli_table table;
	const char *bad;
	int err;

	err = cli_table_open(&table, &bench_columns, wanted, false, &bad);
	if (err == -EINVAL)
		return cli_usage("there is no column '%.*s'",
				 (int)strcspn(bad, ","), bad);
	if (!err)
		(void)cli_table_close(&table);
	return CLI_DONE;
}

static void add_result(struct bench_series *series,
		       const struct bench_result *result)
{
	size_t extra;

	series->value[series->n] = result->value;
	for (extra = 0; extra < BENCH_EXTRAS; extra++) {
		series->has[extra] = result->has[extra];
		series->extra[extra][series->n] = result->extra[extra];
	}
	series->n++;
}

/* Is the side to be measured for this row? */
static bool is_wanted(const struct bench_row *row, enum bench_side side)
{
	char path[4096];

	if (side == BENCH_KERNEL)
		return !(row->flags & BENCH_ALONE);
	if (side == BENCH_SYSFIVE)
		return true;
	if (side == BENCH_GLIBC)
		return row->flags & BENCH_GLIBC_TOO;
	return (row->flags & BENCH_PEERS) &&
	       bench_peer_path(side, path, sizeof(path));
}

/* Notes a failure in the outcome, unless it is a signal's doing. */
static int check(int err, enum bench_side side,
		 const struct bench_result *result,
		 struct bench_outcome *outcome)
{
	if (err && err != -EINTR)
		(void)snprintf(outcome->failed, sizeof(outcome->failed),
			       "%s: %s", bench_side_name(side),
			       err == -EIO ? result->why : strerror(-err));
	return err;
}

static int warm_up(struct bench_outcome *outcome, double seconds,
		   uint64_t *ret_counts)
{
	const struct bench_row *row = outcome->row;
	struct bench_result result;
	unsigned side;
	int err;

	if (row->flags & BENCH_BY_TIME)
		seconds *= WARM_UP;
	for (side = 0; side < BENCH_SIDES; side++) {
		struct bench_series *series = &outcome->side[side];

		if (!is_wanted(row, side))
			continue;
		err = bench_measure(row, side, 0, seconds, &result);
		if (check(err, side, &result, outcome))
			return err;
		series->present = !result.skipped;
		if (result.skipped)
			(void)snprintf(series->skipped, sizeof(series->skipped),
				       "%s", result.why);
		ret_counts[side] = result.count;
	}
	return 0;
}

static void show_progress(const struct bench_row *row, int round, int rounds)
{
	if (isatty(STDERR_FILENO))
		(void)fprintf(stderr, "\r%-16s %d/%d ", row->name, round,
			      rounds);
}

static int measure_row(struct bench_outcome *outcome,
		       const struct bench_report *report)
{
	uint64_t counts[BENCH_SIDES] = {0};
	struct bench_result result;
	int round;
	unsigned side;
	int err;

	show_progress(outcome->row, 0, report->rounds);
	err = warm_up(outcome, report->seconds, counts);
	for (round = 1; !err && round <= report->rounds; round++) {
		show_progress(outcome->row, round, report->rounds);
		for (side = 0; !err && side < BENCH_SIDES; side++) {
			struct bench_series *series = &outcome->side[side];

			if (!series->present)
				continue;
			err = bench_measure(outcome->row, side, counts[side],
					    report->seconds, &result);
			if (!check(err, side, &result, outcome))
				add_result(series, &result);
		}
	}
	/* What was not measured at least once has no median. */
	for (side = 0; side < BENCH_SIDES; side++)
		if (outcome->side[side].n == 0)
			outcome->side[side].present = false;
	return err;
}

static int measure_all(struct bench_report *report)
{
	int status = CLI_DONE;
	size_t i;
	int err;

	err = bench_supervise_open();
	if (err) {
		cli_error("cannot prepare: %s", strerror(-err));
		return CLI_FAILED;
	}
	for (i = 0; i < report->n; i++) {
		struct bench_outcome *outcome = &report->outcome[i];

		err = measure_row(outcome, report);
		if (isatty(STDERR_FILENO))
			(void)fputs("\r\033[K", stderr);
		if (err == -EINTR) {
			bench_die_of_signal();
			return CLI_FAILED;
		}
		if (err) {
			cli_error("row %s could not be measured: %s",
				  outcome->row->name, outcome->failed);
			status = CLI_FAILED;
		}
	}
	bench_supervise_close();
	return status;
}

int cli_bench(int argc, char **argv)
{
	struct request request = {
		.report = {.rounds = ROUNDS_DEFAULT,
			   .seconds = SECONDS_DEFAULT},
		.worker_fd = -1,
	};
	int status = CLI_DONE;
	int option;
	int err;

	while (!status && (option = getopt_long(argc, argv, "r:s:Jo:lh",
						options, NULL)) != -1)
		status = parse_option(option, &request);
	if (status)
		return status;
	if (request.worker_fd >= 0)
		return bench_worker(request.worker_fd);
	if (request.help)
		return print_help();
	if (request.list)
		return print_list(request.json);
	if (request.columns)
		status = check_columns(request.columns);
	if (!status)
		status = choose_rows(argv + optind, argc - optind,
				     &request.report);
	if (status) {
		free(request.report.outcome);
		return status;
	}
	status = measure_all(&request.report);
	err = request.json
		      ? bench_print_json(&request.report)
		      : bench_print_table(&request.report, request.columns);
	if (err) {
		cli_error("cannot show the results: %s", strerror(-err));
		status = CLI_FAILED;
	}
	free(request.report.outcome);
	return cli_close_stdout(status);
}
