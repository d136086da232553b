/* SPDX-License-Identifier: MIT */
/* sem_undo.c - SEM_UNDO: adjustments, and what becomes of them. */
#define SUITE 4
#include "sets.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- ways to end ---- */

static long end_by_exit(long status)
{
	exit((int)status);
}

static long end_by__exit(long status)
{
	_exit((int)status);
}

static long end_by_abort(long arg)
{
	(void)arg;
	signal(SIGABRT, SIG_DFL);
	raise(SIGABRT);
	return 0;
}

static long end_by_fault(long arg)
{
	(void)arg;
	signal(SIGSEGV, SIG_DFL);
	*(volatile char *)unmapped() = 1;
	return 0;
}

static long end_thread(long arg)
{
	(void)arg;
	pthread_exit(NULL);
}

SCENARIO(undo_at_every_kind_of_end, NEED_NOTHING, "A-138 A-137 A-143")
{
	static const struct {
		const char *name;
		long (*fn)(long);
	} ends[] = {
		{"exit", end_by_exit},
		{"_exit", end_by__exit},
		{"abort", end_by_abort},
		{"fault", end_by_fault},
	};
	int s = new_set(2, 0600);

	EQ(SET_ALL(s, 10, 10), 0);
	for (int i = 0; i < 4; i++) {
		struct actor *p = new_process();
		EQ(BY(p, OP(s, {0, -3, SEM_UNDO}, {1, 4, SEM_UNDO})), 0);
		EQ(get_values(s, 2), 0);
		EQ(got_value(0), 7);
		EQ(got_value(1), 14);
		START(p, run(ends[i].name, ends[i].fn, 0));
		await_end(p);
		EQ(get_values(s, 2), 0);
		EQ(got_value(0), 10);
		EQ(got_value(1), 10);
		EQ(pid_of(s, 0), p->pid);
		EQ(pid_of(s, 1), p->pid);
	}
}

SCENARIO(undo_of_killed, NEED_NOTHING, "A-138 A-139")
{
	static const int signals[] = {SIGKILL, SIGTERM, SIGSEGV, SIGHUP};
	int s = new_set(1, 0600);

	EQ(add(s, 0, 5), 0);
	for (int i = 0; i < 4; i++) {
		struct actor *p = new_process();
		EQ(BY(p, OP(s, {0, -1, SEM_UNDO})), 0);
		EQ(BY(p, OP(s, {0, -1, SEM_UNDO})), 0);
		EQ(BY(p, OP(s, {0, -1, 0})), 0);
		send_signal(p, signals[i]);
		await_end(p);
		EQ(value_of(s, 0), 4);
		EQ(add(s, 0, 1), 0);
	}
}

/* Whoever sees its pipe closed sees what it undid; nobody has reaped it. */
SCENARIO(undo_is_seen_with_end_of_file, NEED_NOTHING, "A-139")
{
	int s = new_set(1, 0600);

	EQ(add(s, 0, 1), 0);
	for (int i = 0; i < 10; i++) {
		int fd[2];
		char c;
		if (pipe2(fd, O_CLOEXEC) != 0)
			give_up("pipe: %s", strerror(errno));
		struct actor *p = new_process();
		close(fd[1]);
		EQ(BY(p, OP(s, {0, -1, SEM_UNDO})), 0);
		EQ(value_of(s, 0), 0);
		kill(p->pid, i % 2 ? SIGKILL : SIGTERM);
		EQ(read(fd[0], &c, 1), 0);
		EQ(value_of(s, 0), 1);
		close(fd[0]);
		kill_actor(p);
	}
}

SCENARIO(undo_is_seen_by_semop, NEED_NOTHING, "A-139 A-138")
{
	int s = new_set(1, 0600);

	EQ(add(s, 0, 1), 0);
	for (int i = 0; i < 5; i++) {
		struct actor *p = new_process();
		EQ(BY(p, OP(s, {0, -1, SEM_UNDO})), 0);
		EQ(OP(s, {0, -1, IPC_NOWAIT}), -EAGAIN);
		kill_actor(p);
		EQ(OP(s, {0, -1, IPC_NOWAIT}), 0);
		EQ(add(s, 0, 1), 0);
	}
}

SCENARIO(undo_wakes_sleepers, NEED_NOTHING, "A-146 A-119 A-138")
{
	int s = new_set(2, 0600);
	struct actor *holder = new_process(), *taker, *z, *both;

	EQ(add(s, 0, 2), 0);
	EQ(BY(holder, OP(s, {0, -2, SEM_UNDO}, {1, 3, SEM_UNDO})), 0);
	taker = sleeper(s, 0, -1, 0);
	z = sleeper(s, 1, 0, 0);
	both = SLEEPER(s, {0, -1, 0}, {1, 0, 0});
	kill_actor(holder);
	EQ(finish(taker), 0);
	EQ(finish(z), 0);
	EQ(finish(both), 0);
	EQ(get_values(s, 2), 0);
	EQ(pid_of(s, 0), both->pid);
	EQ(pid_of(s, 1), both->pid);
}

