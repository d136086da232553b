/* SPDX-License-Identifier: MIT */
/*
 * run.c - runs one body of test code in a guarded process.
 *
 * Owns: the shared page of the run, the directory that SYSFIVE_DIR names, and
 * every descendant of the body: the runner is their sub-reaper, so an orphan
 * becomes its child and cannot get away by leaving the process group.
 */
#include "run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OUTPUT_LIMIT (64 << 20) /* a case that prints more is killed */
#define OUTPUT_KEPT  (32 << 10)
#define GRACE_MS     1000 /* for children that are just ending */
#define IPC_MAX	     4096

enum ipc_kind { IPC_MSG, IPC_SEM, IPC_SHM, IPC_KINDS };
static const char *const ipc_names[IPC_KINDS] = {"msg", "sem", "shm"};

struct ipc_ids {
	int n[IPC_KINDS];
	int id[IPC_KINDS][IPC_MAX];
};

struct harness_shared *harness_shared;
static int shared_fd;
static sigset_t watched, original_mask;
static bool has_own_ipc;
static struct ipc_ids ipc_before, ipc_after;

int64_t harness_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void die(const char *what)
{
	printf("Bail out! harness: %s: %s\n", what, strerror(errno));
	exit(99);
}

__attribute__((format(printf, 2, 3))) static void note(struct run_result *r,
						       const char *format, ...)
{
	size_t used = strlen(r->notes);
	va_list ap;

	va_start(ap, format);
	vsnprintf(r->notes + used, sizeof(r->notes) - used, format, ap);
	va_end(ap);
}

void run_init(void)
{
	/* Cases may end by _exit(); what they printed must be out by then. */
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
		die("sub-reaper");
	/* With its own IPC namespace, whatever is new there is of the case. */
	has_own_ipc = unshare(CLONE_NEWIPC) == 0;

	shared_fd = memfd_create("harness", MFD_CLOEXEC);
	if (shared_fd < 0 || ftruncate(shared_fd, sizeof(*harness_shared)) != 0)
		die("memfd");
	harness_shared = mmap(NULL, sizeof(*harness_shared),
			      PROT_READ | PROT_WRITE, MAP_SHARED, shared_fd, 0);
	if (harness_shared == MAP_FAILED)
		die("mmap");

	sigemptyset(&watched);
	sigaddset(&watched, SIGCHLD);
	sigaddset(&watched, SIGTERM);
	sigaddset(&watched, SIGINT);
	sigaddset(&watched, SIGHUP);
	sigprocmask(SIG_BLOCK, &watched, &original_mask);
}

