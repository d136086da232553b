/* SPDX-License-Identifier: MIT */
/* test_memory.c - what the arena's file occupies */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/msg.h>
#include <sys/stat.h>
#include <sysfive/admin.h>
#include <sysfive/sysfive.h>

#define KIB	 1024u
#define QUEUES	 32000
#define LARGE	 (8 * KIB * KIB)
#define ALL_KEPT (2 * KIB) /* KiB that freed messages may keep occupied */

/* KiB that the namespace's files occupy. */
static uint64_t occupied(void)
{
	char path[4096];
	struct stat sb;

	(void)snprintf(path, sizeof(path), "%s/arena", getenv("SYSFIVE_DIR"));
	CHECK_OK(stat(path, &sb));
	return (uint64_t)sb.st_blocks / 2;
}

TEST(large_message_gives_its_memory_back)
{
	struct large {
		long type;
		char text[LARGE];
	} *m = calloc(1, sizeof(*m));
	uint64_t before;
	int q;

	CHECK(m != NULL);
	q = CHECK_OK(s5_msgget(IPC_PRIVATE, 0600));
	CHECK_EQ_INT(s5_ns_limit_set("msgmax", LARGE), 0);
	CHECK_EQ_INT(s5_ns_limit_set("msgmnb", LARGE), 0);
	CHECK_OK(s5_msgctl(q, IPC_RMID, NULL));
	q = CHECK_OK(s5_msgget(IPC_PRIVATE, 0600));
	before = occupied();
	for (int i = 0; i < 3; i++) {
		m->type = 1;
		CHECK_OK(s5_msgsnd(q, m, LARGE, 0));
		CHECK(occupied() >= LARGE / KIB, "%llu KiB",
		      (unsigned long long)occupied());
		CHECK_EQ_INT(s5_msgrcv(q, m, LARGE, 0, 0), LARGE);
		CHECK(occupied() < before + ALL_KEPT, "%llu KiB are left",
		      (unsigned long long)occupied());
	}
	CHECK_OK(s5_msgsnd(q, m, LARGE, 0));
	CHECK_OK(s5_msgctl(q, IPC_RMID, NULL));
	CHECK(occupied() < before + ALL_KEPT, "%llu KiB after the removal",
	      (unsigned long long)occupied());
	free(m);
}

TEST(as_many_queues_as_there_may_be_fit_into_64_mib)
{
	static int q[QUEUES];

	for (int i = 0; i < QUEUES; i++)
		q[i] = CHECK_OK(s5_msgget(IPC_PRIVATE, 0600));
	CHECK(s5_msgget(IPC_PRIVATE, 0600) == -1 && errno == ENOSPC);
	CHECK(occupied() <= 64 * KIB, "%llu KiB",
	      (unsigned long long)occupied());
	for (int i = 0; i < QUEUES; i++)
		CHECK_OK(s5_msgctl(q[i], IPC_RMID, NULL));
}
