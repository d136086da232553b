/* SPDX-License-Identifier: MIT */
/* msg_send.c - msgsnd: its checks and their order, room, and sleeping. */
#include "scenario.h"

#include <stdlib.h>

#define MSGMAX_DEFAULT 8192

SCENARIO(send_order_of_checks, NEED_PRIVATE, "A-039 A-040 A-181")
{
	int q = new_queue(0600);

	/* The type is read before anything is looked at. */
	EQ(snd_from(-1, NULL, (size_t)-1, 0), -EFAULT);
	EQ(snd_from(q, NULL, 4, 0), -EFAULT);
	EQ(snd_from(q, unmapped(), 4, 0), -EFAULT);
	EQ(snd_from(q + 1000, unmapped(), 4, 0), -EFAULT);
	/* Then size and id, then the type, then the body, then the queue. */
	EQ(snd_sized(q, 0, MSGMAX_DEFAULT + 1, 0), -EINVAL);
	EQ(snd_sized(q, 1, MSGMAX_DEFAULT + 1, 0), -EINVAL);
	EQ(snd_sized(q, 1, (size_t)-1, 0), -EINVAL);
	EQ(snd_sized(q, 1, (size_t)LONG_MIN, 0), -EINVAL);
	EQ(snd(q, 0, "x", 0), -EINVAL);
	EQ(snd(q, -1, "x", 0), -EINVAL);
	EQ(snd(q, LONG_MIN, "x", 0), -EINVAL);
	EQ(snd(q + 1000, 1, "x", 0), -EINVAL);
	EQ(snd(q, LONG_MAX, "x", 0), 0);
	EQ(rcv(q, 8, 0, 0), 1);
	EQ(got_type(NULL), LONG_MAX);
}

/* A long of type, and nothing that can be read behind it. */
SCENARIO(send_body_out_of_reach, NEED_NOTHING, "A-039 A-040")
{
	int q = new_queue(0600);
	long *type = at_page_end(sizeof(long));
	char *split = at_page_end(4);

	*type = 1;
	EQ(snd_from(q, type, 0, 0), 0);
	EQ(snd_from(q, type, 1, 0), -EFAULT);
	EQ(snd_from(q, type, 1, IPC_NOWAIT), -EFAULT);
	EQ(snd_from(q + 1000, type, 1, 0), -EFAULT);
	EQ(snd_from(q, split, 1, 0), -EFAULT);
	*type = 0;
	EQ(snd_from(q, type, 1, 0), -EINVAL);
	type = at_page_end(sizeof(long) + 100); /* not aligned */
	memcpy(type, &(long){1}, sizeof(long));
	EQ(snd_from(q, type, 100, 0), 0);
	EQ(snd_from(q, type, 101, 0), -EFAULT);
	EQ(snd_from(q, type, MSGMAX_DEFAULT, 0), -EFAULT);
	EQ(stat_of(q).msg_qnum, 2);
}

SCENARIO(send_from_read_only_memory, NEED_NOTHING, "A-039")
{
	int q = new_queue(0600);

	EQ(snd_from(q, read_only(), 16, 0), 0);
	EQ(stat_of(q).__msg_cbytes, 16);
}

SCENARIO(send_denied, NEED_ROOT, "A-039 A-023")
{
	struct actor *p = new_process();
	int q = new_queue(0604);
	int full = new_queue(0604);

	BY(p, run("become", become, NOBODY));
	EQ(set_qbytes(full, 0), 0);
	EQ(BY(p, snd(q, 1, "x", 0)), -EACCES);
	EQ(BY(p, snd(full, 1, "x", 0)), -EACCES);
	EQ(BY(p, snd(full, 1, "x", IPC_NOWAIT)), -EACCES);
	EQ(BY(p, snd(q, 0, "x", 0)), -EINVAL);
	EQ(BY(p, snd_from(q, NULL, 1, 0)), -EFAULT);
	EQ(set_mode(q, 0602), 0);
	EQ(BY(p, snd(q, 1, "x", 0)), 0);
	EQ(BY(p, rcv(q, 8, 0, IPC_NOWAIT)), -EACCES);
	EQ(stat_of(q).msg_lspid, p->pid);
}

