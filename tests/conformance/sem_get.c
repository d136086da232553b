/* SPDX-License-Identifier: MIT */
/* sem_get.c - keys, identifiers, semget, a new set's attributes, limits. */
#define SUITE 4
#include "sets.h"

#include <stdio.h>
#include <sys/stat.h>

#define K1 key_of(1)

SCENARIO(set_get_private, NEED_NOTHING, "A-001")
{
	long a = get_set(IPC_PRIVATE, 1, 0600);
	long b = get_set(IPC_PRIVATE, 1, 0600);
	long c = get_set(IPC_PRIVATE, 1, IPC_CREAT | IPC_EXCL | 0600);

	IS(a >= 0 && b >= 0 && c >= 0);
	IS(a != b && b != c && a != c);
	EQ(set_stat_of((int)b).sem_perm.__key, IPC_PRIVATE);
}

SCENARIO(set_get_absent_key, NEED_NOTHING, "A-003 A-091")
{
	EQ(get_set(K1, 0, 0), -ENOENT);
	EQ(get_set(K1, 1, 0600), -ENOENT);
	EQ(get_set(K1, 1, IPC_EXCL | 0600), -ENOENT);
	/* The number comes first of all, ... */
	EQ(get_set(K1, -1, 0), -EINVAL);
	EQ(get_set(K1, SEMMSL + 1, 0), -EINVAL);
	EQ(get_set(K1, INT_MIN, IPC_CREAT | 0600), -EINVAL);
	/* ... but that a set needs a semaphore is a rule of making one. */
	EQ(get_set(K1, 0, IPC_CREAT | 0600), -EINVAL);
	EQ(get_set(IPC_PRIVATE, 0, 0600), -EINVAL);
	EQ(get_set(IPC_PRIVATE, -1, 0600), -EINVAL);
	EQ(get_set(K1, 0, 0), -ENOENT);
	IS(get_set(K1, 1, IPC_CREAT | 0600) >= 0);
}

SCENARIO(set_get_present_key, NEED_NOTHING, "A-004 A-005 A-092 A-091")
{
	long s = get_set(K1, 3, IPC_CREAT | 0600);

	IS(s >= 0);
	EQ(get_set(K1, 3, IPC_CREAT | IPC_EXCL | 0600), -EEXIST);
	EQ(get_set(K1, 0, IPC_CREAT | IPC_EXCL | 0600), -EEXIST);
	EQ(get_set(K1, 9, IPC_CREAT | IPC_EXCL | 0600), -EEXIST);
	EQ(get_set(K1, -1, IPC_CREAT | IPC_EXCL | 0600), -EINVAL);
	EQ(get_set(K1, 3, IPC_EXCL | 0600), s);
	EQ(get_set(K1, 3, IPC_CREAT | 0600), s);
	EQ(get_set(K1, 1, IPC_CREAT | 0600), s);
	EQ(get_set(K1, 0, IPC_CREAT | 0600), s);
	EQ(get_set(K1, 0, 0), s);
	EQ(get_set(K1, 4, 0), -EINVAL);
	EQ(get_set(K1, 4, IPC_CREAT | 0600), -EINVAL);
	EQ(get_set(K1, SEMMSL + 1, 0), -EINVAL);
	struct semid_ds ds = set_stat_of((int)s);
	EQ(ds.sem_perm.__key, K1);
	EQ(ds.sem_nsems, 3);
}

SCENARIO(set_get_number_before_permission, NEED_ROOT, "A-004 A-006 A-092")
{
	struct actor *p = new_process();

	IS(get_set(K1, 2, IPC_CREAT | 0600) >= 0);
	BY(p, run("become", become, NOBODY));
	EQ(BY(p, get_set(K1, 2, IPC_CREAT | IPC_EXCL | 0666)), -EEXIST);
	EQ(BY(p, get_set(K1, 3, IPC_CREAT | IPC_EXCL | 0666)), -EEXIST);
	EQ(BY(p, get_set(K1, 3, 0600)), -EINVAL);
	EQ(BY(p, get_set(K1, 2, 0600)), -EACCES);
	EQ(BY(p, get_set(K1, 3, 0)), -EINVAL);
	EQ(BY(p, get_set(K1, 2, 0)), 0 + get_set(K1, 0, 0));
}

