/* SPDX-License-Identifier: MIT */
/*
 * scenes.c - what a victim does when it is killed
 *
 * Numbers of messages: below 100 sent by the leader before, 100 to 499 by the
 * victim, 500 to 599 by helpers, 600 to 699 by the leader meanwhile, 700 on by
 * processes that died before.
 */
#include "scenes.h"

#include "check.h"
#include "harness.h"
#include "msg/msgq.h"
#include "msg/room.h"
#include "region/ns.h"
#include "world.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define BIG 20000
#define ALL (1 << 17)

static void make_queue(void)
{
	world->id = w_get(IPC_PRIVATE, 0600);
	CHECK(world->id >= 0, "msgget: %d", world->id);
}

static void preload(int from, int n, long type, size_t size)
{
	for (int i = 0; i < n; i++)
		CHECK_EQ_INT(w_send(from + i, type, size, IPC_NOWAIT), 0);
}

static void until_waiting(unsigned n)
{
	WAIT_UNTIL(waiting() >= n);
}

static int is_dead_yet(pid_t pid)
{
	siginfo_t info;

	info.si_pid = 0;
	CHECK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) ==
	      0);
	return info.si_pid == pid;
}

int until_waiting_or_dead(pid_t pid)
{
	WAIT_UNTIL(waiting_of(pid) || is_dead_yet(pid));
	return !is_dead_yet(pid);
}

static void die_in(void *arg)
{
	void (*act)(void) = *(void (**)(void))arg;

	world_is_victim = true;
	act();
	world_is_victim = false;
}

void kill_at(const char *point, unsigned visit, void (*act)(void))
{
	int i = 0;
	int status;

	while (i < point_count() && strcmp(point_name(i), point) != 0)
		i++;
	CHECK(i < point_count(), "no point %s", point);
	point_arm(i, visit);
	memset(world->visits, 0, sizeof(world->visits));
	status = harness_reap(harness_spawn(die_in, &act));
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
	      "%s, visit %u: not reached", point, visit);
	memset(world->visits, 0, sizeof(world->visits));
	point_arm(-1, 0);
	world->may_lose += world->receiving;
	world->receiving = 0;
}

/* --- sending
 * ------------------------------------------------------------------- */

static void send_three(void)
{
	for (int i = 0; i < 3; i++)
		(void)w_send(100 + i, 1 + i, 40 + 100 * (size_t)i, 0);
}

static void setup_handover(void)
{
	make_queue();
	helper_recv(ALL, 0, 0);
	helper_recv(ALL, 1, 0);
	helper_recv(ALL, -5, 0);
	helper_recv(ALL, 7, MSG_EXCEPT);
	until_waiting(4);
}

static void send_four(void)
{
	for (int i = 0; i < 4; i++)
		(void)w_send(100 + i, 1, 64, 0);
}

static void setup_too_big(void)
{
	make_queue();
	helper_recv(50, 0, 0);
	helper_recv(60, 3, 0);
	helper_recv(70, -9, 0);
	until_waiting(3);
	helper_recv(ALL, 0, 0);
	until_waiting(4);
}

static void send_big_one(void)
{
	(void)w_send(100, 3, 200, 0);
}

static void setup_full(void)
{
	make_queue();
	preload(0, 8, 1, 2048);
}

static void during_full(pid_t victim)
{
	if (until_waiting_or_dead(victim)) {
		(void)w_recv(ALL, 0, IPC_NOWAIT);
		(void)w_recv(ALL, 0, IPC_NOWAIT);
	}
}

static void send_blocked(void)
{
	(void)w_send(100, 2, 1500, 0);
	(void)w_send(101, 2, 1500, 0);
}

/* --- receiving
 * ------------------------------------------------------------------- */

static void setup_five(void)
{
	make_queue();
	for (int i = 0; i < 5; i++)
		CHECK_EQ_INT(w_send(i, 5 - i, 30 + 100 * (size_t)i, 0), 0);
}

static void recv_each_way(void)
{
	(void)w_recv(ALL, 3, IPC_NOWAIT);
	(void)w_recv(ALL, -4, IPC_NOWAIT);
	(void)w_recv(ALL, 5, MSG_EXCEPT | IPC_NOWAIT);
	(void)w_recv(ALL, 0, IPC_NOWAIT);
	(void)w_recv(8, 0, IPC_NOWAIT);
	(void)w_recv(ALL, 0, IPC_NOWAIT);
}

static void recv_blocked(void)
{
	(void)w_recv(ALL, 0, 0);
	(void)w_recv(ALL, 4, 0);
	(void)w_recv(ALL, -9, 0);
}

