/* SPDX-License-Identifier: MIT */
/*
 * test_heap.c - memory of the dead, and of who was taken for dead
 *
 * The slot of another thread, which stays parked, plays the partner.
 */
#include "msg/msgq.h"
#include "region/enter.h"

#include "harness.h"

#include <pthread.h>
#include <sys/msg.h>
#include <unistd.h>

#include <sysfive/sysfive.h>

static struct s5__slot *other;
static uint32_t other_idx;
static pthread_barrier_t parked;
static int q;

static void *partner(void *arg)
{
	struct {
		long type;
		char text[100];
	} m = {.type = 1};

	(void)arg;
	CHECK_OK(s5_msgsnd(q, &m, sizeof(m.text), 0));
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

	q = CHECK_OK(s5_msgget(IPC_PRIVATE, 0600));
	CHECK(pthread_barrier_init(&parked, NULL, 2) == 0);
	CHECK(pthread_create(&t, NULL, partner, NULL) == 0);
	(void)pthread_barrier_wait(&parked);
}

static void settle_parts(void)
{
	CHECK_EQ_INT(s5__heap_settle(&s5__self, other), 0);
	CHECK_EQ_INT(s5__body_free_dead(&s5__self, other), 0);
}

/* Who saw a dead thread's slot may be late: it has another owner now. */
TEST(slot_of_the_living_is_left_alone)
{
	uint32_t mag;

	start();
	mag = other->mag[0];
	CHECK(mag != 0, "no magazine");
	other->hand = 1; /* no cell: damage, but its owner's */
	settle_parts();
	CHECK(other->mag[0] == mag, "its magazine was taken");
	CHECK(other->hand == 1, "its hand was emptied");
	other->hand = 0;
}

/* The mark of the dead owner is still there when somebody claims the slot. */
TEST(slot_that_is_being_claimed_is_left_alone)
{
	uint64_t state;
	uint32_t mag;

	start();
	mag = other->mag[0];
	state = s5__a64_load_rlx(&other->state);
	s5__a64_store_rlx(&other->state,
			  (state & ~(uint64_t)3) | S5__SLOT_CLAIMED);
	(void)s5__a32_or_full(&other->word, FUTEX_OWNER_DIED);
	settle_parts();
	CHECK(other->mag[0] == mag, "its magazine was taken");
	(void)s5__a32_and_full(&other->word, ~(uint32_t)FUTEX_OWNER_DIED);
	s5__a64_store_rlx(&other->state, state);
}

/* What a dead thread changed and did not commit is not believed before it has
 * been rolled back. */
TEST(slot_with_an_open_transaction_is_left_alone)
{
	uint32_t mag;

	start();
	mag = other->mag[0];
	(void)s5__a32_or_full(&other->word, FUTEX_OWNER_DIED);
	s5__a64_store_rlx(&other->commit, 1);
	settle_parts();
	CHECK(other->mag[0] == mag, "its magazine was taken");
	s5__a64_store_rlx(&other->commit, 0);
	settle_parts();
	CHECK(other->mag[0] == 0, "its magazine was left");
}

/* Pages of the dead may never have been filled, or be empty again. */
TEST(pages_of_the_dead_may_have_no_memory)
{
	struct s5__header *h;
	uint32_t kept, punched;

	start();
	CHECK_EQ_INT(s5__pages_take(&s5__self, 5), 0);
	h = s5__header();
	other->pages = s5__self.slot->pages;
	s5__self.slot->pages = 0;
	other->hollow = S5__HOLLOW_PAGES;
	kept = h->free_n;
	punched = h->punched_n;
	(void)s5__a32_or_full(&other->word, FUTEX_OWNER_DIED);
	CHECK_EQ_INT(s5__heap_settle(&s5__self, other), 0);
	CHECK(other->pages == 0, "left in the slot");
	CHECK_EQ_INT(h->free_n, kept);
	CHECK_EQ_INT(h->punched_n, punched + 5);
}

