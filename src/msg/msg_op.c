/* SPDX-License-Identifier: MIT */
/*
 * msg_op.c - msgsnd and msgrcv
 *
 * The life of a message: built in the sender's hand without a lock, moved under
 * the queue's lock to the queue or straight to a waiting receiver's hand,
 * copied out of there without a lock. It is in one place at every instant.
 */
#include "../base/probe.h"
#include "msgq.h"
#include "room.h"

#include <limits.h>
#include <string.h>

/* Values of self->last_did. */
#define DID_SEND    1u
#define DID_RECEIVE 2u

/* What a step of a call came to, besides 0 and -errno. */
#define AGAIN  1 /* from the top: permissions, lock, search */
#define RESULT 2 /* somebody has given our waiter a result: accept it */

/* One msgsnd or msgrcv under way. */
struct call {
	struct s5__msgq *q;
	int id;
	int flags;
	uint32_t gen;	 /* self->wait_gen when it began */
	bool spun;	 /* spinning did not help: sleep */
	bool registered; /* as a waiter, as far as this call knows */
	bool woken;	 /* a sender to whom room was given */
	bool wake_more;	 /* more senders fit than one transaction could wake */
};

/* Lets the signals in that were put off while we spun. */
static int let_signals_in(struct s5__self *self)
{
	uint32_t gen = self->wait_gen;
	struct s5__gap gap = s5__let_in(self);
	bool ours = s5__shut_out(self, &gap);

	return !ours || s5__defer_intr() != gap.intr || self->wait_gen != gen
		       ? -EINTR
		       : AGAIN;
}

/* What follows from a step that needed a lock: after a wait for one that was
 * not to be had (-EAGAIN), AGAIN or -EINTR. */
static int after_lock(struct s5__self *self, int err)
{
	if (S5_LIKELY(err != -EAGAIN))
		return err;
	err = s5__lock_wait(self);
	return err ? err : AGAIN;
}

/*
 * Locks the queue for a caller who needs `want`. 0, AGAIN after a wait for the
 * lock, RESULT (not locked), -EACCES, -EIDRM, -EINTR.
 */
static int lock_queue(struct s5__self *self, const struct call *c,
		      uint32_t want)
{
	struct s5__msgq *q = c->q;
	struct s5__slot *s = self->slot;
	uint32_t id = (uint32_t)c->id + 1;
	/* Without the lock: W4. One that just looks up from its sleep is not
	 * checked. */
	int err = c->registered ? 0 : s5__perm_check(&q->ipc, want);

	if (S5_UNLIKELY(err)) {
		/* a race with removal must not look like a lack of rights */
		return s5__a32_load_rlx(&q->id) == id ? err : -EIDRM;
	}
	err = after_lock(self, s5__lock(self, &q->lock));
	if (S5_UNLIKELY(err))
		return err;
	if (S5_UNLIKELY(c->registered && s->wait_kind == S5__WAIT_NONE)) {
		s5__unlock(self, &q->lock);
		return RESULT; /* it was first, even if the queue is gone */
	}
	/* relaxed: the lock orders it */
	if (S5_UNLIKELY(s5__a32_load_rlx(&q->id) != id)) {
		s5__unlock(self, &q->lock);
		return -EIDRM; /* end_wait() takes us off the list */
	}
	return 0;
}

/* The call ends. Whatever others may still do for it, or have done, is undone
 * or given back. */
static void end_wait(struct s5__self *self)
{
	while (self->unfinished & S5__UNFINISHED_WAIT) {
		if (s5__drop(self, self->slot) == -EAGAIN)
			(void)s5__lock_wait(self);
		else
			break; /* no memory to give it back: the next call */
	}
}

/* Has this call registered, and nobody taken it off? If the slot is damaged it
 * may name a list that it never entered, and each wait would end at once. */
static bool stands_in_list(const struct s5__self *self)
{
	return (self->unfinished & S5__UNFINISHED_WAIT) &&
	       self->slot->wait_kind != S5__WAIT_NONE;
}

/* A result was published for us. 0, and it stands in *ret_result. */
static int accept_result(struct s5__self *self, struct call *c,
			 uint32_t *ret_result)
{
	c->registered = false;
	c->spun = false;
	if (s5__wait_accept(self)) {
		*ret_result = self->slot->result;
		self->unfinished &= ~S5__UNFINISHED_WAIT;
		return 0;
	}
	/* Taken back while we were stopped: as if it never was. */
	end_wait(self);
	*ret_result = S5__TRY_AGAIN;
	return 0;
}