void run_attach(void)
{
	const char *path = getenv("S5_HARNESS_SHARED");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;

	if (fd < 0)
		die("helper: S5_HARNESS_SHARED");
	harness_shared = mmap(NULL, sizeof(*harness_shared),
			      PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (harness_shared == MAP_FAILED)
		die("mmap");
	close(fd);
}

static void reset_shared(int seconds)
{
	const char *seed = getenv("SYSFIVE_SEED");
	const char *scale = getenv("S5_TIMEOUT_SCALE");

	memset(harness_shared, 0, sizeof(*harness_shared));
	if (!seed)
		seed = getenv("S5_SEED");
	if (seed)
		harness_shared->seed = strtoull(seed, NULL, 0);
	else if (getrandom(&harness_shared->seed, sizeof(uint64_t), 0) < 0)
		harness_shared->seed = (uint64_t)harness_now();
	if (scale && atoi(scale) > 0)
		seconds *= atoi(scale);
	harness_shared->deadline = harness_now() + seconds * 1000000000LL;
}

/* ---- the directory of the case ---- */

static void make_dir(char *ret_path, size_t size)
{
	const char *base = "/dev/shm";

	if (access(base, W_OK) != 0)
		base = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
	snprintf(ret_path, size, "%s/sysfive-test.XXXXXX", base);
	if (!mkdtemp(ret_path))
		die(ret_path);
}

static int remove_entry(const char *path, const struct stat *st, int type,
			struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	(void)remove(path);
	return 0;
}

/* ---- what a case may leave behind ---- */

static void list_ipc(struct ipc_ids *ret_ids)
{
	char path[64], line[512];
	int id;

	memset(ret_ids->n, 0, sizeof(ret_ids->n));
	for (int kind = 0; kind < IPC_KINDS; kind++) {
		FILE *f;

		/* Not by the name that the drop-in stands in for. */
		snprintf(path, sizeof(path), "/proc/./sysvipc/%s",
			 ipc_names[kind]);
		f = fopen(path, "re");
		while (f && fgets(line, sizeof(line), f))
			if (ret_ids->n[kind] < IPC_MAX &&
			    sscanf(line, "%*d %d", &id) == 1)
				ret_ids->id[kind][ret_ids->n[kind]++] = id;
		if (f)
			fclose(f);
	}
}

static bool has_id(const struct ipc_ids *ids, int kind, int id)
{
	for (int i = 0; i < ids->n[kind]; i++)
		if (ids->id[kind][i] == id)
			return true;
	return false;
}

/* By raw calls: the test program may be linked with the drop-in. */
static void remove_ipc(int kind, int id)
{
	if (kind == IPC_MSG)
		syscall(SYS_msgctl, id, IPC_RMID, NULL);
	else if (kind == IPC_SEM)
		syscall(SYS_semctl, id, 0, IPC_RMID, NULL);
	else
		syscall(SYS_shmctl, id, IPC_RMID, NULL);
}

static void check_ipc(struct run_result *r)
{
	if (!has_own_ipc)
		return; /* it could be anybody's */
	list_ipc(&ipc_after);
	for (int kind = 0; kind < IPC_KINDS; kind++) {
		for (int i = 0; i < ipc_after.n[kind]; i++) {
			int id = ipc_after.id[kind][i];

			if (has_id(&ipc_before, kind, id))
				continue;
			note(r, "left behind: kernel %s id %d\n",
			     ipc_names[kind], id);
			remove_ipc(kind, id);
			r->leaks++;
		}
	}
}

/*
 * Calls visit() for every process that is a child of the runner or in the
 * body's process group, zombies apart; how many there are.
 */
static int each_process(pid_t group, struct run_result *r,
			void (*visit)(struct run_result *, pid_t, const char *))
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int n = 0;

	while (dir && (entry = readdir(dir))) {
		char path[300], stat[512] = "", *end, state;
		int ppid, pgrp, fd;

		snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
		    (fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
			continue;
		if (read(fd, stat, sizeof(stat) - 1) < 0)
			stat[0] = 0;
		close(fd);
		end = strrchr(stat, ')');
		if (!end || sscanf(end, ") %c %d %d", &state, &ppid, &pgrp) < 3)
			continue;
		if ((ppid != getpid() && pgrp != group) || state == 'Z')
			continue;
		end[2 + (state != 0)] = 0;
		visit(r, atoi(entry->d_name), stat);
		n++;
	}
	if (dir)
		closedir(dir);
	return n;
}

static void visit_note(struct run_result *r, pid_t pid, const char *stat)
{
	char path[64], wchan[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/wchan", (int)pid);
	f = fopen(path, "re");
	if (f && !fgets(wchan, sizeof(wchan), f))
		wchan[0] = 0;
	if (f)
		fclose(f);
	note(r, "process %s %s\n", stat, wchan);
}

static void visit_kill(struct run_result *r, pid_t pid, const char *stat)
{
	(void)r;
	(void)stat;
	kill(pid, SIGKILL);
}

/* ---- running ---- */

/* Waits for a child's end or a signal; the signal, 0 after `ms`. */
static int wait_signal(int ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000L};
	int sig = sigtimedwait(&watched, NULL, &ts);

	return sig > 0 ? sig : 0;
}

/* Reaps; false when no child is left. */
static bool reap(pid_t body, int *status, bool *ret_is_done)
{
	int st;
	pid_t pid;

	while ((pid = waitpid(-1, &st, WNOHANG)) > 0) {
		if (pid == body) {
			*status = st;
			*ret_is_done = true;
		}
	}
	return pid == 0;
}

static void watch(pid_t body, int out, struct run_result *r)
{
	bool is_done = false;
	struct stat st;

	while (reap(body, &r->status, &is_done), !is_done) {
		int64_t left = harness_shared->deadline - harness_now();
		int sig;

		r->is_timed_out = left <= 0;
		r->is_flooding = out >= 0 && fstat(out, &st) == 0 &&
				 st.st_size > OUTPUT_LIMIT;
		if (r->is_timed_out || r->is_flooding)
			return;
		sig = wait_signal(left > 200000000 ? 200
						   : (int)(left / 1000000) + 1);
		r->is_interrupted = sig != 0 && sig != SIGCHLD;
		if (r->is_interrupted)
			return;
	}
}

/* Afterwards the runner has no child. */
static void clear_processes(pid_t body, struct run_result *r)
{
	bool is_hung = r->is_timed_out || r->is_flooding || r->is_interrupted;
	bool is_done;
	int64_t grace = harness_now() + GRACE_MS * 1000000LL;

	while (reap(body, &r->status, &is_done) && !is_hung &&
	       harness_now() < grace)
		wait_signal(20);
	if (!reap(body, &r->status, &is_done))
		return;
	if (is_hung) {
		each_process(body, r, visit_note);
	} else {
		note(r, "left behind:\n");
		r->leaks += each_process(body, r, visit_note);
	}
	while (reap(body, &r->status, &is_done)) {
		each_process(body, r, visit_kill);
		wait_signal(10);
	}
}

static void start_body(void (*body)(void *), void *arg, int out,
		       const char *dir)
{
	struct rlimit no_core = {0, RLIM_INFINITY};
	char shared[64];

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	getrlimit(RLIMIT_CORE, &no_core);
	no_core.rlim_cur = 0;
	setrlimit(RLIMIT_CORE, &no_core);
	snprintf(shared, sizeof(shared), "/proc/%d/fd/%d", (int)getppid(),
		 shared_fd);
	setenv("S5_HARNESS_SHARED", shared, 1);
	setenv("SYSFIVE_DIR", dir, 1);
	if (has_own_ipc)
		setenv("S5_HAS_OWN_IPC", "1", 1);
	if (out >= 0) {
		dup2(out, STDOUT_FILENO);
		dup2(out, STDERR_FILENO);
	}
	sigprocmask(SIG_SETMASK, &original_mask, NULL);
	body(arg);
	exit(0);
}

static void take_output(int out, struct run_result *r)
{
	off_t size = lseek(out, 0, SEEK_END);
	off_t from = size > OUTPUT_KEPT ? size - OUTPUT_KEPT : 0;
	ssize_t n;

	r->output = calloc(1, OUTPUT_KEPT + 1);
	n = r->output ? pread(out, r->output, OUTPUT_KEPT, from) : -1;
	r->output_len = n > 0 ? (size_t)n : 0;
}

void run_guarded(void (*body)(void *), void *arg, int seconds, bool capture,
		 struct run_result *ret_result)
{
	int out = capture ? memfd_create("output", MFD_CLOEXEC) : -1;
	char dir[256];
	pid_t pid;

	memset(ret_result, 0, sizeof(*ret_result));
	reset_shared(seconds);
	make_dir(dir, sizeof(dir));
	list_ipc(&ipc_before);
	fflush(NULL);

	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0)
		start_body(body, arg, out, dir);
	setpgid(pid, pid);

	watch(pid, out, ret_result);
	clear_processes(pid, ret_result);
	check_ipc(ret_result);
	nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	if (out >= 0) {
		take_output(out, ret_result);
		close(out);
	}
}
