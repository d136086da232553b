/* SPDX-License-Identifier: MIT */
/*
 * perm.h - System V permission checks, without any lock (technique W4)
 */
#ifndef S5_REGION_PERM_H
#define S5_REGION_PERM_H

#include "../base/cred.h"
#include "layout.h"

#define S5__WANT_READ  4u
#define S5__WANT_WRITE 2u
#define S5__WANT_EXEC  1u

#define S5__CAP_IPC_LOCK     14
#define S5__CAP_IPC_OWNER    15
#define S5__CAP_SYS_ADMIN    21
#define S5__CAP_SYS_RESOURCE 24

/* A thread's credentials as last read; see perm.c. */
struct s5__cred {
	uint32_t gen; /* s5__cred_now() + 1 when they were read; 0: never */
	uint32_t euid, egid;
	bool has_caps;
	uint64_t caps;
};
extern _Thread_local struct s5__cred s5__cred
	__attribute__((tls_model("initial-exec")));

int s5__perm_check_slow(const struct s5__ipc *ipc, uint32_t want);

/* May this thread do `want` (bits above)? 0 or -EACCES. */
static inline int s5__perm_check(const struct s5__ipc *ipc, uint32_t want)
{
	/* the creator, as in most calls */
	if (S5_LIKELY(s5__cred.gen == s5__cred_now() + 1 &&
		      s5__cred.euid == s5__a32_load_rlx(&ipc->cuid) &&
		      (want & ~(s5__a32_load_rlx(&ipc->mode) >> 6)) == 0))
		return 0;
	return s5__perm_check_slow(ipc, want);
}

/* May it change or remove the object? 0 or -EPERM. */
int s5__perm_owner(const struct s5__ipc *ipc);

/* Has this thread that capability in effect? */
bool s5__perm_capable(int cap);

uint32_t s5__perm_euid(void);
uint32_t s5__perm_egid(void);

#endif
