/* SPDX-License-Identifier: MIT */
/*
 * set_step.c - random steps with semaphore sets, in both worlds, compared.
 *
 * Nothing here races: whoever completes another's call does so before its own
 * returns.  A short time limit is waited for before the next step.  In one
 * thing the kernel is vague: a sleeper of several operations is looked at only
 * when it might go, so GETNCNT and GETZCNT may count an operation that it
 * waited for before; the second world may have it exactly instead.
 */
#include "draw.h"
#include "step.h"
#include "world.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MADE_MAX   4096
#define NOBODY	   65534
#define KEY_BASE   0x5e000000
#define SHORT_TIME 2000000 /* nanoseconds */

static int ids[WORLDS][SLOTS];
static int made[WORLDS][MADE_MAX]; /* to be removed at the end */
static int made_count;
static struct step pending[WORKERS];
static int pending_ids[WORKERS]; /* in world 0 */
static long sleeps, kills;

const char *step_tally(void)
{
	static char text[60];

	snprintf(text, sizeof(text), "%ld times asleep, %ld killed", sleeps,
		 kills);
	return text;
}

/* ---- making steps ---- */

static const struct {
	enum step_kind kind;
	int cmd;
	unsigned weight;
} weights[] = {
	{STEP_SEMOP, 0, 100},
	{STEP_SEMGET, 0, 6},
	{STEP_KILL, 0, 8},
	{STEP_SIGNAL, 0, 8},
	{STEP_EUID, 0, 4},
	{STEP_SEMCTL, SETVAL, 10},
	{STEP_SEMCTL, SETALL, 5},
	{STEP_SEMCTL, GETVAL, 2},
	{STEP_SEMCTL, GETALL, 2},
	{STEP_SEMCTL, GETPID, 2},
	{STEP_SEMCTL, GETNCNT, 2},
	{STEP_SEMCTL, GETZCNT, 2},
	{STEP_SEMCTL, IPC_STAT, 2},
	{STEP_SEMCTL, IPC_SET, 3},
	{STEP_SEMCTL, IPC_RMID, 2},
	{STEP_SEMCTL, IPC_INFO, 1},
	{STEP_SEMCTL, SEM_INFO, 1},
	{STEP_SEMCTL, SEM_STAT, 2},
	{STEP_SEMCTL, SEM_STAT_ANY, 1},
	{STEP_SEMCTL, 99, 1},
};

static void choose_kind(uint64_t *r, struct step *s)
{
	const size_t count = sizeof(weights) / sizeof(weights[0]);
	unsigned total = 0;
	size_t i = 0;

	for (size_t k = 0; k < count; k++)
		total += weights[k].weight;
	unsigned n = (unsigned)draw(r, total);
	while (n >= weights[i].weight)
		n -= weights[i++].weight;
	s->kind = weights[i].kind;
	s->cmd = weights[i].cmd;
}

static short some_change(uint64_t *r)
{
	static const short odd[] = {32767, -32767, -32768,
				    20000, -20000, 32766};

	if (one_in(r, 25))
		return odd[draw(r, sizeof(odd) / sizeof(odd[0]))];
	if (one_in(r, 4))
		return 0;
	return (short)((int)draw(r, 7) - 3);
}

static void choose_operations(uint64_t *r, struct operations *o)
{
	o->n = one_in(r, 2) ? 1 : 1 + draw(r, NSOPS_MAX);
	if (one_in(r, 80))
		o->n = one_in(r, 2) ? 0 : 501;
	for (size_t i = 0; i < NSOPS_MAX; i++) {
		struct sembuf *op = &o->list[i];
		op->sem_num = (unsigned short)draw(r, one_in(r, 12) ? 5 : 3);
		if (one_in(r, 60))
			op->sem_num = 65535;
		op->sem_op = some_change(r);
		op->sem_flg = one_in(r, 4) ? IPC_NOWAIT : 0;
		op->sem_flg |= one_in(r, 2) ? SEM_UNDO : 0;
	}
	o->by = one_in(r, 8) ? (enum operator)(1 + draw(r, 3)) : BY_WORKER;
	for (size_t i = 0; o->by != BY_WORKER && i < NSOPS_MAX; i++)
		o->list[i].sem_flg |= IPC_NOWAIT;
	o->has_limit = one_in(r, 6);
	switch (draw(r, 6)) {
	case 0:
		o->limit.tv_sec = 1000;
		break;
	case 1:
		o->limit.tv_nsec = one_in(r, 2) ? -1 : 1000000000;
		break;
	case 2:
		break;
	default:
		o->limit.tv_nsec = SHORT_TIME;
	}
}

