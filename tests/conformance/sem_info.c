/* SPDX-License-Identifier: MIT */
/* sem_info.c - SEM_STAT, SEM_STAT_ANY, IPC_INFO, SEM_INFO, /proc/sysvipc. */
#define SUITE 4
#include "sets.h"

#include <stdio.h>

SCENARIO(set_stat_by_index, NEED_PRIVATE, "A-017 A-018")
{
	struct semid_ds ds;
	int a = new_set(1, 0600), b = new_set(7, 0600), c = new_set(3, 0640);

	EQ(add(b, 6, 1), 0);
	EQ(remove_set(a), 0);
	EQ(set_stat(0, SEM_STAT, NULL), -EINVAL);
	EQ(set_stat(1, SEM_STAT, &ds), b);
	EQ(ds.sem_nsems, 7);
	IS(ds.sem_otime != 0);
	EQ(set_stat(2, SEM_STAT, &ds), c);
	EQ(ds.sem_perm.mode, 0640);
	EQ(set_stat(3, SEM_STAT, NULL), -EINVAL);
	EQ(set_stat(1, SEM_STAT_ANY, NULL), b);
	EQ(set_stat(0, SEM_STAT_ANY, NULL), -EINVAL);
	EQ(set_stat(-1, SEM_STAT, NULL), -EINVAL);
	EQ(set_stat(-1, SEM_STAT_ANY, NULL), -EINVAL);
	EQ(set_stat(b + 5 * 32768, SEM_STAT, NULL), b);
	EQ(set_stat(b + 5 * 32768, IPC_STAT, NULL), -EINVAL);
	EQ(set_ctl(b, 0, SEM_STAT, NULL), -EFAULT);
	EQ(set_ctl(b, 0, SEM_STAT_ANY, unmapped()), -EFAULT);
}

SCENARIO(set_stat_by_index_ignores_sequence, NEED_PRIVATE, "A-017 A-014")
{
	int s = -1;

	for (int i = 0; i < 70; i++) {
		if (s >= 0)
			EQ(backend()->semctl(s, 0, IPC_RMID, 0), 0);
		s = (int)backend()->semget(IPC_PRIVATE, 2, 0600);
	}
	note("id %d", s);
	IS(s > 32768);
	EQ(set_ctl(s & 0x7fff, 0, SEM_STAT, &self()->buf), s);
	EQ(set_ctl(s, 0, SEM_STAT, &self()->buf), s);
	EQ(set_ctl(s & 0x7fff, 0, SEM_STAT_ANY, &self()->buf), s);
	EQ(set_ctl(s & 0x7fff, 0, IPC_STAT, &self()->buf), -EINVAL);
}

SCENARIO(set_stat_by_index_rights, NEED_ROOT | NEED_PRIVATE, "A-019")
{
	struct actor *p = new_process();
	int s = new_set(1, 0602);

	BY(p, run("become", become, NOBODY));
	EQ(BY(p, set_stat(0, SEM_STAT, NULL)), -EACCES);
	EQ(BY(p, set_stat(0, SEM_STAT_ANY, NULL)), s);
	EQ(BY(p, set_stat(5, SEM_STAT, NULL)), -EINVAL);
	EQ(BY(p, set_info(IPC_INFO, NULL)), 0);
	EQ(BY(p, set_info(SEM_INFO, NULL)), 0);
	EQ(set_set_mode(s, 0604), 0);
	EQ(BY(p, set_stat(0, SEM_STAT, NULL)), s);
}

SCENARIO(set_info_limits, NEED_PRIVATE, "A-133 A-018 A-094")
{
	struct seminfo i;

	EQ(set_info(IPC_INFO, &i), 0);
	EQ(i.semmni, 32000);
	EQ(i.semmns, 1024000000);
	EQ(i.semmsl, 32000);
	EQ(i.semopm, 500);
	EQ(i.semvmx, 32767);
	EQ(i.semaem, 32767);
	EQ(i.semmap, 1024000000);
	EQ(i.semmnu, 1024000000);
	EQ(i.semume, 500);
	EQ(i.semusz, 20);
	new_set(1, 0600);
	EQ(set_info(IPC_INFO, NULL), 0);
	int s = new_set(1, 0600);
	new_set(1, 0600);
	EQ(set_info(IPC_INFO, NULL), 2);
	EQ(remove_set(s), 0);
	EQ(set_info(IPC_INFO, NULL), 2);
	EQ(set_ctl(0, 0, IPC_INFO, NULL), -EFAULT);
	EQ(set_ctl(0, 0, SEM_INFO, unmapped()), -EFAULT);
	EQ(set_ctl(-1, 0, SEM_INFO, &self()->buf), -EINVAL);
	EQ(set_ctl(12345, -9, SEM_INFO, &self()->buf), 2);
}

