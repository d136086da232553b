/* SPDX-License-Identifier: MIT */
/* sem_time.c - semtimedop's limit, signals, stopping, cancellation. */
#define SUITE 4
#include "sets.h"

/* ---- the time limit ---- */

SCENARIO(timeout_order_of_checks, NEED_PRIVATE, "A-095 A-106")
{
	int s = new_set(1, 0600);
	const void *ops = &self()->buf;
	struct timespec *bad = &self()->timeout;

	self()->buf.ops[0] = (struct sembuf){0, 1, 0};
	EQ(timed_from(s, unmapped(), ops, 1), -EFAULT);
	EQ(timed_from(s, unmapped(), ops, 0), -EFAULT);
	EQ(timed_from(s, unmapped(), NULL, SEMOPM + 1), -EFAULT);
	EQ(timed_from(-1, at_page_end(sizeof(*bad) - 8), ops, 1), -EFAULT);
	*bad = (struct timespec){-1, 0};
	EQ(timed_from(s, bad, ops, SEMOPM + 1), -E2BIG);
	EQ(timed_from(s, bad, ops, 0), -EINVAL);
	EQ(timed_from(s, bad, NULL, 1), -EFAULT);
	EQ(timed_from(-1, bad, ops, 1), -EINVAL);
	EQ(timed_from(s + 1000, bad, ops, 1), -EINVAL);
	/* Even of an operation that need not wait, ... */
	EQ(timed_from(s, bad, ops, 1), -EINVAL);
	EQ(TIMED(s, IN(0, 1000000000), {0, 1, 0}), -EINVAL);
	EQ(TIMED(s, IN(0, -1), {0, 1, 0}), -EINVAL);
	EQ(TIMED(s, IN(-1, 999999999), {0, 1, 0}), -EINVAL);
	EQ(TIMED(s, IN(LONG_MIN, 0), {0, 1, 0}), -EINVAL);
	/* ... and before the number of the semaphore. */
	EQ(TIMED(s, IN(0, -1), {1, 1, 0}), -EINVAL);
	EQ(TIMED(s, IN(0, 0), {1, 1, 0}), -EFBIG);
	EQ(value_of(s, 0), 0);
}

SCENARIO(timeout_of_what_need_not_wait, NEED_NOTHING, "A-106")
{
	int s = new_set(1, 0600);

	EQ(TIMED(s, NULL, {0, 2, 0}), 0);
	EQ(TIMED(s, IN(0, 0), {0, -1, 0}), 0);
	EQ(TIMED(s, IN(5, 999999999), {0, -1, 0}), 0);
	EQ(TIMED(s, IN(0, 0), {0, 0, 0}), 0);
	EQ(TIMED(s, IN(LONG_MAX, 999999999), {0, 1, 0}), 0);
	EQ(TIMED(s, NULL, {0, -2, IPC_NOWAIT}), -EAGAIN);
}

/* Tried once. */
SCENARIO(timeout_of_zero, NEED_NOTHING, "A-106")
{
	int s = new_set(2, 0600);

	EQ(TIMED(s, IN(0, 0), {0, -1, 0}), -EAGAIN);
	EQ(TIMED(s, IN(0, 1), {0, -1, 0}), -EAGAIN);
	EQ(add(s, 1, 1), 0);
	EQ(TIMED(s, IN(0, 0), {1, 0, 0}), -EAGAIN);
	EQ(TIMED(s, IN(0, 0), {1, -1, 0}, {0, -1, 0}), -EAGAIN);
	EQ(TIMED(s, IN(0, 0), {0, 0, 0}, {1, -1, SEM_UNDO}, {0, -1, 0}),
	   -EAGAIN);
	EQ(get_values(s, 2), 0);
	EQ(ncnt_of(s, 0), 0);
	EQ(zcnt_of(s, 1), 0);
}

static long elapsed_ms(const struct timespec *from)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (t.tv_sec - from->tv_sec) * 1000 +
	       (t.tv_nsec - from->tv_nsec) / 1000000;
}

