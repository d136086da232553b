/* SPDX-License-Identifier: MIT */
/* msg_wait.c - receivers asleep: hand-over, order, signals, removal. */
#include "scenario.h"

#include <unistd.h>

static struct actor *waiting(int q, size_t size, long type, int flags)
{
	struct actor *a = new_process();

	START_ASLEEP(a, rcv(q, size, type, flags));
	return a;
}

SCENARIO(handover_first_come_first_served, NEED_NOTHING, "A-067 A-074")
{
	int q = new_queue(0600);
	struct actor *r[4];

	for (int i = 0; i < 4; i++)
		r[i] = waiting(q, 64, 0, 0);
	for (int i = 0; i < 4; i++) {
		EQ(snd(q, 10 + i, "x", 0), 0);
		EQ(finish(r[i]), 1);
		EQ(got_type(r[i]), 10 + i);
		for (int k = i + 1; k < 4; k++)
			ASLEEP(r[k]);
	}
	EQ(stat_of(q).msg_qnum, 0);
}

SCENARIO(handover_by_type, NEED_NOTHING, "A-074 A-059 A-060")
{
	int q = new_queue(0600);
	struct actor *one = waiting(q, 64, 7, 0);
	struct actor *except = waiting(q, 64, 7, MSG_EXCEPT);
	struct actor *upto = waiting(q, 64, -5, 0);
	struct actor *any = waiting(q, 64, 0, 0);

	EQ(snd(q, 7, "seven", 0), 0);
	EQ(finish(one), 5);
	EQ(snd(q, 7, "again", 0), 0);
	EQ(finish(any), 5);
	EQ(snd(q, 6, "six", 0), 0);
	EQ(finish(except), 3);
	EQ(snd(q, 6, "six", 0), 0);
	ASLEEP(upto);
	EQ(snd(q, 5, "five", 0), 0);
	EQ(finish(upto), 4);
	EQ(stat_of(q).msg_qnum, 1);
}

SCENARIO(handover_waiter_for_huge_negative, NEED_NOTHING, "A-060 A-074")
{
	int q = new_queue(0600);
	struct actor *min = waiting(q, 64, LONG_MIN, 0);
	struct actor *max = waiting(q, 64, -LONG_MAX, MSG_EXCEPT);

	EQ(snd(q, LONG_MAX, "first", 0), 0);
	EQ(finish(min), 5);
	EQ(snd(q, LONG_MAX, "second", 0), 0);
	EQ(finish(max), 6);
}

SCENARIO(handover_zero_with_except, NEED_NOTHING, "A-058 A-074")
{
	int q = new_queue(0600);
	struct actor *r = waiting(q, 64, 0, MSG_EXCEPT);

	EQ(snd(q, 3, "x", 0), 0);
	EQ(finish(r), 1);
}

SCENARIO(handover_too_big_goes_on, NEED_NOTHING, "A-074 A-062")
{
	int q = new_queue(0600);
	struct actor *small1 = waiting(q, 3, 0, 0);
	struct actor *other = waiting(q, 3, 99, 0);
	struct actor *small2 = waiting(q, 4, 1, 0);
	struct actor *large = waiting(q, 5, 0, 0);
	struct actor *late = waiting(q, 2, 0, 0);

	EQ(snd(q, 1, "12345", 0), 0);
	EQ(finish(small1), -E2BIG);
	EQ(finish(small2), -E2BIG);
	EQ(finish(large), 5);
	ASLEEP(other);
	ASLEEP(late);
	struct msqid_ds ds = stat_of(q);
	EQ(ds.msg_qnum, 0);
	EQ(ds.msg_lrpid, large->pid);
}

SCENARIO(handover_too_big_for_all_is_queued, NEED_NOTHING, "A-074")
{
	int q = new_queue(0600);
	struct actor *r1 = waiting(q, 3, 0, 0);
	struct actor *r2 = waiting(q, 0, 0, 0);

	EQ(snd(q, 1, "1234", 0), 0);
	EQ(finish(r1), -E2BIG);
	EQ(finish(r2), -E2BIG);
	struct msqid_ds ds = stat_of(q);
	EQ(ds.msg_qnum, 1);
	EQ(ds.msg_rtime, 0);
	EQ(ds.msg_lrpid, 0);
	EQ(rcv(q, 4, 0, IPC_NOWAIT), 4);
}

