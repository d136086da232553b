/* SPDX-License-Identifier: MIT */
/*
 * world.c - workers, and knowing that they have come to rest.
 *
 * A worker rests when it has returned, or is in its call with state S.  In
 * the kernel that is exact.  Elsewhere a call may also sleep for a moment on
 * its way, so a rest is believed when both worlds agree on who has returned,
 * and disagreement only after some seconds of it.
 */
#include "world.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE 5.0 /* seconds */
#define PIDS_MAX 4096

enum phase {
	PHASE_STARTING,
	PHASE_IDLE,
	PHASE_ASKED,
	PHASE_CALLING,
	PHASE_RETURNED
};

struct message {
	long type;
	char body[BUFFER_MAX];
};

/* One worker of one world, shared with it. */
struct seat {
	_Atomic int phase;
	struct request request;
	struct reply reply;
	struct message message;
	pid_t pid;
	int bell[2];
	int stat_fd;
};

static struct seat (*seats)[WORKERS];
static int namespaces[WORLDS] = {-1, -1};
static bool is_private, is_kernel_twice;
static int incarnations[WORKERS];
static struct {
	pid_t pid;
	int role;
} known_pids[WORLDS][PIDS_MAX];
static int known_count[WORLDS];

static void die(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(99);
}

const struct backend *backend_of(int world)
{
	return world == 0 ? &backend_kernel : &backend_libc;
}

static void enter_world(int world)
{
	if (is_private && setns(namespaces[world], CLONE_NEWIPC) != 0)
		die("setns");
}

long control(int world, int id, int cmd, struct msqid_ds *ds)
{
	if (!is_kernel_twice || world == 0)
		return backend_of(world)->msgctl(id, cmd, ds);
	enter_world(world);
	long ret = backend_of(world)->msgctl(id, cmd, ds);
	enter_world(0);
	return ret;
}

long control_set(int world, int id, int num, int cmd, void *arg)
{
	if (is_kernel_twice)
		enter_world(world);
	long ret = backend_of(world)->semctl(id, num, cmd, (uintptr_t)arg);
	if (is_kernel_twice)
		enter_world(0);
	return ret;
}

/* The index goes round: number 0 is given only if none was before. */
bool second_world_is_not_kernel(void)
{
	if (!is_private || is_kernel_twice)
		return true;
	enter_world(1);
	long q = backend_kernel.msgget(IPC_PRIVATE, IPC_CREAT | 0600);
	long s = backend_kernel.semget(IPC_PRIVATE, 1, IPC_CREAT | 0600);
	enter_world(0);
	return q == 0 && s == 0;
}

bool have_private_worlds(void)
{
	return is_private;
}

/* A kernel namespace for each world; this process stays in the first. */
void open_worlds(bool kernel_twice)
{
	is_kernel_twice = kernel_twice;
	seats = mmap(NULL, sizeof(*seats) * WORLDS, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (seats == MAP_FAILED)
		die("mmap");
	is_private = true;
	for (int w = WORLDS - 1; w >= 0; w--) {
		is_private = is_private && unshare(CLONE_NEWIPC) == 0;
		namespaces[w] = open("/proc/self/ns/ipc", O_RDONLY | O_CLOEXEC);
	}
}

/* ---- the worker ---- */

static void on_signal(int sig)
{
	(void)sig;
}

static void prepare_signals(void)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = on_signal;
	sigaction(SIGUSR1, &sa, NULL);
	sa.sa_flags = SA_RESTART;
	sigaction(SIGUSR2, &sa, NULL);
	signal(SIGHUP, SIG_IGN);
}

static uint32_t hash_of(const char *p, size_t n)
{
	uint32_t h = 2166136261U;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)p[i]) * 16777619U;
	return h;
}

static void fill_body(struct seat *s, const struct request *r)
{
	s->message.type = r->type;
	for (size_t i = 0; i < r->size && i < BUFFER_MAX; i++)
		s->message.body[i] = (char)((size_t)r->type + i * 7 + r->size);
}

static long receive(const struct backend *b, struct seat *s,
		    const struct request *r)
{
	size_t room = r->size < BUFFER_MAX - 64 ? r->size : BUFFER_MAX - 64;

	memset(s->message.body, 0x5a, room + 64);
	long ret = b->msgrcv(r->id, r->bad_pointer ? NULL : &s->message,
			     r->size, r->type, r->flags);
	size_t n = ret > 0 ? (size_t)ret : 0;
	if (n > BUFFER_MAX - 64)
		return ret;
	s->reply.type = ret >= 0 ? s->message.type : 0;
	s->reply.hash = hash_of(s->message.body, n);
	for (size_t i = n; i < n + 64; i++)
		if (s->message.body[i] != 0x5a)
			s->reply.is_spilt = true;
	return ret;
}

