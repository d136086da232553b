/* SPDX-License-Identifier: MIT */
/*
 * dropin.h - what the drop-in's files share
 *
 * Owns pointers to libc's own functions. They are found by the constructor,
 * or by whoever calls before it. No lock: everybody finds the same, and each
 * pointer is of use alone.
 */
#ifndef S5_FRONT_DROPIN_H
#define S5_FRONT_DROPIN_H

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#define S5_EXPORT __attribute__((visibility("default")))

struct shmid_ds;
struct __user_cap_header_struct;
struct __user_cap_data_struct;

/* Every function that C code calls by a pointer: X(result, name, arguments).
 * Call it as REAL(name)(arguments). Where libc has no such function it gives
 * ENOSYS. */
#define S5__FRONT_REAL(X)                                                      \
	X(int, open, (const char *, int, ...))                                 \
	X(int, openat, (int, const char *, int, ...))                          \
	X(int, __open_2, (const char *, int))                                  \
	X(int, __openat_2, (int, const char *, int))                           \
	X(FILE *, fopen, (const char *, const char *))                         \
	X(ssize_t, write, (int, const void *, size_t))                         \
	X(int, fflush, (FILE *))                                               \
	X(int, fclose, (FILE *))                                               \
	X(int, sigaction, (int, const struct sigaction *, struct sigaction *)) \
	X(int, shmget, (key_t, size_t, int))                                   \
	X(void *, shmat, (int, const void *, int))                             \
	X(int, shmdt, (const void *))                                          \
	X(int, shmctl, (int, int, struct shmid_ds *))                          \
	X(int, setuid, (uid_t))                                                \
	X(int, seteuid, (uid_t))                                               \
	X(int, setreuid, (uid_t, uid_t))                                       \
	X(int, setresuid, (uid_t, uid_t, uid_t))                               \
	X(int, setfsuid, (uid_t))                                              \
	X(int, setgid, (gid_t))                                                \
	X(int, setegid, (gid_t))                                               \
	X(int, setregid, (gid_t, gid_t))                                       \
	X(int, setresgid, (gid_t, gid_t, gid_t))                               \
	X(int, setfsgid, (gid_t))                                              \
	X(int, setgroups, (size_t, const gid_t *))                             \
	X(int, initgroups, (const char *, gid_t))                              \
	X(int, capset,                                                         \
	  (struct __user_cap_header_struct *,                                  \
	   const struct __user_cap_data_struct *))                             \
	X(int, unshare, (int))                                                 \
	X(int, setns, (int, int))

#define S5__FRONT_FIELD(result, name, arguments) result(*name) arguments;
struct s5__front_real {
	S5__FRONT_REAL(S5__FRONT_FIELD)
};
#undef S5__FRONT_FIELD

extern struct s5__front_real s5__front_real;
#define REAL(name)                                 \
	(s5__front_real.name ? s5__front_real.name \
			     : (s5__front_find_all(), s5__front_real.name))

/* Keeps errno. */
void s5__front_find_all(void);

/* Those that assembly jumps to. Until they are found they point to code that
 * finds them first (dropin_entry.S). */
extern long (*s5__front_real_syscall)(long nr, ...);
extern void *s5__front_real_vfork;
extern void *s5__front_real_clone;
extern void *s5__front_real_dlopen;

/* Entered from syscall() for the numbers that s5__front_numbers marks. */
long s5__front_syscall(long nr, long a, long b, long c, long d, long e, long f);
extern const unsigned char s5__front_numbers[];

/* How many files that set something were opened by this process, or by one
 * that forked it. */
extern _Atomic uint32_t s5__front_writers;

static inline bool s5__front_has_written(void)
{
	return atomic_load_explicit(&s5__front_writers, memory_order_relaxed) !=
	       0;
}

/* Puts a file of ours in the place of one that was opened, or would have been:
 * `fd`, or -1 and errno. Returns likewise; a descriptor keeps its number. */
long s5__front_stand_in(long fd, const char *path, int flags);

/* Worth a closer look? A pointer that the kernel refused is not followed. */
static inline bool s5__front_looks_ours(long fd, const char *path)
{
	static const char proc[] = "/proc/sys";

	if (fd < 0 && errno != ENOENT && errno != EACCES && errno != EROFS)
		return false;
	return strncmp(path, proc, sizeof(proc) - 1) == 0;
}

/* What every kind of open() ends with. */
static inline long s5__front_opened(long fd, const char *path, int flags)
{
	if (__builtin_expect(!s5__front_looks_ours(fd, path), 1))
		return fd;
	return s5__front_stand_in(fd, path, flags);
}

/* Is it such a file, opened for writing? */
bool s5__front_is_written(int fd);

/* write(), and what follows a successful fflush(), in a process that has
 * opened such a file. */
ssize_t s5__front_write(int fd, const void *buf, size_t size);
int s5__front_flushed(int fd);

#endif