/* A handler ran: off the list, unless a result was first. */
static int leave_wait(struct s5__self *self, struct call *c,
		      uint32_t *ret_result)
{
	struct s5__slot *s = self->slot;
	bool gone;

	if (s5__lock(self, &c->q->lock) != 0)
		return -EINTR; /* end_wait() waits for the lock */
	if (s->wait_kind == S5__WAIT_NONE) {
		s5__unlock(self, &c->q->lock);
		return accept_result(self, c, ret_result);
	}
	gone = s5__a32_load_rlx(&c->q->id) != (uint32_t)c->id + 1;
	s5__waiter_unlink(self, c->q, s);
	s5__tx_commit(self);
	self->unfinished &= ~S5__UNFINISHED_WAIT;
	s5__unlock(self, &c->q->lock);
	return gone ? -EIDRM : -EINTR;
}

/*
 * Registers the thread, if it is not yet, and sleeps; the lock is held and
 * released. 0 with a result, AGAIN (still registered: look again), -EINTR.
 */
static int sleep_at(struct s5__self *self, struct call *c,
		    enum s5__wait_kind kind, uint32_t lane,
		    uint32_t *ret_result)
{
	struct s5__slot *s = self->slot;
	uint32_t event = S5__NO_SPIN;
	enum s5__wait_end end;

	if (!stands_in_list(self)) {
		if (kind == S5__WAIT_RECV_TYPE && !c->spun)
			event = s5__a32_load_rlx(&c->q->arrivals);
		s5__wait_prepare(self, S5__KIND_MSG);
		s->wait_obj = (uint32_t)c->id % S5__IPC_MNI;
		s->wait_id = (uint32_t)c->id + 1;
		s->wait_since = s5__now_ns();
		s5__waiter_link(self, c->q, kind, lane);
		s5__tx_commit(self);
		c->registered = true;
	}
	s5__unlock(self, &c->q->lock);
	S5_CRASH_POINT("msg-registered");
	end = s5__wait(self, 0, true, event);
	if (self->wait_gen != c->gen)
		return -EINTR;
	switch (end) {
	case S5__WAIT_END_DONE:
		return accept_result(self, c, ret_result);
	case S5__WAIT_END_INTR:
		return leave_wait(self, c, ret_result);
	case S5__WAIT_END_LOOK:
	case S5__WAIT_END_TIMEOUT:
		break;
	}
	s5__janitor(self);
	return AGAIN;
}

/* Work that a look at the whole queue left over: wake more senders. If the lock
 * is not to be had, they find out when they look. */
static void wake_more(struct s5__self *self, struct s5__msgq *q)
{
	bool more = true;

	while (more && s5__lock(self, &q->lock) == 0) {
		more = s5__waiters_fit(self, q);
		s5__tx_commit(self);
		s5__unlock(self, &q->lock);
		s5__wake_flush(self);
	}
}

/* --- msgsnd -------------------------------------------------------------- */

/* Under the lock, with room: the message leaves our hand. Unlocks. */
static int send_now(struct s5__self *self, struct s5__msgq *q)
{
	struct s5__slot *s = self->slot;
	int err;

	if (s->wait_kind != S5__WAIT_NONE)
		s5__waiter_unlink(self, q, s);
	self->last_did = DID_SEND;
	err = s5__deliver(self, q, s, false);
	if (S5_LIKELY(err == 0))
		self->unfinished &= ~S5__UNFINISHED_WAIT;
	s5__unlock(self, &q->lock);
	s5__wake_flush(self);
	return err;
}

/*
 * Nothing to be had: spins once, outside of the lock, on a word that changes
 * when there may be. It does not register before: a hand-over each time would
 * keep the partner from getting ahead, and cost a lock for each message. A
 * receiver of one type does register, and spins on its own word: the queue's
 * changes for every type.
 */
static int spin_first(struct s5__self *self, struct call *c,
		      const struct s5__a32 *word, uint32_t does)
{
	uint32_t seen = s5__a32_load_rlx(word);

	s5__unlock(self, &c->q->lock);
	c->spun = !s5__spin_while(self, word, seen, seen,
				  self->last_did == does ? S5__PACE_STREAM
							 : S5__PACE_REPLY);
	return s5__defer_self.todo ? let_signals_in(self) : AGAIN;
}

/* Room was given to us, but another sender was faster: what is left may do for
 * somebody else. Unlocks. */