SCENARIO(send_sets_time_and_pid, NEED_NOTHING, "A-037 A-050")
{
	struct actor *p = new_process();
	int q = new_queue(0600);

	EQ(BY(p, snd(q, 1, "hello", 0)), 0);
	struct msqid_ds ds = stat_of(q);
	EQ(ds.msg_lspid, p->pid);
	EQ(ds.msg_lrpid, 0);
	IS(ds.msg_stime != 0);
	EQ(ds.msg_rtime, 0);
	EQ(ds.msg_qnum, 1);
	EQ(ds.__msg_cbytes, 5);
}

SCENARIO(failed_calls_change_nothing, NEED_NOTHING, "A-037 A-061 A-038")
{
	struct actor *p = new_process();
	int q = new_queue(0600);

	EQ(snd(q, 3, "twelve bytes", 0), 0);
	EQ(set_qbytes(q, 12), 0);
	struct msqid_ds before = stat_of(q);
	next_second();
	EQ(BY(p, snd(q, 1, "x", IPC_NOWAIT)), -EAGAIN);
	EQ(BY(p, rcv(q, 4, 0, IPC_NOWAIT)), -E2BIG);
	EQ(BY(p, rcv(q, 64, 9, IPC_NOWAIT)), -ENOMSG);
	EQ(BY(p, snd(q, 0, "x", 0)), -EINVAL);
	EQ(BY(p, get(key_of(1), 0)), -ENOENT);
	EQ(BY(p, ctl(q, IPC_SET, NULL)), -EFAULT);
	struct msqid_ds after = stat_of(q);
	EQ(after.msg_stime, before.msg_stime);
	EQ(after.msg_rtime, 0);
	EQ(after.msg_ctime, before.msg_ctime);
	EQ(after.msg_lspid, before.msg_lspid);
	EQ(after.msg_lrpid, 0);
	EQ(after.msg_qnum, 1);
	EQ(rcv(q, 64, 0, 0), 12);
	after = peek(q);
	IS(after.msg_rtime > before.msg_stime);
	EQ(after.msg_stime, before.msg_stime);
	EQ(after.msg_ctime, before.msg_ctime);
}

SCENARIO(send_room_in_bytes, NEED_NOTHING, "A-042 A-039")
{
	int q = new_queue(0600);

	EQ(set_qbytes(q, 100), 0);
	EQ(snd_sized(q, 1, 60, IPC_NOWAIT), 0);
	EQ(snd_sized(q, 1, 41, IPC_NOWAIT), -EAGAIN);
	EQ(snd_sized(q, 1, 40, IPC_NOWAIT), 0);
	EQ(snd_sized(q, 1, 1, IPC_NOWAIT), -EAGAIN);
	EQ(snd_sized(q, 1, 0, IPC_NOWAIT), 0);
	EQ(stat_of(q).__msg_cbytes, 100);
}

SCENARIO(send_empty_messages, NEED_NOTHING, "A-043 A-042 A-063")
{
	int q = new_queue(0600);

	EQ(set_qbytes(q, 5), 0);
	for (int i = 1; i <= 5; i++)
		EQ(snd(q, i, "", IPC_NOWAIT), 0);
	EQ(snd(q, 6, "", IPC_NOWAIT), -EAGAIN);
	EQ(stat_of(q).msg_qnum, 5);
	for (int i = 1; i <= 5; i++) {
		EQ(rcv(q, 0, 0, IPC_NOWAIT), 0);
		EQ(got_type(NULL), i);
	}
	EQ(rcv(q, 0, 0, IPC_NOWAIT), -ENOMSG);
}

SCENARIO(send_count_is_limited_too, NEED_NOTHING, "A-042 A-043")
{
	int q = new_queue(0600);

	EQ(set_qbytes(q, 3), 0);
	EQ(snd(q, 1, "", IPC_NOWAIT), 0);
	EQ(snd(q, 1, "", IPC_NOWAIT), 0);
	EQ(snd(q, 1, "a", IPC_NOWAIT), 0);
	EQ(snd(q, 1, "b", IPC_NOWAIT), -EAGAIN);
	EQ(snd(q, 1, "", IPC_NOWAIT), -EAGAIN);
}

