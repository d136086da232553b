/* SPDX-License-Identifier: MIT */
/*
 * step.c - the steps of a random program, done in both worlds and compared.
 *
 * Two outcomes are the scheduler's in Linux, too, and are kept out or
 * compared as what they may be:
 * - receivers that IPC_SET wakes queue again in any order: all but one are
 *   interrupted afterwards, and beforehand if senders might be woken as well;
 * - senders that are woken together race for the room: all but one are
 *   interrupted beforehand; now and then (`herd`) they may race, then each
 *   world must have let in as many as fit, and the queue is removed.
 */
#include "step.h"

#include "draw.h"
#include "world.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef MSG_COPY
#define MSG_COPY 040000
#endif
#ifndef MSG_STAT_ANY
#define MSG_STAT_ANY 13
#endif

#define MADE_MAX 4096
#define NOBODY	 65534
#define KEY_BASE 0x5d000000

static int ids[WORLDS][SLOTS];
static int made[WORLDS][MADE_MAX]; /* to be removed at the end */
static int made_count;
static struct step pending[WORKERS];
static struct request pending_requests[WORKERS][WORLDS];
static long herds;

const char *step_tally(void)
{
	static char text[40];

	snprintf(text, sizeof(text), "%ld races for room", herds);
	return text;
}

/* ---- making steps ---- */

static size_t some_size(uint64_t *r)
{
	static const size_t odd[] = {
		0, 1, 4000, 8191, 8192, 8193, (size_t)-1, (size_t)LONG_MAX,
	};

	if (one_in(r, 12))
		return odd[draw(r, sizeof(odd) / sizeof(odd[0]))];
	return one_in(r, 4) ? draw(r, 300) : draw(r, 24);
}

static long some_type(uint64_t *r, bool to_receive)
{
	static const long odd[] = {LONG_MAX, LONG_MIN, -LONG_MAX, 0, -1};

	if (one_in(r, 30))
		return odd[draw(r, sizeof(odd) / sizeof(odd[0]))];
	if (!to_receive)
		return 1 + (long)draw(r, 5);
	return one_in(r, 3) ? 0 : (long)draw(r, 11) - 5;
}

static unsigned long some_qbytes(uint64_t *r)
{
	static const unsigned long some[] = {0,	 1,   5,   20,	 50,
					     50, 100, 100, 300,	 1000,
					     50, 100, 300, 8192, 16384};

	if (one_in(r, 40))
		return 16385;
	return some[draw(r, sizeof(some) / sizeof(some[0]))];
}

static unsigned some_mode(uint64_t *r)
{
	static const unsigned some[] = {0600, 0666, 0666, 0666, 0622,
					0644, 0660, 0606, 0,	07777};

	return some[draw(r, sizeof(some) / sizeof(some[0]))];
}

static enum step_kind some_kind(uint64_t *r, bool whole)
{
	static const struct {
		enum step_kind kind;
		unsigned weight;
	} weights[] = {
		{STEP_SND, 34},	  {STEP_RCV, 34},     {STEP_GET, 5},
		{STEP_STAT, 3},	  {STEP_SET, 7},      {STEP_RMID, 2},
		{STEP_SIGNAL, 8}, {STEP_KILL, 2},     {STEP_EUID, 3},
		{STEP_COPY, 4},	  {STEP_MSG_STAT, 3}, {STEP_INFO, 3},
	};
	unsigned total = whole ? 108 : 98;
	unsigned n = (unsigned)draw(r, total);
	size_t i = 0;

	while (n >= weights[i].weight)
		n -= weights[i++].weight;
	return weights[i].kind;
}

static int receive_flags(uint64_t *r)
{
	int flags = one_in(r, 2) ? IPC_NOWAIT : 0;

	if (one_in(r, 4))
		flags |= MSG_NOERROR;
	if (one_in(r, 5))
		flags |= MSG_EXCEPT;
	return flags;
}

