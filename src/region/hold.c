/* SPDX-License-Identifier: MIT */
/*
 * hold.c - pages that keep their kind
 *
 * Some pages are looked at without a lock by callers that may be late, and so
 * never come to hold anything else; free ones hang in a list of their own. On
 * their way between that and an object they are in the owner's slot (`held`).
 */
#include "heap.h"

#define PART 512u /* pages moved in one transaction */

/* The last page of the chain that starts at `first`, `most` at most, and how
 * many these are; NULL if it is damaged. */
static uint32_t *last_of(uint32_t first, uint32_t most, uint32_t *ret_n)
{
	uint32_t *link = s5__page_at(first) ? s5__page_link(first) : NULL;

	for (*ret_n = 1; link && *link && *ret_n < most; (*ret_n)++)
		link = s5__page_at(*link) ? s5__page_link(*link) : NULL;
	return link;
}

void s5__pages_let_go(struct s5__self *self, uint32_t *head, uint32_t *kept)
{
	struct s5__a32 *lock = &s5__header()->heap_lock;
	uint32_t parts = 0;

	while (*head && parts++ < S5__IPC_MNI) {
		uint32_t *last;
		uint32_t n;

		if (!s5__lock_firmly(self, lock))
			return;
		last = *head ? last_of(*head, PART, &n) : NULL;
		if (last) {
			uint32_t rest = *last;

			s5__tx_log32(self, head);
			s5__tx_log32(self, last);
			s5__tx_log32(self, kept);
			s5__tx_arm(self);
			*last = *kept;
			*kept = *head;
			*head = rest;
			S5_CRASH_POINT("pages-let-go");
			s5__tx_commit(self);
		} else {
			*head = 0; /* damaged */
		}
		s5__unlock(self, lock);
	}
}

/* Takes up to `n` from the list into `held`, which is empty; how many. */
static int take_kept(struct s5__self *self, uint32_t n, uint32_t *kept)
{
	struct s5__a32 *lock = &s5__header()->heap_lock;
	uint32_t k = 0;
	int err = *kept ? s5__lock(self, lock) : 0;

	if (err || !*kept)
		return err;
	if (*kept) {
		uint32_t *last = last_of(*kept, n, &k);

		if (last) {
			s5__tx_log32(self, kept);
			s5__tx_log32(self, last);
			s5__tx_log32(self, &self->slot->held);
			s5__tx_arm(self);
			self->slot->held = *kept;
			*kept = *last;
			*last = 0;
			s5__tx_commit(self);
		} else {
			*kept = 0; /* damaged */
			k = 0;
		}
	}
	s5__unlock(self, lock);
	return (int)k;
}

/* Puts the pages just taken in front of those in `held`. */
static int join(struct s5__self *self, uint32_t n)
{
	struct s5__a32 *lock = &s5__header()->heap_lock;
	struct s5__slot *s = self->slot;
	int err = s5__lock(self, lock);
	uint32_t *last;
	uint32_t k;

	if (err)
		return err;
	last = last_of(s->pages, n, &k);
	if (last) {
		s5__tx_log32(self, last);
		s5__tx_log32(self, &s->held);
		s5__tx_log32(self, &s->pages);
		s5__tx_arm(self);
		*last = s->held;
		s->held = s->pages;
		s->pages = 0;
		S5_CRASH_POINT("pages-joined");
		s5__tx_commit(self);
	}
	s5__unlock(self, lock);
	return last ? 0 : -ENOMEM;
}

int s5__pages_hold(struct s5__self *self, uint32_t n, uint32_t *kept)
{
	int got, err;

	s5__pages_let_go(self, &self->slot->held, kept);
	got = take_kept(self, n, kept);
	if (got < 0)
		return got;
	if ((uint32_t)got >= n)
		return 0;
	err = s5__pages_take(self, n - (uint32_t)got);
	return err ? err : join(self, n - (uint32_t)got);
}
