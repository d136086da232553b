/* SPDX-License-Identifier: MIT */
/*
 * sets.c - sysfive ls --semaphores: sets, each semaphore, waiters, adjustments
 */
#include "ls.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "sysfive/admin.h"

#define RIGHT  (CLI_COLUMN_RIGHT | CLI_COLUMN_NUMBER)
#define HIDDEN CLI_COLUMN_HIDDEN

/* --- sets ----------------------------------------------------------------- */

enum {
	S_KEY,
	S_SEMID,
	S_OWNER,
	S_PERMS,
	S_NSEMS,
	S_WAITERS,
	S_UNDOERS,
	S_CREATOR,
	S_OP_TIME,
	S_CHANGE_TIME,
	S_GROUP,
	S_CGROUP,
	S_UID,
	S_GID,
	S_CUID,
	S_CGID,
	S_HELD_BY,
	S_COLUMNS,
};
_Static_assert(S_COLUMNS <= LS_CELLS, "fits into a line");

static const struct cli_column set_column[S_COLUMNS] = {
	[S_KEY] = {"KEY", "the set's key, hexadecimal", 0},
	[S_SEMID] = {"SEMID", "its id", RIGHT},
	[S_OWNER] = {"OWNER", "user that owns it", 0},
	[S_PERMS] = {"PERMS", "permission bits, octal", CLI_COLUMN_RIGHT},
	[S_NSEMS] = {"NSEMS", "semaphores in it", RIGHT},
	[S_WAITERS] = {"WAITERS", "threads that wait at it", RIGHT},
	[S_UNDOERS] = {"UNDOERS", "processes that hold adjustments", RIGHT},
	[S_CREATOR] = {"CREATOR", "user that made it", HIDDEN},
	[S_OP_TIME] = {"OP_TIME", "when semop last succeeded", HIDDEN},
	[S_CHANGE_TIME] = {"CHANGE_TIME", "when it was made or changed",
			   HIDDEN},
	[S_GROUP] = {"GROUP", "group that owns it", HIDDEN},
	[S_CGROUP] = {"CGROUP", "group of its creator", HIDDEN},
	[S_UID] = {"UID", "the owner's number", RIGHT | HIDDEN},
	[S_GID] = {"GID", "the owning group's number", RIGHT | HIDDEN},
	[S_CUID] = {"CUID", "the creator's number", RIGHT | HIDDEN},
	[S_CGID] = {"CGID", "its group's number", RIGHT | HIDDEN},
	[S_HELD_BY] = {"HELD_BY", "stopped process that keeps it locked",
		       RIGHT | HIDDEN},
};

const struct cli_columns ls_set_columns = {"sets", set_column, S_COLUMNS};

static int add_set(struct cli_table *table, const struct s5_semset_info *info)
{
	struct ls_line line;

	memset(&line, 0, sizeof(line));
	ls_set_key(&line, S_KEY, info->key);
	ls_set_count(&line, S_SEMID, (uint64_t)info->semid);
	ls_set_user(&line, S_OWNER, info->uid);
	ls_set_mode(&line, S_PERMS, info->mode);
	ls_set_count(&line, S_NSEMS, info->nsems);
	ls_set_count(&line, S_WAITERS, info->waiters);
	ls_set_count(&line, S_UNDOERS, info->undoers);
	ls_set_user(&line, S_CREATOR, info->cuid);
	ls_set_time(&line, S_OP_TIME, info->otime);
	ls_set_time(&line, S_CHANGE_TIME, info->ctime);
	ls_set_group(&line, S_GROUP, info->gid);
	ls_set_group(&line, S_CGROUP, info->cgid);
	ls_set_count(&line, S_UID, info->uid);
	ls_set_count(&line, S_GID, info->gid);
	ls_set_count(&line, S_CUID, info->cuid);
	ls_set_count(&line, S_CGID, info->cgid);
	ls_set_pid(&line, S_HELD_BY, info->held_pid);
	return cli_table_add(table, line.cell);
}

/* The next set that is wanted: 1, 0 at the end, -errno. */
static int next_set(const struct ls_request *request, uint32_t *cursor,
		    struct s5_semset_info *ret_info)
{
	int found;

	while ((found = s5_semset_info_next(cursor, ret_info)) > 0)
		if (ls_is_wanted(request, ret_info->semid))
			break;
	if (found > 0 && (ret_info->flags & S5_INFO_UNLOCKED))
		ls_warn_held("semaphore set", ret_info->semid,
			     ret_info->held_pid);
	return found;
}

int ls_add_sets(struct cli_table *table, const struct ls_request *request)
{
	struct s5_semset_info info;
	uint32_t cursor = 0;
	int found;
	int err = 0;

	while (!err && (found = next_set(request, &cursor, &info)) != 0)
		err = found < 0 ? found : add_set(table, &info);
	return err;
}

/* --- each semaphore ------------------------------------------------------- */

enum {
	E_SEMID,
	E_SEM,
	E_VALUE,
	E_PID,
	E_NCOUNT,
	E_ZCOUNT,
	E_COLUMNS,
};