SCENARIO(timeout_runs_out, NEED_NOTHING, "A-106")
{
	struct timespec from;
	int s = new_set(2, 0600);

	clock_gettime(CLOCK_MONOTONIC, &from);
	EQ(TIMED(s, IN(0, 30000000), {0, -1, 0}), -EAGAIN);
	IS(elapsed_ms(&from) >= 30);
	EQ(add(s, 1, 1), 0);
	clock_gettime(CLOCK_MONOTONIC, &from);
	EQ(TIMED(s, IN(0, 30000000), {1, 0, 0}), -EAGAIN);
	EQ(TIMED(s, IN(0, 30000000), {1, -1, SEM_UNDO}, {0, -1, 0}), -EAGAIN);
	IS(elapsed_ms(&from) >= 60);
	/* Nothing of those is left. */
	EQ(get_values(s, 2), 0);
	EQ(got_value(1), 1);
	EQ(ncnt_of(s, 0) + zcnt_of(s, 1), 0);
	EQ(pid_of(s, 0), 0);
	EQ(add(s, 0, 1), 0);
	EQ(value_of(s, 0), 1);
}

SCENARIO(timeout_of_one_of_several, NEED_NOTHING, "A-106 A-114")
{
	struct actor *a = new_process(), *b = new_process(), *c = new_process();
	int s = new_set(1, 0600);

	START_ASLEEP(a, add(s, 0, -1));
	START(b, TIMED(s, IN(0, 20000000), {0, -1, 0}));
	EQ(finish(b), -EAGAIN);
	START_ASLEEP(c, add(s, 0, -1));
	EQ(add(s, 0, 1), 0);
	EQ(finish(a), 0);
	ASLEEP(c);
	EQ(add(s, 0, 1), 0);
	EQ(finish(c), 0);
}

SCENARIO(timeout_that_is_long_enough, NEED_NOTHING, "A-106 A-105")
{
	struct actor *a = new_process(), *b = new_process(), *c = new_process();
	int s = new_set(1, 0600);

	START_ASLEEP(a, TIMED(s, IN(1000, 0), {0, -1, 0}));
	START_ASLEEP(b, TIMED(s, IN(LONG_MAX, 999999999), {0, -1, 0}));
	START_ASLEEP(c, TIMED(s, IN(1L << 40, 0), {0, -1, 0}));
	EQ(ncnt_of(s, 0), 3);
	EQ(add(s, 0, 3), 0);
	EQ(finish(a), 0);
	EQ(finish(b), 0);
	EQ(finish(c), 0);
}

/* Other sleepers come and go; the limit is not drawn out by that. */
SCENARIO(timeout_is_not_begun_again, NEED_NOTHING, "A-106")
{
	struct actor *a = new_process();
	int s = new_set(1, 0600);

	START(a, TIMED(s, IN(0, 100000000), {0, -2, 0}));
	for (int i = 0; i < 100000 && is_asleep(a); i++) {
		EQ(backend()->semop(s, &(struct sembuf){0, 1, 0}, 1), 0);
		EQ(backend()->semop(s, &(struct sembuf){0, -1, 0}, 1), 0);
	}
	EQ(finish(a), -EAGAIN);
}

/* ---- signals ---- */

SCENARIO(sleeper_interrupted, NEED_NOTHING, "A-107")
{
	struct actor *p = new_process();
	int s = new_set(2, 0600);

	BY(p, run("handle", handle, SIGUSR1));
	BY(p, run("handle_restart", handle_restart, SIGUSR2));
	START_ASLEEP(p, add(s, 0, -1));
	send_signal(p, SIGUSR1);
	EQ(finish(p), -EINTR);
	START_ASLEEP(p, add(s, 0, -1));
	send_signal(p, SIGUSR2);
	EQ(finish(p), -EINTR);
	START_ASLEEP(p, TIMED(s, IN(1000, 0), {0, -1, 0}));
	send_signal(p, SIGUSR2);
	EQ(finish(p), -EINTR);
	START_ASLEEP(p, OP(s, {1, 1, SEM_UNDO}, {0, -1, 0}));
	send_signal(p, SIGUSR1);
	EQ(finish(p), -EINTR);
	EQ(atomic_load(&p->hits), 4);
	EQ(ncnt_of(s, 0), 0);
	EQ(add(s, 0, 1), 0);
	EQ(get_values(s, 2), 0);
	EQ(got_value(0), 1);
	EQ(got_value(1), 0);
}

