/* SPDX-License-Identifier: MIT */
/* whole_limits.c - msgmax, msgmnb, msgmni, the next id, and capabilities. */
#define SUITE 3
#include "scenario.h"

#include <linux/capability.h>
#include <stdio.h>

SCENARIO(limit_of_queues, NEED_LIMITS | NEED_PRIVATE, "A-011 A-177")
{
	int q[4];

	set_limit("msgmni", 3);
	for (int i = 0; i < 3; i++)
		q[i] = new_queue(0600);
	EQ(get(IPC_PRIVATE, 0600), -ENOSPC);
	EQ(get(key_of(1), IPC_CREAT | 0600), -ENOSPC);
	EQ(get(key_of(1), 0), -ENOENT);
	EQ(rmid(q[1]), 0);
	long k = get(key_of(1), IPC_CREAT | 0600);
	IS(k >= 0);
	/* A lower limit destroys nothing. */
	set_limit("msgmni", 1);
	EQ(get(key_of(1), 0), k);
	EQ(get(key_of(1), IPC_CREAT | 0600), k);
	EQ(snd((int)k, 1, "x", 0), 0);
	EQ(get(IPC_PRIVATE, 0600), -ENOSPC);
	EQ(rmid(q[0]), 0);
	EQ(get(IPC_PRIVATE, 0600), -ENOSPC);
	EQ(rmid((int)k), 0);
	EQ(get(IPC_PRIVATE, 0600), -ENOSPC);
	EQ(rmid(q[2]), 0);
	IS(get(IPC_PRIVATE, 0600) >= 0);
}

SCENARIO(limit_of_queues_by_default, NEED_PRIVATE, "A-011 A-036 A-018")
{
	int id = -1;

	for (int i = 0; i < 32000; i++) {
		id = (int)backend()->msgget(IPC_PRIVATE, 0600);
		if (id != i)
			give_up("queue %d is %s", i, error_name(id));
	}
	EQ(get(IPC_PRIVATE, 0600), -ENOSPC);
	EQ(ctl_info(MSG_INFO, NULL), 31999);
	EQ(snd(31999, 1, "last", 0), 0);
	EQ(rmid(100), 0);
	IS(backend()->msgget(IPC_PRIVATE, 0600) >= 0);
	for (int i = 0; i < 32000; i++)
		(void)backend()->msgctl(i, IPC_RMID, NULL);
	EQ(ctl_info(MSG_INFO, NULL), 32000);
}

SCENARIO(limit_of_queue_bytes, NEED_LIMITS | NEED_PRIVATE,
	 "A-035 A-177 A-084 A-088")
{
	struct actor *owner = new_process();

	BY(owner, run("become", become, NOBODY));
	int before = (int)BY(owner, get(IPC_PRIVATE, 0600));
	set_limit("msgmnb", 30000);
	int after = (int)BY(owner, get(IPC_PRIVATE, 0600));
	EQ(stat_of(before).msg_qbytes, 16384);
	EQ(stat_of(after).msg_qbytes, 30000);
	EQ(BY(owner, set_qbytes(before, 30000)), 0);
	EQ(BY(owner, set_qbytes(before, 30001)), -EPERM);
	set_limit("msgmnb", 10);
	EQ(stat_of(before).msg_qbytes, 30000);
	EQ(BY(owner, set_qbytes(before, 30000)), -EPERM);
	EQ(BY(owner, set_qbytes(before, 10)), 0);
	EQ(stat_of((int)BY(owner, get(IPC_PRIVATE, 0600))).msg_qbytes, 10);
	EQ(ctl_info(IPC_INFO, NULL), 2);
}

/* More than an int holds is taken for what is left of it. */
SCENARIO(queue_bytes_beyond_int, NEED_PRIVATE, "A-085")
{
	int q = new_queue(0600);

	note("-> %s", error_name(set_qbytes(q, (1UL << 32) + 7)));
	note("qbytes %lu", (unsigned long)peek(q).msg_qbytes);
	note("-> %s", error_name(set_qbytes(q, 1UL << 32)));
	note("qbytes %lu", (unsigned long)peek(q).msg_qbytes);
}

SCENARIO(limit_of_message_bytes, NEED_LIMITS | NEED_PRIVATE, "A-046 A-177")
{
	struct actor *s = new_process();
	int q = new_queue(0600);

	EQ(set_qbytes(q, 10), 0);
	EQ(snd_sized(q, 1, 10, 0), 0);
	START_ASLEEP(s, snd_sized(q, 2, 10, 0));
	set_limit("msgmax", 5);
	EQ(snd_sized(q, 1, 6, IPC_NOWAIT), -EINVAL);
	EQ(snd_sized(q, 1, 5, IPC_NOWAIT), -EAGAIN);
	/* What was asked before the limit fell is done. */
	EQ(rcv(q, 64, 0, 0), 10);
	EQ(finish(s), 0);
	EQ(rcv(q, 64, 0, 0), 10);
	EQ(snd_sized(q, 1, 5, IPC_NOWAIT), 0);
	set_limit("msgmax", 0);
	EQ(snd_sized(q, 1, 1, IPC_NOWAIT), -EINVAL);
	EQ(snd_sized(q, 1, 0, IPC_NOWAIT), 0);
}

