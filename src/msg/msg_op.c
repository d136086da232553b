/* SPDX-License-Identifier: MIT */
/*
 * msg_op.c - msgsnd and msgrcv
 *
 * The life of a message: built in the sender's hand without a lock, moved under
 * the queue's lock to the queue or straight to a waiting receiver's hand, copied
 * out of there without a lock. It is in one place at every instant.
 */
#include "../base/probe.h"
#include "msgq.h"
#include "room.h"

#include <limits.h>

/* What a step of a call came to, besides 0 and -errno. */
#define AGAIN 1 /* from the top: permissions, lock, search */

/* Lets the signals in that were put off while we spun. */
static int let_signals_in(struct s5__self *self)
{
	uint32_t intr = self->intr;
	uint32_t gen = self->wait_gen;

	s5__defer_leave();
	s5__defer_enter();
	self->intr = intr;
	return s5__defer_intr() != intr || self->wait_gen != gen ? -EINTR :
								   AGAIN;
}

/*
 * Locks an existing queue for a caller who needs `want`. 0, AGAIN after a wait
 * for the lock, -EACCES, -EIDRM, -EINTR.
 */
static int lock_queue(struct s5__self *self, struct s5__msgq *q, int id,
		      uint32_t want)
{
	struct s5__slot *s = self->slot;
	/* Without the lock: W4. One that just looks up from its sleep is not
	 * checked. */
	int err = s->wait_kind ? 0 : s5__perm_check(&q->ipc, want);

	if (S5_UNLIKELY(err)) {
		/* a race with removal must not look like a lack of rights */
		return s5__a32_load_rlx(&q->id) == (uint32_t)id + 1 ? err :
								       -EIDRM;
	}
	err = s5__lock(self, &q->lock);
	if (S5_UNLIKELY(err == -EAGAIN)) {
		err = s5__lock_wait(self);
		return err ? err : AGAIN;
	}
	if (S5_UNLIKELY(err))
		return err;
	/* relaxed: the lock orders it */
	if (S5_UNLIKELY(s5__a32_load_rlx(&q->id) != (uint32_t)id + 1)) {
		if (s->wait_kind && q->ipc.dying == (uint32_t)id + 1) {
			s5__waiter_unlink(self, q, s);
			s5__tx_commit(self);
		}
		s5__unlock(self, &q->lock);
		return -EIDRM;
	}
	return 0;
}

/* Registers the thread and sleeps. Returns with no lock held. */
static enum s5__wait_end sleep_at(struct s5__self *self, struct s5__msgq *q,
				  int id, enum s5__wait_kind kind,
				  uint32_t lane)
{
	struct s5__slot *s = self->slot;

	if (s->wait_kind == S5__WAIT_NONE) {
		s5__wait_prepare(self);
		s->wait_obj = (uint32_t)id % S5__IPC_MNI;
		s->wait_id = (uint32_t)id + 1;
		s->wait_since = s5__now_ns();
		s5__waiter_link(self, q, kind, lane);
		s5__tx_commit(self);
	}
	s5__unlock(self, &q->lock);
	S5_CRASH_POINT("msg-registered");
	return s5__wait(self, 0, true);
}

/*
 * After a sleep. 0: the result is accepted and stands in *ret_result. AGAIN:
 * still registered, look again. -EINTR: not registered any more, or the call
 * was given up for a nested one.
 */
static int after_sleep(struct s5__self *self, struct s5__msgq *q,
		       enum s5__wait_end end, uint32_t gen,
		       uint32_t *ret_result)
{
	struct s5__slot *s = self->slot;

	if (self->wait_gen != gen)
		return -EINTR;
	if (end == S5__WAIT_END_INTR) {
		if (s5__lock(self, &q->lock) != 0)
			return -EINTR; /* found at the next call */
		if (s->wait_kind != S5__WAIT_NONE) {
			s5__waiter_unlink(self, q, s);
			s5__tx_commit(self);
			s5__unlock(self, &q->lock);
			return -EINTR;
		}
		s5__unlock(self, &q->lock);
		end = S5__WAIT_END_DONE; /* the result was first */
	}
	if (end == S5__WAIT_END_LOOK) {
		s5__janitor(self);
		return AGAIN;
	}
	if (!s5__wait_accept(self)) {
		/* Taken back while we were stopped: as if it never was. */
		if (s->hand)
			(void)s5__msg_facility.drop(self, s);
		*ret_result = S5__TRY_AGAIN;
		return 0;
	}
	*ret_result = s->result;
	return 0;
}

/* Work that a look at the whole queue left over: wake more senders. */
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
	err = s5__deliver(self, q, s, false);
	s5__unlock(self, &q->lock);
	s5__wake_flush(self);
	return err;
}

