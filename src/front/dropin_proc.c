/* SPDX-License-Identifier: MIT */
/*
 * dropin_proc.c - /proc/sysvipc and the limits in /proc/sys/kernel
 *
 * Whoever opens one gets a file in memory that holds the namespace's text as of
 * now. What is written to such a file is taken when write() or fflush() has put
 * it there. Files opened for writing are known by their inode, so that copies
 * of the descriptor, and forked children, are known too.
 *
 * Owns the list of those inodes: private, a ring. No lock: an entry is written
 * before its `ino` is. Every system call is raw, since other preload libraries
 * stand in for open() and fstat() as well.
 */
#include "dropin.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sysfive/admin.h>

#include "region/names.h"

#define NUMBER_MAX 22 /* characters, as the kernel takes them; one for NUL */
#define WRITE_MAX  4096
#define WRITERS	   16u
#define NEXT_ID	   "msg_next_id"

/* What may be opened: a table, or the kernel's name of a number. */
static const struct file {
	const char *path;
	const char *limit;
} files[] = {
	{"/proc/sysvipc/msg", NULL},
	{"/proc/sys/kernel/msgmax", "msgmax"},
	{"/proc/sys/kernel/msgmnb", "msgmnb"},
	{"/proc/sys/kernel/msgmni", "msgmni"},
	{"/proc/sys/kernel/" NEXT_ID, NEXT_ID},
};

static struct writer {
	const struct file *file;
	uint64_t dev;
	_Atomic uint64_t ino; /* 0: no entry */
	_Atomic bool taken;   /* what stdio wrote; more of it has no effect */
	bool shows;	      /* it had a text when it was opened */
} writers[WRITERS];

_Atomic uint32_t s5__front_writers;

static long sys(long nr, long a, long b, long c)
{
	return s5__front_real_syscall(nr, a, b, c, 0L, 0L, 0L);
}

static void sys_close(long fd)
{
	(void)sys(SYS_close, fd, 0, 0);
}

/* --- the text ------------------------------------------------------------- */

struct text {
	long fd;
	size_t len;
	bool failed;
	char buf[WRITE_MAX];
};

static void flush_text(struct text *t)
{
	size_t done = 0;

	while (!t->failed && done < t->len) {
		long n = sys(SYS_write, t->fd, (long)(t->buf + done),
			     (long)(t->len - done));

		if (n > 0)
			done += (size_t)n;
		else if (errno != EINTR)
			t->failed = true;
	}
	t->len = 0;
}

/* At most 256 characters at a time. */
__attribute__((format(printf, 2, 3))) static void add(struct text *t,
						      const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	if (t->len + 256 > sizeof(t->buf))
		flush_text(t);
	n = vsnprintf(t->buf + t->len, 256, format, ap);
	va_end(ap);
	t->len += (size_t)n;
}

/* */
static void add_queues(struct text *t)
{
	struct s5_msgq_info q;
	uint32_t cursor = 0;

	add(t, "       key      msqid perms      cbytes       qnum lspid lrpid "
	       "  uid   gid  cuid  cgid      stime      rtime      ctime\n");
	while (s5_msgq_info_next(&cursor, &q) == 1)
		add(t,
		    "%10d %10d  %4o  %10llu %10llu %5u %5u %5u %5u %5u %5u "
		    "%10llu %10llu %10llu\n",
		    q.key, q.msqid, q.mode, (unsigned long long)q.cbytes,
		    (unsigned long long)q.qnum, (unsigned)q.lspid,
		    (unsigned)q.lrpid, q.uid, q.gid, q.cuid, q.cgid,
		    (unsigned long long)q.stime, (unsigned long long)q.rtime,
		    (unsigned long long)q.ctime);
}

/* A namespace there must be for this: it was looked for when the file was
 * opened. */
static int number_of(const struct file *file)
{
	uint64_t value = 0;

	if (strcmp(file->limit, NEXT_ID) == 0)
		return s5__names_next_id(S5__KIND_MSG);
	(void)s5_ns_limit_get(file->limit, &value);
	return (int)value;
}

