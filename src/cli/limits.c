/* SPDX-License-Identifier: MIT */
/*
 * limits.c - sysfive limits: show or set what a namespace allows
 *
 * The names are the kernel's, those of /proc/sys/kernel.  All assignments are
 * read before the first is made.
 */
#include "cli.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sysfive/admin.h"
#include "table.h"

#define WORDS_MAX 64

struct limit {
	const char *name;
	const char *unit;
	const char *help;
};

static const struct limit limits[] = {
	{"msgmax", "bytes", "size of one message"},
	{"msgmnb", "bytes", "bytes in a new queue (its msg_qbytes)"},
	{"msgmni", "queues", "message queues in the namespace"},
	{"semmsl", "semaphores", "semaphores in a set"},
	{"semmns", "semaphores", "semaphores in the namespace"},
	{"semopm", "operations", "operations in one semop"},
	{"semmni", "sets", "semaphore sets in the namespace"},
	{"shmmax", "bytes", "size of one segment"},
	{"shmall", "pages", "shared memory in the namespace"},
	{"shmmni", "segments", "segments in the namespace"},
};

enum { N_LIMITS = sizeof(limits) / sizeof(limits[0]) };

static const struct cli_column column[] = {
	{"NAME", "the limit, by the kernel's name", 0},
	{"VALUE", "what it is now", CLI_COLUMN_RIGHT | CLI_COLUMN_NUMBER},
	{"UNIT", "what it counts", 0},
	{"DESCRIPTION", "what it limits", CLI_COLUMN_WRAP},
};

enum { N_COLUMNS = sizeof(column) / sizeof(column[0]) };

static const struct cli_columns columns = {"limits", column, N_COLUMNS};

/* What the command line asks for. */
struct request {
	const char *dir;
	const char *columns;
	bool json;
	size_t nset;
	const struct limit *set[WORDS_MAX];
	uint64_t value[WORDS_MAX];
	size_t nshow;
	const struct limit *show[WORDS_MAX];
};

