/* SPDX-License-Identifier: MIT */
/*
 * check.c - the invariants of an arena at rest (docs/invariants.md)
 */
#include "check.h"

#include "harness.h"
#include "msg/msgq.h"
#include "msg/room.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LOOKS 3

enum use {
	NOWHERE = 0,
	FIXED,
	LINKS,
	SLOTS,
	QUEUES,
	LISTED,	 /* on the list of free pages */
	PUNCHED, /* free, without memory */
	OWNED,	 /* in a slot's chain */
	BODY,	 /* of a message */
	CELLS,	 /* cut into cells */
	MAGAZINE,
	DEPOT,
	MESSAGE,
	LANE,
	HAND,
};
static const char *const use_name[] = {"nowhere", "fixed",     "links",
				       "slots",	  "queues",    "free page",
				       "punched", "slot page", "body",
				       "cut",	  "magazine",  "depot",
				       "message", "lane",      "hand"};

static struct check_report *report;
static uint8_t *page_use, *cell_use; /* of every page and cell below bump */
static uint32_t n_pages;

__attribute__((format(printf, 2, 3))) static void bad(const char *invariant,
						      const char *format, ...)
{
	size_t used = strlen(report->text);
	va_list ap;

	report->n++;
	if (used > sizeof(report->text) - 200)
		return;
	used += (size_t)snprintf(report->text + used, 16, "  %s: ", invariant);
	va_start(ap, format);
	used += (size_t)vsnprintf(report->text + used, 180, format, ap);
	va_end(ap);
	if (used < sizeof(report->text) - 2)
		strcpy(report->text + used, "\n");
}

/* --- R: who owns what ------------------------------------------------------
 */

static bool use_page(uint32_t page, enum use use, const char *whose, uint32_t i)
{
	if (page >= n_pages) {
		bad("R2", "page %u of %s %u is beyond bump %u", page, whose, i,
		    n_pages);
		return false;
	}
	if (page_use[page] != NOWHERE) {
		bad("R3", "page %u of %s %u is also: %s", page, whose, i,
		    use_name[page_use[page]]);
		return false;
	}
	page_use[page] = (uint8_t)use;
	return true;
}

static bool use_cell(uint32_t cell, enum use use, const char *whose, uint32_t i)
{
	uint32_t page = cell / S5__CELLS_PER_PAGE;

	if (page >= n_pages || page < S5__FIX_PAGES) {
		bad("R2", "cell %u of %s %u is out of bounds", cell, whose, i);
		return false;
	}
	if (cell_use[cell] != NOWHERE) {
		bad("R3", "cell %u of %s %u is also: %s", cell, whose, i,
		    use_name[cell_use[cell]]);
		return false;
	}
	if (page_use[page] != NOWHERE && page_use[page] != CELLS) {
		bad("R3", "cell %u of %s %u lies in a page: %s", cell, whose, i,
		    use_name[page_use[page]]);
		return false;
	}
	page_use[page] = CELLS;
	cell_use[cell] = (uint8_t)use;
	return true;
}

static uint32_t use_page_chain(uint32_t page, enum use use, const char *whose,
			       uint32_t i)
{
	uint32_t n = 0;

	while (page) {
		uint32_t *link = s5__page_link(page);

		if (!link || !use_page(page, use, whose, i))
			break;
		n++;
		page = *link;
	}
	return n;
}

static uint32_t use_magazine(uint32_t cell, enum use use, const char *whose,
			     uint32_t i)
{
	uint32_t n = 0;

	while (cell) {
		struct s5__cell *c = s5__cell_at(cell);

		if (!c || !use_cell(cell, use, whose, i))
			break;
		n++;
		cell = c->mag_next;
	}
	return n;
}

