/* SPDX-License-Identifier: MIT */
/*
 * actor.c - processes and threads that make one call at a time for P0.
 *
 * All actors lie in one shared mapping made before the first fork.  P0 writes
 * `call` and the buffer while the actor is idle, sets the phase and rings the
 * actor's bell, a pipe; the actor answers by the phase.
 */
#include "stage.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE 10.0 /* seconds until a call counts as hung */

static struct actor *actors;
static int used, processes, threads;
static struct actor *cast_actor;
static bool cast_starts;

struct actor *actor_at(int i)
{
	return &actors[i];
}

int actor_count(void)
{
	return used;
}

struct actor *self(void)
{
	return &actors[0];
}

void start_actors(void)
{
	actors =
		mmap(NULL, sizeof(*actors) * ACTORS_MAX, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (actors == MAP_FAILED)
		give_up("no memory for the actors");
	used = 1;
	snprintf(actors[0].name, sizeof(actors[0].name), "P0");
	actors[0].pid = actors[0].tid = getpid();
	actors[0].is_alive = true;
}

static long outcome_of(const struct call *c)
{
	const struct backend *b = backend();

	switch (c->op) {
	case CALL_GET:
		return b->msgget(c->id, c->flags);
	case CALL_SND:
		return b->msgsnd(c->id, c->user, c->size, c->flags);
	case CALL_RCV:
		return b->msgrcv(c->id, c->user, c->size, c->type, c->flags);
	case CALL_CTL:
		return b->msgctl(c->id, c->cmd, c->user);
	case CALL_RUN:
		return c->fn(c->arg);
	case CALL_SEMGET:
		return b->semget(c->id, c->num, c->flags);
	case CALL_SEMOP:
		return b->semop(c->id, c->user, c->size);
	case CALL_SEMTIMEDOP:
		return b->semtimedop(c->id, c->user, c->size, c->timeout);
	case CALL_SEMCTL:
		return b->semctl(c->id, c->num, c->cmd,
				 c->cmd == SETVAL ? (unsigned long)c->arg
						  : (uintptr_t)c->user);
	}
	return -ENOSYS;
}

void perform(struct actor *a)
{
	atomic_store(&a->phase, PHASE_CALLING);
	a->ret = outcome_of(&a->call);
	atomic_store(&a->phase, PHASE_DONE);
}

static void serve(struct actor *a)
{
	char c;

	for (;;) {
		ssize_t n = read(a->bell[0], &c, 1);
		if (n == 0 || (n < 0 && errno != EINTR))
			return;
		if (n == 1)
			perform(a);
	}
}

static struct actor *next_actor(char kind, int number)
{
	if (used == ACTORS_MAX)
		give_up("more than %d actors", ACTORS_MAX);
	struct actor *a = &actors[used++];
	snprintf(a->name, sizeof(a->name), "%c%d", kind, number);
	if (pipe(a->bell) != 0)
		give_up("pipe: %s", strerror(errno));
	a->is_alive = true;
	return a;
}

struct actor *new_process(void)
{
	struct actor *a = next_actor('P', ++processes);
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid < 0)
		give_up("fork: %s", strerror(errno));
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(EXIT_GAVE_UP);
		close(a->bell[1]);
		serve(a);
		_exit(0);
	}
	close(a->bell[0]);
	a->pid = a->tid = pid;
	return a;
}

static void *thread_main(void *arg)
{
	struct actor *a = arg;

	a->tid = gettid();
	atomic_store(&a->phase, PHASE_DONE);
	serve(a);
	return NULL;
}

struct actor *new_thread(void)
{
	struct actor *a = next_actor('T', ++threads);

	a->is_thread = true;
	a->pid = getpid();
	atomic_store(&a->phase, PHASE_CALLING);
	if (pthread_create(&a->thread, NULL, thread_main, a) != 0)
		give_up("pthread_create failed");
	while (atomic_load(&a->phase) != PHASE_DONE)
		pause_briefly();
	atomic_store(&a->phase, PHASE_IDLE);
	return a;
}

/* ---- making calls ---- */

void cast(struct actor *a, bool start_only)
{
	cast_actor = a;
	cast_starts = start_only;
}

struct actor *current_actor(void)
{
	return cast_actor != NULL ? cast_actor : self();
}

static void issue(struct actor *a)
{
	if (atomic_load(&a->phase) != PHASE_IDLE)
		give_up("%s is given a call while it has one", a->name);
	atomic_store(&a->phase, PHASE_ISSUED);
	if (a == self())
		perform(a);
	else if (write(a->bell[1], "!", 1) != 1)
		give_up("%s's bell: %s", a->name, strerror(errno));
}

static long wait_result(struct actor *a)
{
	double deadline = deadline_in(PATIENCE);

	while (atomic_load(&a->phase) != PHASE_DONE) {
		if (is_over(deadline))
			give_up("%s does not return (state %c)", a->name,
				state_of(a->pid, a->tid));
		pause_briefly();
	}
	atomic_store(&a->phase, PHASE_IDLE);
	if (a->call.op == CALL_GET && a->ret >= 0)
		name_object(QUEUE, (int)a->ret);
	if (a->call.op == CALL_SEMGET && a->ret >= 0)
		name_object(SET, (int)a->ret);
	return a->ret;
}

/* The call was written to the current actor's `call`: make it. */
long direct(const struct call *call)
{
	struct actor *a = current_actor();

	a->call = *call;
	issue(a);
	if (cast_starts) {
		trace_call(a, true, false);
		return 0;
	}
	long ret = wait_result(a);
	trace_call(a, true, true);
	return ret;
}

