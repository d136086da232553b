/* SPDX-License-Identifier: MIT */
/*
 * step.h - one step of a random program: making it up, and doing it.
 *
 * step.c has the steps of message queues, set_step.c of semaphore sets; a
 * program is linked with one of them.
 */
#ifndef S5_CONFORMANCE_STEP_H
#define S5_CONFORMANCE_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "world.h"

#define SLOTS 6 /* variables of the program that hold ids */

enum step_kind {
	STEP_GET,
	STEP_SND,
	STEP_RCV,
	STEP_STAT,
	STEP_SET,
	STEP_RMID,
	STEP_SIGNAL,
	STEP_KILL,
	STEP_EUID,
	STEP_COPY,
	STEP_MSG_STAT,
	STEP_INFO,
	STEP_SEMGET,
	STEP_SEMOP,
	STEP_SEMCTL,
};

/* All choices are made beforehand, so that steps may be left out. */
struct step {
	enum step_kind kind;
	int worker, slot;
	int key, flags, cmd, sig;
	long type;
	size_t size;
	unsigned long qbytes;
	unsigned mode;
	uid_t uid;
	bool bad_pointer;
	bool herd; /* let senders race for room */
	int num;   /* of the semaphore; how many, for STEP_SEMGET */
	long value;
	struct operations operations;
};

/* `whole` also makes MSG_COPY and the commands by index. */
void make_step(uint64_t *random, bool whole, struct step *ret_step);
void make_first_step(int slot, struct step *ret_step);
void print_step(int number, const struct step *s);

void begin_program(void);
/* False if the worlds differ; what differs is printed. */
bool do_step(const struct step *s);
void end_program(void);
/* What the steps came to, in words. */
const char *step_tally(void);

#endif
