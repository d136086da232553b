/* SPDX-License-Identifier: MIT */
/*
 * sets.c - the semaphore sets of a row, on the side that is measured
 */
#include "bench.h"

int bench_set(struct bench_run *run, unsigned int index, int nsems)
{
	key_t key = run->shared->key + (key_t)index;
	int id;

	id = run->ops->semget(key, nsems, IPC_CREAT | IPC_EXCL | 0600);
	if (id < 0)
		bench_fail(run, "semget");
	return id;
}

void bench_set_remove(struct bench_run *run, int id)
{
	union bench_semun none = {0};

	if (run->ops->semctl(id, 0, IPC_RMID, none))
		bench_fail(run, "semctl IPC_RMID");
}

void bench_set_value(struct bench_run *run, int id, int number, int value)
{
	union bench_semun arg = {.val = value};

	if (run->ops->semctl(id, number, SETVAL, arg))
		bench_fail(run, "semctl SETVAL");
}

void bench_semop(struct bench_run *run, int id, int number, int op, int flags)
{
	struct sembuf one = {
		.sem_num = (unsigned short)number,
		.sem_op = (short)op,
		.sem_flg = (short)flags,
	};

	if (run->ops->semtimedop(id, &one, 1, NULL))
		bench_fail(run, "semop");
}

int bench_set_waiters(struct bench_run *run, int id, int nsems)
{
	union bench_semun none = {0};
	int waiters = 0;
	int i;

	for (i = 0; i < nsems; i++) {
		int n = run->ops->semctl(id, i, GETNCNT, none);

		if (n < 0)
			bench_fail(run, "semctl GETNCNT");
		waiters += n;
	}
	return waiters;
}
