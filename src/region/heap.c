/* SPDX-License-Identifier: MIT */
/*
 * heap.c - cells, pages and chunks; reserving memory before it is used
 *
 * Lock: header->heap_lock. Every change of a shared list is one transaction of
 * a few words. Pages are reserved (MADV_POPULATE_WRITE) outside of the lock
 * and before anybody may touch them, so a full file system is ENOMEM from the
 * call that needed memory, and never SIGBUS. Pages on the list `punched` may
 * be without memory, and so may those that were taken from it, or are about to
 * come to it: slot->hollow says so, for whoever has to put them somewhere.
 */
#include "heap.h"

#include "ns.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define GROW_MIN     16u  /* pages reserved at a time: 64 KiB ... */
#define GROW_MAX     256u /* ... up to 1 MiB in a large arena */
#define KEEP_FREE    256u /* free pages that keep their memory */
#define TAKE_AT_MOST 512u /* pages taken under one hold of the lock */

/* Makes [from, to) accessible here and present in the file. */
static int reserve(uint32_t from, uint32_t to)
{
	char *p = s5__arena.base + ((uint64_t)from << S5__PAGE_SHIFT);
	size_t len = (size_t)(to - from) << S5__PAGE_SHIFT;
	long err;

	if (((uint64_t)to << S5__PAGE_SHIFT) > s5__arena.reserved)
		return -ENOMEM;
	err = s5__sys(SYS_mprotect, (long)p, (long)len, PROT_READ | PROT_WRITE,
		      0, 0, 0);
	if (err == 0)
		err = s5__sys(SYS_madvise, (long)p, (long)len,
			      MADV_POPULATE_WRITE, 0, 0, 0);
	if (err == -EINVAL) /* a kernel before 5.14 */
		err = s5__ns_fallocate((uint64_t)from << S5__PAGE_SHIFT, len);
	return err ? -ENOMEM : 0;
}

/* Raises `top` by at least `need` pages. No lock held. */
static int grow(struct s5__self *self, uint32_t need)
{
	struct s5__header *h = s5__header();
	uint32_t bump = __atomic_load_n(&h->bump, __ATOMIC_ACQUIRE);
	/* PAIR top: acquire; what lies below is reserved. */
	uint32_t top = s5__a32_load_acq(&h->top);
	uint32_t step = top / 8;
	uint64_t to;
	int err;

	if (bump > top)
		return -ENOMEM; /* damaged; do not fill the file to get there */
	step = step < GROW_MIN ? GROW_MIN : step > GROW_MAX ? GROW_MAX : step;
	if (step < need + 1)
		step = need + 1;
	to = (uint64_t)top + step;
	if (to > h->pages)
		to = h->pages;
	if (to < (uint64_t)top + need + 1)
		return -ENOMEM;
	err = reserve(top, (uint32_t)to);
	if (err && step > need + 1) { /* nearly full: take what is needed */
		to = (uint64_t)top + need + 1;
		err = reserve(top, (uint32_t)to);
	}
	if (err)
		return err;
	S5_CRASH_POINT("heap-reserved");
	err = s5__lock(self, &h->heap_lock);
	if (err)
		return err;
	if (s5__a32_load_rlx(&h->top) < to)
		s5__a32_store_rel(&h->top,
				  (uint32_t)to); /* PAIR top: release */
	s5__unlock(self, &h->heap_lock);
	return 0;
}

/* The next page never given out, past an extent's link page; 0 if none. */
static uint32_t bump_page(const struct s5__header *h, uint32_t bump)
{
	if (bump % S5__EXTENT_PAGES == 0)
		bump++;
	return bump < s5__a32_load_rlx(&h->top) ? bump : 0;
}

/* Moves up to `n` free pages to slot->pages; the lock is held. Returns how
 * many; a page at *ret_punched came without memory. */
