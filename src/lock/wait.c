/* SPDX-License-Identifier: MIT */
/*
 * wait.c - sleeping for a result, and spinning before that
 *
 * No wakeup is lost: the sleeper sets ASLEEP in its word by compare-and-swap,
 * the waker sets DONE in the same word by fetch-or and so learns whether a
 * system call is due. A handler that runs in the sleeper's thread adds to the
 * word (s5__defer_bump), so one between the last look and the sleep makes the
 * futex call return at once. A spurious wake costs one more look.
 */
#include "wait.h"

#include "../base/defer.h"

#include <pthread.h>

/*
 * Spinning. A round trip through futex costs 15 to 50 us between two CPUs, so
 * up to about 20 us of spinning pay where a partner is about to come. The
 * back-off between looks lets the partner keep the cache line, and so batch.
 * `self->spin` is the worth: gains 2 for a hit, loses 1 for a miss; at 0 only
 * every SPIN_PROBE-th wait tries. docs/design/measurements.md has the figures.
 */
#define SPIN_PAUSES  1200u
#define SPIN_BACKOFF 64u
#define SPIN_WORTH   8
#define SPIN_PROBE   32u

bool s5__spin_while(struct s5__self *self, const struct s5__a32 *word,
		    uint32_t seen)
{
	uint32_t step = 1;

	if (s5__process.cpus < 2)
		return false;
	if (self->spin <= 0 && ++self->spin_skip < SPIN_PROBE)
		return false;
	self->spin_skip = 0;
	for (uint32_t done = 0; done < SPIN_PAUSES; done += step) {
		for (uint32_t i = 0; i < step; i++)
			s5__pause();
		if (s5__a32_load_rlx(word) != seen) { /* a hint only */
			if (self->spin < SPIN_WORTH)
				self->spin += 2;
			return true;
		}
		if (s5__defer_self.todo)
			return false;
		if (step < SPIN_BACKOFF)
			step *= 2;
	}
	if (self->spin > 0)
		self->spin--;
	return false;
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

static void sleep_once(struct s5__slot *s, uint32_t v, uint64_t until,
		       bool cancel)
{
	struct timespec t = { (time_t)(until / 1000000000u),
			      (long)(until % 1000000000u) };
	int old = 0;

	if (!(v & S5__WAIT_ASLEEP)) {
		if (!s5__a32_cas_full(&s->wait_word, v, v | S5__WAIT_ASLEEP))
			return;
		v |= S5__WAIT_ASLEEP;
	}
	if (cancel)
		(void)pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
	(void)s5__futex_wait(s5__a32_raw(&s->wait_word), v, &t);
	if (cancel)
		(void)pthread_setcanceltype(old, &old);
}

enum s5__wait_end s5__wait(struct s5__self *self, uint64_t deadline,
			   bool cancel)
{
	struct s5__slot *s = self->slot;
	uint32_t gen = self->wait_gen;
	uint32_t intr = self->intr;
	enum s5__wait_end end = S5__WAIT_END_LOOK;
	uint64_t now = s5__now_ns();
	uint64_t look = now + S5__WAIT_LOOK_NS;

	s5__a64_store_rlx(&s->wait_stamp, now); /* for those who look at us */
	s5__defer_sleep_on(&s->wait_word.v);
	s5__defer_leave();
	for (;;) {
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
		if (s5__defer_intr() != intr) {
			end = S5__WAIT_END_INTR;
			break;
		}
		if (deadline && now >= deadline) {
			end = S5__WAIT_END_TIMEOUT;
			break;
		}
		if (now >= look)
			break;
		sleep_once(s, v, deadline && deadline < look ? deadline : look,
			   cancel);
		now = s5__now_ns();
	}
	s5__defer_sleep_on(NULL);
	s5__defer_enter();
	self->intr = intr;
	return end;
}