/* Each that is freed dies, too, and frees the next. */
SCENARIO(undo_passes_a_lock_on, NEED_NOTHING, "A-146 A-138")
{
	struct actor *p[6];
	int s = new_set(1, 0600);

	EQ(add(s, 0, 1), 0);
	p[0] = new_process();
	EQ(BY(p[0], OP(s, {0, -1, SEM_UNDO})), 0);
	for (int i = 1; i < 6; i++)
		p[i] = sleeper(s, 0, -1, SEM_UNDO);
	for (int i = 0; i < 5; i++) {
		kill_actor(p[i]);
		EQ(finish(p[i + 1]), 0);
		EQ(pid_of(s, 0), p[i + 1]->pid);
	}
	kill_actor(p[5]);
	EQ(value_of(s, 0), 1);
}

SCENARIO(undo_of_granted_and_killed, NEED_FIFO, "A-138 A-109")
{
	int s = new_set(1, 0600);
	struct actor *p = sleeper(s, 0, -1, SEM_UNDO);

	hold_cpu(&p, 1);
	EQ(add(s, 0, 1), 0);
	EQ(value_of(s, 0), 0);
	kill(p->pid, SIGKILL);
	release_cpu();
	kill_actor(p);
	EQ(value_of(s, 0), 1);
}

/* A sleeper that holds nothing yet has nothing to undo. */
SCENARIO(undo_of_sleeper_not_granted, NEED_NOTHING, "A-138 A-109")
{
	int s = new_set(2, 0600);
	struct actor *p = SLEEPER(s, {1, 4, SEM_UNDO}, {0, -1, SEM_UNDO});

	kill_actor(p);
	EQ(get_values(s, 2), 0);
	EQ(got_value(0) + got_value(1), 0);
	EQ(pid_of(s, 0), 0);
	p = sleeper(s, 0, -1, SEM_UNDO);
	EQ(remove_set(s), 0);
	EQ(finish(p), -EIDRM);
}

/* ---- sums and clamping ---- */

SCENARIO(undo_is_clamped, NEED_NOTHING, "A-137")
{
	struct actor *p = new_process(), *q = new_process();
	int s = new_set(2, 0600);

	/* Not above the greatest value, ... */
	EQ(set_value(s, 0, 100), 0);
	EQ(BY(p, OP(s, {0, -100, SEM_UNDO})), 0);
	EQ(add(s, 0, 32700), 0);
	kill_actor(p);
	EQ(value_of(s, 0), 32767);
	/* ... nor below zero. */
	EQ(BY(q, OP(s, {1, 100, SEM_UNDO})), 0);
	EQ(add(s, 1, -40), 0);
	kill_actor(q);
	EQ(value_of(s, 1), 0);
	EQ(pid_of(s, 1), q->pid);
}

SCENARIO(undo_sum_has_limits, NEED_NOTHING, "A-136 A-100")
{
	struct actor *p = new_process();
	int s = new_set(2, 0600);

	EQ(BY(p, OP(s, {0, 32767, SEM_UNDO})), 0);
	EQ(BY(p, OP(s, {0, -32767, 0})), 0);
	/* -32767 so far, and one more fits. */
	EQ(BY(p, OP(s, {0, 2, SEM_UNDO})), -ERANGE);
	EQ(value_of(s, 0), 0);
	EQ(BY(p, OP(s, {0, 1, SEM_UNDO})), 0);
	EQ(BY(p, OP(s, {0, 1, SEM_UNDO})), -ERANGE);
	EQ(BY(p, OP(s, {0, 1, 0})), 0);
	EQ(value_of(s, 0), 2);
	/* The other way the limit is 32767. */
	EQ(BY(p, OP(s, {1, 32767, 0})), 0);
	EQ(BY(p, OP(s, {1, -32767, SEM_UNDO})), 0);
	EQ(BY(p, OP(s, {1, 1, 0})), 0);
	EQ(BY(p, OP(s, {1, -1, SEM_UNDO})), -ERANGE);
	EQ(value_of(s, 1), 1);
	EQ(OP(s, {1, -1, 0}), 0);
	kill_actor(p);
	EQ(get_values(s, 2), 0);
	EQ(got_value(0), 0);
	EQ(got_value(1), 32767);
}

