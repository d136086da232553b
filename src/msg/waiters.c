/* SPDX-License-Identifier: MIT */
/*
 * waiters.c - who waits at a queue, and who is served
 *
 * The queue's lock is held, and all is logged. Receivers that want one type
 * wait in that type's lane, the others in one list; both are in order of
 * arrival, and of their candidates the one that came first is served.
 */
#include "msgq.h"

static struct s5__wait_list *list_of(struct s5__msgq *q, enum s5__wait_kind k,
				     uint32_t lane)
{
	struct s5__lane *l;

	switch (k) {
	case S5__WAIT_SEND:
		return &q->senders;
	case S5__WAIT_RECV_ANY:
		return &q->any;
	case S5__WAIT_RECV_TYPE:
		l = s5__lane_at(lane);
		return l ? &l->receivers : NULL;
	case S5__WAIT_SEM: /* at no queue */
	case S5__WAIT_NONE:
		break;
	}
	return NULL;
}

void s5__waiter_link(struct s5__self *self, struct s5__msgq *q,
		     enum s5__wait_kind kind, uint32_t lane)
{
	struct s5__slot *w = self->slot;
	struct s5__wait_list *list = list_of(q, kind, lane);
	struct s5__slot *last = list ? s5__slot_at(list->tail) : NULL;

	if (!list)
		return;
	s5__tx_log64(self, list);
	s5__tx_log64(self, &q->n_recv);
	s5__tx_log32(self, &w->wait_kind);
	if (last)
		s5__tx_log32(self, &last->next);
	s5__tx_arm(self);
	w->prev = list->tail;
	w->next = 0;
	w->lane = lane;
	w->wait_order = q->order++;
	if (last)
		last->next = self->idx;
	else
		list->head = self->idx;
	list->tail = self->idx;
	if (kind == S5__WAIT_SEND)
		q->n_send++;
	else
		q->n_recv++;
	w->wait_kind = kind;
}

static void unlink_waiter(struct s5__self *self, struct s5__msgq *q,
			  struct s5__slot *w)
{
	enum s5__wait_kind kind = (enum s5__wait_kind)w->wait_kind;
	struct s5__wait_list *list = list_of(q, kind, w->lane);
	struct s5__slot *before = s5__slot_at(w->prev);
	struct s5__slot *after = s5__slot_at(w->next);

	s5__tx_log32(self, &w->wait_kind);
	s5__tx_log64(self, &q->n_recv);
	if (list)
		s5__tx_log64(self, list);
	if (before)
		s5__tx_log32(self, &before->next);
	if (after)
		s5__tx_log32(self, &after->prev);
	s5__tx_arm(self);
	if (list) {
		if (before)
			before->next = w->next;
		else
			list->head = w->next;
		if (after)
			after->prev = w->prev;
		else
			list->tail = w->prev;
	}
	if (kind == S5__WAIT_SEND)
		q->n_send--;
	else
		q->n_recv--;
	w->wait_kind = S5__WAIT_NONE;
}

void s5__waiter_unlink(struct s5__self *self, struct s5__msgq *q,
		       struct s5__slot *w)
{
	bool typed = w->wait_kind == S5__WAIT_RECV_TYPE;

	unlink_waiter(self, q, w);
	if (typed && q->n_lanes > S5__LANES_KEPT)
		s5__lane_drop(self, q, w->lane);
}

/*
 * Is this waiter not to be served? One whose sleep a handler has interrupted
 * leaves with EINTR, or has been left by siglongjmp, perhaps for ever. Of the
 * others most have looked lately, and need no look into /proc.
 */
static bool pass_over(const struct s5__slot *w)
{
	return s5__a32_load_rlx(&w->wait_word) >= S5__WAIT_BUMP ||
	       (s5__slot_is_late(w) && s5__slot_is_stopped(w));
}

static bool wants(const struct s5__slot *w, int64_t type)
{
	switch (w->wait_flags) {
	case S5__SELECT_ANY:
		return true;
	case S5__SELECT_TYPE:
		return w->wait_type == type;
	case S5__SELECT_EXCEPT:
		return w->wait_type != type;
	case S5__SELECT_UPTO:
		return type <= -w->wait_type;
	default:
		return false;
	}
}