static void make_command(uint64_t *r, struct step *s)
{
	static const int signals[] = {SIGUSR1, SIGUSR1, SIGUSR2, SIGHUP,
				      SIGCHLD};
	static const int info[] = {IPC_INFO, MSG_INFO};
	static const int by_index[] = {MSG_STAT, MSG_STAT_ANY};

	s->sig = signals[draw(r, 5)];
	if (s->kind == STEP_INFO)
		s->cmd = info[draw(r, 2)];
	else if (s->kind == STEP_MSG_STAT)
		s->cmd = by_index[draw(r, 2)];
	else if (s->kind == STEP_SET)
		s->cmd = IPC_SET;
	else if (s->kind == STEP_RMID)
		s->cmd = IPC_RMID;
	else
		s->cmd = one_in(r, 40) ? 99 : IPC_STAT;
}

void make_step(uint64_t *r, bool whole, struct step *ret_step)
{
	struct step s = {.kind = some_kind(r, whole)};

	s.worker = (int)draw(r, WORKERS);
	s.slot = (int)draw(r, one_in(r, 4) ? SLOTS : 2);
	s.key = one_in(r, 3) ? IPC_PRIVATE : KEY_BASE + (int)draw(r, 3);
	s.type = some_type(r, s.kind == STEP_RCV);
	s.size = some_size(r);
	s.qbytes = some_qbytes(r);
	s.mode = some_mode(r);
	s.uid = one_in(r, 2) ? 0 : NOBODY;
	s.herd = one_in(r, 6);
	s.bad_pointer = one_in(r, 60);
	make_command(r, &s);
	if (s.kind == STEP_GET) {
		s.flags = (int)(s.mode & 0777);
		s.flags |= one_in(r, 4) ? 0 : IPC_CREAT;
		s.flags |= one_in(r, 4) ? IPC_EXCL : 0;
	} else if (s.kind == STEP_RCV) {
		s.flags = receive_flags(r);
		s.bad_pointer = false; /* the worlds differ on purpose */
	} else if (s.kind == STEP_SND) {
		s.flags = one_in(r, 2) ? IPC_NOWAIT : 0;
	} else if (s.kind == STEP_COPY) {
		s.flags = MSG_COPY | (one_in(r, 8) ? 0 : IPC_NOWAIT);
		s.flags |= one_in(r, 8) ? MSG_NOERROR : 0;
		s.type = (long)draw(r, 5) - 1;
	}
	*ret_step = s;
}

/* The program begins with queues that everybody may use. */
void make_first_step(int slot, struct step *ret_step)
{
	*ret_step = (struct step){
		.kind = STEP_GET,
		.slot = slot,
		.key = slot == 0 ? KEY_BASE : IPC_PRIVATE,
		.flags = IPC_CREAT | 0666,
	};
}

void print_step(int number, const struct step *s)
{
	static const char *const names[] = {
		"get",	  "snd",  "rcv",  "stat", "set",      "rmid",
		"signal", "kill", "euid", "copy", "msg_stat", "info",
	};

	printf("#   %d: %d %s", number, s->worker, names[s->kind]);
	if (s->kind <= STEP_RMID || s->kind >= STEP_COPY)
		printf(" slot%d", s->slot);
	if (s->kind == STEP_GET)
		printf(" key=%#x flags=%#o", (unsigned)s->key,
		       (unsigned)s->flags);
	else if (s->kind == STEP_SND || s->kind == STEP_RCV ||
		 s->kind == STEP_COPY)
		printf(" type=%ld size=%ld flags=%#o", s->type, (long)s->size,
		       (unsigned)s->flags);
	else if (s->kind == STEP_SET)
		printf(" qbytes=%lu mode=%#o uid=%u%s", s->qbytes, s->mode,
		       s->uid, s->herd ? " herd" : "");
	else if (s->kind == STEP_EUID)
		printf(" %u", s->uid);
	else if (s->kind == STEP_SIGNAL)
		printf(" %d", s->sig);
	else if (s->kind != STEP_KILL)
		printf(" cmd=%d", s->cmd);
	printf("%s\n", s->bad_pointer ? " bad pointer" : "");
}

/* ---- comparing ---- */