static int pass_room_on(struct s5__self *self, struct call *c)
{
	c->woken = false;
	c->wake_more = s5__waiters_fit(self, c->q);
	s5__tx_commit(self);
	s5__unlock(self, &c->q->lock);
	s5__wake_flush(self);
	return AGAIN;
}

/* One round: 0 sent, AGAIN, or -errno. */
static int send_once(struct s5__self *self, struct call *c, uint64_t size)
{
	struct s5__slot *s = self->slot;
	uint32_t result;
	int err = lock_queue(self, c, S5__WANT_WRITE);

	if (S5_UNLIKELY(err == RESULT)) {
		err = accept_result(self, c, &result);
	} else if (S5_UNLIKELY(err)) {
		return err;
	} else if (S5_LIKELY(s5__msgq_fits(c->q, size))) {
		return send_now(self, c->q);
	} else if (c->woken) {
		return pass_room_on(self, c);
	} else if (c->flags & IPC_NOWAIT) {
		s5__unlock(self, &c->q->lock);
		return -EAGAIN;
	} else if (!c->spun && !c->registered) {
		return spin_first(self, c, &c->q->departures, DID_SEND);
	} else {
		s->wait_size = size;
		err = sleep_at(self, c, S5__WAIT_SEND, 0, &result);
	}
	if (err)
		return err;
	if (result != S5__TRY_AGAIN)
		return -(int)result;
	c->woken = true;
	if (s5__defer_intr() == self->intr)
		return AGAIN;
	/* Room, and a signal: the signal is first, but not before a
	 * removal. */
	return s5__a32_load_rlx(&c->q->id) == (uint32_t)c->id + 1 ? -EINTR
								  : -EIDRM;
}

static int send(struct s5__self *self, int id, const void *user, size_t size,
		int flags)
{
	const struct s5__header *h = s5__header();
	struct call c = {.id = id, .flags = flags, .gen = self->wait_gen};
	int64_t type;
	int err;

	if (s5__probe(user, sizeof(long), S5__PROBE_READ))
		return -EFAULT;
	memcpy(&type, user, sizeof(long)); /* it need not be aligned */
	if (size > s5__a64_load_rlx(&h->msgmax) || id < 0 || type < 1)
		return -EINVAL;
	if (s5__probe((const char *)user + sizeof(long), size, S5__PROBE_READ))
		return -EFAULT;
	do {
		err = after_lock(self, s5__body_make(self,
						     (const char *)user +
							     sizeof(long),
						     type, size));
	} while (err == AGAIN);
	if (S5_UNLIKELY(err))
		return err;
	c.q = s5__msgq_find(id);
	err = c.q ? AGAIN : -EINVAL;
	while (err == AGAIN) {
		/* for a lane */
		err = after_lock(self, s5__cells_reserve(self, 1));
		if (S5_UNLIKELY(self->wait_gen != c.gen))
			err = -EINTR; /* a nested call has emptied our hand */
		else if (err == 0)
			err = send_once(self, &c, size);
	}
	if (S5_UNLIKELY(err)) {
		end_wait(self);
		s5__hand_empty(self);
	}
	if (S5_UNLIKELY((err && c.woken) || c.wake_more))
		wake_more(self, c.q); /* the room goes to the next */
	return err;
}

int s5__msgsnd(int id, const void *user, size_t size, int flags)
{
	struct s5__self *self;
	int err = s5__enter(&self, false);

	if (S5_UNLIKELY(err))
		return err == -EACCES ? -EINVAL : err;
	err = send(self, id, user, size, flags);
	s5__leave(self);
	return err;
}

/* --- msgrcv -------------------------------------------------------------- */

static void parse(struct s5__want *want, size_t size, long type, int flags)
{
	want->size = flags & MSG_NOERROR ? UINT64_MAX : size;
	want->type = type == LONG_MIN ? -LONG_MAX : type;
	if (type == 0)
		want->select = S5__SELECT_ANY;
	else if (type < 0)
		want->select = S5__SELECT_UPTO;
	else
		want->select = flags & MSG_EXCEPT ? S5__SELECT_EXCEPT
						  : S5__SELECT_TYPE;
}

