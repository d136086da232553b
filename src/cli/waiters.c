/* SPDX-License-Identifier: MIT */
/*
 * waiters.c - sysfive ls --waiters: who waits, since when and for what
 *
 * A command's name is looked up in /proc, and only for threads of the own pid
 * namespace: another's numbers mean somebody else here.
 */
#include "ls.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

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

/* The cells of one line; those that are not there are NULL. */
struct line {
	const char *cell[N_COLUMNS];
	char text[N_COLUMNS][128];
};

static void set_number(struct line *line, int at, uint64_t value)
{
	(void)snprintf(line->text[at], sizeof(line->text[at]), "%" PRIu64,
		       value);
	line->cell[at] = line->text[at];
}

static void set_text(struct line *line, int at, const char *text)
{
	(void)snprintf(line->text[at], sizeof(line->text[at]), "%s", text);
	line->cell[at] = line->text[at];
}

static uint64_t own_pid_ns(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : st.st_ino;
}

/* Reads the first line of a file in /proc.  False if there is none. */
static bool read_line(const char *path, char *ret_text, size_t size)
{
	FILE *file = fopen(path, "re");
	bool done = file && fgets(ret_text, (int)size, file);

	if (file)
		(void)fclose(file);
	if (done)
		ret_text[strcspn(ret_text, "\n")] = '\0';
	return done;
}

static void set_process(struct line *line, const struct s5_waiter_info *info)
{
	char path[64];
	char text[512];
	const char *bracket;

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", info->pid);
	if (read_line(path, text, sizeof(text))) {
		cli_text_clean(text);
		text[64] = '\0';
		set_text(line, W_COMMAND, text);
	}
	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", info->pid,
		       info->tid);
	if (read_line(path, text, sizeof(text))) {
		bracket = strrchr(text, ')');
		if (bracket && bracket[1] == ' ' && bracket[2] >= 'A' &&
		    bracket[2] <= 'z') {
			line->text[W_STATE][0] = bracket[2];
			line->cell[W_STATE] = line->text[W_STATE];
		}
	}
}

static void set_since(struct line *line, uint64_t since)
{
	struct timespec mono;
	uint64_t now;
	uint64_t waited;

	(void)clock_gettime(CLOCK_MONOTONIC, &mono);
	now = (uint64_t)mono.tv_sec * 1000000000U + (uint64_t)mono.tv_nsec;
	if (since == 0 || since > now)
		return;
	waited = (now - since) / 1000000000U;
	set_number(line, W_SECONDS, waited);
	cli_time_text(time(NULL) - (int64_t)waited, line->text[W_SINCE]);
	line->cell[W_SINCE] = line->text[W_SINCE];
}

/* "receive type 5, at most 100 bytes", and the parts of that. */
static void set_wait(struct line *line, const struct s5_waiter_info *info)
{
	char *text = line->text[W_FOR];
	size_t size = sizeof(line->text[W_FOR]);
	size_t used;

	switch (info->what) {
	case S5_WAIT_SEND:
		set_text(line, W_WAIT, "send");
		(void)snprintf(text, size, "send %" PRIu64 " bytes",
			       info->size);
		used = strlen(text);
		if (info->type > 0)
			(void)snprintf(text + used, size - used,
				       " of type %" PRId64, info->type);
		break;
	case S5_WAIT_ANY:
		set_text(line, W_WAIT, "any");
		(void)snprintf(text, size, "receive any");
		break;
	case S5_WAIT_TYPE:
		set_text(line, W_WAIT, "type");
		(void)snprintf(text, size, "receive type %" PRId64, info->type);
		break;
	case S5_WAIT_EXCEPT:
		set_text(line, W_WAIT, "except");
		(void)snprintf(text, size, "receive any but type %" PRId64,
			       info->type);
		break;
	case S5_WAIT_UPTO:
		set_text(line, W_WAIT, "upto");
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
		set_number(line, W_TYPE, (uint64_t)info->type);
	if (info->what == S5_WAIT_SEND || info->size != UINT64_MAX)
		set_number(line, W_BYTES, info->size);
}

static int add_waiter(struct cli_table *table,
		      const struct s5_waiter_info *info, uint64_t pid_ns)
{
	struct line line;

	memset(&line, 0, sizeof(line));
	set_number(&line, W_MSQID, (uint64_t)info->msqid);
	set_number(&line, W_PID, (uint32_t)info->pid);
	set_number(&line, W_TID, (uint32_t)info->tid);
	if (pid_ns != 0 && info->pid_ns == pid_ns && info->pid > 0)
		set_process(&line, info);
	set_since(&line, info->since);
	set_wait(&line, info);
	cli_user_text(info->euid, line.text[W_USER]);
	line.cell[W_USER] = line.text[W_USER];
	if (info->pid_ns)
		set_number(&line, W_PIDNS, info->pid_ns);
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

/* Room for one more in the array.  0 or -ENOMEM. */
static int grow(struct s5_waiter_info **list, size_t n, size_t *room)
{
	struct s5_waiter_info *more;

	if (n < *room)
		return 0;
	more = reallocarray(*list, *room * 2 + 16, sizeof(**list));
	if (!more)
		return -ENOMEM;
	*list = more;
	*room = *room * 2 + 16;
	return 0;
}

/* Reads all that are wanted into an array.  0 or -errno. */
static int read_waiters(const struct ls_request *request,
			struct s5_waiter_info **ret_list, size_t *ret_n)
{
	struct s5_waiter_info info;
	uint32_t cursor = 0;
	size_t room = 0;
	int found;

	while ((found = s5_msgq_waiter_next(&cursor, -1, &info)) > 0) {
		if (!ls_is_wanted(request, info.msqid))
			continue;
		if (grow(ret_list, *ret_n, &room))
			return -ENOMEM;
		(*ret_list)[(*ret_n)++] = info;
	}
	return found;
}

int ls_add_waiters(struct cli_table *table, const struct ls_request *request)
{
	struct s5_waiter_info *list = NULL;
	uint64_t pid_ns = own_pid_ns();
	size_t n = 0;
	size_t i;
	int err;

	err = read_waiters(request, &list, &n);
	if (n)
		qsort(list, n, sizeof(*list), compare);
	for (i = 0; !err && i < n; i++)
		err = add_waiter(table, &list[i], pid_ns);
	free(list);
	return err;
}