SCENARIO(handover_cut, NEED_NOTHING, "A-067 A-061")
{
	int q = new_queue(0600);
	struct actor *r = waiting(q, 4, 0, MSG_NOERROR);
	struct actor *none = waiting(q, 0, 0, MSG_NOERROR);

	EQ(snd(q, 1, "abcdefgh", 0), 0);
	EQ(finish(r), 4);
	EQ(snd(q, 2, "abcdefgh", 0), 0);
	EQ(finish(none), 0);
	EQ(got_type(none), 2);
	EQ(stat_of(q).__msg_cbytes, 0);
}

SCENARIO(handover_every_size, NEED_PRIVATE, "A-068")
{
	struct actor *r = new_process();
	int q = new_queue(0600);

	for (size_t size = 0; size <= 8192; size = size * 2 + 1) {
		START_ASLEEP(r, rcv(q, 8192, 0, 0));
		EQ(snd_sized(q, 1, size, 0), 0);
		EQ(finish(r), size);
	}
	START_ASLEEP(r, rcv(q, 8192, 0, 0));
	EQ(snd_sized(q, 1, 8192, 0), 0);
	EQ(finish(r), 8192);
}

SCENARIO(handover_is_never_counted, NEED_NOTHING, "A-075 A-049")
{
	int q = new_queue(0600);
	struct actor *r = waiting(q, 64, 5, 0);

	EQ(snd(q, 4, "queued", 0), 0);
	EQ(snd(q, 5, "handed", 0), 0);
	struct msqid_ds ds = stat_of(q);
	EQ(ds.msg_qnum, 1);
	EQ(ds.__msg_cbytes, 6);
	IS(ds.msg_rtime != 0);
	EQ(finish(r), 6);
}

SCENARIO(handover_lrpid, NEED_NOTHING, "A-068")
{
	struct actor *t = new_thread(), *p = new_process();
	int q = new_queue(0600);

	START_ASLEEP(t, rcv(q, 64, 0, 0));
	EQ(BY(p, snd(q, 1, "x", 0)), 0);
	EQ(finish(t), 1);
	EXPECT_DIFFERS("A-068", peek(q).msg_lrpid == t->pid, 0, 1);
	EXPECT_DIFFERS("A-068", peek(q).msg_lrpid == t->tid, 1, 0);
	/* By the direct path, and of a sender, it is the process. */
	EQ(BY(t, snd(q, 1, "x", 0)), 0);
	EQ(peek(q).msg_lspid, t->pid);
	EQ(BY(t, rcv(q, 64, 0, 0)), 1);
	EQ(peek(q).msg_lrpid, t->pid);
}

SCENARIO(newcomer_takes_queued_message, NEED_NOTHING, "A-076 A-075")
{
	int q = new_queue(0600);
	struct actor *r = waiting(q, 64, 5, 0);

	EQ(snd(q, 4, "four", 0), 0);
	ASLEEP(r);
	EQ(rcv(q, 64, 0, IPC_NOWAIT), 4);
	struct actor *r2 = waiting(q, 64, 4, 0);
	EQ(snd(q, 5, "five", 0), 0);
	EQ(finish(r), 4);
	EQ(snd(q, 4, "four", 0), 0);
	EQ(finish(r2), 4);
}

/* The pointer is used only when there is a message. */
SCENARIO(receiver_with_bad_pointer_sleeps, NEED_NOTHING, "A-057 A-068")
{
	struct actor *r = new_process();
	int q = new_queue(0600);

	START_ASLEEP(r, rcv_into(q, unmapped(), 64, 0, 0));
	EQ(snd(q, 1, "x", 0), 0);
	EQ(finish(r), -EFAULT);
}