static long some_value(uint64_t *r)
{
	static const long odd[] = {32767, 32766, 32768, -1, 20000};

	if (one_in(r, 8))
		return odd[draw(r, sizeof(odd) / sizeof(odd[0]))];
	return (long)draw(r, 5);
}

void make_step(uint64_t *r, bool whole, struct step *ret_step)
{
	static const int signals[] = {SIGUSR1, SIGUSR1, SIGUSR2, SIGHUP,
				      SIGCHLD};
	static const unsigned modes[] = {0600, 0666, 0666, 0666,
					 0622, 0644, 0,	   07777};
	struct step s = {.kind = STEP_SEMOP};

	(void)whole; /* There is nothing that it could leave out. */
	choose_kind(r, &s);
	s.worker = (int)draw(r, WORKERS);
	s.slot = (int)draw(r, one_in(r, 4) ? SLOTS : 2);
	s.key = one_in(r, 3) ? IPC_PRIVATE : KEY_BASE + (int)draw(r, 3);
	s.mode = modes[draw(r, sizeof(modes) / sizeof(modes[0]))];
	s.flags = (int)(s.mode & 0777);
	s.flags |= one_in(r, 4) ? 0 : IPC_CREAT;
	s.flags |= one_in(r, 4) ? IPC_EXCL : 0;
	s.uid = one_in(r, 2) ? 0 : NOBODY;
	s.sig = signals[draw(r, 5)];
	s.bad_pointer = one_in(r, 60);
	s.value = some_value(r);
	choose_operations(r, &s.operations);
	s.num = s.kind == STEP_SEMGET ? (int)draw(r, NSEMS_MAX + 1)
				      : (int)draw(r, one_in(r, 20) ? 6 : 3) -
						(one_in(r, 40) ? 1 : 0);
	if (s.kind == STEP_SEMGET && one_in(r, 30))
		s.num = one_in(r, 2) ? -1 : 32001;
	*ret_step = s;
}

/* The program begins with sets that everybody may use. */
void make_first_step(int slot, struct step *ret_step)
{
	*ret_step = (struct step){
		.kind = STEP_SEMGET,
		.slot = slot,
		.key = slot == 0 ? KEY_BASE : IPC_PRIVATE,
		.flags = IPC_CREAT | 0666,
		.num = 3,
	};
}

static void print_operations(const struct operations *o)
{
	static const char *const by[] = {"", " by fork", " by vfork",
					 " by thread"};

	printf("%s n=%zu", by[o->by], o->n);
	for (size_t i = 0; i < o->n && i < NSOPS_MAX; i++)
		printf(" {%u%+d%s%s}", o->list[i].sem_num, o->list[i].sem_op,
		       o->list[i].sem_flg & IPC_NOWAIT ? " NOWAIT" : "",
		       o->list[i].sem_flg & SEM_UNDO ? " UNDO" : "");
	if (o->has_limit)
		printf(" limit=%ld,%ld", (long)o->limit.tv_sec,
		       o->limit.tv_nsec);
}

