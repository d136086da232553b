/* SPDX-License-Identifier: MIT */
/*
 * test_signals.c - storms of timers whose handlers use the queue and jump away
 *
 * Each process sends and receives, blocking or not, on one queue, while two
 * timers interrupt it every 100 and 170 us or so. Their handlers send and
 * receive on the same queue, blocking now and then, and jump out of whatever
 * was interrupted, asleep or running, nested or not. Nobody is killed, so every
 * message that a msgsnd confirmed must arrive, once.
 *
 * S5_STORM_SECONDS=N makes it longer.
 */
#include "harness.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROCS	 3
#define NUMBERS	 (1 << 24)
#define NONE	 UINT32_MAX
#define FILLER	 (NUMBERS - 5) /* and above: sent by the parent, often */
#define STUCK_NS 8000000000ll

struct notes {
	volatile int is_over;
	int queue;
	uint32_t next; /* number of the next message */
	uint32_t handlers, jumps, asleep_jumps, interrupted, nested_calls;
	volatile uint32_t done[PROCS];
	uint8_t confirmed[NUMBERS], got[NUMBERS];
};
static struct notes *notes;

struct message {
	long type;
	uint32_t number, check;
	char text[300];
};

static int me;
static uint64_t state;
static sigjmp_buf out;
static volatile sig_atomic_t may_jump, is_blocking;
/* What the main loop is at; looked at after a jump. */
static struct message in;

static uint32_t below(uint32_t n)
{
	return (uint32_t)(harness_random(&state) % n);
}

static void count(uint32_t *what)
{
	(void)__atomic_fetch_add(what, 1, __ATOMIC_RELAXED);
}

static void note_received(const struct message *m)
{
	CHECK(m->number < NUMBERS && m->check == ~m->number &&
		      m->type == 1 + m->number % 5,
	      "message %u, check %#x, type %ld", m->number, m->check, m->type);
	if (m->number < FILLER)
		CHECK(__atomic_fetch_add(&notes->got[m->number], 1,
					 __ATOMIC_RELAXED) == 0,
		      "message %u came twice", m->number);
}

/* 0, or errno. */
static int send_one(struct message *m, int flags)
{
	uint32_t n = __atomic_fetch_add(&notes->next, 1, __ATOMIC_RELAXED);

	if (n >= FILLER)
		return EAGAIN;
	m->type = 1 + n % 5;
	m->number = n;
	m->check = ~n;
	if (msgsnd(notes->queue, m, 8 + n % sizeof(m->text), flags) != 0)
		return errno;
	notes->confirmed[n] = 1;
	return 0;
}

static int receive_one(struct message *m, long type, int flags)
{
	m->number = NONE;
	if (msgrcv(notes->queue, m, sizeof(*m) - sizeof(long), type, flags) < 0)
		return errno;
	note_received(m);
	m->number = NONE;
	return 0;
}

static void expect(int err)
{
	CHECK(err == 0 || err == EAGAIN || err == ENOMSG || err == EINTR,
	      "errno %d", err);
	if (err == EINTR)
		count(&notes->interrupted);
}

static void handle(int sig)
{
	static __thread struct message sent, got; /* of SIGALRM's handler */
	struct message own; /* of one that may be inside of it */
	int saved = errno;
	int blocking = notes->is_over || below(20) ? IPC_NOWAIT : 0;

	count(&notes->handlers);
	switch (below(4)) {
	case 0:
		expect(send_one(sig == SIGALRM ? &sent : &own, blocking));
		break;
	case 1:
		/* A jump out of this call loses what it has just received,
		 * for the test; so nobody may jump meanwhile. */
		if (may_jump != 2) {
			sig_atomic_t was = may_jump;

			may_jump = 2;
			expect(receive_one(sig == SIGALRM ? &got : &own,
					   below(3) ? 0 : -3, blocking));
			may_jump = was;
		}
		break;
	default:
		break;
	}
	errno = saved;
	if (may_jump == 1 && below(4) == 0) {
		count(&notes->jumps);
		if (is_blocking)
			count(&notes->asleep_jumps);
		may_jump = 0;
		siglongjmp(out, 1);
	}
}

static void start_timers(void)
{
	struct sigaction sa = {.sa_handler = handle};
	struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL,
			      .sigev_signo = SIGUSR1};
	struct itimerspec often = {{0, 170000}, {0, 170000}};
	struct itimerval real = {{0, 100}, {0, 100}};
	timer_t t;

	CHECK_OK(sigaction(SIGALRM, &sa, NULL));
	CHECK_OK(sigaction(SIGUSR1, &sa, NULL));
	CHECK_OK(timer_create(CLOCK_MONOTONIC, &ev, &t));
	CHECK_OK(timer_settime(t, 0, &often, NULL));
	CHECK_OK(setitimer(ITIMER_REAL, &real, NULL));
}