SCENARIO(receivers_queue_removed, NEED_NOTHING, "A-072 A-015 A-087")
{
	int q = new_queue(0600);
	struct actor *r1 = waiting(q, 64, 0, 0);
	struct actor *r2 = waiting(q, 64, 7, 0);
	struct actor *r3 = waiting(q, 0, -7, 0);

	EQ(rmid(q), 0);
	EQ(finish(r1), -EIDRM);
	EQ(finish(r2), -EIDRM);
	EQ(finish(r3), -EIDRM);
	EQ(BY(r1, rcv(q, 64, 0, 0)), -EINVAL);
}

SCENARIO(both_kinds_queue_removed, NEED_NOTHING, "A-072")
{
	int q = new_queue(0600);
	struct actor *s = new_process();
	struct actor *r = waiting(q, 64, 7, 0);

	EQ(set_qbytes(q, 1), 0);
	EQ(snd(q, 1, "x", 0), 0);
	START_ASLEEP(s, snd(q, 7, "full", 0));
	EQ(rmid(q), 0);
	EQ(finish(s), -EIDRM);
	EQ(finish(r), -EIDRM);
}

SCENARIO(receiver_interrupted, NEED_NOTHING, "A-069")
{
	struct actor *r = new_process();
	int q = new_queue(0600);

	BY(r, run("handle", handle, SIGUSR1));
	BY(r, run("handle_restart", handle_restart, SIGUSR2));
	START_ASLEEP(r, rcv(q, 64, 0, 0));
	send_signal(r, SIGUSR1);
	EQ(finish(r), -EINTR);
	START_ASLEEP(r, rcv(q, 64, 0, 0));
	send_signal(r, SIGUSR2);
	EQ(finish(r), -EINTR);
	EQ(atomic_load(&r->hits), 2);
	/* It waits no more: the message stays. */
	EQ(snd(q, 1, "x", 0), 0);
	EQ(stat_of(q).msg_qnum, 1);
	EQ(BY(r, rcv(q, 64, 0, 0)), 1);
}

SCENARIO(receiver_thread_interrupted, NEED_NOTHING, "A-069")
{
	struct actor *t = new_thread(), *u = new_thread();
	int q = new_queue(0600);

	run("handle_restart", handle_restart, SIGUSR1);
	START_ASLEEP(t, rcv(q, 64, 0, 0));
	START_ASLEEP(u, rcv(q, 64, 0, 0));
	send_signal(t, SIGUSR1);
	EQ(finish(t), -EINTR);
	ASLEEP(u);
	EQ(snd(q, 1, "x", 0), 0);
	EQ(finish(u), 1);
}

SCENARIO(receiver_does_not_see_ignored_signals, NEED_NOTHING, "A-069")
{
	struct actor *r = new_process();
	int q = new_queue(0600);

	BY(r, run("ignore", ignore, SIGUSR1));
	START_ASLEEP(r, rcv(q, 64, 0, 0));
	send_signal(r, SIGUSR1);
	ASLEEP(r);
	send_signal(r, SIGCHLD);
	ASLEEP(r);
	send_signal(r, SIGURG);
	ASLEEP(r);
	stop(r);
	resume(r);
	ASLEEP(r);
	EQ(snd(q, 1, "x", 0), 0);
	EQ(finish(r), 1);
}

/* Handed over, then signalled, and only then running again. */
SCENARIO(receiver_served_and_signalled, NEED_FIFO, "A-069")
{
	struct actor *r = new_process();
	int q = new_queue(0600);

	BY(r, run("handle", handle, SIGUSR1));
	START_ASLEEP(r, rcv(q, 64, 0, 0));
	hold_cpu(&r, 1);
	EQ(snd(q, 4, "served", 0), 0);
	send_signal(r, SIGUSR1);
	release_cpu();
	EQ(finish(r), 6);
	EQ(got_type(r), 4);
	EQ(atomic_load(&r->hits), 1);
}

/* Handed over, then removed: the message is the receiver's already. */
SCENARIO(receiver_served_and_queue_removed, NEED_FIFO, "A-072 A-069")
{
	struct actor *r = new_process();
	int q = new_queue(0600);

	START_ASLEEP(r, rcv(q, 64, 0, 0));
	hold_cpu(&r, 1);
	EQ(snd(q, 4, "served", 0), 0);
	EQ(rmid(q), 0);
	release_cpu();
	EQ(finish(r), 6);
}