SCENARIO(send_no_room_at_all, NEED_NOTHING, "A-044 A-085")
{
	struct actor *p = new_process();
	int q = new_queue(0600);

	EQ(set_qbytes(q, 0), 0);
	EQ(snd(q, 1, "", IPC_NOWAIT), -EAGAIN);
	START_ASLEEP(p, snd(q, 1, "", 0));
	EQ(set_qbytes(q, 1), 0);
	EQ(finish(p), 0);
}

SCENARIO(send_larger_than_queue, NEED_NOTHING, "A-045 A-086")
{
	struct actor *p = new_process();
	int q = new_queue(0600);

	EQ(set_qbytes(q, 50), 0);
	EQ(snd_sized(q, 1, 51, IPC_NOWAIT), -EAGAIN);
	START_ASLEEP(p, snd_sized(q, 1, 51, 0));
	EQ(set_qbytes(q, 40), 0);
	ASLEEP(p);
	EQ(set_qbytes(q, 51), 0);
	EQ(finish(p), 0);
	EQ(rcv(q, 100, 0, IPC_NOWAIT), 51);
}

SCENARIO(send_largest, NEED_PRIVATE, "A-046 A-036 A-042")
{
	int q = new_queue(0600);

	EQ(snd_sized(q, 1, MSGMAX_DEFAULT, IPC_NOWAIT), 0);
	EQ(snd_sized(q, 2, MSGMAX_DEFAULT, IPC_NOWAIT), 0);
	EQ(snd_sized(q, 3, 1, IPC_NOWAIT), -EAGAIN);
	EQ(snd_sized(q, 3, MSGMAX_DEFAULT + 1, IPC_NOWAIT), -EINVAL);
	EQ(rcv(q, MSGMAX_DEFAULT, 0, 0), MSGMAX_DEFAULT);
	EQ(rcv(q, 100000, 0, 0), MSGMAX_DEFAULT);
}

SCENARIO(send_every_size, NEED_PRIVATE, "A-066")
{
	int q = new_queue(0600);

	for (size_t size = 0; size <= MSGMAX_DEFAULT; size += size / 8 + 1) {
		EQ(snd_sized(q, 1 + (long)size, size, 0), 0);
		EQ(rcv(q, MSGMAX_DEFAULT, 0, 0), size);
		EQ(got_type(NULL), 1 + size);
	}
}

SCENARIO(send_unknown_flags, NEED_NOTHING, "A-047")
{
	int q = new_queue(0600);

	EQ(snd(q, 1, "a", MSG_NOERROR | MSG_EXCEPT), 0);
	EQ(snd(q, 1, "b", MSG_COPY), 0);
	EQ(snd(q, 1, "c", ~IPC_NOWAIT), 0);
	EQ(snd(q, 1, "d", ~0), 0);
	EQ(stat_of(q).msg_qnum, 4);
}

SCENARIO(send_full_queue_though_receiver_waits, NEED_NOTHING, "A-048 A-075")
{
	struct actor *r = new_process(), *s = new_process();
	int q = new_queue(0600);

	EQ(set_qbytes(q, 10), 0);
	EQ(snd(q, 1, "0123456789", 0), 0);
	START_ASLEEP(r, rcv(q, 64, 2, 0));
	EQ(snd(q, 2, "x", IPC_NOWAIT), -EAGAIN);
	START_ASLEEP(s, snd(q, 2, "late", 0));
	ASLEEP(r);
	EQ(snd(q, 2, "", IPC_NOWAIT), 0);
	EQ(finish(r), 0);
	ASLEEP(s);
	EQ(rcv(q, 64, 1, IPC_NOWAIT), 10);
	EQ(finish(s), 0);
	EQ(stat_of(q).__msg_cbytes, 4);
}

