/* SPDX-License-Identifier: MIT */
/* sem_op.c - semop by itself: checks, order, atomicity, what it changes. */
#define SUITE 4
#include "sets.h"

#include <linux/capability.h>
#include <sys/mman.h>

/* ---- the order of checks ---- */

SCENARIO(semop_order_of_checks, NEED_PRIVATE, "A-095 A-096 A-016")
{
	int s = new_set(2, 0600);
	struct sembuf *far = unmapped();

	/* Too many comes before everything, none before the pointer. */
	EQ(op_from(s, &self()->buf, SEMOPM + 1), -E2BIG);
	EQ(op_from(-1, NULL, SEMOPM + 1), -E2BIG);
	EQ(op_from(s, NULL, (size_t)-1), -E2BIG);
	EQ(op_from(s, NULL, 0), -EINVAL);
	EQ(op_from(-1, NULL, 0), -EINVAL);
	EQ(op_from(-1, NULL, 1), -EFAULT);
	EQ(op_from(s, far, 1), -EFAULT);
	EQ(op_from(s + 1000, far, SEMOPM), -EFAULT);
	EQ(op_from(s, at_page_end(sizeof(struct sembuf) - 1), 1), -EFAULT);
	EQ(add(-1, 9, 1), -EINVAL);
	EQ(add(s + 1000, 9, 1), -EINVAL);
	EQ(add(s, 2, 1), -EFBIG);
	EQ(OP(s, {0, -1, IPC_NOWAIT}, {2, 1, 0}), -EFBIG);
	EQ(OP(s, {0, -1, 0}, {65535, 0, 0}), -EFBIG);
	EQ(OP(s, {0, 32767, 0}, {0, 1, 0}, {2, 0, 0}), -EFBIG);
	EQ(OP(s, {2, 1, SEM_UNDO}), -EFBIG);
	EQ(OP(s + 1000, {2, 1, SEM_UNDO}), -EINVAL);
	EQ(set_stat_of(s).sem_otime, 0);
	EQ(get_values(s, 2), 0);
	EQ(pid_of(s, 0), 0);
}

/* Half of the array lies on a page, half on none. */
SCENARIO(semop_pointer_partly_good, NEED_NOTHING, "A-095")
{
	int s = new_set(1, 0600);
	struct sembuf *two = at_page_end(2 * sizeof(struct sembuf));

	two[0] = two[1] = (struct sembuf){0, 1, 0};
	EQ(op_from(s, two, 2), 0);
	EQ(op_from(s, two, 3), -EFAULT);
	EQ(op_from(s, two + 1, 2), -EFAULT);
	EQ(op_from(s, two + 1, 1), 0);
	EQ(value_of(s, 0), 3);
}

/* Nothing of anybody's comes to lie there meanwhile. */
SCENARIO(semop_pointer_into_a_hole, NEED_NOTHING, "A-095")
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED || munmap(page + 4096, 4096) != 0)
		give_up("mmap: %s", strerror(errno));
	int s = new_set(1, 0600);
	EQ(op_from(s, page + 4096, 1), -EFAULT);
	EQ(op_from(s, page + 4096 - sizeof(struct sembuf), 2), -EFAULT);
	EQ(value_of(s, 0), 0);
}

SCENARIO(semop_number_before_permission, NEED_ROOT, "A-095 A-096 A-097")
{
	struct actor *p = new_process();
	int s = new_set(1, 0600);

	BY(p, run("become", become, NOBODY));
	EQ(BY(p, add(s, 1, 1)), -EFBIG);
	EQ(BY(p, OP(s, {0, 1, 0}, {1, 1, 0})), -EFBIG);
	EQ(BY(p, add(s, 0, 1)), -EACCES);
	EQ(BY(p, OP(s, {0, -1, IPC_NOWAIT})), -EACCES);
	EQ(BY(p, OP(s, {0, 0, 0})), -EACCES);
	EQ(BY(p, OP(s, {0, 1, SEM_UNDO})), -EACCES);
	EQ(BY(p, OP(s, {0, 32767, 0}, {0, 1, 0})), -EACCES);
}