/* The cells and pages of a message; `whole`: as many as its size asks for. */
static void use_message(uint32_t cell, enum use use, bool whole,
			const char *whose, uint32_t i)
{
	struct s5__message *m = s5__message_at(cell);
	uint64_t rest;
	uint32_t cells = 0, pages;

	if (!m || !use_cell(cell, use, whose, i))
		return;
	for (uint32_t at = m->next; at; cells++) {
		struct s5__cell *c = s5__cell_at(at);

		if (!c || !use_cell(at, use, whose, i))
			break;
		at = c->next;
	}
	pages = use_page_chain(m->pages, BODY, whose, i);
	rest = m->size > S5__MSG_INLINE ? m->size - S5__MSG_INLINE : 0;
	if (!whole)
		return;
	if (rest > S5__MSG_CELLS * S5__CELL_DATA
		    ? cells || pages != (rest + S5__PAGE - 1) / S5__PAGE
		    : pages || cells != (rest + S5__CELL_DATA - 1) /
						S5__CELL_DATA)
		bad("M2",
		    "message %u of %s %u: %llu bytes in %u cells, %u pages",
		    cell, whose, i, (unsigned long long)m->size, cells, pages);
}

static void look_at_fixed(void)
{
	struct s5__header *h = s5__header();
	uint32_t *slots = (uint32_t *)(void *)(s5__arena.base +
					       S5__FIX_SLOT_DIR * S5__PAGE);
	uint32_t *queues = (uint32_t *)(void *)(s5__arena.base +
						S5__FIX_MSGQ_DIR * S5__PAGE);
	uint32_t top = s5__a32_load_acq(&h->top);

	if (h->bump > top || top > h->pages)
		bad("R1", "bump %u, top %u, pages %llu", h->bump, top,
		    (unsigned long long)h->pages);
	for (uint32_t i = 0; i < S5__FIX_PAGES; i++)
		use_page(i, FIXED, "header", 0);
	for (uint32_t i = S5__EXTENT_PAGES; i < n_pages; i += S5__EXTENT_PAGES)
		use_page(i, LINKS, "extent", i / S5__EXTENT_PAGES);
	for (uint32_t i = 0; i < S5__SLOT_CHUNK; i++)
		for (uint32_t k = 0; slots[i] && k < S5__CHUNK_PAGES; k++)
			use_page(slots[i] + k, SLOTS, "slot chunk", i);
	for (uint32_t i = 0; i < S5__IPC_MNI / S5__MSGQ_CHUNK; i++)
		for (uint32_t k = 0; queues[i] && k < S5__CHUNK_PAGES; k++)
			use_page(queues[i] + k, QUEUES, "queue chunk", i);
}

static void look_at_heap(void)
{
	struct s5__header *h = s5__header();
	uint32_t n = use_page_chain(h->free_page, LISTED, "free list", 0);
	uint32_t batches = 0;

	if (n != h->free_n)
		bad("R4", "%u free pages, counted %u", n, h->free_n);
	n = use_page_chain(h->punched, PUNCHED, "punched list", 0);
	if (n != h->punched_n)
		bad("R4", "%u punched pages, counted %u", n, h->punched_n);
	for (uint32_t at = h->depot; at; batches++) {
		struct s5__cell *c = s5__cell_at(at);

		n = use_magazine(at, DEPOT, "depot batch", batches);
		if (!c || n == 0)
			break;
		if (c->batch_n != n)
			bad("R4", "batch %u of %u cells says %u", batches, n,
			    c->batch_n);
		at = c->batch_next;
	}
	if (batches != h->depot_n)
		bad("R4", "%u batches, counted %u", batches, h->depot_n);
}

/* Pages that s5__chunk_add() skipped at an extent's end, to begin a chunk in
 * the next one. */
static bool is_skipped(uint32_t page)
{
	uint32_t next = (page / S5__EXTENT_PAGES + 1) * S5__EXTENT_PAGES + 1;

	return page + S5__CHUNK_PAGES >= next && next < n_pages &&
	       (page_use[next] == SLOTS || page_use[next] == QUEUES);
}

static void look_for_leaks(void)
{
	for (uint32_t page = S5__FIX_PAGES; page < n_pages; page++) {
		uint32_t lost = 0, first = 0;

		if (page_use[page] == NOWHERE && !is_skipped(page))
			bad("R3", "page %u is nowhere", page);
		if (page_use[page] == LISTED || page_use[page] == PUNCHED)
			report->pages_free++;
		else if (page_use[page] == BODY)
			report->pages_used++;
		if (page_use[page] != CELLS)
			continue;
		for (uint32_t i = 0; i < S5__CELLS_PER_PAGE; i++) {
			uint32_t cell = page * S5__CELLS_PER_PAGE + i;

			if (cell_use[cell] == NOWHERE && lost++ == 0)
				first = cell;
			else if (cell_use[cell] == MAGAZINE ||
				 cell_use[cell] == DEPOT)
				report->cells_free++;
			else if (cell_use[cell] != NOWHERE)
				report->cells_used++;
		}
		if (lost)
			bad("R3", "%u cells from %u on are nowhere", lost,
			    first);
	}
}