SCENARIO(send_to_waiting_receiver_stamps_queue, NEED_NOTHING, "A-049 A-075")
{
	struct actor *r = new_process(), *s = new_process();
	int q = new_queue(0600);

	START_ASLEEP(r, rcv(q, 64, 0, 0));
	EQ(BY(s, snd(q, 9, "direct", 0)), 0);
	EQ(finish(r), 6);
	struct msqid_ds ds = stat_of(q);
	EQ(ds.msg_lspid, s->pid);
	EQ(ds.msg_lrpid, r->pid);
	IS(ds.msg_stime != 0 && ds.msg_rtime != 0);
	EQ(ds.msg_qnum, 0);
	EQ(ds.__msg_cbytes, 0);
}

SCENARIO(send_sleeps_until_room, NEED_NOTHING, "A-050 A-077 A-066")
{
	struct actor *s = new_process();
	int q = new_queue(0600);

	EQ(set_qbytes(q, 20), 0);
	EQ(snd_sized(q, 1, 15, 0), 0);
	EQ(snd_sized(q, 2, 5, 0), 0);
	START_ASLEEP(s, snd_sized(q, 3, 10, 0));
	EQ(rcv(q, 64, 2, 0), 5);
	ASLEEP(s);
	EQ(rcv(q, 64, 1, 0), 15);
	EQ(finish(s), 0);
	struct msqid_ds ds = stat_of(q);
	EQ(ds.msg_lspid, s->pid);
	EQ(ds.__msg_cbytes, 10);
	EQ(rcv(q, 64, 0, 0), 10);
	EQ(got_type(NULL), 3);
}

/* The body is the one of the moment of the call. */
SCENARIO(send_copies_before_sleeping, NEED_NOTHING, "A-041")
{
	struct actor *s = new_process();
	int q = new_queue(0600);

	EQ(set_qbytes(q, 4), 0);
	EQ(snd(q, 1, "full", 0), 0);
	START_ASLEEP(s, snd(q, 2, "then", 0));
	memcpy(s->buf.message.body, "late", 4);
	s->buf.message.type = 77;
	EQ(rcv(q, 64, 0, 0), 4);
	EQ(collect(s), 0);
	EQ(rcv(q, 64, 0, 0), 4);
	EQ(got_type(NULL), 2);
	EQ(strcmp(got_text(NULL), "then"), 0);
}

SCENARIO(sender_interrupted, NEED_NOTHING, "A-054 A-051")
{
	struct actor *s = new_process();
	int q = new_queue(0600);

	EQ(set_qbytes(q, 0), 0);
	BY(s, run("handle", handle, SIGUSR1));
	BY(s, run("handle_restart", handle_restart, SIGUSR2));
	START_ASLEEP(s, snd(q, 1, "x", 0));
	send_signal(s, SIGUSR1);
	EQ(finish(s), -EINTR);
	START_ASLEEP(s, snd(q, 1, "x", 0));
	send_signal(s, SIGUSR2);
	EQ(finish(s), -EINTR);
	EQ(atomic_load(&s->hits), 2);
	struct msqid_ds ds = stat_of(q);
	EQ(ds.msg_qnum, 0);
	EQ(ds.msg_stime, 0);
	EQ(ds.msg_lspid, 0);
}

SCENARIO(sender_does_not_see_ignored_signals, NEED_NOTHING, "A-054")
{
	struct actor *s = new_process();
	int q = new_queue(0600);

	EQ(set_qbytes(q, 0), 0);
	BY(s, run("ignore", ignore, SIGUSR1));
	START_ASLEEP(s, snd(q, 1, "x", 0));
	send_signal(s, SIGUSR1);
	ASLEEP(s);
	send_signal(s, SIGCHLD);
	ASLEEP(s);
	send_signal(s, SIGWINCH);
	ASLEEP(s);
	stop(s);
	resume(s);
	ASLEEP(s);
	EQ(set_qbytes(q, 10), 0);
	EQ(finish(s), 0);
}

