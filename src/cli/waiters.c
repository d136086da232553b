/* SPDX-License-Identifier: MIT */
/*
 * waiters.c - sysfive ls --waiters: who waits, since when and for what
 */
#include "ls.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "sysfive/admin.h"

enum {
	W_MSQID,
	W_PID,
	W_TID,
	W_COMMAND,
	W_SINCE,
	W_FOR,
	W_WAIT,
	W_TYPE,
	W_BYTES,
	W_SECONDS,
	W_STATE,
	W_USER,
	W_PIDNS,
	N_COLUMNS,
};

#define RIGHT  (CLI_COLUMN_RIGHT | CLI_COLUMN_NUMBER)
#define HIDDEN CLI_COLUMN_HIDDEN

static const struct cli_column column[N_COLUMNS] = {
	[W_MSQID] = {"MSQID", "the queue's id", RIGHT},
	[W_PID] = {"PID", "process, as its pid namespace numbers it", RIGHT},
	[W_TID] = {"TID", "thread that waits", RIGHT},
	[W_COMMAND] = {"COMMAND", "name of the process", 0},
	[W_SINCE] = {"SINCE", "when it began to wait", 0},
	[W_FOR] = {"FOR", "what it waits for", 0},
	[W_WAIT] = {"WAIT", "send, any, type, except or upto", HIDDEN},
	[W_TYPE] = {"TYPE", "of its message; or what WAIT is about",
		    RIGHT | HIDDEN},
	[W_BYTES] = {"BYTES", "in its message; or the most it takes",
		     RIGHT | HIDDEN},
	[W_SECONDS] = {"SECONDS", "how long it has waited", RIGHT | HIDDEN},
	[W_STATE] = {"STATE", "of the thread: S asleep, T stopped", HIDDEN},
	[W_USER] = {"USER", "effective user when it joined", HIDDEN},
	[W_PIDNS] = {"PIDNS", "inode of its pid namespace", RIGHT | HIDDEN},
};

const struct cli_columns ls_waiter_columns = {"waiters", column, N_COLUMNS};

_Static_assert(N_COLUMNS <= LS_CELLS, "fits into a line");

/* "receive type 5, at most 100 bytes", and the parts of that. */
static void set_wait(struct ls_line *line, const struct s5_waiter_info *info)
{
	char *text = line->text[W_FOR];
	size_t size = sizeof(line->text[W_FOR]);
	size_t used;

	switch (info->what) {
	case S5_WAIT_SEND:
		ls_set_text(line, W_WAIT, "send");
		(void)snprintf(text, size, "send %" PRIu64 " bytes",
			       info->size);
		used = strlen(text);
		if (info->type > 0)
			(void)snprintf(text + used, size - used,
				       " of type %" PRId64, info->type);
		break;
	case S5_WAIT_ANY:
		ls_set_text(line, W_WAIT, "any");
		(void)snprintf(text, size, "receive any");
		break;
	case S5_WAIT_TYPE:
		ls_set_text(line, W_WAIT, "type");
		(void)snprintf(text, size, "receive type %" PRId64, info->type);
		break;
	case S5_WAIT_EXCEPT:
		ls_set_text(line, W_WAIT, "except");
		(void)snprintf(text, size, "receive any but type %" PRId64,
			       info->type);
		break;
	case S5_WAIT_UPTO:
		ls_set_text(line, W_WAIT, "upto");
		(void)snprintf(text, size, "receive types up to %" PRId64,
			       info->type);
		break;
	}
	used = strlen(text);
	if (info->what != S5_WAIT_SEND && info->size == UINT64_MAX)
		(void)snprintf(text + used, size - used, ", of any length");
	else if (info->what != S5_WAIT_SEND)
		(void)snprintf(text + used, size - used,
			       ", at most %" PRIu64 " bytes", info->size);
	line->cell[W_FOR] = text;
	if (info->what != S5_WAIT_ANY && info->type > 0)
		ls_set_count(line, W_TYPE, (uint64_t)info->type);
	if (info->what == S5_WAIT_SEND || info->size != UINT64_MAX)
		ls_set_count(line, W_BYTES, info->size);
}

static int add_waiter(struct cli_table *table,
		      const struct s5_waiter_info *info)
{
	struct ls_who who = {info->pid, info->tid, info->pid_ns};
	struct ls_line line;

	memset(&line, 0, sizeof(line));
	ls_set_count(&line, W_MSQID, (uint64_t)info->msqid);
	ls_set_count(&line, W_PID, (uint32_t)info->pid);
	ls_set_count(&line, W_TID, (uint32_t)info->tid);
	ls_set_process(&line, W_COMMAND, W_STATE, &who);
	ls_set_since(&line, W_SINCE, W_SECONDS, info->since);
	set_wait(&line, info);
	ls_set_user(&line, W_USER, info->euid);
	if (info->pid_ns)
		ls_set_count(&line, W_PIDNS, info->pid_ns);
	return cli_table_add(table, line.cell);
}

/* By queue; its senders first; in the order in which they came. */
static int compare(const void *left, const void *right)
{
	const struct s5_waiter_info *a = left;
	const struct s5_waiter_info *b = right;
	bool a_receives = a->what != S5_WAIT_SEND;
	bool b_receives = b->what != S5_WAIT_SEND;

	if (a->msqid != b->msqid)
		return a->msqid < b->msqid ? -1 : 1;
	if (a_receives != b_receives)
		return a_receives ? 1 : -1;
	if (a->order != b->order)
		return a->order < b->order ? -1 : 1;
	return 0;
}

/* Reads all that are wanted into an array.  0 or -errno. */
static int read_waiters(const struct ls_request *request,
			struct s5_waiter_info **ret_list, size_t *ret_n)
{
	struct s5_waiter_info info;
	void *list = NULL;
	uint32_t cursor = 0;
	size_t room = 0;
	int found;

	while ((found = s5_msgq_waiter_next(&cursor, -1, &info)) > 0) {
		if (!ls_is_wanted(request, info.msqid))
			continue;
		if (ls_grow(&list, *ret_n, &room, sizeof(info)))
			return -ENOMEM;
		*ret_list = list;
		(*ret_list)[(*ret_n)++] = info;
	}
	return found;
}

int ls_add_waiters(struct cli_table *table, const struct ls_request *request)
{
	struct s5_waiter_info *list = NULL;
	size_t n = 0;
	size_t i;
	int err;

	err = read_waiters(request, &list, &n);
	if (n)
		qsort(list, n, sizeof(*list), compare);
	for (i = 0; !err && i < n; i++)
		err = add_waiter(table, &list[i]);
	free(list);
	return err;
}
