/* SPDX-License-Identifier: MIT */
/*
 * peer.c - other libraries, measured by programs of their own
 *
 * So that the command needs none of them.  A peer is called with the row's
 * name and the seconds to run, and prints the operations that it did and the
 * seconds that they took.
 */
#include "bench.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PEER_BOOST "sysfive-peer-boost"

bool bench_peer_path(enum bench_side side, char *ret_path, size_t size)
{
	static const char *const places[] = {"bench/", ""};
	char own[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	size_t i;
	char *slash;

	if (n < 0 || side != BENCH_BOOST)
		return false;
	own[n] = '\0';
	slash = strrchr(own, '/');
	if (!slash)
		return false;
	slash[1] = '\0';
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int length = snprintf(ret_path, size, "%s%s%s", own, places[i],
				      PEER_BOOST);

		if (length > 0 && (size_t)length < size &&
		    access(ret_path, X_OK) == 0)
			return true;
	}
	return false;
}

static pid_t start_peer(struct bench_run *run, char *path, int *ret_fd)
{
	posix_spawn_file_actions_t actions;
	char name[32];
	char seconds[32];
	char *argv[] = {path, name, seconds, NULL};
	int ends[2];
	pid_t child;

	(void)snprintf(name, sizeof(name), "%s", run->row->name);
	(void)snprintf(seconds, sizeof(seconds), "%.3f", run->seconds);
	if (pipe(ends))
		bench_fail(run, "pipe");
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	(void)posix_spawn_file_actions_addclose(&actions, ends[0]);
	errno = posix_spawn(&child, path, &actions, NULL, argv, environ);
	if (errno)
		bench_fail(run, "cannot start %s", path);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)close(ends[1]);
	*ret_fd = ends[0];
	return child;
}

void bench_peer(struct bench_run *run, uint64_t count,
		struct bench_result *ret_result)
{
	char path[PATH_MAX];
	char line[64];
	char *seconds_text;
	char *end;
	double seconds;
	uint64_t done;
	pid_t child;
	FILE *output;
	int fd;

	(void)count;
	if (!bench_peer_path(run->side, path, sizeof(path)))
		bench_wrong(run, "the peer's program is gone");
	child = start_peer(run, path, &fd);
	output = fdopen(fd, "r");
	if (!output || !fgets(line, sizeof(line), output))
		bench_wrong(run, "%s printed no result", path);
	(void)fclose(output);
	done = strtoull(line, &seconds_text, 10);
	seconds = strtod(seconds_text, &end);
	if (done == 0 || end == seconds_text || seconds <= 0)
		bench_wrong(run, "%s printed no result", path);
	bench_join(run, child);
	bench_result_time(ret_result, done, (uint64_t)(seconds * 1e9));
}
