/* SPDX-License-Identifier: MIT */
/* whole_guest.c - cancellation, handlers, stopping, other roots. */
#define SUITE 3
#include "scenario.h"

#include <sched.h>
#include <setjmp.h>
#include <unistd.h>

/* ---- cancellation: libc's, so not of the raw calls ---- */

SCENARIO(cancel_receiver_asleep, NEED_NOTHING, "A-179")
{
	use_libc_names();
	struct actor *t = new_thread();
	int q = new_queue(0600);

	START_ASLEEP(t, rcv(q, 64, 0, 0));
	cancel(t);
	EQ(snd(q, 1, "x", 0), 0);
	EQ(stat_of(q).msg_qnum, 1);
	EQ(rcv(q, 64, 0, IPC_NOWAIT), 1);
}

SCENARIO(cancel_sender_asleep, NEED_NOTHING, "A-179")
{
	use_libc_names();
	struct actor *t = new_thread();
	int q = new_queue(0600);

	EQ(set_qbytes(q, 1), 0);
	EQ(snd(q, 1, "x", 0), 0);
	START_ASLEEP(t, snd(q, 2, "y", 0));
	cancel(t);
	EQ(rcv(q, 64, 0, 0), 1);
	EQ(stat_of(q).msg_qnum, 0);
	EQ(snd(q, 3, "z", IPC_NOWAIT), 0);
}

static long cancelled_receive(long q)
{
	pthread_cancel(pthread_self());
	return backend()->msgrcv((int)q, &self()->buf, 64, 0, IPC_NOWAIT);
}

static long cancelled_send(long q)
{
	pthread_cancel(pthread_self());
	return backend()->msgsnd((int)q, &self()->buf, 1, IPC_NOWAIT);
}

/* Both are cancellation points even when they need not wait. */
SCENARIO(cancel_before_the_call, NEED_NOTHING, "A-179")
{
	use_libc_names();
	struct actor *t = new_thread(), *u = new_thread();
	int q = new_queue(0600);

	EQ(snd(q, 1, "x", 0), 0);
	START(t, run("receive", cancelled_receive, q));
	join(t);
	EQ(stat_of(q).msg_qnum, 1);
	START(u, run("send", cancelled_send, q));
	join(u);
	EQ(stat_of(q).msg_qnum, 1);
}

/* ---- handlers that make calls ---- */

static int handler_queue;
static _Atomic long handler_result;

static void send_from_handler(int sig)
{
	struct {
		long type;
		char body[4];
	} m = {sig == SIGUSR1 ? 1 : 2, "hndl"};

	handler_result = backend()->msgsnd(handler_queue, &m, 4, IPC_NOWAIT);
}

static long send_when_signalled(long sig)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = send_from_handler;
	sa.sa_flags = SA_RESTART;
	return sigaction((int)sig, &sa, NULL) == 0 ? 0 : -errno;
}

/* It waits for that very type, yet it has left the queue for the handler. */
SCENARIO(handler_sends_to_its_own_receiver, NEED_NOTHING, "A-180 A-069")
{
	handler_queue = new_queue(0600);
	struct actor *r = new_process(), *other = new_process();

	BY(r, run("handler", send_when_signalled, SIGUSR1));
	START_ASLEEP(r, rcv(handler_queue, 64, 1, 0));
	send_signal(r, SIGUSR1);
	EQ(finish(r), -EINTR);
	EQ(stat_of(handler_queue).msg_qnum, 1);
	EQ(rcv(handler_queue, 64, 0, IPC_NOWAIT), 4);
	START_ASLEEP(r, rcv(handler_queue, 64, 1, 0));
	START_ASLEEP(other, rcv(handler_queue, 64, 1, 0));
	send_signal(r, SIGUSR1);
	EQ(finish(r), -EINTR);
	EQ(finish(other), 4);
}

static void remove_from_handler(int sig)
{
	(void)sig;
	handler_result = backend()->msgctl(handler_queue, IPC_RMID, NULL);
}

static long remove_when_signalled(long sig)
{
	signal((int)sig, remove_from_handler);
	return 0;
}

