/* SPDX-License-Identifier: MIT */
/*
 * check_arena.c - the checker as a program: is the namespace's arena clean?
 *
 * For tests whose processes are linked with the drop-in. All members must be
 * at rest. Prints what there is, or what is wrong.
 */
#include "check.h"
#include "harness.h"
#include "msg/room.h"
#include "region/ns.h"

#include <stdio.h>

HELPER(check_arena)
{
	static struct check_report r;
	struct s5_ns_status st;

	s5__msg_init();
	CHECK_EQ_INT(s5__ns_attach(NULL, false, &st), 0);
	check_clean("the arena");
	CHECK(check_all(&r));
	printf("%u queues, %u messages, %u lanes, %u waiters, %u slots, cells "
	       "%u used, %u free, pages %u used, %u free, %u in all\n",
	       r.queues, r.messages, r.lanes, r.waiters, r.slots, r.cells_used,
	       r.cells_free, r.pages_used, r.pages_free, r.bump);
	return 0;
}