long finish(struct actor *a)
{
	long ret = wait_result(a);

	trace_call(a, false, true);
	return ret;
}

/* Where the world may choose what the value is. */
long collect(struct actor *a)
{
	return wait_result(a);
}

int finish_one_of(struct actor *const *list, int n, long *ret_value)
{
	double deadline = deadline_in(PATIENCE);

	while (!is_over(deadline)) {
		for (int i = 0; i < n; i++) {
			if (atomic_load(&list[i]->phase) != PHASE_DONE)
				continue;
			*ret_value = wait_result(list[i]);
			trace("one of %d returns %s", n,
			      error_name(*ret_value));
			return i;
		}
		pause_briefly();
	}
	give_up("none of %d returns", n);
}

static bool looks_asleep(const struct actor *a)
{
	return atomic_load(&a->phase) == PHASE_CALLING &&
	       state_of(a->pid, a->tid) == 'S';
}

/*
 * A task in its call may sleep for an instant for a lock; two looks between
 * which it did not run tell that from waiting.
 */
bool is_asleep(struct actor *a)
{
	double deadline = deadline_in(PATIENCE);

	while (atomic_load(&a->phase) != PHASE_DONE) {
		unsigned long before = sleeps_of(a);
		if (looks_asleep(a)) {
			pause_briefly();
			if (looks_asleep(a) && sleeps_of(a) == before)
				return true;
		}
		if (is_over(deadline))
			give_up("%s neither sleeps nor returns (state %c)",
				a->name, state_of(a->pid, a->tid));
		pause_briefly();
	}
	return false;
}

void assert_asleep(struct actor *a, const char *file, int line)
{
	if (is_asleep(a)) {
		trace("%s is asleep", a->name);
		return;
	}
	trace("%s is not asleep", a->name);
	fail("%s:%d: %s returned %s instead of sleeping", file, line, a->name,
	     error_name(a->ret));
}

/* ---- what may happen to an actor ---- */

void send_signal(struct actor *a, int sig)
{
	trace("%s gets SIG%s", a->name, sigabbrev_np(sig));
	if ((a->is_thread ? tgkill(a->pid, a->tid, sig) : kill(a->pid, sig)) !=
	    0)
		give_up("kill: %s", strerror(errno));
}

void stop(struct actor *a)
{
	int status;

	send_signal(a, SIGSTOP);
	if (waitpid(a->pid, &status, WUNTRACED) != a->pid ||
	    !WIFSTOPPED(status))
		give_up("%s does not stop", a->name);
}

void resume(struct actor *a)
{
	double deadline = deadline_in(PATIENCE);

	send_signal(a, SIGCONT);
	while (state_of(a->pid, a->tid) == 'T' && !is_over(deadline))
		pause_briefly();
}

static void reap(struct actor *a)
{
	if (waitpid(a->pid, NULL, 0) != a->pid)
		give_up("waitpid: %s", strerror(errno));
	a->is_alive = false;
}

void kill_actor(struct actor *a)
{
	trace("%s is killed", a->name);
	kill(a->pid, SIGKILL);
	reap(a);
	close(a->bell[1]);
}

void await_end(struct actor *a)
{
	reap(a);
	close(a->bell[1]);
	trace("%s has ended", a->name);
}

/* A thread that is about to end, by itself or cancelled. */
void join(struct actor *a)
{
	struct timespec limit;
	void *value = NULL;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += (time_t)PATIENCE;
	if (pthread_timedjoin_np(a->thread, &value, &limit) != 0)
		give_up("%s does not end (state %c)", a->name,
			state_of(a->pid, a->tid));
	a->is_alive = false;
	trace("%s %s", a->name,
	      value == PTHREAD_CANCELED ? "was cancelled" : "ended");
}

void cancel(struct actor *a)
{
	trace("%s is to be cancelled", a->name);
	pthread_cancel(a->thread);
	join(a);
}

void end_actors(void)
{
	for (int i = 1; i < used; i++) {
		struct actor *a = &actors[i];
		if (a->is_thread || !a->is_alive)
			continue;
		kill(a->pid, SIGKILL);
		waitpid(a->pid, NULL, 0);
	}
}

/* ---- the order in which tasks run ---- */

static int first_cpu(void)
{
	cpu_set_t set;

	sched_getaffinity(0, sizeof(set), &set);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set))
			return i;
	return 0;
}

static cpu_set_t cpus_before;

/* Until release_cpu() or until P0 sleeps, none of the listed actors runs. */
void hold_cpu(struct actor *const *list, int n)
{
	struct sched_param high = {.sched_priority = 10};
	cpu_set_t one;

	sched_getaffinity(0, sizeof(cpus_before), &cpus_before);
	CPU_ZERO(&one);
	CPU_SET(first_cpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one) != 0)
		give_up("sched_setaffinity: %s", strerror(errno));
	for (int i = 0; i < n; i++)
		if (sched_setaffinity(list[i]->tid, sizeof(one), &one) != 0)
			give_up("sched_setaffinity: %s", strerror(errno));
	if (sched_setscheduler(0, SCHED_FIFO, &high) != 0)
		give_up("sched_setscheduler: %s", strerror(errno));
}

void release_cpu(void)
{
	struct sched_param normal = {.sched_priority = 0};

	sched_setscheduler(0, SCHED_OTHER, &normal);
	sched_setaffinity(0, sizeof(cpus_before), &cpus_before);
}
