/* SPDX-License-Identifier: MIT */
/* sem_ctl.c - semctl: checks, values, IPC_STAT, IPC_SET, IPC_RMID. */
#define SUITE 4
#include "sets.h"

#define STRANGER 1234

SCENARIO(semctl_order_of_checks, NEED_PRIVATE, "A-122 A-021 A-016 A-131")
{
	int s = new_set(2, 0600);

	EQ(set_ctl(-1, 0, GETVAL, NULL), -EINVAL);
	EQ(set_ctl(-1, 0, 99, NULL), -EINVAL);
	EQ(set_ctl(-1, 0, IPC_INFO, NULL), -EINVAL);
	EQ(set_ctl(-1, 0, IPC_SET, NULL), -EINVAL);
	EQ(set_ctl(s, 0, 99, NULL), -EINVAL);
	EQ(set_ctl(s, 0, -1, NULL), -EINVAL);
	EQ(set_ctl(s, 0, INT_MAX, NULL), -EINVAL);
	EQ(set_ctl(s, 0, 4, NULL), -EINVAL);
	EQ(set_ctl(s, 0, 10, NULL), -EINVAL);
	EQ(set_ctl(s, 0, 21, NULL), -EINVAL);
	EQ(set_ctl(s, 0, 0x100 | IPC_STAT, &self()->buf), -EINVAL);
	EQ(set_ctl(s, 0, 0x100 | GETVAL, NULL), -EINVAL);
	EQ(set_ctl(s, 0, 0x100 | IPC_RMID, NULL), -EINVAL);
	EQ(set_ctl(s, 0, IPC_SET, NULL), -EFAULT);
	EQ(set_ctl(s + 1000, 0, IPC_SET, NULL), -EFAULT);
	EQ(set_ctl(s, 0, IPC_SET, unmapped()), -EFAULT);
	EQ(set_ctl(s, 0, IPC_SET, at_page_end(sizeof(struct semid_ds) - 1)),
	   -EFAULT);
	EQ(set_ctl(s, 0, IPC_STAT, NULL), -EFAULT);
	EQ(set_ctl(s, 0, IPC_STAT, read_only()), -EFAULT);
	EQ(set_ctl(s + 1000, 0, IPC_STAT, NULL), -EINVAL);
	EQ(set_ctl(s, -7, IPC_STAT, at_page_end(sizeof(struct semid_ds))), 0);
	EQ(set_ctl(s, 0, IPC_STAT, at_page_end(sizeof(struct semid_ds) - 1)),
	   -EFAULT);
	EQ(set_ctl(s, 99, IPC_RMID, unmapped()), 0);
	EQ(set_ctl(s, 0, IPC_RMID, NULL), -EINVAL);
}

SCENARIO(semaphore_number_out_of_range, NEED_PRIVATE, "A-123 A-124")
{
	static const int one[] = {GETVAL, GETPID, GETNCNT, GETZCNT};
	int s = new_set(2, 0600);

	for (int i = 0; i < 4; i++) {
		EQ(set_ctl(s, 1, one[i], NULL), 0);
		EQ(set_ctl(s, 2, one[i], NULL), -EINVAL);
		EQ(set_ctl(s, -1, one[i], NULL), -EINVAL);
		EQ(set_ctl(s, INT_MIN, one[i], NULL), -EINVAL);
		EQ(set_ctl(s, 65536, one[i], NULL), -EINVAL);
		EQ(set_ctl(s + 1000, 0, one[i], NULL), -EINVAL);
	}
	EQ(set_value(s, 2, 1), -EINVAL);
	EQ(set_value(s, -1, 1), -EINVAL);
	EQ(set_value(s, 65536, 1), -EINVAL);
	/* All of them are meant whatever the number. */
	self()->buf.values[0] = self()->buf.values[1] = 4;
	EQ(set_ctl(s, -1, SETALL, &self()->buf), 0);
	EQ(set_ctl(s, 77, GETALL, &self()->buf), 0);
	EQ(value_of(s, 1), 4);
}