/* All of it within one call, and before what comes behind it. */
SCENARIO(undo_sum_within_one_call, NEED_NOTHING, "A-136 A-101")
{
	struct actor *p = new_process();
	int s = new_set(2, 0600);

	EQ(set_value(s, 0, 32767), 0);
	EQ(BY(p,
	      OP(s, {0, -32767, SEM_UNDO}, {0, 32767, 0}, {0, -1, SEM_UNDO})),
	   -ERANGE);
	EQ(value_of(s, 0), 32767);
	EQ(BY(p, OP(s, {0, -32767, SEM_UNDO}, {0, 32767, SEM_UNDO},
		    {0, -1, SEM_UNDO})),
	   0);
	EQ(BY(p, OP(s, {1, -1, IPC_NOWAIT}, {0, -32766, SEM_UNDO},
		    {0, 30000, 0}, {0, -9, SEM_UNDO})),
	   -EAGAIN);
	EQ(BY(p, OP(s, {0, -32766, SEM_UNDO}, {0, 30000, 0}, {0, -9, SEM_UNDO},
		    {1, -1, IPC_NOWAIT})),
	   -ERANGE);
	kill_actor(p);
	EQ(value_of(s, 0), 32767);
}

SCENARIO(undo_sum_found_asleep, NEED_NOTHING, "A-136 A-103")
{
	struct actor *p = new_process();
	int s = new_set(2, 0600);

	EQ(BY(p, OP(s, {0, 32767, SEM_UNDO})), 0);
	EQ(add(s, 0, -32767), 0);
	START_ASLEEP(p, OP(s, {1, -1, 0}, {0, 2, SEM_UNDO}));
	EQ(add(s, 1, 1), 0);
	EQ(finish(p), -ERANGE);
	EQ(value_of(s, 1), 1);
	EQ(value_of(s, 0), 0);
}

SCENARIO(undo_that_comes_to_nothing, NEED_NOTHING, "A-143 A-135")
{
	struct actor *p = new_process(), *q = new_process();
	int s = new_set(3, 0600);

	EQ(BY(p, OP(s, {0, 5, SEM_UNDO})), 0);
	EQ(BY(p, OP(s, {0, -5, SEM_UNDO})), 0);
	EQ(BY(p, OP(s, {1, 0, SEM_UNDO})), 0);
	EQ(BY(q, add(s, 0, 3)), 0);
	EQ(BY(q, add(s, 1, 3)), 0);
	kill_actor(p);
	EQ(value_of(s, 0), 3);
	EQ(value_of(s, 1), 3);
	EQ(pid_of(s, 0), q->pid);
	EQ(pid_of(s, 1), q->pid);
	EQ(pid_of(s, 2), 0);
}

SCENARIO(undo_of_calls_that_failed, NEED_NOTHING, "A-135 A-099")
{
	struct actor *p = new_process();
	int s = new_set(2, 0600);

	EQ(add(s, 0, 1), 0);
	EQ(BY(p, OP(s, {0, 5, SEM_UNDO}, {1, -1, IPC_NOWAIT | SEM_UNDO})),
	   -EAGAIN);
	EQ(BY(p, OP(s, {0, 5, SEM_UNDO}, {2, 1, SEM_UNDO})), -EFBIG);
	EQ(BY(p, OP(s, {0, 5, SEM_UNDO}, {0, 32767, SEM_UNDO})), -ERANGE);
	EQ(BY(p, TIMED(s, IN(0, 0), {0, 5, SEM_UNDO}, {1, -1, SEM_UNDO})),
	   -EAGAIN);
	kill_actor(p);
	EQ(value_of(s, 0), 1);
	EQ(value_of(s, 1), 0);
	EQ(pid_of(s, 0), self()->pid);
}

SCENARIO(undo_flag_of_each_operation, NEED_NOTHING, "A-136")
{
	struct actor *p = new_process();
	int s = new_set(3, 0600);

	EQ(BY(p, OP(s, {0, 5, SEM_UNDO}, {1, 5, 0}, {2, 5, SEM_UNDO},
		    {2, -2, 0}, {0, -1, 0})),
	   0);
	kill_actor(p);
	EQ(get_values(s, 3), 0);
	EQ(got_value(0), 0);
	EQ(got_value(1), 5);
	EQ(got_value(2), 0);
}

/* Even if the owner lost the right, or the name. */
SCENARIO(undo_needs_no_permission, NEED_ROOT, "A-137")
{
	struct actor *p = new_process();
	int s = new_set(1, 0600);

	EQ(add(s, 0, 1), 0);
	EQ(BY(p, OP(s, {0, -1, SEM_UNDO})), 0);
	EQ(set_set_mode(s, 0), 0);
	BY(p, run("become", become, NOBODY));
	EQ(BY(p, add(s, 0, 1)), -EACCES);
	kill_actor(p);
	EQ(value_of(s, 0), 1);
	EQ(pid_of(s, 0), p->pid);
}