SCENARIO(handler_removes_the_queue, NEED_NOTHING, "A-180 A-069 A-072")
{
	handler_queue = new_queue(0600);
	struct actor *r = new_process(), *other = new_process();

	BY(r, run("handler", remove_when_signalled, SIGUSR1));
	START_ASLEEP(r, rcv(handler_queue, 64, 1, 0));
	START_ASLEEP(other, rcv(handler_queue, 64, 1, 0));
	send_signal(r, SIGUSR1);
	EQ(finish(r), -EINTR);
	EQ(finish(other), -EIDRM);
}

SCENARIO(handler_sends_from_blocked_sender, NEED_NOTHING, "A-180 A-054")
{
	handler_queue = new_queue(0600);
	struct actor *s = new_process();

	EQ(set_qbytes(handler_queue, 10), 0);
	EQ(snd(handler_queue, 9, "123456", 0), 0);
	BY(s, run("handler", send_when_signalled, SIGUSR1));
	START_ASLEEP(s, snd(handler_queue, 8, "12345", 0));
	send_signal(s, SIGUSR1);
	EQ(finish(s), -EINTR);
	EQ(stat_of(handler_queue).__msg_cbytes, 10);
	EQ(rcv(handler_queue, 64, 1, IPC_NOWAIT), 4);
}

/* ---- left for good ---- */

static sigjmp_buf out_of_call;

static void jump_out(int sig)
{
	siglongjmp(out_of_call, sig);
}

/* It makes no call after the jump. */
static long receive_and_jump_out(long q)
{
	struct {
		long type;
		char body[64];
	} m;
	long n;

	signal(SIGUSR1, jump_out);
	if (sigsetjmp(out_of_call, 1) != 0)
		return -EINTR;
	n = backend()->msgrcv((int)q, &m, sizeof(m.body), 0, 0);
	return n < 0 ? -errno : n;
}

static long send_and_jump_out(long q)
{
	struct {
		long type;
		char body[4];
	} m = {1, "left"};

	signal(SIGUSR1, jump_out);
	if (sigsetjmp(out_of_call, 1) != 0)
		return -EINTR;
	return backend()->msgsnd((int)q, &m, sizeof(m.body), 0) < 0 ? -errno
								    : 0;
}

SCENARIO(receiver_that_jumped_out_takes_nothing, NEED_NOTHING, "A-180 A-069")
{
	struct actor *r = new_process(), *other = new_process();
	int q = new_queue(0600);

	START_ASLEEP(r, run("receive", receive_and_jump_out, q));
	START_ASLEEP(other, rcv(q, 64, 0, 0));
	send_signal(r, SIGUSR1);
	EQ(finish(r), -EINTR);
	EQ(snd(q, 1, "first", 0), 0);
	EQ(finish(other), 5);
	EQ(snd(q, 1, "second", 0), 0);
	EQ(stat_of(q).msg_qnum, 1);
	EQ(rcv(q, 64, 0, IPC_NOWAIT), 6);
}

SCENARIO(sender_that_jumped_out_takes_no_room, NEED_NOTHING, "A-180 A-077")
{
	struct actor *s = new_process(), *other = new_process();
	int q = new_queue(0600);

	EQ(set_qbytes(q, 4), 0);
	EQ(snd(q, 9, "full", 0), 0);
	START_ASLEEP(s, run("send", send_and_jump_out, q));
	START_ASLEEP(other, snd(q, 2, "more", 0));
	send_signal(s, SIGUSR1);
	EQ(finish(s), -EINTR);
	EQ(rcv(q, 64, 0, 0), 4);
	EQ(finish(other), 0);
	EQ(rcv(q, 64, 0, 0), 4);
	EQ(got_type(NULL), 2);
}

SCENARIO(dead_receivers_hide_no_living_one, NEED_NOTHING, "A-074 A-067")
{
	struct actor *dead[8], *typed, *any;
	int q = new_queue(0600);

	for (int i = 0; i < 8; i++) {
		dead[i] = new_process();
		START_ASLEEP(dead[i], rcv(q, 64, i % 2, 0));
	}
	typed = new_process();
	any = new_process();
	START_ASLEEP(typed, rcv(q, 64, 1, 0));
	START_ASLEEP(any, rcv(q, 64, 0, 0));
	for (int i = 0; i < 8; i++)
		kill_actor(dead[i]);
	EQ(snd(q, 1, "typed", 0), 0);
	EQ(stat_of(q).msg_qnum, 0);
	EQ(finish(typed), 5);
	EQ(snd(q, 1, "any", 0), 0);
	EQ(stat_of(q).msg_qnum, 0);
	EQ(finish(any), 3);
}

