/* SPDX-License-Identifier: MIT */
/*
 * guard.c - runs a test script that prints TAP itself, with the same guard
 * around it as a C case: a fresh SYSFIVE_DIR, a deadline, no process and no
 * kernel object left behind.
 *
 *   guard [-t SECONDS] SCRIPT [ARGS...]
 */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFAULT_SECONDS 60

static void exec_script(void *arg)
{
	char **argv = arg;

	execvp(argv[0], argv);
	perror(argv[0]);
	_exit(127);
}

int main(int argc, char **argv)
{
	int seconds = DEFAULT_SECONDS, first = 1;
	struct run_result r;

	if (argc > 2 && strcmp(argv[1], "-t") == 0) {
		seconds = atoi(argv[2]);
		first = 3;
	}
	if (first >= argc || seconds <= 0) {
		fprintf(stderr, "usage: %s [-t SECONDS] SCRIPT [ARGS...]\n",
			argv[0]);
		return 2;
	}
	run_init();
	run_guarded(exec_script, argv + first, seconds, false, &r);
	for (char *line = strtok(r.notes, "\n"); line;
	     line = strtok(NULL, "\n"))
		printf("# %s\n", line);
	if (r.is_interrupted)
		printf("Bail out! interrupted\n");
	else if (r.is_timed_out)
		printf("Bail out! timed out after %d s\n", seconds);
	else if (r.leaks)
		printf("Bail out! %d process(es) or object(s) left behind\n",
		       r.leaks);
	else
		return WIFSIGNALED(r.status) ? 128 + WTERMSIG(r.status)
					     : WEXITSTATUS(r.status);
	return 99;
}
