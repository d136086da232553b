/* SPDX-License-Identifier: MIT */
/*
 * semset.h - what the files of this room share
 */
#ifndef S5_SEM_SEMSET_H
#define S5_SEM_SEMSET_H

#include "../lock/seat.h"
#include "../lock/wait.h"
#include "../region/names.h"
#include "../region/process.h"
#include "sem_layout.h"

#define S5__SET_CHUNK (S5__CHUNK_PAGES * S5__PAGE / sizeof(struct s5__semset))

/* Sleepers whose wakeups one call collects before it must let go of the lock.
 */
#define S5__WAKES 256u

/* What a call has to do after it has let go of the lock. */
struct s5__wakes {
	uint32_t n;
	uint32_t log; /* room in the log that the next scan needs; 0: enough */
	uint32_t slot[S5__WAKES];
};

/* The operations of a call: a private array, or those of a sleeping slot. */
struct s5__ops {
	const struct s5__op *array;
	const struct s5__slot *slot;
	uint32_t n;
	uint32_t pid;  /* who does it */
	uint32_t undo; /* cell of its process's record in this set, or 0 */
};

extern const struct s5__kind_ops s5__sem_kind;
extern const struct s5__facility s5__sem_facility;

/* The set at an index, or NULL. */
struct s5__semset *s5__set_at(uint32_t index);
/* The set of an id, or NULL if there is none now (EINVAL). No lock. */
struct s5__semset *s5__set_find(int id);
/* How many semaphores it has; shared memory, thus bounded. */
static inline uint32_t s5__set_n(const struct s5__semset *set)
{
	uint32_t n = *(const volatile uint32_t *)&set->nsems;

	return n < S5__SEMMSL_MOST ? n : S5__SEMMSL_MOST;
}

/* The semaphore of that number, or NULL. */
static inline struct s5__sem *s5__sem_at(struct s5__semset *set, uint32_t num)
{
	uint32_t n = set->nsems;
	uint32_t page = set->array;

	if (S5_UNLIKELY(num >= n))
		return NULL;
	if (S5_LIKELY(n <= S5__SEM_OWN))
		return &set->own[num % S5__SEM_OWN];
	if (n > S5__SEM_PER_PAGE) {
		const uint32_t *table = s5__page_at(page);

		page = table ? table[num / S5__SEM_PER_PAGE %
				     (S5__PAGE / sizeof(*table))]
			     : 0;
	}
	{
		struct s5__sem *sem = s5__page_at(page);

		return sem ? &sem[num % S5__SEM_PER_PAGE] : NULL;
	}
}

/* --- sem_queue.c: under the set's lock ------------------------------------ */

/* Takes the lock and brings the set in order. 0, -EAGAIN (self->wanted), or
 * -EIDRM: `id` is not its id any more, and the lock is not held. */
int s5__set_lock(struct s5__self *self, struct s5__semset *set, uint32_t id,
		 struct s5__wakes *wakes);
/* The same for one that may be dying; whether it is `id` and is. */
bool s5__set_lock_dying(struct s5__self *self, struct s5__semset *set,
			uint32_t dying, struct s5__wakes *wakes);
/* Brings the set at that index in order, and applies what the dead left; the
 * lock was taken by itself. */
void s5__set_settle(struct s5__self *self, struct s5__semset *set,
		    uint32_t index, struct s5__wakes *wakes);
/* Lets go of it and wakes whom the caller has released. */
void s5__set_unlock(struct s5__self *self, struct s5__semset *set,
		    struct s5__wakes *wakes);

struct s5__op s5__op_get(const struct s5__ops *ops, uint32_t i);
struct s5__ops s5__ops_of(const struct s5__slot *w);

/* Room in the log that operations need. */
static inline uint32_t s5__ops_log(uint32_t n)
{
	return 2 * n + 8;
}

/*
 * Tries all operations, in order, each seeing the ones before. 0: done,
 * within the caller's transaction, which it has armed. 1: operation *ret_block
 * would have to wait. -EAGAIN, -ERANGE. But for 0 nothing is changed.
 */
int s5__ops_perform(struct s5__self *self, struct s5__semset *set,
		    const struct s5__ops *ops, uint32_t *ret_block);

/* Keeps the fast path away from a word; lets it in again where nobody waits,
 * once what was done to the word has been committed. One semaphore, all, or
 * those that operations name. */
void s5__sem_freeze(struct s5__sem *sem);
void s5__sem_thaw(struct s5__sem *sem);
void s5__set_freeze(struct s5__semset *set);
void s5__set_thaw(struct s5__semset *set);
void s5__ops_thaw(struct s5__semset *set, const struct s5__ops *ops);

/* Enters the calling thread at the tail of the list that its operations belong
 * in; s5__wait_prepare() was called. */
void s5__sleeper_link(struct s5__self *self, struct s5__semset *set,
		      const struct s5__ops *ops, uint32_t block);
/* Takes a slot that waits here off its list. */
void s5__sleeper_unlink(struct s5__self *self, struct s5__semset *set,
			struct s5__slot *w);

/*
 * Completes all who can proceed after `ops`, or after any change if NULL, and
 * notes in `wakes` whom to wake. set->due was committed
 * before. False if it had to stop: due stays set.
 */
bool s5__set_update(struct s5__self *self, struct s5__semset *set,
		    const struct s5__ops *ops, struct s5__wakes *wakes);

/* Gives everybody who waits EIDRM. False if there are more. */
bool s5__set_release(struct s5__self *self, struct s5__semset *set,
		     struct s5__wakes *wakes);

/* Sleepers whose blocking operation is on that semaphore: decrements, or waits
 * for zero. Those that are stopped are sent away. */
int s5__set_count(struct s5__self *self, struct s5__semset *set, uint32_t num,
		  bool zero, struct s5__wakes *wakes);

/* --- sem_undo.c: under the set's lock --------------------------------------
 */

/* The record of process slot `proc`, with an entry for each of the operations
 * that has SEM_UNDO. The cell; 0: no cell was reserved. */
uint32_t s5__undo_prepare(struct s5__self *self, struct s5__semset *set,
			  uint32_t proc, const struct s5__ops *ops);
/* The entry of a semaphore in a record, or NULL. */
struct s5__adj *s5__undo_find(uint32_t cell, uint32_t num);
/* Applies what dead processes have left, and serves who can proceed then.
 * Whether there was anything. */
bool s5__undo_apply(struct s5__self *self, struct s5__semset *set,
		    struct s5__wakes *wakes);
/* Clears everybody's adjustment of a semaphore; logged. */
void s5__undo_clear(struct s5__self *self, struct s5__semset *set,
		    uint32_t num);
/* Frees the first record; false if there is none. One transaction. */
bool s5__undo_free_first(struct s5__self *self, struct s5__semset *set);

/* --- sem_repair.c -----------------------------------------------------------
 */

/* Room for `n` log entries beyond the slot's own; no lock held. 0 or -errno as
 * s5__pages_take(). */
int s5__log_extend(struct s5__self *self, uint32_t n);
void s5__log_shrink(struct s5__self *self);
/* Goes on where s5__set_update() had to stop. No lock held. */
void s5__set_catch_up(struct s5__self *self, struct s5__semset *set,
		      uint32_t id, struct s5__wakes *wakes);
/* Finishes a removal that somebody began. No lock held. */
void s5__set_dismantle(struct s5__self *self, uint32_t index);

#endif