SCENARIO(set_get_asks_for_modes_of_own_class, NEED_ROOT, "A-008 A-023")
{
	struct actor *p = new_process();
	long s = get_set(K1, 1, IPC_CREAT | 0604);

	BY(p, run("become", become, NOBODY));
	EQ(BY(p, get_set(K1, 1, 0)), s);
	EQ(BY(p, get_set(K1, 1, 0400)), s);
	EQ(BY(p, get_set(K1, 1, 0040)), s);
	EQ(BY(p, get_set(K1, 1, 0004)), s);
	EQ(BY(p, get_set(K1, 1, 0111)), -EACCES);
	EQ(BY(p, get_set(K1, 1, 0200)), -EACCES);
	EQ(BY(p, get_set(K1, 1, 0020)), -EACCES);
	EQ(BY(p, get_set(K1, 1, 0600)), -EACCES);
	EQ(set_set_mode((int)s, 0600), 0);
	EQ(BY(p, get_set(K1, 1, 0)), s);
	EQ(BY(p, get_set(K1, 1, 0400)), -EACCES);
}

SCENARIO(set_get_mode_and_umask, NEED_NOTHING, "A-009")
{
	mode_t old = umask(077);

	EQ(peek_set(new_set(1, 0777)).sem_perm.mode, 0777);
	EQ(peek_set(new_set(1, 0)).sem_perm.mode, 0);
	long s = get_set(K1, 1, IPC_CREAT | 04000 | 0644);
	EQ(set_stat_of((int)s).sem_perm.mode, 0644);
	umask(old);
}

SCENARIO(set_get_owner, NEED_ROOT, "A-010")
{
	struct actor *p = new_process();

	BY(p, run("take_egid", take_egid, 77));
	BY(p, run("take_euid", take_euid, NOBODY));
	int s = (int)BY(p, get_set(IPC_PRIVATE, 2, 0600));
	struct semid_ds ds = set_stat_of(s);
	EQ(ds.sem_perm.uid, NOBODY);
	EQ(ds.sem_perm.cuid, NOBODY);
	EQ(ds.sem_perm.gid, 77);
	EQ(ds.sem_perm.cgid, 77);
}

SCENARIO(set_new_attributes, NEED_NOTHING, "A-093 A-038")
{
	int s = new_set(5, 0640);
	struct semid_ds ds = set_stat_of(s);

	EQ(ds.sem_otime, 0);
	IS(ds.sem_ctime != 0);
	EQ(ds.sem_nsems, 5);
	EQ(ds.sem_perm.mode, 0640);
	EQ(get_values(s, 5), 0);
	for (int i = 0; i < 5; i++) {
		EQ(got_value(i), 0);
		EQ(value_of(s, i), 0);
		EQ(pid_of(s, i), 0);
		EQ(ncnt_of(s, i), 0);
		EQ(zcnt_of(s, i), 0);
	}
}

/* Whatever the slot's former set held is gone. */
SCENARIO(set_new_where_another_was, NEED_PRIVATE, "A-093 A-145")
{
	for (int round = 0; round < 3; round++) {
		int s = new_set(3, 0600);
		EQ(get_values(s, 3), 0);
		EQ(got_value(0) + got_value(1) + got_value(2), 0);
		EQ(pid_of(s, 2), 0);
		EQ(set_stat_of(s).sem_otime, 0);
		EQ(OP(s, {0, 7, 0}, {2, 30000, SEM_UNDO}), 0);
		EQ(remove_set(s), 0);
	}
}

SCENARIO(set_ids_in_order, NEED_PRIVATE, "A-012 A-013 A-014")
{
	long id = -1;

	EQ(get_set(IPC_PRIVATE, 1, 0600), 0);
	EQ(get_set(IPC_PRIVATE, 1, 0600), 1);
	EQ(remove_set(0), 0);
	EQ(get_set(IPC_PRIVATE, 1, 0600), 2);
	EQ(remove_set(2), 0);
	EQ(remove_set(1), 0);
	for (int i = 0; i < 64; i++) {
		id = backend()->semget(IPC_PRIVATE, 1, 0600);
		note("id %ld", id);
		EQ(backend()->semctl((int)id, 0, IPC_RMID, 0), 0);
	}
	IS(id > 32768);
}

/* Sets and queues are numbered apart, and a key names one of each. */
SCENARIO(set_and_queue_are_apart, NEED_PRIVATE, "A-012 A-002")
{
	EQ(new_queue(0600), 0);
	EQ(new_set(1, 0600), 0);
	long q = get(K1, IPC_CREAT | IPC_EXCL | 0600);
	long s = get_set(K1, 1, IPC_CREAT | IPC_EXCL | 0600);
	EQ(q, 1);
	EQ(s, 1);
	EQ(remove_set((int)s), 0);
	EQ(get(K1, 0), q);
	EQ(get_set(K1, 0, 0), -ENOENT);
	EQ(rmid((int)q), 0);
	EQ(get(K1, 0), -ENOENT);
}