static void during_recv(pid_t victim)
{
	for (int i = 0; i < 3; i++)
		if (until_waiting_or_dead(victim))
			CHECK_EQ_INT(w_send(600 + i, 4, 100, 0), 0);
}

static void setup_senders(void)
{
	make_queue();
	preload(0, 8, 1, 2048);
	for (int i = 0; i < 4; i++)
		helper_send(500 + i, 2, 600 + (size_t)i * 400);
	until_waiting(4);
}

static void recv_two(void)
{
	(void)w_recv(ALL, 0, 0);
	(void)w_recv(ALL, 1, 0);
}

/* --- removal, change
 * -------------------------------------------------------------- */

static void setup_rmid(void)
{
	CHECK_EQ_INT(s5__ns_limit_set("msgmnb", BIG + 9000), 0);
	CHECK_EQ_INT(s5__ns_limit_set("msgmax", BIG), 0);
	make_queue();
	preload(0, 1, 50, BIG);
	preload(1, 8, 51, 1000);
	preload(9, 4, 52, 20);
	helper_recv(ALL, 2, 0);
	helper_recv(ALL, -7, 0);
	helper_recv(ALL, 3, 0);
	helper_send(500, 9, 2000);
	helper_send(501, 9, 3000);
	until_waiting(5);
}

static void setup_rmid_threads(void)
{
	make_queue();
	helper_recv_threads(40, 10);
	until_waiting(40);
}

static void remove_it(void)
{
	(void)w_remove();
}

static void change_it(void)
{
	struct msqid_ds ds;

	(void)s5__msgctl(world->id, IPC_STAT, &ds);
	ds.msg_qbytes = 18384 + 2000;
	ds.msg_perm.mode = 0644;
	(void)s5__msgctl(world->id, IPC_SET, &ds);
}

static void setup_change(void)
{
	CHECK_EQ_INT(s5__ns_limit_set("msgmnb", 100000), 0);
	make_queue();
	{
		struct msqid_ds ds;

		CHECK_EQ_INT(s5__msgctl(world->id, IPC_STAT, &ds), 0);
		ds.msg_qbytes = 16384;
		CHECK_EQ_INT(s5__msgctl(world->id, IPC_SET, &ds), 0);
	}
	preload(0, 8, 1, 2048);
	helper_send(500, 2, 1000);
	helper_send(501, 2, 1000);
	helper_recv(ALL, 9, 0);
	until_waiting(3);
}

static void after_change(void)
{
	struct msqid_ds ds;
	bool is_new;

	CHECK_EQ_INT(s5__msgctl(world->id, IPC_STAT, &ds), 0);
	is_new = ds.msg_qbytes == 20384;
	CHECK(is_new || ds.msg_qbytes == 16384, "qbytes %lu",
	      (unsigned long)ds.msg_qbytes);
	CHECK((ds.msg_perm.mode == 0644) == is_new, "half of the change");
}

static void setup_thousand(void)
{
	make_queue();
	for (int i = 0; i < 90; i++)
		CHECK_EQ_INT(w_send(i, 1 + i % 45, 8 + (size_t)i, 0), 0);
}

/* --- memory
 * ------------------------------------------------------------------------ */

static void setup_large(void)
{
	CHECK_EQ_INT(s5__ns_limit_set("msgmnb", 1 << 20), 0);
	CHECK_EQ_INT(s5__ns_limit_set("msgmax", 1 << 17), 0);
	make_queue();
}

static void large_round(void)
{
	for (int i = 0; i < 3; i++)
		(void)w_send(100 + i, 1, BIG + 30000 * (size_t)i, 0);
	for (int i = 0; i < 3; i++)
		(void)w_recv(ALL, 0, IPC_NOWAIT);
}

/* More than is kept: memory is given back, and taken again. */
static void setup_larger(void)
{
	CHECK_EQ_INT(s5__ns_limit_set("msgmnb", 1 << 21), 0);
	CHECK_EQ_INT(s5__ns_limit_set("msgmax", ALL), 0);
	make_queue();
	preload(0, 12, 1, 120000);
}

static void take_and_bring(void)
{
	for (int i = 0; i < 12; i++)
		(void)w_recv(ALL, 0, IPC_NOWAIT);
	for (int i = 0; i < 12; i++)
		(void)w_send(100 + i, 1, 120000, IPC_NOWAIT);
}