/* One round: 0 sent, AGAIN, or -errno. */
static int send_once(struct s5__self *self, struct s5__msgq *q, int id,
		     uint64_t size, int flags, bool *spun, bool *woken)
{
	struct s5__slot *s = self->slot;
	uint32_t gen = self->wait_gen;
	uint32_t result;
	uint32_t seen;
	int err = lock_queue(self, q, id, S5__WANT_WRITE);

	if (S5_UNLIKELY(err))
		return err;
	if (S5_LIKELY(s5__msgq_fits(q, size)))
		return send_now(self, q);
	if (flags & IPC_NOWAIT) {
		s5__unlock(self, &q->lock);
		return -EAGAIN;
	}
	if (!*spun && s->wait_kind == S5__WAIT_NONE) {
		seen = s5__a32_load_rlx(&q->departures);
		s5__unlock(self, &q->lock);
		*spun = true;
		if (s5__spin_while(self, &q->departures, seen))
			*spun = false;
		return s5__defer_self.todo ? let_signals_in(self) : AGAIN;
	}
	s->wait_size = size;
	err = after_sleep(self, q, sleep_at(self, q, id, S5__WAIT_SEND, 0), gen,
			  &result);
	if (err)
		return err;
	*spun = false;
	if (result != S5__TRY_AGAIN)
		return -(int)result;
	*woken = true;
	/* Room, and a signal: the signal is first. */
	return s5__defer_intr() != self->intr ? -EINTR : AGAIN;
}

static int send(struct s5__self *self, int id, const void *user, size_t size,
		int flags)
{
	const struct s5__header *h = s5__header();
	struct s5__msgq *q;
	bool spun = false, woken = false;
	uint32_t gen = self->wait_gen;
	int64_t type;
	int err;

	if (s5__probe(user, sizeof(long), S5__PROBE_READ))
		return -EFAULT;
	type = *(const long *)user;
	if (size > s5__a64_load_rlx(&h->msgmax) || id < 0 || type < 1)
		return -EINVAL;
	if (s5__probe((const char *)user + sizeof(long), size, S5__PROBE_READ))
		return -EFAULT;
	do {
		err = s5__body_make(self, (const char *)user + sizeof(long),
				    type, size);
		if (S5_UNLIKELY(err == -EAGAIN))
			err = s5__lock_wait(self) ? -EINTR : AGAIN;
	} while (err == AGAIN);
	if (S5_UNLIKELY(err))
		return err;
	q = s5__msgq_find(id);
	err = q ? AGAIN : -EINVAL;
	while (err == AGAIN) {
		err = s5__cells_reserve(self, 1); /* for a lane */
		if (err == 0)
			err = send_once(self, q, id, size, flags, &spun,
					&woken);
		if (err == AGAIN && self->wait_gen != gen)
			err = -EINTR;
	}
	if (S5_UNLIKELY(err) && self->wait_gen == gen && self->slot->hand)
		s5__body_free(self);
	if (S5_UNLIKELY(err && woken))
		wake_more(self, q); /* the room goes to the next */
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
	want->flags = flags;
	want->size = flags & MSG_NOERROR ? UINT64_MAX : size;
	want->type = type == LONG_MIN ? -LONG_MAX : type;
	if (type == 0)
		want->select = S5__SELECT_ANY;
	else if (type < 0)
		want->select = S5__SELECT_UPTO;
	else
		want->select = flags & MSG_EXCEPT ? S5__SELECT_EXCEPT :
						    S5__SELECT_TYPE;
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
	n = m->size < size ? m->size : size;
	if (S5_UNLIKELY(s5__probe(user, sizeof(long) + n, S5__PROBE_WRITE))) {
		/* A bad pointer does not lose the message. */
		while (s->hand && s5__msg_facility.drop(self, s) == -EAGAIN)
			(void)s5__lock_wait(self);
		return -EFAULT;
	}
	*(long *)user = m->type;
	if (S5_UNLIKELY(!s5__body_copy(m, (char *)user + sizeof(long), n))) {
		s5__body_free(self);
		return -EIDRM; /* damaged */
	}
	S5_CRASH_POINT("rcv-copied");
	s5__body_free(self);
	return (long)n;
}

