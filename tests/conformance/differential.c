/* SPDX-License-Identifier: MIT */
/*
 * differential.c - long random programs of several processes, the same in the
 * kernel and in sysfive, compared after each step.
 *
 *   differential [--seed S] [--ops N] [--seconds N] [--whole]
 *                [--program P [--keep LIST]] [--no-shrink] [--kernel-twice]
 *
 * A run is a row of programs of some hundred steps; program P of seed S is
 * always the same, so a failure in a long run is replayed alone by --seed and
 * --program.  It is then shrunk: steps are left out, each time in a new
 * process and namespace, as long as it still fails.  The second world is what
 * libc's names are: sysfive, if this program is linked or preloaded with the
 * drop-in.  With --kernel-twice it is the kernel once more, which tests this
 * program.
 */
#include "step.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEPS	       300 /* in a program */
#define SHRINK_SECONDS 60

struct options {
	uint64_t seed;
	long ops, seconds, program;
	bool whole, no_shrink, kernel_twice;
	const char *keep; /* of '0' and '1', one for each step; or NULL */
};

static struct options opt = {.ops = -1, .seconds = -1, .program = -1};
static const char *self_path;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool is_kept(const char *keep, int i)
{
	return keep == NULL || keep[i] == '1';
}

/* Plays one program; the number of the step that failed, or -1. */
static int play_program(long program)
{
	uint64_t random = opt.seed * 1000003 + (uint64_t)program;
	struct step steps[STEPS];
	int failed = -1;

	for (int i = 0; i < STEPS; i++)
		make_step(&random, opt.whole, &steps[i]);
	make_first_step(0, &steps[0]);
	make_first_step(1, &steps[1]);
	begin_program();
	for (int i = 0; i < STEPS && failed < 0; i++)
		if (is_kept(opt.keep, i) && !do_step(&steps[i]))
			failed = i;
	if (failed >= 0) {
		printf("# seed %llu, program %ld: the worlds part at step %d\n",
		       (unsigned long long)opt.seed, program, failed);
		for (int i = 0; i <= failed; i++)
			if (is_kept(opt.keep, i))
				print_step(i, &steps[i]);
		fflush(stdout);
	}
	end_program();
	return failed;
}

/* ---- shrinking ---- */

/* In a process and a namespace of its own; whether it fails. */
static bool fails_with(long program, const char *keep, bool quiet)
{
	char dir[] = "/dev/shm/sysfive-shrink.XXXXXX";
	char seed[32], number[32], command[64];
	int status = 0;

	if (mkdtemp(dir) == NULL)
		return false;
	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)opt.seed);
	snprintf(number, sizeof(number), "%ld", program);
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		setenv("SYSFIVE_DIR", dir, 1);
		if (quiet && freopen("/dev/null", "w", stdout) == NULL)
			_exit(1);
		const char *args[12] = {self_path,   "--seed",	   seed,
					"--program", number,	   "--keep",
					keep,	     "--no-shrink"};
		int n = 8;
		if (opt.whole)
			args[n++] = "--whole";
		if (opt.kernel_twice)
			args[n++] = "--kernel-twice";
		execv(self_path, (char *const *)(uintptr_t)args);
		_exit(1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		status = 0;
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	(void)!system(command);
	return WIFEXITED(status) && WEXITSTATUS(status) == 3;
}

