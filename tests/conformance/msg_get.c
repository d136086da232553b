/* SPDX-License-Identifier: MIT */
/* msg_get.c - keys, identifiers, msgget, and a new queue's attributes. */
#include "scenario.h"

#include <sys/stat.h>
#include <unistd.h>

#define K1 key_of(1)

SCENARIO(get_private, NEED_NOTHING, "A-001")
{
	long a = get(IPC_PRIVATE, 0600);
	long b = get(IPC_PRIVATE, 0600);
	long c = get(IPC_PRIVATE, IPC_CREAT | IPC_EXCL | 0600);

	IS(a >= 0 && b >= 0 && c >= 0);
	IS(a != b && b != c && a != c);
	EQ(stat_of((int)b).msg_perm.__key, IPC_PRIVATE);
}

SCENARIO(get_absent_key, NEED_NOTHING, "A-003")
{
	EQ(get(K1, 0), -ENOENT);
	EQ(get(K1, 0600), -ENOENT);
	EQ(get(K1, IPC_EXCL | 0600), -ENOENT);
	IS(get(K1, IPC_CREAT | 0600) >= 0);
}

SCENARIO(get_present_key, NEED_NOTHING, "A-004 A-005")
{
	long q = get(K1, IPC_CREAT | 0600);

	IS(q >= 0);
	EQ(get(K1, IPC_CREAT | IPC_EXCL | 0600), -EEXIST);
	EQ(get(K1, IPC_EXCL | 0600), q);
	EQ(get(K1, IPC_CREAT | 0600), q);
	EQ(get(K1, 0), q);
	EQ(stat_of((int)q).msg_perm.__key, K1);
}

SCENARIO(get_exists_before_permission, NEED_ROOT, "A-004")
{
	struct actor *p = new_process();

	IS(get(K1, IPC_CREAT | 0600) >= 0);
	BY(p, run("become", become, NOBODY));
	EQ(BY(p, get(K1, IPC_CREAT | IPC_EXCL | 0666)), -EEXIST);
	EQ(BY(p, get(K1, IPC_CREAT | 0666)), -EACCES);
}

SCENARIO(get_asks_for_modes_of_own_class, NEED_ROOT, "A-008 A-023")
{
	struct actor *p = new_process();
	long q = get(K1, IPC_CREAT | 0604);

	BY(p, run("become", become, NOBODY));
	EQ(BY(p, get(K1, 0)), q);
	EQ(BY(p, get(K1, 0400)), q);
	EQ(BY(p, get(K1, 0040)), q);
	EQ(BY(p, get(K1, 0004)), q);
	EQ(BY(p, get(K1, 0111)), -EACCES);
	EQ(BY(p, get(K1, 0200)), -EACCES);
	EQ(BY(p, get(K1, 0020)), -EACCES);
	EQ(BY(p, get(K1, 0002)), -EACCES);
	EQ(BY(p, get(K1, 0600)), -EACCES);
	EQ(set_mode((int)q, 0600), 0);
	EQ(BY(p, get(K1, 0)), q);
	EQ(BY(p, get(K1, 0400)), -EACCES);
	EQ(BY(p, get(K1, 0004)), -EACCES);
}

SCENARIO(get_mode_and_umask, NEED_NOTHING, "A-009")
{
	mode_t old = umask(077);

	EQ(peek(new_queue(0777)).msg_perm.mode, 0777);
	EQ(peek(new_queue(0751)).msg_perm.mode, 0751);
	EQ(stat_of((int)get(K1, IPC_CREAT | 04000 | 0644)).msg_perm.mode, 0644);
	umask(old);
}

SCENARIO(get_mode_zero, NEED_ROOT, "A-009")
{
	EQ(stat_of(new_queue(0)).msg_perm.mode, 0);
}

SCENARIO(get_owner_is_effective, NEED_ROOT, "A-010")
{
	struct actor *p = new_process();

	BY(p, run("take_egid", take_egid, 4321));
	BY(p, run("take_euid", take_euid, 1234));
	long q = BY(p, get(IPC_PRIVATE, 0600));
	struct msqid_ds ds = stat_of((int)q);
	EQ(ds.msg_perm.uid, 1234);
	EQ(ds.msg_perm.cuid, 1234);
	EQ(ds.msg_perm.gid, 4321);
	EQ(ds.msg_perm.cgid, 4321);
}