static uint32_t take_listed(struct s5__self *self, uint32_t *list,
			    uint32_t *list_n, uint32_t n)
{
	struct s5__slot *s = self->slot;
	uint32_t head = *list;
	uint32_t *link = s5__page_link(head);
	uint32_t k = 1;
	uint32_t rest;

	if (head == 0 || !link || !s5__page_at(head))
		return 0;
	while (k < n && k < TAKE_AT_MOST && *link) {
		uint32_t *l = s5__page_link(*link);

		if (!l || !s5__page_at(*link))
			break;
		link = l;
		k++;
	}
	rest = *link;
	s5__tx_log32(self, list);
	s5__tx_log32(self, list_n);
	s5__tx_log32(self, link);
	s5__tx_log32(self, &s->pages);
	s5__tx_arm(self);
	*link = s->pages;
	s->pages = head;
	*list = rest;
	*list_n = *list_n > k ? *list_n - k : 0;
	s5__tx_commit(self);
	return k;
}

static uint32_t take_fresh(struct s5__self *self, uint32_t n)
{
	struct s5__header *h = s5__header();
	struct s5__slot *s = self->slot;
	uint32_t head = s->pages;
	uint32_t bump = h->bump;
	uint32_t k = 0;

	while (k < n && k < TAKE_AT_MOST) {
		uint32_t page = bump_page(h, bump);
		uint32_t *link = page ? s5__page_link(page) : NULL;

		if (!link)
			break;
		*link = head; /* not yet anybody's: nothing to log */
		head = page;
		bump = page + 1;
		k++;
	}
	if (k == 0)
		return 0;
	s5__tx_log32(self, &h->bump);
	s5__tx_log32(self, &s->pages);
	s5__tx_arm(self);
	h->bump = bump;
	s->pages = head;
	s5__tx_commit(self);
	return k;
}

/* The newest `k` pages of slot->pages have no memory: reserve them again. */
static int refill_punched(struct s5__self *self, uint32_t k)
{
	uint32_t page = self->slot->pages;

	while (k-- > 0) {
		uint32_t *link = s5__page_link(page);

		if (!link || reserve(page, page + 1))
			return -ENOMEM;
		page = *link;
	}
	return 0;
}

/* Moves the chain from *head to *tail, `k` pages, to the list; what follows
 * `tail` stays at *head. The lock is held. */
static void list_pages(struct s5__self *self, uint32_t *head, uint32_t *tail,
		       uint32_t k, bool punched)
{
	struct s5__header *h = s5__header();
	uint32_t *list = punched ? &h->punched : &h->free_page;
	uint32_t *list_n = punched ? &h->punched_n : &h->free_n;
	uint32_t first = *head;
	uint32_t rest = *tail;

	s5__tx_log32(self, head);
	s5__tx_log32(self, tail);
	s5__tx_log32(self, list);
	s5__tx_log32(self, list_n);
	s5__tx_arm(self);
	*tail = *list;
	*list = first;
	*list_n += k;
	*head = rest;
	s5__tx_commit(self);
}

/* The newest `k` pages of slot->pages, which could not be refilled, go back to
 * where they came from. */
static bool give_up(struct s5__self *self, uint32_t k)
{
	struct s5__slot *s = self->slot;
	uint32_t *tail = s5__page_link(s->pages);

	for (uint32_t n = 1; n < k && tail; n++)
		tail = s5__page_link(*tail);
	if (!tail || s5__lock(self, &s5__header()->heap_lock) != 0)
		return false;
	list_pages(self, &s->pages, tail, k, true);
	s5__unlock(self, &s5__header()->heap_lock);
	return true;
}

/* Takes up to `n` pages, *ret_k, and sees to it that they have memory. */
static int take_some(struct s5__self *self, uint32_t n, uint32_t *ret_k)
{
	struct s5__header *h = s5__header();
	bool punched = false;
	uint32_t k;
	int err = s5__lock(self, &h->heap_lock);

	if (err)
		return err;
	k = take_listed(self, &h->free_page, &h->free_n, n);
	if (k == 0)
		k = take_fresh(self, n);
	if (k == 0) {
		self->slot->hollow |= S5__HOLLOW_PAGES;
		s5__order();
		k = take_listed(self, &h->punched, &h->punched_n, n);
		punched = k != 0;
	}
	s5__unlock(self, &h->heap_lock);
	S5_CRASH_POINT("heap-pages-taken");
	*ret_k = k;
	if (punched)
		err = refill_punched(self, k);
	if (err && !give_up(self, k))
		return err; /* all of them go there, later */
	self->slot->hollow &= ~S5__HOLLOW_PAGES;
	return err || k ? err : grow(self, n < GROW_MAX ? n : GROW_MAX);
}

