/* SPDX-License-Identifier: MIT */
/* msg_control.c - msgctl: IPC_STAT, IPC_SET, IPC_RMID, owners and classes. */
#include "scenario.h"

#define STRANGER 1234

SCENARIO(control_order_of_checks, NEED_PRIVATE, "A-083 A-087 A-016")
{
	int q = new_queue(0600);

	EQ(ctl(q, -1, &self()->buf), -EINVAL);
	EQ(ctl(-1, IPC_STAT, NULL), -EINVAL);
	EQ(ctl(q, 99, &self()->buf), -EINVAL);
	EQ(ctl(q + 1000, 99, NULL), -EINVAL);
	/* IPC_SET reads its structure first, IPC_STAT writes it last. */
	EQ(ctl(q, IPC_SET, NULL), -EFAULT);
	EQ(ctl(q + 1000, IPC_SET, NULL), -EFAULT);
	EQ(ctl(-1, IPC_SET, NULL), -EINVAL);
	EQ(ctl(q, IPC_SET, unmapped()), -EFAULT);
	EQ(ctl(q, IPC_SET, at_page_end(sizeof(struct msqid_ds) - 1)), -EFAULT);
	EQ(ctl(q, IPC_STAT, NULL), -EFAULT);
	EQ(ctl(q, IPC_STAT, unmapped()), -EFAULT);
	EQ(ctl(q, IPC_STAT, read_only()), -EFAULT);
	EQ(ctl(q + 1000, IPC_STAT, NULL), -EINVAL);
	EQ(ctl(q, IPC_STAT, at_page_end(sizeof(struct msqid_ds))), 0);
	EQ(ctl(q, IPC_STAT, at_page_end(sizeof(struct msqid_ds) - 1)), -EFAULT);
	EQ(ctl(q, IPC_RMID, unmapped()), 0);
}

SCENARIO(stat_denied, NEED_ROOT, "A-083")
{
	struct actor *p = new_process();
	int q = new_queue(0602);

	BY(p, run("become", become, NOBODY));
	EQ(BY(p, ctl_stat(q, IPC_STAT, NULL)), -EACCES);
	EQ(BY(p, ctl(q, IPC_STAT, NULL)), -EACCES);
	EQ(BY(p, ctl(q + 1000, IPC_STAT, NULL)), -EINVAL);
	EQ(set_mode(q, 0604), 0);
	EQ(BY(p, ctl_stat(q, IPC_STAT, NULL)), 0);
	EQ(BY(p, ctl(q, IPC_STAT, NULL)), -EFAULT);
}

/* Mode bits play no part in who may set and remove. */
SCENARIO(set_and_remove_by_whom, NEED_ROOT, "A-025 A-083 A-084")
{
	struct actor *owner = new_process(), *p = new_process();
	struct msqid_ds ds = {.msg_qbytes = 100};

	BY(owner, run("become", become, STRANGER));
	BY(p, run("become", become, NOBODY));
	int q = (int)BY(owner, get(IPC_PRIVATE, 0666));
	EQ(BY(p, set(q, &ds)), -EPERM);
	EQ(BY(p, rmid(q)), -EPERM);
	EQ(BY(p, set(q + 1000, &ds)), -EINVAL);
	EQ(BY(p, rmid(q + 1000)), -EINVAL);
	EQ(BY(p, ctl(q, IPC_SET, NULL)), -EFAULT);
	ds.msg_perm.uid = STRANGER;
	ds.msg_perm.gid = STRANGER;
	ds.msg_perm.mode = 0;
	EQ(BY(owner, set(q, &ds)), 0);
	EQ(BY(owner, ctl_stat(q, IPC_STAT, NULL)), -EACCES);
	EQ(BY(owner, set(q, &ds)), 0);
	EQ(BY(owner, rmid(q)), 0);
}

SCENARIO(set_and_remove_by_root, NEED_ROOT, "A-025")
{
	struct actor *owner = new_process();

	BY(owner, run("become", become, STRANGER));
	int q = (int)BY(owner, get(IPC_PRIVATE, 0));
	EQ(set_qbytes(q, 100), 0);
	EQ(stat_of(q).msg_perm.cuid, STRANGER);
	EQ(rmid(q), 0);
	EQ(BY(owner, rmid(q)), -EINVAL);
}