SCENARIO(semop_rights, NEED_ROOT, "A-097 A-008")
{
	struct actor *p = new_process();
	int s = new_set(2, 0602);

	BY(p, run("become", become, NOBODY));
	EQ(BY(p, OP(s, {0, 3, 0}, {0, -2, 0})), 0);
	/* One that alters asks for the whole call. */
	EQ(BY(p, OP(s, {1, 0, 0}, {0, -1, 0})), 0);
	EQ(BY(p, OP(s, {0, 0, 0}, {1, 0, 0})), -EACCES);
	EQ(BY(p, OP(s, {0, 0, IPC_NOWAIT})), -EACCES);
	EQ(BY(p, value_of(s, 0)), -EACCES);
	EQ(BY(p, get_values(s, 2)), -EACCES);
	EQ(BY(p, set_value(s, 0, 4)), 0);
	EQ(BY(p, SET_ALL(s, 1, 0)), 0);
	EQ(set_set_mode(s, 0604), 0);
	EQ(BY(p, OP(s, {1, 0, 0})), 0);
	EQ(BY(p, OP(s, {0, 0, IPC_NOWAIT})), -EAGAIN);
	EQ(BY(p, OP(s, {1, 0, 0}, {0, 1, 0})), -EACCES);
	EQ(BY(p, value_of(s, 0)), 1);
	EQ(BY(p, set_value(s, 0, 4)), -EACCES);
	EQ(BY(p, SET_ALL(s, 1, 1)), -EACCES);
}

SCENARIO(semop_class_of_caller, NEED_ROOT, "A-023 A-097")
{
	struct actor *group = new_process(), *other = new_process(),
		     *owner = new_process();
	int s;

	BY(owner, run("become", become, 1234));
	s = (int)BY(owner, get_set(IPC_PRIVATE, 1, 0026));
	BY(group, run("take_group", take_group, 1234));
	BY(group, run("take_egid", take_egid, 77));
	BY(group, run("take_euid", take_euid, 4321));
	BY(other, run("become", become, NOBODY));
	EQ(BY(owner, add(s, 0, 1)), -EACCES);
	EQ(BY(group, add(s, 0, 1)), 0);
	EQ(BY(group, value_of(s, 0)), -EACCES);
	EQ(BY(other, add(s, 0, 1)), 0);
	EQ(BY(other, value_of(s, 0)), 2);
}

/* ---- the order of operations ---- */

SCENARIO(operations_in_array_order, NEED_NOTHING, "A-099 A-100")
{
	int s = new_set(2, 0600);

	EQ(OP(s, {0, -1, IPC_NOWAIT}, {0, 1, 0}), -EAGAIN);
	EQ(OP(s, {0, 1, 0}, {0, -1, IPC_NOWAIT}), 0);
	EQ(value_of(s, 0), 0);
	EQ(OP(s, {0, 0, IPC_NOWAIT}, {0, 1, 0}, {0, -1, 0}), 0);
	EQ(OP(s, {0, 1, 0}, {0, 0, IPC_NOWAIT}), -EAGAIN);
	EQ(OP(s, {0, 1, 0}, {0, -1, 0}, {0, 0, IPC_NOWAIT}), 0);
	EQ(OP(s, {0, 5, 0}, {1, 3, 0}, {0, -4, 0}, {1, -3, 0}), 0);
	EQ(value_of(s, 0), 1);
	EQ(value_of(s, 1), 0);
	EQ(OP(s, {0, -1, 0}, {0, 0, 0}, {0, 7, 0}), 0);
	EQ(value_of(s, 0), 7);
	EQ(OP(s, {0, -3, 0}, {0, -3, 0}, {0, -2, IPC_NOWAIT}), -EAGAIN);
	EQ(value_of(s, 0), 7);
	EQ(OP(s, {0, -3, 0}, {0, -3, 0}, {0, -1, IPC_NOWAIT}, {0, 0, 0}), 0);
}

SCENARIO(operations_all_or_none, NEED_NOTHING, "A-099 A-104")
{
	struct actor *p = new_process();
	int s = new_set(4, 0600);

	EQ(SET_ALL(s, 5, 5, 5, 0), 0);
	EQ(BY(p, OP(s, {0, -1, 0}, {1, -2, 0}, {2, 9, 0}, {3, -1, IPC_NOWAIT})),
	   -EAGAIN);
	EQ(get_values(s, 4), 0);
	EQ(BY(p, OP(s, {0, -1, 0}, {1, 32767, 0})), -ERANGE);
	EQ(get_values(s, 4), 0);
	for (int i = 0; i < 4; i++)
		EQ(pid_of(s, i), self()->pid);
	EQ(set_stat_of(s).sem_otime, 0);
}