SCENARIO(large_messages, NEED_LIMITS | NEED_PRIVATE, "A-046 A-177 A-074")
{
	struct actor *r = new_process();

	set_limit("msgmnb", 1000000);
	set_limit("msgmax", 100000);
	int q = new_queue(0600);
	EQ(snd_sized(q, 1, 100001, 0), -EINVAL);
	for (int i = 0; i < 10; i++)
		EQ(snd_sized(q, 1 + i, 100000, IPC_NOWAIT), 0);
	EQ(snd_sized(q, 1, 1, IPC_NOWAIT), -EAGAIN);
	for (int i = 9; i >= 0; i--)
		EQ(rcv(q, 110000, 1 + i, 0), 100000);
	START_ASLEEP(r, rcv(q, 110000, 0, 0));
	EQ(snd_sized(q, 3, 99999, 0), 0);
	EQ(finish(r), 99999);
}

/* ---- the next id ---- */

static long choose_next_id(long id)
{
	FILE *f = fopen("/proc/sys/kernel/msg_next_id", "w");

	if (f == NULL)
		return -errno;
	fprintf(f, "%ld\n", id);
	return fclose(f) == 0 ? 0 : -errno;
}

static long next_id(long arg)
{
	long id = -2;
	FILE *f = fopen("/proc/sys/kernel/msg_next_id", "r");

	(void)arg;
	if (f == NULL)
		return -errno;
	if (fscanf(f, "%ld", &id) != 1)
		id = -2;
	fclose(f);
	return id;
}

SCENARIO(next_id_can_be_chosen, NEED_ROOT | NEED_PRIVATE, "A-020")
{
	note("next id %ld", next_id(0));
	EQ(next_id(0), -1);
	EQ(run("choose", choose_next_id, 3 * 32768 + 100), 0);
	EQ(next_id(0), 3 * 32768 + 100);
	EQ(get(IPC_PRIVATE, 0600), 3 * 32768 + 100);
	EQ(next_id(0), -1);
	/* The round of indexes goes on where it was. */
	EQ(get(IPC_PRIVATE, 0600), 0);
	/* An index that is taken: another is found. */
	EQ(run("choose", choose_next_id, 5 * 32768 + 100), 0);
	note("id %ld", get(IPC_PRIVATE, 0600));
	EQ(next_id(0), -1);
}

/* ---- capabilities ---- */

SCENARIO(capability_ipc_owner, NEED_ROOT, "A-024 A-025 A-008")
{
	struct actor *p = new_process();
	long q = get(key_of(1), IPC_CREAT | 0);

	BY(p, run("keep_only_cap", keep_only_cap, CAP_IPC_OWNER));
	EQ(BY(p, get(key_of(1), 0600)), q);
	EQ(BY(p, snd((int)q, 1, "x", 0)), 0);
	EQ(BY(p, rcv((int)q, 8, 0, 0)), 1);
	EQ(BY(p, ctl_stat((int)q, IPC_STAT, NULL)), 0);
	EQ(BY(p, set((int)q, &(struct msqid_ds){.msg_qbytes = 1})), -EPERM);
	EQ(BY(p, rmid((int)q)), -EPERM);
}

SCENARIO(capability_sys_admin, NEED_ROOT, "A-025 A-024")
{
	struct actor *p = new_process();
	int q = new_queue(0600);

	BY(p, run("keep_only_cap", keep_only_cap, CAP_SYS_ADMIN));
	EQ(BY(p, snd(q, 1, "x", 0)), -EACCES);
	EQ(BY(p, ctl_stat(q, IPC_STAT, NULL)), -EACCES);
	EQ(BY(p, set(q, &(struct msqid_ds){.msg_qbytes = 1})), 0);
	EQ(BY(p, rmid(q)), 0);
}

SCENARIO(capability_none, NEED_ROOT, "A-024 A-025")
{
	struct actor *p = new_process();
	int q = new_queue(0600);

	BY(p, run("keep_only_cap", keep_only_cap, CAP_CHOWN));
	EQ(BY(p, snd(q, 1, "x", 0)), -EACCES);
	EQ(BY(p, set(q, &(struct msqid_ds){.msg_qbytes = 1})), -EPERM);
	EQ(BY(p, rmid(q)), -EPERM);
}

/* Root who gave the capabilities up is an ordinary user of uid 0. */
SCENARIO(root_without_capabilities, NEED_ROOT, "A-024 A-025 A-023")
{
	struct actor *maker = new_process(), *p = new_process();

	BY(maker, run("become", become, 1234));
	int q = (int)BY(maker, get(IPC_PRIVATE, 0600));
	EQ(BY(p, snd(q, 1, "x", 0)), 0);
	EQ(BY(p, run("drop_caps", drop_caps, 0)), 0);
	EQ(BY(p, snd(q, 1, "x", 0)), -EACCES);
	EQ(BY(p, rcv(q, 8, 0, IPC_NOWAIT)), -EACCES);
	EQ(BY(p, rmid(q)), -EPERM);
	int own = new_queue(0600);
	EQ(BY(p, snd(own, 1, "x", 0)), 0);
	EQ(BY(p, rmid(own)), 0);
}
