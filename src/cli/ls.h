/* SPDX-License-Identifier: MIT */
/*
 * ls.h - what the two files of sysfive ls share
 */
#ifndef S5_CLI_LS_H
#define S5_CLI_LS_H

#include <stdbool.h>
#include <stddef.h>

#include "table.h"

struct ls_request {
	const char *dir;
	const char *columns;
	bool json;
	bool no_headings;
	bool waiters;
	size_t n;
	int *id; /* the queues that are named; all if n is 0 */
};

/* Is that queue named, or are all? */
bool ls_is_wanted(const struct ls_request *request, int id);

/* Opens a table for the request.  CLI_DONE, or another status after saying
 * what is wrong. */
int ls_open(struct cli_table *table, const struct cli_columns *columns,
	    const struct ls_request *request);

extern const struct cli_columns ls_waiter_columns;

/* Adds a line for each waiter.  0 or -errno. */
int ls_add_waiters(struct cli_table *table, const struct ls_request *request);

#endif