int s5__pages_take(struct s5__self *self, uint32_t n)
{
	/* What a call that failed could not put back. */
	int err = s5__pages_put(self, &self->slot->pages);

	while (err == 0 && n > 0) {
		uint32_t k = 0;

		err = take_some(self, n, &k);
		n -= k < n ? k : n;
	}
	return err;
}

/* Gives the memory of a chain back to the file system, run by run. */
static void punch(uint32_t page, uint32_t n)
{
	/* The links may have changed since they were counted: look again. */
	while (n > 0 && s5__page_at(page)) {
		uint32_t lo = page, hi = page + 1;
		uint32_t *link = s5__page_link(page);

		n--;
		page = link ? *link : 0;
		while (n > 0 && (page == hi || page + 1 == lo) &&
		       s5__page_at(page)) {
			link = s5__page_link(page);
			if (page == hi)
				hi++;
			else
				lo--;
			n--;
			page = link ? *link : 0;
		}
		(void)s5__sys(SYS_madvise,
			      (long)(s5__arena.base +
				     ((uint64_t)lo << S5__PAGE_SHIFT)),
			      (long)(hi - lo) << S5__PAGE_SHIFT, MADV_REMOVE, 0,
			      0, 0);
	}
}

/* No chain of pages can be longer. (What is open here may lag behind.) */
static uint32_t most_pages(void)
{
	uint64_t most = s5__arena.reserved >> S5__PAGE_SHIFT;
	/* PAIR top: acquire */
	uint32_t top = s5__a32_load_acq(&s5__header()->top);

	return top < most ? top : (uint32_t)most;
}

/* The page that a link leads to, read once; 0 if there is none. Then it has a
 * link, too. */
static uint32_t link_of(const uint32_t *link)
{
	uint32_t page = *(const volatile uint32_t *)link;

	return page && s5__page_at(page) && s5__page_link(page) ? page : 0;
}

int s5__pages_put(struct s5__self *self, uint32_t *head)
{
	struct s5__header *h = s5__header();
	uint32_t first = *head;
	uint32_t *tail = s5__page_link(first);
	uint32_t hollow =
		head == &self->slot->pages ? S5__HOLLOW_PAGES : S5__HOLLOW_HAND;
	uint32_t k = 1;
	uint32_t seen = 0;
	uint32_t next;
	int err;

	if (first == 0)
		return 0;
	if (!tail || !s5__page_at(first)) {
		*head = 0; /* damaged */
		return 0;
	}
	for (; (next = link_of(tail)) != 0; k++) {
		if (next == seen || k > most_pages()) {
			*head = 0; /* damaged: it leads back into itself */
			return 0;
		}
		if ((k & (k - 1)) == 0)
			seen = next;
		tail = s5__page_link(next);
	}
	if (h->free_n + k > KEEP_FREE) {      /* racy read: only a policy */
		self->slot->hollow |= hollow; /* until they are on a list */
		s5__order();
		punch(first, k);
		S5_CRASH_POINT("heap-punched");
	}
	err = s5__lock(self, &h->heap_lock);
	if (err)
		return err;
	*tail = 0; /* if it led astray */
	list_pages(self, head, tail, k, (self->slot->hollow & hollow) != 0);
	s5__unlock(self, &h->heap_lock);
	self->slot->hollow &= ~hollow;
	return 0;
}

