/* SPDX-License-Identifier: MIT */
/*
 * test_lock.c - the lock's and the wake list's rules that no outside test can
 * bring about at will
 *
 * The slot of another thread, which stays parked, plays the partner.
 */
#include "region/enter.h"

#include "harness.h"

#include <pthread.h>
#include <sys/msg.h>
#include <unistd.h>

#include <sysfive/sysfive.h>

static struct s5__slot *other;
static uint32_t other_idx;
static pthread_barrier_t parked;

static void *partner(void *arg)
{
	(void)arg;
	CHECK_OK(s5_msgget(1, IPC_CREAT | 0600));
	other = s5__self.slot;
	other_idx = s5__self.idx;
	(void)pthread_barrier_wait(&parked);
	for (;;)
		(void)pause();
	return NULL;
}

/* This thread and the partner have slots; the partner ends with the test. */
static void start(void)
{
	pthread_t t;

	CHECK_OK(s5_msgget(1, IPC_CREAT | 0600));
	CHECK(pthread_barrier_init(&parked, NULL, 2) == 0);
	CHECK(pthread_create(&t, NULL, partner, NULL) == 0);
	(void)pthread_barrier_wait(&parked);
}

static struct s5__a32 *lock(void)
{
	return &s5__header()->reg_lock;
}

/* A member saw a dead owner; before it takes the lock the slot has another
 * owner, who lives and holds it. */
TEST(delayed_recoverer_steals_nothing)
{
	struct s5__self *self = &s5__self;
	uint64_t state;
	uint32_t now, before;

	start();
	state = s5__a64_load_rlx(&other->state);
	now = s5__token(other_idx, state);
	before = s5__token(other_idx,
			   s5__slot_state(S5__SLOT_USED,
					  S5__SLOT_GEN(state) - 1, 0, 0));

	CHECK(now != before, "the generation does not count");
	s5__a32_store_rlx(lock(), now);
	CHECK(!s5__lock_take_over(self, lock(), before), "taken");
	CHECK(s5__a32_load_rlx(lock()) == now, "changed");
	CHECK(s5__slot_holding(self->slot) == 0, "still announced");
	s5__a32_store_rlx(lock(), 0);
}

/* A word that names an owner who is no more is damage, and no hang. */
TEST(lock_of_nobody_is_seized)
{
	struct s5__self *self = &s5__self;

	start();
	s5__a32_store_rlx(lock(), other_idx | 0x7fff8000u);
	CHECK(s5__lock(self, lock()) == 0, "not to be had");
	CHECK(s5__a32_load_rlx(lock()) == self->token, "not ours");
	s5__unlock(self, lock());
}

/* A result reaches the wait that it was meant for, and no later one. */
TEST(result_is_for_one_wait)
{
	struct s5__self *self = &s5__self;

	start();
	CHECK(s5__lock(self, lock()) == 0, "locked");
	other->wait_seq = 8;
	s5__a32_store_rlx(&other->wait_word, 0);
	(void)s5__wake_add(self, other_idx, 7, 1);
	s5__tx_commit(self);
	CHECK(s5__a32_load_rlx(&other->wait_word) == 0, "an older wait's");
	(void)s5__wake_add(self, other_idx, 8, 2);
	s5__tx_commit(self);
	CHECK(s5__a32_load_rlx(&other->wait_word) == S5__WAIT_DONE &&
		      other->result == 2,
	      "its own");
	(void)s5__wake_add(self, other_idx, 8, 3);
	s5__tx_commit(self);
	CHECK(other->result == 2, "given twice");
	s5__unlock(self, lock());
	s5__wake_flush(self);
}

/* What was committed is not forgotten when the rest is taken back. */
TEST(abort_keeps_what_was_committed)
{
	struct s5__self *self = &s5__self;
	struct s5__header *h;
	uint32_t seq;

	start();
	h = s5__header();
	seq = h->names[0].seq;
	CHECK(s5__lock(self, lock()) == 0, "locked");
	(void)s5__wake_add(self, other_idx, 9, 1);
	s5__tx_commit(self);
	(void)s5__wake_add(self, other_idx, 10, 1);
	s5__tx_log32(self, &h->names[0].seq);
	s5__tx_arm(self);
	h->names[0].seq = seq + 5;
	s5__tx_abort(self);
	CHECK(h->names[0].seq == seq, "not rolled back");
	CHECK(self->wake_n == 1, "%u wakes", self->wake_n);
	s5__unlock(self, lock());
	s5__wake_flush(self);
	CHECK(self->wake_n == 0, "not flushed");
}

/* A call that failed leaves no room in the log that the next may count on: the
 * pages are another's by then. */
TEST(failed_call_keeps_no_log)
{
	struct sembuf ops[100];
	int set;

	start();
	set = CHECK_OK(s5_semget(IPC_PRIVATE, 1, 0600));
	for (int i = 0; i < 100; i++)
		ops[i] = (struct sembuf){(unsigned short)(i / 50), 1, SEM_UNDO};
	CHECK(s5_semop(set, ops, 100) == -1 && errno == EFBIG, "errno %d",
	      errno);
	CHECK_EQ_INT(s5__self.log_cap, S5__LOG_MAX);
	CHECK_EQ_INT(s5__self.slot->pages, 0);
	CHECK_OK(s5_semctl(set, 0, IPC_RMID));
}
