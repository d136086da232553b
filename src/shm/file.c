/* SPDX-License-Identifier: MIT */
/*
 * file.c - the bytes of a segment: a file of its own beside the arena
 *
 * Its name begins as the kernel's does in /proc/PID/maps, and ends in a number
 * that no other file ever had, so that a mapping is known by its name alone.
 * No descriptor stays open: a file that is mapped or open nowhere is one on
 * which the kernel grants a lease for writing.
 */
#include "../region/ns.h"
#include "seg.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/vfs.h>

#define NAME_BEGIN  "SYSV"
#define NAME_LENGTH 29u
#define SERIAL_AT   13u

/* A signal ends fallocate() and undoes what it did: a little at a time. */
#define RESERVE_STEP (16ull << 20)

static void sys_close(long fd)
{
	(void)s5__sys(SYS_close, fd, 0, 0, 0, 0, 0);
}

static long sys_openat(long dir, const char *name, int flags, uint32_t mode)
{
	return s5__sys(SYS_openat, dir, (long)name, flags | O_CLOEXEC, mode, 0,
		       0);
}

/* --- names ---------------------------------------------------------------- */

static void put_hex(char *p, uint64_t v, int digits)
{
	for (int i = digits - 1; i >= 0; i--) {
		p[i] = "0123456789abcdef"[v & 15];
		v >>= 4;
	}
}

void s5__seg_name_text(struct s5__seg_name name, char buf[S5__SEG_NAME_MAX])
{
	memcpy(buf, NAME_BEGIN, 4);
	put_hex(buf + 4, (uint32_t)name.key, 8);
	buf[12] = '-';
	put_hex(buf + SERIAL_AT, name.serial, 16);
	buf[NAME_LENGTH] = '\0';
}

uint64_t s5__seg_name_parse(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *p = slash ? slash + 1 : path;
	uint64_t serial = 0;

	if (strncmp(p, NAME_BEGIN, 4) != 0 || strlen(p) < NAME_LENGTH ||
	    p[12] != '-' || (p[NAME_LENGTH] != '\0' && p[NAME_LENGTH] != ' '))
		return 0;
	for (p += SERIAL_AT; *p && *p != ' '; p++) {
		if (*p >= '0' && *p <= '9')
			serial = serial << 4 | (uint64_t)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			serial = serial << 4 | (uint64_t)(*p - 'a' + 10);
		else
			return 0;
	}
	return serial;
}

static uint64_t new_serial(void)
{
	uint64_t serial = 0;

	(void)s5__sys(SYS_getrandom, (long)&serial, sizeof(serial), 0, 0, 0, 0);
	while (serial == 0)
		serial = s5__now_ns() << 16 ^
			 (uint64_t)s5__sys(SYS_gettid, 0, 0, 0, 0, 0, 0);
	return serial;
}

/* --- making --------------------------------------------------------------- */

/* Would a file of that size be too large for this process, for the file system
 * or for the machine? Asked before, as trying may kill or starve. */
static bool is_too_large(long fd, uint64_t size)
{
	struct {
		uint64_t cur, max;
	} lim = {RLIM_INFINITY, RLIM_INFINITY};
	struct statfs fs;
	struct sysinfo si;

	(void)s5__sys(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&lim, 0, 0);
	if (size > lim.cur || size > INT64_MAX)
		return true;
	memset(&fs, 0, sizeof(fs));
	if (s5__sys(SYS_fstatfs, fd, (long)&fs, 0, 0, 0, 0) == 0 &&
	    fs.f_blocks != 0 && fs.f_bsize > 0 &&
	    size / (uint64_t)fs.f_bsize > fs.f_bavail)
		return true;
	memset(&si, 0, sizeof(si));
	if (s5__sys(SYS_sysinfo, (long)&si, 0, 0, 0, 0, 0) != 0)
		return false;
	return size / si.mem_unit > si.totalram + si.totalswap;
}

/* As msync(2) of its memory would be: a signal may end a step, not the whole.
 */
static int reserve(long fd, uint64_t size)
{
	for (uint64_t at = 0; at < size;) {
		uint64_t n =
			size - at < RESERVE_STEP ? size - at : RESERVE_STEP;
		long err =
			s5__sys(SYS_fallocate, fd, 0, (long)at, (long)n, 0, 0);

		if (err == -EINTR)
			continue;
		if (err)
			return (int)err;
		at += n;
	}
	return 0;
}

static int fill(long fd, uint64_t size, uint32_t mode, bool all)
{
	if (s5__sys(SYS_fchmod, fd, mode, 0, 0, 0, 0) != 0 ||
	    s5__sys(SYS_ftruncate, fd, (long)size, 0, 0, 0, 0) != 0)
		return -ENOMEM;
	return all && reserve(fd, size) != 0 ? -ENOMEM : 0;
}

long s5__seg_file_make(int32_t key, uint64_t size, bool reserve_all,
		       struct s5__seg_name *ret_name)
{
	struct s5__seg_name name = {new_serial(), key};
	uint64_t bytes = s5__seg_pages(size) * S5__PAGE;
	char text[S5__SEG_NAME_MAX];
	uint32_t mode;
	long dir = s5__ns_open_dir(&mode);
	long fd;
	int err;