/* --- T: slots --------------------------------------------------------------
 */

static bool is_dead(const struct s5__slot *s)
{
	return s5__a32_load_acq(&s->word) & FUTEX_OWNER_DIED;
}

static void look_at_slot(uint32_t i, struct s5__slot *s)
{
	uint32_t phase = s5__slot_phase(s5__a64_load_acq(&s->state));

	if (phase != S5__SLOT_USED) {
		if (s->mag[0] | s->mag[1] | s->pages | s->hand | s->wait_kind |
		    s->dismantle)
			bad("T1", "slot %u, phase %u, owns something", i,
			    phase);
		return;
	}
	report->slots++;
	if (is_dead(s))
		bad("T2", "slot %u is dead and not settled", i);
	for (int k = 0; k < 2; k++) {
		uint32_t n = use_magazine(s->mag[k], MAGAZINE, "slot", i);

		if (s->mag[k] && n != s->mag_n[k])
			bad("R4", "slot %u: magazine of %u says %u", i, n,
			    s->mag_n[k]);
	}
	(void)use_page_chain(s->pages, OWNED, "slot", i);
	if (s->hand)
		use_message(s->hand, HAND, false, "slot", i);
	if (s->wait_kind != S5__WAIT_NONE) {
		struct s5__msgq *q = s5__msgq_at(s->wait_obj);

		report->waiters++;
		if (!q || s5__a32_load_acq(&q->id) != s->wait_id)
			bad("M5", "slot %u waits at no queue", i);
	}
}

static void look_at_slots(void)
{
	uint32_t most = s5__a32_load_acq(&s5__header()->slot_chunks) * 8u;

	for (uint32_t i = 1; i < most; i++) {
		struct s5__slot *s = s5__slot_at(i);

		if (!s)
			bad("T3", "slot %u of %u is not there", i, most);
		else
			look_at_slot(i, s);
	}
}

/* --- M: a queue; its lock is held ------------------------------------------
 */

static void look_at_fifo(uint32_t i, const struct s5__msgq *q)
{
	uint64_t bytes = 0;
	uint32_t n = 0, before = 0;

	for (uint32_t at = q->head; at && n <= q->qnum;) {
		struct s5__message *m = s5__message_at(at);

		if (!m)
			break;
		if (m->fifo_prev != before)
			bad("M1", "queue %u: message %u says prev %u, not %u",
			    i, at, m->fifo_prev, before);
		use_message(at, MESSAGE, true, "queue", i);
		bytes += m->size;
		n++;
		before = at;
		at = at == q->tail ? 0 : m->fifo_next;
	}
	if (n != q->qnum || before != q->tail)
		bad("M1", "queue %u: %u messages, last %u; qnum %u, tail %u", i,
		    n, before, q->qnum, q->tail);
	if (bytes != q->cbytes)
		bad("M2", "queue %u: %llu bytes, cbytes %llu", i,
		    (unsigned long long)bytes, (unsigned long long)q->cbytes);
	report->messages += n;
}

/* One list of waiters; how many there are. */
static uint32_t look_at_waiters(uint32_t i, const struct s5__msgq *q,
				const struct s5__wait_list *list,
				enum s5__wait_kind kind, uint32_t lane)
{
	uint32_t n = 0, before = 0;
	uint64_t order = 0;

	for (uint32_t at = list->head; at && n < S5__SLOTS_MAX; n++) {
		struct s5__slot *w = s5__slot_at(at);

		if (!w || w->wait_kind != kind || w->prev != before ||
		    w->wait_obj != i ||
		    w->wait_id != s5__a32_load_rlx(&q->id) ||
		    (kind == S5__WAIT_RECV_TYPE && w->lane != lane)) {
			bad("M5", "queue %u: list %d: slot %u does not fit", i,
			    (int)kind, at);
			break;
		}
		if (n > 0 && w->wait_order <= order)
			bad("M5", "queue %u: slot %u is out of order", i, at);
		order = w->wait_order;
		before = at;
		at = w->next;
	}
	if (before != list->tail)
		bad("M5", "queue %u: list %d: tail %u, not %u", i, (int)kind,
		    list->tail, before);
	return n;
}