static void many_types(void)
{
	for (int i = 0; i < 40; i++)
		(void)w_send(100 + i, 1 + (i * 37) % 41, 20, 0);
	for (int i = 0; i < 20; i++)
		(void)w_recv(ALL, 1 + ((i + 3) * 37) % 41, IPC_NOWAIT);
	for (int i = 0; i < 20; i++)
		(void)w_recv(ALL, -100, IPC_NOWAIT);
}

static void grow_and_shrink(void)
{
	for (int i = 0; i < 250; i++)
		(void)w_send(100 + i, 1, 1500, 0);
	for (int i = 0; i < 250; i++)
		(void)w_recv(ALL, 0, IPC_NOWAIT);
}

static void get_some(void)
{
	(void)w_get(4711, IPC_CREAT | 0600);
	(void)w_get(4711, 0);
	(void)w_get(4712, IPC_CREAT | IPC_EXCL | 0600);
	(void)w_get(IPC_PRIVATE, 0600);
}

static void after_get(void)
{
	int a = w_get(4711, 0), b = w_get(4712, 0);
	int c = w_get(4711, IPC_CREAT | 0600);

	CHECK(a == -ENOENT || a >= 0, "%d", a);
	CHECK(b == -ENOENT || (b >= 0 && a >= 0), "%d %d", a, b);
	CHECK(a < 0 || c == a, "%d %d", a, c);
	CHECK(c >= 0, "%d", c);
	for (uint32_t i = 0; i < 64; i++) {
		struct s5__msgq *q = s5__msgq_at(i);
		uint32_t id = q ? s5__a32_load_acq(&q->id) : 0;

		if (id && (int)id - 1 != world->id)
			CHECK_EQ_INT(s5__msgctl((int)id - 1, IPC_RMID, NULL),
				     0);
	}
}

static void get_many(void)
{
	for (int i = 0; i < 40; i++)
		(void)w_get(100 + i, IPC_CREAT | 0600);
}

static void get_and_remove(void)
{
	for (int i = 0; i < 3; i++) {
		int id = w_get(4713, IPC_CREAT | 0600);

		if (id >= 0)
			(void)s5__msgctl(id, IPC_RMID, NULL);
	}
}

/* --- the end of a thread, jumps
 * ------------------------------------------------------ */

static void *thread_round(void *arg)
{
	int n = (int)(intptr_t)arg;

	(void)w_send(n, 1, 100, 0);
	(void)w_recv(ALL, 0, IPC_NOWAIT);
	(void)w_send(n + 1, 1, 100, 0);
	return NULL;
}

static void threads_end(void)
{
	for (int i = 0; i < 3; i++) {
		pthread_t t;

		if (pthread_create(&t, NULL, thread_round,
				   (void *)(intptr_t)(100 + 2 * i)) == 0)
			(void)pthread_join(t, NULL);
	}
}

static sigjmp_buf out;

static void jump(int sig)
{
	(void)sig;
	siglongjmp(out, 1);
}

/* Jumps out of a wait, and the next call finds what it left. */
static void jump_out(void)
{
	(void)signal(SIGUSR1, jump);
	if (sigsetjmp(out, 1) == 0)
		(void)w_recv(ALL, 3, 0);
	world->receiving = 0;
	(void)w_send(100, 1, 50, IPC_NOWAIT);
	(void)w_recv(ALL, 0, IPC_NOWAIT);
}

static void during_jump(pid_t victim)
{
	if (until_waiting_or_dead(victim)) {
		wait_sleeping(victim);
		(void)kill(victim, SIGUSR1);
	}
}

/* --- those who died before
 * ------------------------------------------------------------ */

static void look_for_dead(void)
{
	(void)w_send(100, 1, 50, IPC_NOWAIT);
	(void)check_settle();
	(void)w_recv(ALL, 0, IPC_NOWAIT);
}

static void early_send(void)
{
	(void)w_send(700, 1, 300, IPC_NOWAIT);
	(void)w_send(701, 2, 300, IPC_NOWAIT);
}

static void early_send_again(void)
{
	(void)w_send(702, 1, 300, IPC_NOWAIT);
	(void)w_send(703, 2, 300, IPC_NOWAIT);
}

static void early_large(void)
{
	(void)w_send(704, 1, BIG, IPC_NOWAIT);
}

static void early_recv(void)
{
	(void)w_recv(ALL, 0, IPC_NOWAIT);
	(void)w_recv(ALL, 0, IPC_NOWAIT);
}

static void setup_dead_owner(void)
{
	setup_handover();
	kill_at("tx-commit-before", 3, early_send);
}

static void setup_dead_chain(void)
{
	make_queue();
	preload(0, 4, 1, 100);
	kill_at("tx-commit-before", 3, early_send);
	kill_at("rollback-step", 2, early_send_again);
}

