/* SPDX-License-Identifier: MIT */
/* msg_receive.c - msgrcv that finds its message, or does not, at once. */
#include "scenario.h"

/* Types 5 3 1 3 5 2, each with its place as its body. */
static int six_messages(void)
{
	static const long types[] = {5, 3, 1, 3, 5, 2};
	int q = new_queue(0600);
	char body[] = "0";

	for (int i = 0; i < 6; i++) {
		body[0] = (char)('0' + i);
		EQ(snd(q, types[i], body, 0), 0);
	}
	return q;
}

static void expect(int q, long type, int flags, const char *places)
{
	for (; *places != '\0'; places++) {
		EQ(rcv(q, 8, type, flags | IPC_NOWAIT), 1);
		EQ(got_text(NULL)[0], *places);
	}
	EQ(rcv(q, 8, type, flags | IPC_NOWAIT), -ENOMSG);
}

SCENARIO(receive_order_of_checks, NEED_NOTHING, "A-056")
{
	int q = new_queue(0600);

	EQ(rcv(-1, 8, 0, 0), -EINVAL);
	EQ(rcv(q, (size_t)-1, 0, IPC_NOWAIT), -EINVAL);
	EQ(rcv(q, (size_t)LONG_MIN, 0, IPC_NOWAIT), -EINVAL);
	EQ(rcv(q, (size_t)LONG_MAX, 0, IPC_NOWAIT), -ENOMSG);
	EQ(rcv(q, 8, 0, IPC_NOWAIT), -ENOMSG);
	EQ(rcv_into(q, NULL, 8, 0, IPC_NOWAIT), -ENOMSG);
	EQ(rcv_into(q, unmapped(), 8, 0, IPC_NOWAIT), -ENOMSG);
	EQ(rcv_into(q + 1000, NULL, 8, 0, IPC_NOWAIT), -EINVAL);
	EQ(snd(q, 1, "four", 0), 0);
	EQ(rcv_into(q, NULL, 3, 0, 0), -E2BIG);
	EQ(rcv_into(q, unmapped(), 3, 0, 0), -E2BIG);
	EQ(stat_of(q).msg_qnum, 1);
}

SCENARIO(receive_denied, NEED_ROOT, "A-056 A-023")
{
	struct actor *p = new_process();
	int q = new_queue(0602);

	BY(p, run("become", become, NOBODY));
	EQ(BY(p, rcv(q, 8, 0, 0)), -EACCES);
	EQ(BY(p, rcv(q, 8, 0, IPC_NOWAIT)), -EACCES);
	EQ(snd(q, 1, "four", 0), 0);
	EQ(BY(p, rcv(q, 2, 0, IPC_NOWAIT)), -EACCES);
	EQ(BY(p, rcv(q, (size_t)-1, 0, IPC_NOWAIT)), -EINVAL);
	EQ(set_mode(q, 0604), 0);
	EQ(BY(p, rcv(q, 8, 0, IPC_NOWAIT)), 4);
	EQ(BY(p, snd(q, 1, "x", IPC_NOWAIT)), -EACCES);
}

SCENARIO(receive_bad_pointer_keeps_message, NEED_NOTHING, "A-057")
{
	int q = new_queue(0600);

	EQ(snd(q, 1, "gone?", 0), 0);
	EQ(rcv_into(q, unmapped(), 64, 0, 0), -EFAULT);
	EXPECT_DIFFERS("A-057", peek(q).msg_qnum, 0, 1);
	EXPECT_DIFFERS("A-057", peek(q).__msg_cbytes, 0, 5);
	(void)backend()->msgrcv(q, self()->buf.message.body, 64, 0, IPC_NOWAIT);
	EQ(snd(q, 1, "read-only", 0), 0);
	EQ(rcv_into(q, read_only(), 64, 0, 0), -EFAULT);
	EXPECT_DIFFERS("A-057", peek(q).msg_qnum, 0, 1);
}