static long operate(const struct backend *b, struct request *r)
{
	struct operations *o = &r->operations;
	struct sembuf *list = r->bad_pointer ? NULL : o->list;

	if (o->has_limit)
		return b->semtimedop(r->id, list, o->n, &o->limit);
	return b->semop(r->id, list, o->n);
}

struct errand {
	const struct backend *backend;
	struct seat *seat;
};

static void *operate_in_thread(void *arg)
{
	struct errand *e = arg;

	e->seat->reply.ret = operate(e->backend, &e->seat->request);
	return NULL;
}

/* A child ends at once, and with it what it adjusted. */
static long wait_operation(const struct seat *s, pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -errno;
	return WIFEXITED(status) ? s->reply.ret : -ECHILD;
}

static long operate_by(const struct backend *b, struct seat *s)
{
	struct errand errand = {b, s};
	pthread_t thread;
	pid_t pid;

	switch (s->request.operations.by) {
	case BY_FORK:
		pid = fork();
		if (pid == 0) {
			s->reply.ret = operate(b, &s->request);
			_exit(0);
		}
		return wait_operation(s, pid);
	case BY_VFORK:
		pid = vfork();
		if (pid == 0) {
			s->reply.ret = operate(b, &s->request);
			_exit(0);
		}
		return wait_operation(s, pid);
	case BY_THREAD:
		if (pthread_create(&thread, NULL, operate_in_thread, &errand) !=
		    0)
			return -EAGAIN;
		pthread_join(thread, NULL);
		return s->reply.ret;
	default:
		return operate(b, &s->request);
	}
}

static long control_set_by_worker(const struct backend *b, struct seat *s)
{
	const struct request *r = &s->request;

	if (r->cmd == SETVAL)
		return b->semctl(r->id, r->num, r->cmd,
				 (unsigned long)r->set.value);
	memcpy(&s->reply.u.set, &r->set, sizeof(r->set));
	return b->semctl(r->id, r->num, r->cmd,
			 r->bad_pointer ? 0 : (uintptr_t)&s->reply.u);
}

static long make_call(const struct backend *b, struct seat *s)
{
	const struct request *r = &s->request;

	switch (r->kind) {
	case REQ_GET:
		return b->msgget(r->id, r->flags);
	case REQ_SND:
		fill_body(s, r);
		return b->msgsnd(r->id, r->bad_pointer ? NULL : &s->message,
				 r->size, r->flags);
	case REQ_RCV:
		return receive(b, s, r);
	case REQ_CTL:
		return b->msgctl(r->id, r->cmd,
				 r->bad_pointer ? NULL : &s->reply.u);
	case REQ_EUID:
		if (seteuid(0) != 0 || seteuid(r->uid) != 0)
			return -errno;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		return 0;
	case REQ_SEMGET:
		return b->semget(r->id, r->num, r->flags);
	case REQ_SEMOP:
		return operate_by(b, s);
	case REQ_SEMCTL:
		return control_set_by_worker(b, s);
	}
	return -ENOSYS;
}

static void serve(int world, struct seat *s)
{
	char c;

	for (;;) {
		ssize_t n = read(s->bell[0], &c, 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n != 1)
			_exit(0);
		atomic_store(&s->phase, PHASE_CALLING);
		s->reply.ret = make_call(backend_of(world), s);
		atomic_store(&s->phase, PHASE_RETURNED);
	}
}

static void start_worker(int world, int worker)
{
	struct seat *s = &seats[world][worker];
	char path[64];

	atomic_store(&s->phase, PHASE_STARTING);
	if (pipe(s->bell) != 0)
		die("pipe");
	enter_world(world);
	/* The seat is shared: only this side may write the pid. */
	pid_t pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prepare_signals();
		atomic_store(&s->phase, PHASE_IDLE);
		serve(world, s);
	}
	s->pid = pid;
	while (atomic_load(&s->phase) == PHASE_STARTING)
		sched_yield();
	enter_world(0);
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)s->pid);
	s->stat_fd = open(path, O_RDONLY | O_CLOEXEC);
	int n = known_count[world]++ % PIDS_MAX;
	known_pids[world][n].pid = s->pid;
	known_pids[world][n].role = (worker + 1) * 1000 + incarnations[worker];
}

static void end_worker(int world, int worker)
{
	struct seat *s = &seats[world][worker];

	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	close(s->stat_fd);
	close(s->bell[0]);
	close(s->bell[1]);
	atomic_store(&s->phase, PHASE_IDLE);
}

void start_workers(void)
{
	for (int i = 0; i < WORKERS; i++) {
		incarnations[i] = 0;
		for (int w = 0; w < WORLDS; w++)
			start_worker(w, i);
	}
}

void end_workers(void)
{
	for (int w = 0; w < WORLDS; w++) {
		for (int i = 0; i < WORKERS; i++)
			end_worker(w, i);
		known_count[w] = 0;
	}
}

