/* SPDX-License-Identifier: MIT */
/*
 * admin.c - namespaces and their limits, for the command
 */
#include "../region/ns.h"

#define S5_EXPORT __attribute__((visibility("default")))

S5_EXPORT int s5_ns_open(const char *dir, int create,
			 struct s5_ns_status *ret_status)
{
	return s5__ns_attach(dir, create != 0, ret_status);
}

S5_EXPORT const char *s5_ns_limit_name(unsigned i)
{
	return s5__ns_limit_name(i);
}

S5_EXPORT int s5_ns_limit_get(const char *name, uint64_t *ret_value)
{
	return s5__ns_limit_get(name, ret_value);
}

S5_EXPORT int s5_ns_limit_set(const char *name, uint64_t value)
{
	return s5__ns_limit_set(name, value);
}