void print_step(int number, const struct step *s)
{
	printf("#   %d: %d", number, s->worker);
	switch (s->kind) {
	case STEP_SEMGET:
		printf(" semget slot%d key=%#x nsems=%d flags=%#o", s->slot,
		       (unsigned)s->key, s->num, (unsigned)s->flags);
		break;
	case STEP_SEMOP:
		printf(" semop slot%d", s->slot);
		print_operations(&s->operations);
		break;
	case STEP_SEMCTL:
		printf(" semctl slot%d num=%d cmd=%d value=%ld", s->slot,
		       s->num, s->cmd, s->value);
		if (s->cmd == IPC_SET)
			printf(" mode=%#o uid=%u", s->mode, s->uid);
		break;
	case STEP_SIGNAL:
		printf(" signal %d", s->sig);
		break;
	case STEP_EUID:
		printf(" euid %u", s->uid);
		break;
	default:
		printf(" kill");
	}
	printf("%s\n", s->bad_pointer ? " bad pointer" : "");
}

/* ---- comparing ---- */

static bool same_perm(const struct ipc_perm *a, const struct ipc_perm *b)
{
	return a->__key == b->__key && a->uid == b->uid && a->gid == b->gid &&
	       a->cuid == b->cuid && a->cgid == b->cgid && a->mode == b->mode &&
	       (!have_private_worlds() || a->__seq == b->__seq);
}

static bool same_ds(const struct semid_ds *a, const struct semid_ds *b)
{
	return same_perm(&a->sem_perm, &b->sem_perm) &&
	       a->sem_nsems == b->sem_nsems &&
	       (a->sem_otime != 0) == (b->sem_otime != 0) &&
	       (a->sem_ctime != 0) == (b->sem_ctime != 0);
}

/*
 * The operation that a call would wait for, given the values; NULL if none,
 * or if it would end with an error.
 */
static const struct sembuf *blocking_operation(const struct operations *o,
					       const unsigned short *values,
					       unsigned long nsems)
{
	int v[NSEMS_MAX];

	for (int i = 0; i < NSEMS_MAX; i++)
		v[i] = values[i];
	for (size_t i = 0; i < o->n && i < NSOPS_MAX; i++) {
		const struct sembuf *op = &o->list[i];
		if (op->sem_num >= nsems)
			return NULL;
		int *at = &v[op->sem_num];
		if (op->sem_op == 0 ? *at != 0 : *at + op->sem_op < 0)
			return op;
		*at += op->sem_op;
	}
	return NULL;
}

static long exact_count(int slot, int num, bool of_zero,
			const unsigned short *values, unsigned long nsems)
{
	long n = 0;

	for (int i = 0; i < WORKERS; i++) {
		if (!is_busy(i) || has_returned(0, i) ||
		    pending[i].kind != STEP_SEMOP ||
		    pending_ids[i] != ids[0][slot])
			continue;
		const struct sembuf *op =
			blocking_operation(&pending[i].operations, values,
					   nsems);
		if (op != NULL && op->sem_num == num &&
		    (op->sem_op == 0) == of_zero)
			n++;
	}
	return n;
}

static bool same_semaphore(int slot, int num, const unsigned short *values,
			   unsigned long nsems)
{
	static const int cmds[] = {GETPID, GETNCNT, GETZCNT};
	static const char *const names[] = {"sempid", "ncnt", "zcnt"};

	for (int i = 0; i < 3; i++) {
		long got[WORLDS];
		for (int w = 0; w < WORLDS; w++) {
			got[w] = control_set(w, ids[w][slot], num, cmds[i],
					     NULL);
			if (i == 0 && got[w] > 0)
				got[w] = role_of_pid(w, (pid_t)got[w]);
		}
		if (got[0] == got[1])
			continue;
		if (i > 0 &&
		    got[1] == exact_count(slot, num, i == 2, values, nsems))
			continue;
		return differ("slot%d: %s of semaphore %d is %ld and %ld", slot,
			      names[i], num, got[0], got[1]);
	}
	return true;
}