static bool same_perm(const struct ipc_perm *a, const struct ipc_perm *b)
{
	return a->__key == b->__key && a->uid == b->uid && a->gid == b->gid &&
	       a->cuid == b->cuid && a->cgid == b->cgid && a->mode == b->mode &&
	       (!have_private_worlds() || a->__seq == b->__seq);
}

static bool same_ds(const struct msqid_ds *a, const struct msqid_ds *b)
{
	return same_perm(&a->msg_perm, &b->msg_perm) &&
	       a->msg_qnum == b->msg_qnum && a->msg_qbytes == b->msg_qbytes &&
	       a->__msg_cbytes == b->__msg_cbytes &&
	       (a->msg_stime != 0) == (b->msg_stime != 0) &&
	       (a->msg_rtime != 0) == (b->msg_rtime != 0) &&
	       (a->msg_ctime != 0) == (b->msg_ctime != 0) &&
	       role_of_pid(0, a->msg_lspid) == role_of_pid(1, b->msg_lspid) &&
	       role_of_pid(0, a->msg_lrpid) == role_of_pid(1, b->msg_lrpid);
}

static void print_ds(int world, const struct msqid_ds *d)
{
	printf("#   %s: uid=%u mode=%o qnum=%lu cbytes=%lu qbytes=%lu "
	       "lspid=%d lrpid=%d stime=%d rtime=%d\n",
	       backend_of(world)->name, d->msg_perm.uid,
	       (unsigned)d->msg_perm.mode, (unsigned long)d->msg_qnum,
	       (unsigned long)d->__msg_cbytes, (unsigned long)d->msg_qbytes,
	       role_of_pid(world, d->msg_lspid),
	       role_of_pid(world, d->msg_lrpid), d->msg_stime != 0,
	       d->msg_rtime != 0);
}

static bool same_queue(int slot)
{
	struct msqid_ds ds[WORLDS];
	long ret[WORLDS];

	memset(ds, 0, sizeof(ds));
	for (int w = 0; w < WORLDS; w++)
		ret[w] = control(w, ids[w][slot], IPC_STAT, &ds[w]);
	if (ret[0] != ret[1])
		return differ("IPC_STAT of slot%d: %ld and %ld", slot, ret[0],
			      ret[1]);
	if (ret[0] != 0 || same_ds(&ds[0], &ds[1]))
		return true;
	for (int w = 0; w < WORLDS; w++)
		print_ds(w, &ds[w]);
	return differ("slot%d differs", slot);
}

static bool same_info(const struct msginfo *a, const struct msginfo *b)
{
	return memcmp(a, b, offsetof(struct msginfo, msgseg)) == 0 &&
	       a->msgseg == b->msgseg;
}

static bool same_reply(int worker, const struct reply r[WORLDS])
{
	const struct step *s = &pending[worker];
	bool is_id = s->kind == STEP_GET || s->kind == STEP_MSG_STAT ||
		     s->kind == STEP_INFO;
	bool both_ok = r[0].ret >= 0 && r[1].ret >= 0;

	if (r[0].ret != r[1].ret &&
	    !(is_id && both_ok && !have_private_worlds()))
		return differ("worker %d: returned %ld and %ld", worker,
			      r[0].ret, r[1].ret);
	if (r[0].type != r[1].type || r[0].hash != r[1].hash)
		return differ("worker %d: messages of type %ld and %ld", worker,
			      r[0].type, r[1].type);
	if (r[0].is_spilt != r[1].is_spilt)
		return differ("worker %d: wrote behind the message", worker);
	if (!both_ok || s->bad_pointer)
		return true;
	if ((s->kind == STEP_STAT || s->kind == STEP_MSG_STAT) &&
	    !same_ds(&r[0].u.ds, &r[1].u.ds))
		return differ("worker %d: got different msqid_ds", worker);
	if (s->kind == STEP_INFO && !same_info(&r[0].u.info, &r[1].u.info))
		return differ("worker %d: got different msginfo", worker);
	return true;
}

static void remember_queue(int worker, const struct reply r[WORLDS])
{
	for (int w = 0; w < WORLDS; w++) {
		ids[w][pending[worker].slot] = (int)r[w].ret;
		made[w][made_count % MADE_MAX] = (int)r[w].ret;
	}
	made_count++;
}

