/* SPDX-License-Identifier: MIT */
/*
 * sysfive.c - the command: its verbs, --help, --version
 *
 * One table of verbs drives the dispatch and the help text.
 */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli_config.h"

struct verb {
	const char *name;
	char *title; /* argv[0], for what getopt_long() says */
	const char *summary;
	int (*run)(int argc, char **argv);
};

static char run_title[] = "sysfive: run";
static char limits_title[] = "sysfive: limits";
static char ls_title[] = "sysfive: ls";
static char rm_title[] = "sysfive: rm";
static char bench_title[] = "sysfive: bench";

static const struct verb verbs[] = {
	{"run", run_title, "run a command with System V IPC in user space",
	 cli_run},
	{"limits", limits_title, "show or set the limits of a namespace",
	 cli_limits},
	{"ls", ls_title, "list message queues, semaphores, and who waits",
	 cli_ls},
	{"rm", rm_title, "remove message queues and semaphore sets", cli_rm},
	{"bench", bench_title, "measure the kernel and sysfive in one run",
	 cli_bench},
};

static const char *current_verb;
static char **all_arguments;

void cli_set_verb(const char *verb)
{
	current_verb = verb;
}

__attribute__((format(printf, 2, 0))) static void
print_message(const char *kind, const char *format, va_list args)
{
	(void)fflush(stdout);
	(void)fputs("sysfive: ", stderr);
	if (current_verb)
		(void)fprintf(stderr, "%s: ", current_verb);
	(void)fputs(kind, stderr);
	(void)vfprintf(stderr, format, args);
	(void)fputc('\n', stderr);
}

void cli_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_message("", format, args);
	va_end(args);
}

void cli_warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_message("warning: ", format, args);
	va_end(args);
}

int cli_usage(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (format)
		print_message("", format, args);
	va_end(args);
	(void)fprintf(stderr, "Try 'sysfive %s%s--help'.\n",
		      current_verb ? current_verb : "",
		      current_verb ? " " : "");
	return CLI_USAGE;
}

int cli_close_stdout(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	cli_error("cannot write the output: %s", strerror(errno));
	return CLI_FAILED;
}

int cli_restart(void)
{
	/* What getopt_long() got for a title is the verb again. */
	char *verb = strdup(current_verb);

	if (!verb)
		return -ENOMEM;
	all_arguments[1] = verb;
	execv("/proc/self/exe", all_arguments);
	return -errno;
}

static int print_help(void)
{
	size_t i;

	puts("Usage: sysfive VERB [ARGUMENT]...\n"
	     "\n"
	     "System V IPC in user space: the same calls, the same results.\n"
	     "\n"
	     "Verbs:");
	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		printf("  %-8s %s\n", verbs[i].name, verbs[i].summary);
	puts("\n"
	     "Options:\n"
	     "  -h, --help     show this text; 'sysfive VERB --help' says "
	     "more\n"
	     "  -V, --version  show the version\n"
	     "\n"
	     "Exit status: 0 done, 1 failed, 2 wrong usage; 'run' passes on\n"
	     "the status of the command that it ran.");
	return cli_close_stdout(CLI_DONE);
}

static int print_version(void)
{
	printf("sysfive %s\n", CLI_VERSION);
	return cli_close_stdout(CLI_DONE);
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	size_t i;

	if (!word)
		return cli_usage("which verb?");
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return print_help();
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
		return print_version();
	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(word, verbs[i].name) != 0)
			continue;
		cli_set_verb(verbs[i].name);
		all_arguments = argv;
		argv[1] = verbs[i].title;
		return verbs[i].run(argc - 1, argv + 1);
	}
	return cli_usage("there is no verb '%s'", word);
}
