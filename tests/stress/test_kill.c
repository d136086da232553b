/* SPDX-License-Identifier: MIT */
/*
 * test_kill.c - storms of SIGKILL over senders, receivers and waiters
 *
 * A message names its sender's incarnation and a number. What was tried, what
 * was confirmed and what was received is noted in shared memory, and compared
 * in the end: nothing twice; nothing lost but what a receiver had taken when it
 * was killed; in order as long as no receiver is killed.
 *
 * In two pid namespaces, whose processes have the same pids at all times, the
 * death of one must not be taken for that of its namesake (root only).
 *
 * S5_STORM_SECONDS=N makes each storm longer.
 */
#include "check.h"
#include "harness.h"
#include "msg/msgq.h"
#include "msg/room.h"
#include "region/ns.h"

#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SENDERS	  3
#define RECEIVERS 3
#define WAITERS	  2
#define REMOVERS  1
#define PROCS	  (SENDERS + RECEIVERS + WAITERS + REMOVERS)
#define LIVES	  8192 /* incarnations of senders */
#define NUMBERS	  1024 /* messages of one incarnation */
#define STUCK_NS  5000000000ull
#define KEY	  77
#define NEVER	  99  /* a type that nobody sends */
#define FIRST_PID 100 /* in a pid namespace of our own */

struct log {
	volatile int id;
	uint32_t lives; /* given out */
	uint32_t received, sent;
	uint16_t tried[LIVES], confirmed[LIVES];
	uint8_t got[LIVES][NUMBERS];
};
static struct log *log_;

struct message {
	long type;
	uint32_t life, number;
	uint8_t fill[8000];
};

enum role { SENDER, RECEIVER, WAITER, REMOVER };
struct storm {
	bool kill_receivers, remove;
	bool choose_pids; /* in a pid namespace */
	uint32_t kills[4], lost, unconfirmed;
};

static uint64_t seed;

static bool is_gone(long err)
{
	return err == -EIDRM || err == -EINVAL;
}

static void send_for_a_life(bool may_vanish)
{
	uint32_t life = __atomic_fetch_add(&log_->lives, 1, __ATOMIC_RELAXED);
	struct message m = {.type = 1 + life % 4, .life = life};

	while (life >= LIVES) /* the storm is about to end */
		(void)pause();
	for (uint32_t n = 0; n < NUMBERS; n++) {
		uint64_t r = harness_random(&seed);
		size_t size = 8 + (r % 64 == 0 ? r / 64 % 7000 : r / 64 % 400);
		int err;

		m.number = n;
		memset(m.fill, (int)(life + n), size - 8);
		log_->tried[life] = (uint16_t)(n + 1);
		do
			err = s5__msgsnd(log_->id, &m, size,
					 r >> 60 ? 0 : IPC_NOWAIT);
		while (err == -EAGAIN || (may_vanish && is_gone(err)));
		CHECK(err == 0, "msgsnd: %d", err);
		log_->confirmed[life] = (uint16_t)(n + 1);
		__atomic_fetch_add(&log_->sent, 1, __ATOMIC_RELAXED);
	}
}

static void note(const struct message *m, long n, uint16_t *last)
{
	CHECK(n >= 8 && m->life < LIVES && m->number < NUMBERS &&
		      m->type == 1 + m->life % 4,
	      "%ld bytes, life %u, number %u, type %ld", n, m->life, m->number,
	      m->type);
	CHECK(__atomic_fetch_add(&log_->got[m->life][m->number], 1,
				 __ATOMIC_RELAXED) == 0,
	      "message %u.%u was received twice", m->life, m->number);
	for (long i = 0; i < n - 8; i++)
		CHECK(m->fill[i] == (uint8_t)(m->life + m->number),
		      "message %u.%u, byte %ld", m->life, m->number, i);
	__atomic_fetch_add(&log_->received, 1, __ATOMIC_RELAXED);
	if (last) {
		CHECK(m->number + 1 > last[m->life],
		      "message %u.%u after number %u", m->life, m->number,
		      last[m->life] - 1u);
		last[m->life] = (uint16_t)(m->number + 1);
	}
}

static void receive_for_ever(bool may_vanish, uint16_t *last)
{
	static struct message m;

	for (;;) {
		uint64_t r = harness_random(&seed);
		long type = r % 8 < 4	? 0
			    : r % 8 < 6 ? -4
					: 1 + (long)(r / 8 % 4);
		int flags = r % 8 == 6 ? MSG_EXCEPT : 0;
		long n;

		/* Of one type, one may wait in vain; let it look again. */
		flags |= r % 8 >= 6 || r >> 61 == 0 ? IPC_NOWAIT : 0;
		n = s5__msgrcv(log_->id, &m, sizeof(m) - sizeof(long), type,
			       flags);
		if (n == -ENOMSG || (may_vanish && is_gone(n)))
			continue;
		CHECK(n >= 0, "msgrcv: %ld", n);
		note(&m, n, last);
	}
}

