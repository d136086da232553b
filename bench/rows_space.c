/* SPDX-License-Identifier: MIT */
/*
 * rows_space.c - what sysfive costs those who do not call it
 *
 * The time to load the drop-in, and the memory of a namespace and of a queue.
 * What lies in the namespace is read from its directory, by file.
 */
#include "bench.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"

#define PROGRAM "/bin/true"

struct content {
	uint64_t bytes; /* allocated */
	uint64_t hash;	/* of sizes and data */
};

static void hash_add(uint64_t *hash, const void *data, size_t n)
{
	const unsigned char *byte = data;

	while (n--)
		*hash = (*hash ^ *byte++) * 0x100000001b3U;
}

/* Reads only what is there: a look into a hole would fill it. */
static void hash_data(uint64_t *hash, int fd)
{
	char block[4096];
	off_t end = 0;
	off_t at;

	while ((at = lseek(fd, end, SEEK_DATA)) >= 0) {
		end = lseek(fd, at, SEEK_HOLE);
		hash_add(hash, &at, sizeof(at));
		while (at < end) {
			ssize_t n = pread(fd, block, sizeof(block), at);

			if (n <= 0)
				return;
			hash_add(hash, block, (size_t)n);
			at += n;
		}
	}
}

/* What the namespace's directory holds, in all its regular files. */
static struct content read_content(struct bench_run *run, bool with_hash)
{
	struct content content = {0, 0xcbf29ce484222325U};
	const char *path = getenv("SYSFIVE_DIR");
	DIR *dir = path ? opendir(path) : NULL;
	struct dirent *entry;
	struct stat st;

	if (!dir)
		bench_fail(run, "the namespace's directory");
	while ((entry = readdir(dir))) {
		int fd = openat(dirfd(dir), entry->d_name,
				O_RDONLY | O_CLOEXEC | O_NONBLOCK);

		if (fd < 0)
			continue;
		if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
			content.bytes += (uint64_t)st.st_blocks * 512;
			hash_add(&content.hash, &st.st_size,
				 sizeof(st.st_size));
			if (with_hash)
				hash_data(&content.hash, fd);
		}
		(void)close(fd);
	}
	(void)closedir(dir);
	return content;
}

/* The environment with the drop-in preloaded. */
static char **preload_environment(struct bench_run *run)
{
	char path[PATH_MAX];
	char *setting;
	char **copy;
	size_t n = 0;
	int err = cli_dropin_path(path, sizeof(path));

	errno = -err;
	if (err)
		bench_fail(run, "libsysfive-dropin.so");
	while (environ[n])
		n++;
	copy = calloc(n + 2, sizeof(*copy));
	if (!copy || asprintf(&setting, "LD_PRELOAD=%s", path) < 0)
		bench_fail(run, "malloc");
	memcpy(copy, environ, n * sizeof(*copy));
	copy[n] = setting;
	return copy;
}

static double spawn_ms(struct bench_run *run, char **environment)
{
	char *argv[] = {strdup(PROGRAM), NULL};
	uint64_t start = bench_now_ns();
	double ms;
	pid_t child;

	errno = posix_spawn(&child, PROGRAM, NULL, NULL, argv, environment);
	if (errno)
		bench_fail(run, "posix_spawn");
	bench_join(run, child);
	ms = (double)(bench_now_ns() - start) / 1e6;
	free(argv[0]);
	return ms;
}

static double median_of(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), bench_compare_double);
	return bench_quantile(values, n, 0.5);
}

void bench_run_load(struct bench_run *run, uint64_t count,
		    struct bench_result *ret_result)
{
	double *with = calloc(3 * count, sizeof(*with));
	double *base = with + count;
	double *delta = base + count;
	char **environment = preload_environment(run);
	struct content before, after;
	uint64_t start;
	uint64_t i;

	if (!with)
		bench_fail(run, "malloc");
	bench_namespace(run);
	before = read_content(run, run->final);
	start = bench_now_ns();
	for (i = 0; i < count; i++) {
		/* Who goes first changes, so that it does not matter. */
		if (i & 1)
			with[i] = spawn_ms(run, environment);
		base[i] = spawn_ms(run, environ);
		if (!(i & 1))
			with[i] = spawn_ms(run, environment);
		delta[i] = with[i] - base[i];
	}
	ret_result->count = count;
	ret_result->seconds = (double)(bench_now_ns() - start) / 1e9;
	after = read_content(run, run->final);
	ret_result->value = median_of(with, count);
	bench_result_extra(ret_result, BENCH_BASE, median_of(base, count));
	bench_result_extra(ret_result, BENCH_DELTA, median_of(delta, count));
	bench_result_extra(ret_result, BENCH_UNTOUCHED,
			   before.bytes == after.bytes &&
				   before.hash == after.hash);
	free(with);
	free(environment);
}

void bench_run_idle(struct bench_run *run, uint64_t count,
		    struct bench_result *ret_result)
{
	(void)count;
	bench_namespace(run);
	if (run->ops->get(run->shared->key, 0) >= 0 || errno != ENOENT)
		bench_fail(run, "msgget of a key that is not there");
	ret_result->count = 1;
	ret_result->value = (double)read_content(run, false).bytes;
}

/* The argument is the number of queues. */
void bench_run_queue(struct bench_run *run, uint64_t count,
		     struct bench_result *ret_result)
{
	long queues = run->row->argument;
	uint64_t before;
	long i;

	(void)count;
	bench_namespace(run);
	before = read_content(run, false).bytes;
	for (i = 0; i < queues; i++)
		if (run->ops->get(IPC_PRIVATE, 0600) < 0)
			bench_fail(run, "msgget of queue %ld", i);
	ret_result->count = (uint64_t)queues;
	ret_result->value = (double)(read_content(run, false).bytes - before) /
			    (double)queues;
}