SCENARIO(undo_sets_time, NEED_NOTHING, "A-143 A-144")
{
	struct actor *p = new_process(), *q = new_process();
	int s = new_set(1, 0600);

	EQ(BY(p, OP(s, {0, 1, SEM_UNDO})), 0);
	EQ(BY(q, OP(s, {0, 0, SEM_UNDO | IPC_NOWAIT})), -EAGAIN);
	struct semid_ds ds = set_stat_of(s);
	time_t then = ds.sem_otime, made = ds.sem_ctime;
	next_second();
	kill_actor(p);
	ds = set_stat_of(s);
	IS(ds.sem_otime > then);
	EQ(ds.sem_ctime == made, 1);
}

/* ---- several sets, many semaphores, many processes ---- */

SCENARIO(undo_of_several_sets, NEED_NOTHING, "A-144 A-147")
{
	struct actor *p = new_process();
	int s[20];

	for (int i = 0; i < 20; i++) {
		s[i] = new_set(3, 0600);
		EQ(BY(p, OP(s[i], {(unsigned short)(i % 3), 2, SEM_UNDO})), 0);
	}
	EQ(remove_set(s[7]), 0);
	EQ(BY(p, OP(s[3], {2, 1, SEM_UNDO})), 0);
	kill_actor(p);
	for (int i = 0; i < 20; i++)
		if (i != 7)
			EQ(get_values(s[i], 3), 0);
}

SCENARIO(undo_of_many_semaphores, NEED_NOTHING, "A-144 A-136")
{
	struct actor *p = new_process();
	struct sembuf *o = p->buf.ops;
	int s = new_set(1000, 0600);

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < SEMOPM; i++)
			o[i] = (struct sembuf){(unsigned short)(round * SEMOPM +
								i),
					       (short)(1 + i % 5), SEM_UNDO};
		EQ(BY(p, op_from(s, o, SEMOPM)), 0);
	}
	EQ(get_values(s, 1000), 0);
	EQ(add(s, 999, 1), 0);
	kill_actor(p);
	EQ(get_values(s, 1000), 0);
	EQ(got_value(0) + got_value(500) + got_value(998), 0);
	EQ(got_value(999), 1);
}

/* Within a set all is put back first, then sleepers are served. */
SCENARIO(undo_adjusts_all_before_it_wakes, NEED_NOTHING, "A-144 A-146")
{
	struct actor *p = new_process();
	int s = new_set(2, 0600);

	EQ(add(s, 0, 1), 0);
	EQ(BY(p, OP(s, {0, -1, SEM_UNDO}, {1, 1, SEM_UNDO})), 0);
	struct actor *a = SLEEPER(s, {0, -1, 0}, {1, -1, 0});
	struct actor *b = sleeper(s, 0, -1, 0);
	kill_actor(p);
	/* When semaphore 0 was back, 1 was gone. */
	EQ(finish(b), 0);
	ASLEEP(a);
	EQ(ncnt_of(s, 0), 1);
}

SCENARIO(undo_of_many_processes, NEED_NOTHING, "A-147 A-138")
{
	struct actor *p[40];
	int s = new_set(2, 0600);

	EQ(add(s, 0, 100), 0);
	for (int i = 0; i < 40; i++) {
		p[i] = new_process();
		EQ(BY(p[i], OP(s, {0, -2, SEM_UNDO}, {1, 1, SEM_UNDO})), 0);
	}
	EQ(value_of(s, 0), 20);
	for (int i = 0; i < 40; i++) {
		kill_actor(p[(i * 7) % 40]);
		EQ(value_of(s, 0), 22 + 2 * i);
	}
	EQ(value_of(s, 1), 0);
}

SCENARIO(undo_of_several_dead_at_once, NEED_NOTHING, "A-138 A-139")
{
	struct actor *p[10];
	int s = new_set(1, 0600);

	EQ(add(s, 0, 10), 0);
	for (int i = 0; i < 10; i++) {
		p[i] = new_process();
		EQ(BY(p[i], OP(s, {0, -1, SEM_UNDO})), 0);
	}
	for (int i = 0; i < 10; i++)
		kill(p[i]->pid, SIGKILL);
	for (int i = 0; i < 10; i++)
		kill_actor(p[i]);
	EQ(value_of(s, 0), 10);
}

/* ---- SETVAL, SETALL, IPC_RMID ---- */