bool s5__pages_put_some(struct s5__self *self, uint32_t *head, bool hollow)
{
	uint32_t first = *head;
	uint32_t *tail = s5__page_link(first);
	uint32_t k = 1;
	uint32_t next;

	if (first == 0)
		return true;
	if (!tail || !s5__page_at(first)) {
		*head = 0; /* damaged */
		return true;
	}
	for (; k < TAKE_AT_MOST && (next = link_of(tail)) != 0; k++)
		tail = s5__page_link(next);
	list_pages(self, head, tail, k, hollow);
	return *head == 0;
}

/* Cuts the first page in slot->pages into a magazine. */
static void carve(struct s5__self *self)
{
	struct s5__slot *s = self->slot;
	uint32_t first = s->pages * S5__CELLS_PER_PAGE;
	uint32_t *link = s5__page_link(s->pages);

	for (uint32_t i = 0; i < S5__CELLS_PER_PAGE; i++) {
		struct s5__cell *c = s5__cell_at(first + i);

		if (!c)
			return;
		c->next = 0;
		c->mag_next = i + 1 < S5__CELLS_PER_PAGE ? first + i + 1 : 0;
	}
	s5__order();
	s->mag[0] = first; /* s5__heap_settle(): the page counts as cut now */
	s->mag_n[0] = S5__CELLS_PER_PAGE;
	s5__order();
	S5_CRASH_POINT("heap-carved");
	s->pages = link ? *link : 0;
}

/* Takes a full magazine from the depot; the lock is held, mag[0] is empty. */
static bool take_batch(struct s5__self *self)
{
	struct s5__header *h = s5__header();
	struct s5__slot *s = self->slot;
	uint32_t first = h->depot;
	struct s5__cell *c = s5__cell_at(first);
	uint32_t n;

	if (!c)
		return false;
	n = c->batch_n;
	s5__tx_log32(self, &h->depot);
	s5__tx_log32(self, &h->depot_n);
	s5__tx_log32(self, &s->mag[0]);
	s5__tx_arm(self);
	h->depot = c->batch_next;
	h->depot_n--;
	s->mag[0] = first;
	s5__tx_commit(self);
	s->mag_n[0] = n <= 4 * S5__MAG_MAX ? n : 1;
	return true;
}

/* Empties mag[0]: what is left becomes, or joins, the spare magazine. */
static void make_room(struct s5__slot *s)
{
	uint32_t last = s->mag[0];
	struct s5__cell *c = s5__cell_at(last);
	uint32_t n = 1;

	if (last == 0)
		return;
	while (c && s5__cell_at(c->mag_next) && n < 4 * S5__MAG_MAX) {
		c = s5__cell_at(c->mag_next);
		n++;
	}
	if (s->mag[1] && c)
		c->mag_next = s->mag[1]; /* a death here: [0] contains [1] */
	s5__order();
	s->mag_n[1] = n + (s->mag[1] ? s->mag_n[1] : 0);
	s->mag[1] = s->mag[0];
	s5__order();
	s->mag[0] = 0;
	s->mag_n[0] = 0;
}

/* How many cells both magazines hold. */
static uint32_t cells_at_hand(const struct s5__slot *s)
{
	return (s->mag[0] ? s->mag_n[0] : 0) + (s->mag[1] ? s->mag_n[1] : 0);
}

int s5__cells_reserve(struct s5__self *self, uint32_t n)
{
	struct s5__header *h = s5__header();
	struct s5__slot *s = self->slot;
	bool found;
	int err;

	if (S5_LIKELY(s->mag[0] && s->mag_n[0] >= n))
		return 0;
	while (cells_at_hand(s) < n) { /* a magazine may hold few cells */
		make_room(s);
		err = s5__lock(self, &h->heap_lock);
		if (err)
			return err;
		found = take_batch(self);
		s5__unlock(self, &h->heap_lock);
		if (found)
			continue;
		err = s5__pages_take(self, 1);
		if (err)
			return err;
		carve(self);
	}
	return 0;
}