SCENARIO(set_stale_and_bad_ids, NEED_PRIVATE, "A-015 A-016")
{
	int s = new_set(2, 0600);

	EQ(remove_set(s), 0);
	EQ(add(s, 0, 1), -EINVAL);
	EQ(value_of(s, 0), -EINVAL);
	EQ(set_value(s, 0, 1), -EINVAL);
	EQ(remove_set(s), -EINVAL);
	EQ(set_stat(s, IPC_STAT, NULL), -EINVAL);
	EQ(add(-1, 0, 1), -EINVAL);
	EQ(add(INT_MIN, 0, 1), -EINVAL);
	EQ(value_of(-1, 0), -EINVAL);
	EQ(add(32767, 0, 1), -EINVAL);
	EQ(add(INT_MAX, 0, 1), -EINVAL);
	int t = new_set(1, 0600);
	EQ(add(t + 32768, 0, 1), -EINVAL);
	EQ(value_of(t + 32768, 0), -EINVAL);
	EQ(value_of(t, 0), 0);
}

/* Any process may use an id that it was only told. */
SCENARIO(set_id_without_semget, NEED_NOTHING, "A-012 A-183")
{
	struct actor *maker = new_process(), *user = new_process();
	int s = (int)BY(maker, get_set(IPC_PRIVATE, 1, 0600));

	EQ(BY(maker, add(s, 0, 3)), 0);
	kill_actor(maker);
	EQ(BY(user, add(s, 0, -2)), 0);
	EQ(BY(user, value_of(s, 0)), 1);
	EQ(BY(user, remove_set(s)), 0);
}

/* ---- racing creators ---- */

static long get_in_a_race(long flags)
{
	return backend()->semget(K1, 2, (int)flags | 0600);
}

SCENARIO(set_get_races, NEED_NOTHING, "A-002")
{
	struct actor *t[8];
	long first = -1;
	int won = 0;

	for (int i = 0; i < 8; i++)
		t[i] = new_thread();
	for (int i = 0; i < 8; i++)
		START(t[i], run("get_in_a_race", get_in_a_race,
				IPC_CREAT | IPC_EXCL));
	for (int i = 0; i < 8; i++) {
		long ret = collect(t[i]);
		if (ret >= 0)
			won++;
		else
			EQ(ret, -EEXIST);
	}
	EQ(won, 1);
	EQ(remove_set((int)get_set(K1, 0, 0)), 0);
	for (int i = 0; i < 8; i++)
		START(t[i], run("get_in_a_race", get_in_a_race, IPC_CREAT));
	for (int i = 0; i < 8; i++) {
		long ret = collect(t[i]);
		if (i == 0)
			first = ret;
		IS(ret >= 0);
		EQ(ret, first);
	}
	EQ(remove_set((int)get_set(K1, 0, 0)), 0);
}

/* ---- sizes and limits ---- */

SCENARIO(set_largest, NEED_NOTHING, "A-091 A-094")
{
	int s = new_set(SEMMSL, 0600);

	EQ(get_set(IPC_PRIVATE, SEMMSL + 1, 0600), -EINVAL);
	EQ(set_stat_of(s).sem_nsems, SEMMSL);
	EQ(add(s, SEMMSL - 1, 5), 0);
	EQ(add(s, SEMMSL, 5), -EFBIG);
	EQ(OP(s, {0, 1, 0}, {16000, 2, 0}, {SEMMSL - 1, -5, 0}), 0);
	EQ(get_values(s, SEMMSL), 0);
	EQ(got_value(0), 1);
	EQ(got_value(16000), 2);
	EQ(got_value(SEMMSL - 1), 0);
	for (int i = 0; i < SEMMSL; i++)
		self()->buf.values[i] = (unsigned short)(i % 1000);
	EQ(set_ctl(s, 0, SETALL, &self()->buf), 0);
	EQ(value_of(s, 999), 999);
	EQ(value_of(s, SEMMSL - 1), 999);
	EQ(get_values(s, SEMMSL), 0);
	EQ(pid_of(s, SEMMSL / 2), self()->pid);
}

SCENARIO(set_limit_of_sets, NEED_LIMITS | NEED_PRIVATE, "A-011 A-091 A-177")
{
	int s[3];

	set_limit("semmni", 3);
	for (int i = 0; i < 3; i++)
		s[i] = new_set(1, 0600);
	EQ(get_set(IPC_PRIVATE, 1, 0600), -ENOSPC);
	EQ(get_set(K1, 1, IPC_CREAT | 0600), -ENOSPC);
	EQ(get_set(IPC_PRIVATE, 0, 0600), -EINVAL);
	EQ(get_set(IPC_PRIVATE, SEMMSL + 1, 0600), -EINVAL);
	EQ(get_set(K1, 1, 0), -ENOENT);
	EQ(remove_set(s[1]), 0);
	long k = get_set(K1, 1, IPC_CREAT | 0600);
	IS(k >= 0);
	set_limit("semmni", 1);
	EQ(get_set(K1, 1, IPC_CREAT | 0600), k);
	EQ(add((int)k, 0, 1), 0);
	EQ(remove_set(s[0]), 0);
	EQ(get_set(IPC_PRIVATE, 1, 0600), -ENOSPC);
	EQ(remove_set(s[2]), 0);
	EQ(remove_set((int)k), 0);
	IS(get_set(IPC_PRIVATE, 1, 0600) >= 0);
}