SCENARIO(setval_clears_adjustments, NEED_NOTHING, "A-126")
{
	struct actor *p = new_process(), *q = new_process();
	int s = new_set(2, 0600);

	EQ(SET_ALL(s, 5, 5), 0);
	EQ(BY(p, OP(s, {0, -1, SEM_UNDO}, {1, -1, SEM_UNDO})), 0);
	EQ(BY(q, OP(s, {0, -2, SEM_UNDO}, {1, -2, SEM_UNDO})), 0);
	EQ(set_value(s, 0, 20), 0);
	EQ(BY(p, OP(s, {0, -3, SEM_UNDO})), 0);
	kill_actor(q);
	EQ(value_of(s, 0), 17);
	EQ(value_of(s, 1), 4);
	kill_actor(p);
	EQ(value_of(s, 0), 20);
	EQ(value_of(s, 1), 5);
}

SCENARIO(setall_clears_adjustments, NEED_NOTHING, "A-126")
{
	struct actor *p = new_process(), *q = new_process();
	int s = new_set(3, 0600);

	EQ(BY(p, OP(s, {0, 1, SEM_UNDO}, {2, 1, SEM_UNDO})), 0);
	EQ(BY(q, OP(s, {1, 1, SEM_UNDO}, {2, 1, SEM_UNDO})), 0);
	EQ(SET_ALL(s, 7, 8, 9), 0);
	kill_actor(p);
	kill_actor(q);
	EQ(get_values(s, 3), 0);
	EQ(got_value(0), 7);
	EQ(got_value(1), 8);
	EQ(got_value(2), 9);
	EQ(pid_of(s, 2), self()->pid);
}

/* Who is completed by the SETVAL itself has its adjustment afterwards. */
SCENARIO(setval_and_the_sleeper_it_serves, NEED_NOTHING, "A-126 A-119")
{
	int s = new_set(1, 0600);
	struct actor *p = sleeper(s, 0, -1, SEM_UNDO);

	EQ(set_value(s, 0, 1), 0);
	EQ(finish(p), 0);
	EQ(value_of(s, 0), 0);
	kill_actor(p);
	EQ(value_of(s, 0), 1);
}

SCENARIO(failed_setting_clears_nothing, NEED_NOTHING, "A-126 A-125")
{
	struct actor *p = new_process();
	int s = new_set(1, 0600);

	EQ(BY(p, OP(s, {0, 5, SEM_UNDO})), 0);
	EQ(set_value(s, 0, 32768), -ERANGE);
	EQ(SET_ALL(s, 40000), -ERANGE);
	EQ(set_value(s, 1, 3), -EINVAL);
	kill_actor(p);
	EQ(value_of(s, 0), 0);
}

SCENARIO(removal_forgets_adjustments, NEED_NOTHING, "A-145")
{
	struct actor *p = new_process();
	long s = get_set(key_of(1), 1, IPC_CREAT | 0600);

	EQ(BY(p, OP((int)s, {0, 5, SEM_UNDO})), 0);
	EQ(remove_set((int)s), 0);
	s = get_set(key_of(1), 1, IPC_CREAT | 0600);
	EQ(add((int)s, 0, 20), 0);
	/* It may well begin with the new one. */
	EQ(BY(p, OP((int)s, {0, 1, SEM_UNDO})), 0);
	kill_actor(p);
	EQ(value_of((int)s, 0), 20);
}

/* ---- threads ---- */

SCENARIO(undo_and_the_end_of_a_thread, NEED_NOTHING, "A-140")
{
	struct actor *t = new_thread();
	int s = new_set(1, 0600);

	EQ(add(s, 0, 3), 0);
	EQ(BY(t, OP(s, {0, -1, SEM_UNDO})), 0);
	START(t, run("end", end_thread, 0));
	join(t);
	EQ(value_of(s, 0), 2);
	EQ(pid_of(s, 0), self()->pid);
}

static int used_set;

static void *act(void *delta)
{
	struct sembuf o = {0, *(short *)delta, SEM_UNDO};

	(void)backend()->semop(used_set, &o, 1);
	return NULL;
}

static long act_in_threads(long n)
{
	for (long i = 0; i < n; i++) {
		short delta = (short)(i % 2 ? 1 : -3);
		pthread_t t;
		if (pthread_create(&t, NULL, act, &delta) != 0)
			return -EAGAIN;
		pthread_join(t, NULL);
	}
	return 0;
}

/* One list for all of them, and each adds to it. */
SCENARIO(undo_is_shared_by_threads, NEED_NOTHING, "A-140 A-136")
{
	used_set = new_set(1, 0600);
	struct actor *p = new_process();

	EQ(add(used_set, 0, 20), 0);
	EQ(BY(p, run("act in threads", act_in_threads, 5)), 0);
	EQ(value_of(used_set, 0), 13);
	EQ(BY(p, OP(used_set, {0, -1, SEM_UNDO})), 0);
	EQ(value_of(used_set, 0), 12);
	kill_actor(p);
	EQ(value_of(used_set, 0), 20);
}

static void *act_and_wait(void *delta)
{
	act(delta);
	for (;;)
		pause();
	return NULL;
}

