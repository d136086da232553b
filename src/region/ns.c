/* SPDX-License-Identifier: MIT */
/*
 * ns.c - finding, making and mapping the namespace's directory and arena
 *
 * The arena is written completely before it gets its name (link), so nobody
 * ever sees half a header, and of racing makers one wins. All file access is
 * by raw system calls, and no descriptor stays open.
 */
#include "ns.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARENA_NAME  "arena"
#define ARENA_PAGES (1u << 24) /* 64 GiB, sparse */
#define LEAST_PAGES 256u
#define FIRST_TOP   32u /* pages reserved when it is made: 128 KiB */
#define BOOT_ID	    "/proc/sys/kernel/random/boot_id"
#define NEW_PREFIX  ".new-" /* of arenas that are being made */
#define NAME_TRIES  8
#define FLOCK_TRIES 100
#define FLOCK_NAP   10000000 /* ns: a second in all */

struct s5__arena s5__arena;
static char ns_dir[sizeof(((struct s5_ns_status *)0)->dir)]; /* as given */
static char abs_dir[PATH_MAX];

static long sys_openat(int dir, const char *path, int flags, int mode)
{
	return s5__sys(SYS_openat, dir, (long)path, flags | O_CLOEXEC, mode, 0,
		       0);
}

static void sys_close(long fd)
{
	(void)s5__sys(SYS_close, fd, 0, 0, 0, 0, 0);
}

static int fail(struct s5_ns_status *st, enum s5_ns_reason reason,
		const char *call, long err)
{
	st->reason = reason;
	strncpy(st->call, call, sizeof(st->call) - 1);
	return (int)err;
}

/* What a failed system call means for the user. */
static int fail_errno(struct s5_ns_status *st, const char *call, long err)
{
	enum s5_ns_reason r = S5_NS_SYSTEM;

	switch (-err) {
	case EACCES:
	case EPERM:
	case EROFS:
		r = S5_NS_NO_ACCESS;
		break;
	case ENOENT:
		r = S5_NS_ABSENT;
		break;
	case ELOOP:
	case ENOTDIR:
		r = S5_NS_NOT_DIR;
		break;
	case ENOSPC:
	case EDQUOT:
		r = S5_NS_NO_ROOM;
		break;
	case ENOMEM:
	case EFBIG:
		r = S5_NS_NO_MEMORY;
		break;
	default:
		break;
	}
	return fail(st, r, call, err);
}

/* --- where ------------------------------------------------------------- */

static void append(char *buf, size_t size, const char *s)
{
	size_t n = strlen(buf);

	strncat(buf, s, size - 1 - n);
}