SCENARIO(set_info_totals, NEED_PRIVATE, "A-133 A-018")
{
	struct seminfo i;

	EQ(set_info(SEM_INFO, &i), 0);
	EQ(i.semusz, 0);
	EQ(i.semaem, 0);
	int a = new_set(5, 0600);
	new_set(32000, 0600);
	EQ(set_info(SEM_INFO, &i), 1);
	EQ(i.semusz, 2);
	EQ(i.semaem, 32005);
	EQ(i.semvmx, 32767);
	EQ(remove_set(a), 0);
	EQ(set_info(SEM_INFO, &i), 1);
	EQ(i.semusz, 1);
	EQ(i.semaem, 32000);
}

SCENARIO(set_structures, NEED_NOTHING, "A-178")
{
	EQ(sizeof(struct semid_ds), 104);
	EQ(sizeof(struct sembuf), 6);
	EQ(sizeof(struct ipc_perm), 48);
}

/* ---- /proc/sysvipc/sem ---- */

#undef SUITE
#define SUITE 5

static void note_row(const char *row)
{
	int key, id;
	unsigned perms, nsems, uid, gid, cuid, cgid;
	unsigned long o, c;

	EQ(sscanf(row, "%d %d %o %u %u %u %u %u %lu %lu", &key, &id, &perms,
		  &nsems, &uid, &gid, &cuid, &cgid, &o, &c),
	   10);
	note("row key=%s id=%d perms=%o nsems=%u %u %u %u %u times %d%d",
	     key == key_of(1) ? "k1" : "other", id, perms, nsems, uid, gid,
	     cuid, cgid, o != 0, c != 0);
}

static long note_table(long arg)
{
	char line[512];
	FILE *f = fopen("/proc/sysvipc/sem", "r");

	(void)arg;
	if (f == NULL)
		return -errno;
	if (fgets(line, sizeof(line), f) != NULL)
		note("%s", line);
	while (fgets(line, sizeof(line), f) != NULL)
		note_row(line);
	fclose(f);
	return 0;
}

SCENARIO(set_proc_table, NEED_PRIVATE, "A-173 A-175")
{
	EQ(note_table(0), 0);
	int a = new_set(3, 0600);
	long b = get_set(key_of(1), 1, IPC_CREAT | 0644);
	new_set(1, 0);
	EQ(add((int)b, 0, 1), 0);
	EQ(note_table(0), 0);
	EQ(remove_set(a), 0);
	EQ(note_table(0), 0);
}

SCENARIO(set_proc_table_without_rights, NEED_PRIVATE | NEED_ROOT, "A-173")
{
	struct actor *p = new_process();

	new_set(1, 0600);
	new_set(1, 0);
	BY(p, run("become", become, NOBODY));
	EQ(BY(p, run("read the table", note_table, 0)), 0);
}

/* The row's layout, to the letter. */
SCENARIO(set_proc_row_layout, NEED_PRIVATE, "A-175")
{
	char want[256], line[512] = "";
	int s = (int)get_set((key_t)0x80000001, 12, IPC_CREAT | 0604);
	struct semid_ds ds;

	EQ(add(s, 11, 1), 0);
	ds = peek_set(s);
	snprintf(want, sizeof(want),
		 "%10d %10d  %4o %10u %5u %5u %5u %5u %10llu %10llu\n",
		 ds.sem_perm.__key, s, (unsigned)ds.sem_perm.mode,
		 (unsigned)ds.sem_nsems, ds.sem_perm.uid, ds.sem_perm.gid,
		 ds.sem_perm.cuid, ds.sem_perm.cgid,
		 (unsigned long long)ds.sem_otime,
		 (unsigned long long)ds.sem_ctime);
	FILE *f = fopen("/proc/sysvipc/sem", "r");
	if (f == NULL)
		give_up("/proc/sysvipc/sem: %s", strerror(errno));
	(void)!fgets(line, sizeof(line), f);
	(void)!fgets(line, sizeof(line), f);
	EQ(strcmp(line, want), 0);
	EQ(fgets(line, sizeof(line), f) == NULL, 1);
	fclose(f);
}
