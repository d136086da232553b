/* SPDX-License-Identifier: MIT */
/* set_calls.c - the recorded calls of semaphore sets. */
#include "sets.h"

#include "stage.h"

#include <stdint.h>

#define CANARY 0x5a

long get_set(key_t key, int nsems, int flags)
{
	struct call c = {
		.op = CALL_SEMGET,
		.id = key,
		.num = nsems,
		.flags = flags,
	};

	return direct(&c);
}

long op_from(int set, const void *sops, size_t nsops)
{
	struct call c = {.op = CALL_SEMOP, .id = set, .size = nsops};

	memcpy(&c.user, &sops, sizeof(sops));
	return direct(&c);
}

static struct sembuf *copy_ops(const struct sembuf *sops, size_t nsops)
{
	struct sembuf *to = current_actor()->buf.ops;

	if (nsops > OPS_MAX)
		give_up("more than %d operations", OPS_MAX);
	memcpy(to, sops, nsops * sizeof(*sops));
	return to;
}

long op_copied(int set, const struct sembuf *sops, size_t nsops)
{
	return op_from(set, copy_ops(sops, nsops), nsops);
}

long add(int set, int num, int delta)
{
	return OP(set, {(unsigned short)num, (short)delta, 0});
}

long timed_from(int set, const void *timeout, const void *sops, size_t nsops)
{
	struct call c = {
		.op = CALL_SEMTIMEDOP,
		.id = set,
		.size = nsops,
		.timeout = timeout,
	};

	memcpy(&c.user, &sops, sizeof(sops));
	return direct(&c);
}

long timed_copied(int set, const struct timespec *timeout,
		  const struct sembuf *sops, size_t nsops)
{
	struct actor *a = current_actor();

	if (timeout != NULL) {
		a->timeout = *timeout;
		timeout = &a->timeout;
	}
	return timed_from(set, timeout, copy_ops(sops, nsops), nsops);
}

long set_ctl(int set, int num, int cmd, void *arg)
{
	struct call c = {
		.op = CALL_SEMCTL,
		.id = set,
		.num = num,
		.cmd = cmd,
		.user = arg,
	};

	return direct(&c);
}

long value_of(int set, int num)
{
	return set_ctl(set, num, GETVAL, NULL);
}

long pid_of(int set, int num)
{
	return set_ctl(set, num, GETPID, NULL);
}

long ncnt_of(int set, int num)
{
	return set_ctl(set, num, GETNCNT, NULL);
}

long zcnt_of(int set, int num)
{
	return set_ctl(set, num, GETZCNT, NULL);
}

long set_value(int set, int num, long value)
{
	struct call c = {
		.op = CALL_SEMCTL,
		.id = set,
		.num = num,
		.cmd = SETVAL,
		.arg = value,
	};

	return direct(&c);
}

/* How many values the trace is to show of a SETALL or GETALL. */
static long all(int set, int cmd, int n)
{
	struct actor *a = current_actor();
	struct call c = {
		.op = CALL_SEMCTL,
		.id = set,
		.cmd = cmd,
		.size = (size_t)n,
		.user = a->buf.values,
	};

	return direct(&c);
}

long set_values(int set, const unsigned short *values, int n)
{
	struct actor *a = current_actor();

	memcpy(a->buf.values, values, (size_t)n * sizeof(*values));
	return all(set, SETALL, n);
}

long get_values(int set, int n)
{
	struct actor *a = current_actor();

	memset(a->buf.values, CANARY, (size_t)(n + 1) * 2);
	return all(set, GETALL, n);
}

long set_stat(int set, int cmd, struct semid_ds *ret_ds)
{
	struct actor *a = current_actor();

	memset(&a->buf.set, CANARY, sizeof(a->buf.set));
	long ret = set_ctl(set, 0, cmd, &a->buf);
	if (ret_ds != NULL && ret >= 0)
		*ret_ds = a->buf.set;
	return ret;
}

long set_info(int cmd, struct seminfo *ret_info)
{
	struct actor *a = current_actor();

	memset(&a->buf.seminfo, CANARY, sizeof(a->buf.seminfo));
	long ret = set_ctl(0, 0, cmd, &a->buf);
	if (ret_info != NULL && ret >= 0)
		*ret_info = a->buf.seminfo;
	return ret;
}

long set_set(int set, const struct semid_ds *ds)
{
	struct actor *a = current_actor();

	a->buf.set = *ds;
	return set_ctl(set, 0, IPC_SET, &a->buf);
}

long remove_set(int set)
{
	return set_ctl(set, 0, IPC_RMID, NULL);
}

/* ---- short forms ---- */

int new_set(int nsems, int mode)
{
	long id = get_set(IPC_PRIVATE, nsems, IPC_CREAT | mode);

	if (id < 0)
		give_up("semget: %s", error_name(id));
	return (int)id;
}

struct semid_ds set_stat_of(int set)
{
	struct semid_ds ds;

	memset(&ds, 0, sizeof(ds));
	long ret = set_stat(set, IPC_STAT, &ds);
	if (ret != 0)
		give_up("IPC_STAT: %s", error_name(ret));
	return ds;
}

struct semid_ds peek_set(int set)
{
	struct semid_ds ds;

	memset(&ds, 0, sizeof(ds));
	long ret = backend()->semctl(set, 0, IPC_STAT, (uintptr_t)&ds);
	if (ret != 0)
		give_up("IPC_STAT: %s", error_name(ret));
	return ds;
}

long peek_value(int set, int num)
{
	return backend()->semctl(set, num, GETVAL, 0);
}

long set_set_mode(int set, int mode)
{
	struct semid_ds ds = peek_set(set);

	ds.sem_perm.mode = (unsigned short)mode;
	return set_set(set, &ds);
}

unsigned short got_value(int num)
{
	return self()->buf.values[num];
}

struct actor *sleeper(int set, int num, int delta, int flags)
{
	return SLEEPER(set, {(unsigned short)num, (short)delta, (short)flags});
}