SCENARIO(value_range, NEED_PRIVATE, "A-123 A-125 A-124")
{
	int s = new_set(2, 0600);

	EQ(set_value(s, 0, 32767), 0);
	EQ(set_value(s, 0, 32768), -ERANGE);
	EQ(set_value(s, 0, -1), -ERANGE);
	EQ(set_value(s, 0, INT_MAX), -ERANGE);
	EQ(set_value(s, 0, INT_MIN), -ERANGE);
	/* The value is looked at before anything else. */
	EQ(set_value(s + 1000, 0, 32768), -ERANGE);
	EQ(set_value(s, 9, -1), -ERANGE);
	EQ(set_value(-1, 0, -1), -EINVAL);
	/* It is an int. */
	EQ(set_value(s, 1, (1L << 32) + 7), 0);
	EQ(value_of(s, 1), 7);
	EQ(value_of(s, 0), 32767);
	EQ(SET_ALL(s, 1, 32768), -ERANGE);
	EQ(SET_ALL(s, 65535, 1), -ERANGE);
	EQ(get_values(s, 2), 0);
	EQ(got_value(0), 32767);
	EQ(got_value(1), 7);
	EQ(SET_ALL(s, 32767, 0), 0);
}

SCENARIO(getting_and_setting_denied, NEED_ROOT | NEED_PRIVATE,
	 "A-123 A-124 A-131")
{
	static const int one[] = {GETVAL, GETPID, GETNCNT, GETZCNT};
	struct actor *p = new_process();
	int s = new_set(2, 0600);

	BY(p, run("become", become, NOBODY));
	for (int i = 0; i < 4; i++) {
		EQ(BY(p, set_ctl(s, 0, one[i], NULL)), -EACCES);
		EQ(BY(p, set_ctl(s, 9, one[i], NULL)), -EACCES);
		EQ(BY(p, set_ctl(s + 1000, 9, one[i], NULL)), -EINVAL);
	}
	EQ(BY(p, set_value(s, 0, 1)), -EACCES);
	EQ(BY(p, set_value(s, 9, 1)), -EINVAL);
	EQ(BY(p, set_value(s, 9, 32768)), -ERANGE);
	EQ(BY(p, set_value(s + 1000, 0, 1)), -EINVAL);
	EQ(BY(p, get_values(s, 2)), -EACCES);
	EQ(BY(p, set_ctl(s, 0, GETALL, NULL)), -EACCES);
	EQ(BY(p, set_ctl(s, 0, SETALL, NULL)), -EACCES);
	EQ(BY(p, SET_ALL(s, 40000, 1)), -EACCES);
	EQ(BY(p, set_ctl(s, 0, IPC_STAT, NULL)), -EACCES);
	EQ(set_ctl(s, 0, GETALL, NULL), -EFAULT);
	EQ(set_ctl(s, 0, SETALL, NULL), -EFAULT);
	EQ(set_ctl(s, 0, SETALL, unmapped()), -EFAULT);
	EQ(get_values(s, 2), 0);
}

/* Bad memory comes before a bad value. */
SCENARIO(all_values_partly_readable, NEED_NOTHING, "A-124 A-130")
{
	int s = new_set(4, 0600);
	unsigned short *v = at_page_end(3 * sizeof(*v));

	v[0] = 40000;
	v[1] = v[2] = 5;
	EQ(set_ctl(s, 0, SETALL, v), -EFAULT);
	v[0] = 3;
	EQ(set_ctl(s, 0, SETALL, v), -EFAULT);
	EQ(get_values(s, 4), 0);
	EQ(got_value(0), 0);
	EQ(set_ctl(s, 0, GETALL, v), -EFAULT);
	v = at_page_end(4 * sizeof(*v));
	v[0] = v[1] = v[2] = v[3] = 6;
	EQ(set_ctl(s, 0, SETALL, v), 0);
	v[0] = v[3] = 0;
	EQ(set_ctl(s, 0, GETALL, v), 0);
	EQ(v[0], 6);
	EQ(v[3], 6);
	EQ(set_ctl(s, 0, GETALL, read_only()), -EFAULT);
}