/* Hangs the magazine *mag (of a slot) into the depot; the lock is held. */
static void give_batch(struct s5__self *self, uint32_t *mag, uint32_t n)
{
	struct s5__header *h = s5__header();
	uint32_t first = *mag;
	struct s5__cell *c = s5__cell_at(first);

	if (!c) {
		*mag = 0;
		return;
	}
	s5__tx_log32(self, mag);
	s5__tx_log32(self, &h->depot);
	s5__tx_log32(self, &h->depot_n);
	s5__tx_log32(self, &c->batch_next);
	s5__tx_log32(self, &c->batch_n);
	s5__tx_arm(self);
	c->batch_next = h->depot;
	c->batch_n = n;
	h->depot = first;
	h->depot_n++;
	*mag = 0;
	s5__tx_commit(self);
}

/* Halves mag[0], whose rest becomes mag[1], which is empty. */
static void split_magazine(struct s5__slot *s)
{
	struct s5__cell *c = s5__cell_at(s->mag[0]);

	for (uint32_t n = 1; c && n < S5__MAG_MAX; n++)
		c = s5__cell_at(c->mag_next);
	if (!c)
		return;
	s->mag[1] = c->mag_next; /* a death here: [0] contains [1] */
	s->mag_n[1] = s->mag_n[0] - S5__MAG_MAX;
	s5__order();
	c->mag_next = 0;
	s->mag_n[0] = S5__MAG_MAX;
}

void s5__cells_overflow(struct s5__self *self)
{
	struct s5__header *h = s5__header();
	struct s5__slot *s = self->slot;

	if (s->mag_n[0] < S5__MAG_MAX)
		return;
	/* Who takes in more than it gives out, in turns, has just this one. */
	if (s->mag[1] == 0 && s->mag_n[0] >= 2 * S5__MAG_MAX)
		split_magazine(s);
	if (s->mag[1]) {
		if (s5__lock(self, &h->heap_lock))
			return; /* the magazine grows; tried again next time */
		give_batch(self, &s->mag[1], s->mag_n[1]);
		s5__unlock(self, &h->heap_lock);
	}
	s->mag[1] = s->mag[0];
	s->mag_n[1] = s->mag_n[0];
	s5__order();
	s->mag[0] = 0; /* a death here: both the same, counts once */
	s->mag_n[0] = 0;
}

/* The first page that a chunk at `bump` can have: its pages are in one extent.
 */
static uint32_t chunk_page(uint32_t bump)
{
	uint32_t at = bump % S5__EXTENT_PAGES;

	if (at != 0 && at + S5__CHUNK_PAGES <= S5__EXTENT_PAGES)
		return bump;
	return (bump + S5__EXTENT_PAGES - 1) / S5__EXTENT_PAGES *
		       S5__EXTENT_PAGES +
	       1;
}

/* Takes the pages of a chunk, which then hang at slot->pages; `entry` is where
 * they will be named. The lock is held. */
static bool take_chunk(struct s5__self *self, uint32_t first,
		       const struct s5__a32 *entry)
{
	struct s5__header *h = s5__header();
	struct s5__slot *s = self->slot;

	for (uint32_t i = 0; i < S5__CHUNK_PAGES; i++) {
		uint32_t *link = s5__page_link(first + i);

		if (!link)
			return false;
		*link = i + 1 < S5__CHUNK_PAGES ? first + i + 1 : 0;
	}
	s5__tx_log32(self, &h->bump);
	s5__tx_log32(self, &s->pages);
	s5__tx_log32(self, &s->chunk);
	s5__tx_arm(self);
	h->bump = first + S5__CHUNK_PAGES;
	s->pages = first;
	s->chunk = (uint32_t)s5__off(entry);
	s5__tx_commit(self);
	return true;
}

/*
 * Readers hold no lock, so what they see must stay: the pages are committed
 * before they are named, and named before they are counted. Who dies in between
 * leaves pages that its slot names, too (chunk_is_named()), or a count that the
 * next caller puts right.
 */
