/* SPDX-License-Identifier: MIT */
/* set_trace.c - what a line of the trace says of a semaphore set's call. */
#include "stage.h"

#include <stdint.h>

#define SHOWN 8 /* operations, values */

bool is_set_call(const struct call *c)
{
	return c->op >= CALL_SEMGET && c->op <= CALL_SEMCTL;
}

static void put_pointer(struct text *t, const char *name, const struct actor *a)
{
	if (a->call.user == NULL)
		put(t, " %s=NULL", name);
	else if (a->call.user != &a->buf)
		put(t, " %s=elsewhere", name);
}

static void put_ops(struct text *t, const struct actor *a)
{
	size_t n = a->call.size;

	put_pointer(t, "sops", a);
	put(t, " n=%zu", n);
	if (a->call.user != &a->buf)
		return;
	for (size_t i = 0; i < n && i < SHOWN; i++) {
		const struct sembuf *o = &a->buf.ops[i];
		put(t, " {%u%+d", o->sem_num, o->sem_op);
		if ((o->sem_flg & IPC_NOWAIT) != 0)
			put(t, " NOWAIT");
		if ((o->sem_flg & SEM_UNDO) != 0)
			put(t, " UNDO");
		if ((o->sem_flg & ~(IPC_NOWAIT | SEM_UNDO)) != 0)
			put(t, " %#x", (unsigned)o->sem_flg);
		put(t, "}");
	}
	if (n > SHOWN)
		put(t, " ...");
}

static void put_timeout(struct text *t, const struct actor *a)
{
	const struct timespec *limit = a->call.timeout;

	if (limit == NULL)
		put(t, " timeout=NULL");
	else if (limit != &a->timeout)
		put(t, " timeout=elsewhere");
	else
		put(t, " timeout=%lld,%ld", (long long)limit->tv_sec,
		    limit->tv_nsec);
}

static void put_values(struct text *t, const struct actor *a)
{
	const unsigned short *v = a->buf.values;
	size_t n = a->call.size;
	uint32_t h = 2166136261U;

	if (a->call.user != &a->buf || n == 0)
		return;
	put(t, " {");
	for (size_t i = 0; i < n && i < SHOWN; i++)
		put(t, "%s%u", i > 0 ? " " : "", v[i]);
	for (size_t i = 0; i < n; i++)
		h = (h ^ v[i]) * 16777619U;
	if (n > SHOWN)
		put(t, " ... #%08x", h);
	put(t, "}");
	if (a->call.cmd == GETALL && v[n] != 0x5a5a)
		put(t, " (written behind it)");
}

static void put_control(struct text *t, const struct actor *a)
{
	const struct call *c = &a->call;

	put(t, "semctl ");
	put_object(t, SET, c->id);
	put(t, " %d %s", c->num, set_command_name(c->cmd));
	if (c->cmd == SETVAL)
		put(t, " %ld", c->arg);
	else if (c->user != NULL)
		put_pointer(t, "arg", a);
	if (c->cmd == SETALL)
		put_values(t, a);
	if (c->cmd == IPC_SET && c->user == &a->buf)
		put(t, " {uid=%d gid=%d mode=%04o}",
		    (int)a->buf.set.sem_perm.uid, (int)a->buf.set.sem_perm.gid,
		    (unsigned)a->buf.set.sem_perm.mode);
}

void put_set_call(struct text *t, const struct actor *a)
{
	const struct call *c = &a->call;

	if (c->op == CALL_SEMCTL) {
		put_control(t, a);
	} else if (c->op == CALL_SEMGET) {
		put(t, "semget ");
		put_key(t, c->id);
		put(t, " nsems=%d flags=", c->num);
		put_flags(t, c);
	} else {
		put(t, c->op == CALL_SEMOP ? "semop " : "semtimedop ");
		put_object(t, SET, c->id);
		put_ops(t, a);
		if (c->op == CALL_SEMTIMEDOP)
			put_timeout(t, a);
	}
}

static void put_set(struct text *t, const struct semid_ds *ds)
{
	put(t, " {");
	put_perm(t, &ds->sem_perm);
	put(t, " nsems=%lu otime=", (unsigned long)ds->sem_nsems);
	put_time(t, ds->sem_otime);
	put(t, " ctime=");
	put_time(t, ds->sem_ctime);
	put(t, "}");
}

static void put_info(struct text *t, const struct seminfo *i)
{
	put(t, " {semmap=%d semmni=%d semmns=%d semmnu=%d semmsl=%d semopm=%d",
	    i->semmap, i->semmni, i->semmns, i->semmnu, i->semmsl, i->semopm);
	put(t, " semume=%d semusz=%d semvmx=%d semaem=%d}", i->semume,
	    i->semusz, i->semvmx, i->semaem);
}

void put_set_result(struct text *t, const struct actor *a, long ret)
{
	const struct call *c = &a->call;
	bool is_ctl = c->op == CALL_SEMCTL;

	put(t, " -> ");
	if (ret < 0) {
		put(t, "-1 %s", error_name(ret));
		return;
	}
	if (c->op == CALL_SEMGET ||
	    (is_ctl && (c->cmd == SEM_STAT || c->cmd == SEM_STAT_ANY)))
		put_object(t, SET, (int)ret);
	else if (is_ctl && c->cmd == GETPID)
		put(t, "%s", role_of((pid_t)ret));
	else
		put(t, "%ld", ret);
	if (!is_ctl || c->user != &a->buf)
		return;
	if (c->cmd == GETALL)
		put_values(t, a);
	if (c->cmd == IPC_STAT || c->cmd == SEM_STAT || c->cmd == SEM_STAT_ANY)
		put_set(t, &a->buf.set);
	if (c->cmd == IPC_INFO || c->cmd == SEM_INFO)
		put_info(t, &a->buf.seminfo);
}