void kill_worker(int worker)
{
	incarnations[worker]++;
	for (int w = 0; w < WORLDS; w++) {
		end_worker(w, worker);
		start_worker(w, worker);
	}
}

void signal_worker(int worker, int sig)
{
	for (int w = 0; w < WORLDS; w++)
		kill(seats[w][worker].pid, sig);
}

int role_of_pid(int world, pid_t pid)
{
	if (pid == 0)
		return 0;
	for (int i = known_count[world] - 1; i >= 0; i--)
		if (known_pids[world][i % PIDS_MAX].pid == pid)
			return known_pids[world][i % PIDS_MAX].role;
	return -1;
}

/* ---- requests and replies ---- */

void request(int worker, const struct request per_world[WORLDS],
	     const struct msqid_ds *ds)
{
	for (int w = 0; w < WORLDS; w++) {
		struct seat *s = &seats[w][worker];
		s->request = per_world[w];
		memset(&s->reply, 0, sizeof(s->reply));
		if (ds != NULL)
			s->reply.u.ds = *ds;
		atomic_store(&s->phase, PHASE_ASKED);
		if (write(s->bell[1], "!", 1) != 1)
			die("bell");
	}
}

static int phase_of(int world, int worker)
{
	return atomic_load(&seats[world][worker].phase);
}

bool is_busy(int worker)
{
	return phase_of(0, worker) != PHASE_IDLE;
}

bool has_returned(int world, int worker)
{
	return phase_of(world, worker) == PHASE_RETURNED;
}

void take_reply(int world, int worker, struct reply *ret_reply)
{
	struct seat *s = &seats[world][worker];

	*ret_reply = s->reply;
	atomic_store(&s->phase, PHASE_IDLE);
}

/* ---- coming to rest ---- */

static char state_of(const struct seat *s)
{
	char buf[128];
	ssize_t n = pread(s->stat_fd, buf, sizeof(buf) - 1, 0);

	if (n <= 0)
		return '?';
	buf[n] = '\0';
	const char *end = strrchr(buf, ')');
	return end != NULL && end[1] == ' ' ? end[2] : '?';
}

static bool rests(int world, int worker)
{
	struct seat *s = &seats[world][worker];
	int phase = atomic_load(&s->phase);

	if (phase == PHASE_IDLE || phase == PHASE_RETURNED)
		return true;
	return phase == PHASE_CALLING && state_of(s) == 'S' &&
	       atomic_load(&s->phase) == PHASE_CALLING;
}

/* Who has returned, a bit each, if all rest and agree; else -1. */
static int look_round(bool must_agree)
{
	int returned = 0;

	for (int i = 0; i < WORKERS; i++) {
		for (int w = 0; w < WORLDS; w++) {
			if (!rests(w, i))
				return -1;
			if (has_returned(w, i))
				returned |= 1 << (w * WORKERS + i);
		}
		if (must_agree && has_returned(0, i) != has_returned(1, i))
			return -1;
	}
	return returned;
}

/*
 * One look round is not enough: a worker may be seen asleep just before one
 * that is looked at later wakes it and returns.  If the next look finds the
 * same workers returned, nobody was about to be woken.
 */
static bool all_rest(bool must_agree)
{
	int returned = look_round(must_agree);

	return returned >= 0 && look_round(must_agree) == returned;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool wait_rest(bool must_agree)
{
	const struct timespec nap = {0, 100 * 1000};
	double deadline = 0;

	for (int tries = 0; !all_rest(must_agree); tries++) {
		if (tries < 200) {
			sched_yield();
			continue;
		}
		if (deadline == 0)
			deadline = now() + PATIENCE;
		if (now() > deadline)
			return false;
		nanosleep(&nap, NULL);
	}
	return true;
}

bool settle(void)
{
	return wait_rest(true);
}

bool await_return(int worker)
{
	const struct timespec nap = {0, 100 * 1000};
	double deadline = now() + PATIENCE;

	while (!has_returned(0, worker) || !has_returned(1, worker)) {
		if (now() > deadline)
			return false;
		nanosleep(&nap, NULL);
	}
	return true;
}

bool settle_apart(void)
{
	const struct timespec nap = {0, 300 * 1000};

	for (int looks = 0; looks < 3; looks++) {
		if (!wait_rest(false))
			return false;
		nanosleep(&nap, NULL);
	}
	return wait_rest(false);
}

void print_workers(void)
{
	static const char *const phases[] = {"starting", "idle", "asked",
					     "in its call", "returned"};

	for (int w = 0; w < WORLDS; w++)
		for (int i = 0; i < WORKERS; i++)
			if (phase_of(w, i) != PHASE_IDLE)
				printf("#   %s %d: %s, state %c, returned "
				       "%ld\n",
				       backend_of(w)->name, i,
				       phases[phase_of(w, i)],
				       state_of(&seats[w][i]),
				       seats[w][i].reply.ret);
}
