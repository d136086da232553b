/* SPDX-License-Identifier: MIT */
/*
 * threads.c - many threads in the worker: starting them, and seeing them sleep
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STACK_SIZE 262144

/* Between two looks at somebody who is about to sleep. */
#define LOOK_NS 50000

pthread_t bench_thread(struct bench_run *run, void *(*work)(void *),
		       void *argument)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (pthread_attr_init(&attributes) ||
	    pthread_attr_setstacksize(&attributes, STACK_SIZE))
		bench_fail(run, "pthread_attr_init");
	errno = pthread_create(&thread, &attributes, work, argument);
	if (errno)
		bench_fail(run, "pthread_create");
	(void)pthread_attr_destroy(&attributes);
	return thread;
}

void bench_sleep(double seconds)
{
	struct timespec time = {
		.tv_sec = (time_t)seconds,
		.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9),
	};

	while (nanosleep(&time, &time))
		continue;
}

static bool is_asleep(struct bench_run *run, pid_t tid)
{
	char path[64];
	char text[64];
	const char *state;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		bench_fail(run, "%s", path);
	n = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	text[n < 0 ? 0 : n] = '\0';
	/* After the name, which is in parentheses. */
	state = strrchr(text, ')');
	return state && strncmp(state, ") S", 3) == 0;
}

void bench_await_asleep(struct bench_run *run, const pid_t *tids, int n)
{
	struct timespec pause = {0, LOOK_NS};
	int i;

	for (i = 0; i < n; i++)
		while (!is_asleep(run, tids[i]))
			(void)nanosleep(&pause, NULL);
}