static long act_in_thread_and_exit(long set)
{
	static short delta = -1;
	pthread_t t;

	used_set = (int)set;
	if (pthread_create(&t, NULL, act_and_wait, &delta) != 0)
		return -EAGAIN;
	while (backend()->semctl(used_set, 0, GETVAL, 0) != 0)
		usleep(50);
	/* The main thread goes; the process lives on in the other. */
	pthread_exit(NULL);
}

SCENARIO(undo_waits_for_the_last_thread, NEED_NOTHING, "A-140 A-138")
{
	struct actor *p = new_process();
	int s = new_set(1, 0600);

	EQ(add(s, 0, 1), 0);
	START(p, run("act and exit", act_in_thread_and_exit, s));
	for (int i = 0; i < 20000 && peek_value(s, 0) != 0; i++)
		usleep(50);
	EQ(value_of(s, 0), 0);
	EQ(pid_of(s, 0), p->pid);
	kill_actor(p);
	EQ(value_of(s, 0), 1);
}

SCENARIO(undo_of_a_sleeping_thread, NEED_NOTHING, "A-140 A-105")
{
	struct actor *t = new_thread(), *p = new_process();
	int s = new_set(1, 0600);

	START_ASLEEP(t, OP(s, {0, -1, SEM_UNDO}));
	EQ(BY(p, add(s, 0, 1)), 0);
	EQ(finish(t), 0);
	START(t, run("end", end_thread, 0));
	join(t);
	/* The list is the process's: what it adds now nets out. */
	EQ(OP(s, {0, 1, SEM_UNDO}), 0);
	EQ(value_of(s, 0), 1);
}

/* ---- fork, vfork, exec ---- */

static long wait_child(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static long fork_idle(long arg)
{
	(void)arg;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return wait_child(pid);
}

static long fork_and_act(long delta)
{
	pid_t pid = fork();

	if (pid == 0) {
		short d = (short)delta;
		act(&d);
		_exit(backend()->semctl(used_set, 0, GETVAL, 0) & 0x7f);
	}
	return wait_child(pid);
}

static long vfork_idle(long arg)
{
	(void)arg;
	pid_t pid = vfork();

	if (pid == 0)
		_exit(0);
	return wait_child(pid);
}

static long vfork_and_act(long delta)
{
	struct sembuf o = {0, (short)delta, SEM_UNDO};
	pid_t pid = vfork();

	if (pid == 0) {
		(void)backend()->semop(used_set, &o, 1);
		_exit(backend()->semctl(used_set, 0, GETVAL, 0) & 0x7f);
	}
	return wait_child(pid);
}

static long vfork_and_exec(long arg)
{
	(void)arg;
	pid_t pid = vfork();

	if (pid == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	return wait_child(pid);
}

SCENARIO(undo_is_not_inherited_by_fork, NEED_NOTHING, "A-141")
{
	used_set = new_set(1, 0600);
	struct actor *p = new_process();

	EQ(add(used_set, 0, 10), 0);
	EQ(BY(p, OP(used_set, {0, -1, SEM_UNDO})), 0);
	EQ(BY(p, run("fork", fork_idle, 0)), 0);
	EQ(value_of(used_set, 0), 9);
	EQ(BY(p, run("fork and act", fork_and_act, -4)), 5);
	EQ(value_of(used_set, 0), 9);
	/* The child's limit is its own, as well. */
	EQ(BY(p, run("fork and act", fork_and_act, 1)), 10);
	EQ(value_of(used_set, 0), 9);
	kill_actor(p);
	EQ(value_of(used_set, 0), 10);
}

SCENARIO(undo_is_not_inherited_by_vfork, NEED_NOTHING, "A-141")
{
	used_set = new_set(1, 0600);
	struct actor *p = new_process();

	EQ(add(used_set, 0, 10), 0);
	EQ(BY(p, OP(used_set, {0, -1, SEM_UNDO})), 0);
	EQ(BY(p, run("vfork", vfork_idle, 0)), 0);
	EQ(value_of(used_set, 0), 9);
	EQ(BY(p, run("vfork and exec", vfork_and_exec, 0)), 0);
	EQ(value_of(used_set, 0), 9);
	kill_actor(p);
	EQ(value_of(used_set, 0), 10);
}

SCENARIO(undo_of_a_vfork_child, NEED_NOTHING, "A-141 A-180")
{
	used_set = new_set(1, 0600);
	struct actor *p = new_process();

	EQ(add(used_set, 0, 10), 0);
	EQ(BY(p, OP(used_set, {0, -1, SEM_UNDO})), 0);
	EQ(BY(p, run("vfork and act", vfork_and_act, -4)), 5);
	EQ(value_of(used_set, 0), 9);
	kill_actor(p);
	EQ(value_of(used_set, 0), 10);
}

/* The parent goes first; the child's own adjustment stays. */
SCENARIO(undo_of_parent_and_child_apart, NEED_NOTHING, "A-141 A-138")
{
	struct actor *p = new_process(), *q = new_process();
	int s = new_set(1, 0600);

	EQ(add(s, 0, 10), 0);
	EQ(OP(s, {0, -1, SEM_UNDO}), 0);
	EQ(BY(p, OP(s, {0, -2, SEM_UNDO})), 0);
	EQ(BY(q, OP(s, {0, -4, SEM_UNDO})), 0);
	kill_actor(p);
	EQ(value_of(s, 0), 5);
	kill_actor(q);
	EQ(value_of(s, 0), 9);
}

/* It waits for what nobody writes. */
static long exec_cat(long keep_preload)
{
	int fd[2];

	if (pipe(fd) != 0 || dup2(fd[0], 0) != 0)
		return -errno;
	if (!keep_preload)
		unsetenv("LD_PRELOAD");
	execl("/bin/cat", "cat", (char *)NULL);
	return -errno;
}

static bool has_become(const struct actor *a, const char *program)
{
	char path[64], name[32];

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)a->pid);
	for (int i = 0; i < 100000; i++) {
		FILE *f = fopen(path, "re");
		bool is_it = f != NULL &&
			     fgets(name, sizeof(name), f) != NULL &&
			     strncmp(name, program, strlen(program)) == 0;
		if (f != NULL)
			fclose(f);
		if (is_it)
			return true;
		usleep(50);
	}
	return false;
}