SCENARIO(set_changes, NEED_ROOT, "A-026 A-086 A-037")
{
	long q = get(key_of(1), IPC_CREAT | 0600);
	struct msqid_ds ds = stat_of((int)q);
	time_t created = ds.msg_ctime;

	next_second();
	ds.msg_perm.__key = 99;
	ds.msg_perm.uid = 1;
	ds.msg_perm.gid = 2;
	ds.msg_perm.cuid = 3;
	ds.msg_perm.cgid = 4;
	ds.msg_perm.mode = 07777;
	ds.msg_perm.__seq = 5;
	ds.msg_qnum = 6;
	ds.__msg_cbytes = 7;
	ds.msg_lspid = 8;
	ds.msg_stime = 9;
	ds.msg_ctime = 10;
	ds.msg_qbytes = 11;
	EQ(set((int)q, &ds), 0);
	ds = stat_of((int)q);
	EQ(ds.msg_perm.__key, key_of(1));
	EQ(ds.msg_perm.uid, 1);
	EQ(ds.msg_perm.gid, 2);
	EQ(ds.msg_perm.cuid, 0);
	EQ(ds.msg_perm.cgid, 0);
	EQ(ds.msg_perm.mode, 0777);
	EQ(ds.msg_perm.__seq, q >> INDEX_BITS);
	EQ(ds.msg_qnum, 0);
	EQ(ds.msg_lspid, 0);
	EQ(ds.msg_stime, 0);
	IS(ds.msg_ctime > created);
	EQ(ds.msg_qbytes, 11);
	EQ(get(key_of(1), 0), q);
}

SCENARIO(set_bad_owner, NEED_NOTHING, "A-027 A-084")
{
	int q = new_queue(0600);
	struct msqid_ds good = peek(q), ds = good;

	ds.msg_perm.uid = (uid_t)-1;
	EQ(set(q, &ds), -EINVAL);
	ds = good;
	ds.msg_perm.gid = (gid_t)-1;
	ds.msg_qbytes = 7;
	EQ(set(q, &ds), -EINVAL);
	EQ(stat_of(q).msg_qbytes, good.msg_qbytes);
}

/* Who is not the owner learns that first, and the byte limit comes second. */
SCENARIO(set_bad_owner_comes_last, NEED_ROOT, "A-027 A-084")
{
	struct actor *owner = new_process(), *p = new_process();

	BY(owner, run("become", become, STRANGER));
	BY(p, run("become", become, NOBODY));
	int q = (int)BY(owner, get(IPC_PRIVATE, 0600));
	struct msqid_ds ds = peek(q);
	ds.msg_perm.uid = (uid_t)-1;
	EQ(BY(p, set(q, &ds)), -EPERM);
	EQ(BY(owner, set(q, &ds)), -EINVAL);
	ds.msg_qbytes += 1;
	EQ(BY(owner, set(q, &ds)), -EPERM);
}

SCENARIO(set_qbytes_limit, NEED_ROOT | NEED_PRIVATE, "A-084 A-085")
{
	struct actor *owner = new_process();

	BY(owner, run("become", become, STRANGER));
	int q = (int)BY(owner, get(IPC_PRIVATE, 0600));
	EQ(BY(owner, set_qbytes(q, 16385)), -EPERM);
	EQ(BY(owner, set_qbytes(q, 16384)), 0);
	EQ(BY(owner, set_qbytes(q, 1)), 0);
	EQ(BY(owner, set_qbytes(q, 0)), 0);
	EQ(BY(owner, set_qbytes(q, 16384)), 0);
	EQ(BY(owner, set_qbytes(q, 16385)), -EPERM);
	EQ(stat_of(q).msg_qbytes, 16384);
}

SCENARIO(set_qbytes_beyond_limit, NEED_RESOURCE | NEED_PRIVATE, "A-084")
{
	int q = new_queue(0600);

	EQ(set_qbytes(q, 100000), 0);
	for (int i = 0; i < 12; i++)
		EQ(snd_sized(q, 1, 8192, IPC_NOWAIT), 0);
	EQ(snd_sized(q, 1, 8192, IPC_NOWAIT), -EAGAIN);
	EQ(stat_of(q).msg_qbytes, 100000);
}

/* ---- owners and classes ---- */

SCENARIO(owner_class_of_creator_and_owner, NEED_ROOT, "A-023 A-028")
{
	struct actor *creator = new_process(), *owner = new_process();

	BY(creator, run("become", become, STRANGER));
	BY(owner, run("become", become, NOBODY));
	int q = (int)BY(creator, get(IPC_PRIVATE, 0600));
	struct msqid_ds ds = peek(q);
	ds.msg_perm.uid = NOBODY;
	EQ(BY(owner, snd(q, 1, "x", 0)), -EACCES);
	EQ(BY(creator, set(q, &ds)), 0);
	EQ(BY(owner, snd(q, 1, "x", 0)), 0);
	EQ(BY(creator, snd(q, 1, "y", 0)), 0);
	/* An owner who is not the creator gives it away for good. */
	ds.msg_perm.uid = 777;
	EQ(BY(owner, set(q, &ds)), 0);
	EQ(BY(owner, snd(q, 1, "x", 0)), -EACCES);
	EQ(BY(owner, set(q, &ds)), -EPERM);
	EQ(BY(owner, rmid(q)), -EPERM);
	EQ(BY(creator, rcv(q, 8, 0, 0)), 1);
	EQ(BY(creator, rmid(q)), 0);
}