/* Room, then no queue: EIDRM comes before anything else. */
SCENARIO(sender_woken_and_queue_removed, NEED_FIFO, "A-051 A-072")
{
	struct actor *s = new_process();
	int q = new_queue(0600);

	EQ(set_qbytes(q, 4), 0);
	EQ(snd(q, 1, "full", 0), 0);
	START_ASLEEP(s, snd(q, 2, "more", 0));
	hold_cpu(&s, 1);
	EQ(rcv(q, 64, 0, 0), 4);
	EQ(rmid(q), 0);
	release_cpu();
	EQ(finish(s), -EIDRM);
}

SCENARIO(receiver_killed_leaves_no_ghost, NEED_NOTHING, "A-073 A-074 A-055")
{
	int q = new_queue(0600);
	struct actor *r1 = waiting(q, 64, 0, 0);
	struct actor *r2 = waiting(q, 64, 0, 0);

	kill_actor(r1);
	EQ(snd(q, 1, "x", 0), 0);
	EQ(finish(r2), 1);
	START_ASLEEP(r2, rcv(q, 64, 0, 0));
	kill_actor(r2);
	EQ(snd(q, 2, "stays", 0), 0);
	EQ(stat_of(q).msg_qnum, 1);
	EQ(rcv(q, 64, 0, IPC_NOWAIT), 5);
}

/* Whether the message is there to be received, now or soon. */
static bool comes_back(int q)
{
	for (int i = 0; i < 60000; i++) {
		if (backend()->msgrcv(q, &self()->buf, 64, 0, IPC_NOWAIT) >= 0)
			return true;
		if (on_kernel())
			return false;
		usleep(50);
	}
	return false;
}

SCENARIO(receive_killed_after_handover, NEED_FIFO, "A-073")
{
	int q = new_queue(0600);
	struct actor *r = waiting(q, 64, 0, 0);

	hold_cpu(&r, 1);
	EQ(snd(q, 1, "x", 0), 0);
	kill(r->pid, SIGKILL);
	release_cpu();
	kill_actor(r);
	EXPECT_DIFFERS("A-073", comes_back(q), 0, 1);
}

/* ---- stopped receivers ---- */

SCENARIO(stopped_receiver_is_passed_over, NEED_NOTHING, "A-070")
{
	int q = new_queue(0600);
	struct actor *r1 = waiting(q, 64, 0, 0);
	struct actor *r2 = waiting(q, 64, 0, 0);

	stop(r1);
	EQ(snd(q, 1, "first", 0), 0);
	EQ(finish(r2), 5);
	resume(r1);
	ASLEEP(r1);
	EQ(snd(q, 2, "second", 0), 0);
	EQ(finish(r1), 6);
}

SCENARIO(stopped_receiver_does_not_swallow, NEED_NOTHING, "A-070")
{
	int q = new_queue(0600);
	struct actor *r = waiting(q, 64, 0, 0);

	stop(r);
	EQ(snd(q, 1, "first", 0), 0);
	IS(comes_back(q) || comes_back(q));
	resume(r);
	ASLEEP(r);
	EQ(snd(q, 2, "second", 0), 0);
	EQ(finish(r), 6);
}

SCENARIO(stopped_and_killed_receiver, NEED_NOTHING, "A-070 A-073")
{
	int q = new_queue(0600);
	struct actor *r = waiting(q, 64, 0, 0);

	stop(r);
	EQ(snd(q, 1, "first", 0), 0);
	kill_actor(r);
	IS(comes_back(q));
	EQ(stat_of(q).msg_qnum, 0);
}

/* ---- IPC_SET and those asleep ---- */

SCENARIO(set_rechecks_receivers, NEED_ROOT, "A-071 A-029 A-086")
{
	struct actor *p = new_process();
	int q = new_queue(0666);
	struct actor *r = waiting(q, 64, 0, 0);

	BY(p, run("become", become, NOBODY));
	START_ASLEEP(p, rcv(q, 64, 0, 0));
	EQ(set_mode(q, 0662), 0);
	EQ(finish(p), -EACCES);
	ASLEEP(r);
	EQ(snd(q, 1, "x", 0), 0);
	EQ(finish(r), 1);
}