/* Kept by a program that knows nothing of it. */
SCENARIO(undo_is_kept_across_exec, NEED_NOTHING, "A-141 A-138")
{
	int s = new_set(1, 0600);

	EQ(add(s, 0, 10), 0);
	for (int preload = 0; preload < 2; preload++) {
		struct actor *p = new_process();
		EQ(BY(p, OP(s, {0, -1, SEM_UNDO})), 0);
		START(p, run("exec", exec_cat, preload));
		IS(has_become(p, "cat"));
		EQ(value_of(s, 0), 9);
		EQ(BY(self(), OP(s, {0, -10, IPC_NOWAIT})), -EAGAIN);
		kill_actor(p);
		EQ(value_of(s, 0), 10);
	}
}

static long exec_sleeper(long set)
{
	char number[16];

	snprintf(number, sizeof(number), "%ld", set);
	execl("/proc/self/exe", "conformance", "--act",
	      backend() == &backend_kernel ? "kernel" : "libc", number,
	      (char *)NULL);
	return -errno;
}

/* The new program has what the old one began, and adds to it. */
SCENARIO(undo_goes_on_after_exec, NEED_NOTHING, "A-141 A-136")
{
	struct actor *p = new_process();
	int s = new_set(2, 0600);

	EQ(add(s, 0, 10), 0);
	EQ(BY(p, OP(s, {0, -1, SEM_UNDO})), 0);
	START(p, run("exec", exec_sleeper, s));
	for (int i = 0; i < 100000 && peek_value(s, 0) != 4; i++)
		usleep(50);
	EQ(value_of(s, 0), 4);
	EQ(pid_of(s, 0), p->pid);
	/* It waits for semaphore 1, and then ends by itself. */
	EQ(add(s, 1, 1), 0);
	await_end(p);
	EQ(value_of(s, 0), 10);
	EQ(value_of(s, 1), 1);
}

SCENARIO(undo_of_threads_then_exec, NEED_NOTHING, "A-141 A-140")
{
	used_set = new_set(1, 0600);
	struct actor *p = new_process();

	EQ(add(used_set, 0, 10), 0);
	EQ(BY(p, run("act in threads", act_in_threads, 3)), 0);
	EQ(value_of(used_set, 0), 5);
	START(p, run("exec", exec_cat, 1));
	IS(has_become(p, "cat"));
	EQ(value_of(used_set, 0), 5);
	kill_actor(p);
	EQ(value_of(used_set, 0), 10);
}

/* ---- who is who ---- */

/* As fork(), but the child has this number; libc does not know of it. */
static pid_t fork_as(pid_t pid)
{
	struct clone_args args;

	memset(&args, 0, sizeof(args));
	args.exit_signal = SIGCHLD;
	args.set_tid = (uintptr_t)&pid;
	args.set_tid_size = 1;
	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

static void take_and_wait(int set)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)backend()->semop(set, &(struct sembuf){0, -1, SEM_UNDO}, 1);
	for (;;)
		pause();
}

static void await_value(int set, long value)
{
	for (int i = 0; i < 100000 && peek_value(set, 0) != value; i++)
		usleep(50);
	EQ(value_of(set, 0), value);
}

