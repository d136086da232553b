/* SPDX-License-Identifier: MIT */
/*
 * ls.h - what the files of sysfive ls share
 */
#ifndef S5_CLI_LS_H
#define S5_CLI_LS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table.h"

/* What is listed. */
enum ls_view {
	LS_QUEUES,
	LS_QUEUE_WAITERS,
	LS_SETS,
	LS_SEMAPHORES,
	LS_SET_WAITERS,
	LS_UNDO,
};

struct ls_request {
	const char *dir;
	const char *columns;
	enum ls_view view;
	bool json;
	bool no_headings;
	size_t n;
	int *id; /* the objects that are named; all if n is 0 */
};

/* The cells of one line; those that are not there are NULL. */
#define LS_CELLS 32
struct ls_line {
	const char *cell[LS_CELLS];
	char text[LS_CELLS][128];
};

/* lines.c: each sets the cell at that index. */
void ls_set_text(struct ls_line *line, int at, const char *text);
void ls_set_number(struct ls_line *line, int at, int64_t value);
void ls_set_count(struct ls_line *line, int at, uint64_t value);
/* Nothing for 0, nobody. */
void ls_set_pid(struct ls_line *line, int at, int32_t pid);
/* Nothing for 0, never. */
void ls_set_time(struct ls_line *line, int at, int64_t seconds);
void ls_set_key(struct ls_line *line, int at, int32_t key);
void ls_set_user(struct ls_line *line, int at, uint32_t uid);
void ls_set_group(struct ls_line *line, int at, uint32_t gid);
void ls_set_mode(struct ls_line *line, int at, uint32_t mode);

/* The inode of this process's pid namespace, or 0. */
uint64_t ls_own_pid_ns(void);
/* Somebody as its pid namespace numbers it. */
struct ls_who {
	int32_t pid;
	int32_t tid;
	uint64_t pid_ns;
};
/* The name of the process and the state of the thread, if it is in our pid
 * namespace; a negative index leaves one out. */
void ls_set_process(struct ls_line *line, int at_command, int at_state,
		    const struct ls_who *who);
/* When that was, and how many seconds ago; since is CLOCK_MONOTONIC, ns. */
void ls_set_since(struct ls_line *line, int at_since, int at_seconds,
		  uint64_t since);

/* Is that object named, or are all? */
bool ls_is_wanted(const struct ls_request *request, int id);

/* Opens a table for the request.  CLI_DONE, or another status after saying
 * what is wrong. */
int ls_open(struct cli_table *table, const struct cli_columns *columns,
	    const struct ls_request *request);

/* Room for one more of that size in an array of n.  0 or -ENOMEM. */
int ls_grow(void **list, size_t n, size_t *room, size_t size);

/* Warns of an object that somebody keeps locked. */
void ls_warn_held(const char *name, int id, int32_t pid);

/* The tables, and what adds their lines: 0 or -errno. */
extern const struct cli_columns ls_waiter_columns;
int ls_add_waiters(struct cli_table *table, const struct ls_request *request);
extern const struct cli_columns ls_set_columns;
int ls_add_sets(struct cli_table *table, const struct ls_request *request);
extern const struct cli_columns ls_semaphore_columns;
int ls_add_semaphores(struct cli_table *table,
		      const struct ls_request *request);
extern const struct cli_columns ls_set_waiter_columns;
int ls_add_set_waiters(struct cli_table *table,
		       const struct ls_request *request);
extern const struct cli_columns ls_undo_columns;
int ls_add_undo(struct cli_table *table, const struct ls_request *request);

#endif