static void append_number(char *buf, size_t size, unsigned long v)
{
	char digits[24];
	char *p = digits + sizeof(digits) - 1;

	*p = '\0';
	do {
		*--p = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	append(buf, size, p);
}

static bool is_writable_dir(const char *path)
{
	return s5__sys(SYS_faccessat, AT_FDCWD, (long)path, W_OK | X_OK, 0, 0,
		       0) == 0;
}

/* The directory by the rule of sysfive(7); *ret_default: not chosen by hand. */
static int choose_dir(const char *dir, char *buf, size_t size,
		      bool *ret_default)
{
	unsigned long uid =
		(unsigned long)s5__sys(SYS_geteuid, 0, 0, 0, 0, 0, 0);
	const char *base;

	*ret_default = false;
	buf[0] = '\0';
	if (!dir)
		dir = secure_getenv("SYSFIVE_DIR");
	if (dir && dir[0]) {
		if (strlen(dir) >= size)
			return -ENAMETOOLONG;
		append(buf, size, dir);
		return 0;
	}
	*ret_default = true;
	base = "/dev/shm";
	if (!is_writable_dir(base))
		base = secure_getenv("XDG_RUNTIME_DIR");
	if (!base || !is_writable_dir(base))
		base = secure_getenv("TMPDIR");
	if (!base || !is_writable_dir(base) || strlen(base) + 32 > size)
		return -ENOENT;
	append(buf, size, base);
	append(buf, size, "/sysfive-");
	append_number(buf, size, uid);
	return 0;
}

/* Opens the directory, making it if wanted; returns a descriptor or -errno. */
static long open_dir(const char *path, bool is_default, bool create,
		     struct s5_ns_status *st, uint32_t *ret_mode)
{
	int flags = O_RDONLY | O_DIRECTORY | (is_default ? O_NOFOLLOW : 0);
	struct stat sb;
	long fd = sys_openat(AT_FDCWD, path, flags, 0);

	if (fd == -ENOENT && create) {
		long err = s5__sys(SYS_mkdirat, AT_FDCWD, (long)path, 0700, 0,
				   0, 0);

		if (err && err != -EEXIST)
			return fail_errno(st, "mkdir", err);
		fd = sys_openat(AT_FDCWD, path, flags, 0);
	}
	if (fd < 0)
		return fail_errno(st, "open", fd);
	if (s5__sys(SYS_fstat, fd, (long)&sb, 0, 0, 0, 0) != 0) {
		sys_close(fd);
		return fail_errno(st, "fstat", -EIO);
	}
	if (is_default &&
	    sb.st_uid != (uid_t)s5__sys(SYS_geteuid, 0, 0, 0, 0, 0, 0)) {
		sys_close(fd);
		return fail(st, S5_NS_NOT_OURS, "", -EACCES);
	}
	if ((sb.st_mode & S_IWOTH) && !(sb.st_mode & S_ISVTX)) {
		sys_close(fd);
		return fail(st, S5_NS_TOO_OPEN, "", -EACCES);
	}
	*ret_mode = sb.st_mode & 0666;
	return fd;
}

/* --- making it ---------------------------------------------------------- */

static void read_boot_id(uint8_t id[16])
{
	char text[40] = {0};
	long fd = sys_openat(AT_FDCWD, BOOT_ID, O_RDONLY, 0);
	size_t n = 0;

	memset(id, 0, 16);
	if (fd < 0)
		return;
	(void)s5__sys(SYS_read, fd, (long)text, sizeof(text) - 1, 0, 0, 0);
	sys_close(fd);
	for (const char *p = text; *p && n < 32; p++) {
		uint8_t v;

		if (*p >= '0' && *p <= '9')
			v = (uint8_t)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			v = (uint8_t)(*p - 'a' + 10);
		else
			continue;
		id[n / 2] = (uint8_t)(id[n / 2] << 4 | v);
		n++;
	}
}

/* Where /proc is hidden there is no boot id. Nothing else tells whether members
 * live: clocks are set, and differ between time namespaces. So an arena of an
 * unknown boot is in use. */
static bool is_known(const uint8_t id[16])
{
	static const uint8_t none[16];

	return memcmp(id, none, sizeof(none)) != 0;
}

static void fill_header(struct s5__header *h, uint64_t pages)
{
	memset(h, 0, sizeof(*h));
	memcpy(h->magic, S5__MAGIC, sizeof(h->magic));
	h->format = S5__FORMAT;
	h->word = 64;
	h->cell = S5__CELL;
	h->slot = sizeof(struct s5__slot);
	h->queue = 512;
	h->fix_pages = S5__FIX_PAGES;
	read_boot_id(h->boot_id);
	h->pages = pages;
	h->created_s = s5__now_s();
	s5__a64_store_rlx(&h->msgmax, 8192);
	s5__a64_store_rlx(&h->msgmnb, 16384);
	s5__a64_store_rlx(&h->msgmni, 32000);
	s5__a64_store_rlx(&h->semmsl, 32000);
	s5__a64_store_rlx(&h->semmns, 1024000000);
	s5__a64_store_rlx(&h->semopm, 500);
	s5__a64_store_rlx(&h->semmni, 32000);
	s5__a64_store_rlx(&h->shmmax, S5__SHM_MOST);
	s5__a64_store_rlx(&h->shmall, S5__SHM_MOST);
	s5__a64_store_rlx(&h->shmmni, 4096);
	s5__a32_store_rlx(&h->top, FIRST_TOP);
	h->bump = S5__FIX_PAGES + S5__CHUNK_PAGES; /* the first slots */
	s5__a32_store_rlx(&h->slot_chunks, 1);
}

/* The size that the file may have: a file size limit kills, so ask before. */
static uint64_t allowed_pages(void)
{
	struct {
		uint64_t cur, max;
	} lim = {RLIM_INFINITY, RLIM_INFINITY};
	uint64_t pages = ARENA_PAGES;

	(void)s5__sys(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&lim, 0, 0);
	while (pages > LEAST_PAGES && pages * S5__PAGE > lim.cur)
		pages /= 2;
	return pages * S5__PAGE > lim.cur ? 0 : pages;
}

/* Writes a whole new arena into `fd`, which has no name yet. */
static int write_arena(long fd, uint32_t mode, struct s5_ns_status *st)
{
	union {
		struct s5__header h;
		uint8_t page[S5__PAGE];
	} first;
	uint64_t pages = allowed_pages();
	uint32_t slots = S5__FIX_PAGES;
	long err;

	if (pages == 0)
		return fail(st, S5_NS_NO_MEMORY, "RLIMIT_FSIZE", -EFBIG);
	memset(&first, 0, sizeof(first));
	fill_header(&first.h, pages);
	err = s5__sys(SYS_fchmod, fd, mode, 0, 0, 0, 0);
	if (err)
		return fail_errno(st, "fchmod", err);
	err = s5__sys(SYS_ftruncate, fd, (long)(pages * S5__PAGE), 0, 0, 0, 0);
	if (err)
		return fail_errno(st, "ftruncate", err);
	err = s5__sys(SYS_fallocate, fd, FALLOC_FL_KEEP_SIZE, 0,
		      FIRST_TOP * S5__PAGE, 0, 0);
	if (err && err != -EOPNOTSUPP)
		return fail_errno(st, "fallocate", err);
	err = s5__sys(SYS_pwrite64, fd, (long)&first, sizeof(first), 0, 0, 0);
	if (err == (long)sizeof(first))
		err = s5__sys(SYS_pwrite64, fd, (long)&slots, sizeof(slots),
			      S5__FIX_SLOT_DIR * S5__PAGE, 0, 0);
	if (err != (long)sizeof(slots))
		return fail_errno(st, "write", err < 0 ? err : -ENOSPC);
	return 0;
}

static long sys_unlink(long dir, const char *name)
{
	return s5__sys(SYS_unlinkat, dir, (long)name, 0, 0, 0, 0);
}

static long flock_now(long fd)
{
	return s5__sys(SYS_flock, fd, LOCK_EX | LOCK_NB, 0, 0, 0, 0);
}

/* Gives the new arena its name. 0, also if somebody was faster. */
static int link_arena(long from_dir, const char *from, int flags, long dir,
		      struct s5_ns_status *st)
{
	long err = s5__sys(SYS_linkat, from_dir, (long)from, dir,
			   (long)ARENA_NAME, flags, 0);

	if (err == 0)
		st->created = 1;
	return err == 0 || err == -EEXIST ? 0 : fail_errno(st, "link", err);
}

/* Where the kernel can make a file without a name, and give it one later. */
static int make_unnamed(long dir, uint32_t mode, struct s5_ns_status *st)
{
	char path[64] = "/proc/self/fd/";
	long fd = sys_openat((int)dir, ".", O_TMPFILE | O_RDWR, 0600);
	int err;

	if (fd < 0)
		return fail_errno(st, "open", fd);
	append_number(path, sizeof(path), (unsigned long)fd);
	err = write_arena(fd, mode, st);
	if (err == 0)
		err = link_arena(AT_FDCWD, path, AT_SYMLINK_FOLLOW, dir, st);
	sys_close(fd);
	return err;
}

/* Thread ids are of one pid namespace; the directory may serve several. */
static void random_name(char *buf, size_t size)
{
	uint64_t v = s5__now_ns();

	(void)s5__sys(SYS_getrandom, (long)&v, sizeof(v), 0, 0, 0, 0);
	buf[0] = '\0';
	append(buf, size, NEW_PREFIX);
	append_number(buf, size, v);
}

/*
 * A new file with a name of its own, locked as long as its maker lives; an
 * unlocked one may be removed (remove_leftovers()), and so may this one until
 * it is locked.
 */
static long open_named(long dir, char *name, size_t size)
{
	struct stat sb;
	long fd = -EAGAIN;

	for (int tries = 0; tries < NAME_TRIES; tries++) {
		random_name(name, size);
		fd = sys_openat((int)dir, name, O_CREAT | O_EXCL | O_RDWR,
				0600);
		if (fd == -EEXIST)
			continue;
		if (fd < 0)
			return fd;
		if (flock_now(fd) != -EWOULDBLOCK &&
		    s5__sys(SYS_fstat, fd, (long)&sb, 0, 0, 0, 0) == 0 &&
		    sb.st_nlink > 0)
			return fd;
		sys_close(fd);
		fd = -EAGAIN;
	}
	return fd;
}

static int make_named(long dir, uint32_t mode, struct s5_ns_status *st)
{
	char name[40];
	long fd = open_named(dir, name, sizeof(name));
	int err;

	if (fd < 0)
		return fail_errno(st, "open", fd);
	err = write_arena(fd, mode, st);
	if (err == 0)
		err = link_arena(dir, name, 0, dir, st);
	(void)sys_unlink(dir, name);
	sys_close(fd);
	return err;
}

/* What a maker left that was killed. */
static void remove_leftover(long dir, const char *name)
{
	long fd;

	if (strncmp(name, NEW_PREFIX, sizeof(NEW_PREFIX) - 1) != 0)
		return;
	fd = sys_openat((int)dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd < 0)
		return;
	if (flock_now(fd) == 0)
		(void)sys_unlink(dir, name);
	sys_close(fd);
}

static void remove_leftovers(long dir)
{
	struct entry { /* the kernel's linux_dirent64 */
		uint64_t ino;
		int64_t off;
		uint16_t len;
		uint8_t type;
		char name[];
	};
	_Alignas(struct entry) char buf[2048];
	/* of its own: the position belongs to the open file */
	long fd = sys_openat((int)dir, ".", O_RDONLY | O_DIRECTORY, 0);
	long n = -1;

	while (fd >= 0 && (n = s5__sys(SYS_getdents64, fd, (long)buf,
				       sizeof(buf), 0, 0, 0)) > 0) {
		for (long at = 0; at < n;) {
			struct entry *e = (struct entry *)(void *)(buf + at);

			remove_leftover(dir, e->name);
			at += e->len;
		}
	}
	if (fd >= 0)
		sys_close(fd);
}

/* Makes the arena in the open directory. 0, also if somebody was faster. */
static int make_arena(long dir, uint32_t mode, struct s5_ns_status *st)
{
	struct s5_ns_status before = *st;
	int err;

	remove_leftovers(dir);
	err = make_unnamed(dir, mode, st);
	/* No such files here, or no /proc to name one by; but one way is as
	 * full as the other. */
	if (err && err != -ENOSPC && err != -EDQUOT && err != -EFBIG) {
		*st = before;
		err = make_named(dir, mode, st);
	}
	return err;
}

/* --- using it ----------------------------------------------------------- */

/* Is this file an arena that this library can work in? Reads, maps nothing. */
static int check_arena(long fd, struct s5_ns_status *st,
		       struct s5__header *ret_h, bool *ret_stale)
{
	struct stat sb;
	uint8_t boot[16];
	long n;

	*ret_stale = false;
	n = s5__sys(SYS_pread64, fd, (long)ret_h, sizeof(*ret_h), 0, 0, 0);
	if (s5__sys(SYS_fstat, fd, (long)&sb, 0, 0, 0, 0) != 0 ||
	    !S_ISREG(sb.st_mode) || n != (long)sizeof(*ret_h) ||
	    memcmp(ret_h->magic, S5__MAGIC, sizeof(ret_h->magic)) != 0)
		return fail(st, S5_NS_NOT_A_NS, "", -EACCES);
	st->format = ret_h->format;
	if (ret_h->format != S5__FORMAT || ret_h->word != 64 ||
	    ret_h->cell != S5__CELL || ret_h->queue != 512 ||
	    ret_h->slot != sizeof(struct s5__slot) ||
	    ret_h->fix_pages != S5__FIX_PAGES)
		return fail(st, S5_NS_VERSION, "", -EACCES);
	if (ret_h->pages < LEAST_PAGES || ret_h->pages > ARENA_PAGES ||
	    (uint64_t)sb.st_size != ret_h->pages * S5__PAGE ||
	    s5__a32_load_rlx(&ret_h->top) > ret_h->pages ||
	    s5__a32_load_rlx(&ret_h->top) < FIRST_TOP)
		return fail(st, S5_NS_NOT_A_NS, "", -EACCES);
	read_boot_id(boot);
	*ret_stale = is_known(boot) && is_known(ret_h->boot_id) &&
		     memcmp(boot, ret_h->boot_id, sizeof(boot)) != 0;
	return 0;
}

static long map_file(long fd, uint64_t len)
{
	return s5__sys(SYS_mmap, 0, (long)len, PROT_NONE,
		       MAP_SHARED | MAP_NORESERVE, fd, 0);
}

static bool is_error(long p)
{
	return p < 0 && p >= -4095;
}

/*
 * Maps as much of the file as there is address space for, at least what is
 * `open` in it. Threads that do so at the same time map the same size: the
 * first decides, and nobody waits for another, who may be gone after a fork.
 */
static long map_some(long fd, uint64_t most, uint64_t open, uint64_t *ret_len)
{
	uint64_t agreed = 0;
	uint64_t len = most;
	long p;

	while (is_error(p = map_file(fd, len))) {
		if (len / 2 < LEAST_PAGES * S5__PAGE || len / 2 < open)
			return p;
		len /= 2;
	}
	if (!__atomic_compare_exchange_n(&s5__arena.reserved, &agreed, len, 0,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
	    agreed != len) {
		(void)s5__sys(SYS_munmap, p, (long)len, 0, 0, 0, 0);
		len = agreed;
		p = len < open || len > most ? -EAGAIN : map_file(fd, len);
	}
	*ret_len = len;
	return p;
}

static int map_arena(long fd, const struct s5__header *h,
		     struct s5_ns_status *st)
{
	uint64_t open = (uint64_t)s5__a32_load_rlx(&h->top) * S5__PAGE;
	char *base = NULL;
	uint64_t len, was;
	long p = map_some(fd, h->pages * S5__PAGE, open, &len);

	if (is_error(p))
		return s5__arena.base ? 0 : fail_errno(st, "mmap", p);
	if (s5__sys(SYS_mprotect, p, (long)open, PROT_READ | PROT_WRITE, 0, 0,
		    0) != 0) {
		(void)s5__sys(SYS_munmap, p, (long)len, 0, 0, 0, 0);
		return fail_errno(st, "mprotect", -ENOMEM);
	}
	(void)s5__sys(SYS_madvise, p, (long)len, MADV_DONTDUMP, 0, 0, 0);
	/* PAIR base: full; a thread that sees the address may use it, and finds
	 * out itself how much is open (s5__arena_sync()). */
	if (!__atomic_compare_exchange_n(&s5__arena.base, &base, (char *)p, 0,
					 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
		(void)s5__sys(SYS_munmap, p, (long)len, 0, 0, 0, 0);
		return 0;
	}
	was = s5__a64_load_rlx(&s5__arena.open);
	while (was < open && !s5__a64_cas_full(&s5__arena.open, was, open))
		was = s5__a64_load_rlx(&s5__arena.open);
	return 0;
}

/* Locks the directory for a moment; whoever can read it could keep that up, so
 * this is given up after a second. True also where there is no such lock. */
static bool lock_dir(long dir)
{
	struct timespec nap = {0, FLOCK_NAP};
	long err = flock_now(dir);

	for (int i = 0; err == -EWOULDBLOCK && i < FLOCK_TRIES; i++) {
		(void)s5__sys(SYS_nanosleep, (long)&nap, 0, 0, 0, 0, 0);
		err = flock_now(dir);
	}
	return err != -EWOULDBLOCK;
}

/* Removes the arena of an earlier boot: nobody can be using it. Of several that
 * find it one does so, and the others do not meet its new one. */
static int remove_stale(long dir, struct s5_ns_status *st)
{
	struct s5__header h;
	bool stale = false;
	long fd, err = -EAGAIN;

	if (lock_dir(dir)) {
		fd = sys_openat((int)dir, ARENA_NAME, O_RDWR | O_NOFOLLOW, 0);
		if (fd >= 0) {
			(void)check_arena(fd, st, &h, &stale);
			sys_close(fd);
		}
		err = stale ? sys_unlink(dir, ARENA_NAME) : 0;
		(void)s5__sys(SYS_flock, dir, LOCK_UN, 0, 0, 0, 0);
	}
	return err ? fail_errno(st, "unlink", err) : 0;
}

/* Finds or makes the arena in the open directory and maps it. */
static int attach_in(long dir, uint32_t mode, bool create,
		     struct s5_ns_status *st)
{
	for (int tries = 0; tries < 4; tries++) {
		struct s5__header h;
		bool stale;
		int err;
		long fd = sys_openat((int)dir, ARENA_NAME, O_RDWR | O_NOFOLLOW,
				     0);

		if (fd == -ENOENT && create) {
			err = make_arena(dir, mode, st);
			if (err)
				return err;
			continue;
		}
		if (fd < 0)
			return fail_errno(st, "open", fd);
		err = check_arena(fd, st, &h, &stale);
		if (err == 0 && stale) {
			sys_close(fd);
			err = create ? remove_stale(dir, st)
				     : fail_errno(st, "", -ENOENT);
			if (err)
				return err;
			continue;
		}
		if (err == 0)
			err = map_arena(fd, &h, st);
		sys_close(fd);
		return err;
	}
	return fail_errno(st, "link", -EAGAIN);
}

/* The directory is found again after a chdir(). */
static void remember_dir(const char *dir)
{
	size_t n = 0;

	if (dir[0] != '/' &&
	    s5__sys(SYS_getcwd, (long)abs_dir, sizeof(abs_dir), 0, 0, 0, 0) > 0)
		n = strlen(abs_dir);
	if (n && n + 1 + strlen(dir) < sizeof(abs_dir)) {
		abs_dir[n++] = '/';
		memcpy(abs_dir + n, dir, strlen(dir) + 1);
	} else {
		memcpy(abs_dir, dir, strlen(dir) + 1);
	}
	memcpy(ns_dir, dir, strlen(dir) + 1);
}

int s5__ns_attach(const char *dir, bool create, struct s5_ns_status *ret_status)
{
	struct s5_ns_status *st = ret_status;
	bool is_default;
	uint32_t mode = 0600;
	int err;
	long fd;

	memset(st, 0, sizeof(*st));
	st->supported = S5__FORMAT;
	err = choose_dir(dir, st->dir, sizeof(st->dir), &is_default);
	if (err)
		return fail(st, S5_NS_NO_PLACE, "", err);
	if (s5__arena.base)
		return strcmp(ns_dir, st->dir) == 0 || !dir
			       ? 0
			       : fail(st, S5_NS_SYSTEM, "", -EBUSY);
	fd = open_dir(st->dir, is_default, create, st, &mode);
	if (fd < 0)
		return (int)fd;
	err = attach_in(fd, mode, create, st);
	sys_close(fd);
	if (err == 0)
		remember_dir(st->dir);
	return err;
}

bool s5__arena_sync(uint64_t want)
{
	struct s5__header *h = s5__header();
	uint64_t open = s5__a64_load_rlx(&s5__arena.open);
	uint64_t top;

	if (!h)
		return false;
	/* PAIR top: acquire; what lies below is reserved. */
	top = (uint64_t)s5__a32_load_acq(&h->top) * S5__PAGE;
	if (top > s5__arena.reserved)
		top = s5__arena.reserved;
	if (top > open) {
		if (s5__sys(SYS_mprotect, (long)(s5__arena.base + open),
			    (long)(top - open), PROT_READ | PROT_WRITE, 0, 0,
			    0) != 0)
			return false;
		while (open < top &&
		       !s5__a64_cas_full(&s5__arena.open, open, top))
			open = s5__a64_load_rlx(&s5__arena.open);
	}
	return want <= s5__a64_load_rlx(&s5__arena.open);
}

long s5__ns_open_dir(uint32_t *ret_mode)
{
	struct stat sb;
	long dir = sys_openat(AT_FDCWD, abs_dir, O_RDONLY | O_DIRECTORY, 0);

	if (dir < 0)
		return dir;
	if (s5__sys(SYS_fstat, dir, (long)&sb, 0, 0, 0, 0) != 0) {
		sys_close(dir);
		return -EACCES;
	}
	*ret_mode = sb.st_mode & 0666;
	return dir;
}

int s5__ns_fallocate(uint64_t off, uint64_t len)
{
	struct {
		uint64_t cur, max;
	} lim = {RLIM_INFINITY, RLIM_INFINITY};
	long dir, fd, err;

	(void)s5__sys(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&lim, 0, 0);
	if (off + len > lim.cur)
		return -EFBIG;
	dir = sys_openat(AT_FDCWD, abs_dir, O_RDONLY | O_DIRECTORY, 0);
	if (dir < 0)
		return (int)dir;
	fd = sys_openat((int)dir, ARENA_NAME, O_RDWR | O_NOFOLLOW, 0);
	sys_close(dir);
	if (fd < 0)
		return (int)fd;
	err = s5__sys(SYS_fallocate, fd, FALLOC_FL_KEEP_SIZE, (long)off,
		      (long)len, 0, 0);
	sys_close(fd);
	return (int)err;
}

/* --- limits ------------------------------------------------------------- */

static const struct {
	const char *name;
	size_t at;
	uint64_t most;
} limits[] = {
	{"msgmax", offsetof(struct s5__header, msgmax), INT32_MAX},
	{"msgmnb", offsetof(struct s5__header, msgmnb), INT32_MAX},
	{"msgmni", offsetof(struct s5__header, msgmni), S5__IPC_MNI},
	{"semmsl", offsetof(struct s5__header, semmsl), S5__SEMMSL_MOST},
	{"semmns", offsetof(struct s5__header, semmns), INT32_MAX},
	{"semopm", offsetof(struct s5__header, semopm), S5__SEMOPM_MOST},
	{"semmni", offsetof(struct s5__header, semmni), S5__IPC_MNI},
	{"shmmax", offsetof(struct s5__header, shmmax), UINT64_MAX},
	{"shmall", offsetof(struct s5__header, shmall), UINT64_MAX},
	{"shmmni", offsetof(struct s5__header, shmmni), S5__IPC_MNI},
};

const char *s5__ns_limit_name(unsigned i)
{
	return i < sizeof(limits) / sizeof(limits[0]) ? limits[i].name : NULL;
}

static struct s5__a64 *limit(const char *name, uint64_t *ret_most)
{
	for (unsigned i = 0; s5__ns_limit_name(i) && s5__arena.base; i++) {
		if (strcmp(limits[i].name, name) != 0)
			continue;
		*ret_most = limits[i].most;
		return (struct s5__a64 *)(void *)(s5__arena.base +
						  limits[i].at);
	}
	return NULL;
}

int s5__ns_limit_get(const char *name, uint64_t *ret_value)
{
	uint64_t most;
	struct s5__a64 *l = limit(name, &most);

	if (!l)
		return -EINVAL;
	*ret_value = s5__a64_load_rlx(l);
	return 0;
}

int s5__ns_limit_set(const char *name, uint64_t value)
{
	uint64_t most;
	struct s5__a64 *l = limit(name, &most);

	if (!l)
		return -EINVAL;
	if (value > most)
		return -ERANGE;
	s5__a64_store_rlx(l, value);
	return 0;
}
