/* SPDX-License-Identifier: MIT */
/* task.c - what the kernel shows of other tasks, and waiting for it. */
#include "stage.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static ssize_t read_task_file(pid_t pid, pid_t tid, const char *file, char *buf,
			      size_t size)
{
	char path[80];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)tid,
		 file);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t n = read(fd, buf, size - 1);
	close(fd);
	if (n >= 0)
		buf[n] = '\0';
	return n;
}

/* R, S, D, T, Z ... or ? if there is no such task any more. */
char state_of(pid_t pid, pid_t tid)
{
	char buf[512];

	if (read_task_file(pid, tid, "stat", buf, sizeof(buf)) <= 0)
		return '?';
	const char *name_end = strrchr(buf, ')');
	return name_end != NULL && name_end[1] == ' ' ? name_end[2] : '?';
}

/* How many times the actor went to sleep of its own accord. */
unsigned long sleeps_of(const struct actor *a)
{
	static const char field[] = "\nvoluntary_ctxt_switches:";
	char buf[4096];

	if (read_task_file(a->pid, a->tid, "status", buf, sizeof(buf)) <= 0)
		return 0;
	const char *at = strstr(buf, field);
	return at != NULL ? strtoul(at + sizeof(field) - 1, NULL, 10) : 0;
}

void pause_briefly(void)
{
	const struct timespec t = {0, 50 * 1000};

	nanosleep(&t, NULL);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

double deadline_in(double seconds)
{
	return now() + seconds;
}

bool is_over(double deadline)
{
	return now() > deadline;
}

/* Until the clock that stamps queues shows another second. */
void next_second(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME_COARSE, &t);
	for (time_t then = t.tv_sec; t.tv_sec == then;) {
		pause_briefly();
		clock_gettime(CLOCK_REALTIME_COARSE, &t);
	}
}