static void wait_for_ever(bool may_vanish)
{
	struct message m;
	long n;

	do
		n = s5__msgrcv(log_->id, &m, sizeof(m) - sizeof(long), NEVER,
			       0);
	while (may_vanish && is_gone(n));
	CHECK(0, "msgrcv: %ld", n);
}

static void remove_for_ever(void)
{
	for (;;) {
		struct timespec gap = {0, 2000000};
		int id = s5__msgget(KEY, IPC_CREAT | 0600);

		CHECK(id >= 0, "msgget: %d", id);
		log_->id = id;
		nanosleep(&gap, NULL);
		(void)s5__msgctl(id, IPC_RMID, NULL);
	}
}

static enum role role_of(int i)
{
	return i < SENDERS			   ? SENDER
	       : i < SENDERS + RECEIVERS	   ? RECEIVER
	       : i < SENDERS + RECEIVERS + WAITERS ? WAITER
						   : REMOVER;
}

/* A fork whose child has that pid. No handlers of pthread_atfork() run, so the
 * caller must not be known to the library. */
static pid_t fork_as(pid_t pid)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = (uint64_t)(uintptr_t)&pid,
		.set_tid_size = 1,
	};

	return (pid_t)CHECK_OK(syscall(SYS_clone3, &args, sizeof(args)));
}

static pid_t start(const struct storm *st, int i)
{
	static uint16_t last[LIVES];
	uint64_t child_seed = harness_random(&seed);
	pid_t pid = st->choose_pids ? fork_as(FIRST_PID + i) : CHECK_OK(fork());

	if (pid)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)setpriority(PRIO_PROCESS, 0, 0);
	seed = child_seed;
	memset(last, 0, sizeof(last));
	switch (role_of(i)) {
	case SENDER:
		for (;;)
			send_for_a_life(st->remove);
	case RECEIVER:
		receive_for_ever(st->remove, st->kill_receivers || st->remove
						     ? NULL
						     : last);
		break;
	case WAITER:
		wait_for_ever(st->remove);
		break;
	case REMOVER:
		remove_for_ever();
	}
	_exit(1);
}

static void strike(struct storm *st, pid_t *pid, int i)
{
	int status;

	CHECK_OK(kill(pid[i], SIGKILL));
	status = harness_reap(pid[i]);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
	      "process %d: status %#x", i, status);
	st->kills[role_of(i)]++;
	pid[i] = 0;
}

static void rage(struct storm *st, uint64_t ns)
{
	pid_t pid[PROCS] = {0};
	int procs = st->remove ? PROCS : PROCS - REMOVERS;
	uint64_t now = s5__now_ns(), end = now + ns, moved = now;
	uint32_t before = 0;

	for (int i = 0; i < procs; i++)
		pid[i] = start(st, i);
	while (now < end && log_->lives < LIVES - 2 * SENDERS) {
		uint64_t r = harness_random(&seed);
		struct timespec gap = {0, (long)(r % 3000000)};
		int i = (int)((r >> 32) % (uint32_t)procs);

		nanosleep(&gap, NULL);
		if (role_of(i) != RECEIVER || st->kill_receivers) {
			strike(st, pid, i);
			pid[i] = start(st, i);
		}
		now = s5__now_ns();
		if (log_->received != before)
			moved = now;
		before = log_->received;
		CHECK(now - moved < STUCK_NS, "nothing moves after %u messages",
		      before);
	}
	/* Receivers last, and only when nothing is left, unless they may die.
	 */
	for (int i = 0; i < procs; i++)
		if (role_of(i) != RECEIVER)
			strike(st, pid, i);
	if (!st->choose_pids)
		CHECK_EQ_INT(check_settle(), 0);
	for (int i = 0; i < procs; i++) {
		if (role_of(i) != RECEIVER)
			continue;
		if (!st->kill_receivers) {
			uint32_t n = s5__msgq_find(log_->id) ? 1 : 0;

			while (n &&
			       *(volatile uint32_t *)&s5__msgq_find(log_->id)
					->qnum)
				harness_pause(__FILE__, __LINE__, "drained");
		}
		strike(st, pid, i);
	}
}

static void drain(void)
{
	static struct message m;
	long n;

	while ((n = s5__msgrcv(log_->id, &m, sizeof(m) - sizeof(long), 0,
			       IPC_NOWAIT)) >= 0)
		note(&m, n, NULL);
	CHECK(n == -ENOMSG || n == -EINVAL, "msgrcv: %ld", n);
}

