/* SPDX-License-Identifier: MIT */
/*
 * lanes.c - the tree of a queue's types
 *
 * A crit-bit tree: an inner node names the highest bit in which the types below
 * it differ, so a walk is at most 63 steps, and bits fall on the way down; a
 * walk that finds otherwise has met damage and ends. N leaves have N-1 inner
 * nodes, and each inner node lives in the cell of a leaf below it. When that
 * leaf goes, the node moves to the place of the inner node which goes with it.
 */
#include "lanes.h"

#define DEPTH_MAX 64
#define BIT_TOP	  63u

static bool is_inner(uint32_t ref)
{
	return ref & 1u;
}

/* The leaf that a walk for `type` ends at, or 0. */
static uint32_t walk(uint32_t ref, int64_t type)
{
	uint32_t above = BIT_TOP;

	while (is_inner(ref)) {
		const struct s5__lane *n = s5__lane_at(ref >> 1);
		uint32_t bit;

		if (!n)
			return 0;
		bit = *(const volatile uint32_t *)&n->bit; /* read once */
		if (bit >= above)
			return 0;
		above = bit;
		ref = n->child[(uint64_t)type >> bit & 1u];
	}
	return ref >> 1;
}

uint32_t s5__lane_find(const struct s5__msgq *q, int64_t type)
{
	uint32_t cell = walk(q->root, type);
	const struct s5__lane *l = cell ? s5__lane_at(cell) : NULL;

	return l && l->type == type ? cell : 0;
}

uint32_t s5__lane_any(const struct s5__msgq *q)
{
	return walk(q->root, 0);
}

uint32_t s5__lane_lowest(const struct s5__msgq *q, int64_t most)
{
	uint32_t todo[DEPTH_MAX];
	uint32_t ref = q->root;
	int n = 0;
	uint32_t steps = 0;

	/* In order of types; lanes without a message are few, or are those
	 * that somebody waits for. */
	while (ref && steps++ < S5__SLOTS_MAX * 4) {
		const struct s5__lane *l = s5__lane_at(ref >> 1);

		if (!l)
			return 0;
		if (is_inner(ref)) {
			if (n < DEPTH_MAX)
				todo[n++] = l->child[1];
			ref = l->child[0];
			continue;
		}
		if (l->type > most)
			return 0;
		if (l->head)
			return ref >> 1;
		ref = n > 0 ? todo[--n] : 0;
	}
	return 0;
}

uint32_t s5__lane_add(struct s5__self *self, struct s5__msgq *q, int64_t type)
{
	struct s5__slot *s = self->slot;
	uint32_t cell = s5__cell_peek(self);
	struct s5__lane *lane = s5__lane_at(cell);
	uint32_t *link = &q->root;
	uint32_t bit = 0;
	uint32_t above = BIT_TOP;

	if (!lane)
		return 0;
	if (q->root) {
		uint32_t near = walk(q->root, type);
		struct s5__lane *l = near ? s5__lane_at(near) : NULL;

		if (!l || l->type == type)
			return 0;
		bit = 63u -
		      (uint32_t)__builtin_clzll((uint64_t)(l->type ^ type));
	}
	while (is_inner(*link)) {
		struct s5__lane *n = s5__lane_at(*link >> 1);

		if (!n || n->bit >= above)
			return 0;
		if (n->bit < bit)
			break;
		above = n->bit;
		link = &n->child[(uint64_t)type >> (n->bit & 63u) & 1u];
	}
	s5__tx_log32(self, link);
	s5__tx_log32(self, &q->n_lanes);
	s5__tx_log32(self, &s->mag[0]);
	s5__tx_log32(self, &s->mag_n[0]);
	s5__tx_arm(self);
	lane->head = 0;
	lane->tail = 0;
	lane->receivers.head = 0;
	lane->receivers.tail = 0;
	lane->type = type;
	lane->has_node = *link != 0;
	lane->bit = bit;
	lane->child[(uint64_t)type >> bit & 1u] = cell << 1;
	lane->child[~(uint64_t)type >> bit & 1u] = *link;
	*link = *link ? cell << 1 | 1u : cell << 1;
	q->n_lanes++;
	s->mag[0] = lane->mag_next;
	s->mag_n[0]--;
	return cell;
}

/* What leads to `target` on the way to `type`, or NULL. */
static uint32_t *link_to(struct s5__msgq *q, int64_t type, uint32_t target)
{
	uint32_t *link = &q->root;
	uint32_t above = BIT_TOP;

	while (*link != target) {
		struct s5__lane *n = s5__lane_at(*link >> 1);

		if (!is_inner(*link) || !n || n->bit >= above)
			return NULL;
		above = n->bit;
		link = &n->child[(uint64_t)type >> (n->bit & 63u) & 1u];
	}
	return link;
}

/* The inner node right above the leaf, as a reference; 0 if it is the root. */
static uint32_t parent_of(const struct s5__msgq *q, int64_t type, uint32_t leaf)
{
	uint32_t ref = q->root, parent = 0;
	uint32_t above = BIT_TOP;

	while (ref != leaf) {
		const struct s5__lane *n = s5__lane_at(ref >> 1);

		if (!is_inner(ref) || !n || n->bit >= above)
			return 0;
		above = n->bit;
		parent = ref;
		ref = n->child[(uint64_t)type >> (n->bit & 63u) & 1u];
	}
	return parent;
}

/* Takes the leaf and its parent out of the tree, and lets the inner node that
 * lives in the leaf's cell move to where the parent was. */
static bool unlink_leaf(struct s5__self *self, struct s5__msgq *q,
			uint32_t cell, struct s5__lane *lane)
{
	uint32_t parent = parent_of(q, lane->type, cell << 1);
	struct s5__lane *p = parent ? s5__lane_at(parent >> 1) : NULL;
	uint32_t *up, *move = NULL;

	if (!parent) {
		if (q->root != cell << 1)
			return false;
		s5__tx_log32(self, &q->root);
		s5__tx_arm(self);
		q->root = 0;
		return true;
	}
	up = link_to(q, lane->type, parent);
	if (lane->has_node && parent >> 1 != cell)
		move = link_to(q, lane->type, cell << 1 | 1u);
	if (!p || !up || (lane->has_node && parent >> 1 != cell && !move))
		return false;
	s5__tx_log32(self, up);
	s5__tx_log32(self, &p->has_node);
	s5__tx_log32(self, &p->bit);
	s5__tx_log64(self, p->child);
	if (move)
		s5__tx_log32(self, move);
	s5__tx_arm(self);
	*up = p->child[~(uint64_t)lane->type >> (p->bit & 63u) & 1u];
	p->has_node = 0;
	if (move) {
		/* `up` may be a link inside of the node that moves. */
		p->bit = lane->bit;
		p->child[0] = lane->child[0];
		p->child[1] = lane->child[1];
		p->has_node = 1;
		*move = parent;
	}
	return true;
}

void s5__lane_drop(struct s5__self *self, struct s5__msgq *q, uint32_t cell)
{
	struct s5__slot *s = self->slot;
	struct s5__lane *lane = s5__lane_at(cell);

	if (!lane || lane->head || lane->receivers.head)
		return;
	s5__tx_log32(self, &q->n_lanes);
	s5__tx_log32(self, &s->mag[0]);
	s5__tx_log32(self, &s->mag_n[0]);
	s5__tx_log32(self, &lane->mag_next);
	if (!unlink_leaf(self, q, cell, lane))
		return;
	q->n_lanes--;
	lane->mag_next = s->mag[0];
	s->mag[0] = cell;
	s->mag_n[0]++;
}
