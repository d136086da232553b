/* SPDX-License-Identifier: MIT */
/*
 * supervise.h - the process that starts the workers and cleans up after them
 */
#ifndef S5_BENCH_SUPERVISE_H
#define S5_BENCH_SUPERVISE_H

#include "bench.h"

/* From open to close, signals that would end the command are held back. */
int bench_supervise_open(void);
void bench_supervise_close(void);

/*
 * Measures a row on a side once, in a process of its own; count 0 finds out how
 * many operations fit into the seconds, and puts them into the result.
 * Returns 0 with a result (done, perhaps skipped), -EIO if the worker failed
 * (why is in ret_result), -EINTR after a signal that is to end the command, or
 * another -errno.
 */
int bench_measure(const struct bench_row *row, enum bench_side side,
		  uint64_t count, double seconds,
		  struct bench_result *ret_result);

/* Dies of the signal that interrupted bench_measure(), if any did. */
void bench_die_of_signal(void);

#endif