SCENARIO(owner_class_does_not_fall_through, NEED_ROOT, "A-023")
{
	struct actor *p = new_process();

	BY(p, run("become", become, STRANGER));
	int q = (int)BY(p, get(IPC_PRIVATE, 0066));
	EQ(BY(p, snd(q, 1, "x", 0)), -EACCES);
	EQ(BY(p, rcv(q, 8, 0, IPC_NOWAIT)), -EACCES);
	EQ(BY(p, ctl_stat(q, IPC_STAT, NULL)), -EACCES);
}

SCENARIO(group_class, NEED_ROOT, "A-023")
{
	struct actor *member = new_process(), *by_list = new_process();
	struct actor *other = new_process();
	int q = new_queue(0620);
	struct msqid_ds ds = peek(q);

	ds.msg_perm.gid = STRANGER;
	EQ(set(q, &ds), 0);
	BY(member, run("take_egid", take_egid, STRANGER));
	BY(member, run("take_euid", take_euid, NOBODY));
	BY(by_list, run("take_group", take_group, STRANGER));
	BY(by_list, run("take_egid", take_egid, NOBODY));
	BY(by_list, run("take_euid", take_euid, NOBODY));
	BY(other, run("become", become, NOBODY));
	EQ(BY(member, snd(q, 1, "egid", 0)), 0);
	EQ(BY(by_list, snd(q, 2, "list", 0)), 0);
	EQ(BY(other, snd(q, 3, "other", 0)), -EACCES);
	EQ(BY(member, rcv(q, 8, 0, IPC_NOWAIT)), -EACCES);
	/* No fall-through from the group to the others either. */
	EQ(set_mode(q, 0606), 0);
	EQ(BY(member, snd(q, 1, "egid", 0)), -EACCES);
	EQ(BY(by_list, snd(q, 2, "list", 0)), -EACCES);
	EQ(BY(other, snd(q, 3, "other", 0)), 0);
}

SCENARIO(group_class_of_creator, NEED_ROOT, "A-023")
{
	struct actor *maker = new_process(), *member = new_process();

	BY(maker, run("take_egid", take_egid, STRANGER));
	int q = (int)BY(maker, get(IPC_PRIVATE, 0620));
	struct msqid_ds ds = peek(q);
	ds.msg_perm.gid = 4;
	EQ(set(q, &ds), 0);
	BY(member, run("take_egid", take_egid, STRANGER));
	BY(member, run("take_euid", take_euid, NOBODY));
	EQ(BY(member, snd(q, 1, "x", 0)), 0);
}

/* Each call looks at who the caller is at that moment. */
SCENARIO(rights_are_checked_on_each_call, NEED_ROOT, "A-029")
{
	struct actor *p = new_process();
	int q = new_queue(0600);

	EQ(BY(p, snd(q, 1, "root", 0)), 0);
	BY(p, run("take_euid", take_euid, NOBODY));
	EQ(BY(p, snd(q, 1, "nobody", 0)), -EACCES);
	EQ(BY(p, rmid(q)), -EPERM);
	BY(p, run("take_euid", take_euid, 0));
	EQ(BY(p, snd(q, 1, "again", 0)), 0);
	EQ(set_mode(q, 0), 0);
	/* Root needs no bit. */
	EQ(BY(p, rcv(q, 8, 0, 0)), 4);
	BY(p, run("become", become, NOBODY));
	EQ(BY(p, rcv(q, 8, 0, IPC_NOWAIT)), -EACCES);
}

SCENARIO(shared_between_users, NEED_ROOT, "A-182 A-023")
{
	struct actor *a = new_process(), *b = new_process();

	BY(a, run("become", become, STRANGER));
	BY(b, run("become", become, NOBODY));
	long q = BY(a, get(key_of(1), IPC_CREAT | 0666));
	EQ(BY(b, get(key_of(1), 0600)), q);
	START_ASLEEP(b, rcv((int)q, 64, 0, 0));
	EQ(BY(a, snd((int)q, 1, "to nobody", 0)), 0);
	EQ(finish(b), 9);
	START_ASLEEP(a, rcv((int)q, 64, 0, 0));
	EQ(BY(b, snd((int)q, 1, "and back", 0)), 0);
	EQ(finish(a), 8);
	START_ASLEEP(b, rcv((int)q, 64, 0, 0));
	EQ(BY(a, rmid((int)q)), 0);
	EQ(finish(b), -EIDRM);
}

SCENARIO(structure_sizes, NEED_NOTHING, "A-178")
{
#if defined(__LP64__)
	EQ(sizeof(struct msqid_ds), 120);
	EQ(sizeof(struct ipc_perm), 48);
#endif
	note("msqid_ds %zu, ipc_perm %zu", sizeof(struct msqid_ds),
	     sizeof(struct ipc_perm));
}
