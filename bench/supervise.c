/* SPDX-License-Identifier: MIT */
/*
 * supervise.c - one worker at a time, bounded in time, and nothing left behind
 *
 * Owns: the memory file that workers share, the worker's process group, its
 * namespace directory, and the kernel queues and sets of its keys.  All of
 * these are gone when bench_measure() returns, however the worker ended.
 */
#include "supervise.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A worker that takes longer is killed. */
#define LIMIT_SECONDS 15
#define LIMIT_FACTOR  20

static struct bench_shared *shared;
static int shared_fd = -1;
static sigset_t old_mask;
static sigset_t awaited; /* SIGCHLD and what ends the command */
static int ended_by;	 /* signal, or 0 */
static char directory[PATH_MAX];

int bench_supervise_open(void)
{
	shared_fd = memfd_create("sysfive-bench", MFD_CLOEXEC);
	if (shared_fd < 0 || ftruncate(shared_fd, sizeof(*shared)))
		return -errno;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED,
		      shared_fd, 0);
	if (shared == MAP_FAILED)
		return -errno;
	(void)sigemptyset(&awaited);
	(void)sigaddset(&awaited, SIGCHLD);
	(void)sigaddset(&awaited, SIGINT);
	(void)sigaddset(&awaited, SIGTERM);
	(void)sigaddset(&awaited, SIGHUP);
	(void)sigaddset(&awaited, SIGQUIT);
	/* An inherited "ignore" would lose the workers' end. */
	(void)signal(SIGCHLD, SIG_DFL);
	(void)sigprocmask(SIG_BLOCK, &awaited, &old_mask);
	return 0;
}

void bench_supervise_close(void)
{
	(void)munmap(shared, sizeof(*shared));
	(void)close(shared_fd);
	(void)sigprocmask(SIG_SETMASK, &old_mask, NULL);
}

void bench_die_of_signal(void)
{
	if (!ended_by)
		return;
	(void)signal(ended_by, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, &old_mask, NULL);
	(void)raise(ended_by);
}

static int make_directory(void)
{
	const char *base = "/dev/shm";
	int n;

	if (access(base, W_OK | X_OK))
		base = getenv("TMPDIR");
	if (!base)
		base = "/tmp";
	n = snprintf(directory, sizeof(directory), "%s/sysfive-bench-XXXXXX",
		     base);
	if (n < 0 || (size_t)n >= sizeof(directory)) {
		directory[0] = '\0';
		return -ENAMETOOLONG;
	}
	if (!mkdtemp(directory)) {
		directory[0] = '\0';
		return -errno;
	}
	return 0;
}

/* Removes a directory and what is in it; what it holds are files, or
 * directories of files. */
static void remove_tree(int parent, const char *name, int depth)
{
	int fd = openat(parent, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		if (unlinkat(dirfd(dir), entry->d_name, 0) && depth < 3)
			remove_tree(dirfd(dir), entry->d_name, depth + 1);
	}
	if (dir)
		(void)closedir(dir);
	(void)unlinkat(parent, name, AT_REMOVEDIR);
}

static void remove_directory(void)
{
	if (directory[0])
		remove_tree(AT_FDCWD, directory, 0);
	directory[0] = '\0';
}

/* Are the worker's keys free in the kernel?  Without System V IPC they are. */
static bool are_keys_free(key_t key)
{
	int i;

	for (i = 0; i < BENCH_KEYS; i++) {
		if (bench_kernel_ops.get(key + i, 0) >= 0 || errno == EACCES)
			return false;
		if (bench_kernel_ops.semget(key + i, 0, 0) >= 0 ||
		    errno == EACCES)
			return false;
	}
	return true;
}

static int choose_key(key_t *ret_key)
{
	uint32_t random;
	int tries;

	for (tries = 0; tries < 100; tries++) {
		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return -EIO;
		*ret_key = (key_t)(random & 0x7ffffff0U) + 1;
		if (are_keys_free(*ret_key))
			return 0;
	}
	return -EEXIST;
}

static void remove_kernel_objects(void)
{
	union bench_semun none = {0};
	int i;

	for (i = 0; i < BENCH_KEYS; i++) {
		key_t key = shared->key + i;
		int queue = bench_kernel_ops.get(key, 0);
		int set = bench_kernel_ops.semget(key, 0, 0);

		if (queue >= 0)
			(void)bench_kernel_ops.ctl(queue, IPC_RMID, NULL);
		if (set >= 0)
			(void)bench_kernel_ops.semctl(set, 0, IPC_RMID, none);
	}
}

