/* SPDX-License-Identifier: MIT */
/*
 * table.h - the one printer of tables
 *
 * A verb describes its columns once; the description drives the output,
 * --columns, the JSON form and the help text.
 */
#ifndef S5_CLI_TABLE_H
#define S5_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#define CLI_COLUMNS_MAX 32

enum cli_column_flags {
	CLI_COLUMN_RIGHT = 1,  /* aligned to the right */
	CLI_COLUMN_NUMBER = 2, /* a number in JSON */
	CLI_COLUMN_WRAP = 4,   /* long text continues on the next line */
	CLI_COLUMN_HIDDEN = 8, /* shown only if named, or in JSON */
};

struct cli_column {
	const char *name;
	const char *help;
	unsigned int flags;
};

/* All columns of a kind of table. */
struct cli_columns {
	const char *table; /* the name of the array in JSON */
	const struct cli_column *column;
	size_t n; /* at most CLI_COLUMNS_MAX */
};

struct libscols_table;

struct cli_table {
	struct libscols_table *scols;
	size_t nshown;
	size_t shown[CLI_COLUMNS_MAX]; /* indexes into the description */
};

/*
 * Makes a table.  wanted is a list of column names with commas between, or NULL
 * for the default, which in JSON is all.  Returns 0, -EINVAL if wanted names an
 * unknown column (ret_bad says where it starts), or -ENOMEM.
 */
int cli_table_open(struct cli_table *table, const struct cli_columns *columns,
		   const char *wanted, bool json, const char **ret_bad);

/* Leaves the line with the columns' names out. */
void cli_table_hide_headings(struct cli_table *table);

/* Adds a line of one cell for each described column; NULL is an empty one, in
 * JSON null.  0 or -ENOMEM. */
int cli_table_add(struct cli_table *table, const char *const *cells);

/* Prints and frees the table; returns 0 or -errno. */
int cli_table_close(struct cli_table *table);

/* Lists the columns for a help text. */
void cli_table_help(const struct cli_columns *columns);

#endif
