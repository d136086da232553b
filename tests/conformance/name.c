/* SPDX-License-Identifier: MIT */
/*
 * name.c - what differs from run to run is called by its role: queues q1, q2,
 * sets s1, s2, keys k1, k2, processes P0, P1, times 0 and now.
 */
#include "stage.h"

#include <stdio.h>
#include <time.h>

#define NAMES_MAX 512

static struct {
	int ids[NAMES_MAX];
	int count;
} named[KINDS];
static time_t began;

void put(struct text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(t->s + t->n, sizeof(t->s) - t->n, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->n += (size_t)n;
	if (t->n >= sizeof(t->s))
		t->n = sizeof(t->s) - 1;
}

static int find_object(enum kind kind, int id)
{
	for (int i = 0; i < named[kind].count && i < NAMES_MAX; i++)
		if (named[kind].ids[i] == id)
			return i + 1;
	return 0;
}

void name_object(enum kind kind, int id)
{
	if (began == 0)
		began = time(NULL);
	if (find_object(kind, id) != 0)
		return;
	if (named[kind].count < NAMES_MAX)
		named[kind].ids[named[kind].count] = id;
	named[kind].count++;
}

/* Nothing is left behind where the namespace is not one's own. */
void remove_objects(void)
{
	for (int i = 0; i < named[QUEUE].count && i < NAMES_MAX; i++)
		(void)backend()->msgctl(named[QUEUE].ids[i], IPC_RMID, NULL);
	for (int i = 0; i < named[SET].count && i < NAMES_MAX; i++)
		(void)backend()->semctl(named[SET].ids[i], 0, IPC_RMID, 0);
}

void put_object(struct text *t, enum kind kind, int id)
{
	int n = find_object(kind, id);

	if (n != 0)
		put(t, "%c%d", "qs"[kind], n);
	else
		put(t, "%d", id);
}

key_t key_of(int n)
{
	return (key_t)(0x5f000000 + (getpid() & 0x7fff) * 0x100 + n);
}

void put_key(struct text *t, key_t key)
{
	if (key == IPC_PRIVATE)
		put(t, "private");
	else if (((unsigned)key & 0xff000000U) == 0x5f000000U)
		put(t, "k%d", key & 0xff);
	else
		put(t, "0x%x", (unsigned)key);
}

const char *role_of(pid_t pid)
{
	if (pid == 0)
		return "0";
	for (int i = 0; i < actor_count(); i++)
		if (actor_at(i)->tid == pid)
			return actor_at(i)->name;
	return "?";
}

/* Clocks that stamp queues may lag by one tick. */
void put_time(struct text *t, long when)
{
	if (when == 0)
		put(t, "0");
	else if (when >= began - 1 && when <= time(NULL))
		put(t, "now");
	else
		put(t, "%ld", when);
}

struct bit {
	int value;
	const char *name;
};

static void put_bits(struct text *t, int flags, const struct bit *bits, int n)
{
	const char *sep = "";

	for (int i = 0; i < n; i++)
		if ((flags & bits[i].value) != 0) {
			put(t, "%s%s", sep, bits[i].name);
			flags &= ~bits[i].value;
			sep = "|";
		}
	if (flags != 0 || *sep == '\0')
		put(t, "%s0%o", sep, (unsigned)flags);
}

void put_flags(struct text *t, const struct call *call)
{
	static const struct bit get_bits[] = {
		{IPC_CREAT, "CREAT"},
		{IPC_EXCL, "EXCL"},
	};
	static const struct bit op_bits[] = {
		{IPC_NOWAIT, "NOWAIT"},
		{MSG_NOERROR, "NOERROR"},
		{MSG_EXCEPT, "EXCEPT"},
		{MSG_COPY, "COPY"},
	};

	if (call->op == CALL_GET || call->op == CALL_SEMGET)
		put_bits(t, call->flags, get_bits, 2);
	else
		put_bits(t, call->flags, op_bits, 4);
}

const char *command_name(int cmd)
{
	static char number[16];

	switch (cmd) {
	case IPC_RMID:
		return "IPC_RMID";
	case IPC_SET:
		return "IPC_SET";
	case IPC_STAT:
		return "IPC_STAT";
	case IPC_INFO:
		return "IPC_INFO";
	case MSG_STAT:
		return "MSG_STAT";
	case MSG_INFO:
		return "MSG_INFO";
	case MSG_STAT_ANY:
		return "MSG_STAT_ANY";
	}
	snprintf(number, sizeof(number), "0x%x", (unsigned)cmd);
	return number;
}

const char *set_command_name(int cmd)
{
	static const char *const names[] = {
		[IPC_RMID] = "IPC_RMID", [IPC_SET] = "IPC_SET",
		[IPC_STAT] = "IPC_STAT", [IPC_INFO] = "IPC_INFO",
		[GETPID] = "GETPID",	 [GETVAL] = "GETVAL",
		[GETALL] = "GETALL",	 [GETNCNT] = "GETNCNT",
		[GETZCNT] = "GETZCNT",	 [SETVAL] = "SETVAL",
		[SETALL] = "SETALL",	 [SEM_STAT] = "SEM_STAT",
		[SEM_INFO] = "SEM_INFO", [SEM_STAT_ANY] = "SEM_STAT_ANY",
	};

	if (cmd >= 0 && cmd <= SEM_STAT_ANY && names[cmd] != NULL)
		return names[cmd];
	return command_name(cmd);
}

/* A call's value in words. */
const char *error_name(long value)
{
	static char number[2][24];
	static int turn;
	const char *name;

	if (value < 0 && value > -4096) {
		name = strerrorname_np((int)-value);
		if (name != NULL)
			return name;
	}
	turn = !turn;
	snprintf(number[turn], sizeof(number[turn]), "%ld", value);
	return number[turn];
}
