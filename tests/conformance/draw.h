/* SPDX-License-Identifier: MIT */
/* draw.h - random choices of the differential test, and saying what differs. */
#ifndef S5_CONFORMANCE_DRAW_H
#define S5_CONFORMANCE_DRAW_H

#include <stdbool.h>
#include <stdint.h>

/* A number below `below`, which is not 0; `random` goes on. */
uint64_t draw(uint64_t *random, uint64_t below);
bool one_in(uint64_t *random, unsigned n);

/* Prints a line of the report; false. */
bool differ(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