SCENARIO(value_over_the_maximum, NEED_NOTHING, "A-099 A-100 A-101")
{
	int s = new_set(2, 0600);

	EQ(add(s, 0, 32767), 0);
	EQ(value_of(s, 0), 32767);
	EQ(add(s, 0, 1), -ERANGE);
	EQ(OP(s, {0, 1, IPC_NOWAIT}), -ERANGE);
	EQ(OP(s, {0, 1, SEM_UNDO}), -ERANGE);
	EQ(OP(s, {0, 1, 0}, {0, -1, 0}), -ERANGE);
	EQ(OP(s, {0, -1, 0}, {0, 1, 0}), 0);
	EQ(OP(s, {0, -2, 0}, {0, 3, 0}), -ERANGE);
	/* By position: what blocks first, what overflows first. */
	EQ(OP(s, {1, -1, IPC_NOWAIT}, {0, 1, 0}), -EAGAIN);
	EQ(OP(s, {0, 1, 0}, {1, -1, IPC_NOWAIT}), -ERANGE);
	EQ(OP(s, {0, 1, 0}, {1, -1, 0}), -ERANGE);
	EQ(OP(s, {1, 32767, 0}, {1, 1, 0}, {1, -1, 0}), -ERANGE);
	EQ(OP(s, {1, 32767, 0}, {1, -32767, 0}, {1, 32767, 0}), 0);
	EQ(get_values(s, 2), 0);
}

SCENARIO(operation_of_the_least_number, NEED_NOTHING, "A-102")
{
	struct actor *p = new_process();
	int s = new_set(1, 0600);

	EQ(add(s, 0, 32767), 0);
	EQ(OP(s, {0, -32768, IPC_NOWAIT}), -EAGAIN);
	START_ASLEEP(p, add(s, 0, -32768));
	EQ(ncnt_of(s, 0), 1);
	EQ(add(s, 0, -32767), 0);
	EQ(add(s, 0, 32767), 0);
	ASLEEP(p);
	EQ(remove_set(s), 0);
	EQ(finish(p), -EIDRM);
}

SCENARIO(nowait_of_the_blocking_operation, NEED_NOTHING, "A-100 A-101")
{
	struct actor *p = new_process();
	int s = new_set(2, 0600);

	EQ(add(s, 1, 1), 0);
	EQ(OP(s, {1, -1, 0}, {0, -1, IPC_NOWAIT}), -EAGAIN);
	EQ(OP(s, {1, 0, IPC_NOWAIT}, {0, -1, 0}), -EAGAIN);
	/* Another operation's does not count. */
	START_ASLEEP(p, OP(s, {1, -1, IPC_NOWAIT}, {0, -1, 0}));
	EQ(add(s, 0, 1), 0);
	EQ(finish(p), 0);
	EQ(value_of(s, 1), 0);
	START_ASLEEP(p, OP(s, {0, -1, 0}, {1, -1, IPC_NOWAIT}));
	EQ(add(s, 1, 1), 0);
	ASLEEP(p);
	EQ(add(s, 0, 1), 0);
	EQ(finish(p), 0);
}

SCENARIO(unknown_operation_flags, NEED_NOTHING, "A-100 A-095")
{
	int s = new_set(1, 0600);

	EQ(OP(s, {0, 1, 0x2000}), 0);
	EQ(OP(s, {0, -2, (short)(IPC_NOWAIT | 0x8000)}), -EAGAIN);
	EQ(OP(s, {0, -1, 0x4000}), 0);
	EQ(value_of(s, 0), 0);
}

SCENARIO(five_hundred_operations, NEED_NOTHING, "A-095 A-099")
{
	struct actor *p = new_process();
	struct sembuf *o = self()->buf.ops;
	int s = new_set(250, 0600);

	for (int i = 0; i < SEMOPM; i++)
		o[i] = (struct sembuf){(unsigned short)(i % 250),
				       (short)(i < 250 ? 3 : -2), 0};
	EQ(op_from(s, o, SEMOPM), 0);
	EQ(get_values(s, 250), 0);
	for (int i = 0; i < 250; i++)
		EQ(got_value(i), 1);
	/* The last does not come through: nothing does. */
	struct sembuf *theirs = p->buf.ops;
	for (int i = 0; i < SEMOPM; i++)
		theirs[i] = (struct sembuf){(unsigned short)(i % 250),
					    (short)(i < 250 ? 1 : -2), 0};
	theirs[SEMOPM - 1].sem_op = -3;
	START_ASLEEP(p, op_from(s, theirs, SEMOPM));
	EQ(ncnt_of(s, 249), 1);
	EQ(ncnt_of(s, 0), 0);
	EQ(get_values(s, 250), 0);
	EQ(got_value(0) + got_value(249), 2);
	EQ(add(s, 249, 1), 0);
	EQ(finish(p), 0);
	EQ(get_values(s, 250), 0);
	for (int i = 0; i < 250; i++)
		EQ(got_value(i), 0);
	EQ(pid_of(s, 13), p->pid);
}