SCENARIO(get_race_of_many, NEED_NOTHING, "A-002")
{
	struct actor *p[8];
	long won = 0, id = -1;

	for (int i = 0; i < 8; i++)
		p[i] = new_process();
	for (int i = 0; i < 8; i++)
		START(p[i], get(K1, IPC_CREAT | IPC_EXCL | 0600));
	for (int i = 0; i < 8; i++) {
		long ret = collect(p[i]);
		won += ret >= 0;
		id = ret >= 0 ? ret : id;
		IS(ret >= 0 || ret == -EEXIST);
	}
	EQ(won, 1);
	for (int i = 0; i < 8; i++)
		EQ(BY(p[i], get(K1, IPC_CREAT | 0600)), id);
}

SCENARIO(id_first_is_zero, NEED_PRIVATE, "A-012")
{
	EQ(get(IPC_PRIVATE, 0600), 0);
	EQ(get(IPC_PRIVATE, 0600), 1);
	EQ(snd(0, 1, "zero", 0), 0);
	EQ(rcv(0, 10, 0, 0), 4);
	EQ(stat_of(0).msg_perm.__seq, 0);
}

SCENARIO(id_goes_round, NEED_PRIVATE, "A-012 A-013 A-014")
{
	int id = -1;

	for (int round = 0; round < 3; round++)
		for (int i = 0; i < 64; i++) {
			id = (int)backend()->msgget(IPC_PRIVATE, 0600);
			EQ(id, round * 32768 + i);
			note("id %d", id);
			EQ(backend()->msgctl(id, IPC_RMID, NULL), 0);
		}
}

SCENARIO(id_skips_used_indexes, NEED_PRIVATE, "A-013 A-014")
{
	int keep = new_queue(0600);
	int next = new_queue(0600);

	EQ(keep, 0);
	EQ(next, 1);
	EQ(rmid(next), 0);
	for (int i = 2; i < 64; i++) {
		int id = new_queue(0600);
		EQ(id, i);
		EQ(rmid(id), 0);
	}
	note("after the round: id %d", new_queue(0600));
	note("and then: id %d", new_queue(0600));
}

/* With more objects than two thirds of the slots the round grows. */
SCENARIO(id_round_grows, NEED_PRIVATE, "A-013")
{
	int id = 0;

	for (int i = 0; i < 100; i++) {
		id = (int)backend()->msgget(IPC_PRIVATE, 0600);
		EQ(id, i);
	}
	for (int i = 0; i < 200; i++) {
		EQ(backend()->msgctl(id, IPC_RMID, NULL), 0);
		id = (int)backend()->msgget(IPC_PRIVATE, 0600);
		note("id %d", id);
	}
}

SCENARIO(id_relation_to_seq, NEED_PRIVATE, "A-012")
{
	for (int i = 0; i < 130; i++) {
		int id = (int)backend()->msgget(IPC_PRIVATE, 0600);
		struct msqid_ds ds = peek(id);
		EQ(ds.msg_perm.__seq, id >> INDEX_BITS);
		EQ(backend()->msgctl(id, IPC_RMID, NULL), 0);
	}
}

SCENARIO(id_stale, NEED_PRIVATE, "A-015 A-087")
{
	int q = new_queue(0600);

	EQ(rmid(q), 0);
	EQ(snd(q, 1, "x", 0), -EINVAL);
	EQ(rcv(q, 8, 0, IPC_NOWAIT), -EINVAL);
	EQ(ctl_stat(q, IPC_STAT, NULL), -EINVAL);
	EQ(rmid(q), -EINVAL);
	/* The same index again, with another sequence number. */
	int id = -1;
	for (int i = 0; i < 64; i++) {
		id = (int)backend()->msgget(IPC_PRIVATE, 0600);
		if (i < 63)
			EQ(backend()->msgctl(id, IPC_RMID, NULL), 0);
	}
	note("id %d stands where %d stood", id, q);
	EQ(id & 0x7fff, q & 0x7fff);
	EQ(snd(q, 1, "x", 0), -EINVAL);
	EQ(rcv(q, 8, 0, IPC_NOWAIT), -EINVAL);
	EQ(ctl_stat(q, IPC_STAT, NULL), -EINVAL);
	EQ(rmid(q), -EINVAL);
	EQ(snd(id, 1, "x", 0), 0);
	EQ(rmid(id), 0);
}