struct tree {
	const struct s5__msgq *q;
	uint32_t index;
	uint32_t leaves, nodes, typed, queued;
	uint32_t path[64];
};

static void look_for_overlooked(uint32_t i, const struct s5__msgq *q,
				uint32_t first);

static void look_at_lane(struct tree *t, uint32_t cell,
			 const struct s5__lane *l, int depth)
{
	bool above = l->has_node == 0;
	uint32_t at = l->head, fifo = t->q->head;

	for (int i = 0; i < depth; i++)
		above |= t->path[i] == cell;
	if (!above)
		bad("M3", "queue %u: lane %u: its node is not above it",
		    t->index, cell);
	t->leaves++;
	(void)use_cell(cell, LANE, "queue", t->index);
	t->typed += look_at_waiters(t->index, t->q, &l->receivers,
				    S5__WAIT_RECV_TYPE, cell);
	look_for_overlooked(t->index, t->q, l->receivers.head);
	/* Its messages are those of its type, in the queue's order. */
	for (uint32_t n = 0; fifo && n < t->q->qnum; n++) {
		const struct s5__message *m = s5__message_at(fifo);

		if (!m)
			return;
		if (m->type == l->type) {
			if (fifo != at || m->lane != cell) {
				bad("M3",
				    "queue %u: lane %u: message %u, not %u",
				    t->index, cell, at, fifo);
				return;
			}
			t->queued++;
			at = at == l->tail ? 0 : m->lane_next;
		}
		fifo = fifo == t->q->tail ? 0 : m->fifo_next;
	}
	if (at)
		bad("M3", "queue %u: lane %u goes on at %u", t->index, cell,
		    at);
}

/* The types below share the bits above `above` with `type`. */
static void look_at_tree(struct tree *t, uint32_t ref, uint32_t above,
			 uint64_t type, uint64_t known, int depth)
{
	const struct s5__lane *l = s5__lane_at(ref >> 1);

	if (!l || depth > 63) {
		bad("M3", "queue %u: bad reference %u", t->index, ref);
		return;
	}
	if (!(ref & 1u)) {
		if (((uint64_t)l->type ^ type) & known)
			bad("M3", "queue %u: lane of type %lld is misplaced",
			    t->index, (long long)l->type);
		look_at_lane(t, ref >> 1, l, depth);
		return;
	}
	if (l->bit >= above || !l->has_node) {
		bad("M3", "queue %u: node %u: bit %u below %u", t->index,
		    ref >> 1, l->bit, above);
		return;
	}
	t->nodes++;
	t->path[depth] = ref >> 1;
	for (uint64_t side = 0; side < 2; side++)
		look_at_tree(t, l->child[side], l->bit, type | side << l->bit,
			     known | (uint64_t)1 << l->bit, depth + 1);
}

static bool would_take(const struct s5__slot *w, int64_t type)
{
	switch (w->wait_flags) {
	case S5__SELECT_ANY:
		return true;
	case S5__SELECT_TYPE:
		return w->wait_type == type;
	case S5__SELECT_EXCEPT:
		return w->wait_type != type;
	default:
		return type <= -w->wait_type;
	}
}

static void look_for_overlooked(uint32_t i, const struct s5__msgq *q,
				uint32_t first)
{
	for (uint32_t at = first, k = 0; at && k < S5__SLOTS_MAX; k++) {
		const struct s5__slot *w = s5__slot_at(at);
		uint32_t cell = q->head;

		if (!w)
			return;
		for (uint32_t n = 0; cell && n < q->qnum && !is_dead(w); n++) {
			const struct s5__message *m = s5__message_at(cell);

			if (!m)
				return;
			if (would_take(w, m->type) && !s5__slot_is_stopped(w))
				bad("M4", "queue %u: slot %u waits, message %u",
				    i, at, cell);
			cell = cell == q->tail ? 0 : m->fifo_next;
		}
		at = w->next;
	}
}