static const struct cli_column semaphore_column[E_COLUMNS] = {
	[E_SEMID] = {"SEMID", "the set's id", RIGHT},
	[E_SEM] = {"SEM", "number of the semaphore, from 0", RIGHT},
	[E_VALUE] = {"VALUE", "its value", RIGHT},
	[E_PID] = {"PID", "process that changed it last", RIGHT},
	[E_NCOUNT] = {"NCOUNT", "threads that wait for it to grow", RIGHT},
	[E_ZCOUNT] = {"ZCOUNT", "threads that wait for it to be 0", RIGHT},
};

const struct cli_columns ls_semaphore_columns = {"semaphores", semaphore_column,
						 E_COLUMNS};

static int add_semaphore(struct cli_table *table,
			 const struct s5_sem_info *info)
{
	struct ls_line line;

	memset(&line, 0, sizeof(line));
	ls_set_count(&line, E_SEMID, (uint64_t)info->semid);
	ls_set_count(&line, E_SEM, info->number);
	ls_set_count(&line, E_VALUE, info->value);
	ls_set_pid(&line, E_PID, info->pid);
	ls_set_count(&line, E_NCOUNT, info->ncnt);
	ls_set_count(&line, E_ZCOUNT, info->zcnt);
	return cli_table_add(table, line.cell);
}

/* Each look at a set that is kept locked waits a while for its lock. */
#define LOCKED_MAX 64u

static int add_semaphores_of(struct cli_table *table,
			     const struct s5_semset_info *set)
{
	struct s5_sem_info info;
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < set->nsems; i++) {
		err = s5_sem_info_get(set->semid, i, &info);
		if (err == -EINVAL)
			return 0; /* the set is gone */
		if (!err && (info.flags & S5_INFO_UNLOCKED) &&
		    i >= LOCKED_MAX) {
			cli_warn("semaphore set %d is kept locked, so only its "
				 "first %u semaphores are listed",
				 set->semid, i);
			return 0;
		}
		if (!err)
			err = add_semaphore(table, &info);
	}
	return err;
}

int ls_add_semaphores(struct cli_table *table, const struct ls_request *request)
{
	struct s5_semset_info info;
	uint32_t cursor = 0;
	int found;
	int err = 0;

	while (!err && (found = next_set(request, &cursor, &info)) != 0)
		err = found < 0 ? found : add_semaphores_of(table, &info);
	return err;
}

/* --- waiters -------------------------------------------------------------- */

enum {
	W_SEMID,
	W_SEM,
	W_PID,
	W_TID,
	W_COMMAND,
	W_SINCE,
	W_FOR,
	W_OP,
	W_NSOPS,
	W_SECONDS,
	W_STATE,
	W_USER,
	W_PIDNS,
	W_COLUMNS,
};

static const struct cli_column waiter_column[W_COLUMNS] = {
	[W_SEMID] = {"SEMID", "the set's id", RIGHT},
	[W_SEM] = {"SEM", "number of the semaphore, from 0", RIGHT},
	[W_PID] = {"PID", "process, as its pid namespace numbers it", RIGHT},
	[W_TID] = {"TID", "thread that waits", RIGHT},
	[W_COMMAND] = {"COMMAND", "name of the process", 0},
	[W_SINCE] = {"SINCE", "when it began to wait", 0},
	[W_FOR] = {"FOR", "what it waits for", 0},
	[W_OP] = {"OP", "the operation, 0 for zero", RIGHT | HIDDEN},
	[W_NSOPS] = {"NSOPS", "operations in its call", RIGHT | HIDDEN},
	[W_SECONDS] = {"SECONDS", "how long it has waited", RIGHT | HIDDEN},
	[W_STATE] = {"STATE", "of the thread: S asleep, T stopped", HIDDEN},
	[W_USER] = {"USER", "effective user when it joined", HIDDEN},
	[W_PIDNS] = {"PIDNS", "inode of its pid namespace", RIGHT | HIDDEN},
};

const struct cli_columns ls_set_waiter_columns = {"waiters", waiter_column,
						  W_COLUMNS};

/* "take 1, in 2 operations". */
static void set_wait(struct ls_line *line,
		     const struct s5_sem_waiter_info *info)
{
	char *text = line->text[W_FOR];
	size_t size = sizeof(line->text[W_FOR]);
	size_t n;

	if (info->op < 0)
		(void)snprintf(text, size, "take %" PRIu64,
			       (uint64_t) - (int64_t)info->op);
	else
		(void)snprintf(text, size, "zero");
	n = strlen(text);
	if (info->nsops > 1)
		(void)snprintf(text + n, size - n,
			       ", in %" PRIu32 " operations", info->nsops);
	line->cell[W_FOR] = text;
}