/* The file's text, from its beginning; the offset is behind it. */
static bool put_text(long fd, const struct file *file)
{
	struct text t = {.fd = fd};

	if (sys(SYS_ftruncate, fd, 0, 0) || sys(SYS_lseek, fd, 0, SEEK_SET))
		return false;
	if (file->limit)
		add(&t, "%d\n", number_of(file));
	else
		add_queues(&t);
	flush_text(&t);
	return !t.failed;
}

/* --- opening -------------------------------------------------------------- */

static void remember(long fd, const struct file *file, bool shows)
{
	struct writer *w;
	struct stat st;

	if (sys(SYS_fstat, fd, (long)&st, 0))
		return;
	w = &writers[atomic_fetch_add(&s5__front_writers, 1) % WRITERS];
	atomic_store(&w->ino, 0);
	w->file = file;
	w->shows = shows;
	w->dev = st.st_dev;
	atomic_store(&w->taken, false);
	atomic_store(&w->ino, st.st_ino);
}

/* A descriptor of a file with the text; -1 and errno. */
static long new_file(const struct file *file, int flags)
{
	bool writes = file->limit && (flags & O_ACCMODE) != O_RDONLY;
	bool shows = (flags & O_ACCMODE) != O_WRONLY;
	long fd = sys(SYS_memfd_create, (long)file->path, MFD_CLOEXEC, 0);
	char path[40];
	long reader;

	if (fd < 0)
		return -1;
	if ((shows && !put_text(fd, file)) || sys(SYS_lseek, fd, 0, SEEK_SET)) {
		sys_close(fd);
		return -1;
	}
	if (writes) {
		remember(fd, file, shows);
		return fd;
	}
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%ld", fd);
	reader = s5__front_real_syscall(SYS_openat, (long)AT_FDCWD, (long)path,
					(long)(O_RDONLY | O_CLOEXEC |
					       (flags & O_NONBLOCK)),
					0L, 0L, 0L);
	if (reader >= 0) {
		(void)sys(SYS_dup3, reader, fd, O_CLOEXEC);
		sys_close(reader);
	}
	return fd; /* without /proc it can be written to, in vain */
}

static const struct file *find_file(const char *path)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (strcmp(path, files[i].path) == 0)
			return &files[i];
	return NULL;
}

/* Would Linux's own file have been opened so? It is asked first; where it is
 * hidden or read-only, as in containers, root may write. */
static bool is_allowed(long fd, int flags)
{
	if (fd >= 0)
		return true;
	if (errno == ENOENT || errno == EROFS)
		return (flags & O_ACCMODE) == O_RDONLY || geteuid() == 0;
	return false;
}

long s5__front_stand_in(long fd, const char *path, int flags)
{
	const struct file *file = find_file(path);
	struct s5_ns_status status;
	int saved = errno;
	long ours;

	if (!file || (flags & O_PATH) || !is_allowed(fd, flags))
		return fd;
	if (s5_ns_open(NULL, file->limit != NULL, &status) && file->limit)
		return fd; /* no namespace: the kernel's limits are there */
	ours = new_file(file, flags);
	if (fd < 0) {
		if (ours >= 0 && !(flags & O_CLOEXEC))
			(void)sys(SYS_fcntl, ours, F_SETFD, 0);
	} else if (ours < 0) {
		saved = errno;
		sys_close(fd);
	} else {
		(void)sys(SYS_dup3, ours, fd, flags & O_CLOEXEC);
		sys_close(ours);
		ours = fd;
	}
	errno = saved;
	return ours;
}

/* --- writing -------------------------------------------------------------- */

/* Reads a number as the kernel does: how many characters that took, with the
 * spaces behind it, or -EINVAL. */
static long read_number(const char *text, size_t len, int *ret_value)
{
	static const char spaces[] = " \t\n\v\f\r";
	char number[NUMBER_MAX];
	unsigned long value;
	size_t at = 0, n;
	bool negative;
	char *end;

	while (at < len && text[at] && strchr(spaces, text[at]))
		at++;
	n = len - at < sizeof(number) - 1 ? len - at : sizeof(number) - 1;
	memcpy(number, text + at, n);
	number[n] = '\0';
	negative = number[0] == '-' && n > 1;
	if (number[negative] < '0' || number[negative] > '9')
		return -EINVAL;
	value = strtoul(number + negative, &end, 0);
	if (end - number == NUMBER_MAX - 1 || value > INT_MAX)
		return -EINVAL;
	at += (size_t)(end - number);
	if (at < len && !(text[at] && strchr(" \t\n", text[at])))
		return -EINVAL;
	while (at < len && text[at] && strchr(spaces, text[at]))
		at++;
	*ret_value = negative ? -(int)value : (int)value;
	return (long)at;
}

