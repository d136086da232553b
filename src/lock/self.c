/* SPDX-License-Identifier: MIT */
/*
 * self.c - what a thread knows of itself, when it may have become another
 *
 * Handlers run when signals are let in, and may fork. libc's fork tells us; a
 * fork by system call does not, and the child returns into the call that was
 * interrupted, with a copy of its parent's record. A child that shares memory
 * (vfork) has not even a copy: it uses its parent's, which stands still
 * meanwhile, and gives it back.
 */
#include "lock.h"

#include "../base/defer.h"

#include <sys/syscall.h>

static const volatile uint32_t no_epoch = 0;
const volatile uint32_t *s5__epoch = &no_epoch;
struct s5__process s5__process;
_Thread_local struct s5__self s5__self = {.epoch = S5__NO_EPOCH};

/* The record that a vfork child of this thread has borrowed; no slot: none. */
static _Thread_local struct s5__self lent;

/* Where a forked child writes that goes on in a call of its parent's. */
static struct s5__slot nowhere;

bool s5__self_regain(struct s5__self *self)
{
	uint32_t tid = (uint32_t)s5__sys(SYS_gettid, 0, 0, 0, 0, 0, 0);
	uint32_t pid = (uint32_t)s5__sys(SYS_getpid, 0, 0, 0, 0, 0, 0);

	if (lent.slot && lent.tid == tid && lent.pid == pid) {
		*self = lent; /* the child is gone */
		lent.slot = NULL;
	} else if (!self->slot || self->tid != tid || self->pid != pid) {
		return false;
	}
	/* While it is lent this is the child, and the parent must ask, too. */
	if (!lent.slot && s5__maybe_vfork == 1)
		s5__maybe_vfork = 0;
	return true;
}

void s5__self_lend(struct s5__self *self)
{
	uint32_t parent = (uint32_t)s5__sys(SYS_getppid, 0, 0, 0, 0, 0, 0);

	/* Else it is that of a child which is gone, or a child's child asks. */
	if (!lent.slot && self->slot && self->pid == parent)
		lent = *self;
}

/* From here on every lock is refused, and the slot is nobody's, so that the
 * call unwinds without a trace. The child's next call registers it. */
static void be_orphan(struct s5__self *self)
{
	self->wait_gen++;
	self->robust->list_op_pending = NULL;
	self->slot = &nowhere;
	self->idx = 0;
	self->token = S5__TOKEN_NONE;
	self->unlocked = S5__TOKEN_NONE;
	self->unfinished = 0;
}

struct s5__gap s5__let_in(struct s5__self *self)
{
	struct s5__gap gap = {self->pending_saved, self->intr};

	self->pending_saved = NULL; /* a handler's call saves another */
	s5__defer_leave();
	return gap;
}

bool s5__shut_out(struct s5__self *self, const struct s5__gap *gap)
{
	bool ours = true;

	s5__defer_enter();
	if (S5_UNLIKELY(s5__maybe_vfork))
		(void)s5__self_regain(self);
	if (S5_UNLIKELY(self->epoch != s5__epoch_now())) {
		be_orphan(self);
		ours = false;
	} else {
		/* A handler may have used libc's robust mutexes. */
		*(void *volatile *)&self->robust->list_op_pending =
			s5__pending(self);
		s5__order();
	}
	self->pending_saved = gap->pending_saved;
	self->intr = gap->intr;
	return ours;
}