SCENARIO(sender_killed_leaves_no_trace, NEED_NOTHING, "A-055")
{
	struct actor *s = new_process(), *other = new_process();
	int q = new_queue(0600);

	EQ(set_qbytes(q, 4), 0);
	EQ(snd(q, 1, "full", 0), 0);
	START_ASLEEP(s, snd(q, 2, "dead", 0));
	START_ASLEEP(other, snd(q, 3, "live", 0));
	kill_actor(s);
	EQ(stat_of(q).msg_qnum, 1);
	EQ(rcv(q, 64, 0, 0), 4);
	EQ(finish(other), 0);
	EQ(rcv(q, 64, 0, 0), 4);
	EQ(got_type(NULL), 3);
	EQ(rcv(q, 64, 0, IPC_NOWAIT), -ENOMSG);
	EQ(snd(q, 4, "last", IPC_NOWAIT), 0);
}

SCENARIO(sender_loses_permission, NEED_ROOT, "A-051 A-052")
{
	struct actor *s = new_process();
	int q = new_queue(0666);

	BY(s, run("become", become, NOBODY));
	EQ(set_qbytes(q, 10), 0);
	EQ(snd_sized(q, 1, 10, 0), 0);
	START_ASLEEP(s, snd_sized(q, 2, 5, 0));
	/* It is told only when its message would fit. */
	EQ(set_mode(q, 0644), 0);
	ASLEEP(s);
	EQ(rcv(q, 64, 0, 0), 10);
	EQ(finish(s), -EACCES);
	EQ(stat_of(q).msg_qnum, 0);
}

SCENARIO(sender_loses_and_regains_permission, NEED_ROOT, "A-052")
{
	struct actor *s = new_process();
	int q = new_queue(0666);

	BY(s, run("become", become, NOBODY));
	EQ(set_qbytes(q, 10), 0);
	EQ(snd_sized(q, 1, 10, 0), 0);
	START_ASLEEP(s, snd_sized(q, 2, 5, 0));
	EQ(set_mode(q, 0600), 0);
	ASLEEP(s);
	EQ(set_mode(q, 0622), 0);
	ASLEEP(s);
	EQ(rcv(q, 64, 0, 0), 10);
	EQ(finish(s), 0);
}

SCENARIO(sender_queue_removed, NEED_NOTHING, "A-051 A-072 A-015")
{
	struct actor *s[3];
	int q = new_queue(0600);

	EQ(set_qbytes(q, 1), 0);
	EQ(snd(q, 1, "x", 0), 0);
	for (int i = 0; i < 3; i++) {
		s[i] = new_process();
		START_ASLEEP(s[i], snd_sized(q, 2, (size_t)i + 1, 0));
	}
	EQ(rmid(q), 0);
	for (int i = 0; i < 3; i++)
		EQ(finish(s[i]), -EIDRM);
	EQ(BY(s[0], snd(q, 1, "x", 0)), -EINVAL);
}

/* Signal and room at once: the signal is seen first and nothing is sent. */
SCENARIO(sender_woken_and_signalled, NEED_FIFO, "A-051")
{
	struct actor *s = new_process();
	int q = new_queue(0600);

	BY(s, run("handle", handle, SIGUSR1));
	EQ(set_qbytes(q, 4), 0);
	EQ(snd(q, 1, "full", 0), 0);
	START_ASLEEP(s, snd(q, 2, "more", 0));
	hold_cpu(&s, 1);
	EQ(rcv(q, 64, 0, 0), 4);
	send_signal(s, SIGUSR1);
	release_cpu();
	EQ(finish(s), -EINTR);
	EQ(atomic_load(&s->hits), 1);
	EQ(stat_of(q).msg_qnum, 0);
}

/* ---- which senders are woken ---- */

