/* SPDX-License-Identifier: MIT */
/*
 * choices.c - figures behind docs/design/measurements.md
 *
 * Each table compares ways to do one thing, interleaved, medians of ROUNDS. It
 * is linked with the library's objects, to reach below the calls; it is no part
 * of the command.
 */
#include "region/enter.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/syscall.h>
#include <sysfive/sysfive.h>
#include <unistd.h>

#define ROUNDS	     9
#define SLEEPERS_MAX 250
#define SEATS	     32

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double v[ROUNDS])
{
	qsort(v, ROUNDS, sizeof(v[0]), by_value);
	return v[ROUNDS / 2];
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* --- releasing a lock: plain store, or exchange --------------------------- */

static double lock_pairs(bool plain)
{
	enum { N = 5000000 };
	struct s5__self *self = &s5__self;
	struct s5__a32 *lock = &s5__header()->reg_lock;
	bool was = s5__arena.plain_release;
	uint64_t t;

	s5__arena.plain_release = plain;
	t = s5__now_ns();
	for (int i = 0; i < N; i++) {
		if (s5__lock(self, lock) != 0)
			abort();
		s5__unlock(self, lock);
	}
	t = s5__now_ns() - t;
	s5__arena.plain_release = was;
	return (double)t / N;
}

static void compare_releases(void)
{
	double plain[ROUNDS], exchange[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		plain[i] = lock_pairs(true);
		exchange[i] = lock_pairs(false);
	}
	printf("lock and unlock, one thread, ns:  plain store %.1f  exchange "
	       "%.1f\n",
	       median(plain), median(exchange));
}

/* --- waking N sleepers: a word each, or 32 seats a word ------------------- */

struct room {
	struct s5__a32 word[SLEEPERS_MAX * 16]; /* a cache line apart */
	struct s5__a32 go, asleep, awake;
};
static struct room *room;
static bool with_seats;

static void *sleeper(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;
	struct s5__a32 *word =
		&room->word[(with_seats ? me / SEATS : me) * 16u];
	uint32_t bit = with_seats ? 1u << me % SEATS : FUTEX_BITSET_MATCH_ANY;

	(void)s5__a32_add_full(&room->asleep, 1);
	while (s5__a32_load_acq(&room->go) == 0)
		(void)s5__sys(SYS_futex, (long)s5__a32_raw(word),
			      FUTEX_WAIT_BITSET, 0, 0, 0, (long)bit);
	(void)s5__a32_add_full(&room->awake, 1);
	return NULL;
}

/* Microseconds until the caller is back, and until all have run. */
static void wake_round(int n, bool seats, double *ret_back, double *ret_all)
{
	static pthread_t t[SLEEPERS_MAX];
	pthread_attr_t attr;
	uint64_t start;

	memset(room, 0, sizeof(*room));
	with_seats = seats;
	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, 65536);
	for (int i = 0; i < n; i++)
		if (pthread_create(&t[i], &attr, sleeper, (void *)(uintptr_t)i))
			die("pthread_create");
	while (s5__a32_load_acq(&room->asleep) != (uint32_t)n)
		(void)usleep(1000);
	(void)usleep(20000); /* the last steps into futex */
	start = s5__now_ns();
	s5__a32_store_rel(&room->go, 1);
	for (int i = 0; i < n; i += seats ? SEATS : 1) {
		struct s5__a32 *word =
			&room->word[(seats ? i / SEATS : i) * 16];

		s5__a32_store_rel(word, 1);
		(void)s5__sys(SYS_futex, (long)s5__a32_raw(word),
			      FUTEX_WAKE_BITSET, INT32_MAX, 0, 0,
			      FUTEX_BITSET_MATCH_ANY);
	}
	*ret_back = (double)(s5__now_ns() - start) / 1000;
	while (s5__a32_load_acq(&room->awake) != (uint32_t)n)
		(void)s5__sys(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	*ret_all = (double)(s5__now_ns() - start) / 1000;
	for (int i = 0; i < n; i++)
		(void)pthread_join(t[i], NULL);
}

static void compare_wakes(void)
{
	static const int counts[] = {1, 8, 64, 250};

	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		double back[2][ROUNDS], all[2][ROUNDS];

		for (int i = 0; i < ROUNDS; i++)
			for (int seats = 0; seats < 2; seats++)
				wake_round(counts[c], seats, &back[seats][i],
					   &all[seats][i]);
		printf("waking %3d, us until back / until all ran:  word each "
		       "%.0f / %.0f  seats %.0f / %.0f\n",
		       counts[c], median(back[0]), median(all[0]),
		       median(back[1]), median(all[1]));
	}
}

/* --- payloads ------------------------------------------------------------- */

static double pair(int q, size_t size)
{
	static struct {
		long type;
		char text[65536];
	} m = {1, ""};
	enum { N = 100000 };
	uint64_t t = s5__now_ns();

	for (int i = 0; i < N; i++)
		if (s5_msgsnd(q, &m, size, 0) != 0 ||
		    s5_msgrcv(q, &m, sizeof(m.text), 0, 0) != (ssize_t)size)
			die("pair");
	return (double)(s5__now_ns() - t) / N;
}

static void compare_sizes(void)
{
	static const size_t sizes[] = {0,    8,	   64,	 65,   184,
				       1024, 1864, 1865, 4096, 8192};
	int q = s5_msgget(IPC_PRIVATE, 0600);

	if (q < 0)
		die("msgget");
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		double ns[ROUNDS];

		for (int i = 0; i < ROUNDS; i++)
			ns[i] = pair(q, sizes[s]);
		printf("send and receive %4zu bytes: %.0f ns\n", sizes[s],
		       median(ns));
	}
	(void)s5_msgctl(q, IPC_RMID, NULL);
}

int main(void)
{
	char dir[] = "/dev/shm/sysfive-choices.XXXXXX";

	if (!mkdtemp(dir) || setenv("SYSFIVE_DIR", dir, 1) != 0)
		die(dir);
	room = mmap(NULL, sizeof(*room), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		die("mmap");
	compare_sizes();
	compare_releases();
	compare_wakes();
	{
		char arena[sizeof(dir) + 8];

		(void)snprintf(arena, sizeof(arena), "%s/arena", dir);
		(void)unlink(arena);
		(void)rmdir(dir);
	}
	return 0;
}
