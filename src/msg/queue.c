/* SPDX-License-Identifier: MIT */
/*
 * queue.c - messages into and out of a queue's lists
 *
 * The queue's lock is held. Every change is logged and armed before it is
 * made; the caller commits.
 */
#include "msgq.h"

/* The first message that is not of `type`. What lies before it is remembered,
 * so that a run of one type is passed once and not in every call. */
static uint32_t select_except(struct s5__self *self, struct s5__msgq *q,
			      int64_t type)
{
	struct s5__message *m = s5__message_at(q->head);
	uint32_t at;
	uint32_t steps = 0;

	if (!m || m->type != type)
		return q->head;
	at = q->skip_type == type ? q->skip : m->fifo_next;
	if (q->head == q->tail)
		at = 0;
	while (at) {
		m = s5__message_at(at);
		if (!m || m->type != type || ++steps > q->qnum)
			break;
		at = at == q->tail ? 0 : m->fifo_next;
	}
	/* True before and after a rollback: nothing else has changed. */
	s5__tx_log32(self, &q->skip);
	s5__tx_log64(self, &q->skip_type);
	s5__tx_arm(self);
	q->skip = at;
	q->skip_type = type;
	s5__tx_commit(self);
	return m && steps <= q->qnum ? at : 0;
}

uint32_t s5__msgq_select(struct s5__self *self, struct s5__msgq *q,
			 const struct s5__want *want)
{
	uint32_t cell;

	if (q->head == 0)
		return 0;
	switch (want->select) {
	case S5__SELECT_ANY:
		return q->head;
	case S5__SELECT_TYPE:
		cell = s5__lane_find(q, want->type);
		return cell ? s5__lane_at(cell)->head : 0;
	case S5__SELECT_EXCEPT:
		return select_except(self, q, want->type);
	case S5__SELECT_UPTO:
		cell = s5__lane_lowest(q, -want->type);
		return cell ? s5__lane_at(cell)->head : 0;
	}
	return 0;
}

/* What every change of the queue's content logs. */
static void log_queue(struct s5__self *self, struct s5__msgq *q)
{
	s5__tx_log64(self, &q->head);
	s5__tx_log64(self, &q->qnum);
	s5__tx_log64(self, &q->cbytes);
}

static void put_in_front(struct s5__msgq *q, struct s5__lane *lane,
			 struct s5__message *m, uint32_t cell,
			 struct s5__message *first)
{
	m->fifo_prev = 0;
	m->fifo_next = q->head;
	m->lane_next = lane->head;
	if (first)
		first->fifo_prev = cell;
	else
		q->tail = cell;
	q->head = cell;
	if (!lane->head)
		lane->tail = cell;
	lane->head = cell;
}

static void put_at_end(struct s5__msgq *q, struct s5__lane *lane,
		       struct s5__message *m, uint32_t cell,
		       struct s5__message *last, struct s5__message *lane_last)
{
	m->fifo_prev = q->tail;
	if (last)
		last->fifo_next = cell;
	else
		q->head = cell;
	q->tail = cell;
	if (lane_last)
		lane_last->lane_next = cell;
	else
		lane->head = cell;
	lane->tail = cell;
}

/* `skip` follows what comes in. */
static void note_for_skip(struct s5__msgq *q, uint32_t cell, bool in_front)
{
	if (in_front)
		q->skip_type = 0;
	else if (q->skip == 0)
		q->skip = cell;
}

bool s5__msgq_append(struct s5__self *self, struct s5__msgq *q,
		     struct s5__slot *from, bool in_front)
{
	uint32_t cell = from->hand;
	struct s5__message *m = s5__message_at(cell);
	uint32_t lane_cell = m ? s5__lane_find(q, m->type) : 0;
	struct s5__message *last, *lane_last;
	struct s5__lane *lane;