static int add_waiter(struct cli_table *table,
		      const struct s5_sem_waiter_info *info)
{
	struct ls_who who = {info->pid, info->tid, info->pid_ns};
	struct ls_line line;

	memset(&line, 0, sizeof(line));
	ls_set_count(&line, W_SEMID, (uint64_t)info->semid);
	ls_set_count(&line, W_SEM, info->number);
	ls_set_count(&line, W_PID, (uint32_t)info->pid);
	ls_set_count(&line, W_TID, (uint32_t)info->tid);
	ls_set_process(&line, W_COMMAND, W_STATE, &who);
	ls_set_since(&line, W_SINCE, W_SECONDS, info->since);
	set_wait(&line, info);
	ls_set_number(&line, W_OP, info->op);
	ls_set_count(&line, W_NSOPS, info->nsops);
	ls_set_user(&line, W_USER, info->euid);
	if (info->pid_ns)
		ls_set_count(&line, W_PIDNS, info->pid_ns);
	return cli_table_add(table, line.cell);
}

/* By set and semaphore, in the order in which they came. */
static int compare_waiters(const void *left, const void *right)
{
	const struct s5_sem_waiter_info *a = left;
	const struct s5_sem_waiter_info *b = right;

	if (a->semid != b->semid)
		return a->semid < b->semid ? -1 : 1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	if (a->order != b->order)
		return a->order < b->order ? -1 : 1;
	return 0;
}

int ls_add_set_waiters(struct cli_table *table,
		       const struct ls_request *request)
{
	struct s5_sem_waiter_info info;
	struct s5_sem_waiter_info *all;
	uint32_t cursor = 0;
	void *list = NULL;
	size_t room = 0;
	size_t n = 0;
	size_t i;
	int err = 0;

	while (!err && (err = s5_sem_waiter_next(&cursor, -1, &info)) > 0) {
		err = 0;
		if (!ls_is_wanted(request, info.semid))
			continue;
		err = ls_grow(&list, n, &room, sizeof(info));
		all = list;
		if (!err)
			all[n++] = info;
	}
	all = list;
	if (n)
		qsort(all, n, sizeof(*all), compare_waiters);
	for (i = 0; !err && i < n; i++)
		err = add_waiter(table, &all[i]);
	free(list);
	return err;
}

/* --- adjustments ---------------------------------------------------------- */

enum {
	U_SEMID,
	U_SEM,
	U_PID,
	U_COMMAND,
	U_ADJUST,
	U_PIDNS,
	U_COLUMNS,
};

static const struct cli_column undo_column[U_COLUMNS] = {
	[U_SEMID] = {"SEMID", "the set's id", RIGHT},
	[U_SEM] = {"SEM", "number of the semaphore, from 0", RIGHT},
	[U_PID] = {"PID", "process, as its pid namespace numbers it", RIGHT},
	[U_COMMAND] = {"COMMAND", "name of the process", 0},
	[U_ADJUST] = {"ADJUST", "what is added when it ends", RIGHT},
	[U_PIDNS] = {"PIDNS", "inode of its pid namespace", RIGHT | HIDDEN},
};

const struct cli_columns ls_undo_columns = {"undo", undo_column, U_COLUMNS};

static int add_adjustment(struct cli_table *table,
			  const struct s5_sem_undo_info *info)
{
	struct ls_who who = {info->pid, info->pid, info->pid_ns};
	struct ls_line line;

	memset(&line, 0, sizeof(line));
	ls_set_count(&line, U_SEMID, (uint64_t)info->semid);
	ls_set_count(&line, U_SEM, info->number);
	ls_set_pid(&line, U_PID, info->pid);
	ls_set_process(&line, U_COMMAND, -1, &who);
	ls_set_number(&line, U_ADJUST, info->adjust);
	if (info->pid_ns)
		ls_set_count(&line, U_PIDNS, info->pid_ns);
	return cli_table_add(table, line.cell);
}

/* By semaphore, then by process. */
static int compare_undo(const void *left, const void *right)
{
	const struct s5_sem_undo_info *a = left;
	const struct s5_sem_undo_info *b = right;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	if (a->pid_ns != b->pid_ns)
		return a->pid_ns < b->pid_ns ? -1 : 1;
	return (a->pid > b->pid) - (a->pid < b->pid);
}

static int add_undo_of(struct cli_table *table, int semid)
{
	struct s5_sem_undo_info info;
	struct s5_sem_undo_info *all;
	uint64_t cursor = 0;
	void *list = NULL;
	size_t room = 0;
	size_t n = 0;
	size_t i;
	int err = 0;

	while (!err && (err = s5_sem_undo_next(&cursor, semid, &info)) > 0) {
		err = ls_grow(&list, n, &room, sizeof(info));
		all = list;
		if (!err)
			all[n++] = info;
	}
	all = list;
	if (n)
		qsort(all, n, sizeof(*all), compare_undo);
	for (i = 0; !err && i < n; i++)
		err = add_adjustment(table, &all[i]);
	free(list);
	return err;
}

int ls_add_undo(struct cli_table *table, const struct ls_request *request)
{
	struct s5_semset_info info;
	uint32_t cursor = 0;
	int found;
	int err = 0;

	while (!err && (found = next_set(request, &cursor, &info)) != 0)
		err = found < 0 ? found : add_undo_of(table, info.semid);
	return err;
}
