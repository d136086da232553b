/* SPDX-License-Identifier: MIT */
/*
 * trace.c - the trace and the checks.
 *
 * Each line goes out at once, so that a scenario that hangs leaves what it
 * did.  Lines that begin with '!' are failed checks, with '~' a documented
 * difference; the runner leaves both out of the comparison.
 */
#include "stage.h"

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

static int failed;

__attribute__((format(printf, 2, 0))) static void
write_line(char mark, const char *fmt, va_list ap)
{
	char line[1024];
	int head = mark != 0 ? snprintf(line, sizeof(line), "%c ", mark) : 0;
	int n = vsnprintf(line + head, sizeof(line) - (size_t)head - 1, fmt,
			  ap);
	size_t size = (size_t)head + (size_t)(n > 0 ? n : 0);

	if (size > sizeof(line) - 2)
		size = sizeof(line) - 2;
	line[size++] = '\n';
	(void)!write(TRACE_FD, line, size);
}

void trace(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	write_line(0, fmt, ap);
	va_end(ap);
}

void note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	write_line(0, fmt, ap);
	va_end(ap);
}

void fail(const char *fmt, ...)
{
	va_list ap;

	failed++;
	va_start(ap, fmt);
	write_line('!', fmt, ap);
	va_end(ap);
}

int failures(void)
{
	return failed;
}

void check_eq(long got, long want, const char *what, const char *file, int line)
{
	if (got != want)
		fail("%s:%d: %s is %s, not %s", file, line, what,
		     error_name(got), error_name(want));
}

__attribute__((format(printf, 1, 2))) static void
trace_difference(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	write_line('~', fmt, ap);
	va_end(ap);
}

void differs(const char *item, const char *what, long got, long kernel,
	     long sysfive, const char *file, int line)
{
	trace_difference("%s %s: kernel %s, sysfive %s", item, what,
			 error_name(kernel), error_name(sysfive));
	check_eq(got, on_kernel() ? kernel : sysfive, what, file, line);
}

/* ---- how a call looks ---- */

static void put_pointer(struct text *t, const struct actor *a)
{
	if (a->call.user == NULL)
		put(t, " msg=NULL");
	else if (a->call.user != &a->buf)
		put(t, " msg=elsewhere");
}

static void put_call(struct text *t, const struct actor *a)
{
	const struct call *c = &a->call;

	switch (c->op) {
	case CALL_GET:
		put(t, "msgget ");
		put_key(t, c->id);
		break;
	case CALL_SND:
		put(t, "msgsnd ");
		put_object(t, QUEUE, c->id);
		if (c->user == &a->buf)
			put(t, " type=%ld", a->buf.message.type);
		put(t, " size=%ld", (long)c->size);
		put_pointer(t, a);
		break;
	case CALL_RCV:
		put(t, "msgrcv ");
		put_object(t, QUEUE, c->id);
		put(t, " type=%ld size=%ld", c->type, (long)c->size);
		put_pointer(t, a);
		break;
	case CALL_CTL:
		put(t, "msgctl ");
		put_object(t, QUEUE, c->id);
		put(t, " %s", command_name(c->cmd));
		put_pointer(t, a);
		break;
	case CALL_RUN:
		put(t, "%s(%ld)", c->name, c->arg);
		break;
	default:
		put_set_call(t, a);
		return;
	}
	if (c->op != CALL_CTL && c->op != CALL_RUN) {
		put(t, " flags=");
		put_flags(t, c);
	}
}

void put_perm(struct text *t, const struct ipc_perm *perm)
{
	put(t, "key=");
	put_key(t, perm->__key);
	put(t, " uid=%u gid=%u cuid=%u cgid=%u mode=%04o", perm->uid, perm->gid,
	    perm->cuid, perm->cgid, (unsigned)perm->mode);
}