	if (m && !lane_cell)
		lane_cell = s5__lane_add(self, q, m->type);
	lane = lane_cell ? s5__lane_at(lane_cell) : NULL;
	if (!lane)
		return false;
	last = q->head ? s5__message_at(in_front ? q->head : q->tail) : NULL;
	lane_last = lane->head ? s5__message_at(lane->tail) : NULL;
	if ((q->head && !last) || (lane->head && !lane_last))
		return false;
	log_queue(self, q);
	s5__tx_log64(self, &lane->head);
	s5__tx_log64(self, &from->hand);
	if (in_front && last)
		s5__tx_log32(self, &last->fifo_prev);
	if (S5_UNLIKELY(q->skip_type != 0)) {
		s5__tx_log32(self, &q->skip);
		s5__tx_log64(self, &q->skip_type);
	}
	s5__tx_arm(self);
	m->lane = lane_cell;
	if (in_front)
		put_in_front(q, lane, m, cell, last);
	else
		put_at_end(q, lane, m, cell, last, lane_last);
	if (S5_UNLIKELY(q->skip_type != 0))
		note_for_skip(q, cell, in_front);
	q->qnum++;
	q->cbytes += m->size;
	from->hand = 0;
	from->hand_kind = S5__HAND_NONE;
	s5__event(&q->arrivals);
	return true;
}

/* The messages before and after, NULL at the ends. False if they do not agree
 * (M1): a list that leads back into itself must come to an end. */
static bool neighbours(const struct s5__msgq *q, uint32_t cell,
		       const struct s5__message *m,
		       struct s5__message **ret_before,
		       struct s5__message **ret_after)
{
	*ret_before = NULL;
	*ret_after = NULL;
	if (cell != q->head) {
		*ret_before = s5__message_at(m->fifo_prev);
		if (!*ret_before || (*ret_before)->fifo_next != cell)
			return false;
	}
	if (cell != q->tail) {
		*ret_after = s5__message_at(m->fifo_next);
		if (!*ret_after || (*ret_after)->fifo_prev != cell)
			return false;
	}
	return true;
}

/* Takes the message out of the queue's list. */
static void unlink_message(struct s5__msgq *q, const struct s5__message *m,
			   struct s5__message *before,
			   struct s5__message *after)
{
	uint32_t next = after ? m->fifo_next : 0;
	uint32_t prev = before ? m->fifo_prev : 0;

	if (before)
		before->fifo_next = next;
	else
		q->head = next;
	if (after)
		after->fifo_prev = prev;
	else
		q->tail = prev;
}

bool s5__msgq_remove(struct s5__self *self, struct s5__msgq *q, uint32_t cell,
		     struct s5__slot *to)
{
	struct s5__message *m = s5__message_at(cell);
	struct s5__lane *lane = m ? s5__lane_at(m->lane) : NULL;
	struct s5__message *before, *after;

	if (!lane || lane->head != cell || lane->type != m->type)
		return false; /* M3: what is removed leads its lane */
	if (!neighbours(q, cell, m, &before, &after))
		return false;
	log_queue(self, q);
	s5__tx_log64(self, &lane->head);
	s5__tx_log64(self, &to->hand);
	if (before)
		s5__tx_log32(self, &before->fifo_next);
	if (after)
		s5__tx_log32(self, &after->fifo_prev);
	if (S5_UNLIKELY(q->skip_type != 0 && q->skip == cell))
		s5__tx_log32(self, &q->skip);
	s5__tx_arm(self);
	if (S5_UNLIKELY(q->skip_type != 0 && q->skip == cell))
		q->skip = after ? m->fifo_next : 0;
	unlink_message(q, m, before, after);
	lane->head = cell == lane->tail ? 0 : m->lane_next;
	q->qnum--;
	q->cbytes -= m->size;
	to->hand = cell;
	to->hand_kind = S5__HAND_GOT;
	if (lane->head == 0 && q->n_lanes > S5__LANES_KEPT)
		s5__lane_drop(self, q, m->lane);
	return true;
}