SCENARIO(sleeper_for_zero_interrupted, NEED_NOTHING, "A-107 A-129")
{
	struct actor *p = new_process();
	int s = new_set(1, 0600);

	EQ(add(s, 0, 1), 0);
	BY(p, run("handle_restart", handle_restart, SIGUSR1));
	START_ASLEEP(p, OP(s, {0, 0, 0}));
	send_signal(p, SIGUSR1);
	EQ(finish(p), -EINTR);
	EQ(zcnt_of(s, 0), 0);
	EQ(pid_of(s, 0), self()->pid);
}

SCENARIO(sleeper_does_not_see_ignored_signals, NEED_NOTHING, "A-107")
{
	struct actor *p = new_process();
	int s = new_set(1, 0600);

	BY(p, run("ignore", ignore, SIGUSR1));
	START_ASLEEP(p, add(s, 0, -1));
	send_signal(p, SIGUSR1);
	ASLEEP(p);
	send_signal(p, SIGCHLD);
	ASLEEP(p);
	send_signal(p, SIGCONT);
	ASLEEP(p);
	EQ(ncnt_of(s, 0), 1);
	EQ(add(s, 0, 1), 0);
	EQ(finish(p), 0);
}

SCENARIO(sleeping_thread_interrupted, NEED_NOTHING, "A-107")
{
	struct actor *t = new_thread(), *u = new_thread();
	int s = new_set(1, 0600);

	run("handle_restart", handle_restart, SIGUSR1);
	START_ASLEEP(t, add(s, 0, -1));
	START_ASLEEP(u, add(s, 0, -1));
	send_signal(t, SIGUSR1);
	EQ(finish(t), -EINTR);
	ASLEEP(u);
	EQ(add(s, 0, 1), 0);
	EQ(finish(u), 0);
}

/* Served, then signalled, and only then running again. */
SCENARIO(granted_and_signalled, NEED_FIFO, "A-107")
{
	struct actor *p = new_process();
	int s = new_set(1, 0600);

	BY(p, run("handle", handle, SIGUSR1));
	START_ASLEEP(p, add(s, 0, -1));
	hold_cpu(&p, 1);
	EQ(add(s, 0, 1), 0);
	send_signal(p, SIGUSR1);
	release_cpu();
	EQ(finish(p), 0);
	EQ(atomic_load(&p->hits), 1);
	EQ(value_of(s, 0), 0);
}

/* ---- handlers that make calls ---- */

static int handler_set;

static void add_from_handler(int sig)
{
	(void)sig;
	(void)backend()->semop(handler_set, &(struct sembuf){0, 1, 0}, 1);
}

static void remove_from_handler(int sig)
{
	(void)sig;
	(void)backend()->semctl(handler_set, 0, IPC_RMID, 0);
}

static long add_when_signalled(long sig)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = add_from_handler;
	sa.sa_flags = SA_RESTART;
	return sigaction((int)sig, &sa, NULL) == 0 ? 0 : -errno;
}

static long remove_when_signalled(long sig)
{
	signal((int)sig, remove_from_handler);
	return 0;
}

