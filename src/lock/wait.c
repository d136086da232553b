/* SPDX-License-Identifier: MIT */
/*
 * wait.c - sleeping for a result, and spinning before that
 *
 * No wakeup is lost: the sleeper sets ASLEEP in its word by compare-and-swap,
 * the waker sets DONE in the same word by fetch-or and so learns whether a
 * system call is due. A handler that runs in the sleeper's thread adds to the
 * word (s5__defer_bump), so one between the last look and the sleep makes the
 * futex call return at once. A spurious wake costs one more look.
 *
 * On a seat the futex word is another. The sleeper reads that one first, then
 * its own; the waker changes its own, then that one. So either the sleeper sees
 * DONE, or its futex call finds another value, or it sleeps before the wake.
 */
#include "wait.h"

#include "../base/defer.h"
#include "seat.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>

/*
 * Spinning. A round trip through futex costs 15 to 50 us between two CPUs, so
 * spinning pays where a partner is about to come; it must last longer than a
 * wakeup, or two that wake each other never find out that they need not. The
 * back-off between looks lets the partner keep the cache lines, and so batch.
 * Where the partner was last seen on our own CPU, it cannot come while we
 * spin; there yielding costs less than sleeping and being woken.
 *
 * What each of the two has been worth lately decides whether it is tried: a hit
 * gains 2, a miss loses 1; at 0 it rests for 32 waits, and for twice as many
 * after each try in vain. A yield that takes long gave the CPU to a third
 * party, and rests for the longest time.
 * docs/design/measurements.md has the figures.
 */
#define SPIN_NS		50000u
#define SPIN_GAIN_NS	8000u
#define SPIN_FIRST	4u   /* pauses between looks: from ... */
#define SPIN_BACKOFF	64u  /* ... to */
#define SPIN_STREAM	350u /* in a stream, always: about 3 us */
#define SPIN_WORTH	8
#define SPIN_REST_LEAST 32u
#define SPIN_REST_MOST	2048u
#define YIELDS		3u
#define YIELD_LONG_NS	300000u

static bool worth_it(struct s5__spin *spin)
{
	if (spin->worth > 0)
		return true;
	if (++spin->skipped < spin->rest)
		return false;
	spin->skipped = 0;
	spin->rest =
		spin->rest < SPIN_REST_MOST ? spin->rest * 2 : SPIN_REST_MOST;
	return true;
}

/* A hit that took long enough to sleep instead proves nothing: where many
 * threads share few CPUs somebody else could have run. */
static bool settle_worth(struct s5__spin *spin, bool hit, uint64_t ns)
{
	if (hit && ns < SPIN_GAIN_NS) {
		spin->rest = SPIN_REST_LEAST;
		if (spin->worth < SPIN_WORTH)
			spin->worth += 2;
	} else if (!hit && spin->worth > 0) {
		spin->worth--;
	}
	return hit;
}

static bool spin_pausing(const struct s5__a32 *word, uint32_t seen,
			 enum s5__pace pace, uint64_t start)
{
	uint32_t step = pace == S5__PACE_STREAM ? SPIN_STREAM : SPIN_FIRST;
	uint32_t most = pace == S5__PACE_STREAM ? SPIN_STREAM : SPIN_BACKOFF;

	while (s5__now_ns() - start < SPIN_NS) {
		for (uint32_t i = 0; i < step; i++)
			s5__pause();
		if (s5__a32_load_rlx(word) != seen) /* a hint only */
			return true;
		if (s5__defer_self.todo)
			return false;
		if (step < most)
			step *= 2;
	}
	return false;
}

