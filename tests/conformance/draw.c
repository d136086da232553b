/* SPDX-License-Identifier: MIT */
/* draw.c - random choices that a seed repeats; lines of the report. */
#include "draw.h"

#include <stdarg.h>
#include <stdio.h>

uint64_t draw(uint64_t *random, uint64_t below)
{
	uint64_t z = (*random += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (z ^ (z >> 31)) % below;
}

bool one_in(uint64_t *random, unsigned n)
{
	return draw(random, n) == 0;
}

bool differ(const char *fmt, ...)
{
	va_list ap;

	printf("#   ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	return false;
}