static void look_at_lists(uint32_t i, const struct s5__msgq *q)
{
	struct tree t = {.q = q, .index = i};
	uint32_t any = look_at_waiters(i, q, &q->any, S5__WAIT_RECV_ANY, 0);
	uint32_t send = look_at_waiters(i, q, &q->senders, S5__WAIT_SEND, 0);

	if (q->root)
		look_at_tree(&t, q->root, 63, 0, 0, 0);
	if (t.leaves != q->n_lanes || (t.leaves && t.nodes != t.leaves - 1))
		bad("M3", "queue %u: %u leaves, %u nodes, n_lanes %u", i,
		    t.leaves, t.nodes, q->n_lanes);
	if (t.queued != q->qnum)
		bad("M3", "queue %u: %u messages in lanes, qnum %u", i,
		    t.queued, q->qnum);
	if (any + t.typed != q->n_recv || send != q->n_send)
		bad("M5", "queue %u: %u+%u receivers, %u senders; says %u, %u",
		    i, any, t.typed, send, q->n_recv, q->n_send);
	look_for_overlooked(i, q, q->any.head);
	report->lanes += t.leaves;
}

/* Every message before `skip` is of skip_type. */
static void look_at_skip(uint32_t i, const struct s5__msgq *q)
{
	uint32_t at = q->head;

	for (uint32_t n = 0; q->skip_type && at && at != q->skip && n < q->qnum;
	     n++) {
		const struct s5__message *m = s5__message_at(at);

		if (!m)
			return;
		if (m->type != q->skip_type) {
			bad("M6", "queue %u: message %u is skipped", i, at);
			return;
		}
		at = at == q->tail ? 0 : m->fifo_next;
	}
	if (q->skip_type && at != q->skip)
		bad("M6", "queue %u: skip leads to no message", i);
}

static void look_at_queue(uint32_t i, struct s5__msgq *q)
{
	uint32_t id = s5__a32_load_acq(&q->id);

	switch (q->ipc.phase) {
	case S5__PHASE_FREE:
		if (id || q->head || q->qnum || q->cbytes || q->root ||
		    q->n_recv || q->n_send || q->any.head || q->senders.head)
			bad("N2", "queue %u is free and not empty", i);
		return;
	case S5__PHASE_LIVE:
		if (id != (q->ipc.seq << S5__IPC_SHIFT | i) + 1)
			bad("N2", "queue %u, sequence %u: id %u", i, q->ipc.seq,
			    id - 1);
		break;
	case S5__PHASE_DYING:
		bad("N3", "queue %u is dying, and nobody is at it", i);
		if (id)
			bad("N2", "queue %u is dying and has an id", i);
		break;
	default:
		bad("N2", "queue %u: phase %u", i, q->ipc.phase);
		return;
	}
	report->queues++;
	look_at_fifo(i, q);
	look_at_lists(i, q);
	look_at_skip(i, q);
}

static void look_at_queues(struct s5__self *self)
{
	for (uint32_t i = 0; i < S5__IPC_MNI; i++) {
		struct s5__msgq *q = s5__msgq_at(i);

		if (!q) {
			i |= (uint32_t)S5__MSGQ_CHUNK - 1;
			continue;
		}
		if (s5__lock(self, &q->lock) != 0) {
			bad("L1", "the lock of queue %u is not to be had", i);
			continue;
		}
		look_at_queue(i, q);
		s5__unlock(self, &q->lock);
	}
}

/* --- N: names ---------------------------------------------------------------
 */

