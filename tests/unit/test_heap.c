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

/* Where the pid namespace is unknown, a tid that is not there proves nothing.
 */
TEST(claimer_in_an_unknown_namespace)
{
	uint64_t state, claimed;

	start();
	state = s5__a64_load_rlx(&other->state);
	claimed = s5__slot_state(S5__SLOT_CLAIMED, S5__SLOT_GEN(state), 0,
				 1u << 22);
	s5__a64_store_rlx(&other->state, claimed);
	s5__self.pid_ns = 0;
	s5__a64_store_rlx(&s5__header()->janitor_s, 0);
	s5__janitor(&s5__self);
	CHECK(s5__a64_load_rlx(&other->state) == claimed, "freed");
	s5__a64_store_rlx(&other->state, state);
}

/* --- the heap's lock is not to be had for a while ---------------------------
 */

#define WAITERS 5 /* slots 3 to 7: who has one adds the next chunk of slots */

static struct s5__self *volatile waiter[WAITERS];

static void hold_heap_lock(void)
{
	struct s5__a32 *lock = &s5__header()->heap_lock;

	s5__a64_store_rlx(&other->holding, s5__off(lock));
	s5__a32_store_rlx(lock, s5__token(other_idx,
					  s5__a64_load_rlx(&other->state)));
}

/* Releases it when `n` threads have given up to get it soon. */
static void release_heap_lock(int n)
{
	struct s5__a32 *lock = &s5__header()->heap_lock;

	for (int i = 0; i < n; i++)
		WAIT_UNTIL(waiter[i] &&
			   __atomic_load_n(&waiter[i]->wanted,
					   __ATOMIC_RELAXED) == lock);
	s5__a64_store_rlx(&other->holding, 0);
	s5__a32_store_rel(lock, 0);
}

static void *release_in_thread(void *arg)
{
	(void)arg;
	release_heap_lock(1);
	return NULL;
}

static struct {
	long type;
	char text[1000];
} large = {.type = 1};

static long receive(void)
{
	return s5_msgrcv(q, &large, sizeof(large.text), 0, IPC_NOWAIT);
}

static long copy(void)
{
	return s5_msgrcv(q, &large, sizeof(large.text), 0,
			 MSG_COPY | IPC_NOWAIT);
}

static long send(void)
{
	return s5_msgsnd(q, &large, sizeof(large.text), IPC_NOWAIT);
}

/* EAGAIN is what a queue says, and not a lock inside. */
static void call_meanwhile(long (*call)(void), long want)
{
	pthread_t t;

	start();
	CHECK_EQ_INT(s5__heap_settle(&s5__self, s5__self.slot), 0);
	hold_heap_lock();
	waiter[0] = &s5__self;
	CHECK(pthread_create(&t, NULL, release_in_thread, NULL) == 0);
	CHECK_EQ_INT(CHECK_OK(call()), want);
	CHECK(pthread_join(t, NULL) == 0);
}

TEST(msgrcv_waits_for_memory)
{
	call_meanwhile(receive, 100); /* the partner's */
}

TEST(msg_copy_waits_for_memory)
{
	call_meanwhile(copy, 100);
}

TEST(msgsnd_waits_for_memory)
{
	call_meanwhile(send, 0);
}

static void *register_in_thread(void *arg)
{
	waiter[(intptr_t)arg] = &s5__self;
	CHECK_OK(s5_msgget(1, IPC_CREAT | 0600));
	(void)pthread_barrier_wait(&parked); /* its slot is not free yet */
	return NULL;
}

static void *register_late(void *arg)
{
	(void)arg;
	CHECK_OK(s5_msgget(1, IPC_CREAT | 0600));
	return NULL;
}

/* Who should add slots ahead waits for the lock: others count on it. */
TEST(slots_are_added_when_the_lock_is_busy)
{
	pthread_t t[WAITERS], late;

	start();
	CHECK_EQ_INT(other_idx, 2);
	CHECK(pthread_barrier_init(&parked, NULL, WAITERS + 1) == 0);
	hold_heap_lock();
	for (intptr_t i = 0; i < WAITERS; i++)
		CHECK(pthread_create(&t[i], NULL, register_in_thread,
				     (void *)i) == 0);
	for (int i = 0; i < WAITERS; i++)
		WAIT_UNTIL(waiter[i] &&
			   __atomic_load_n(&waiter[i]->wanted,
					   __ATOMIC_RELAXED) != NULL);
	CHECK(pthread_create(&late, NULL, register_late, NULL) == 0);
	release_heap_lock(WAITERS);
	CHECK(pthread_join(late, NULL) == 0);
	(void)pthread_barrier_wait(&parked);
	for (int i = 0; i < WAITERS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
}