SCENARIO(setting_changes_pid_and_ctime, NEED_NOTHING, "A-127 A-128")
{
	struct actor *p = new_process();
	int s = new_set(3, 0600);
	time_t made = set_stat_of(s).sem_ctime;

	next_second();
	EQ(BY(p, set_value(s, 1, 5)), 0);
	EQ(pid_of(s, 0), 0);
	EQ(pid_of(s, 1), p->pid);
	struct semid_ds ds = set_stat_of(s);
	EQ(ds.sem_otime, 0);
	IS(ds.sem_ctime > made);
	time_t then = ds.sem_ctime;
	next_second();
	EQ(SET_ALL(s, 1, 2, 3), 0);
	for (int i = 0; i < 3; i++)
		EQ(pid_of(s, i), self()->pid);
	ds = set_stat_of(s);
	EQ(ds.sem_otime, 0);
	IS(ds.sem_ctime > then);
	then = ds.sem_ctime;
	next_second();
	EQ(set_value(s, 0, 32768), -ERANGE);
	EQ(SET_ALL(s, 1, 2, 40000), -ERANGE);
	EQ(get_values(s, 3), 0);
	EQ(set_stat_of(s).sem_ctime == then, 1);
}

SCENARIO(setting_wakes_who_can_go, NEED_NOTHING, "A-119 A-113 A-127")
{
	int s = new_set(2, 0600);
	struct actor *a = sleeper(s, 0, -2, 0);
	struct actor *b = sleeper(s, 0, -2, 0);
	struct actor *c = sleeper(s, 1, -1, 0);

	EQ(set_value(s, 0, 1), 0);
	ASLEEP(a);
	EQ(set_value(s, 0, 3), 0);
	EQ(finish(a), 0);
	ASLEEP(b);
	EQ(value_of(s, 0), 1);
	IS(set_stat_of(s).sem_otime != 0);
	EQ(SET_ALL(s, 2, 1), 0);
	EQ(finish(b), 0);
	EQ(finish(c), 0);
	EQ(get_values(s, 2), 0);
	EQ(pid_of(s, 0), b->pid);
	EQ(pid_of(s, 1), c->pid);
}

SCENARIO(setall_wakes_complex_sleepers, NEED_NOTHING, "A-119 A-115")
{
	int s = new_set(3, 0600);
	struct actor *a = SLEEPER(s, {0, -1, 0}, {1, -1, 0}, {2, 5, 0});
	struct actor *b = SLEEPER(s, {2, -5, 0}, {0, 0, 0});

	EQ(SET_ALL(s, 1, 1, 0), 0);
	EQ(finish(a), 0);
	EQ(finish(b), 0);
	EQ(get_values(s, 3), 0);
}

SCENARIO(setting_the_value_it_has, NEED_NOTHING, "A-119")
{
	int s = new_set(1, 0600);
	struct actor *a = sleeper(s, 0, -2, 0);

	EQ(set_value(s, 0, 0), 0);
	ASLEEP(a);
	EQ(set_value(s, 0, 1), 0);
	EQ(set_value(s, 0, 1), 0);
	ASLEEP(a);
	EQ(ncnt_of(s, 0), 1);
	EQ(add(s, 0, 1), 0);
	EQ(finish(a), 0);
}

/* ---- IPC_SET, IPC_RMID ---- */

