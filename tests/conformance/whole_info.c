/* SPDX-License-Identifier: MIT */
/* whole_info.c - MSG_STAT, MSG_STAT_ANY, IPC_INFO, MSG_INFO, /proc/sysvipc. */
#define SUITE 3
#include "scenario.h"

#include <stdio.h>

SCENARIO(stat_by_index, NEED_PRIVATE, "A-017 A-018")
{
	struct msqid_ds ds;
	int a = new_queue(0600), b = new_queue(0600), c = new_queue(0640);

	EQ(snd(b, 1, "two", 0), 0);
	EQ(rmid(a), 0);
	EQ(ctl_stat(0, MSG_STAT, NULL), -EINVAL);
	EQ(ctl_stat(1, MSG_STAT, &ds), b);
	EQ(ds.msg_qnum, 1);
	EQ(ctl_stat(2, MSG_STAT, &ds), c);
	EQ(ds.msg_perm.mode, 0640);
	EQ(ctl_stat(3, MSG_STAT, NULL), -EINVAL);
	EQ(ctl_stat(1, MSG_STAT_ANY, NULL), b);
	EQ(ctl_stat(0, MSG_STAT_ANY, NULL), -EINVAL);
	EQ(ctl_stat(-1, MSG_STAT, NULL), -EINVAL);
	EQ(ctl_stat(-1, MSG_STAT_ANY, NULL), -EINVAL);
}

SCENARIO(stat_by_index_ignores_sequence, NEED_PRIVATE, "A-017")
{
	int q = -1;

	/* Until an id has a sequence number in it. */
	for (int i = 0; i < 70; i++) {
		if (q >= 0)
			EQ(backend()->msgctl(q, IPC_RMID, NULL), 0);
		q = (int)backend()->msgget(IPC_PRIVATE, 0600);
	}
	note("id %d", q);
	IS(q > 32768);
	EQ(ctl(q & 0x7fff, MSG_STAT, &self()->buf), q);
	EQ(ctl(q, MSG_STAT, &self()->buf), q);
	EQ(ctl(q + 5 * 32768, MSG_STAT, &self()->buf), q);
	EQ(ctl(q & 0x7fff, MSG_STAT_ANY, &self()->buf), q);
	EQ(ctl(q + 1, MSG_STAT, &self()->buf), -EINVAL);
	EQ(ctl(q & 0x7fff, IPC_STAT, &self()->buf), -EINVAL);
}

SCENARIO(stat_by_index_rights, NEED_ROOT | NEED_PRIVATE, "A-019")
{
	struct actor *p = new_process();
	int q = new_queue(0600);

	BY(p, run("become", become, NOBODY));
	EQ(BY(p, ctl_stat(0, MSG_STAT, NULL)), -EACCES);
	EQ(BY(p, ctl_stat(0, MSG_STAT_ANY, NULL)), q);
	EQ(BY(p, ctl_stat(5, MSG_STAT, NULL)), -EINVAL);
	EQ(BY(p, ctl_info(IPC_INFO, NULL)), 0);
	EQ(BY(p, ctl_info(MSG_INFO, NULL)), 0);
	EQ(set_mode(q, 0604), 0);
	EQ(BY(p, ctl_stat(0, MSG_STAT, NULL)), q);
}

SCENARIO(stat_by_index_bad_pointer, NEED_PRIVATE, "A-017 A-083")
{
	int q = new_queue(0600);

	EQ(ctl(0, MSG_STAT, NULL), -EFAULT);
	EQ(ctl(0, MSG_STAT_ANY, unmapped()), -EFAULT);
	EQ(ctl(9, MSG_STAT, NULL), -EINVAL);
	EQ(ctl(0, IPC_INFO, NULL), -EFAULT);
	EQ(ctl(0, MSG_INFO, unmapped()), -EFAULT);
	EQ(ctl(-1, IPC_INFO, &self()->buf), -EINVAL);
	EQ(ctl(12345, IPC_INFO, &self()->buf), 0);
	EQ(stat_of(q).msg_qnum, 0);
}

