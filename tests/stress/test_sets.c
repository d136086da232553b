/* SPDX-License-Identifier: MIT */
/*
 * test_sets.c - storms of SIGKILL and signals over holders of semaphores
 *
 * Locks that are held with SEM_UNDO, one or several by one call; tokens that
 * are made and taken without; a semaphore that goes up and down with SEM_UNDO
 * and is waited for to be zero.  Whoever holds a lock writes its number into
 * shared memory, and finds there nobody, or somebody who was killed.  In the
 * end all who held are dead: every lock is free, the counter is zero, and no
 * token was lost or doubled but by a death between taking and noting.
 *
 * S5_STORM_SECONDS=N makes each storm longer.
 */
#include "harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <time.h>
#include <unistd.h>

#define LOCKS	 4
#define TOKENS	 4 /* the semaphores behind the locks */
#define COUNTER	 5
#define NSEMS	 6
#define PROCS	 10
#define LIVES	 8192 /* incarnations */
#define ROOM	 100  /* no more tokens at a time */
#define STUCK_NS 5000000000ull

enum role { HOLDER, MAKER, TAKER, COUNTING };

struct notes {
	uint32_t lives, steps;
	uint32_t owner[LOCKS]; /* life + 1, or 0 */
	uint8_t is_doomed[LIVES];
	uint32_t tried, made, taken;
};
static struct notes *notes;
static int set;
static uint64_t seed;

struct storm {
	bool signals;
	uint32_t kills[4];
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint32_t add(uint32_t *word, uint32_t n)
{
	return __atomic_fetch_add(word, n, __ATOMIC_SEQ_CST);
}

/* Until it is done; sometimes for a short time only, and then again. */
static void operate(struct sembuf *ops, size_t n)
{
	for (;;) {
		uint64_t r = harness_random(&seed);
		struct timespec limit = {0, (long)(r >> 40) % 3000000};
		int ret = r % 4 == 0 ? semtimedop(set, ops, n, &limit)
				     : semop(set, ops, n);

		if (ret == 0)
			break;
		CHECK(errno == EINTR || (errno == EAGAIN && r % 4 == 0),
		      "semop: errno %d", errno);
	}
	add(&notes->steps, 1);
}

/* One lock or several of them, in order, by one call. */
static size_t choose_locks(struct sembuf *ops)
{
	uint64_t r = harness_random(&seed);
	size_t n = 0;

	for (unsigned short i = 0; i < LOCKS; i++)
		if (r >> (2 * i) & 1 || (n == 0 && i == LOCKS - 1))
			ops[n++] = (struct sembuf){i, -1, SEM_UNDO};
	return r >> 62 == 0 ? n : 1;
}

static void hold(uint32_t life)
{
	struct sembuf ops[LOCKS];
	size_t n = choose_locks(ops);

	operate(ops, n);
	for (size_t i = 0; i < n; i++) {
		uint32_t *owner = &notes->owner[ops[i].sem_num];
		uint32_t before =
			__atomic_exchange_n(owner, life + 1, __ATOMIC_SEQ_CST);
		CHECK(before == 0 || notes->is_doomed[before - 1],
		      "lock %u has two holders", ops[i].sem_num);
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t *owner = &notes->owner[ops[i].sem_num];
		uint32_t before =
			__atomic_exchange_n(owner, 0, __ATOMIC_SEQ_CST);
		CHECK(before == life + 1, "lock %u was taken away",
		      ops[i].sem_num);
		ops[i].sem_op = 1;
	}
	operate(ops, n);
}

static void make(void)
{
	struct sembuf op = {TOKENS, (short)(1 + harness_random(&seed) % 3), 0};
	int value = semctl(set, TOKENS, GETVAL);

	CHECK(value >= 0);
	if (value > ROOM)
		return;
	add(&notes->tried, (uint32_t)op.sem_op);
	operate(&op, 1);
	add(&notes->made, (uint32_t)op.sem_op);
}

static void take(void)
{
	struct sembuf op = {TOKENS, (short)-(1 + harness_random(&seed) % 3), 0};

	operate(&op, 1);
	add(&notes->taken, (uint32_t)-op.sem_op);
}

static void count(void)
{
	uint64_t r = harness_random(&seed);
	struct sembuf up[2] = {{COUNTER, (short)(1 + r % 3), SEM_UNDO},
			       {(unsigned short)(r >> 8 & 1), 0, IPC_NOWAIT}};
	struct sembuf down = {COUNTER, (short)-up[0].sem_op, SEM_UNDO};
	struct sembuf zero = {COUNTER, 0, IPC_NOWAIT};

	if (r >> 16 & 1) {
		operate(up, 1);
	} else {
		while (semop(set, up, 2) != 0)
			CHECK(errno == EAGAIN || errno == EINTR);
	}
	operate(&down, 1);
	/* EINTR: one may have to wait for the set's lock. */
	CHECK(semop(set, &zero, 1) == 0 || errno == EAGAIN || errno == EINTR,
	      "errno %d", errno);
}

static void on_signal(int sig)
{
	(void)sig;
}

static enum role role_of(int i)
{
	return i < 4 ? HOLDER : i < 6 ? MAKER : i < 8 ? TAKER : COUNTING;
}

struct birth {
	int number;
	uint32_t life;
	uint64_t seed;
};

static void live(void *arg)
{
	const struct birth *b = arg;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)setpriority(PRIO_PROCESS, 0, 0);
	seed = b->seed;
	for (;;) {
		switch (role_of(b->number)) {
		case HOLDER:
			hold(b->life);
			break;
		case MAKER:
			make();
			break;
		case TAKER:
			take();
			break;
		case COUNTING:
			count();
			break;
		}
	}
}

