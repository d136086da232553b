/* SPDX-License-Identifier: MIT */
/*
 * table.c - tables and JSON by libsmartcols
 *
 * A struct cli_table belongs to the function that opened it and is freed by
 * cli_table_close().
 */
#include "table.h"

#include <errno.h>
#include <libsmartcols.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static int column_flags(unsigned int flags)
{
	int scols_flags = 0;

	if (flags & CLI_COLUMN_RIGHT)
		scols_flags |= SCOLS_FL_RIGHT;
	if (flags & CLI_COLUMN_WRAP)
		scols_flags |= SCOLS_FL_WRAP;
	return scols_flags;
}

static int add_column(struct cli_table *table,
		      const struct cli_columns *columns, size_t index)
{
	const struct cli_column *c = &columns->column[index];
	struct libscols_column *column;

	if (table->nshown == CLI_COLUMNS_MAX)
		return -ENOMEM;
	column = scols_table_new_column(table->scols, c->name, 0,
					column_flags(c->flags));
	if (!column)
		return -ENOMEM;
	if (c->flags & CLI_COLUMN_NUMBER)
		(void)scols_column_set_json_type(column, SCOLS_JSON_NUMBER);
	table->shown[table->nshown++] = index;
	return 0;
}

static int add_default(struct cli_table *table,
		       const struct cli_columns *columns, bool hidden)
{
	size_t i;

	for (i = 0; i < columns->n; i++) {
		if (!hidden && (columns->column[i].flags & CLI_COLUMN_HIDDEN))
			continue;
		if (add_column(table, columns, i))
			return -ENOMEM;
	}
	return 0;
}

static int find_column(const struct cli_columns *columns, const char *name,
		       size_t length, size_t *ret_index)
{
	size_t i;

	for (i = 0; i < columns->n; i++) {
		const char *own = columns->column[i].name;

		if (strlen(own) == length &&
		    strncasecmp(own, name, length) == 0) {
			*ret_index = i;
			return 0;
		}
	}
	return -EINVAL;
}

static int add_wanted(struct cli_table *table,
		      const struct cli_columns *columns, const char *wanted,
		      const char **ret_bad)
{
	const char *name = wanted;
	size_t index;
	int err;

	for (;;) {
		size_t length = strcspn(name, ",");

		err = find_column(columns, name, length, &index);
		if (err) {
			*ret_bad = name;
			return err;
		}
		err = add_column(table, columns, index);
		if (err)
			return err;
		if (name[length] == '\0')
			return 0;
		name += length + 1;
	}
}

int cli_table_open(struct cli_table *table, const struct cli_columns *columns,
		   const char *wanted, bool json, const char **ret_bad)
{
	int err;

	memset(table, 0, sizeof(*table));
	table->scols = scols_new_table();
	if (!table->scols)
		return -ENOMEM;
	(void)scols_table_set_name(table->scols, columns->table);
	(void)scols_table_enable_json(table->scols, json);
	if (wanted)
		err = add_wanted(table, columns, wanted, ret_bad);
	else
		err = add_default(table, columns, json);
	if (err)
		scols_unref_table(table->scols);
	return err;
}

void cli_table_hide_headings(struct cli_table *table)
{
	(void)scols_table_enable_noheadings(table->scols, 1);
}

int cli_table_add(struct cli_table *table, const char *const *cells)
{
	struct libscols_line *line;
	size_t i;

	line = scols_table_new_line(table->scols, NULL);
	if (!line)
		return -ENOMEM;
	for (i = 0; i < table->nshown; i++) {
		const char *cell = cells[table->shown[i]];

		if (cell && scols_line_set_data(line, i, cell))
			return -ENOMEM;
	}
	return 0;
}

int cli_table_close(struct cli_table *table)
{
	int err = scols_print_table(table->scols);

	scols_unref_table(table->scols);
	if (err)
		return err < 0 ? err : -EIO;
	return 0;
}

void cli_table_help(const struct cli_columns *columns)
{
	size_t i;

	puts("\nColumns:");
	for (i = 0; i < columns->n; i++) {
		const struct cli_column *c = &columns->column[i];

		printf("  %-12s %s%s\n", c->name, c->help,
		       c->flags & CLI_COLUMN_HIDDEN ? " (only if named)" : "");
	}
}
