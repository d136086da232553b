/* SPDX-License-Identifier: MIT */
/*
 * run.c - sysfive run: a command with the drop-in preloaded
 *
 * The command is a child, so that a death by signal can be turned into
 * 128+N as a shell does.  The parent is as transparent as it can be: it keeps
 * no file open, passes on every signal sent to it, stops and goes on together
 * with the command, and takes it along if it is killed.
 */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* What is put back in the child before it executes the command. */
struct signals {
	sigset_t mask;
	struct sigaction chld;
};

static const struct option options[] = {
	{"dir", required_argument, NULL, 'd'},
	{"shm", required_argument, NULL, 's'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static int print_help(void)
{
	puts("Usage: sysfive run [--dir DIR] [--] COMMAND [ARGUMENT]...\n"
	     "\n"
	     "Runs COMMAND with System V IPC in user space: the drop-in\n"
	     "library is preloaded into it and into its children, and\n"
	     "SYSFIVE_DIR names the namespace for them.\n"
	     "\n"
	     "Options:\n"
	     "  -d, --dir DIR  use the namespace in DIR instead of\n"
	     "                 $SYSFIVE_DIR or the default\n"
	     "      --shm WHOSE  shared memory is sysfive's (the default) or\n"
	     "                 the kernel's: sysfive or kernel\n"
	     "  -h, --help     show this text\n"
	     "\n"
	     "Exit status: COMMAND's own, 128+N if signal N ended it, 127 if\n"
	     "it was not found, 126 if it could not be executed, 1 if the\n"
	     "namespace or the drop-in cannot be used, 2 for wrong usage.");
	return cli_close_stdout(CLI_DONE);
}

/* Is path in the list that LD_PRELOAD is? */
static bool is_listed(const char *list, const char *path)
{
	size_t length = strlen(path);

	while (*list) {
		size_t n = strcspn(list, ": ");

		if (n == length && memcmp(list, path, n) == 0)
			return true;
		list += n + (list[n] != '\0');
	}
	return false;
}

/* Puts the drop-in before what LD_PRELOAD holds already. */
static int set_preload(void)
{
	const char *old = getenv("LD_PRELOAD");
	char path[PATH_MAX];
	char *value;
	int err;

	err = cli_dropin_path(path, sizeof(path));
	if (err) {
		cli_error("cannot find libsysfive-dropin.so beside this "
			  "command or among the installed libraries: %s; "
			  "install sysfive again",
			  strerror(-err));
		return CLI_FAILED;
	}
	if (strpbrk(path, ": ")) {
		cli_error("the loader cannot preload %s, because it splits "
			  "LD_PRELOAD at blanks and colons; install sysfive "
			  "in another place",
			  path);
		return CLI_FAILED;
	}
	if (old && is_listed(old, path))
		return CLI_DONE;
	if (asprintf(&value, "%s%s%s", path, old && *old ? ":" : "",
		     old ? old : "") < 0)
		err = -ENOMEM;
	else if (setenv("LD_PRELOAD", value, 1))
		err = -errno;
	if (!err)
		return CLI_DONE;
	cli_error("cannot set LD_PRELOAD: %s", strerror(-err));
	return CLI_FAILED;
}

static int exec_failed(const char *name, const char *path, int err)
{
	if (err == -ENOENT && path)
		cli_error("cannot execute %s: its interpreter is missing",
			  path);
	else if (err == -ENOENT)
		cli_error("%s: command not found; look at its spelling and at "
			  "PATH",
			  name);
	else
		cli_error("cannot execute %s: %s; it must be an executable "
			  "file",
			  path ? path : name, strerror(-err));
	return err == -ENOENT || err == -ENOTDIR ? CLI_NOT_FOUND
						 : CLI_CANNOT_EXEC;
}

/* The child: becomes the command, or exits with 126 or 127. */
__attribute__((noreturn)) static void
become(const char *path, char **argv, pid_t parent, const struct signals *old)
{
	/* Who kills the wrapper means the command. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(CLI_FAILED);
	(void)sigaction(SIGCHLD, &old->chld, NULL);
	(void)sigprocmask(SIG_SETMASK, &old->mask, NULL);
	execv(path, argv);
	if (errno == ENOEXEC) {
		/* A script without #!: execvp() gives it to the shell; a name
		 * with a slash in it, as path is, it does not search. */
		execvp(path, argv);
	}
	_exit(exec_failed(argv[0], path, -errno));
}

/*
 * Lets go of what would be seen from outside: a pipe's reader waits for every
 * holder of the other end, a file system for every working directory.
 */
static void let_go(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int fd;

	for (fd = 0; null >= 0 && fd <= 2; fd++)
		(void)dup2(null, fd);
	(void)close_range(3, ~0U, 0);
	(void)!chdir("/");
}

/* Stops this process like the command, so that a shell sees the job stop. */
static void follow_stop(int signal_number)
{
	if (signal_number == SIGTSTP || signal_number == SIGTTIN ||
	    signal_number == SIGTTOU)
		(void)kill(getpid(), SIGSTOP);
}

/* True once the command has ended; its exit status is then in ret_status. */
static bool reap(pid_t child, int *ret_status)
{
	int status;

	while (waitpid(child, &status, WNOHANG | WUNTRACED) == child) {
		if (WIFEXITED(status)) {
			*ret_status = WEXITSTATUS(status);
			return true;
		}
		if (WIFSIGNALED(status)) {
			*ret_status = CLI_SIGNAL_BASE + WTERMSIG(status);
			return true;
		}
		if (WIFSTOPPED(status))
			follow_stop(WSTOPSIG(status));
	}
	return false;
}

/*
 * Must the command be told of a signal that came to this process?  What the
 * terminal sends goes to the whole process group; a timer is this process's
 * alone; what the command itself sent was not meant for it.
 */
static bool is_forwarded(const siginfo_t *info, pid_t child)
{
	if (info->si_signo == SIGALRM || info->si_signo == SIGVTALRM ||
	    info->si_signo == SIGPROF || info->si_signo == SIGXCPU)
		return true;
	return info->si_code <= 0 && info->si_pid != child;
}

static int attend(pid_t child, const sigset_t *all)
{
	siginfo_t info;
	int status;

	while (!reap(child, &status)) {
		if (sigwaitinfo(all, &info) < 0 || info.si_signo == SIGCHLD)
			continue;
		if (is_forwarded(&info, child))
			(void)kill(child, info.si_signo);
	}
	return status;
}

static int run_command(const char *path, char **argv)
{
	struct sigaction action = {.sa_handler = SIG_DFL};
	struct signals old;
	pid_t parent = getpid();
	sigset_t all;
	pid_t child;

	/* All signals are taken by sigwaitinfo(), none by a handler.  A fault
	 * of this program stays deadly all the same. */
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, &old.mask);
	/* Were SIGCHLD ignored, the status would be lost. */
	(void)sigaction(SIGCHLD, &action, &old.chld);

	child = fork();
	if (child < 0) {
		cli_error("cannot make a process: %s", strerror(errno));
		return CLI_FAILED;
	}
	if (child == 0)
		become(path, argv, parent, &old);
	let_go();
	return attend(child, &all);
}

int cli_run(int argc, char **argv)
{
	const char *dir = NULL;
	const char *shm = NULL;
	char path[PATH_MAX];
	int option;
	int err;

	while ((option = getopt_long(argc, argv, "+d:h", options, NULL)) !=
	       -1) {
		switch (option) {
		case 'd':
			dir = optarg;
			break;
		case 's':
			shm = optarg;
			break;
		case 'h':
			return print_help();
		default:
			return cli_usage(NULL);
		}
	}
	if (optind == argc)
		return cli_usage("which command?");
	if (shm && strcmp(shm, "kernel") != 0 && strcmp(shm, "sysfive") != 0)
		return cli_usage("--shm is sysfive or kernel");
	if (shm && setenv("SYSFIVE_SHM", shm, 1)) {
		cli_error("cannot set SYSFIVE_SHM: %s", strerror(errno));
		return CLI_FAILED;
	}

	err = cli_ns_open(dir, true);
	if (!err)
		err = set_preload();
	if (err)
		return err;
	err = cli_path_search(argv[optind], path, sizeof(path));
	if (err)
		return exec_failed(argv[optind], NULL, err);
	cli_warn_unreachable(path);
	return run_command(path, argv + optind);
}
