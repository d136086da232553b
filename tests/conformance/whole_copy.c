/* SPDX-License-Identifier: MIT */
/* whole_copy.c - MSG_COPY: looking at a message by its place. */
#define SUITE 3
#include "scenario.h"

#define LOOK (MSG_COPY | IPC_NOWAIT)

SCENARIO(copy_by_place, NEED_NOTHING, "A-064")
{
	struct actor *p = new_process();
	int q = new_queue(0600);

	EQ(snd(q, 5, "zero", 0), 0);
	EQ(snd(q, 3, "one", 0), 0);
	EQ(snd(q, 5, "second", 0), 0);
	struct msqid_ds before = stat_of(q);
	EQ(BY(p, rcv(q, 64, 0, LOOK)), 4);
	EQ(BY(p, rcv(q, 64, 1, LOOK)), 3);
	EQ(got_type(p), 3);
	EQ(BY(p, rcv(q, 64, 2, LOOK)), 6);
	EQ(BY(p, rcv(q, 64, 3, LOOK)), -ENOMSG);
	EQ(BY(p, rcv(q, 64, LONG_MAX, LOOK)), -ENOMSG);
	EQ(BY(p, rcv(q, 64, -1, LOOK)), -ENOMSG);
	EQ(BY(p, rcv(q, 64, LONG_MIN, LOOK)), -ENOMSG);
	struct msqid_ds after = stat_of(q);
	EQ(after.msg_qnum, 3);
	EQ(after.__msg_cbytes, before.__msg_cbytes);
	EQ(after.msg_rtime, 0);
	EQ(after.msg_lrpid, 0);
	/* Places follow what is taken away. */
	EQ(rcv(q, 64, 3, 0), 3);
	EQ(rcv(q, 64, 1, LOOK), 6);
	EQ(rcv(q, 64, 2, LOOK), -ENOMSG);
}

SCENARIO(copy_order_of_checks, NEED_NOTHING, "A-056 A-064")
{
	int q = new_queue(0600);

	EQ(snd(q, 1, "four", 0), 0);
	EQ(rcv(-1, 8, 0, LOOK), -EINVAL);
	EQ(rcv(q, (size_t)-1, 0, LOOK), -EINVAL);
	EQ(rcv(q, 8, 0, MSG_COPY), -EINVAL);
	EQ(rcv(q, 8, 0, LOOK | MSG_EXCEPT), -EINVAL);
	EQ(rcv_into(q, NULL, 8, 0, MSG_COPY), -EINVAL);
	EQ(rcv_into(q, NULL, 8, 0, LOOK), -EFAULT);
	EQ(rcv_into(q, unmapped(), 8, 0, LOOK), -EFAULT);
	EQ(rcv_into(q + 1000, NULL, 8, 0, LOOK), -EFAULT);
	EQ(rcv(q + 1000, 8, 0, LOOK), -EINVAL);
	EQ(stat_of(q).msg_qnum, 1);
}

SCENARIO(copy_sizes, NEED_PRIVATE, "A-064")
{
	int q = new_queue(0600);

	EQ(snd(q, 1, "abcdefgh", 0), 0);
	EQ(rcv(q, 7, 0, LOOK), -E2BIG);
	EQ(rcv(q, 0, 0, LOOK), -E2BIG);
	EQ(rcv(q, 8, 0, LOOK), 8);
	EQ(rcv(q, 7, 0, LOOK | MSG_NOERROR), -EINVAL);
	EQ(rcv(q, 0, 0, LOOK | MSG_NOERROR), -EINVAL);
	EQ(rcv(q, 8, 0, LOOK | MSG_NOERROR), 8);
	EQ(rcv(q, 100000, 0, LOOK), 8);
	EQ(rcv(q, 8192, 0, LOOK), 8);
	EQ(snd_sized(q, 2, 8000, 0), 0);
	EQ(rcv(q, 100000, 1, LOOK), 8000);
	EQ(stat_of(q).msg_qnum, 2);
}

SCENARIO(copy_of_empty_message, NEED_NOTHING, "A-064")
{
	int q = new_queue(0600);

	EQ(rcv(q, 0, 0, LOOK), -ENOMSG);
	EQ(snd(q, 4, "", 0), 0);
	EQ(rcv(q, 0, 0, LOOK), 0);
	EQ(got_type(NULL), 4);
	EQ(rcv(q, 8, 0, LOOK), 0);
}

SCENARIO(copy_needs_read_right, NEED_ROOT, "A-064 A-056")
{
	struct actor *p = new_process();
	int q = new_queue(0602);

	EQ(snd(q, 1, "x", 0), 0);
	BY(p, run("become", become, NOBODY));
	EQ(BY(p, rcv(q, 8, 0, LOOK)), -EACCES);
	EQ(set_mode(q, 0604), 0);
	EQ(BY(p, rcv(q, 8, 0, LOOK)), 1);
	EQ(BY(p, rcv(q, 8, 5, LOOK)), -ENOMSG);
}

/* What was handed over never stands in the queue, and a look wakes nobody. */
SCENARIO(copy_and_those_asleep, NEED_NOTHING, "A-064 A-075")
{
	struct actor *r = new_process(), *s = new_process();
	int q = new_queue(0600);

	START_ASLEEP(r, rcv(q, 64, 7, 0));
	EQ(set_qbytes(q, 4), 0);
	EQ(snd(q, 1, "full", 0), 0);
	START_ASLEEP(s, snd(q, 2, "more", 0));
	EQ(rcv(q, 64, 0, LOOK), 4);
	EQ(rcv(q, 64, 1, LOOK), -ENOMSG);
	ASLEEP(r);
	ASLEEP(s);
	EQ(rcv(q, 64, 0, 0), 4);
	EQ(finish(s), 0);
	EQ(rcv(q, 64, 0, LOOK), 4);
}