static void look_at_names(void)
{
	const struct s5__names *names = &s5__header()->names[S5__KIND_MSG];
	const uint32_t *bucket =
		(uint32_t *)(void *)(s5__arena.base +
				     S5__FIX_MSG_KEYS * S5__PAGE);
	uint32_t in_use = 0, keyed = 0, found = 0;

	for (uint32_t i = 0; i < S5__IPC_MNI; i++) {
		struct s5__msgq *q = s5__msgq_at(i);

		if (!q) {
			i |= (uint32_t)S5__MSGQ_CHUNK - 1;
			continue;
		}
		in_use += q->ipc.phase != S5__PHASE_FREE;
		keyed += q->ipc.phase != S5__PHASE_FREE && q->ipc.key != 0;
	}
	for (uint32_t b = 0; b < S5__KEY_BUCKET; b++) {
		uint32_t n = 0;

		for (uint32_t at = bucket[b]; at && n < S5__IPC_MNI; n++) {
			struct s5__msgq *q = s5__msgq_at(at - 1);
			uint32_t hash;

			if (!q || q->ipc.phase == S5__PHASE_FREE) {
				bad("N1", "bucket %u: no queue %u", b, at - 1);
				break;
			}
			hash = (uint32_t)q->ipc.key * 2654435761u;
			if ((hash >> 20) % S5__KEY_BUCKET != b)
				bad("N1", "bucket %u: key %d of queue %u", b,
				    q->ipc.key, at - 1);
			at = q->ipc.key_next;
		}
		found += n;
	}
	if (found != keyed)
		bad("N1", "%u keys in buckets, %u queues with a key", found,
		    keyed);
	if (in_use != names->in_use)
		bad("N4", "%u queues in use, counted %u", in_use,
		    names->in_use);
	if (names->next > S5__IPC_MNI || names->last > S5__IPC_MNI)
		bad("N4", "next %u, last %u", names->next, names->last);
}

/* --- all ---------------------------------------------------------------------
 */

static void look_at_all(struct s5__self *self, struct check_report *r)
{
	struct s5__header *h = s5__header();

	memset(r, 0, sizeof(*r));
	report = r;
	/* Taking each lock once repairs what it protects. */
	if (s5__lock(self, &h->heap_lock) != 0)
		bad("L1", "the heap's lock is not to be had");
	else
		s5__unlock(self, &h->heap_lock);
	if (s5__lock(self, &h->reg_lock) != 0)
		bad("L1", "the registry's lock is not to be had");
	else
		s5__unlock(self, &h->reg_lock);
	n_pages = h->bump;
	if (n_pages > h->pages)
		n_pages = (uint32_t)h->pages;
	r->bump = n_pages;
	page_use = calloc(n_pages, 1);
	cell_use = calloc((size_t)n_pages * S5__CELLS_PER_PAGE, 1);
	CHECK(page_use && cell_use);
	look_at_fixed();
	look_at_heap();
	look_at_queues(self);
	look_at_slots();
	look_at_names();
	look_for_leaks();
	free(page_use);
	free(cell_use);
}

static struct s5__self *enter(void)
{
	struct s5__self *self;
	int err;

	s5__msg_init();
	err = s5__enter(&self, false);
	CHECK(err == 0, "enter: %d", err);
	return self;
}

bool check_all(struct check_report *ret_report)
{
	struct timespec gap = {0, 3000000};
	struct s5__self *self = enter();

	for (int look = 0; look < LOOKS; look++) {
		look_at_all(self, ret_report);
		if (ret_report->n == 0)
			break;
		nanosleep(&gap, NULL);
	}
	s5__leave(self);
	return ret_report->n == 0;
}

unsigned check_settle(void)
{
	struct s5__self *self = enter();
	unsigned left = 0;

	for (int round = 0; round < 50; round++) {
		uint32_t most =
			s5__a32_load_acq(&s5__header()->slot_chunks) * 8u;

		left = 0;
		for (uint32_t i = 1; i < most; i++) {
			struct s5__slot *s = s5__slot_at(i);

			if (!s || i == self->idx ||
			    s5__slot_phase(s5__a64_load_acq(&s->state)) !=
				    S5__SLOT_USED ||
			    !s5__slot_check_gone(s))
				continue;
			s5__settle(self, i);
			left += s5__slot_phase(s5__a64_load_acq(&s->state)) ==
					S5__SLOT_USED &&
				is_dead(s);
		}
		if (left == 0)
			break;
	}
	s5__leave(self);
	return left;
}

void check_clean(const char *when)
{
	static struct check_report r;
	unsigned left = check_settle();

	CHECK(left == 0, "%s: %u dead slots cannot be settled", when, left);
	CHECK(check_all(&r), "%s: %u violations\n%s", when, r.n, r.text);
}