/* Copies the message in hand out and frees it: the length, or -errno. */
static long take_home(struct s5__self *self, void *user, size_t size)
{
	struct s5__slot *s = self->slot;
	struct s5__message *m = s5__message_at(s->hand);
	uint64_t n;

	if (S5_UNLIKELY(!m)) {
		s->hand = 0;
		return -EIDRM;
	}
	self->last_did = DID_RECEIVE;
	n = *(const volatile uint64_t *)&m->size; /* read once */
	n = n < size ? n : size;
	if (S5_UNLIKELY(s5__probe(user, sizeof(long) + n, S5__PROBE_WRITE))) {
		/* A bad pointer does not lose the message. */
		while (s->hand && s5__drop(self, s) == -EAGAIN)
			(void)s5__lock_wait(self);
		return -EFAULT;
	}
	memcpy(user, &m->type, sizeof(long));
	if (S5_UNLIKELY(!s5__body_copy(m, (char *)user + sizeof(long), n))) {
		s5__body_free(self);
		return -EIDRM; /* damaged */
	}
	S5_CRASH_POINT("rcv-copied");
	s5__body_free(self);
	return (long)n;
}

/* Under the lock: the selected message comes into our hand. Unlocks. */
static int receive_now(struct s5__self *self, struct call *c,
		       const struct s5__want *want, uint32_t cell)
{
	struct s5__slot *s = self->slot;
	struct s5__msgq *q = c->q;
	struct s5__message *m = s5__message_at(cell);

	if (s->wait_kind != S5__WAIT_NONE)
		s5__waiter_unlink(self, q, s);
	if (m && m->size > want->size) {
		s5__tx_commit(self);
		self->unfinished &= ~S5__UNFINISHED_WAIT;
		s5__unlock(self, &q->lock);
		return -E2BIG;
	}
	s->hand_obj = (uint32_t)c->id % S5__IPC_MNI;
	s->hand_id = (uint32_t)c->id + 1;
	s5__tx_log64(self, &q->lspid);
	s5__tx_log64(self, &q->rtime);
	if (S5_UNLIKELY(!s5__msgq_remove(self, q, cell, s))) {
		s5__tx_abort(self);
		s5__unlock(self, &q->lock);
		return -EIDRM;
	}
	q->lrpid = self->pid;
	q->rtime = s5__now_s();
	s5__event(&q->departures);
	if (S5_UNLIKELY(q->n_send))
		c->wake_more = s5__waiters_fit(self, q);
	s5__tx_commit(self);
	self->unfinished &= ~S5__UNFINISHED_WAIT;
	s5__unlock(self, &q->lock);
	s5__wake_flush(self);
	return 0;
}

/* The receiver registers and sleeps; the lock is held, nothing was found. */
static int wait_for_message(struct s5__self *self, struct call *c,
			    const struct s5__want *want, uint32_t *ret_result)
{
	struct s5__slot *s = self->slot;
	enum s5__wait_kind kind = S5__WAIT_RECV_ANY;
	uint32_t lane = 0;

	if (c->registered && s5__slot_is_late(s)) {
		/* We were stopped: back in at the tail. */
		s5__waiter_unlink(self, c->q, s);
		s5__tx_commit(self);
	}
	if (want->select == S5__SELECT_TYPE && !stands_in_list(self)) {
		lane = s5__lane_find(c->q, want->type);
		if (!lane && s5__cell_peek(self))
			lane = s5__lane_add(self, c->q, want->type);
		if (lane) /* else there is no memory, or damage */
			kind = S5__WAIT_RECV_TYPE;
	}
	s->wait_type = want->type;
	s->wait_size = want->size;
	s->wait_flags = want->select;
	return sleep_at(self, c, kind, lane, ret_result);
}

/* One round: 0 a message is in hand, AGAIN, or -errno. */
static int receive_once(struct s5__self *self, struct call *c,
			const struct s5__want *want)
{
	struct s5__slot *s = self->slot;
	uint32_t cell, result;
	int err = lock_queue(self, c, S5__WANT_READ);

	if (S5_UNLIKELY(err == RESULT)) {
		err = accept_result(self, c, &result);
	} else if (S5_UNLIKELY(err)) {
		return err;
	} else if ((cell = s5__msgq_select(self, c->q, want)) != 0) {
		return receive_now(self, c, want, cell);
	} else if (c->flags & IPC_NOWAIT) {
		s5__unlock(self, &c->q->lock);
		return s5__hint(&c->q->handed_to) && s5__msgq_recall(self, c->q)
			       ? AGAIN
			       : -ENOMSG;
	} else if (!c->spun && !c->registered &&
		   want->select != S5__SELECT_TYPE) {
		return spin_first(self, c, &c->q->arrivals, DID_RECEIVE);
	} else {
		err = wait_for_message(self, c, want, &result);
	}
	if (err)
		return err;
	if (result == S5__GOT_MESSAGE)
		return s->hand ? 0 : -EIDRM;
	return result == S5__TRY_AGAIN ? AGAIN : -(int)result;
}