SCENARIO(receive_buffer_partly_bad, NEED_NOTHING, "A-057")
{
	int q = new_queue(0600);

	EQ(snd(q, 1, "abcdefgh", 0), 0);
	/* Only what the message fills must be there. */
	EQ(rcv_into(q, at_page_end(sizeof(long) + 8), 64, 0, 0), 8);
	EQ(snd(q, 1, "abcdefgh", 0), 0);
	EQ(rcv_into(q, at_page_end(sizeof(long) + 7), 64, 0, 0), -EFAULT);
	(void)backend()->msgrcv(q, &self()->buf, 64, 0, IPC_NOWAIT);
	EQ(snd(q, 1, "abcdefgh", 0), 0);
	EQ(rcv_into(q, at_page_end(sizeof(long) - 1), 64, 0, 0), -EFAULT);
}

SCENARIO(receive_any_type, NEED_NOTHING, "A-058")
{
	expect(six_messages(), 0, 0, "012345");
	expect(six_messages(), 0, MSG_EXCEPT, "012345");
}

SCENARIO(receive_one_type, NEED_NOTHING, "A-059")
{
	int q = six_messages();

	expect(q, 3, 0, "13");
	expect(q, 5, 0, "04");
	expect(q, 4, 0, "");
	expect(q, LONG_MAX, 0, "");
	expect(q, 0, 0, "25");
}

SCENARIO(receive_other_types, NEED_NOTHING, "A-059")
{
	int q = six_messages();

	expect(q, 5, MSG_EXCEPT, "1235");
	expect(q, 5, MSG_EXCEPT, "");
	expect(q, 6, MSG_EXCEPT, "04");
}

SCENARIO(receive_lowest_type, NEED_NOTHING, "A-060")
{
	expect(six_messages(), -3, 0, "2513");
	expect(six_messages(), -LONG_MAX, 0, "251304");
	expect(six_messages(), LONG_MIN, 0, "251304");
	expect(six_messages(), -1, 0, "2");
	expect(six_messages(), -3, MSG_EXCEPT, "2513");
	expect(six_messages(), -4, 0, "2513");
}

SCENARIO(receive_lowest_type_extremes, NEED_NOTHING, "A-060")
{
	int q = new_queue(0600);

	EQ(snd(q, LONG_MAX, "huge", 0), 0);
	EQ(snd(q, LONG_MAX - 1, "less", 0), 0);
	EQ(rcv(q, 8, -(LONG_MAX - 2), IPC_NOWAIT), -ENOMSG);
	EQ(rcv(q, 8, -(LONG_MAX - 1), IPC_NOWAIT), 4);
	EQ(got_type(NULL), LONG_MAX - 1);
	EQ(rcv(q, 8, -(LONG_MAX - 1), IPC_NOWAIT), -ENOMSG);
	EQ(rcv(q, 8, LONG_MIN, IPC_NOWAIT), 4);
	EQ(got_type(NULL), LONG_MAX);
}

SCENARIO(receive_too_big, NEED_NOTHING, "A-061 A-062 A-066")
{
	int q = new_queue(0600);

	EQ(snd(q, 1, "long message", 0), 0);
	EQ(snd(q, 1, "short", 0), 0);
	/* The first match decides; the second would fit. */
	EQ(rcv(q, 11, 0, IPC_NOWAIT), -E2BIG);
	EQ(rcv(q, 5, 1, 0), -E2BIG);
	EQ(rcv(q, 5, -1, 0), -E2BIG);
	EQ(rcv(q, 5, 2, MSG_EXCEPT), -E2BIG);
	struct msqid_ds ds = stat_of(q);
	EQ(ds.msg_qnum, 2);
	EQ(ds.msg_rtime, 0);
	EQ(ds.msg_lrpid, 0);
	EQ(rcv(q, 12, 0, 0), 12);
	EQ(rcv(q, 5, 0, 0), 5);
}

