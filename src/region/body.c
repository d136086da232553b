/* SPDX-License-Identifier: MIT */
/*
 * body.c - bytes of a message, in cells and pages
 *
 * No lock is held while user memory is touched. A message on its way is in the
 * owner's slot (`hand`); a cell that goes from there to the magazine, or comes
 * from it, is named in both for a moment, which s5__body_free_dead() knows.
 */
#include "body.h"

#include <string.h>

/* Parts in which the pages of the largest message, 2 GiB, are freed. */
#define PART_ROUNDS (524288u / 512u + 1u)

static uint32_t cells_for(uint64_t size)
{
	uint64_t rest = size > S5__MSG_INLINE ? size - S5__MSG_INLINE : 0;

	if (rest > S5__MSG_CELLS * S5__CELL_DATA)
		return 0;
	return (uint32_t)((rest + S5__CELL_DATA - 1) / S5__CELL_DATA);
}

static uint32_t pages_for(uint64_t size)
{
	uint64_t rest = size > S5__MSG_INLINE ? size - S5__MSG_INLINE : 0;

	if (rest <= S5__MSG_CELLS * S5__CELL_DATA)
		return 0;
	return (uint32_t)((rest + S5__PAGE - 1) / S5__PAGE);
}

/* The pieces of a body behind its first cell, one after the other: cells, or
 * pages. */
struct pieces {
	uint32_t cell, page;
	uint64_t len; /* bytes in each */
};

static struct pieces pieces_of(const struct s5__message *m)
{
	return (struct pieces){m->next, m->pages,
			       m->pages ? S5__PAGE : S5__CELL_DATA};
}

/* The next piece, or NULL where the chain ends, or is damaged. */
static void *next_piece(struct pieces *at)
{
	void *p = NULL;

	if (at->len == S5__PAGE) {
		const uint32_t *link = s5__page_link(at->page);

		p = s5__page_at(at->page);
		at->page = link ? *link : 0;
	} else {
		struct s5__cell *c = s5__cell_at(at->cell);

		if (c) {
			p = c->data;
			at->cell = c->next;
		}
	}
	return p;
}

/* Copies to (`out`) or from the chain, from byte S5__MSG_INLINE on. */
static bool copy_chain(const struct s5__message *m, uint8_t *user, uint64_t n,
		       bool out)
{
	struct pieces at = pieces_of(m);

	while (n > 0) {
		uint64_t len = n < at.len ? n : at.len;
		void *p = next_piece(&at);

		if (!p)
			return false;
		if (out)
			memcpy(user, p, len);
		else
			memcpy(p, user, len);
		user += len;
		n -= len;
	}
	return true;
}

/* The further cells and pages that the body needs. */
static int make_chain(struct s5__self *self, struct s5__message *m,
		      uint64_t size)
{
	struct s5__slot *s = self->slot;
	uint32_t *link = &m->next;

	for (uint32_t i = cells_for(size); i > 0; i--) {
		uint32_t cell = s5__cell_peek(self);
		struct s5__cell *c = s5__cell_at(cell);

		if (!c)
			return -ENOMEM;
		c->next = 0;
		*link = cell;
		s5__cell_taken(self, c);
		link = &c->next;
	}
	if (pages_for(size) == 0)
		return 0;
	m->pages = s->pages;
	s5__order(); /* a death here: named twice, counts once */
	s->pages = 0;
	return 0;
}

int s5__body_alloc(struct s5__self *self, int64_t type, uint64_t size)
{
	struct s5__slot *s = self->slot;
	struct s5__message *m;
	uint32_t cell;
	int err = s5__cells_reserve(self, cells_for(size) + 2);

	if (S5_UNLIKELY(err == 0 && pages_for(size)))
		err = s5__pages_take(self, pages_for(size));
	if (S5_UNLIKELY(err)) {
		(void)s5__pages_put(self, &s->pages);
		return err;
	}
	cell = s5__cell_peek(self);
	m = s5__message_at(cell);
	if (S5_UNLIKELY(!m))
		return -ENOMEM;
	m->next = 0;
	m->pages = 0;
	m->type = type;
	m->size = size;
	s->hand_kind = S5__HAND_PUT;
	s->hand = cell;
	s5__cell_taken(self, (struct s5__cell *)(void *)m);
	S5_CRASH_POINT("body-in-hand");
	if (S5_LIKELY(size <= S5__MSG_INLINE))
		return 0;
	err = make_chain(self, m, size);
	if (err)
		s5__hand_empty(self);
	return err;
}

int s5__body_make(struct s5__self *self, const void *user, int64_t type,
		  uint64_t size)
{
	int err = s5__body_alloc(self, type, size);
	struct s5__message *m;

	if (S5_UNLIKELY(err))
		return err;
	m = s5__message_at(self->slot->hand);
	if (S5_UNLIKELY(!m))
		return -ENOMEM; /* damaged meanwhile */
	if (S5_LIKELY(size <= S5__MSG_INLINE)) {
		memcpy(m->data, user, size);
		return 0;
	}
	memcpy(m->data, user, S5__MSG_INLINE);
	if (copy_chain(m, (uint8_t *)(uintptr_t)user + S5__MSG_INLINE,
		       size - S5__MSG_INLINE, false))
		return 0;
	s5__hand_empty(self);
	return -ENOMEM;
}

