/* SPDX-License-Identifier: MIT */
/* play.c - one scenario in this process: what the runner executes. */
#include "play.h"

#include "stage.h"

#include <stdlib.h>
#include <unistd.h>

struct scenario *all_scenarios;

/* In the order of the files' names, then of the source. */
void add_scenario(struct scenario *s)
{
	struct scenario **at = &all_scenarios;

	while (*at != NULL && strcmp((*at)->file, s->file) <= 0)
		at = &(*at)->next;
	s->next = *at;
	*at = s;
}

static const struct scenario *find_scenario(const char *name)
{
	for (const struct scenario *s = all_scenarios; s != NULL; s = s->next)
		if (strcmp(s->name, name) == 0)
			return s;
	return NULL;
}

/*
 * An identifier's index goes round, so the first object of a namespace has
 * number 0 only if nothing was made in it before and removed again.
 */
static void check_kernel_untouched(void)
{
	long id = backend_kernel.msgget(IPC_PRIVATE, IPC_CREAT | 0600);

	if (id != 0)
		fail("a queue was made in the kernel");
	(void)backend_kernel.msgctl((int)id, IPC_RMID, NULL);
	id = backend_kernel.semget(IPC_PRIVATE, 1, IPC_CREAT | 0600);
	if (id != 0)
		fail("a semaphore set was made in the kernel");
	(void)backend_kernel.semctl((int)id, 0, IPC_RMID, 0);
}

/*
 * --act kernel|libc SET: takes five from the first semaphore with SEM_UNDO,
 * waits for the second, puts back what it took of that, and ends.
 */
int act(char **args)
{
	const struct backend *b = strcmp(args[0], "kernel") == 0
					  ? &backend_kernel
					  : &backend_libc;
	struct sembuf take = {0, -5, SEM_UNDO}, await = {1, -1, SEM_UNDO};
	int set = atoi(args[1]);

	if (b->semop(set, &take, 1) != 0 || b->semop(set, &await, 1) != 0)
		return EXIT_FAILED;
	return 0;
}

/* --play NAME kernel|libc kernel|sysfive private|shared */
int play(char **args)
{
	const struct scenario *s = find_scenario(args[0]);
	bool raw = strcmp(args[1], "kernel") == 0;
	bool sysfive = strcmp(args[2], "sysfive") == 0;
	bool is_private = strcmp(args[3], "private") == 0;

	if (s == NULL)
		return EXIT_GAVE_UP;
	const char *why = missing(s->needs, is_private);
	if (why != NULL) {
		trace("%s", why);
		return EXIT_SKIPPED;
	}
	open_stage(raw ? &backend_kernel : &backend_libc, sysfive);
	s->play();
	int status = close_stage();
	if (sysfive && is_private)
		check_kernel_untouched();
	return failures() > 0 ? EXIT_FAILED : status;
}
