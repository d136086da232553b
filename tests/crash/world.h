/* SPDX-License-Identifier: MIT */
/*
 * world.h - one run of a scene: victim, helpers, and what they saw
 *
 * The world lies in shared memory, so that what a process noted before it was
 * killed is known. A message carries a number; its content follows from number
 * and size.
 */
#ifndef S5_TESTS_WORLD_H
#define S5_TESTS_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WORLD_MESSAGES 1024
#define WORLD_HELPERS  64
#define WORLD_POINTS   128

enum sent {
	NOT_SENT,
	SENDING, /* its sender may have been killed in the call */
	SENT,
	REFUSED,
};

struct helper {
	pid_t pid;
	long result; /* of its call, as the room returns it */
	volatile int done;
};

struct world {
	int id;
	int removed;		/* RMID was called, perhaps not to the end */
	volatile int receiving; /* the victim is in msgrcv */
	int may_lose;		/* others that were killed in msgrcv */
	uint8_t sent[WORLD_MESSAGES];
	uint8_t got[WORLD_MESSAGES];
	struct helper helper[WORLD_HELPERS];
	int helpers;
	int mark[8]; /* the scene's own */
	/* Crash points: visits counted in a victim that is to live, or the
	 * one that kills. */
	volatile int is_victim_running;
	uint32_t visits[WORLD_POINTS];
};
extern struct world *world;
extern bool world_is_victim;
extern bool world_is_stepped; /* a victim, but of single steps */

/* Crash points by number; how many names there are. */
int point_count(void);
const char *point_name(int i);
/* The next process that becomes a victim dies there; visit 0: just counts. */
void point_arm(int point, uint32_t visit);

/* The calls, with what they mean noted in the world. 0 or length, or -errno. */
int w_get(int key, int flags);
int w_send(int number, long type, size_t size, int flags);
long w_recv(size_t size, long type, int flags);
int w_remove(void);

/* Helpers: a process that makes one call and ends. */
void helper_recv(size_t size, long type, int flags);
void helper_send(int number, long type, size_t size);
/* A process of that many threads, each of which receives type from + i. */
void helper_recv_threads(int threads, long from);

/* How many threads wait in a list of a queue. */
unsigned waiting(void);
/* The same of one process. */
unsigned waiting_of(pid_t pid);
bool all_helpers_done(void);

#endif
