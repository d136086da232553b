/* SPDX-License-Identifier: MIT */
/*
 * perm.c - System V permission checks, without any lock (technique W4)
 *
 * Credentials are a thread's own in Linux. They are cached per thread and read
 * again when the drop-in has seen a call that may change them (base/cred.h).
 * The object's owner and mode are read one word at a time; a check that races
 * with IPC_SET may see the old or the new, as in the kernel.
 */
#include "perm.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/syscall.h>

_Thread_local struct s5__cred s5__cred;

static const struct s5__cred *current_cred(void)
{
	uint32_t gen = s5__cred_now() + 1;

	if (S5_UNLIKELY(s5__cred.gen != gen)) {
		s5__cred.euid =
			(uint32_t)s5__sys(SYS_geteuid, 0, 0, 0, 0, 0, 0);
		s5__cred.egid =
			(uint32_t)s5__sys(SYS_getegid, 0, 0, 0, 0, 0, 0);
		s5__cred.has_caps = false;
		s5__cred.gen = gen;
	}
	return &s5__cred;
}

uint32_t s5__perm_euid(void)
{
	return current_cred()->euid;
}

uint32_t s5__perm_egid(void)
{
	return current_cred()->egid;
}

bool s5__perm_capable(int cap)
{
	(void)current_cred();
	if (!s5__cred.has_caps) {
		struct __user_cap_header_struct h = {
			_LINUX_CAPABILITY_VERSION_3, 0};
		struct __user_cap_data_struct d[2] = {{0, 0, 0}, {0, 0, 0}};

		if (s5__sys(SYS_capget, (long)&h, (long)d, 0, 0, 0, 0) != 0)
			return false;
		s5__cred.caps = d[0].effective | (uint64_t)d[1].effective << 32;
		s5__cred.has_caps = true;
	}
	return s5__cred.caps >> cap & 1;
}

/* Is `gid` the effective or a supplementary group? Only asked for objects of
 * other users, so the groups are not cached. */
static bool in_group(uint32_t a, uint32_t b)
{
	uint32_t egid = current_cred()->egid;
	uint32_t few[64];
	uint32_t *g = few;
	long n, len = 0;
	bool found = false;

	if (egid == a || egid == b)
		return true;
	n = s5__sys(SYS_getgroups, 0, 0, 0, 0, 0, 0);
	if (n > (long)(sizeof(few) / sizeof(few[0]))) {
		len = n * (long)sizeof(*g);
		g = (uint32_t *)s5__sys(SYS_mmap, 0, len,
					PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if ((long)g < 0 && (long)g >= -4095)
			return false;
	}
	n = s5__sys(SYS_getgroups, n > 0 ? n : 0, (long)g, 0, 0, 0, 0);
	for (long i = 0; i < n && !found; i++)
		found = g[i] == a || g[i] == b;
	if (len)
		(void)s5__sys(SYS_munmap, (long)g, len, 0, 0, 0, 0);
	return found;
}

static bool is_owner(const struct s5__ipc *ipc)
{
	uint32_t euid = current_cred()->euid;

	return euid == s5__a32_load_rlx(&ipc->cuid) ||
	       euid == s5__a32_load_rlx(&ipc->uid);
}

int s5__perm_check_slow(const struct s5__ipc *ipc, uint32_t want)
{
	uint32_t granted = s5__a32_load_rlx(&ipc->mode);

	if (want == 0)
		return 0;
	if (is_owner(ipc))
		granted >>= 6;
	else if (in_group(s5__a32_load_rlx(&ipc->cgid),
			  s5__a32_load_rlx(&ipc->gid)))
		granted >>= 3;
	if ((want & ~granted & 7u) == 0)
		return 0;
	return s5__perm_capable(S5__CAP_IPC_OWNER) ? 0 : -EACCES;
}

int s5__perm_owner(const struct s5__ipc *ipc)
{
	if (is_owner(ipc) || s5__perm_capable(S5__CAP_SYS_ADMIN))
		return 0;
	return -EPERM;
}