	if (dir < 0)
		return dir == -EMFILE || dir == -ENFILE ? -ENOMEM : -EACCES;
	if (is_too_large(dir, bytes)) {
		sys_close(dir);
		return -ENOMEM;
	}
	s5__seg_name_text(name, text);
	fd = sys_openat(dir, text, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW,
			0600);
	if (fd < 0) {
		sys_close(dir);
		return fd == -EACCES || fd == -EROFS ? -EACCES : -ENOMEM;
	}
	S5_CRASH_POINT("shm-file-named");
	err = fill(fd, bytes, mode, reserve_all);
	if (err) {
		(void)s5__sys(SYS_unlinkat, dir, (long)text, 0, 0, 0, 0);
		sys_close(fd);
		fd = err;
	}
	sys_close(dir);
	*ret_name = name;
	return fd;
}

/* --- using ---------------------------------------------------------------- */

long s5__seg_file_open(struct s5__seg_name name, int flags)
{
	char text[S5__SEG_NAME_MAX];
	uint32_t mode;
	long dir = s5__ns_open_dir(&mode);
	long fd;

	if (dir < 0)
		return dir;
	s5__seg_name_text(name, text);
	fd = sys_openat(dir, text, flags | O_NOFOLLOW, 0);
	sys_close(dir);
	return fd;
}

void s5__seg_file_remove(struct s5__seg_name name)
{
	char text[S5__SEG_NAME_MAX];
	uint32_t mode;
	long dir = s5__ns_open_dir(&mode);
	long fd;

	if (dir < 0)
		return;
	s5__seg_name_text(name, text);
	if (s5__sys(SYS_unlinkat, dir, (long)text, 0, 0, 0, 0) != 0) {
		/* In a sticky directory another user's file stays. */
		fd = sys_openat(dir, text, O_RDWR | O_NOFOLLOW, 0);
		if (fd >= 0) {
			(void)s5__sys(SYS_ftruncate, fd, 0, 0, 0, 0, 0);
			sys_close(fd);
		}
	}
	sys_close(dir);
}

uint64_t s5__seg_file_rss(struct s5__seg_name name)
{
	char text[S5__SEG_NAME_MAX];
	struct stat sb;
	uint32_t mode;
	long dir = s5__ns_open_dir(&mode);
	long err;

	if (dir < 0)
		return 0;
	memset(&sb, 0, sizeof(sb));
	s5__seg_name_text(name, text);
	err = s5__sys(SYS_newfstatat, dir, (long)text, (long)&sb,
		      AT_SYMLINK_NOFOLLOW, 0, 0);
	sys_close(dir);
	return err ? 0 : (uint64_t)sb.st_blocks * 512;
}

/*
 * Who opens the file while the lease is held, for an instant, waits, and the
 * holder is told by a signal. That shall be one that does nothing unless the
 * program has a handler for it, and not SIGIO, which kills.
 */
static enum s5__in_use ask_kernel(long fd)
{
	struct f_owner_ex owner = {F_OWNER_TID, 0};
	long err;

	owner.pid = (pid_t)s5__sys(SYS_gettid, 0, 0, 0, 0, 0, 0);
	if (s5__sys(SYS_fcntl, fd, F_SETSIG, SIGURG, 0, 0, 0) != 0 ||
	    s5__sys(SYS_fcntl, fd, F_SETOWN_EX, (long)&owner, 0, 0, 0) != 0)
		return S5__IN_USE_UNKNOWN;
	err = s5__sys(SYS_fcntl, fd, F_SETLEASE, F_WRLCK, 0, 0, 0);
	if (err == -EAGAIN)
		return S5__IN_USE_YES;
	if (err)
		return S5__IN_USE_UNKNOWN;
	(void)s5__sys(SYS_fcntl, fd, F_SETLEASE, F_UNLCK, 0, 0, 0);
	return S5__IN_USE_NO;
}

enum s5__in_use s5__seg_file_in_use(struct s5__seg_name name)
{
	long fd = s5__seg_file_open(name, O_RDONLY | O_NONBLOCK);
	enum s5__in_use ret;

	if (fd < 0) /* EWOULDBLOCK: somebody asks just now */
		return fd == -EWOULDBLOCK ? S5__IN_USE_YES : S5__IN_USE_UNKNOWN;
	ret = ask_kernel(fd);
	sys_close(fd);
	return ret;
}

/* --- leftovers ------------------------------------------------------------ */

static bool belongs(uint64_t serial)
{
	for (uint32_t i = 0; i < S5__IPC_MNI; i++) {
		const struct s5__seg *seg = s5__seg_at(i);

		if (!seg)
			i |= (uint32_t)S5__SEG_CHUNK - 1;
		else if (seg->serial == serial &&
			 s5__hint(&seg->ipc.phase) != S5__PHASE_FREE)
			return true;
	}
	return false;
}

/* Its maker keeps it open until it belongs to a segment. */
static void sweep_one(long dir, const char *text)
{
	uint64_t serial = s5__seg_name_parse(text);
	long fd;

	if (serial == 0 || belongs(serial))
		return;
	fd = sys_openat(dir, text, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0);
	if (fd < 0)
		return;
	if (ask_kernel(fd) == S5__IN_USE_NO && !belongs(serial))
		(void)s5__sys(SYS_unlinkat, dir, (long)text, 0, 0, 0, 0);
	sys_close(fd);
}

struct entry64 { /* as getdents64(2) has it */
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

void s5__seg_files_sweep(void)
{
	char buf[2048] __attribute__((aligned(8)));
	uint32_t mode;
	long dir = s5__ns_open_dir(&mode);
	long n;

	if (dir < 0)
		return;
	while ((n = s5__sys(SYS_getdents64, dir, (long)buf, sizeof(buf), 0, 0,
			    0)) > 0) {
		for (long at = 0; at < n;) {
			const struct entry64 *e =
				(const struct entry64 *)(const void *)(buf +
								       at);

			at += e->len;
			sweep_one(dir, e->name);
		}
	}
	sys_close(dir);
}