/* --- MSG_COPY (A-064) ----------------------------------------------------- */

/* The cell at a position of the queue, or 0. */
static uint32_t cell_at_position(const struct s5__msgq *q, long position)
{
	uint32_t cell = q->head;

	if (position < 0 || position >= (long)q->qnum)
		return 0;
	for (long i = 0; i < position && cell; i++) {
		const struct s5__message *m = s5__message_at(cell);

		cell = m && cell != q->tail ? m->fifo_next : 0;
	}
	return cell;
}

/*
 * One round: 0, a copy is in hand; AGAIN, with *need the size that the hand
 * should have; or -errno. The copy is made under the lock, from shared memory
 * to shared memory: user memory is not touched there.
 */
static int copy_once(struct s5__self *self, struct call *c,
		     const struct s5__want *want, long position, uint64_t *need)
{
	struct s5__message *m, *copy = s5__message_at(self->slot->hand);
	uint32_t cell;
	int err = lock_queue(self, c, S5__WANT_READ);

	if (err)
		return err;
	cell = cell_at_position(c->q, position);
	m = cell ? s5__message_at(cell) : NULL;
	if (!m)
		err = -ENOMSG;
	else if (m->size > want->size)
		err = c->flags & MSG_NOERROR ? -EINVAL : -E2BIG;
	else if (!copy || copy->size != m->size)
		err = AGAIN;
	else if (!s5__body_clone(copy, m, *need))
		err = -EIDRM;
	if (err == AGAIN)
		*need = m->size;
	s5__unlock(self, &c->q->lock);
	return err;
}

static long receive_copy(struct s5__self *self, struct call *c, void *user,
			 size_t size, long position)
{
	uint64_t most = s5__a64_load_rlx(&s5__header()->msgmax);
	struct s5__want want = {.size = size < most ? size : most};
	uint64_t need = 0;
	int err = AGAIN;

	if ((c->flags & MSG_EXCEPT) || !(c->flags & IPC_NOWAIT))
		return -EINVAL;
	if (s5__probe(user, want.size, S5__PROBE_READ))
		return -EFAULT;
	c->q = s5__msgq_find(c->id);
	if (!c->q)
		return -EINVAL;
	while (err == AGAIN) {
		s5__hand_empty(self);
		err = after_lock(self, s5__body_alloc(self, 1, need));
		if (self->wait_gen != c->gen)
			err = -EINTR; /* a nested call has emptied our hand */
		else if (err == 0)
			err = copy_once(self, c, &want, position, &need);
	}
	if (err) {
		s5__hand_empty(self);
		return err;
	}
	return take_home(self, user, size);
}

static long receive(struct s5__self *self, int id, void *user, size_t size,
		    long type, int flags)
{
	struct call c = {.id = id, .flags = flags, .gen = self->wait_gen};
	struct s5__want want;
	int err = AGAIN;
	long ret;

	if (id < 0 || (long)size < 0)
		return -EINVAL;
	if (S5_UNLIKELY(flags & MSG_COPY))
		return receive_copy(self, &c, user, size, type);
	c.q = s5__msgq_find(id);
	if (!c.q)
		return -EINVAL;
	parse(&want, size, type, flags);
	while (err == AGAIN) {
		/* For a lane, perhaps. What is not to be had is done without.
		 */
		if (S5_UNLIKELY(!s5__cell_peek(self)))
			(void)s5__cells_reserve(self, 1);
		err = receive_once(self, &c, &want);
		if (err == AGAIN && self->wait_gen != c.gen)
			err = -EINTR;
	}
	if (S5_UNLIKELY(err)) {
		end_wait(self);
		if (err == -ENOMSG)
			s5__janitor(self);
		return err;
	}
	ret = take_home(self, user, size);
	if (S5_UNLIKELY(c.wake_more))
		wake_more(self, c.q);
	return ret;
}

long s5__msgrcv(int id, void *user, size_t size, long type, int flags)
{
	struct s5__self *self;
	long ret = s5__enter(&self, false);

	if (S5_UNLIKELY(ret))
		return ret == -EACCES ? -EINVAL : ret;
	ret = receive(self, id, user, size, type, flags);
	s5__leave(self);
	return ret;
}
