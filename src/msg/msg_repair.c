/* SPDX-License-Identifier: MIT */
/*
 * msg_repair.c - what callers that died, jumped away or were stopped left
 *
 * Every function may be called again after a death at any step, and by several
 * processes at once: each step takes the lock, looks whether it is still due,
 * and does it in one transaction.
 */
#include "msgq.h"

static bool may_touch(const struct s5__self *self, struct s5__slot *s)
{
	return s == self->slot ||
	       (s5__a32_load_rlx(&s->word) & FUTEX_OWNER_DIED) ||
	       (s5__a32_load_rlx(&s->wait_word) &
		(S5__WAIT_REVOKED | S5__WAIT_TAKEN)) == S5__WAIT_REVOKED;
}

/* Takes the slot's waiter off its list. To a sender that has been given room
 * and does not use it: the next one gets it. */
static int drop_wait(struct s5__self *self, struct s5__slot *s)
{
	struct s5__msgq *q = s5__msgq_at(s->wait_obj);
	int err;

	if (s->room != S5__KIND_MSG)
		return 0;
	if (!q) {
		s->wait_kind = S5__WAIT_NONE;
		return 0;
	}
	err = s5__lock(self, &q->lock);
	if (err)
		return err;
	if (s->wait_kind != S5__WAIT_NONE && may_touch(self, s) &&
	    s5__msgq_at(s->wait_obj) == q) {
		bool in_list = s5__a32_load_rlx(&q->id) == s->wait_id ||
			       (q->ipc.phase == S5__PHASE_DYING &&
				q->ipc.dying == s->wait_id);

		if (in_list) {
			s5__waiter_unlink(self, q, s);
			s5__tx_commit(self);
		} else {
			s->wait_kind = S5__WAIT_NONE;
		}
	} else if (q->n_send && s->hand_kind == S5__HAND_PUT) {
		(void)s5__waiters_fit(self, q); /* the rest finds out itself */
		s5__tx_commit(self);
	}
	s5__unlock(self, &q->lock);
	s5__wake_flush(self);
	S5_CRASH_POINT("drop-waiter");
	return 0;
}

/* Puts the message in the slot's hand back: to a waiting receiver, or to the
 * front of its queue. If that is gone, the message only waits to be freed. */
static int give_back(struct s5__self *self, struct s5__slot *s)
{
	struct s5__msgq *q = s5__msgq_at(s->hand_obj);
	int err;

	if (!q) {
		s->hand_kind = S5__HAND_PUT;
		return 0;
	}
	err = s5__cells_reserve(self, 1); /* for a lane, if there is none */
	if (err && err != -ENOMEM)
		return err;
	err = s5__lock(self, &q->lock);
	if (err)
		return err;
	if (s->hand && s->hand_kind == S5__HAND_GOT && may_touch(self, s) &&
	    s5__msgq_at(s->hand_obj) == q) {
		if (s5__a32_load_rlx(&q->id) == s->hand_id)
			err = s5__deliver(self, q, s, true);
		else
			err = -EIDRM;
		if (err == -EIDRM)
			s->hand_kind = S5__HAND_PUT;
	}
	s5__unlock(self, &q->lock);
	s5__wake_flush(self);
	S5_CRASH_POINT("drop-given-back");
	return err == -ENOMEM ? err : 0;
}

static int drop(struct s5__self *self, struct s5__slot *s)
{
	/* "Nothing there" may have been stored by somebody who died before the
	 * commit, or is between two stores; the lock orders that. */
	bool sure =
		s == self->slot && !(self->unfinished & S5__UNFINISHED_WAIT);
	int err = 0;

	if (!sure && s == self->slot)
		(void)s5__wait_accept(self); /* now nobody else may touch it */
	if (!sure)
		err = drop_wait(self, s);
	if (err == 0 && (!sure || (s->hand && s->hand_kind == S5__HAND_GOT)))
		err = give_back(self, s);
	if (err == 0 && s->hand_kind != S5__HAND_GOT) {
		if (s != self->slot)
			err = s5__body_free_dead(self, s);
		else if (s->hand && !s5__body_free(self))
			err = -EAGAIN;
	}
	return err;
}