/* The first in a list that wants `type` and can take it now. A dead waiter is
 * taken off on the way, each in a transaction of its own, as its lane's cell
 * may be the next to be used; its slot is settled by the janitor. */
static uint32_t first_in(struct s5__self *self, struct s5__msgq *q,
			 const struct s5__wait_list *list, int64_t type)
{
	uint32_t at = list->head;

	for (uint32_t n = 0; at && n < S5__SLOTS_MAX; n++) {
		struct s5__slot *w = s5__slot_at(at);
		uint32_t next;

		if (!w || w->wait_kind == S5__WAIT_NONE)
			return 0; /* damaged */
		next = w->next;
		/* PAIR slot-word: acquire */
		if (s5__a32_load_acq(&w->word) & FUTEX_OWNER_DIED) {
			s5__waiter_unlink(self, q, w);
			s5__tx_commit(self);
		} else if (wants(w, type) && !pass_over(w)) {
			return at;
		}
		at = next;
	}
	return 0;
}

uint32_t s5__waiter_for(struct s5__self *self, struct s5__msgq *q, int64_t type)
{
	uint32_t any = q->any.head ? first_in(self, q, &q->any, type) : 0;
	uint32_t lane = s5__lane_find(q, type);
	struct s5__lane *l = lane ? s5__lane_at(lane) : NULL;
	uint32_t one = l && l->receivers.head
			       ? first_in(self, q, &l->receivers, type)
			       : 0;
	struct s5__slot *a, *b;

	if (!any || !one)
		return any | one;
	a = s5__slot_at(any);
	b = s5__slot_at(one);
	return a && b && a->wait_order < b->wait_order ? any : one;
}

/* Takes `w` off its list and gives it `result`. Its lane stays: the caller is
 * walking the tree. */
static void release(struct s5__self *self, struct s5__msgq *q, uint32_t at,
		    struct s5__slot *w, uint32_t result)
{
	unlink_waiter(self, q, w);
	(void)s5__wake_add(self, at, w->wait_seq, result);
}

static bool no_room(const struct s5__self *self)
{
	return s5__tx_room(self) < S5__UNLINK_LOG ||
	       self->wake_n >= S5__WAKE_MAX;
}

bool s5__waiters_fit(struct s5__self *self, struct s5__msgq *q)
{
	uint64_t bytes = q->cbytes, count = q->qnum;
	uint32_t at = q->senders.head;

	/*
	 * Each sender is looked at once. Unlike the kernel, which wakes
	 * every sender that fits by itself and lets them race, room is
	 * given to one sender only: who is woken can send. If it does not, by a
	 * signal, it passes the wakeup on.
	 */
	for (uint32_t n = 0; at && n < S5__SLOTS_MAX; n++) {
		struct s5__slot *w = s5__slot_at(at);
		uint32_t next = w ? w->next : 0;

		if (!w || w->wait_kind != S5__WAIT_SEND)
			return false;
		if (no_room(self))
			return true;
		if (s5__a32_load_rlx(&w->word) & FUTEX_OWNER_DIED) {
			s5__waiter_unlink(self, q, w);
		} else if (bytes + w->wait_size <= q->qbytes &&
			   count + 1 <= q->qbytes && !pass_over(w)) {
			bytes += w->wait_size;
			count++;
			release(self, q, at, w, S5__TRY_AGAIN);
		}
		at = next;
	}
	return false;
}

/* Releases the waiters of one list that came before `until`; true if the
 * transaction is full. */
static bool release_list(struct s5__self *self, struct s5__msgq *q,
			 struct s5__wait_list *list, uint32_t result,
			 uint64_t until)
{
	while (list->head) {
		uint32_t at = list->head;
		struct s5__slot *w = s5__slot_at(at);

		if (no_room(self))
			return true;
		if (!w || w->wait_kind == S5__WAIT_NONE) {
			s5__tx_log64(self, list);
			s5__tx_arm(self);
			list->head = 0; /* damaged: cut it off */
			list->tail = 0;
			return false;
		}
		if (w->wait_order >= until)
			return false;
		release(self, q, at, w, result);
	}
	return false;
}