SCENARIO(receive_cut, NEED_NOTHING, "A-061")
{
	int q = new_queue(0600);

	EQ(snd(q, 1, "abcdefghij", 0), 0);
	EQ(snd(q, 2, "klm", 0), 0);
	EQ(rcv(q, 4, 0, MSG_NOERROR), 4);
	EQ(strcmp(got_text(NULL), "abcd"), 0);
	struct msqid_ds ds = stat_of(q);
	EQ(ds.msg_qnum, 1);
	EQ(ds.__msg_cbytes, 3);
	EQ(rcv(q, 0, 0, MSG_NOERROR), 0);
	EQ(got_type(NULL), 2);
	EQ(stat_of(q).__msg_cbytes, 0);
}

SCENARIO(receive_size_zero, NEED_NOTHING, "A-063")
{
	int q = new_queue(0600);

	EQ(rcv(q, 0, 0, IPC_NOWAIT), -ENOMSG);
	EQ(snd(q, 1, "", 0), 0);
	EQ(rcv(q, 0, 0, 0), 0);
	EQ(snd(q, 1, "x", 0), 0);
	EQ(rcv(q, 0, 0, 0), -E2BIG);
	EQ(rcv(q, 0, 0, MSG_NOERROR), 0);
	EQ(stat_of(q).msg_qnum, 0);
}

SCENARIO(receive_sets_time_and_pid, NEED_NOTHING, "A-037 A-066")
{
	struct actor *p = new_process();
	int q = new_queue(0600);

	EQ(snd(q, 1, "abc", 0), 0);
	EQ(snd(q, 1, "de", 0), 0);
	EQ(BY(p, rcv(q, 64, 0, 0)), 3);
	struct msqid_ds ds = stat_of(q);
	EQ(ds.msg_lrpid, p->pid);
	EQ(ds.msg_lspid, self()->pid);
	IS(ds.msg_rtime != 0);
	EQ(ds.msg_qnum, 1);
	EQ(ds.__msg_cbytes, 2);
}

SCENARIO(receive_unknown_flags, NEED_NOTHING, "A-056")
{
	int q = new_queue(0600);

	EQ(snd(q, 1, "x", 0), 0);
	EQ(rcv(q, 8, 0, 0x4000000 | IPC_CREAT | IPC_NOWAIT), 1);
	EQ(rcv(q, 8, 0, 0x4000000 | IPC_CREAT | IPC_NOWAIT), -ENOMSG);
}

SCENARIO(receive_huge_size, NEED_NOTHING, "A-056 A-066")
{
	int q = new_queue(0600);

	EQ(snd(q, 1, "abc", 0), 0);
	EQ(rcv(q, (size_t)LONG_MAX, 0, 0), 3);
	EQ(snd(q, 1, "abc", 0), 0);
	EQ(rcv(q, (size_t)1 << 32, 0, 0), 3);
	EQ(snd(q, 1, "abc", 0), 0);
	EQ(rcv(q, (size_t)UINT_MAX, 0, MSG_NOERROR), 3);
}

/* ---- many messages ---- */

SCENARIO(receive_order_of_many, NEED_NOTHING, "A-058 A-059 A-060 A-065")
{
	int q = new_queue(0600);
	char body[8];

	for (int i = 0; i < 200; i++) {
		body[0] = (char)('a' + i % 26);
		body[1] = (char)('a' + i / 26);
		body[2] = '\0';
		EQ(snd(q, 1 + (i * 7) % 13, body, 0), 0);
	}
	for (int i = 0; i < 13; i++)
		EQ(rcv(q, 8, 13 - i, IPC_NOWAIT), 2);
	for (int i = 0; i < 50; i++)
		(void)rcv(q, 8, -(i % 13 + 1), IPC_NOWAIT);
	for (int i = 0; i < 40; i++)
		EQ(rcv(q, 8, i % 13 + 1, MSG_EXCEPT | IPC_NOWAIT), 2);
	while (rcv(q, 8, 0, IPC_NOWAIT) >= 0)
		continue;
	EQ(stat_of(q).msg_qnum, 0);
}