/* Takes and compares the replies of all who have returned. */
static bool collect(void)
{
	struct reply r[WORLDS];
	bool same = true;

	for (int i = 0; i < WORKERS; i++) {
		if (!has_returned(0, i) || !has_returned(1, i))
			continue;
		for (int w = 0; w < WORLDS; w++)
			take_reply(w, i, &r[w]);
		same = same_reply(i, r) && same;
		if (pending[i].kind == STEP_GET && r[0].ret >= 0 &&
		    r[1].ret >= 0)
			remember_queue(i, r);
	}
	return same;
}

static bool settle_and_collect(void)
{
	if (!settle()) {
		print_workers();
		return differ("the workers do not come to the same rest");
	}
	return collect();
}

/* ---- what may race ---- */

/* Workers asleep in a call of this kind on the slot's queue. */
static int blocked(enum step_kind kind, int slot, int list[WORKERS])
{
	int n = 0;

	for (int i = 0; i < WORKERS; i++)
		if (is_busy(i) && pending[i].kind == kind &&
		    pending_requests[i][0].id == ids[0][slot])
			list[n++] = i;
	return n;
}

static bool interrupt(const int *list, int n)
{
	for (int i = 0; i < n; i++) {
		signal_worker(list[i], SIGUSR1);
		if (!settle_and_collect())
			return false;
	}
	return true;
}

static bool is_wakeful(const struct step *s)
{
	return s->kind == STEP_RCV || s->kind == STEP_SET;
}

/* Before a step: whether senders may race is answered by `ret_herd`. */
static bool thin_out(const struct step *s, bool *ret_herd)
{
	int senders[WORKERS], receivers[WORKERS];
	int n = blocked(STEP_SND, s->slot, senders);

	*ret_herd = false;
	if (!is_wakeful(s) || n == 0)
		return true;
	if (s->kind == STEP_SET &&
	    !interrupt(receivers, blocked(STEP_RCV, s->slot, receivers)))
		return false;
	if (s->herd && n > 1) {
		*ret_herd = true;
		return interrupt(receivers,
				 blocked(STEP_RCV, s->slot, receivers));
	}
	return interrupt(senders + 1, n - 1);
}

static bool put_in_order(const struct step *s)
{
	int receivers[WORKERS];

	if (s->kind != STEP_SET)
		return true;
	int n = blocked(STEP_RCV, s->slot, receivers);
	return n < 2 || interrupt(receivers + 1, n - 1);
}

/* In this world: whoever still sleeps for room must not fit. */
static bool is_full(int world, int slot)
{
	struct msqid_ds ds;

	if (control(world, ids[world][slot], IPC_STAT, &ds) != 0)
		return true;
	if (ds.__msg_cbytes > ds.msg_qbytes && ds.msg_qbytes > 8192)
		return false;
	for (int i = 0; i < WORKERS; i++) {
		if (!is_busy(i) || has_returned(world, i) ||
		    pending[i].kind != STEP_SND ||
		    pending_requests[i][world].id != ids[world][slot])
			continue;
		if (ds.__msg_cbytes + pending[i].size <= ds.msg_qbytes &&
		    ds.msg_qnum + 1 <= ds.msg_qbytes)
			return false;
	}
	return true;
}

/* The senders raced: look at each world by itself, then end the queue. */
static bool judge_herd(const struct step *s)
{
	herds++;
	if (!settle_apart()) {
		print_workers();
		return differ("the workers do not come to rest");
	}
	for (int w = 0; w < WORLDS; w++) {
		int looks = 0;
		while (!is_full(w, s->slot)) {
			if (++looks > 4000) {
				print_workers();
				return differ("%s: a sender that fits sleeps",
					      backend_of(w)->name);
			}
			usleep(500);
		}
	}
	for (int w = 0; w < WORLDS; w++)
		(void)control(w, ids[w][s->slot], IPC_RMID, NULL);
	if (!settle()) {
		print_workers();
		return differ("removal does not end every call");
	}
	/* Results of those who raced may differ: 0 here, EIDRM there. */
	for (int i = 0; i < WORKERS; i++) {
		struct reply r[WORLDS];
		if (!has_returned(0, i))
			continue;
		for (int w = 0; w < WORLDS; w++)
			take_reply(w, i, &r[w]);
		if (pending[i].kind != STEP_SND && !same_reply(i, r))
			return false;
		for (int w = 0; w < WORLDS; w++)
			if (r[w].ret != 0 && r[w].ret != -EIDRM &&
			    r[w].ret != -EACCES && pending[i].kind == STEP_SND)
				return differ("a racing sender got %ld",
					      r[w].ret);
	}
	return true;
}

