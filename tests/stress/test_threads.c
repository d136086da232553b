/* SPDX-License-Identifier: MIT */
/*
 * test_threads.c - threads of one process on the same queues
 *
 * Linked with the core, so that ThreadSanitizer (`make tsan`) sees both sides
 * of every access. Each thread sends to all types and receives its own, so that
 * messages are queued, handed over, and waited for; a queue is small, so that
 * senders wait, too. What was sent must arrive, once.
 */
#include "harness.h"

#include <pthread.h>
#include <sys/msg.h>
#include <sysfive/sysfive.h>

#define THREADS 4
#define ROUNDS	3000
#define QBYTES	1024

struct message {
	long type;
	uint32_t from, number;
	char text[120];
};

static int queue;
static uint32_t got[THREADS][THREADS];

static void receive_one(uint32_t me, int flags)
{
	struct message m;
	ssize_t n =
		s5_msgrcv(queue, &m, sizeof(m) - sizeof(long), me + 1, flags);

	if (n < 0 && errno == ENOMSG)
		return;
	CHECK(n >= 8, "errno %d", errno);
	CHECK(m.from < THREADS && m.number == got[me][m.from],
	      "message %u from %u, not %u", m.number, m.from, got[me][m.from]);
	got[me][m.from]++;
}

/* Whether thread `me` has all of its messages. */
static bool has_all(uint32_t me)
{
	for (uint32_t i = 0; i < THREADS; i++)
		if (got[me][i] < ROUNDS)
			return false;
	return true;
}

/* One round: a message to each thread, itself included; no deadlock, as who
 * finds the queue full receives. */
static void send_round(uint32_t me, uint32_t number)
{
	for (uint32_t to = 0; to < THREADS; to++) {
		struct message m = {to + 1, me, number, ""};

		while (s5_msgsnd(queue, &m, 8 + number % sizeof(m.text),
				 IPC_NOWAIT) != 0) {
			CHECK(errno == EAGAIN, "errno %d", errno);
			receive_one(me, IPC_NOWAIT);
		}
	}
}

static void *work(void *arg)
{
	uint32_t me = (uint32_t)(uintptr_t)arg;
	struct msqid_ds ds;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		send_round(me, i);
		if (i % 64 == me) {
			int q = CHECK_OK(s5_msgget(IPC_PRIVATE, 0600));

			CHECK_OK(s5_msgctl(queue, IPC_STAT, &ds));
			CHECK_OK(s5_msgctl(queue, IPC_SET, &ds));
			CHECK_OK(s5_msgctl(q, IPC_RMID, NULL));
		}
	}
	while (!has_all(me))
		receive_one(me, 0);
	return NULL;
}

static void set_qbytes(unsigned long n)
{
	struct msqid_ds ds;

	CHECK_OK(s5_msgctl(queue, IPC_STAT, &ds));
	ds.msg_qbytes = n;
	CHECK_OK(s5_msgctl(queue, IPC_SET, &ds));
}

TEST_TIMEOUT(all_to_all, 240)
{
	pthread_t t[THREADS];

	queue = CHECK_OK(s5_msgget(IPC_PRIVATE, 0600));
	set_qbytes(QBYTES);
	for (uint32_t i = 0; i < THREADS; i++)
		CHECK(pthread_create(&t[i], NULL, work, (void *)(uintptr_t)i) ==
		      0);
	for (uint32_t i = 0; i < THREADS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK_OK(s5_msgctl(queue, IPC_RMID, NULL));
}

static void *send_blocking(void *arg)
{
	(void)arg;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct message m = {1, 1, i, ""};

		CHECK_OK(s5_msgsnd(queue, &m, sizeof(m) - sizeof(long), 0));
	}
	return NULL;
}

TEST_TIMEOUT(one_blocks_for_the_other, 240)
{
	pthread_t t;

	queue = CHECK_OK(s5_msgget(IPC_PRIVATE, 0600));
	set_qbytes(2 * sizeof(struct message));
	CHECK(pthread_create(&t, NULL, send_blocking, NULL) == 0);
	while (got[0][1] < ROUNDS)
		receive_one(0, 0);
	CHECK(pthread_join(t, NULL) == 0);
	CHECK_OK(s5_msgctl(queue, IPC_RMID, NULL));
}

static void *wait_for_removal(void *arg)
{
	struct message m;

	(void)arg;
	CHECK(s5_msgrcv(queue, &m, sizeof(m) - sizeof(long), 0, 0) == -1 &&
		      (errno == EIDRM || errno == EINVAL),
	      "errno %d", errno);
	return NULL;
}

TEST_TIMEOUT(removal_reaches_all, 240)
{
	for (int i = 0; i < 50; i++) {
		pthread_t t[THREADS];

		queue = CHECK_OK(s5_msgget(IPC_PRIVATE, 0600));
		for (int k = 0; k < THREADS; k++)
			CHECK(pthread_create(&t[k], NULL, wait_for_removal,
					     NULL) == 0);
		CHECK_OK(s5_msgctl(queue, IPC_RMID, NULL));
		for (int k = 0; k < THREADS; k++)
			CHECK(pthread_join(t[k], NULL) == 0);
	}
}