static void account(struct storm *st)
{
	st->lost = 0;
	for (uint32_t life = 0; life < log_->lives && life < LIVES; life++) {
		for (uint32_t n = 0; n < NUMBERS; n++) {
			uint32_t got = log_->got[life][n];

			CHECK(got <= (n < log_->tried[life]),
			      "message %u.%u: received %u times", life, n, got);
			st->lost += n < log_->confirmed[life] && got == 0;
			st->unconfirmed += n >= log_->confirmed[life] && got;
		}
	}
}

struct part {
	struct storm *st;
	uint64_t ns, seed;
};

static void be_init(void *arg)
{
	struct part *part = arg;

	/* /proc is that of the outer namespace; so it is in many containers. */
	CHECK_EQ_INT(getpid(), 1);
	seed = part->seed;
	rage(part->st, part->ns);
}

static void enter_and_rage(void *arg)
{
	if (unshare(CLONE_NEWPID) != 0)
		SKIP("may not make a pid namespace");
	harness_join(harness_spawn(be_init, arg));
}

/* The same in two pid namespaces at once. */
static void rage_twice(struct storm *st, uint64_t ns)
{
	struct storm *two = mmap(NULL, 2 * sizeof(*two), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid[2];

	CHECK(two != MAP_FAILED);
	for (int i = 0; i < 2; i++) {
		struct part part = {&two[i], ns, harness_random(&seed)};

		two[i] = (struct storm){.kill_receivers = true,
					.choose_pids = true};
		pid[i] = harness_spawn(enter_and_rage, &part);
	}
	for (int i = 0; i < 2; i++) {
		harness_join(pid[i]);
		for (int k = 0; k < 4; k++)
			st->kills[k] += two[i].kills[k];
	}
	CHECK_OK(munmap(two, 2 * sizeof(*two)));
}

static void storm(struct storm *st)
{
	static struct check_report r;
	const char *s = getenv("S5_STORM_SECONDS");
	uint64_t ns = (s ? strtoull(s, NULL, 10) : 3) * 500000000ull;
	struct s5_ns_status status;
	uint32_t first = 0;

	/* So that the killer gets its turn. */
	(void)setpriority(PRIO_PROCESS, 0, -15);
	seed = harness_seed();
	log_ = mmap(NULL, sizeof(*log_), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(log_ != MAP_FAILED);
	s5__msg_init();
	CHECK_EQ_INT(s5__ns_attach(NULL, true, &status), 0);
	log_->id = s5__msgget(KEY, IPC_CREAT | 0600);
	CHECK(log_->id >= 0);
	for (int round = 0; round < 2; round++) {
		if (st->choose_pids)
			rage_twice(st, ns);
		else
			rage(st, ns);
		CHECK_EQ_INT(check_settle(), 0);
		drain();
		check_clean("after a round");
		CHECK(check_all(&r), "%s", r.text);
		CHECK(r.messages == 0 && r.pages_used == 0 &&
			      r.cells_used == r.lanes,
		      "left: %u cells, %u lanes, %u pages", r.cells_used,
		      r.lanes, r.pages_used);
		/* How many live at once differs from round to round. */
		CHECK(round == 0 || r.bump <= 2 * first + 256,
		      "the heap grew from %u to %u pages", first, r.bump);
		first = r.bump;
	}
	account(st);
	printf("kills %u+%u+%u+%u, messages sent %u, received %u, lost %u, "
	       "received though not confirmed %u\n",
	       st->kills[0], st->kills[1], st->kills[2], st->kills[3],
	       log_->sent, log_->received, st->lost, st->unconfirmed);
}

TEST_TIMEOUT(kill_senders, 600)
{
	struct storm st = {0};

	storm(&st);
	CHECK_EQ_INT(st.lost, 0);
}

TEST_TIMEOUT(kill_all, 600)
{
	struct storm st = {.kill_receivers = true};

	storm(&st);
	CHECK(st.lost <= st.kills[RECEIVER], "%u lost, %u receivers killed",
	      st.lost, st.kills[RECEIVER]);
}

TEST_TIMEOUT(kill_and_remove, 600)
{
	struct storm st = {.kill_receivers = true, .remove = true};

	storm(&st);
}

TEST_TIMEOUT(kill_namesakes, 600)
{
	struct storm st = {.kill_receivers = true, .choose_pids = true};

	if (geteuid() != 0)
		SKIP("only root may make pid namespaces");
	storm(&st);
	CHECK(st.lost <= st.kills[RECEIVER], "%u lost, %u receivers killed",
	      st.lost, st.kills[RECEIVER]);
}