SCENARIO(same_semaphore_five_hundred_times, NEED_NOTHING, "A-095 A-099")
{
	struct sembuf *o = self()->buf.ops;
	int s = new_set(1, 0600);

	for (int i = 0; i < SEMOPM; i++)
		o[i] = (struct sembuf){0, (short)(i % 2 ? -65 : 65), 0};
	EQ(op_from(s, o, SEMOPM), 0);
	EQ(value_of(s, 0), 0);
	for (int i = 0; i < SEMOPM; i++)
		o[i].sem_op = 65;
	EQ(op_from(s, o, SEMOPM), 0);
	EQ(value_of(s, 0), 32500);
	EQ(op_from(s, o, 4), 0);
	EQ(op_from(s, o, SEMOPM), -ERANGE);
	EQ(value_of(s, 0), 32760);
}

/* ---- what a call that succeeds leaves ---- */

SCENARIO(pid_of_every_semaphore_named, NEED_NOTHING, "A-104 A-128")
{
	struct actor *p = new_process(), *z = new_process();
	int s = new_set(4, 0600);

	EQ(BY(p, OP(s, {0, 1, 0}, {2, 1, 0}, {2, -1, 0})), 0);
	EQ(pid_of(s, 0), p->pid);
	EQ(pid_of(s, 1), 0);
	EQ(pid_of(s, 2), p->pid);
	EQ(BY(z, OP(s, {2, 0, 0}, {3, 0, 0})), 0);
	EQ(pid_of(s, 0), p->pid);
	EQ(pid_of(s, 2), z->pid);
	EQ(pid_of(s, 3), z->pid);
	EQ(OP(s, {0, 0, IPC_NOWAIT}), -EAGAIN);
	EQ(pid_of(s, 0), p->pid);
	EQ(set_value(s, 1, 0), 0);
	EQ(pid_of(s, 1), self()->pid);
	EQ(BY(p, OP(s, {0, -1, 0}, {1, 0, 0}, {2, 0, 0}, {3, 0, 0})), 0);
	for (int i = 0; i < 4; i++)
		EQ(pid_of(s, i), p->pid);
}

SCENARIO(pid_is_the_process, NEED_NOTHING, "A-104 A-128 A-105")
{
	struct actor *t = new_thread(), *p = new_process();
	int s = new_set(1, 0600);

	EQ(BY(t, add(s, 0, 1)), 0);
	EQ(pid_of(s, 0), self()->pid);
	EQ(BY(p, add(s, 0, -1)), 0);
	START_ASLEEP(t, add(s, 0, -1));
	EQ(BY(p, add(s, 0, 1)), 0);
	EQ(finish(t), 0);
	EQ(pid_of(s, 0), self()->pid);
	/* Whoever it was is gone; its number stays. */
	EQ(BY(p, add(s, 0, 1)), 0);
	kill_actor(p);
	EQ(pid_of(s, 0), p->pid);
}

SCENARIO(operation_time, NEED_NOTHING, "A-104 A-132 A-038 A-127")
{
	int s = new_set(2, 0600);
	time_t made = set_stat_of(s).sem_ctime;

	EQ(set_stat_of(s).sem_otime, 0);
	EQ(OP(s, {0, -1, IPC_NOWAIT}), -EAGAIN);
	EQ(add(s, 2, 1), -EFBIG);
	EQ(set_stat_of(s).sem_otime, 0);
	EQ(OP(s, {1, 0, 0}), 0);
	time_t first = set_stat_of(s).sem_otime;
	IS(first != 0);
	next_second();
	EQ(OP(s, {0, -1, IPC_NOWAIT}), -EAGAIN);
	EQ(set_stat_of(s).sem_otime == first, 1);
	EQ(add(s, 0, 1), 0);
	struct semid_ds ds = set_stat_of(s);
	IS(ds.sem_otime > first);
	EQ(ds.sem_ctime == made, 1);
	/* The latest of all semaphores counts, and no time goes back. */
	time_t second = ds.sem_otime;
	next_second();
	EQ(set_value(s, 0, 3), 0);
	ds = set_stat_of(s);
	EQ(ds.sem_otime == second, 1);
	IS(ds.sem_ctime > made);
	EQ(OP(s, {0, -1, 0}, {1, 1, 0}), 0);
	IS(set_stat_of(s).sem_otime > second);
}