static const struct option options[] = {
	{"dir", required_argument, NULL, 'd'},
	{"json", no_argument, NULL, 'J'},
	{"columns", required_argument, NULL, 'o'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static int print_help(void)
{
	size_t i;

	puts("Usage: sysfive limits [OPTION]... [NAME[=VALUE]]...\n"
	     "\n"
	     "Shows the limits of a namespace, or sets those that have a\n"
	     "VALUE, which may end in K, M or G (powers of 1024).  Makes the\n"
	     "namespace if need be; root is not needed.\n"
	     "\n"
	     "Options:\n"
	     "  -d, --dir DIR       the namespace in DIR instead of\n"
	     "                      $SYSFIVE_DIR or the default\n"
	     "  -J, --json          print JSON\n"
	     "  -o, --columns LIST  show these columns, with commas between\n"
	     "  -h, --help          show this text\n"
	     "\n"
	     "Limits:");
	for (i = 0; i < N_LIMITS; i++)
		printf("  %-12s %s\n", limits[i].name, limits[i].help);
	cli_table_help(&columns);
	return cli_close_stdout(CLI_DONE);
}

static const struct limit *find_limit(const char *name, size_t length)
{
	size_t i;

	for (i = 0; i < N_LIMITS; i++)
		if (strlen(limits[i].name) == length &&
		    memcmp(limits[i].name, name, length) == 0)
			return &limits[i];
	return NULL;
}

/* Reads decimal digits and perhaps a K, M or G.  0 or -EINVAL or -ERANGE. */
static int parse_value(const char *text, uint64_t *ret_value)
{
	uint64_t value = 0;
	unsigned int shift = 0;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	for (; *text >= '0' && *text <= '9'; text++) {
		unsigned int digit = (unsigned int)(*text - '0');

		if (value > (UINT64_MAX - digit) / 10)
			return -ERANGE;
		value = value * 10 + digit;
	}
	if (*text == 'K' || *text == 'k')
		shift = 10;
	else if (*text == 'M')
		shift = 20;
	else if (*text == 'G')
		shift = 30;
	if (text[shift ? 1 : 0] != '\0')
		return -EINVAL;
	if (value > UINT64_MAX >> shift)
		return -ERANGE;
	*ret_value = value << shift;
	return 0;
}

static int parse_word(const char *word, struct request *request)
{
	size_t length = strcspn(word, "=");
	const struct limit *limit = find_limit(word, length);
	int err;

	if (!limit)
		return cli_usage("there is no limit '%.*s'", (int)length, word);
	if (word[length] == '\0') {
		request->show[request->nshow++] = limit;
		return CLI_DONE;
	}
	err = parse_value(word + length + 1, &request->value[request->nset]);
	if (err)
		return cli_usage("'%s' is not a number%s", word + length + 1,
				 err == -ERANGE ? " that can be stored" : "");
	request->set[request->nset++] = limit;
	return CLI_DONE;
}

/* CLI_DONE, an exit status, or -1 if the help text was asked for. */
static int parse(int argc, char **argv, struct request *request)
{
	int option;
	int err = CLI_DONE;

	while ((option = getopt_long(argc, argv, "d:Jo:h", options, NULL)) !=
	       -1) {
		switch (option) {
		case 'd':
			request->dir = optarg;
			break;
		case 'J':
			request->json = true;
			break;
		case 'o':
			request->columns = optarg;
			break;
		case 'h':
			return -1;
		default:
			return cli_usage(NULL);
		}
	}
	if (argc - optind > WORDS_MAX)
		return cli_usage("more than %d limits", WORDS_MAX);
	for (; !err && optind < argc; optind++)
		err = parse_word(argv[optind], request);
	if (!err && request->nset &&
	    (request->nshow || request->columns || request->json))
		return cli_usage("limits are either set or shown");
	return err;
}

static int set_limits(const struct request *request)
{
	size_t i;
	int err;

	for (i = 0; i < request->nset; i++) {
		err = s5_ns_limit_set(request->set[i]->name, request->value[i]);
		if (!err)
			continue;
		if (err == -ERANGE || err == -EINVAL)
			cli_error("cannot set %s to %" PRIu64
				  ": the value is out of range; see "
				  "sysfive-limits(1)",
				  request->set[i]->name, request->value[i]);
		else
			cli_error("cannot set %s to %" PRIu64 ": %s",
				  request->set[i]->name, request->value[i],
				  strerror(-err));
		return CLI_FAILED;
	}
	return CLI_DONE;
}

static int add_line(struct cli_table *table, const struct limit *limit)
{
	const char *cells[N_COLUMNS];
	char value[24];
	uint64_t number;
	int err;

	err = s5_ns_limit_get(limit->name, &number);
	if (err)
		return err;
	(void)snprintf(value, sizeof(value), "%" PRIu64, number);
	cells[0] = limit->name;
	cells[1] = value;
	cells[2] = limit->unit;
	cells[3] = limit->help;
	return cli_table_add(table, cells);
}

static int show_limits(const struct request *request)
{
	size_t n = request->nshow ? request->nshow : (size_t)N_LIMITS;
	struct cli_table table;
	const char *bad;
	size_t i;
	int err;

	err = cli_table_open(&table, &columns, request->columns, request->json,
			     &bad);
	if (err == -EINVAL)
		return cli_usage("there is no column '%.*s'",
				 (int)strcspn(bad, ","), bad);
	for (i = 0; !err && i < n; i++)
		err = add_line(&table,
			       request->nshow ? request->show[i] : &limits[i]);
	if (!err)
		err = cli_table_close(&table);
	if (!err)
		return cli_close_stdout(CLI_DONE);
	cli_error("cannot show the limits: %s", strerror(-err));
	return CLI_FAILED;
}

int cli_limits(int argc, char **argv)
{
	struct request request = {0};
	int err;

	err = parse(argc, argv, &request);
	if (err < 0)
		return print_help();
	if (!err)
		err = cli_ns_open(request.dir, true);
	if (err)
		return err;
	return request.nset ? set_limits(&request) : show_limits(&request);
}
