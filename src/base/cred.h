/* SPDX-License-Identifier: MIT */
/*
 * cred.h - has this process changed who it is?
 *
 * Owns one counter in private memory. The drop-in raises it after each call
 * that may have changed uids, groups or capabilities; permission checks
 * compare it with the value that their cached credentials were read at.
 */
#ifndef S5_BASE_CRED_H
#define S5_BASE_CRED_H

#include <stdatomic.h>
#include <stdint.h>

extern _Atomic uint32_t s5__cred_gen __attribute__((visibility("hidden")));

/* Read it before the credentials are read. */
static inline uint32_t s5__cred_now(void)
{
	return atomic_load_explicit(&s5__cred_gen, memory_order_relaxed);
}

__attribute__((visibility("default"))) void s5__cred_changed(void);

#endif