/* Takes what was written: how much of it was, or -errno. */
static long take(const struct file *file, const char *text, size_t len)
{
	int value;
	long used = read_number(text, len, &value);

	if (used < 0)
		return used;
	if (value < 0)
		return -EINVAL;
	if (strcmp(file->limit, NEXT_ID) == 0) {
		int err = s5__names_choose(S5__KIND_MSG, value);

		return err ? err : used;
	}
	return s5_ns_limit_set(file->limit, (uint64_t)value) ? -EINVAL : used;
}

static struct writer *find_writer(int fd)
{
	struct stat st;

	if (fd < 0 || sys(SYS_fstat, fd, (long)&st, 0))
		return NULL;
	for (unsigned i = 0; i < WRITERS; i++)
		if (st.st_ino && atomic_load(&writers[i].ino) == st.st_ino &&
		    writers[i].dev == st.st_dev)
			return &writers[i];
	return NULL;
}

/* Takes the first `len` characters of the file, and makes it show what there
 * is now. The offset is behind what was used. */
static long take_file(int fd, struct writer *w, size_t len)
{
	char text[WRITE_MAX];
	long n = s5__front_real_syscall(SYS_pread64, (long)fd, (long)text,
					(long)len, 0L, 0L, 0L);
	long used = n < 0 ? -errno : take(w->file, text, (size_t)n);

	(void)put_text(fd, w->file);
	(void)sys(SYS_lseek, fd, used < 0 ? 0 : used, SEEK_SET);
	atomic_store(&w->taken, true);
	return used;
}

ssize_t s5__front_write(int fd, const void *buf, size_t size)
{
	int saved = errno;
	struct writer *w = find_writer(fd);
	long at = w ? sys(SYS_lseek, fd, 0, SEEK_CUR) : 0;
	ssize_t ret;

	errno = saved;
	if (w && size >= WRITE_MAX)
		size = WRITE_MAX - 1;
	ret = REAL(write)(fd, buf, size);
	if (ret <= 0 || !w)
		return ret;
	if (at > 0) { /* in vain, as in the kernel */
		(void)put_text(fd, w->file);
		(void)sys(SYS_lseek, fd, at + ret, SEEK_SET);
		errno = saved;
		return ret;
	}
	ret = take_file(fd, w, (size_t)ret);
	errno = ret < 0 ? (int)-ret : saved;
	return ret < 0 ? -1 : ret;
}

bool s5__front_is_written(int fd)
{
	int saved = errno;
	bool is = find_writer(fd) != NULL;

	errno = saved;
	return is;
}

/* Has the file another text than it had when it was opened? */
static bool was_written(int fd, const struct writer *w, long len)
{
	char text[NUMBER_MAX + 2] = "";
	char now[NUMBER_MAX + 2];
	long n = s5__front_real_syscall(SYS_pread64, (long)fd, (long)text,
					(long)sizeof(text) - 1, 0L, 0L, 0L);

	if (len <= 0 || n <= 0)
		return false;
	if (!w->shows)
		return true;
	(void)snprintf(now, sizeof(now), "%d\n", number_of(w->file));
	return len != n || strcmp(text, now) != 0;
}

int s5__front_flushed(int fd)
{
	int saved = errno;
	struct writer *w = find_writer(fd);
	long len = w ? sys(SYS_lseek, fd, 0, SEEK_CUR) : 0;
	long used = 0;

	if (w && !atomic_load(&w->taken) && was_written(fd, w, len))
		used = take_file(fd, w,
				 len < WRITE_MAX ? (size_t)len : WRITE_MAX);
	errno = used < 0 ? (int)-used : saved;
	return used < 0 ? EOF : 0;
}