/* Both bodies are of that size, so they are cut into the same pieces. */
bool s5__body_clone(struct s5__message *to, const struct s5__message *from,
		    uint64_t size)
{
	uint64_t rest = size > S5__MSG_INLINE ? size - S5__MSG_INLINE : 0;
	struct pieces t = pieces_of(to), f = pieces_of(from);

	if (t.len != f.len)
		return false; /* damaged */
	to->type = from->type;
	memcpy(to->data, from->data, S5__MSG_INLINE);
	while (rest > 0) {
		uint64_t len = rest < t.len ? rest : t.len;
		void *d = next_piece(&t);
		const void *s = next_piece(&f);

		if (!d || !s)
			return false;
		memcpy(d, s, len);
		rest -= len;
	}
	return true;
}

const void *s5__body_at(const struct s5__message *m, uint64_t offset)
{
	struct pieces at = pieces_of(m);
	const uint8_t *p = m->data;

	if (offset >= S5__MSG_INLINE) {
		offset -= S5__MSG_INLINE;
		p = next_piece(&at);
		for (; p && offset >= at.len; offset -= at.len)
			p = next_piece(&at);
	}
	return p ? p + offset : NULL;
}

bool s5__body_copy(const struct s5__message *m, void *user, uint64_t n)
{
	if (S5_LIKELY(n <= S5__MSG_INLINE)) {
		memcpy(user, m->data, n);
		return true;
	}
	memcpy(user, m->data, S5__MSG_INLINE);
	return copy_chain(m, (uint8_t *)user + S5__MSG_INLINE,
			  n - S5__MSG_INLINE, true);
}

bool s5__body_free(struct s5__self *self)
{
	struct s5__slot *s = self->slot;
	uint32_t cell = s->hand;
	struct s5__message *m = s5__message_at(cell);

	s->hand_kind = S5__HAND_PUT; /* not to be given back any more */
	if (S5_UNLIKELY(!m)) {
		s->hand = 0;
		return true;
	}
	for (uint32_t n = 0; m->next && n < S5__MSG_CELLS; n++) {
		struct s5__cell *c = s5__cell_at(m->next);

		if (!c)
			break;
		s5__cell_put(self, m->next, c);
		m->next = c->next;
		S5_CRASH_POINT("body-free-step");
	}
	if (S5_UNLIKELY(m->pages) && s5__pages_put(self, &m->pages) != 0)
		return false;
	s5__cell_put(self, cell, (struct s5__cell *)(void *)m);
	s->hand = 0;
	if (S5_UNLIKELY(s->mag_n[0] >= S5__MAG_MAX))
		s5__cells_overflow(self);
	return true;
}

void s5__hand_empty(struct s5__self *self)
{
	while (self->slot->hand && !s5__body_free(self))
		(void)s5__lock_wait(self);
}

/* Moves one cell from the chain at *link of a dead thread to our magazine. */
static void steal_cell(struct s5__self *self, struct s5__slot *dead,
		       uint32_t *link, uint32_t rest)
{
	struct s5__slot *s = self->slot;
	uint32_t cell = *link;
	struct s5__cell *c = s5__cell_at(cell);

	if (c && cell != dead->mag[0]) {
		s5__tx_log32(self, &s->mag[0]);
		s5__tx_log32(self, &c->mag_next);
		s5__tx_log32(self, link);
		s5__tx_arm(self);
		c->mag_next = s->mag[0];
		s->mag[0] = cell;
		s->mag_n[0]++;
	} else {
		s5__tx_log32(self, link);
		s5__tx_arm(self);
	}
	*link = rest;
	s5__tx_commit(self);
}

int s5__body_free_dead(struct s5__self *self, struct s5__slot *dead)
{
	struct s5__header *h = s5__header();
	int err = s5__lock(self, &h->heap_lock);
	struct s5__message *m;
	bool done = false;

	if (err)
		return err;
	m = s5__message_at(dead->hand);
	if (!s5__slot_is_left(dead) || dead->hand_kind == S5__HAND_GOT || !m) {
		if (!m && s5__slot_is_left(dead))
			dead->hand = 0;
		s5__unlock(self, &h->heap_lock);
		return 0;
	}
	for (uint32_t n = 0; m->next && n < S5__MSG_CELLS; n++) {
		struct s5__cell *c = s5__cell_at(m->next);

		steal_cell(self, dead, &m->next, c ? c->next : 0);
	}
	if (m->pages && m->pages == dead->pages)
		dead->pages = 0; /* it died between two stores */
	for (uint32_t n = 0; n < PART_ROUNDS && !done; n++)
		done = s5__pages_put_some(self, &m->pages,
					  (dead->hollow & S5__HOLLOW_HAND) !=
						  0);
	if (!done)
		m->pages = 0; /* more than there can be: damaged */
	steal_cell(self, dead, &dead->hand, 0);
	s5__unlock(self, &h->heap_lock);
	s5__cells_overflow(self);
	return 0;
}
