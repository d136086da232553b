/* SPDX-License-Identifier: MIT */
/*
 * ns.h - finding, making and mapping the namespace's directory and arena
 */
#ifndef S5_REGION_NS_H
#define S5_REGION_NS_H

#include "layout.h"

#include "../../include/sysfive/admin.h"

/*
 * Maps the namespace, if this process has none yet. dir NULL: the rule of
 * sysfive(7). Returns 0 or -errno; *ret_status says why. Touches no shared page
 * when it only maps. Safe from several threads at once.
 */
int s5__ns_attach(const char *dir, bool create,
		  struct s5_ns_status *ret_status);

/* Reserves a range of the arena's file through its path, where the kernel has
 * no MADV_POPULATE_WRITE. 0 or -errno. */
int s5__ns_fallocate(uint64_t off, uint64_t len);

/* Opens the directory of the namespace that is mapped: a descriptor, or -errno.
 * *ret_mode: what its files shall have. */
long s5__ns_open_dir(uint32_t *ret_mode);

/* The limits, as sysfive/admin.h has them. */
const char *s5__ns_limit_name(unsigned i);
int s5__ns_limit_get(const char *name, uint64_t *ret_value);
int s5__ns_limit_set(const char *name, uint64_t value);

#endif