SCENARIO(p_and_v_many_times, NEED_NOTHING, "A-099 A-104")
{
	struct actor *p = new_process();
	int s = new_set(3, 0600);

	for (int i = 0; i < 60; i++) {
		EQ(BY(i % 2 ? p : self(), add(s, i % 3, i % 7 + 1)), 0);
		if (i % 4 == 3)
			EQ(add(s, i % 3, -(i % 7) - 1), 0);
	}
	EQ(get_values(s, 3), 0);
}

/* ---- which operations were meant ---- */

static int used_set;
static struct sembuf shared_op;

static long take_shared(long arg)
{
	(void)arg;
	return backend()->semop(used_set, &shared_op, 1);
}

SCENARIO(operations_are_copied_at_entry, NEED_NOTHING, "A-098")
{
	struct actor *t = new_thread();

	used_set = new_set(2, 0600);
	shared_op = (struct sembuf){0, -1, 0};
	START_ASLEEP(t, run("take", take_shared, 0));
	shared_op = (struct sembuf){1, -7, 0};
	EQ(add(used_set, 0, 1), 0);
	EQ(finish(t), 0);
	EQ(value_of(used_set, 0), 0);
	EQ(pid_of(used_set, 1), 0);
}

/* ---- capabilities ---- */

SCENARIO(semop_with_ipc_owner, NEED_ROOT, "A-024 A-025")
{
	struct actor *p = new_process(), *none = new_process();
	int s = new_set(1, 0);

	BY(p, run("keep_only_cap", keep_only_cap, CAP_IPC_OWNER));
	BY(none, run("keep_only_cap", keep_only_cap, CAP_CHOWN));
	EQ(BY(p, add(s, 0, 1)), 0);
	EQ(BY(p, OP(s, {0, -1, 0}, {0, 0, 0})), 0);
	EQ(BY(p, value_of(s, 0)), 0);
	EQ(BY(p, set_value(s, 0, 1)), 0);
	EQ(BY(p, set_stat(s, IPC_STAT, NULL)), 0);
	EQ(BY(p, remove_set(s)), -EPERM);
	EQ(BY(none, add(s, 0, 1)), -EACCES);
	EQ(BY(none, value_of(s, 0)), -EACCES);
	EQ(BY(none, remove_set(s)), -EPERM);
}

SCENARIO(control_with_sys_admin, NEED_ROOT, "A-025 A-024")
{
	struct actor *p = new_process();
	int s = new_set(1, 0600);

	BY(p, run("keep_only_cap", keep_only_cap, CAP_SYS_ADMIN));
	EQ(BY(p, add(s, 0, 1)), -EACCES);
	EQ(BY(p, value_of(s, 0)), -EACCES);
	struct semid_ds ds = peek_set(s);
	EQ(BY(p, set_set(s, &ds)), 0);
	EQ(BY(p, remove_set(s)), 0);
}

/* ---- by number ---- */

SCENARIO(set_calls_by_number, NEED_NOTHING, "A-095 A-106 A-122 A-105")
{
	use_numbers();
	struct actor *p = new_process();
	int s = (int)get_set(key_of(1), 2, IPC_CREAT | 0600);

	EQ(get_set(key_of(1), 2, IPC_CREAT | IPC_EXCL | 0600), -EEXIST);
	EQ(OP(s, {0, 3, SEM_UNDO}, {1, 1, 0}), 0);
	EQ(TIMED(s, IN(0, 0), {0, -4, 0}), -EAGAIN);
	EQ(TIMED(s, NULL, {0, -1, 0}), 0);
	EQ(TIMED(s, IN(0, -1), {0, -1, 0}), -EINVAL);
	EQ(op_from(s, NULL, 1), -EFAULT);
	EQ(OP(s, {2, 1, 0}), -EFBIG);
	EQ(set_value(s, 1, 4), 0);
	EQ(set_value(s, 1, 32768), -ERANGE);
	EQ(get_values(s, 2), 0);
	START_ASLEEP(p, add(s, 0, -3));
	EQ(ncnt_of(s, 0), 1);
	EQ(add(s, 0, 1), 0);
	EQ(finish(p), 0);
	EQ(pid_of(s, 0), p->pid);
	EQ(set_ctl(s, 0, 99, NULL), -EINVAL);
	EQ(set_stat_of(s).sem_nsems, 2);
	EQ(remove_set(s), 0);
}