static void setup_dead_waker(void)
{
	setup_handover();
	kill_at("wake-published", 1, early_send);
}

static void setup_dead_hands(void)
{
	setup_large();
	preload(0, 3, 1, 1000);
	preload(3, 1, 2, BIG);
	kill_at("body-in-hand", 2, early_send);
	kill_at("heap-pages-taken", 2, early_large);
	kill_at("rcv-copied", 1, early_recv);
	kill_at("body-free-step", 1, early_recv);
}

static void setup_dead_remover(void)
{
	setup_rmid();
	kill_at("rmid-committed", 1, remove_it);
}

static void setup_dead_waiter(void)
{
	pid_t pid;
	int first = world->helpers;

	make_queue();
	helper_recv(ALL, 0, 0);
	helper_recv(ALL, 5, 0);
	helper_recv(ALL, 1, 0);
	until_waiting(3);
	for (int i = first; i < first + 2; i++) {
		pid = world->helper[i].pid;
		CHECK_OK(kill(pid, SIGKILL));
		(void)harness_reap(pid);
		world->helper[i].done = 1;
		world->helper[i].pid = 0;
	}
}

/* A receiver is stopped, and a message is handed to it. */
static void setup_stopped(void)
{
	pid_t pid;

	make_queue();
	helper_recv(ALL, 0, 0);
	until_waiting(1);
	pid = world->helper[0].pid;
	wait_sleeping(pid);
	CHECK_OK(kill(pid, SIGSTOP));
	{
		siginfo_t info;

		CHECK_OK(waitid(P_PID, (id_t)pid, &info, WSTOPPED));
	}
	CHECK_EQ_INT(w_send(0, 1, 100, IPC_NOWAIT), 0);
}

static void take_from_stopped(void)
{
	struct s5__self *self;

	if (s5__enter(&self, false) == 0) {
		s5__a64_store_rlx(&s5__header()->janitor_s, 0);
		s5__janitor(self);
		s5__leave(self);
	}
	(void)w_recv(ALL, 0, IPC_NOWAIT);
}

static void during_stopped(pid_t victim)
{
	WAIT_UNTIL(is_dead_yet(victim));
	CHECK_OK(kill(world->helper[0].pid, SIGCONT));
}

const struct scene scenes[] = {
	{"send", make_queue, send_three, NULL, NULL, 0},
	{"send_handover", setup_handover, send_four, NULL, NULL, 0},
	{"send_too_big", setup_too_big, send_big_one, NULL, NULL, 0},
	{"send_blocked", setup_full, send_blocked, during_full, NULL, 0},
	{"recv_each_way", setup_five, recv_each_way, NULL, NULL, 0},
	{"recv_blocked", make_queue, recv_blocked, during_recv, NULL, 0},
	{"recv_wakes_senders", setup_senders, recv_two, NULL, NULL, 0},
	{"rmid", setup_rmid, remove_it, NULL, NULL, 1},
	{"rmid_threads", setup_rmid_threads, remove_it, NULL, NULL, 1},
	{"rmid_many", setup_thousand, remove_it, NULL, NULL, 0},
	{"set", setup_change, change_it, NULL, after_change, 0},
	{"large", setup_large, large_round, NULL, NULL, 0},
	{"larger", setup_larger, take_and_bring, NULL, NULL, 0},
	{"many_types", make_queue, many_types, NULL, NULL, 0},
	{"growth", setup_large, grow_and_shrink, NULL, NULL, 0},
	{"get", make_queue, get_some, NULL, after_get, 0},
	{"get_many", make_queue, get_many, NULL, after_get, 0},
	{"get_and_remove", make_queue, get_and_remove, NULL, after_get, 0},
	{"thread_end", make_queue, threads_end, NULL, NULL, 0},
	{"jump", make_queue, jump_out, during_jump, NULL, 0},
	{"dead_owner", setup_dead_owner, look_for_dead, NULL, NULL, 0},
	{"dead_chain", setup_dead_chain, look_for_dead, NULL, NULL, 0},
	{"dead_waker", setup_dead_waker, look_for_dead, NULL, NULL, 0},
	{"dead_hands", setup_dead_hands, look_for_dead, NULL, NULL, 0},
	{"dead_remover", setup_dead_remover, look_for_dead, NULL, NULL, 1},
	{"dead_waiter", setup_dead_waiter, look_for_dead, NULL, NULL, 0},
	{"stopped", setup_stopped, take_from_stopped, during_stopped, NULL, 0},
};
const int scene_count = sizeof(scenes) / sizeof(scenes[0]);