static bool same_set(int slot)
{
	unsigned short values[WORLDS][NSEMS_MAX];
	struct semid_ds ds[WORLDS];
	long ret[WORLDS];

	memset(ds, 0, sizeof(ds));
	memset(values, 0, sizeof(values));
	for (int w = 0; w < WORLDS; w++)
		ret[w] = control_set(w, ids[w][slot], 0, IPC_STAT, &ds[w]);
	if (ret[0] != ret[1])
		return differ("IPC_STAT of slot%d: %ld and %ld", slot, ret[0],
			      ret[1]);
	if (ret[0] != 0)
		return true;
	if (!same_ds(&ds[0], &ds[1]))
		return differ("slot%d: uid %u and %u, mode %o and %o, otime %d "
			      "and %d",
			      slot, ds[0].sem_perm.uid, ds[1].sem_perm.uid,
			      (unsigned)ds[0].sem_perm.mode,
			      (unsigned)ds[1].sem_perm.mode,
			      ds[0].sem_otime != 0, ds[1].sem_otime != 0);
	for (int w = 0; w < WORLDS; w++)
		ret[w] = control_set(w, ids[w][slot], 0, GETALL, values[w]);
	if (ret[0] != ret[1])
		return differ("GETALL: %ld and %ld", ret[0], ret[1]);
	for (unsigned i = 0; i < ds[0].sem_nsems; i++)
		if (values[0][i] != values[1][i])
			return differ("slot%d: semaphore %u is %u and %u", slot,
				      i, values[0][i], values[1][i]);
	for (int i = 0; i < (int)ds[0].sem_nsems; i++)
		if (!same_semaphore(slot, i, values[0], ds[0].sem_nsems))
			return false;
	return true;
}

/* What a semctl that succeeded has written. */
static bool same_data(const struct step *s, const struct reply r[WORLDS])
{
	switch (s->cmd) {
	case IPC_STAT:
	case SEM_STAT:
	case SEM_STAT_ANY:
		return same_ds(&r[0].u.set.ds, &r[1].u.set.ds);
	case GETALL:
		return memcmp(r[0].u.set.values, r[1].u.set.values,
			      sizeof(r[0].u.set.values)) == 0;
	case IPC_INFO:
	case SEM_INFO:
		return !have_private_worlds() ||
		       memcmp(&r[0].u.seminfo, &r[1].u.seminfo,
			      sizeof(r[0].u.seminfo)) == 0;
	default:
		return true;
	}
}

/* Counts were compared by same_set(), which knows what is vague. */
static bool is_vague(const struct step *s)
{
	return s->kind == STEP_SEMCTL &&
	       (s->cmd == GETNCNT || s->cmd == GETZCNT);
}

static bool same_reply(int worker, const struct reply r[WORLDS])
{
	const struct step *s = &pending[worker];
	long ret[WORLDS] = {r[0].ret, r[1].ret};
	bool both_ok = ret[0] >= 0 && ret[1] >= 0;
	bool is_id = s->kind == STEP_SEMGET ||
		     (s->kind == STEP_SEMCTL &&
		      (s->cmd == SEM_STAT || s->cmd == SEM_STAT_ANY ||
		       s->cmd == IPC_INFO || s->cmd == SEM_INFO));

	if (s->kind == STEP_SEMCTL && s->cmd == GETPID)
		for (int w = 0; w < WORLDS; w++)
			if (ret[w] > 0)
				ret[w] = role_of_pid(w, (pid_t)ret[w]);
	if (ret[0] != ret[1] && !(both_ok && is_vague(s)) &&
	    !(is_id && both_ok && !have_private_worlds()))
		return differ("worker %d: returned %ld and %ld", worker, ret[0],
			      ret[1]);
	if (both_ok && s->kind == STEP_SEMCTL && !s->bad_pointer &&
	    !same_data(s, r))
		return differ("worker %d: semctl wrote different data", worker);
	return true;
}