static void shrink(long program, int last)
{
	char keep[STEPS + 1], less[STEPS + 1];
	double deadline = now() + SHRINK_SECONDS;

	memset(keep, '0', STEPS);
	memset(keep, '1', (size_t)last + 1);
	keep[STEPS] = '\0';
	if (!fails_with(program, keep, true)) {
		printf("# alone, in a new namespace, it does not fail\n");
		return;
	}
	for (int piece = (last + 1) / 2; piece > 0; piece /= 2)
		for (int at = last - piece + 1; at > -piece; at -= piece) {
			int from = at > 0 ? at : 0;
			size_t n = (size_t)(at + piece - from);
			memcpy(less, keep, sizeof(less));
			memset(less + from, '0', n);
			/* The program goes on from what these two make. */
			memset(less, '1', 2);
			if (now() > deadline || strcmp(less, keep) == 0)
				continue;
			if (fails_with(program, less, true))
				memcpy(keep, less, sizeof(less));
		}
	printf("# shrunk; once more with\n#   --seed %llu --program %ld%s "
	       "--keep %s\n",
	       (unsigned long long)opt.seed, program,
	       opt.whole ? " --whole" : "", keep);
	(void)fails_with(program, keep, false);
}

/* ---- the command line ---- */

static void usage(void)
{
	fprintf(stderr, "usage: differential [--seed S] [--ops N] "
			"[--seconds N] [--whole]\n"
			"    [--program P [--keep LIST]] [--no-shrink] "
			"[--kernel-twice]\n");
	exit(2);
}

static void read_options(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		bool more = i + 1 < argc;
		if (strcmp(argv[i], "--whole") == 0)
			opt.whole = true;
		else if (strcmp(argv[i], "--kernel-twice") == 0)
			opt.kernel_twice = true;
		else if (strcmp(argv[i], "--no-shrink") == 0)
			opt.no_shrink = true;
		else if (more && strcmp(argv[i], "--seed") == 0)
			opt.seed = strtoull(argv[++i], NULL, 0);
		else if (more && strcmp(argv[i], "--ops") == 0)
			opt.ops = atol(argv[++i]);
		else if (more && strcmp(argv[i], "--seconds") == 0)
			opt.seconds = atol(argv[++i]);
		else if (more && strcmp(argv[i], "--program") == 0)
			opt.program = atol(argv[++i]);
		else if (more && strcmp(argv[i], "--keep") == 0)
			opt.keep = argv[++i];
		else
			usage();
	}
	if (opt.keep != NULL && strlen(opt.keep) != STEPS)
		usage();
}

static void choose_seed(void)
{
	const char *seed = getenv("SYSFIVE_SEED");

	if (opt.seed != 0)
		return;
	if (seed != NULL)
		opt.seed = strtoull(seed, NULL, 0);
	else if (getrandom(&opt.seed, sizeof(opt.seed), 0) < 0)
		opt.seed = (uint64_t)time(NULL);
}

/* Workers become other users, perhaps before their first call. */
static void share_directory(void)
{
	const char *dir = getenv("SYSFIVE_DIR");

	if (dir != NULL && chmod(dir, 01777) != 0)
		perror(dir);
}

static bool is_enough(long done, double end)
{
	if (opt.ops >= 0 && done >= opt.ops)
		return true;
	return opt.seconds >= 0 && now() > end;
}

int main(int argc, char **argv)
{
	long program = 0, done = 0;
	int failed;

	self_path = argv[0];
	read_options(argc, argv);
	choose_seed();
	if (opt.ops < 0 && opt.seconds < 0)
		opt.seconds = 5;
	double end = now() + (double)opt.seconds;
	printf("1..1\n# seed %llu\n", (unsigned long long)opt.seed);
	fflush(stdout);
	share_directory();
	open_worlds(opt.kernel_twice);
	if (opt.program >= 0) {
		failed = play_program(opt.program);
		program = opt.program;
		done = STEPS;
	} else {
		do {
			failed = play_program(program++);
			done += STEPS;
		} while (failed < 0 && !is_enough(done, end));
		program--;
	}
	if (failed < 0 && !second_world_is_not_kernel()) {
		printf("not ok 1 - the second world is the kernel; is this "
		       "program linked with the drop-in?\n");
		return 1;
	}
	if (failed >= 0 && !opt.no_shrink)
		shrink(program, failed);
	printf("%sok 1 - %ld steps in both worlds, %s\n",
	       failed >= 0 ? "not " : "", done, step_tally());
	return failed >= 0 ? 3 : 0;
}
