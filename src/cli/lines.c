/* SPDX-License-Identifier: MIT */
/*
 * lines.c - sysfive ls: the cells of a line
 *
 * A command's name is looked up in /proc, and only for threads of the own pid
 * namespace: another's numbers mean somebody else here.
 */
#include "ls.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli.h"

/* Of a command's name at most so much is shown. */
#define COMMAND_MAX 64

void ls_set_text(struct ls_line *line, int at, const char *text)
{
	(void)snprintf(line->text[at], sizeof(line->text[at]), "%s", text);
	line->cell[at] = line->text[at];
}

void ls_set_number(struct ls_line *line, int at, int64_t value)
{
	(void)snprintf(line->text[at], sizeof(line->text[at]), "%" PRId64,
		       value);
	line->cell[at] = line->text[at];
}

void ls_set_count(struct ls_line *line, int at, uint64_t value)
{
	(void)snprintf(line->text[at], sizeof(line->text[at]), "%" PRIu64,
		       value);
	line->cell[at] = line->text[at];
}

void ls_set_pid(struct ls_line *line, int at, int32_t pid)
{
	if (pid > 0)
		ls_set_number(line, at, pid);
}

void ls_set_time(struct ls_line *line, int at, int64_t seconds)
{
	cli_time_text(seconds, line->text[at]);
	line->cell[at] = line->text[at][0] ? line->text[at] : NULL;
}

void ls_set_key(struct ls_line *line, int at, int32_t key)
{
	cli_key_text(key, line->text[at]);
	line->cell[at] = line->text[at];
}

void ls_set_user(struct ls_line *line, int at, uint32_t uid)
{
	cli_user_text(uid, line->text[at]);
	line->cell[at] = line->text[at];
}

void ls_set_group(struct ls_line *line, int at, uint32_t gid)
{
	cli_group_text(gid, line->text[at]);
	line->cell[at] = line->text[at];
}

void ls_set_mode(struct ls_line *line, int at, uint32_t mode)
{
	(void)snprintf(line->text[at], sizeof(line->text[at]), "%03o",
		       mode & 0777u);
	line->cell[at] = line->text[at];
}

uint64_t ls_own_pid_ns(void)
{
	static uint64_t own;
	struct stat st;

	if (own == 0 && stat("/proc/self/ns/pid", &st) == 0)
		own = st.st_ino;
	return own;
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

static void set_state(struct ls_line *line, int at, const char *stat)
{
	/* After the name, which is in parentheses. */
	const char *bracket = strrchr(stat, ')');

	if (!bracket || bracket[1] != ' ' || bracket[2] < 'A' ||
	    bracket[2] > 'z')
		return;
	line->text[at][0] = bracket[2];
	line->text[at][1] = '\0';
	line->cell[at] = line->text[at];
}

void ls_set_process(struct ls_line *line, int at_command, int at_state,
		    const struct ls_who *who)
{
	uint64_t own = ls_own_pid_ns();
	char path[64];
	char text[512];

	if (own == 0 || who->pid_ns != own || who->pid <= 0)
		return;
	(void)snprintf(path, sizeof(path), "/proc/%d/comm", who->pid);
	if (at_command >= 0 && read_line(path, text, sizeof(text))) {
		cli_text_clean(text);
		text[COMMAND_MAX] = '\0';
		ls_set_text(line, at_command, text);
	}
	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", who->pid,
		       who->tid);
	if (at_state >= 0 && read_line(path, text, sizeof(text)))
		set_state(line, at_state, text);
}

void ls_set_since(struct ls_line *line, int at_since, int at_seconds,
		  uint64_t since)
{
	struct timespec mono;
	uint64_t now;
	uint64_t waited;

	(void)clock_gettime(CLOCK_MONOTONIC, &mono);
	now = (uint64_t)mono.tv_sec * 1000000000U + (uint64_t)mono.tv_nsec;
	if (since == 0 || since > now)
		return;
	waited = (now - since) / 1000000000U;
	ls_set_count(line, at_seconds, waited);
	ls_set_time(line, at_since, time(NULL) - (int64_t)waited);
}

int ls_grow(void **list, size_t n, size_t *room, size_t size)
{
	void *more;

	if (n < *room)
		return 0;
	more = reallocarray(*list, *room * 2 + 16, size);
	if (!more)
		return -ENOMEM;
	*list = more;
	*room = *room * 2 + 16;
	return 0;
}