static void name_chunk(struct s5__self *self, struct s5__a32 *dir, uint32_t at,
		       struct s5__a32 *count)
{
	S5_CRASH_POINT("chunk-taken");
	if (self->slot->pages) {
		s5__a32_store_rel(&dir[at], self->slot->pages); /* PAIR dir:
								 * release */
		S5_CRASH_POINT("chunk-named");
	}
	if (s5__a32_load_rlx(count) <= at)
		s5__a32_store_rel(count, at + 1); /* PAIR dir: release */
	s5__order();
	self->slot->pages = 0;
}

int s5__chunk_add(struct s5__self *self, struct s5__a32 *dir, uint32_t at,
		  struct s5__a32 *count)
{
	struct s5__header *h = s5__header();
	/* What a call that failed could not put back. */
	int err = s5__pages_put(self, &self->slot->pages);

	while (err == 0) {
		uint32_t first;
		bool done;

		err = s5__lock(self, &h->heap_lock);
		if (err)
			break;
		first = chunk_page(h->bump);
		done = s5__a32_load_rlx(&dir[at]) != 0 ||
		       (first + S5__CHUNK_PAGES <= s5__a32_load_rlx(&h->top) &&
			take_chunk(self, first, &dir[at]));
		if (done)
			name_chunk(self, dir, at, count);
		s5__unlock(self, &h->heap_lock);
		if (done)
			break;
		err = grow(self, S5__CHUNK_PAGES + 8);
	}
	return err;
}

/* A chain of cells is as long as its links say; counts are only hints. */
static uint32_t batch_length(uint32_t first)
{
	uint32_t n = 0;

	while (first && n < 4 * S5__MAG_MAX) {
		struct s5__cell *c = s5__cell_at(first);

		if (!c)
			break;
		first = c->mag_next;
		n++;
	}
	return n;
}

static bool chain_contains(uint32_t first, uint32_t cell)
{
	for (uint32_t n = 0; first && n < 8 * S5__MAG_MAX; n++) {
		struct s5__cell *c = s5__cell_at(first);

		if (first == cell)
			return true;
		first = c ? c->mag_next : 0;
	}
	return false;
}

/* Did it die when it had named the chunk whose pages hang at `pages`? */
static bool chunk_is_named(const struct s5__slot *dead)
{
	const struct s5__a32 *entry =
		(dead->chunk & 3u) || dead->chunk / S5__PAGE < S5__FIX_SLOT_DIR
			? NULL
			: s5__at(dead->chunk, 4);

	return entry && dead->chunk / S5__PAGE < S5__FIX_PAGES &&
	       s5__a32_load_rlx(entry) == dead->pages;
}

static void settle_magazines(struct s5__self *self, struct s5__slot *dead)
{
	uint32_t *link = s5__page_link(dead->pages);

	if (dead->pages && chunk_is_named(dead))
		dead->pages = 0;
	if (chain_contains(dead->mag[0], dead->mag[1]))
		dead->mag[1] = 0; /* it died between two stores */
	if (dead->pages && dead->mag[0] / S5__CELLS_PER_PAGE == dead->pages)
		dead->pages = link ? *link : 0; /* ... cutting that page */
	for (int i = 0; i < 2; i++)
		if (dead->mag[i])
			give_batch(self, &dead->mag[i],
				   batch_length(dead->mag[i]));
}

int s5__heap_settle(struct s5__self *self, struct s5__slot *dead)
{
	struct s5__header *h = s5__header();
	uint32_t rounds = most_pages() / TAKE_AT_MOST + 2;
	bool done = false;

	while (!done) {
		int err = s5__lock(self, &h->heap_lock);

		if (err)
			return err;
		done = dead != self->slot && !s5__slot_is_left(dead);
		if (!done) {
			settle_magazines(self, dead);
			done = s5__pages_put_some(self, &dead->pages,
						  (dead->hollow &
						   S5__HOLLOW_PAGES) != 0) &&
			       s5__pages_put_some(self, &dead->held, false);
			if (!done && rounds-- == 0) {
				dead->pages = 0; /* damaged: a circle */
				dead->held = 0;
				done = true;
			}
		}
		s5__unlock(self, &h->heap_lock);
		S5_CRASH_POINT("settle-heap");
	}
	return 0;
}
