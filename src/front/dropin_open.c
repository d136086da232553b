/* SPDX-License-Identifier: MIT */
/*
 * dropin_open.c - the functions that open and write files
 *
 * Each lets libc do its work, and looks at the path when the kernel has
 * accepted the pointer: nothing else is touched. Owns nothing.
 */
/* The names are defined here, not what headers make of them. */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE

#include "dropin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* glibc calls these where the sizes are known, and declares them nowhere. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);

/* There is a mode among the arguments only if a file may be made. */
#define MAKES(flags) (((flags) & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) != 0)

S5_EXPORT int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if (MAKES(flags))
		mode = va_arg(ap, mode_t);
	va_end(ap);
	return (int)s5__front_opened(REAL(open)(path, flags, mode), path,
				     flags);
}

S5_EXPORT int openat(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if (MAKES(flags))
		mode = va_arg(ap, mode_t);
	va_end(ap);
	return (int)s5__front_opened(REAL(openat)(dir, path, flags, mode), path,
				     flags);
}

S5_EXPORT int __open_2(const char *path, int flags)
{
	return (int)s5__front_opened(REAL(__open_2)(path, flags), path, flags);
}

S5_EXPORT int __openat_2(int dir, const char *path, int flags)
{
	return (int)s5__front_opened(REAL(__openat_2)(dir, path, flags), path,
				     flags);
}

/* An off_t has 64 bits on every machine that there is entry code for. */
S5_EXPORT __attribute__((alias("open"))) int open64(const char *path, int flags,
						    ...);
S5_EXPORT __attribute__((alias("openat"))) int
openat64(int dir, const char *path, int flags, ...);
S5_EXPORT __attribute__((alias("__open_2"))) int __open64_2(const char *path,
							    int flags);
S5_EXPORT __attribute__((alias("__openat_2"))) int
__openat64_2(int dir, const char *path, int flags);

static int flags_of(const char *mode)
{
	int flags = *mode == 'r' ? O_RDONLY : O_WRONLY;

	for (; *mode && *mode != ','; mode++) {
		if (*mode == '+')
			flags = (flags & ~O_ACCMODE) | O_RDWR;
		if (*mode == 'e')
			flags |= O_CLOEXEC;
	}
	return flags;
}

S5_EXPORT FILE *fopen(const char *path, const char *mode)
{
	FILE *f = REAL(fopen)(path, mode);
	int saved = errno;
	int old, fd;

	if (!s5__front_looks_ours(f ? 0 : -1, path))
		return f;
	/* Nothing was read yet: the stream goes on with what is put there. */
	old = f ? fileno(f) : -1;
	errno = saved;
	fd = (int)s5__front_stand_in(old, path, flags_of(mode));
	if (fd == old)
		return f;
	if (!f)
		return fd >= 0 ? fdopen(fd, mode) : NULL;
	saved = errno;
	(void)REAL(fclose)(f);
	errno = saved;
	return NULL;
}

S5_EXPORT __attribute__((alias("fopen"))) FILE *fopen64(const char *path,
							const char *mode);

S5_EXPORT ssize_t write(int fd, const void *buf, size_t size)
{
	if (__builtin_expect(s5__front_has_written(), 0))
		return s5__front_write(fd, buf, size);
	return REAL(write)(fd, buf, size);
}

/* Shells look at ferror() instead of fflush(). */
static void set_error(FILE *f)
{
#ifdef _IO_ERR_SEEN
	f->_flags |= _IO_ERR_SEEN;
#else
	(void)f;
#endif
}

static int flush(FILE *f)
{
	FILE *one = f ? f : stdout;
	int ret = REAL(fflush)(f);

	if (ret)
		return ret;
	ret = s5__front_flushed(fileno(one));
	if (ret)
		set_error(one);
	return ret;
}

S5_EXPORT int fflush(FILE *f)
{
	if (__builtin_expect(s5__front_has_written(), 0))
		return flush(f);
	return REAL(fflush)(f);
}

S5_EXPORT int fclose(FILE *f)
{
	int err, ret;

	if (__builtin_expect(!s5__front_has_written(), 1) ||
	    !s5__front_is_written(fileno(f)))
		return REAL(fclose)(f);
	ret = flush(f);
	err = errno;
	if (REAL(fclose)(f))
		return EOF;
	if (ret)
		errno = err;
	return ret;
}
