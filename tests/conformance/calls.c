/* SPDX-License-Identifier: MIT */
/* calls.c - the recorded calls, made by P0 or by the actor that is cast. */
#include "stage.h"

#include <stdio.h>

#define CANARY 0x5a

static struct actor *caller(void)
{
	return current_actor();
}

static void fill_canary(struct message *m, size_t body)
{
	m->type = (long)0x5a5a5a5a5a5a5a5aL;
	memset(m->body, CANARY, body < BODY_MAX ? body : BODY_MAX);
}

long get(key_t key, int flags)
{
	struct call c = {.op = CALL_GET, .id = key, .flags = flags};

	return direct(&c);
}

long snd_from(int q, const void *msg, size_t size, int flags)
{
	struct call c = {.op = CALL_SND, .id = q, .size = size, .flags = flags};

	memcpy(&c.user, &msg, sizeof(msg));
	return direct(&c);
}

long snd(int q, long type, const char *text, int flags)
{
	struct message *m = &caller()->buf.message;
	size_t size = strlen(text);

	m->type = type;
	memcpy(m->body, text, size);
	return snd_from(q, m, size, flags);
}

/* A body that tells its size and place: a..z over and over. */
long snd_sized(int q, long type, size_t size, int flags)
{
	struct message *m = &caller()->buf.message;

	m->type = type;
	for (size_t i = 0; i < size && i < BODY_MAX; i++)
		m->body[i] = (char)('a' + (i + size) % 26);
	return snd_from(q, m, size, flags);
}

long rcv_into(int q, void *msg, size_t size, long type, int flags)
{
	struct call c = {
		.op = CALL_RCV,
		.id = q,
		.size = size,
		.type = type,
		.flags = flags,
		.user = msg,
	};

	return direct(&c);
}

long rcv(int q, size_t size, long type, int flags)
{
	struct message *m = &caller()->buf.message;

	fill_canary(m, size > 64 ? size + 64 : 128);
	return rcv_into(q, m, size, type, flags);
}

long ctl(int q, int cmd, void *arg)
{
	struct call c = {.op = CALL_CTL, .id = q, .cmd = cmd, .user = arg};

	return direct(&c);
}

long ctl_stat(int q, int cmd, struct msqid_ds *ret_ds)
{
	struct actor *a = caller();

	memset(&a->buf.ds, CANARY, sizeof(a->buf.ds));
	long ret = ctl(q, cmd, &a->buf.ds);
	if (ret_ds != NULL && ret >= 0)
		*ret_ds = a->buf.ds;
	return ret;
}

long ctl_info(int cmd, struct msginfo *ret_info)
{
	struct actor *a = caller();

	memset(&a->buf.info, CANARY, sizeof(a->buf.info));
	long ret = ctl(0, cmd, &a->buf.info);
	if (ret_info != NULL && ret >= 0)
		*ret_info = a->buf.info;
	return ret;
}

long set(int q, const struct msqid_ds *ds)
{
	struct actor *a = caller();

	a->buf.ds = *ds;
	return ctl(q, IPC_SET, &a->buf.ds);
}

long rmid(int q)
{
	return ctl(q, IPC_RMID, NULL);
}

long run(const char *name, long (*fn)(long), long arg)
{
	struct call c = {.op = CALL_RUN, .name = name, .fn = fn, .arg = arg};

	return direct(&c);
}

/* ---- P0's short forms ---- */

int new_queue(int mode)
{
	long id = get(IPC_PRIVATE, IPC_CREAT | mode);

	if (id < 0)
		give_up("msgget: %s", error_name(id));
	return (int)id;
}

struct msqid_ds stat_of(int q)
{
	struct msqid_ds ds;

	memset(&ds, 0, sizeof(ds));
	long ret = ctl_stat(q, IPC_STAT, &ds);
	if (ret != 0)
		give_up("IPC_STAT: %s", error_name(ret));
	return ds;
}

struct msqid_ds peek(int q)
{
	struct msqid_ds ds;

	memset(&ds, 0, sizeof(ds));
	long ret = backend()->msgctl(q, IPC_STAT, &ds);
	if (ret != 0)
		give_up("IPC_STAT: %s", error_name(ret));
	return ds;
}

long set_qbytes(int q, unsigned long qbytes)
{
	struct msqid_ds ds = peek(q);

	ds.msg_qbytes = qbytes;
	return set(q, &ds);
}

long set_mode(int q, int mode)
{
	struct msqid_ds ds = peek(q);

	ds.msg_perm.mode = (unsigned short)mode;
	return set(q, &ds);
}

long got_type(const struct actor *a)
{
	return (a != NULL ? a : self())->buf.message.type;
}

/* The start of the body as a string. */
const char *got_text(const struct actor *a)
{
	static char text[32];
	const struct actor *from = a != NULL ? a : self();
	size_t n = from->ret > 0 ? (size_t)from->ret : 0;

	if (n > sizeof(text) - 1)
		n = sizeof(text) - 1;
	memcpy(text, from->buf.message.body, n);
	text[n] = '\0';
	return text;
}