SCENARIO(command_with_ipc_64, NEED_NOTHING, "A-021 A-083")
{
	int q = new_queue(0600);

	EQ(ctl(q, 0x100 | IPC_STAT, &self()->buf), -EINVAL);
	EQ(ctl(q, 0x100 | IPC_RMID, NULL), -EINVAL);
	EQ(ctl(q, 0x100 | IPC_INFO, &self()->buf), -EINVAL);
	EQ(ctl(q, 14, &self()->buf), -EINVAL);
	EQ(ctl(q, 10, &self()->buf), -EINVAL);
	EQ(ctl(q, INT_MAX, &self()->buf), -EINVAL);
	EQ(ctl(q, INT_MIN, &self()->buf), -EINVAL);
	EQ(stat_of(q).msg_qnum, 0);
}

SCENARIO(info_limits, NEED_PRIVATE, "A-088 A-018 A-036")
{
	struct msginfo i;

	EQ(ctl_info(IPC_INFO, &i), 0);
	EQ(i.msgmax, 8192);
	EQ(i.msgmnb, 16384);
	EQ(i.msgmni, 32000);
	EQ(i.msgpool, 512000);
	EQ(i.msgmap, 16384);
	EQ(i.msgtql, 16384);
	EQ(i.msgssz, 16);
	EQ(i.msgseg, 65535);
	new_queue(0600);
	EQ(ctl_info(IPC_INFO, NULL), 0);
	int q = new_queue(0600);
	new_queue(0600);
	EQ(ctl_info(IPC_INFO, NULL), 2);
	EQ(rmid(q), 0);
	EQ(ctl_info(IPC_INFO, NULL), 2);
}

SCENARIO(info_totals, NEED_PRIVATE, "A-089 A-018")
{
	struct actor *p = new_process(), *s = new_process();
	struct msginfo i;

	EQ(ctl_info(MSG_INFO, &i), 0);
	EQ(i.msgpool, 0);
	int a = new_queue(0600), b = new_queue(0600);
	EQ(snd(a, 1, "12345", 0), 0);
	EQ(BY(p, snd(b, 1, "123", 0)), 0);
	EQ(BY(p, snd(b, 1, "", 0)), 0);
	EQ(ctl_info(MSG_INFO, &i), 1);
	EQ(i.msgpool, 2);
	EQ(i.msgmap, 3);
	EQ(i.msgtql, 8);
	EQ(rcv(b, 64, 0, 0), 3);
	EQ(ctl_info(MSG_INFO, &i), 1);
	EQ(i.msgmap, 2);
	EQ(i.msgtql, 5);
	/* Neither a hand-over nor a sender asleep counts. */
	START_ASLEEP(p, rcv(b, 64, 9, 0));
	EQ(snd(b, 9, "handed", 0), 0);
	EQ(finish(p), 6);
	EQ(set_qbytes(a, 5), 0);
	START_ASLEEP(s, snd(a, 1, "waits", 0));
	EQ(ctl_info(MSG_INFO, &i), 1);
	EQ(i.msgmap, 2);
	EQ(i.msgtql, 5);
	EQ(rmid(a), 0);
	EQ(finish(s), -EIDRM);
	EQ(ctl_info(MSG_INFO, &i), 1);
	EQ(i.msgpool, 1);
	EQ(i.msgmap, 1);
	EQ(i.msgtql, 0);
}

/* Whoever sent or received is gone; what it counted stays. */
SCENARIO(info_totals_outlive_processes, NEED_PRIVATE, "A-089")
{
	struct actor *p = new_process(), *r = new_process();
	struct msginfo i;
	int q = new_queue(0600);

	EQ(BY(p, snd(q, 1, "abc", 0)), 0);
	EQ(BY(p, snd(q, 2, "defg", 0)), 0);
	kill_actor(p);
	EQ(ctl_info(MSG_INFO, &i), 0);
	EQ(i.msgmap, 2);
	EQ(i.msgtql, 7);
	EQ(BY(r, rcv(q, 64, 2, 0)), 4);
	kill_actor(r);
	EQ(ctl_info(MSG_INFO, &i), 0);
	EQ(i.msgmap, 1);
	EQ(i.msgtql, 3);
}