/* Receivers of one type, lane by lane, in no order. */
static bool release_lanes(struct s5__self *self, struct s5__msgq *q,
			  uint32_t result, uint64_t until)
{
	uint32_t todo[64];
	uint32_t n = 0;
	uint64_t most = s5__a64_load_rlx(&s5__arena.open) >> S5__CELL_SHIFT;
	uint64_t steps = 0;
	uint32_t ref = q->root;

	/* each lane's cell is met as a leaf and as an inner node */
	while (ref && steps++ < 2 * most) {
		struct s5__lane *l = s5__lane_at(ref >> 1);

		if (!l)
			return false;
		if (ref & 1u) {
			if (n < 64)
				todo[n++] = l->child[1];
			ref = l->child[0];
			continue;
		}
		if (release_list(self, q, &l->receivers, result, until))
			return true;
		ref = n > 0 ? todo[--n] : 0;
	}
	return false;
}

bool s5__waiters_release(struct s5__self *self, struct s5__msgq *q,
			 uint32_t result, uint64_t until)
{
	if (q->n_recv && (release_list(self, q, &q->any, result, until) ||
			  release_lanes(self, q, result, until)))
		return true;
	return result == EIDRM &&
	       release_list(self, q, &q->senders, result, until);
}

/* Hands the message over: it goes from slot to slot, and nobody else sees it
 * (A-075). */
static void hand_over(struct s5__self *self, struct s5__msgq *q,
		      struct s5__slot *from, uint32_t to)
{
	struct s5__slot *w = s5__slot_at(to);

	s5__tx_log64(self, &w->hand);
	s5__tx_log64(self, &from->hand);
	s5__waiter_unlink(self, q, w);
	w->hand = from->hand;
	w->hand_kind = S5__HAND_GOT;
	w->hand_obj = w->wait_obj;
	w->hand_id = w->wait_id;
	from->hand = 0;
	from->hand_kind = S5__HAND_NONE;
	q->lrpid = w->pid;
	q->handed_to = to;
	q->rtime = s5__now_s();
	s5__event(&q->arrivals);
	(void)s5__wake_add(self, to, w->wait_seq, S5__GOT_MESSAGE);
}

static void log_times(struct s5__self *self, struct s5__msgq *q)
{
	s5__tx_log64(self, &q->lspid); /* and lrpid */
	s5__tx_log64(self, &q->stime);
	s5__tx_log64(self, &q->rtime);
}

static void note_sent(const struct s5__self *self, struct s5__msgq *q)
{
	q->lspid = self->pid;
	q->stime = s5__now_s();
}

int s5__deliver(struct s5__self *self, struct s5__msgq *q,
		struct s5__slot *from, bool in_front)
{
	struct s5__message *m = s5__message_at(from->hand);

	if (!m) {
		s5__tx_abort(self);
		return -EIDRM;
	}
	while (S5_UNLIKELY(q->n_recv)) {
		uint32_t to = s5__waiter_for(self, q, m->type);
		struct s5__slot *w = s5__slot_at(to);

		if (!w)
			break;
		/* Each E2BIG is final, so it may be committed by itself. */
		if (self->wake_n >= S5__WAKE_MAX - 1 ||
		    s5__tx_room(self) < 2 * S5__UNLINK_LOG) {
			s5__tx_commit(self);
			s5__wake_flush(self);
		}
		if (w->wait_size < m->size) {
			release(self, q, to, w, E2BIG);
			continue;
		}
		log_times(self, q);
		hand_over(self, q, from, to);
		if (!in_front)
			note_sent(self, q);
		s5__tx_commit(self);
		return 0;
	}
	if (S5_UNLIKELY(!s5__cell_peek(self)) && !s5__lane_find(q, m->type)) {
		s5__tx_abort(self);
		return -ENOMEM;
	}
	log_times(self, q);
	if (!s5__msgq_append(self, q, from, in_front)) {
		s5__tx_abort(self);
		return -EIDRM;
	}
	if (!in_front)
		note_sent(self, q);
	s5__tx_commit(self);
	return 0;
}