static void one_round(void)
{
	static struct message to;
	int flags;

	in.number = NONE;
	flags = below(2) ? 0 : IPC_NOWAIT;
	if (sigsetjmp(out, 1) == 0) {
		is_blocking = flags == 0;
		may_jump = 1;
		expect(send_one(&to, flags));
		(void)msgrcv(notes->queue, &in, sizeof(in) - sizeof(long),
			     below(4) ? 0 : 1 + (long)below(5), flags);
	}
	may_jump = 0;
	/* Also if the jump came between the end of the call and here. */
	if (in.number != NONE)
		note_received(&in);
	in.number = NONE;
}

static void be_member(void *arg)
{
	me = (int)(intptr_t)arg;
	state = harness_seed() + (uint64_t)me;
	start_timers();
	while (!notes->is_over) {
		one_round();
		notes->done[me]++;
	}
	{
		struct itimerval none = {{0, 0}, {0, 0}};

		(void)setitimer(ITIMER_REAL, &none, NULL);
	}
	(void)signal(SIGUSR1, SIG_IGN);
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Lets those go that block, and takes what is there. */
static void serve(void)
{
	struct message m;

	while (receive_one(&m, 0, IPC_NOWAIT) == 0)
		;
	for (uint32_t t = 0; t < 5; t++) {
		m.number = FILLER + t;
		m.type = 1 + m.number % 5;
		m.check = ~m.number;
		(void)msgsnd(notes->queue, &m, 8, IPC_NOWAIT);
	}
}

static void account(void)
{
	uint32_t lost = 0, sent = 0, unsure = 0;

	for (uint32_t n = 0; n < FILLER && n < notes->next; n++) {
		sent += notes->confirmed[n];
		lost += notes->confirmed[n] && !notes->got[n];
		unsure += !notes->confirmed[n] && notes->got[n];
	}
	printf("handlers %u, jumps %u (of blocking calls %u), EINTR %u, "
	       "messages %u, sent though not confirmed %u, lost %u\n",
	       notes->handlers, notes->jumps, notes->asleep_jumps,
	       notes->interrupted, sent, unsure, lost);
	CHECK_EQ_INT(lost, 0);
	CHECK(notes->jumps > 100 && sent > 1000);
}

static void check_arena(void)
{
	pid_t pid = CHECK_OK(fork());

	if (pid == 0) {
		(void)execl(getenv("S5_CHECK_ARENA"), "check-arena", "--helper",
			    "check_arena", (char *)NULL);
		_exit(127);
	}
	harness_join(pid);
}

HELPER(storm)
{
	const char *s = getenv("S5_STORM_SECONDS");
	int64_t now = now_ns(), moved = now;
	int64_t end = now + (s ? atoll(s) : 3) * 1000000000ll;
	uint32_t before[PROCS] = {0};
	pid_t pid[PROCS];
	int left = PROCS;

	notes = mmap(NULL, sizeof(*notes), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(notes != MAP_FAILED);
	notes->queue = CHECK_OK(msgget(IPC_PRIVATE, 0600));
	for (int i = 0; i < PROCS; i++)
		pid[i] = harness_spawn(be_member, (void *)(intptr_t)i);
	while (now < end && notes->next < FILLER - 1000) {
		struct timespec gap = {0, 10000000};

		nanosleep(&gap, NULL);
		now = now_ns();
		for (int i = 0; i < PROCS; i++) {
			if (notes->done[i] != before[i])
				moved = now;
			before[i] = notes->done[i];
		}
		CHECK(now - moved < STUCK_NS, "nobody moves any more");
	}
	notes->is_over = 1;
	while (left > 0) {
		struct timespec gap = {0, 1000000};

		serve();
		nanosleep(&gap, NULL);
		for (int i = 0; i < PROCS; i++) {
			int status;

			if (pid[i] && waitpid(pid[i], &status, WNOHANG)) {
				CHECK_EQ_INT(status, 0);
				pid[i] = 0;
				left--;
			}
		}
		CHECK(now_ns() - now < STUCK_NS, "%d do not end", left);
	}
	check_arena();
	{
		static struct message m;

		while (receive_one(&m, 0, IPC_NOWAIT) == 0)
			;
	}
	account();
	CHECK_OK(msgctl(notes->queue, IPC_RMID, NULL));
	check_arena();
	return 0;
}

TEST_TIMEOUT(signals_and_jumps, 600)
{
	pid_t pid = CHECK_OK(fork());

	if (pid == 0) {
		(void)execl("/proc/self/exe", "test_signals", "--helper",
			    "storm", (char *)NULL);
		_exit(127);
	}
	harness_join(pid);
}