static void end_child(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid)
		give_up("waitpid: %s", strerror(errno));
}

/* Another process under the number of one that is dead. */
SCENARIO(undo_and_a_pid_used_again, NEED_ROOT, "A-138 A-147")
{
	int s = new_set(1, 0600);

	EQ(add(s, 0, 10), 0);
	struct actor *p = new_process();
	EQ(BY(p, OP(s, {0, -3, SEM_UNDO})), 0);
	kill_actor(p);
	pid_t again = fork_as(p->pid);
	if (again == 0)
		take_and_wait(s);
	if (again != p->pid)
		give_up("clone3: %s", strerror(errno));
	await_value(s, 9);
	EQ(pid_of(s, 0), p->pid);
	end_child(again);
	EQ(value_of(s, 0), 10);
}

static long act_in_other_namespaces(long flags)
{
	static const char offsets[] = "monotonic 5000000 0\nboottime 5000000 0";
	int fd, status;

	if (unshare((int)flags) != 0)
		return -errno;
	if ((flags & CLONE_NEWTIME) != 0) {
		fd = open("/proc/self/timens_offsets", O_WRONLY);
		if (fd < 0 || write(fd, offsets, strlen(offsets)) < 0)
			return -errno;
		close(fd);
	}
	pid_t pid = fork();
	if (pid == 0)
		take_and_wait(used_set);
	for (int i = 0; i < 100000 && peek_value(used_set, 0) != 9; i++)
		usleep(50);
	long seen = peek_value(used_set, 0);
	kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid)
		return -errno;
	return seen * 100 + peek_value(used_set, 0);
}

SCENARIO(undo_in_other_namespaces, NEED_ROOT, "A-138 A-139")
{
	used_set = new_set(1, 0600);
	struct actor *p = new_process(), *q = new_process();

	EQ(add(used_set, 0, 10), 0);
	EQ(BY(p, run("pids", act_in_other_namespaces, CLONE_NEWPID)), 910);
	EQ(value_of(used_set, 0), 10);
	EQ(BY(q, run("pids and times", act_in_other_namespaces,
		     CLONE_NEWPID | CLONE_NEWTIME)),
	   910);
	EQ(value_of(used_set, 0), 10);
}

/* ---- leaving without ending ---- */

static long leave_list(long flags)
{
	return unshare((int)flags) == 0 ? 0 : -errno;
}

SCENARIO(undo_when_unshared, NEED_NOTHING, "A-142")
{
	struct actor *p = new_process();
	int s = new_set(1, 0600);

	EQ(add(s, 0, 10), 0);
	EQ(BY(p, OP(s, {0, -1, SEM_UNDO})), 0);
	EQ(value_of(s, 0), 9);
	EQ(BY(p, run("unshare", leave_list, CLONE_SYSVSEM)), 0);
	EQ(value_of(s, 0), 10);
	EQ(BY(p, OP(s, {0, -2, SEM_UNDO})), 0);
	kill_actor(p);
	EQ(value_of(s, 0), 10);
}

/* ---- zombies ---- */

SCENARIO(undo_before_it_is_reaped, NEED_NOTHING, "A-139 A-138")
{
	struct actor *p = new_process();
	siginfo_t info;
	int s = new_set(1, 0600);

	EQ(add(s, 0, 1), 0);
	EQ(BY(p, OP(s, {0, -1, SEM_UNDO})), 0);
	kill(p->pid, SIGKILL);
	if (waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOWAIT) != 0)
		give_up("waitid: %s", strerror(errno));
	EQ(value_of(s, 0), 1);
	EQ(OP(s, {0, -1, IPC_NOWAIT}), 0);
	kill_actor(p);
}

/* ---- the same id again ---- */

#undef SUITE
#define SUITE 5

static long choose_next_id(long id)
{
	FILE *f = fopen("/proc/sys/kernel/sem_next_id", "w");

	if (f == NULL)
		return -errno;
	fprintf(f, "%ld\n", id);
	return fclose(f) == 0 ? 0 : -errno;
}

SCENARIO(removal_forgets_adjustments_of_the_same_id, NEED_ROOT | NEED_PRIVATE,
	 "A-145 A-020")
{
	struct actor *p = new_process();
	int s = new_set(1, 0600);

	EQ(BY(p, OP(s, {0, 5, SEM_UNDO})), 0);
	EQ(remove_set(s), 0);
	EQ(run("choose", choose_next_id, s), 0);
	EQ(get_set(IPC_PRIVATE, 1, 0600), s);
	EQ(add(s, 0, 20), 0);
	kill_actor(p);
	EQ(value_of(s, 0), 20);
	EQ(pid_of(s, 0), self()->pid);
}
