/* SPDX-License-Identifier: MIT */
/*
 * lanes.h - the tree of a queue's types
 *
 * All functions: the queue's lock is held; changes are logged by the caller's
 * transaction, which they arm.
 */
#ifndef S5_MSG_LANES_H
#define S5_MSG_LANES_H

#include "../lock/wait.h"
#include "../region/heap.h"
#include "msg_layout.h"

#define S5__LANE_LOG 8u /* most words that one change logs */

/* The cell of the lane of `type`, or 0. */
uint32_t s5__lane_find(const struct s5__msgq *q, int64_t type);

/* The cell of the lane of the lowest type <= `most` that has a message, or 0.
 */
uint32_t s5__lane_lowest(const struct s5__msgq *q, int64_t most);

/* Makes a lane for a type that has none, from a cell that the caller has
 * reserved. Its cell, or 0 if the tree is damaged. */
uint32_t s5__lane_add(struct s5__self *self, struct s5__msgq *q, int64_t type);

/* Takes a lane without messages and receivers out and frees its cell. */
void s5__lane_drop(struct s5__self *self, struct s5__msgq *q, uint32_t cell);

/* Any lane, for taking them all; 0 if there is none. */
uint32_t s5__lane_any(const struct s5__msgq *q);

#endif