/* ---- /proc/sysvipc/msg ---- */

/* Writes one line to the trace with pids and times by their roles. */
static void note_row(const char *row)
{
	int key, id, pids[2];
	unsigned perms, uid, gid, cuid, cgid;
	unsigned long cbytes, qnum, s, r, c;

	int n = sscanf(row, "%d %d %o %lu %lu %d %d %u %u %u %u %lu %lu %lu",
		       &key, &id, &perms, &cbytes, &qnum, &pids[0], &pids[1],
		       &uid, &gid, &cuid, &cgid, &s, &r, &c);
	EQ(n, 14);
	note("row key=%s id=%d perms=%o cbytes=%lu qnum=%lu lspid=%s lrpid=%s "
	     "%u %u %u %u times %d%d%d",
	     key == key_of(1) ? "k1" : "other", id, perms, cbytes, qnum,
	     role_of(pids[0]), role_of(pids[1]), uid, gid, cuid, cgid, s != 0,
	     r != 0, c != 0);
}

static void note_table(void)
{
	char line[512];
	FILE *f = fopen("/proc/sysvipc/msg", "r");

	if (f == NULL) {
		note("no /proc/sysvipc/msg: %s", error_name(-errno));
		IS(!"/proc/sysvipc/msg can be read");
		return;
	}
	if (fgets(line, sizeof(line), f) != NULL)
		note("%s", line);
	while (fgets(line, sizeof(line), f) != NULL)
		note_row(line);
	fclose(f);
}

SCENARIO(proc_table, NEED_PRIVATE, "A-173 A-174")
{
	struct actor *p = new_process();

	note_table();
	int a = new_queue(0600);
	long b = get(key_of(1), IPC_CREAT | 0644);
	new_queue(0);
	EQ(BY(p, snd((int)b, 1, "hello", 0)), 0);
	EQ(BY(p, snd((int)b, 1, "you", 0)), 0);
	EQ(rcv((int)b, 64, 0, 0), 5);
	note_table();
	EQ(rmid(a), 0);
	note_table();
}

static long note_table_as_actor(long arg)
{
	(void)arg;
	note_table();
	return 0;
}

SCENARIO(proc_table_without_rights, NEED_PRIVATE | NEED_ROOT, "A-173")
{
	struct actor *p = new_process();

	new_queue(0600);
	new_queue(0);
	BY(p, run("become", become, NOBODY));
	BY(p, run("read the table", note_table_as_actor, 0));
}

/* The row's layout, to the letter. */
SCENARIO(proc_row_layout, NEED_PRIVATE, "A-174")
{
	char want[256], line[512] = "";
	int q = (int)get((key_t)0x80000001, IPC_CREAT | 0604);
	struct msqid_ds ds;

	EQ(snd(q, 1, "hello", 0), 0);
	ds = peek(q);
	snprintf(want, sizeof(want),
		 "%10d %10d  %4o  %10lu %10lu %5u %5u %5u %5u %5u %5u %10llu "
		 "%10llu %10llu\n",
		 ds.msg_perm.__key, q, (unsigned)ds.msg_perm.mode,
		 (unsigned long)ds.__msg_cbytes, (unsigned long)ds.msg_qnum,
		 (unsigned)ds.msg_lspid, (unsigned)ds.msg_lrpid,
		 ds.msg_perm.uid, ds.msg_perm.gid, ds.msg_perm.cuid,
		 ds.msg_perm.cgid, (unsigned long long)ds.msg_stime,
		 (unsigned long long)ds.msg_rtime,
		 (unsigned long long)ds.msg_ctime);
	FILE *f = fopen("/proc/sysvipc/msg", "r");
	if (f == NULL)
		give_up("/proc/sysvipc/msg: %s", strerror(errno));
	(void)!fgets(line, sizeof(line), f);
	(void)!fgets(line, sizeof(line), f);
	EQ(strcmp(line, want), 0);
	EQ(fgets(line, sizeof(line), f) == NULL, 1);
	fclose(f);
}