static pid_t start(int number, uint32_t *life)
{
	struct birth b = {number, notes->lives++, harness_random(&seed)};

	life[number] = b.life;
	return harness_spawn(live, &b);
}

static void strike(struct storm *st, pid_t *pid, const uint32_t *life, int i)
{
	__atomic_store_n(&notes->is_doomed[life[i]], 1, __ATOMIC_SEQ_CST);
	CHECK_OK(kill(pid[i], SIGKILL));
	int status = harness_reap(pid[i]);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
	      "process %d: status %#x", i, status);
	st->kills[role_of(i)]++;
}

static void rage(struct storm *st, uint64_t ns)
{
	uint64_t now = now_ns(), end = now + ns, moved = now;
	uint32_t life[PROCS], before = 0;
	pid_t pid[PROCS];

	for (int i = 0; i < PROCS; i++)
		pid[i] = start(i, life);
	while (now < end && notes->lives < LIVES - PROCS) {
		uint64_t r = harness_random(&seed);
		struct timespec gap = {0, (long)(r % 3000000)};
		int i = (int)((r >> 32) % PROCS);

		nanosleep(&gap, NULL);
		if (st->signals && r >> 60 < 12) {
			(void)kill(pid[i], SIGUSR1);
		} else {
			strike(st, pid, life, i);
			pid[i] = start(i, life);
		}
		now = now_ns();
		if (notes->steps != before)
			moved = now;
		before = notes->steps;
		CHECK(now - moved < STUCK_NS, "nothing moves after %u steps",
		      before);
	}
	for (int i = 0; i < PROCS; i++)
		strike(st, pid, life, i);
}

static void account(const struct storm *st)
{
	unsigned short values[NSEMS];
	uint32_t left, kills = 3 * st->kills[TAKER];

	CHECK_OK(semctl(set, 0, GETALL, values));
	for (int i = 0; i < LOCKS; i++)
		CHECK(values[i] == 1, "lock %d is %u", i, values[i]);
	CHECK_EQ_INT(values[COUNTER], 0);
	left = values[TOKENS] + notes->taken;
	CHECK(left <= notes->tried, "%u tokens of %u tried", left,
	      notes->tried);
	CHECK(left + kills >= notes->made, "%u tokens of %u made", left,
	      notes->made);
	for (int i = 0; i < NSEMS; i++) {
		CHECK_EQ_INT(semctl(set, i, GETNCNT), 0);
		CHECK_EQ_INT(semctl(set, i, GETZCNT), 0);
	}
}

static void storm(struct storm *st)
{
	const char *s = getenv("S5_STORM_SECONDS");
	uint64_t ns = (s ? strtoull(s, NULL, 10) : 3) * 1000000000ull;
	unsigned short values[NSEMS] = {1, 1, 1, 1, 0, 0};

	/* So that the killer gets its turn. */
	(void)setpriority(PRIO_PROCESS, 0, -15);
	signal(SIGUSR1, on_signal);
	seed = harness_seed();
	notes = mmap(NULL, sizeof(*notes), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(notes != MAP_FAILED);
	set = CHECK_OK(semget(IPC_PRIVATE, NSEMS, IPC_CREAT | 0600));
	CHECK_OK(semctl(set, 0, SETALL, values));
	rage(st, ns);
	account(st);
	CHECK_OK(semctl(set, 0, IPC_RMID));
	printf("%u steps, kills %u+%u+%u+%u\n", notes->steps, st->kills[0],
	       st->kills[1], st->kills[2], st->kills[3]);
}

TEST_TIMEOUT(kill_holders, 600)
{
	struct storm st = {0};

	storm(&st);
}

TEST_TIMEOUT(kill_and_signal_holders, 600)
{
	struct storm st = {.signals = true};

	storm(&st);
}

/* Many hold, all die at once; each death is seen. */
TEST_TIMEOUT(hundreds_of_holders, 60)
{
	struct sembuf op = {0, -3, SEM_UNDO}, ready = {1, 1, 0};
	enum { MANY = 300 };
	pid_t pid[MANY];

	set = CHECK_OK(semget(IPC_PRIVATE, 2, IPC_CREAT | 0600));
	CHECK_OK(semctl(set, 0, SETVAL, 3 * MANY + 7));
	for (int i = 0; i < MANY; i++) {
		pid[i] = CHECK_OK(fork());
		if (pid[i] == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			CHECK_OK(semop(set, &op, 1));
			CHECK_OK(semop(set, &ready, 1));
			for (;;)
				pause();
		}
	}
	ready.sem_op = -MANY;
	CHECK_OK(semop(set, &ready, 1));
	CHECK_EQ_INT(semctl(set, 0, GETVAL), 7);
	for (int i = 0; i < MANY; i++)
		CHECK_OK(kill(pid[i], SIGKILL));
	for (int i = 0; i < MANY; i++)
		(void)harness_reap(pid[i]);
	CHECK_EQ_INT(semctl(set, 0, GETVAL), 3 * MANY + 7);
	CHECK_OK(semctl(set, 0, IPC_RMID));
}