static void put_ds(struct text *t, const struct msqid_ds *ds)
{
	put(t, " {");
	put_perm(t, &ds->msg_perm);
	put(t, " qnum=%lu cbytes=%lu qbytes=%lu", (unsigned long)ds->msg_qnum,
	    (unsigned long)ds->__msg_cbytes, (unsigned long)ds->msg_qbytes);
	put(t, " lspid=%s", role_of(ds->msg_lspid));
	put(t, " lrpid=%s stime=", role_of(ds->msg_lrpid));
	put_time(t, ds->msg_stime);
	put(t, " rtime=");
	put_time(t, ds->msg_rtime);
	put(t, " ctime=");
	put_time(t, ds->msg_ctime);
	put(t, "}");
}

static void put_info(struct text *t, const struct msginfo *i)
{
	put(t, " {msgpool=%d msgmap=%d msgmax=%d msgmnb=%d msgmni=%d",
	    i->msgpool, i->msgmap, i->msgmax, i->msgmnb, i->msgmni);
	put(t, " msgssz=%d msgtql=%d msgseg=%u}", i->msgssz, i->msgtql,
	    i->msgseg);
}

static uint32_t hash_of(const char *p, size_t n)
{
	uint32_t h = 2166136261U;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)p[i]) * 16777619U;
	return h;
}

/* Type and body, and whether anything behind the body was written. */
static void put_message(struct text *t, const struct actor *a)
{
	const struct message *m = &a->buf.message;
	size_t n = a->ret > 0 ? (size_t)a->ret : 0;

	if (a->ret >= 0)
		put(t, " type=%ld", m->type);
	else if (m->type != 0x5a5a5a5a5a5a5a5aL)
		put(t, " (type written)");
	if (n > BODY_MAX - 64)
		n = BODY_MAX - 64;
	if (n > 0 && n <= 24)
		put(t, " \"%.*s\"", (int)n, m->body);
	else if (n > 24)
		put(t, " \"%.16s\"... #%08x", m->body, hash_of(m->body, n));
	for (size_t i = n; i < n + 64; i++)
		if (m->body[i] != 0x5a) {
			put(t, " (byte %zu behind it written)", i - n);
			return;
		}
}

static void put_result(struct text *t, const struct actor *a)
{
	const struct call *c = &a->call;
	long ret = a->ret;

	if (ret < -4096) {
		put(t, " (errno changed)");
		ret -= ERRNO_TOUCHED;
	}
	if (is_set_call(c)) {
		put_set_result(t, a, ret);
		return;
	}
	if (c->op == CALL_GET && ret >= 0) {
		put(t, " -> ");
		put_object(t, QUEUE, (int)ret);
	} else if (c->op == CALL_CTL && ret >= 0 &&
		   (c->cmd == MSG_STAT || c->cmd == MSG_STAT_ANY)) {
		put(t, " -> ");
		put_object(t, QUEUE, (int)ret);
	} else if (ret < 0) {
		put(t, " -> -1 %s", error_name(ret));
	} else {
		put(t, " -> %ld", ret);
	}
	if (c->user != &a->buf)
		return;
	if (c->op == CALL_RCV)
		put_message(t, a);
	if (c->op != CALL_CTL || ret < 0)
		return;
	if (c->cmd == IPC_STAT || c->cmd == MSG_STAT || c->cmd == MSG_STAT_ANY)
		put_ds(t, &a->buf.ds);
	if (c->cmd == IPC_INFO || c->cmd == MSG_INFO)
		put_info(t, &a->buf.info);
}

static void put_wanted(struct text *t, const struct actor *a)
{
	const struct msqid_ds *ds = &a->buf.ds;

	if (a->call.op != CALL_CTL || a->call.cmd != IPC_SET ||
	    a->call.user != &a->buf)
		return;
	put(t, " {uid=%d gid=%d mode=%04o qbytes=%lu}", (int)ds->msg_perm.uid,
	    (int)ds->msg_perm.gid, (unsigned)ds->msg_perm.mode,
	    (unsigned long)ds->msg_qbytes);
}

void trace_call(const struct actor *a, bool with_call, bool with_result)
{
	struct text t = {.n = 0};

	put(&t, "%s:", a->name);
	if (with_call) {
		put(&t, " ");
		put_call(&t, a);
		put_wanted(&t, a);
	} else {
		put(&t, " ...");
	}
	if (with_result)
		put_result(&t, a);
	trace("%s", t.s);
}