/* ---- stopped ---- */

SCENARIO(stopped_receiver_leaves_message_queued, NEED_NOTHING, "A-070")
{
	struct actor *r = new_process();
	int q = new_queue(0600);

	START_ASLEEP(r, rcv(q, 64, 0, 0));
	stop(r);
	EQ(snd(q, 1, "stays", 0), 0);
	EQ(peek(q).msg_qnum, 1);
	EXPECT_DIFFERS("A-070", peek(q).msg_lrpid, 0, r->pid);
	resume(r);
	EQ(finish(r), 5);
	EQ(stat_of(q).msg_lrpid, r->pid);
}

SCENARIO(stopped_receiver_queues_again_at_the_tail, NEED_NOTHING, "A-070 A-067")
{
	struct actor *r1 = new_process(), *r2 = new_process();
	int q = new_queue(0600);

	START_ASLEEP(r1, rcv(q, 64, 0, 0));
	START_ASLEEP(r2, rcv(q, 64, 0, 0));
	stop(r1);
	resume(r1);
	ASLEEP(r1);
	EQ(snd(q, 1, "first", 0), 0);
	EQ(snd(q, 1, "second", 0), 0);
	EXPECT_DIFFERS("A-070", collect(r1), 6, 5);
	EXPECT_DIFFERS("A-070", collect(r2), 5, 6);
}

SCENARIO(stopped_sender_sends_when_continued, NEED_NOTHING, "A-054 A-070")
{
	struct actor *s = new_process();
	int q = new_queue(0600);

	EQ(set_qbytes(q, 4), 0);
	EQ(snd(q, 1, "full", 0), 0);
	START_ASLEEP(s, snd(q, 2, "more", 0));
	stop(s);
	EQ(rcv(q, 64, 0, 0), 4);
	EQ(snd(q, 3, "mine", IPC_NOWAIT), 0);
	resume(s);
	ASLEEP(s);
	EQ(rcv(q, 64, 0, 0), 4);
	EQ(got_type(NULL), 3);
	EQ(finish(s), 0);
}

/* ---- elsewhere in the file system ---- */

static long leave_the_root(long arg)
{
	(void)arg;
	if (unshare(CLONE_NEWNS) != 0 || chroot("/proc") != 0 ||
	    chdir("/") != 0)
		return -errno;
	return 0;
}

SCENARIO(other_root_and_mounts, NEED_ROOT, "A-182")
{
	/* The namespace is there before anybody leaves. */
	long q = get(key_of(1), IPC_CREAT | 0600);
	struct actor *p = new_process();

	EQ(BY(p, run("leave_the_root", leave_the_root, 0)), 0);
	EQ(BY(p, get(key_of(1), 0600)), q);
	EQ(BY(p, snd((int)q, 1, "out", 0)), 0);
	EQ(rcv((int)q, 64, 0, 0), 3);
	START_ASLEEP(p, rcv((int)q, 64, 0, 0));
	EQ(snd((int)q, 1, "in", 0), 0);
	EQ(finish(p), 2);
	IS(BY(p, get(IPC_PRIVATE, 0600)) >= 0);
}

/* Root that becomes somebody else before its first call. */
SCENARIO(other_user_before_the_first_call, NEED_ROOT, "A-182")
{
	EQ(rmid(new_queue(0600)), 0);
	struct actor *p = new_process();

	EQ(BY(p, run("leave_the_root", leave_the_root, 0)), 0);
	EQ(BY(p, run("become", become, NOBODY)), 0);
	long q = BY(p, get(key_of(1), IPC_CREAT | 0600));
	IS(q >= 0);
	EQ(BY(p, snd((int)q, 1, "x", 0)), 0);
	EQ(rcv((int)q, 8, 0, 0), 1);
	EQ(stat_of((int)q).msg_perm.cuid, NOBODY);
}
