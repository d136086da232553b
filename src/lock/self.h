/* SPDX-License-Identifier: MIT */
/*
 * self.h - what a thread knows of itself; private memory
 */
#ifndef S5_LOCK_SELF_H
#define S5_LOCK_SELF_H

#include "slot.h"

#include <linux/futex.h>

/* What one way of waiting without sleep has been worth: see wait.c. */
struct s5__spin {
	int32_t worth;
	uint32_t skipped; /* waits since it was last tried */
	uint32_t rest;	  /* waits until it is tried again */
};

#define S5__NO_EPOCH UINT32_MAX

#define S5__UNFINISHED_WAIT   1u /* in a list, or a result is there */
#define S5__UNFINISHED_REMOVE 2u /* slot->dismantle is to be done */

/*
 * struct s5__self - one per thread, in thread-local storage
 *
 * `epoch` equals *s5__epoch as long as this thread is the one that registered
 * and has not been forked since: the word lies in a page that every kind of
 * fork wipes (MADV_WIPEONFORK), so a child registers anew at its first call.
 * The page then holds 0; a thread that is not registered has S5__NO_EPOCH.
 */
struct s5__self {
	struct s5__slot *slot;
	uint32_t idx;
	uint32_t token;	   /* what its locks hold: s5__token() */
	uint32_t unlocked; /* what it takes a free lock's word for: 0; in an
			    * orphan, see s5__shut_out(), what none has */
	uint32_t pid, tid; /* who registered it */
	uint64_t pid_ns;   /* inode of its pid namespace, 0 if unknown */
	uint32_t epoch;
	struct robust_list_head *robust;
	void *pending_saved; /* list_op_pending of an interrupted libc call */
	const void *frame;   /* of the call under way, or the last one */
	uint64_t sections;   /* count in the upper bits, as in slot->holding */
	struct s5__a32 *wanted; /* the lock that could not be had */
	/*
	 * What this thread has begun and not ended, S5__UNFINISHED_*. A handler
	 * that interrupted it, or the next call if it was jumped out of, reads
	 * this and not the slot, which others may be about to write.
	 */
	uint32_t unfinished;
	uint32_t proc;	 /* its process's slot, if that has one; 0: not known */
	uint32_t wake_n; /* entries of the wake list being built */
	uint32_t wake_done; /* of them, committed and published */
	uint32_t log_n;	    /* entries of the undo log being built */
	uint32_t log_cap;   /* entries that there is room for */
	uint32_t intr;	    /* interrupts seen when the call began */
	uint32_t wait_gen;  /* grows when a call's wait is given up for it */
	struct s5__spin spin, yield;
	uint32_t last_did; /* what its last call did: the facility's code */
	struct robust_list_head own_robust; /* where libc has none */
};

/* What this process knows of itself; set when it registers. A child of vfork
 * sees it, and is another process: it writes nothing here. */
struct s5__process {
	struct s5__a32 pid; /* of whom the two below tell; 0: not known yet */
	bool other_cpus;    /* the machine has more than one CPU */
	struct s5__a64 pid_ns; /* inode of its pid namespace, 0 if unknown */
	struct s5__a64 start;  /* its start time in clock ticks, 0 if unknown */
};
extern struct s5__process s5__process;

extern _Thread_local struct s5__self s5__self
	__attribute__((tls_model("initial-exec")));
extern const volatile uint32_t *s5__epoch;

/* What the thread's list_op_pending shall be. */
static inline void *s5__pending(const struct s5__self *self)
{
	return (char *)&self->slot->word - self->robust->futex_offset;
}

/* While s5__maybe_vfork is set: is the record this thread's own, perhaps after
 * it has been taken back from a child that is gone? */
bool s5__self_regain(struct s5__self *self);
/* This is a vfork child that is about to use its parent's record. */
void s5__self_lend(struct s5__self *self);

/* What a call keeps while signals are let in. */
struct s5__gap {
	void *pending_saved;
	uint32_t intr;
};

/*
 * Lets signals in, and so handlers, which may make calls, fork, jump away; and
 * ends that. s5__shut_out() returns false in a child that a handler forked by
 * system call, and which continues the call: its slot is its parent's, and out
 * of its reach. s5__lock() returns -EINTR then, and so should the call.
 */
struct s5__gap s5__let_in(struct s5__self *self);
bool s5__shut_out(struct s5__self *self, const struct s5__gap *gap);

static inline uint32_t s5__epoch_now(void)
{
	return __atomic_load_n(__atomic_load_n(&s5__epoch, __ATOMIC_RELAXED),
			       __ATOMIC_RELAXED);
}

#endif