static void remember_set(int worker, const struct reply r[WORLDS])
{
	for (int w = 0; w < WORLDS; w++) {
		ids[w][pending[worker].slot] = (int)r[w].ret;
		made[w][made_count % MADE_MAX] = (int)r[w].ret;
	}
	made_count++;
}

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
		if (pending[i].kind == STEP_SEMGET && r[0].ret >= 0 &&
		    r[1].ret >= 0)
			remember_set(i, r);
	}
	return same;
}

static bool settle_and_compare(void)
{
	if (!settle()) {
		print_workers();
		return differ("the workers do not come to the same rest");
	}
	if (!collect())
		return false;
	for (int slot = 0; slot < SLOTS; slot++)
		if (!same_set(slot))
			return false;
	return true;
}

/* ---- doing a step ---- */

static void fill_request(const struct step *s, int world, struct request *r)
{
	memset(r, 0, sizeof(*r));
	r->id = s->kind == STEP_SEMGET ? s->key : ids[world][s->slot];
	r->cmd = s->cmd;
	r->flags = s->flags;
	r->uid = s->uid;
	r->bad_pointer = s->bad_pointer;
	r->num = s->num;
	r->operations = s->operations;
	if (s->kind == STEP_SEMGET)
		r->kind = REQ_SEMGET;
	else if (s->kind == STEP_SEMOP)
		r->kind = REQ_SEMOP;
	else if (s->kind == STEP_EUID)
		r->kind = REQ_EUID;
	else
		r->kind = REQ_SEMCTL;
	if (s->cmd == SETVAL) {
		r->set.value = s->value;
	} else if (s->cmd == SETALL) {
		for (int i = 0; i < NSEMS_MAX; i++)
			r->set.values[i] = (unsigned short)(s->value >> i);
	} else if (s->cmd == IPC_SET) {
		r->set.ds.sem_perm.mode = (unsigned short)s->mode;
		r->set.ds.sem_perm.uid = geteuid() == 0 ? s->uid : geteuid();
		r->set.ds.sem_perm.gid = getegid();
	}
	if ((s->cmd == SEM_STAT || s->cmd == SEM_STAT_ANY) && s->slot > 3 &&
	    have_private_worlds())
		r->id = s->slot;
}

/* The worker may be seen asleep although it will return. */
static bool ends_by_itself(const struct step *s)
{
	const struct operations *o = &s->operations;

	return s->kind == STEP_SEMOP &&
	       (o->by != BY_WORKER || (o->has_limit && o->limit.tv_sec == 0));
}

static bool do_call(const struct step *s)
{
	struct request r[WORLDS];

	if (s->kind == STEP_EUID && geteuid() != 0)
		return true;
	for (int w = 0; w < WORLDS; w++)
		fill_request(s, w, &r[w]);
	pending[s->worker] = *s;
	pending_ids[s->worker] = r[0].id;
	request(s->worker, r, NULL);
	if (ends_by_itself(s) && !await_return(s->worker)) {
		print_workers();
		return differ("a call that cannot wait does not end");
	}
	bool same = settle_and_compare();
	sleeps += is_busy(s->worker);
	return same;
}

static bool disturb(int worker, int sig)
{
	signal_worker(worker, sig);
	return settle_and_compare();
}

/*
 * Who is dead is noticed when somebody looks at a set, and if several are,
 * nobody knows in which order they died.  So each death is looked for.
 */
static void look_at_all_sets(void)
{
	for (int w = 0; w < WORLDS; w++)
		for (int i = 0; i < made_count && i < MADE_MAX; i++)
			(void)control_set(w, made[w][i], 0, GETVAL, NULL);
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

bool do_step(const struct step *s)
{
	struct step by_idle = *s;

	if (s->kind == STEP_SIGNAL)
		return disturb(s->worker, s->sig);
	if (s->kind == STEP_KILL) {
		kills++;
		kill_worker(s->worker);
		look_at_all_sets();
		return settle_and_compare();
	}
	by_idle.worker = idle_worker(s);
	if (by_idle.worker < 0)
		return disturb(s->worker, SIGUSR1);
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
			(void)control_set(w, made[w][i], 0, IPC_RMID, NULL);
}
