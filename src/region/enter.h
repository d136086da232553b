/* SPDX-License-Identifier: MIT */
/*
 * enter.h - what every call begins and ends with
 *
 *	err = s5__enter(&self, false);		who am I; signals deferred
 *	...					locks, transactions, waits
 *	s5__leave(self);			deferred signals are delivered
 */
#ifndef S5_REGION_ENTER_H
#define S5_REGION_ENTER_H

#include "../base/defer.h"
#include "../lock/wait.h"
#include "heap.h"

/*
 * What a kind of object does for slots whose owner cannot do it any more, or
 * has jumped away. Both are repeatable; `self` may be the slot's owner.
 */
struct s5__facility {
	/* Unlinks the slot's waiter and gives back what is in its hand.
	 * 0, or as s5__lock(). */
	int (*drop)(struct s5__self *self, struct s5__slot *slot);
	/* The owner is stopped and has not taken what was handed to it: takes
	 * it back. */
	void (*revoke)(struct s5__self *self, struct s5__slot *slot);
	/* Once a second for all members, or NULL: what nobody else does. */
	void (*sweep)(struct s5__self *self);
	/* Finishes the removal of the object at that index. */
	void (*dismantle)(struct s5__self *self, uint32_t index);
};
/* By kind; set at load. A slot is dropped by all of them, the highest kind
 * first: the messages' also empties the hand. */
extern const struct s5__facility *s5__facilities[S5__KINDS];

/* All that the slot's owner had begun and others may depend on. 0, -ENOMEM, or
 * as s5__lock(). */
int s5__drop(struct s5__self *self, struct s5__slot *slot);

/* Finishes the removal that slot->dismantle names: kind and index + 1. */
#define S5__DISMANTLE_KIND 16
void s5__dismantle(struct s5__self *self, uint32_t which);

int s5__enter_slow(struct s5__self *self, bool create);
/* The slot holds what an abandoned call left behind; outside of sections. */
int s5__enter_cleanup(struct s5__self *self);

/* A fault interrupted a section of this thread. Is the interrupted call, whose
 * frame is self->frame, still there? */
bool s5__enter_is_nested(const struct s5__self *self, const void *frame);

/* Gives this thread's slot back; at the end of the thread. */
void s5__thread_exit(void *self);

/* Looks, at most once a second for all members, for threads that died, and
 * settles what they left. No lock held. */
void s5__janitor(struct s5__self *self);

/* Settles one slot whose owner is dead, and frees it. */
void s5__settle(struct s5__self *self, uint32_t idx);

/*
 * Begins a call: 0, or -EACCES (no namespace; `create`: nor could one be made),
 * -ENOMEM (no slot, or what an abandoned call left has no room to go to),
 * -EDEADLK (nested in a section), -EINTR (a handler forked this process by
 * system call).
 */
static inline int s5__enter(struct s5__self **ret_self, bool create)
{
	struct s5__self *self = &s5__self;
	void *volatile *pending;
	void *mine;

	*ret_self = self;
	for (;;) {
		if (S5_UNLIKELY(self->epoch != s5__epoch_now() ||
				s5__maybe_vfork)) {
			int err = s5__enter_slow(self, create);

			if (err)
				return err;
		}
		if (S5_UNLIKELY(s5__defer_self.state != S5__DEFER_OUTSIDE) &&
		    s5__enter_is_nested(self, __builtin_frame_address(0)))
			return -EDEADLK;
		self->frame = __builtin_frame_address(0);
		s5__defer_enter();
		/* A handler that ran just before may have forked, and this may
		 * be the child. From here on none runs. */
		if (S5_LIKELY(self->epoch == s5__epoch_now()))
			break;
		s5__defer_leave();
	}
	/*
	 * If this thread dies, the kernel marks the word that list_op_pending
	 * leads to. It is left there between calls, so that a thread's death
	 * is always seen; libc uses the field for a moment when it locks a
	 * robust mutex, and if we interrupted that, it gets it back.
	 */
	pending = (void *volatile *)&self->robust->list_op_pending;
	mine = s5__pending(self);
	if (S5_UNLIKELY(*pending != mine)) {
		self->pending_saved = *pending;
		*pending = mine;
		s5__order();
	}
	self->intr = s5__defer_intr();
	if (S5_UNLIKELY(self->slot->hand | self->unfinished))
		return s5__enter_cleanup(self);
	return 0;
}

static inline void s5__leave(struct s5__self *self)
{
	if (S5_UNLIKELY(self->pending_saved != NULL)) {
		*(void *volatile *)&self->robust->list_op_pending =
			self->pending_saved;
		self->pending_saved = NULL;
	}
	s5__defer_leave();
}

#endif
