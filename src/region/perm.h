/* SPDX-License-Identifier: MIT */
/*
 * perm.h - System V permission checks, without any lock (technique W4)
 */
#ifndef S5_REGION_PERM_H
#define S5_REGION_PERM_H

#include "layout.h"

#define S5__WANT_READ  4u
#define S5__WANT_WRITE 2u
#define S5__WANT_EXEC  1u

#define S5__CAP_IPC_OWNER    15
#define S5__CAP_SYS_ADMIN    21
#define S5__CAP_SYS_RESOURCE 24

/* May this thread do `want` (bits above)? 0 or -EACCES. */
int s5__perm_check(const struct s5__ipc *ipc, uint32_t want);

/* May it change or remove the object? 0 or -EPERM. */
int s5__perm_owner(const struct s5__ipc *ipc);

/* Has this thread that capability in effect? */
bool s5__perm_capable(int cap);

uint32_t s5__perm_euid(void);
uint32_t s5__perm_egid(void);

#endif