static bool recall(struct s5__self *self, struct s5__slot *s)
{
	/* PAIR wait-result: acquire */
	uint32_t v = s5__a32_load_acq(&s->wait_word);

	if ((v & (S5__WAIT_DONE | S5__WAIT_TAKEN)) != S5__WAIT_DONE ||
	    !s5__slot_is_stopped(s))
		return false;
	/* Who revoked it may have died before it gave the message back. */
	if (!(v & S5__WAIT_REVOKED) && !s5__wait_revoke(s))
		return false;
	S5_CRASH_POINT("revoked");
	return give_back(self, s) == 0; /* else its owner does it */
}

static void revoke_hand(struct s5__self *self, struct s5__slot *s)
{
	(void)recall(self, s);
}

bool s5__msgq_recall(struct s5__self *self, const struct s5__msgq *q)
{
	uint32_t to = s5__hint(&q->handed_to);
	struct s5__slot *s = to == self->idx ? NULL : s5__slot_at(to);

	if (!s || s5__hint(&s->hand) == 0 ||
	    s5__hint(&s->hand_kind) != S5__HAND_GOT ||
	    s5__msgq_at(s5__hint(&s->hand_obj)) != q)
		return false;
	/* PAIR slot-word: acquire */
	if (s5__a32_load_acq(&s->word) & FUTEX_OWNER_DIED) {
		s5__settle(self, to);
		return s5__hint(&s->hand) == 0;
	}
	return recall(self, s);
}

/* One step under the lock of a queue that is still dying; false: no more. */
static bool dismantle_waiters(struct s5__self *self, struct s5__msgq *q)
{
	bool more = s5__waiters_release(self, q, EIDRM, UINT64_MAX);

	s5__tx_commit(self);
	return more;
}

static bool dismantle_message(struct s5__self *self, struct s5__msgq *q)
{
	if (q->head == 0)
		return false;
	if (!s5__msgq_remove(self, q, q->head, self->slot)) {
		s5__tx_abort(self);
		q->head = 0; /* damaged: what hangs there is lost */
		return false;
	}
	self->slot->hand_kind = S5__HAND_PUT;
	s5__tx_commit(self);
	return true;
}

static bool dismantle_lane(struct s5__self *self, struct s5__msgq *q)
{
	uint32_t cell = s5__lane_any(q);
	struct s5__lane *l = cell ? s5__lane_at(cell) : NULL;
	uint32_t lanes;

	if (!l)
		return false;
	if (l->head || l->receivers.head) {
		q->root = 0; /* damaged */
		return false;
	}
	lanes = q->n_lanes;
	s5__lane_drop(self, q, cell);
	s5__tx_commit(self);
	if (q->n_lanes == lanes)
		q->root = 0; /* damaged: it cannot be taken out */
	return q->root != 0;
}

/* Is its removal due? Who found that it is not may have met the stores of one
 * who removed the name and died before the commit: taking the lock undoes
 * them. */
static bool is_dying(struct s5__self *self, struct s5__msgq *q, uint32_t dying)
{
	bool due;

	if (!s5__lock_firmly(self, &s5__header()->reg_lock))
		return false;
	due = q->ipc.phase == S5__PHASE_DYING && q->ipc.dying == dying;
	s5__unlock(self, &s5__header()->reg_lock);
	return due;
}

void s5__msgq_dismantle(struct s5__self *self, uint32_t index)
{
	static bool (*const step[])(struct s5__self *,
				    struct s5__msgq *) = {dismantle_waiters,
							  dismantle_message,
							  dismantle_lane};
	struct s5__msgq *q = s5__msgq_at(index);
	uint32_t dying = q ? q->ipc.dying : 0;
	int at = 0;

	while (q && at < 3) {
		bool due, more = false;

		if (!s5__lock_firmly(self, &q->lock))
			return;
		due = q->ipc.phase == S5__PHASE_DYING && q->ipc.dying == dying;
		if (due)
			more = step[at](self, q);
		s5__unlock(self, &q->lock);
		s5__wake_flush(self);
		if (!due && !is_dying(self, q, dying))
			return;
		s5__hand_empty(self);
		s5__cells_overflow(self);
		if (!due)
			continue;
		if (!more)
			at++;
		S5_CRASH_POINT("dismantle-step");
	}
	while (q &&
	       s5__names_remove(self, &s5__msg_kind, index, dying) == -EAGAIN)
		(void)s5__lock_wait(self);
}

const struct s5__facility s5__msg_facility = {
	.drop = drop,
	.revoke = revoke_hand,
	.dismantle = s5__msgq_dismantle,
};