SCENARIO(set_owner_and_mode, NEED_ROOT, "A-026 A-131 A-037")
{
	long s = get_set(key_of(1), 2, IPC_CREAT | 0600);
	struct semid_ds ds = set_stat_of((int)s);
	time_t created = ds.sem_ctime;

	next_second();
	ds.sem_perm.__key = 99;
	ds.sem_perm.uid = 1;
	ds.sem_perm.gid = 2;
	ds.sem_perm.cuid = 3;
	ds.sem_perm.cgid = 4;
	ds.sem_perm.mode = 07777;
	ds.sem_perm.__seq = 5;
	ds.sem_nsems = 9;
	ds.sem_otime = 10;
	ds.sem_ctime = 11;
	EQ(set_set((int)s, &ds), 0);
	ds = set_stat_of((int)s);
	EQ(ds.sem_perm.__key, key_of(1));
	EQ(ds.sem_perm.uid, 1);
	EQ(ds.sem_perm.gid, 2);
	EQ(ds.sem_perm.cuid, 0);
	EQ(ds.sem_perm.cgid, 0);
	EQ(ds.sem_perm.mode, 0777);
	EQ(ds.sem_perm.__seq, s >> INDEX_BITS);
	EQ(ds.sem_nsems, 2);
	EQ(ds.sem_otime, 0);
	IS(ds.sem_ctime > created);
	EQ(get_set(key_of(1), 0, 0), s);
}

SCENARIO(set_owner_by_whom, NEED_ROOT | NEED_PRIVATE, "A-025 A-131 A-027")
{
	struct actor *owner = new_process(), *p = new_process();

	BY(owner, run("become", become, STRANGER));
	BY(p, run("become", become, NOBODY));
	int s = (int)BY(owner, get_set(IPC_PRIVATE, 1, 0666));
	struct semid_ds ds = peek_set(s), bad = ds;
	bad.sem_perm.uid = (uid_t)-1;
	EQ(BY(p, set_set(s, &ds)), -EPERM);
	EQ(BY(p, set_set(s, &bad)), -EPERM);
	EQ(BY(p, remove_set(s)), -EPERM);
	EQ(BY(p, set_set(s + 1000, &ds)), -EINVAL);
	EQ(BY(p, remove_set(s + 1000)), -EINVAL);
	EQ(BY(p, set_ctl(s, 0, IPC_SET, NULL)), -EFAULT);
	EQ(BY(owner, set_set(s, &bad)), -EINVAL);
	bad.sem_perm.uid = STRANGER;
	bad.sem_perm.gid = (gid_t)-1;
	EQ(BY(owner, set_set(s, &bad)), -EINVAL);
	ds.sem_perm.mode = 0;
	EQ(BY(owner, set_set(s, &ds)), 0);
	EQ(BY(owner, set_stat(s, IPC_STAT, NULL)), -EACCES);
	EQ(BY(owner, add(s, 0, 1)), -EACCES);
	EQ(BY(owner, remove_set(s)), 0);
}

SCENARIO(set_given_away, NEED_ROOT, "A-028 A-025")
{
	struct actor *maker = new_process(), *next = new_process();

	BY(maker, run("become", become, STRANGER));
	BY(next, run("become", become, NOBODY));
	int s = (int)BY(maker, get_set(IPC_PRIVATE, 1, 0600));
	struct semid_ds ds = peek_set(s);
	ds.sem_perm.uid = NOBODY;
	EQ(BY(maker, set_set(s, &ds)), 0);
	EQ(BY(next, add(s, 0, 1)), 0);
	EQ(BY(maker, add(s, 0, 1)), 0);
	EQ(BY(maker, set_set(s, &ds)), 0);
	/* Whoever did not make it loses it with the owner's name. */
	ds.sem_perm.uid = 4321;
	EQ(BY(next, set_set(s, &ds)), 0);
	EQ(BY(next, set_set(s, &ds)), -EPERM);
	EQ(BY(next, add(s, 0, 1)), -EACCES);
	EQ(BY(next, remove_set(s)), -EPERM);
	EQ(BY(maker, remove_set(s)), 0);
}

SCENARIO(set_leaves_sleepers_alone, NEED_NOTHING, "A-121")
{
	int s = new_set(1, 0600);
	struct actor *p[3];

	for (int i = 0; i < 3; i++)
		p[i] = sleeper(s, 0, -1, 0);
	EQ(set_set_mode(s, 0640), 0);
	for (int i = 0; i < 3; i++) {
		EQ(add(s, 0, 1), 0);
		EQ(finish(p[i]), 0);
	}
}