/* ---- doing a step ---- */

static void fill_request(const struct step *s, int world, struct request *r)
{
	memset(r, 0, sizeof(*r));
	r->id = s->kind == STEP_GET ? s->key : ids[world][s->slot];
	r->cmd = s->cmd;
	r->flags = s->flags;
	r->type = s->type;
	r->size = s->size;
	r->uid = s->uid;
	r->bad_pointer = s->bad_pointer;
	switch (s->kind) {
	case STEP_GET:
		r->kind = REQ_GET;
		break;
	case STEP_SND:
		r->kind = REQ_SND;
		break;
	case STEP_RCV:
	case STEP_COPY:
		r->kind = REQ_RCV;
		break;
	case STEP_EUID:
		r->kind = REQ_EUID;
		break;
	default:
		r->kind = REQ_CTL;
	}
	if (s->kind == STEP_MSG_STAT && r->id >= 0)
		r->id = have_private_worlds() && s->slot > 3 ? s->slot : r->id;
}

static void ask(const struct step *s)
{
	struct request r[WORLDS];
	struct msqid_ds ds;

	memset(&ds, 0, sizeof(ds));
	ds.msg_qbytes = s->qbytes;
	ds.msg_perm.mode = (unsigned short)s->mode;
	ds.msg_perm.uid = geteuid() == 0 ? s->uid : geteuid();
	ds.msg_perm.gid = getegid();
	for (int w = 0; w < WORLDS; w++)
		fill_request(s, w, &r[w]);
	pending[s->worker] = *s;
	memcpy(pending_requests[s->worker], r, sizeof(r));
	request(s->worker, r, s->kind == STEP_SET ? &ds : NULL);
}

static bool disturb(int worker, int slot, int sig)
{
	signal_worker(worker, sig);
	return settle_and_collect() && same_queue(slot);
}

/* The step's worker, or the next that is idle; -1 if all sleep. */
static int idle_worker(const struct step *s)
{
	for (int i = 0; i < WORKERS; i++) {
		int worker = (s->worker + i) % WORKERS;
		if (!is_busy(worker))
			return worker;
	}
	return -1;
}

static bool do_call(const struct step *s)
{
	bool herd = false;

	if (s->kind == STEP_EUID && geteuid() != 0)
		return true;
	if (!thin_out(s, &herd))
		return false;
	ask(s);
	if (herd)
		return judge_herd(s) && same_queue(s->slot);
	return settle_and_collect() && put_in_order(s) && same_queue(s->slot);
}

bool do_step(const struct step *s)
{
	struct step by_idle = *s;

	if (s->kind == STEP_SIGNAL)
		return disturb(s->worker, s->slot, s->sig);
	if (s->kind == STEP_KILL) {
		kill_worker(s->worker);
		return settle_and_collect() && same_queue(s->slot);
	}
	by_idle.worker = idle_worker(s);
	if (by_idle.worker < 0)
		return disturb(s->worker, s->slot, SIGUSR1);
	return do_call(&by_idle);
}

void begin_program(void)
{
	for (int w = 0; w < WORLDS; w++)
		for (int i = 0; i < SLOTS; i++)
			ids[w][i] = -1;
	made_count = 0;
	start_workers();
}

void end_program(void)
{
	end_workers();
	for (int w = 0; w < WORLDS; w++)
		for (int i = 0; i < made_count && i < MADE_MAX; i++)
			(void)control(w, made[w][i], IPC_RMID, NULL);
}
