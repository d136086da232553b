/* SPDX-License-Identifier: MIT */
/*
 * test_seat.c - sleepers that share futex words
 *
 * The linker sends the library's futex calls through here, to be noted, and to
 * take the deadlines off: a wakeup that is lost then hangs the test.
 */
#include "lock/seat.h"

#include "harness.h"
#include "region/enter.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/msg.h>
#include <unistd.h>

#include <sysfive/sysfive.h>

#define SLEEPERS 100
#define ROUNDS	 1000

static bool endless; /* sleeps have no deadline */
static struct call {
	uint32_t *word;
	uint32_t bits;
} wakes[SLEEPERS];
static unsigned n_wakes;

long __real_s5__futex_wait_bits(uint32_t *word, uint32_t value, uint32_t bits,
				const struct timespec *deadline);
long __wrap_s5__futex_wait_bits(uint32_t *word, uint32_t value, uint32_t bits,
				const struct timespec *deadline);
long __wrap_s5__futex_wait_bits(uint32_t *word, uint32_t value, uint32_t bits,
				const struct timespec *deadline)
{
	return __real_s5__futex_wait_bits(word, value, bits,
					  endless ? NULL : deadline);
}

long __real_s5__futex_wake_bits(uint32_t *word, uint32_t bits);
long __wrap_s5__futex_wake_bits(uint32_t *word, uint32_t bits);
long __wrap_s5__futex_wake_bits(uint32_t *word, uint32_t bits)
{
	wakes[n_wakes++ % SLEEPERS] = (struct call){word, bits};
	return __real_s5__futex_wake_bits(word, bits);
}

struct sleeper {
	pthread_t thread;
	int cpu; /* to sleep on, or -1 */
	int rounds;
	uint64_t deadline;
	struct s5__slot *slot;
	uint32_t idx;
	struct s5__a32 seq; /* of the wait that it is about to begin */
	uint32_t served;    /* waker's: the last one it gave a result to */
	enum s5__wait_end end;
};
static struct sleeper all[SLEEPERS];
static struct s5__a32 finished;

static void *sleeper(void *arg)
{
	struct sleeper *me = arg;
	struct s5__self *self = &s5__self;

	if (me->cpu >= 0) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET((unsigned)me->cpu, &set);
		CHECK_OK(sched_setaffinity(0, sizeof(set), &set));
	}
	CHECK_OK(s5_msgget(1, IPC_CREAT | 0600));
	me->slot = self->slot;
	me->idx = self->idx;
	for (int i = 0; i < me->rounds; i++) {
		s5__defer_enter();
		self->intr = s5__defer_intr();
		s5__wait_prepare(self, S5__KIND_MSG);
		s5__a32_store_rel(&me->seq, self->slot->wait_seq);
		do {
			me->end = s5__wait_seated(self, me->deadline, false,
						  S5__NO_SPIN);
		} while (me->end == S5__WAIT_END_LOOK);
		self->unfinished = 0; /* it was in no list */
		s5__defer_leave();
	}
	(void)s5__a32_add_full(&finished, 1);
	return NULL;
}

static void start(int n, int rounds)
{
	CHECK_OK(s5_msgget(1, IPC_CREAT | 0600));
	for (int i = 0; i < n; i++) {
		all[i].rounds = rounds;
		CHECK(pthread_create(&all[i].thread, NULL, sleeper, &all[i]) ==
			      0,
		      "thread %d", i);
	}
}

static bool is_asleep(const struct sleeper *s)
{
	return s5__a32_load_acq(&s->seq) != s->served &&
	       (s5__a32_load_acq(&s->slot->wait_word) & S5__WAIT_ASLEEP);
}

static void until_asleep(int n)
{
	for (int i = 0; i < n; i++)
		WAIT_UNTIL(is_asleep(&all[i]));
}

/* Gives a result to sleeper `i`; whether it is to be woken. */
static bool release(int i)
{
	struct s5__self *self = &s5__self;
	struct s5__a32 *lock = &s5__header()->reg_lock;
	bool asleep;

	all[i].served = s5__a32_load_acq(&all[i].seq);
	CHECK(s5__lock(self, lock) == 0, "lock");
	(void)s5__wake_add(self, all[i].idx, all[i].served, 1);
	s5__tx_commit(self);
	asleep = self->slot->wake[0].asleep;
	self->wake_n = 0;
	self->wake_done = 0;
	s5__a64_store_rlx(&self->slot->commit, 0);
	s5__unlock(self, lock);
	return asleep;
}

static void join(int n)
{
	for (int i = 0; i < n; i++) {
		(void)pthread_join(all[i].thread, NULL);
		CHECK(all[i].end == S5__WAIT_END_DONE, "sleeper %d: end %d", i,
		      (int)all[i].end);
	}
}

static int first_cpu(int after)
{
	cpu_set_t set;

	CHECK_OK(sched_getaffinity(0, sizeof(set), &set));
	for (int i = after + 1; i < CPU_SETSIZE; i++)
		if (CPU_ISSET((unsigned)i, &set))
			return i;
	return -1;
}

static unsigned words_used(int n)
{
	struct s5__a32 *seen[SLEEPERS];
	unsigned words = 0;

	for (int i = 0; i < n; i++) {
		struct s5__a32 *word =
			s5__seat_word(all[i].slot->wait_seat - 1);
		unsigned k = 0;

		while (k < words && seen[k] != word)
			k++;
		if (k == words)
			seen[words++] = word;
	}
	return words;
}

