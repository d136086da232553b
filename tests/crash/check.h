/* SPDX-License-Identifier: MIT */
/*
 * check.h - the invariants of an arena at rest (docs/invariants.md)
 *
 * For tests that link the static core. The caller's process has the namespace
 * mapped. Each queue is looked at under its lock; the account of cells and
 * pages holds no lock, so the arena must be at rest: members asleep or dead.
 */
#ifndef S5_TESTS_CHECK_H
#define S5_TESTS_CHECK_H

#include <stdbool.h>
#include <stdint.h>

struct check_report {
	unsigned n;	 /* violations found */
	char text[4096]; /* one line for each of the first ones */
	/* What there is, for comparisons between rounds. */
	uint32_t queues, messages, lanes, waiters, slots;
	uint32_t cells_free, cells_used, pages_free, pages_used, bump;
};

/* Settles the slots of all dead threads, as the janitor would. Returns how many
 * are left that are dead and not settled. */
unsigned check_settle(void);

/* Looks at everything. A violation must be there in three looks in a row. */
bool check_all(struct check_report *ret_report);

/* check_settle() and check_all(); the calling test fails on a violation. */
void check_clean(const char *when);

#endif