__attribute__((noreturn)) static void become_worker(pid_t parent)
{
	char number[16];
	char path[] = "/proc/self/exe";
	char name[] = "sysfive";
	char verb[] = "bench";
	char option[] = "--worker";
	char *argv[] = {name, verb, option, number, NULL};

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	(void)setpgid(0, 0);
	(void)sigprocmask(SIG_SETMASK, &old_mask, NULL);
	(void)fcntl(shared_fd, F_SETFD, 0);
	(void)snprintf(number, sizeof(number), "%d", shared_fd);
	/* The namespace is new, and no preload is measured by accident. */
	(void)setenv("SYSFIVE_DIR", directory, 1);
	(void)unsetenv("LD_PRELOAD");
	execv(path, argv);
	_exit(127);
}

static struct timespec deadline_after(double seconds)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	time.tv_sec += LIMIT_SECONDS + (time_t)(LIMIT_FACTOR * seconds);
	return time;
}

static struct timespec time_left(struct timespec deadline)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	deadline.tv_sec -= now.tv_sec;
	deadline.tv_nsec -= now.tv_nsec;
	if (deadline.tv_nsec < 0) {
		deadline.tv_sec--;
		deadline.tv_nsec += 1000000000;
	}
	if (deadline.tv_sec < 0)
		deadline = (struct timespec){0, 0};
	return deadline;
}

/* Waits until the worker has ended, but leaves it a zombie, so that its process
 * group keeps its number.  0, -ETIMEDOUT or -EINTR. */
static int await(pid_t worker, double seconds)
{
	struct timespec deadline = deadline_after(seconds);

	for (;;) {
		struct timespec left = time_left(deadline);
		siginfo_t info = {0};
		int number;

		if (waitid(P_PID, (id_t)worker, &info,
			   WEXITED | WNOHANG | WNOWAIT) == 0 &&
		    info.si_pid == worker)
			return 0;
		number = sigtimedwait(&awaited, NULL, &left);
		if (number < 0 && errno == EAGAIN)
			return -ETIMEDOUT;
		if (number > 0 && number != SIGCHLD) {
			ended_by = number;
			return -EINTR;
		}
	}
}

/* Makes a result of how the worker ended. */
static int judge(int status, int awaited_err, struct bench_result *ret_result)
{
	size_t size = sizeof(ret_result->why);

	*ret_result = shared->result;
	ret_result->why[size - 1] = '\0';
	if (awaited_err == -EINTR)
		return -EINTR;
	if (awaited_err == -ETIMEDOUT) {
		(void)snprintf(ret_result->why, size,
			       "did not end in time and was killed");
		return -EIO;
	}
	if (ret_result->done && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (!atomic_load(&shared->failed) && WIFSIGNALED(status))
		(void)snprintf(ret_result->why, size, "ended by signal %d (%s)",
			       WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (!atomic_load(&shared->failed))
		(void)snprintf(ret_result->why, size, "ended with status %d",
			       WEXITSTATUS(status));
	return -EIO;
}

static int run_worker(double seconds, struct bench_result *ret_result)
{
	pid_t parent = getpid();
	pid_t worker = fork();
	int status = 0;
	int err;

	if (worker < 0)
		return -errno;
	if (worker == 0)
		become_worker(parent);
	/* Here, too, so that it is done whoever comes first. */
	(void)setpgid(worker, worker);
	err = await(worker, seconds);
	(void)kill(-worker, SIGKILL);
	(void)waitpid(worker, &status, 0);
	return judge(status, err, ret_result);
}

int bench_measure(const struct bench_row *row, enum bench_side side,
		  uint64_t count, double seconds,
		  struct bench_result *ret_result)
{
	int err;

	memset(shared, 0, sizeof(*shared));
	shared->row = (uint32_t)(row - bench_rows);
	shared->side = side;
	shared->count = count;
	shared->seconds = seconds;
	err = choose_key(&shared->key);
	if (!err)
		err = make_directory();
	if (err)
		return err;
	err = run_worker(seconds, ret_result);
	remove_kernel_objects();
	remove_directory();
	return err;
}