SCENARIO(set_limit_of_sets_by_default, NEED_PRIVATE, "A-011 A-094 A-018")
{
	int id = -1;

	for (int i = 0; i < 32000; i++) {
		id = (int)backend()->semget(IPC_PRIVATE, 1, 0600);
		if (id != i)
			give_up("set %d is %s", i, error_name(id));
	}
	EQ(get_set(IPC_PRIVATE, 1, 0600), -ENOSPC);
	EQ(set_info(SEM_INFO, NULL), 31999);
	EQ(add(31999, 0, 1), 0);
	EQ(add(31999, 0, -1), 0);
	EQ(remove_set(100), 0);
	IS(backend()->semget(IPC_PRIVATE, 1, 0600) >= 0);
	for (int i = 0; i < 32000; i++)
		(void)backend()->semctl(i, 0, IPC_RMID, 0);
}

SCENARIO(set_limit_of_semaphores, NEED_LIMITS | NEED_PRIVATE,
	 "A-091 A-177 A-133")
{
	struct seminfo i;

	set_limit("semmsl", 10);
	set_limit("semmns", 25);
	EQ(get_set(IPC_PRIVATE, 11, 0600), -EINVAL);
	EQ(get_set(K1, 11, 0), -EINVAL);
	int a = new_set(10, 0600), b = new_set(10, 0600);
	EQ(get_set(IPC_PRIVATE, 6, 0600), -ENOSPC);
	EQ(get_set(K1, 6, IPC_CREAT | 0600), -ENOSPC);
	EQ(get_set(IPC_PRIVATE, 0, 0600), -EINVAL);
	IS(get_set(K1, 5, IPC_CREAT | 0600) >= 0);
	EQ(get_set(IPC_PRIVATE, 1, 0600), -ENOSPC);
	EQ(set_info(SEM_INFO, &i), 2);
	EQ(i.semusz, 3);
	EQ(i.semaem, 25);
	EQ(remove_set(b), 0);
	set_limit("semmns", 20);
	EQ(get_set(IPC_PRIVATE, 6, 0600), -ENOSPC);
	IS(get_set(IPC_PRIVATE, 5, 0600) >= 0);
	/* Whoever is there already keeps what it has. */
	set_limit("semmsl", 2);
	EQ(add(a, 9, 1), 0);
	EQ(get_set(K1, 3, 0), -EINVAL);
	EQ(set_stat_of(a).sem_nsems, 10);
	EQ(set_info(IPC_INFO, &i), 3);
	EQ(i.semmsl, 2);
	EQ(i.semmns, 20);
}

SCENARIO(set_limit_of_operations, NEED_LIMITS | NEED_PRIVATE, "A-095 A-177")
{
	int s = new_set(1, 0600);

	set_limit("semopm", 2);
	EQ(OP(s, {0, 1, 0}, {0, 1, 0}), 0);
	EQ(OP(s, {0, 1, 0}, {0, 1, 0}, {0, 1, 0}), -E2BIG);
	set_limit("semopm", 600);
	for (int i = 0; i < 601; i++)
		self()->buf.ops[i] = (struct sembuf){0, 1, 0};
	EQ(op_from(s, &self()->buf, 600), 0);
	EQ(op_from(s, &self()->buf, 601), -E2BIG);
	EQ(value_of(s, 0), 602);
}

/* ---- the next id ---- */

#undef SUITE
#define SUITE 5

static long choose_next_id(long id)
{
	FILE *f = fopen("/proc/sys/kernel/sem_next_id", "w");

	if (f == NULL)
		return -errno;
	fprintf(f, "%ld\n", id);
	return fclose(f) == 0 ? 0 : -errno;
}

SCENARIO(set_next_id_can_be_chosen, NEED_ROOT | NEED_PRIVATE, "A-020")
{
	EQ(run("choose", choose_next_id, 3 * 32768 + 100), 0);
	EQ(get_set(IPC_PRIVATE, 1, 0600), 3 * 32768 + 100);
	EQ(get_set(IPC_PRIVATE, 1, 0600), 0);
	EQ(add(3 * 32768 + 100, 0, 1), 0);
	EQ(add(100, 0, 1), -EINVAL);
}