/* Under the lock: the selected message comes into our hand. Unlocks. */
static int receive_now(struct s5__self *self, struct s5__msgq *q, int id,
		       const struct s5__want *want, uint32_t cell)
{
	struct s5__slot *s = self->slot;
	struct s5__message *m = s5__message_at(cell);
	bool more = false;

	if (m && m->size > want->size) {
		if (s->wait_kind != S5__WAIT_NONE)
			s5__waiter_unlink(self, q, s);
		s5__tx_commit(self);
		s5__unlock(self, &q->lock);
		return -E2BIG;
	}
	if (s->wait_kind != S5__WAIT_NONE)
		s5__waiter_unlink(self, q, s);
	s->hand_obj = (uint32_t)id % S5__IPC_MNI;
	s->hand_id = (uint32_t)id + 1;
	s5__tx_log64(self, &q->lspid);
	s5__tx_log64(self, &q->rtime);
	if (S5_UNLIKELY(!s5__msgq_remove(self, q, cell, s))) {
		s5__tx_abort(self);
		s5__unlock(self, &q->lock);
		return -EIDRM;
	}
	q->lrpid = s5__process.pid;
	q->rtime = s5__now_s();
	s5__a32_store_rlx(&q->departures,
			  s5__a32_load_rlx(&q->departures) + 1);
	if (S5_UNLIKELY(q->n_send))
		more = s5__waiters_fit(self, q);
	s5__tx_commit(self);
	s5__unlock(self, &q->lock);
	s5__wake_flush(self);
	if (S5_UNLIKELY(more))
		wake_more(self, q);
	return 0;
}

/* The receiver registers and sleeps; the lock is held, nothing was found. */
static int wait_for_message(struct s5__self *self, struct s5__msgq *q, int id,
			    const struct s5__want *want, uint32_t *ret_result)
{
	struct s5__slot *s = self->slot;
	uint32_t gen = self->wait_gen;
	enum s5__wait_kind kind = S5__WAIT_RECV_ANY;
	uint32_t lane = 0;

	if (s->wait_kind != S5__WAIT_NONE && s5__waiter_is_late(s)) {
		/* We were stopped: back in at the tail. */
		s5__waiter_unlink(self, q, s);
		s5__tx_commit(self);
	}
	if (want->select == S5__SELECT_TYPE) {
		kind = S5__WAIT_RECV_TYPE;
		lane = s5__lane_find(q, want->type);
		if (!lane)
			lane = s5__lane_add(self, q, want->type);
		if (!lane) {
			s5__tx_abort(self);
			s5__unlock(self, &q->lock);
			return -EIDRM;
		}
	}
	s->wait_type = want->type;
	s->wait_size = want->size;
	s->wait_flags = want->select;
	return after_sleep(self, q, sleep_at(self, q, id, kind, lane), gen,
			   ret_result);
}

/* One round: 0 a message is in hand, AGAIN, or -errno. */
static int receive_once(struct s5__self *self, struct s5__msgq *q, int id,
			const struct s5__want *want, bool *spun)
{
	struct s5__slot *s = self->slot;
	uint32_t cell, seen, result;
	int err = lock_queue(self, q, id, S5__WANT_READ);

	if (S5_UNLIKELY(err))
		return err;
	cell = s5__msgq_select(self, q, want);
	if (cell)
		return receive_now(self, q, id, want, cell);
	if (want->flags & IPC_NOWAIT) {
		s5__unlock(self, &q->lock);
		return -ENOMSG;
	}
	if (!*spun && s->wait_kind == S5__WAIT_NONE) {
		seen = s5__a32_load_rlx(&q->arrivals);
		s5__unlock(self, &q->lock);
		*spun = true;
		if (s5__spin_while(self, &q->arrivals, seen))
			*spun = false;
		return s5__defer_self.todo ? let_signals_in(self) : AGAIN;
	}
	err = wait_for_message(self, q, id, want, &result);
	if (err)
		return err;
	*spun = false;
	if (result == S5__GOT_MESSAGE)
		return s->hand ? 0 : -EIDRM;
	return result == S5__TRY_AGAIN ? AGAIN : -(int)result;
}

static long receive(struct s5__self *self, int id, void *user, size_t size,
		    long type, int flags)
{
	struct s5__want want;
	struct s5__msgq *q;
	bool spun = false;
	uint32_t gen = self->wait_gen;
	int err = AGAIN;

	if (id < 0 || (long)size < 0)
		return -EINVAL;
	q = s5__msgq_find(id);
	if (!q)
		return -EINVAL;
	parse(&want, size, type, flags);
	while (err == AGAIN) {
		err = s5__cells_reserve(self, 1); /* for a lane */
		if (err == 0)
			err = receive_once(self, q, id, &want, &spun);
		if (err == AGAIN && self->wait_gen != gen)
			err = -EINTR;
	}
	if (S5_UNLIKELY(err)) {
		if (err == -ENOMSG)
			s5__janitor(self);
		return err;
	}
	return take_home(self, user, size);
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
