/* SPDX-License-Identifier: MIT */
/*
 * main.c - main() of every C test program: runs the registered cases one
 * after the other and prints TAP.
 *
 *   PROGRAM [--list] [--only NAME]... [--verbose]
 *   PROGRAM --helper NAME [ARGS...]
 */
#include "harness.h"
#include "run.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#define DEFAULT_SECONDS 20

static struct harness_case *cases, **cases_end = &cases;
static bool is_verbose;

void harness_register(struct harness_case *c)
{
	*cases_end = c;
	cases_end = &c->next;
}

static bool is_selected(const struct harness_case *c, int argc, char **argv)
{
	bool has_only = false;

	if (!c->run)
		return false;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--only") != 0)
			continue;
		has_only = true;
		if (i + 1 < argc && strcmp(argv[i + 1], c->name) == 0)
			return true;
	}
	return !has_only;
}

/* Text as TAP diagnostics, made harmless for a terminal. */
static void print_comment(const char *text, size_t len)
{
	bool is_start = true;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (is_start)
			fputs("# ", stdout);
		is_start = c == '\n';
		putchar(isprint(c) || c == '\n' || c == '\t' ? c : '?');
	}
	if (!is_start)
		putchar('\n');
}

static const char *verdict(const struct run_result *r, char *buf, size_t size)
{
	int failures = atomic_load(&harness_shared->failures);

	if (r->is_interrupted)
		snprintf(buf, size, "interrupted");
	else if (r->is_timed_out)
		snprintf(buf, size, "timed out");
	else if (r->is_flooding)
		snprintf(buf, size, "printed too much");
	else if (failures)
		snprintf(buf, size, "%d failed check%s", failures,
			 failures > 1 ? "s" : "");
	else if (WIFSIGNALED(r->status))
		snprintf(buf, size, "killed by signal %d", WTERMSIG(r->status));
	else if (WEXITSTATUS(r->status))
		snprintf(buf, size, "exit status %d", WEXITSTATUS(r->status));
	else if (r->leaks)
		snprintf(buf, size, "left %d process(es) or object(s) behind",
			 r->leaks);
	else
		return NULL;
	return buf;
}

static void case_body(void *arg)
{
	((const struct harness_case *)arg)->run();
}

/* Runs and reports one case; whether it passed. */
static bool run_case(struct harness_case *c, int number)
{
	int seconds = c->seconds ? c->seconds : DEFAULT_SECONDS;
	struct run_result r;
	const char *failure;
	char why[128];

	run_guarded(case_body, c, seconds, true, &r);
	failure = verdict(&r, why, sizeof(why));
	if (failure)
		printf("not ok %d - %s\n# %s: %s\n", number, c->name, c->name,
		       failure);
	else if (atomic_load(&harness_shared->is_skipped))
		printf("ok %d - %s # SKIP %s\n", number, c->name,
		       harness_shared->skip_reason);
	else
		printf("ok %d - %s\n", number, c->name);
	if (atomic_load(&harness_shared->is_seed_used))
		printf("# seed: SYSFIVE_SEED=%llu --only %s\n",
		       (unsigned long long)harness_shared->seed, c->name);
	if (failure || is_verbose) {
		print_comment(r.notes, strlen(r.notes));
		print_comment(r.output, r.output_len);
	}
	fflush(stdout);
	free(r.output);
	if (r.is_interrupted) {
		printf("Bail out! interrupted\n");
		exit(99);
	}
	return !failure;
}

static int run_helper(int argc, char **argv)
{
	run_attach();
	for (struct harness_case *c = cases; c; c = c->next)
		if (c->helper && strcmp(c->name, argv[2]) == 0)
			return c->helper(argc - 2, argv + 2);
	fprintf(stderr, "no helper %s\n", argv[2]);
	return 2;
}

static int usage(const char *program)
{
	fprintf(stderr, "usage: %s [--list] [--only NAME]... [--verbose]\n",
		program);
	return 2;
}

int main(int argc, char **argv)
{
	int planned = 0, number = 0, failed = 0;
	bool is_list = false;

	if (argc > 2 && strcmp(argv[1], "--helper") == 0)
		return run_helper(argc, argv);
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--list") == 0)
			is_list = true;
		else if (strcmp(argv[i], "--verbose") == 0)
			is_verbose = true;
		else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
			i++;
		else
			return usage(argv[0]);
	}
	for (struct harness_case *c = cases; c; c = c->next) {
		planned += is_selected(c, argc, argv);
		if (is_list && is_selected(c, argc, argv))
			puts(c->name);
	}
	if (is_list)
		return 0;

	run_init();
	printf("TAP version 13\n1..%d\n", planned);
	for (struct harness_case *c = cases; c; c = c->next)
		if (is_selected(c, argc, argv))
			failed += !run_case(c, ++number);
	return failed || !planned;
}