SCENARIO(set_lets_receivers_sleep_on, NEED_NOTHING, "A-071 A-086")
{
	int q = new_queue(0600);
	struct actor *r[3];
	long ret;

	for (int i = 0; i < 3; i++)
		r[i] = waiting(q, 64, 0, 0);
	EQ(set_mode(q, 0640), 0);
	for (int i = 0; i < 3; i++)
		ASLEEP(r[i]);
	/* In which order they queued again is not promised. */
	for (int left = 3; left > 0; left--) {
		EQ(snd(q, 1, "x", 0), 0);
		int i = finish_one_of(r, left, &ret);
		EQ(ret, 1);
		r[i] = r[left - 1];
	}
	EQ(peek(q).msg_qnum, 0);
}

SCENARIO(set_more_bytes_wakes_senders, NEED_NOTHING, "A-086 A-077 A-082")
{
	struct actor *s1 = new_process(), *s2 = new_process();
	int q = new_queue(0600);

	EQ(set_qbytes(q, 10), 0);
	EQ(snd_sized(q, 1, 10, 0), 0);
	START_ASLEEP(s1, snd_sized(q, 2, 10, 0));
	START_ASLEEP(s2, snd_sized(q, 3, 100, 0));
	EQ(set_qbytes(q, 20), 0);
	EQ(finish(s1), 0);
	ASLEEP(s2);
	EQ(set_qbytes(q, 120), 0);
	EQ(finish(s2), 0);
}

SCENARIO(set_fewer_bytes_than_queued, NEED_NOTHING, "A-082 A-085")
{
	struct actor *s = new_process();
	int q = new_queue(0600);

	for (int i = 0; i < 4; i++)
		EQ(snd_sized(q, 1 + i, 25, 0), 0);
	EQ(set_qbytes(q, 30), 0);
	struct msqid_ds ds = stat_of(q);
	EQ(ds.msg_qnum, 4);
	EQ(ds.__msg_cbytes, 100);
	EQ(ds.msg_qbytes, 30);
	START_ASLEEP(s, snd_sized(q, 9, 5, 0));
	EQ(rcv(q, 64, 0, 0), 25);
	EQ(rcv(q, 64, 0, 0), 25);
	ASLEEP(s);
	EQ(snd_sized(q, 8, 0, IPC_NOWAIT), -EAGAIN);
	EQ(rcv(q, 64, 0, 0), 25);
	EQ(finish(s), 0);
}

/* ---- both sides ---- */

SCENARIO(round_trips, NEED_NOTHING, "A-074 A-066")
{
	struct actor *p = new_process();
	int q = new_queue(0600);

	for (int i = 0; i < 40; i++) {
		START(p, rcv(q, 64, 1, 0));
		EQ(snd(q, 1, "ping", 0), 0);
		EQ(collect(p), 4);
		EQ(BY(p, snd(q, 2, "pong", 0)), 0);
		EQ(rcv(q, 64, 2, 0), 4);
	}
	EQ(stat_of(q).msg_qnum, 0);
}

SCENARIO(threads_each_with_own_type, NEED_NOTHING, "A-074 A-059")
{
	struct actor *t[6];
	int q = new_queue(0600);

	for (int i = 0; i < 6; i++) {
		t[i] = new_thread();
		START_ASLEEP(t[i], rcv(q, 64, 1 + i, 0));
	}
	for (int i = 5; i >= 0; i--) {
		EQ(snd(q, 1 + i, "own", 0), 0);
		EQ(finish(t[i]), 3);
		EQ(got_type(t[i]), 1 + i);
	}
}

SCENARIO(many_receivers_many_messages, NEED_NOTHING, "A-074 A-067")
{
	struct actor *r[30];
	int q = new_queue(0600);

	for (int i = 0; i < 30; i++)
		r[i] = waiting(q, 64, i % 3 == 0 ? 0 : i % 3, 0);
	for (int i = 0; i < 30; i++)
		EQ(snd(q, 2 - i % 2, "x", 0), 0);
	for (int i = 0; i < 30; i++)
		EQ(finish(r[i]), 1);
	EQ(stat_of(q).msg_qnum, 0);
}