SCENARIO(senders_each_that_fits_is_woken, NEED_NOTHING, "A-077 A-079")
{
	struct actor *s[2];
	int q = new_queue(0600);
	long ret;

	EQ(set_qbytes(q, 100), 0);
	EQ(snd_sized(q, 1, 60, 0), 0);
	EQ(snd_sized(q, 2, 40, 0), 0);
	for (int i = 0; i < 2; i++) {
		s[i] = new_process();
		START_ASLEEP(s[i], snd_sized(q, 3, 50, 0));
	}
	EQ(rcv(q, 100, 1, 0), 60);
	int first = finish_one_of(s, 2, &ret);
	EQ(ret, 0);
	IS(is_asleep(s[!first]));
	EQ(peek(q).__msg_cbytes, 90);
	EQ(rcv(q, 100, 2, 0), 40);
	EQ(collect(s[!first]), 0);
	EQ(peek(q).__msg_cbytes, 100);
}

SCENARIO(senders_that_do_not_fit_sleep_on, NEED_NOTHING, "A-077 A-078")
{
	struct actor *big = new_process(), *small = new_process();
	int q = new_queue(0600);

	EQ(set_qbytes(q, 100), 0);
	EQ(snd_sized(q, 1, 20, 0), 0);
	EQ(snd_sized(q, 2, 80, 0), 0);
	START_ASLEEP(big, snd_sized(q, 3, 90, 0));
	START_ASLEEP(small, snd_sized(q, 4, 15, 0));
	unsigned long sleeps = sleeps_of(big);
	EQ(rcv(q, 100, 1, 0), 20);
	EQ(finish(small), 0);
	ASLEEP(big);
	if (on_kernel()) /* elsewhere a sleeper may look about now and then */
		EQ(sleeps_of(big), sleeps);
	EQ(rcv(q, 100, 2, 0), 80);
	ASLEEP(big);
	EQ(rcv(q, 100, 4, 0), 15);
	EQ(finish(big), 0);
}

SCENARIO(senders_several_fit_together, NEED_NOTHING, "A-077")
{
	struct actor *s[4];
	int q = new_queue(0600);

	EQ(set_qbytes(q, 100), 0);
	EQ(snd_sized(q, 1, 100, 0), 0);
	for (int i = 0; i < 4; i++) {
		s[i] = new_process();
		START_ASLEEP(s[i], snd_sized(q, 10 + i, 25, 0));
	}
	EQ(rcv(q, 100, 0, 0), 100);
	for (int i = 0; i < 4; i++)
		EQ(finish(s[i]), 0);
	EQ(peek(q).msg_qnum, 4); /* whoever was the last */
	for (int i = 0; i < 4; i++)
		EQ(rcv(q, 100, 10 + i, IPC_NOWAIT), 25);
}

/* A cheater that fits goes in though a larger one has waited longer. */
SCENARIO(sender_barges, NEED_NOTHING, "A-080")
{
	struct actor *big = new_process();
	int q = new_queue(0600);

	EQ(set_qbytes(q, 100), 0);
	EQ(snd_sized(q, 1, 50, 0), 0);
	START_ASLEEP(big, snd_sized(q, 2, 60, 0));
	EQ(snd_sized(q, 3, 30, IPC_NOWAIT), 0);
	EQ(snd_sized(q, 3, 20, IPC_NOWAIT), 0);
	EQ(snd_sized(q, 3, 0, IPC_NOWAIT), 0);
	ASLEEP(big);
	EQ(rcv(q, 100, 1, 0), 50);
	ASLEEP(big);
	EQ(rcv(q, 100, 3, 0), 30);
	EQ(finish(big), 0);
	EQ(rcv(q, 100, 0, 0), 20);
}

/* As many rounds as it takes to see that nobody is told to try in vain. */
SCENARIO(sender_never_sees_eagain, NEED_NOTHING, "A-081")
{
	struct actor *s = new_process(), *r = new_process();
	int q = new_queue(0600);

	EQ(set_qbytes(q, 8), 0);
	EQ(snd(q, 1, "01234567", 0), 0);
	for (int i = 0; i < 50; i++) {
		START(s, snd(q, 1, "01234567", 0));
		IS(is_asleep(s));
		START(r, rcv(q, 8, 0, 0));
		EQ(finish(r), 8);
		EQ(finish(s), 0);
	}
	EQ(stat_of(q).msg_qnum, 1);
}
