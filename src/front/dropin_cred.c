/* SPDX-License-Identifier: MIT */
/*
 * dropin_cred.c - calls after which cached credentials are stale
 *
 * Each does what libc does and then says that something may have changed, also
 * when it failed: some of them fail half-way.
 */
#include "dropin.h"

#include <grp.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include "base/cred.h"
#include "sem/room.h"

/* glibc has it, and no header that declares it. */
int capset(struct __user_cap_header_struct *head,
	   const struct __user_cap_data_struct *data);

/* A name, its parameters, and the arguments that they become. */
#define CHANGES_CRED(name, parameters, arguments) \
	S5_EXPORT int name parameters             \
	{                                         \
		int ret = REAL(name) arguments;   \
                                                  \
		s5__cred_changed();               \
		return ret;                       \
	}

CHANGES_CRED(setuid, (uid_t id), (id))
CHANGES_CRED(seteuid, (uid_t id), (id))
CHANGES_CRED(setreuid, (uid_t real, uid_t effective), (real, effective))
CHANGES_CRED(setresuid, (uid_t real, uid_t effective, uid_t saved),
	     (real, effective, saved))
CHANGES_CRED(setfsuid, (uid_t id), (id))
CHANGES_CRED(setgid, (gid_t id), (id))
CHANGES_CRED(setegid, (gid_t id), (id))
CHANGES_CRED(setregid, (gid_t real, gid_t effective), (real, effective))
CHANGES_CRED(setresgid, (gid_t real, gid_t effective, gid_t saved),
	     (real, effective, saved))
CHANGES_CRED(setfsgid, (gid_t id), (id))
CHANGES_CRED(setgroups, (size_t count, const gid_t *groups), (count, groups))
CHANGES_CRED(initgroups, (const char *user, gid_t group), (user, group))
CHANGES_CRED(capset,
	     (struct __user_cap_header_struct * head,
	      const struct __user_cap_data_struct *data),
	     (head, data))

/* These two may also leave what SEM_UNDO is kept for. */
S5_EXPORT int unshare(int flags)
{
	int ret = REAL(unshare)(flags);

	s5__cred_changed();
	if (ret == 0 && (flags & (CLONE_SYSVSEM | CLONE_NEWIPC)))
		s5__sem_unshared();
	return ret;
}

S5_EXPORT int setns(int fd, int type)
{
	int ret = REAL(setns)(fd, type);

	s5__cred_changed();
	if (ret == 0 && (type & CLONE_NEWIPC))
		s5__sem_unshared();
	return ret;
}