/* A chunk is named by the slot of who adds it until the directory names it; who
 * dies in between loses no page, and frees none that is in use. */
TEST(chunk_of_the_dead)
{
	struct s5__a32 *dir;
	struct s5__header *h;
	uint32_t punched, first, at;

	start();
	h = s5__header();
	dir = (struct s5__a32 *)(void *)(s5__arena.base +
					 S5__FIX_SLOT_DIR * S5__PAGE);
	(void)s5__a32_or_full(&other->word, FUTEX_OWNER_DIED);
	at = s5__a32_load_rlx(&h->slot_chunks);
	CHECK_EQ_INT(s5__chunk_add(&s5__self, dir, at, &h->slot_chunks), 0);
	CHECK_EQ_INT(s5__a32_load_rlx(&h->slot_chunks), at + 1);
	first = s5__a32_load_rlx(&dir[at]);
	CHECK(first != 0 && s5__self.slot->pages == 0);

	punched = h->punched_n + h->free_n;
	other->pages = first; /* it died before it forgot them */
	other->chunk = (uint32_t)s5__off(&dir[at]);
	CHECK_EQ_INT(s5__heap_settle(&s5__self, other), 0);
	CHECK(other->pages == 0);
	CHECK_EQ_INT(h->punched_n + h->free_n, punched);

	s5__a32_store_rlx(&h->slot_chunks, at); /* ... before it counted it */
	CHECK_EQ_INT(s5__chunk_add(&s5__self, dir, at, &h->slot_chunks), 0);
	CHECK_EQ_INT(s5__a32_load_rlx(&h->slot_chunks), at + 1);
	CHECK_EQ_INT(s5__a32_load_rlx(&dir[at]), first);

	s5__a32_store_rlx(&dir[at], 0); /* ... before it named it */
	other->pages = first;
	CHECK_EQ_INT(s5__heap_settle(&s5__self, other), 0);
	CHECK_EQ_INT(h->punched_n + h->free_n, punched + S5__CHUNK_PAGES);
	s5__a32_store_rlx(&h->slot_chunks, at);
}

static uint32_t cells_in(uint32_t first)
{
	uint32_t n = 0;

	for (struct s5__cell *c; (c = s5__cell_at(first)) != NULL; n++)
		first = c->mag_next;
	return n;
}

/* A magazine's count goes back with the magazine. */
TEST(aborted_lane)
{
	struct s5__self *self = &s5__self;
	struct s5__msgq *m;

	start();
	m = s5__msgq_at((uint32_t)q % S5__IPC_MNI);
	CHECK_EQ_INT(s5__cells_reserve(self, 2), 0);
	CHECK_EQ_INT(s5__lock(self, &m->lock), 0);
	CHECK(s5__lane_add(self, m, 77) != 0);
	CHECK_EQ_INT(self->slot->mag_n[0], cells_in(self->slot->mag[0]));
	s5__tx_abort(self);
	s5__unlock(self, &m->lock);
	CHECK_EQ_INT(self->slot->mag_n[0], cells_in(self->slot->mag[0]));
	CHECK_EQ_INT(s5__lane_find(m, 77), 0);
}

/* A damaged slot of the dead may say that it held any word as a lock. */
TEST(dead_that_held_no_lock)
{
	uint64_t msgmax;

	start();
	msgmax = s5__a64_load_rlx(&s5__header()->msgmax);
	s5__a64_store_rlx(&other->holding, s5__off(&s5__header()->msgmax));
	(void)s5__a32_or_full(&other->word, FUTEX_OWNER_DIED);
	s5__settle(&s5__self, other_idx);
	CHECK_EQ_INT(s5__slot_phase(s5__a64_load_acq(&other->state)),
		     S5__SLOT_FREE);
	CHECK_EQ_INT(s5__a64_load_rlx(&s5__header()->msgmax), msgmax);
}