/* It waited for just that, yet it has left the queue for the handler. */
SCENARIO(handler_adds_for_its_own_sleeper, NEED_NOTHING, "A-180 A-107")
{
	handler_set = new_set(1, 0600);
	struct actor *p = new_process(), *other = new_process();

	BY(p, run("handler", add_when_signalled, SIGUSR1));
	START_ASLEEP(p, add(handler_set, 0, -1));
	send_signal(p, SIGUSR1);
	EQ(finish(p), -EINTR);
	EQ(value_of(handler_set, 0), 1);
	EQ(add(handler_set, 0, -1), 0);
	START_ASLEEP(p, add(handler_set, 0, -1));
	START_ASLEEP(other, add(handler_set, 0, -1));
	send_signal(p, SIGUSR1);
	EQ(finish(p), -EINTR);
	EQ(finish(other), 0);
}

SCENARIO(handler_removes_the_set, NEED_NOTHING, "A-180 A-120")
{
	handler_set = new_set(1, 0600);
	struct actor *p = new_process(), *other = new_process();

	BY(p, run("handler", remove_when_signalled, SIGUSR1));
	START_ASLEEP(p, add(handler_set, 0, -1));
	START_ASLEEP(other, add(handler_set, 0, -1));
	send_signal(p, SIGUSR1);
	EQ(finish(p), -EINTR);
	EQ(finish(other), -EIDRM);
}

/* ---- stopped ---- */

/* That it goes on is not noticed, and it sleeps on. */
SCENARIO(stopped_sleeper_goes_on, NEED_NOTHING, "A-107 A-108")
{
	struct actor *p = new_process();
	int s = new_set(1, 0600);

	BY(p, run("handle", handle, SIGUSR1));
	START_ASLEEP(p, add(s, 0, -1));
	stop(p);
	resume(p);
	EXPECT_DIFFERS("A-107", is_asleep(p), 0, 1);
	send_signal(p, SIGUSR1);
	EQ(finish(p), -EINTR);
	EQ(ncnt_of(s, 0), 0);
	EQ(add(s, 0, 1), 0);
	EQ(value_of(s, 0), 1);
}

SCENARIO(stopped_sleeper_is_not_granted, NEED_NOTHING, "A-108")
{
	struct actor *p = new_process(), *q = new_process();
	int s = new_set(1, 0600);

	START_ASLEEP(p, add(s, 0, -1));
	START_ASLEEP(q, add(s, 0, -1));
	stop(p);
	EQ(ncnt_of(s, 0), 1);
	EQ(add(s, 0, 1), 0);
	EQ(finish(q), 0);
	resume(p);
	EQ(finish(p), -EINTR);
	EQ(value_of(s, 0), 0);
}

SCENARIO(stopped_sleeper_is_not_counted, NEED_NOTHING, "A-108 A-129")
{
	struct actor *p = new_process();
	int s = new_set(1, 0600);

	EQ(add(s, 0, 1), 0);
	START_ASLEEP(p, OP(s, {0, 0, 0}));
	EQ(zcnt_of(s, 0), 1);
	stop(p);
	EQ(zcnt_of(s, 0), 0);
	EQ(add(s, 0, -1), 0);
	EQ(pid_of(s, 0), self()->pid);
	resume(p);
	EQ(finish(p), -EINTR);
}

SCENARIO(stopped_and_killed_sleeper, NEED_NOTHING, "A-108 A-109")
{
	struct actor *p = new_process();
	int s = new_set(1, 0600);

	START_ASLEEP(p, add(s, 0, -1));
	stop(p);
	kill_actor(p);
	EQ(add(s, 0, 1), 0);
	EQ(value_of(s, 0), 1);
	EQ(ncnt_of(s, 0), 0);
}

/* ---- cancellation: libc's, so not of the raw calls ---- */

SCENARIO(semop_is_no_cancellation_point, NEED_NOTHING, "A-179")
{
	use_libc_names();
	struct actor *t = new_thread();
	int s = new_set(1, 0600);

	START_ASLEEP(t, add(s, 0, -1));
	pthread_cancel(t->thread);
	ASLEEP(t);
	EQ(ncnt_of(s, 0), 1);
	EQ(add(s, 0, 1), 0);
	EQ(finish(t), 0);
	join(t);
	EQ(value_of(s, 0), 0);
}