SCENARIO(id_negative, NEED_NOTHING, "A-016 A-039 A-056 A-083")
{
	EQ(snd(-1, 1, "x", 0), -EINVAL);
	EQ(snd(INT_MIN, 1, "x", 0), -EINVAL);
	EQ(rcv(-1, 8, 0, IPC_NOWAIT), -EINVAL);
	EQ(ctl_stat(-1, IPC_STAT, NULL), -EINVAL);
	EQ(rmid(-1), -EINVAL);
	EQ(rmid(INT_MIN), -EINVAL);
}

SCENARIO(id_never_given, NEED_PRIVATE, "A-015")
{
	new_queue(0600);
	EQ(snd(7, 1, "x", 0), -EINVAL);
	EQ(snd(32768, 1, "x", 0), -EINVAL);
	EQ(snd(INT_MAX, 1, "x", 0), -EINVAL);
	EQ(rcv(INT_MAX, 8, 0, IPC_NOWAIT), -EINVAL);
	EQ(rmid(INT_MAX), -EINVAL);
}

SCENARIO(new_queue_attributes, NEED_PRIVATE, "A-035 A-036 A-037 A-010")
{
	struct msqid_ds ds = stat_of((int)get(K1, IPC_CREAT | 0640));

	EQ(ds.msg_qbytes, 16384);
	EQ(ds.msg_qnum, 0);
	EQ(ds.__msg_cbytes, 0);
	EQ(ds.msg_lspid, 0);
	EQ(ds.msg_lrpid, 0);
	EQ(ds.msg_stime, 0);
	EQ(ds.msg_rtime, 0);
	IS(ds.msg_ctime != 0);
	EQ(ds.msg_perm.mode, 0640);
	EQ(ds.msg_perm.uid, geteuid());
	EQ(ds.msg_perm.cgid, getegid());
}

SCENARIO(key_is_free_after_removal, NEED_NOTHING, "A-087 A-003")
{
	long q = get(K1, IPC_CREAT | 0600);

	EQ(snd((int)q, 1, "old", 0), 0);
	EQ(rmid((int)q), 0);
	EQ(get(K1, 0), -ENOENT);
	long r = get(K1, IPC_CREAT | IPC_EXCL | 0600);
	IS(r >= 0 && r != q);
	EQ(stat_of((int)r).msg_qnum, 0);
}

SCENARIO(key_any_value, NEED_PRIVATE, "A-001 A-003")
{
	static const key_t keys[] = {1, -1, INT_MAX, INT_MIN, 0x7fff8000, 2};
	long ids[6];

	for (int i = 0; i < 6; i++) {
		ids[i] = get(keys[i], IPC_CREAT | IPC_EXCL | 0600);
		IS(ids[i] >= 0);
	}
	for (int i = 0; i < 6; i++)
		EQ(get(keys[i], 0), ids[i]);
	EQ(get(3, 0), -ENOENT);
}

SCENARIO(queue_outlives_its_users, NEED_NOTHING, "A-183 A-034")
{
	struct actor *p = new_process();
	long q = BY(p, get(K1, IPC_CREAT | 0600));

	EQ(BY(p, snd((int)q, 5, "left behind", 0)), 0);
	kill_actor(p);
	EQ(get(K1, 0), q);
	struct msqid_ds ds = stat_of((int)q);
	EQ(ds.msg_qnum, 1);
	EQ(ds.msg_lspid, p->pid);
	EQ(rcv((int)q, 64, 0, 0), 11);
	EQ(got_type(NULL), 5);
}