/* W7: a hundred sleepers, a handful of calls. */
TEST(one_call_for_each_word)
{
	uint32_t slots[SLEEPERS];
	int cpu = first_cpu(-1);
	unsigned words;

	endless = true;
	for (int i = 0; i < SLEEPERS; i++)
		all[i].cpu = cpu;
	start(SLEEPERS, 1);
	until_asleep(SLEEPERS);
	words = words_used(SLEEPERS);
	CHECK(words <= SLEEPERS / S5__SEAT_BITS + 2, "%u words", words);
	for (int i = 0; i < SLEEPERS; i++) {
		CHECK(release(i), "%d was awake", i);
		slots[i] = all[i].idx;
	}
	s5__wake_many(slots, SLEEPERS);
	CHECK_EQ_INT(n_wakes, words);
	join(SLEEPERS);
}

/* The mask names those whom the call released. */
TEST(neighbours_sleep_on)
{
	enum { N = 8 };
	uint32_t slots[N], bits = 0;
	int cpu = first_cpu(-1);

	endless = true;
	for (int i = 0; i < N; i++)
		all[i].cpu = cpu;
	start(N, 1);
	until_asleep(N);
	for (int i = 2; i < 4; i++) {
		(void)release(i);
		slots[i - 2] = all[i].idx;
		bits |= s5__seat_bit(all[i].slot->wait_seat - 1);
	}
	s5__wake_many(slots, 2);
	for (unsigned i = 0; i < n_wakes; i++)
		bits &= ~wakes[i].bits;
	CHECK_EQ_INT(bits, 0);
	CHECK(n_wakes <= 2, "%u calls", n_wakes);
	CHECK_EQ_INT(__builtin_popcount(wakes[0].bits) +
			     (n_wakes > 1 ? __builtin_popcount(wakes[1].bits)
					  : 0),
		     2);
	for (int i = 0; i < N; i++) {
		slots[i] = all[i].idx;
		if (i != 2 && i != 3)
			(void)release(i);
	}
	s5__wake_many(slots, N);
	join(N);
}

/* W7: those of one CPU before those of the next, in whatever order they were
 * released. */
TEST(wakes_go_by_cpu)
{
	enum { N = 20 };
	uint32_t slots[N];
	int cpus[2] = {first_cpu(-1), first_cpu(first_cpu(-1))};

	if (cpus[1] < 0)
		SKIP("one CPU");
	endless = true;
	for (int i = 0; i < N; i++)
		all[i].cpu = cpus[i % 2];
	start(N, 1);
	until_asleep(N);
	for (int i = 0; i < N; i++) {
		(void)release(i);
		slots[i] = all[i].idx;
	}
	s5__wake_many(slots, N);
	CHECK(n_wakes >= 2 && n_wakes <= 4, "%u calls", n_wakes);
	for (unsigned i = 1; i < n_wakes; i++)
		CHECK(wakes[i - 1].word < wakes[i].word, "call %u", i);
	join(N);
}

/* Who is between its last look and its sleep is not missed. */
TEST(no_wakeup_is_lost)
{
	enum { N = 8 };
	uint32_t slots[N];
	unsigned draw = harness_seed();

	endless = true;
	for (int i = 0; i < N; i++)
		all[i].cpu = -1;
	start(N, ROUNDS);
	while (s5__a32_load_acq(&finished) < N) {
		uint32_t n = 0;

		for (int i = 0; i < N; i++) {
			draw = draw * 1664525u + 1013904223u;
			if (s5__a32_load_acq(&all[i].seq) != all[i].served &&
			    (draw >> 28) < 8 && release(i))
				slots[n++] = all[i].idx;
		}
		s5__wake_many(slots, n);
		(void)sched_yield();
	}
	join(N);
}

static void note(int sig)
{
	(void)sig;
}

/* Nor is a handler that runs there. */
TEST(handler_ends_each_sleep)
{
	struct sigaction act = {.sa_handler = note};

	CHECK_OK(sigaction(SIGUSR1, &act, NULL));
	endless = true;
	all[0].cpu = -1;
	start(1, ROUNDS);
	for (int i = 0; i < ROUNDS; i++) {
		WAIT_UNTIL(is_asleep(&all[0]));
		CHECK(pthread_kill(all[0].thread, SIGUSR1) == 0, "kill");
		all[0].served = (uint32_t)i + 1;
		WAIT_UNTIL(s5__a32_load_acq(&finished) == 1 ||
			   s5__a32_load_acq(&all[0].seq) != all[0].served);
	}
	(void)pthread_join(all[0].thread, NULL);
	CHECK(all[0].end == S5__WAIT_END_INTR, "end %d", (int)all[0].end);
}

TEST(deadline_ends_a_sleep)
{
	all[0].cpu = -1;
	all[0].deadline = s5__now_ns() + 2000000;
	start(1, 1);
	(void)pthread_join(all[0].thread, NULL);
	CHECK(all[0].end == S5__WAIT_END_TIMEOUT, "end %d", (int)all[0].end);
}

/* A damaged number is some seat, too. */
TEST(any_number_is_a_seat)
{
	CHECK_OK(s5_msgget(1, IPC_CREAT | 0600));
	for (uint32_t seat = 0; seat < UINT32_MAX - 77777777;
	     seat += 77777777) {
		uint64_t off = s5__off(s5__seat_word(seat));

		CHECK(off >= S5__FIX_SEATS * S5__PAGE &&
			      off < (S5__FIX_SEATS + 2u) * S5__PAGE,
		      "seat %u", seat);
	}
}
