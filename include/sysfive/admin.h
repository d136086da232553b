/* SPDX-License-Identifier: MIT */
/*
 * sysfive/admin.h - namespaces and their limits
 *
 * For the command and for administrative programs. These functions follow the
 * library's inner convention: 0 or a negative errno, errno itself untouched.
 */
#ifndef SYSFIVE_ADMIN_H
#define SYSFIVE_ADMIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum s5_ns_reason {
	S5_NS_OK = 0,
	S5_NS_ABSENT,	 /* no such directory, or no namespace in it */
	S5_NS_NO_PLACE,	 /* no directory to put the default one in */
	S5_NS_NOT_OURS,	 /* the default place belongs to somebody else */
	S5_NS_NOT_DIR,	 /* something that is no directory has that name */
	S5_NS_TOO_OPEN,	 /* anybody may replace files in the directory */
	S5_NS_NO_ACCESS, /* permission denied */
	S5_NS_NOT_A_NS,	 /* the file is not an arena, or is cut short */
	S5_NS_VERSION,	 /* made by a version with another format */
	S5_NS_NO_ROOM,	 /* the file system is full */
	S5_NS_NO_MEMORY, /* no address space, or a file size limit */
	S5_NS_SYSTEM,	 /* another failure: see the errno returned */
};

/* Why a namespace could be opened or not. */
struct s5_ns_status {
	enum s5_ns_reason reason;
	uint32_t format;    /* S5_NS_VERSION: the format found */
	uint32_t supported; /* the format that this library knows */
	int created;	    /* 1 if this call made the namespace */
	char dir[512];	    /* the directory */
	char call[32];	    /* the system call that failed, or "" */
};

/*
 * Opens the namespace in `dir` (NULL: $SYSFIVE_DIR, else the default place)
 * for this process, making it if `create` is not 0 and it is not there. A
 * process has one namespace; opening it again returns 0 if it is the same.
 * Returns 0 or -errno; *ret_status is always written.
 */
int s5_ns_open(const char *dir, int create, struct s5_ns_status *ret_status);

/*
 * Reads and sets a limit of the open namespace by the kernel's name: msgmax,
 * msgmnb, msgmni. Returns 0, -EINVAL (no such limit, or no namespace open), or
 * -ERANGE (the value is not one the kernel would take).
 */
int s5_ns_limit_get(const char *name, uint64_t *ret_value);
int s5_ns_limit_set(const char *name, uint64_t value);

/* The i-th limit's name, or NULL. */
const char *s5_ns_limit_name(unsigned i);

#ifdef __cplusplus
}
#endif

#endif