static bool spin_yielding(const struct s5__a32 *word, uint32_t seen)
{
	for (uint32_t i = 0; i < YIELDS; i++) {
		(void)s5__sys(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
		if (s5__a32_load_rlx(word) != seen) /* a hint only */
			return true;
		if (s5__defer_self.todo)
			return false;
	}
	return false;
}

bool s5__spin_while(struct s5__self *self, const struct s5__a32 *word,
		    uint32_t seen, uint32_t event, enum s5__pace pace)
{
	uint64_t start = s5__now_ns();
	bool hit;

	if (s5__process.other_cpus && s5__event_elsewhere(event) &&
	    worth_it(&self->spin)) {
		hit = spin_pausing(word, seen, pace, start);
		return settle_worth(&self->spin, hit, s5__now_ns() - start);
	}
	if (!worth_it(&self->yield))
		return false;
	hit = spin_yielding(word, seen);
	if (s5__now_ns() - start > YIELD_LONG_NS) { /* to a third party */
		self->yield.worth = 0;
		self->yield.rest = SPIN_REST_MOST;
		return hit;
	}
	return settle_worth(&self->yield, hit, 0);
}

bool s5__wait_revoke(struct s5__slot *s)
{
	for (;;) {
		/* PAIR wait-result: acquire */
		uint32_t v = s5__a32_load_acq(&s->wait_word);

		if (!(v & S5__WAIT_DONE) ||
		    (v & (S5__WAIT_TAKEN | S5__WAIT_REVOKED)))
			return false;
		if (s5__a32_cas_full(&s->wait_word, v, v | S5__WAIT_REVOKED))
			return true;
	}
}

/* Where a call sleeps: on its slot's word, or on a seat. */
struct bed {
	struct s5__a32 *word;
	uint32_t bits;
	bool cancel;
	bool made; /* wakers know of it */
};

static struct bed choose_bed(struct s5__slot *s, bool seated, bool cancel)
{
	struct bed bed = {&s->wait_word, FUTEX_BITSET_MATCH_ANY, cancel, false};
	uint32_t seat = 0;

	if (seated) {
		seat = s5__seat_take();
		bed.word = s5__seat_word(seat);
		bed.bits = s5__seat_bit(seat);
		seat++;
	}
	s->wait_seat = seat;
	return bed;
}

/* `v` was seen in the slot's word, after `seen` in the bed's. */
static void sleep_once(struct s5__slot *s, struct bed *bed, uint32_t v,
		       uint32_t seen, uint64_t until)
{
	struct timespec t = {(time_t)(until / 1000000000u),
			     (long)(until % 1000000000u)};
	int old = 0;

	/* Even if the flag is set from an earlier bed: who sets DONE after
	 * this finds the new one. */
	if (!bed->made) {
		if (!s5__a32_cas_full(&s->wait_word, v, v | S5__WAIT_ASLEEP))
			return;
		bed->made = true;
		if (bed->word == &s->wait_word)
			seen = v | S5__WAIT_ASLEEP;
	}
	if (bed->cancel)
		(void)pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
	(void)s5__futex_wait_bits(s5__a32_raw(bed->word), seen, bed->bits, &t);
	if (bed->cancel)
		(void)pthread_setcanceltype(old, &old);
}

#define STAMP_OLD_NS (S5__WAIT_LOOK_NS + S5__WAIT_LOOK_NS / 2)

static enum s5__wait_end wait_in_bed(struct s5__self *self, uint64_t deadline,
				     bool cancel, uint32_t event, bool seated)
{
	struct s5__slot *s = self->slot;
	uint32_t gen = self->wait_gen;
	struct s5__gap gap;
	enum s5__wait_end end = S5__WAIT_END_LOOK;
	uint64_t now = s5__now_ns();
	uint64_t look = now + S5__WAIT_LOOK_NS;
	struct bed bed;

	s5__a64_store_rlx(&s->wait_stamp, now); /* for those who look at us */
	if (event != S5__NO_SPIN)
		(void)s5__spin_while(self, &s->wait_word, 0, event,
				     S5__PACE_REPLY);
	bed = choose_bed(s, seated, cancel);
	s5__defer_sleep_on(&s->wait_word.v, seated ? &bed.word->v : NULL);
	gap = s5__let_in(self);
	for (;;) {
		/* PAIR seat: acquire; before the result. */
		uint32_t seen = s5__a32_load_acq(bed.word);
		/* PAIR wait-result: acquire */
		uint32_t v = s5__a32_load_acq(&s->wait_word);

		if (self->wait_gen != gen || self->slot != s) {
			end = S5__WAIT_END_INTR;
			break;
		}
		if (v & S5__WAIT_DONE) {
			end = S5__WAIT_END_DONE;
			break;
		}
		if (s5__defer_intr() != gap.intr) {
			end = S5__WAIT_END_INTR;
			break;
		}
		if (deadline && now >= deadline) {
			end = S5__WAIT_END_TIMEOUT;
			break;
		}
		if (now >= look)
			break;
		sleep_once(s, &bed, v, seen,
			   deadline && deadline < look ? deadline : look);
		now = s5__now_ns();
	}
	/* In this order: a handler that jumps away has either bumped the word,
	 * so that wakers pass us over, or waits until the call's end. */
	if (!s5__shut_out(self, &gap))
		end = S5__WAIT_END_INTR;
	s5__defer_sleep_on(NULL, NULL);
	return end;
}

enum s5__wait_end s5__wait(struct s5__self *self, uint64_t deadline,
			   bool cancel, uint32_t event)
{
	return wait_in_bed(self, deadline, cancel, event, false);
}

enum s5__wait_end s5__wait_seated(struct s5__self *self, uint64_t deadline,
				  bool cancel, uint32_t event)
{
	return wait_in_bed(self, deadline, cancel, event, true);
}

bool s5__slot_is_stopped(const struct s5__slot *w)
{
	char path[64] = "/proc/";
	char buf[256];
	char *p = path + 6;
	const char *state;
	long fd, n;

	if (w->pid_ns != s5__self.pid_ns)
		return false;
	for (int part = 0; part < 2; part++) {
		uint32_t v = part ? w->tid : w->pid;
		char digits[12];
		int k = 0;

		do {
			digits[k++] = (char)('0' + v % 10);
			v /= 10;
		} while (v);
		while (k > 0)
			*p++ = digits[--k];
		memcpy(p, part ? "/stat\0" : "/task/", 7);
		p += part ? 5 : 6;
	}
	fd = s5__sys(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0,
		     0, 0);
	if (fd < 0)
		return false;
	n = s5__sys(SYS_read, fd, (long)buf, sizeof(buf) - 1, 0, 0, 0);
	(void)s5__sys(SYS_close, fd, 0, 0, 0, 0, 0);
	if (n <= 0)
		return false;
	buf[n] = '\0';
	state = strrchr(buf, ')');
	return state && (state[2] == 'T' || state[2] == 't');
}

bool s5__slot_is_late(const struct s5__slot *w)
{
	return s5__now_ns() - s5__a64_load_rlx(&w->wait_stamp) > STAMP_OLD_NS;
}
