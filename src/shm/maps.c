/* SPDX-License-Identifier: MIT */
/*
 * maps.c - who has which segment mapped, by /proc
 *
 * Owns nothing. What the kernel says of a process's mappings is right after
 * fork, exec, munmap, mprotect, mremap and any kind of end, with no hook in any
 * of them.
 */
#include "seg.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#define FIELD_START 22 /* of /proc/PID/stat, as proc(5) counts them */

static char *append(char *p, const char *s)
{
	while (*s)
		*p++ = *s++;
	*p = '\0';
	return p;
}

static char *append_number(char *p, uint32_t v)
{
	char digits[12];
	char *d = digits + sizeof(digits) - 1;

	*d = '\0';
	do {
		*--d = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	return append(p, d);
}

static long open_proc(uint32_t pid, const char *file)
{
	char path[64];
	char *p = append(path, "/proc/");

	p = pid ? append_number(p, pid) : append(p, "self");
	(void)append(append(p, "/"), file);
	return s5__sys(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC,
		       0, 0, 0);
}

static void sys_close(long fd)
{
	(void)s5__sys(SYS_close, fd, 0, 0, 0, 0, 0);
}

/* --- a line --------------------------------------------------------------- */

static uint64_t hex(const char **p)
{
	uint64_t v = 0;

	for (;; (*p)++) {
		if (**p >= '0' && **p <= '9')
			v = v << 4 | (uint64_t)(**p - '0');
		else if (**p >= 'a' && **p <= 'f')
			v = v << 4 | (uint64_t)(**p - 'a' + 10);
		else
			return v;
	}
}

/* "start-end perms offset ..." and the path at the end. */
static bool parse(const char *line, struct s5__map *ret_map)
{
	const char *p = line;

	ret_map->serial = s5__seg_name_parse(line);
	if (ret_map->serial == 0)
		return false;
	ret_map->start = hex(&p);
	if (*p++ != '-')
		return false;
	ret_map->end = hex(&p);
	if (*p != ' ' || strlen(p) < 6)
		return false;
	p += 6; /* blank, four permissions, blank */
	ret_map->offset = hex(&p);
	return ret_map->end > ret_map->start;
}

/* --- a process ------------------------------------------------------------ */

struct reader {
	long fd;
	long have; /* bytes in buf */
	long at;
	char buf[8192];
};

/* The next line, without its end; NULL: no more. A line that is longer than the
 * buffer comes in pieces, none of which is a segment's. */
static char *next_line(struct reader *r)
{
	for (;;) {
		char *line = r->buf + r->at;
		char *end = memchr(line, '\n', (size_t)(r->have - r->at));
		long n;

		if (end) {
			*end = '\0';
			r->at = end - r->buf + 1;
			return line;
		}
		if (r->at == 0 && r->have == (long)sizeof(r->buf))
			r->at = r->have; /* too long */
		memmove(r->buf, r->buf + r->at, (size_t)(r->have - r->at));
		r->have -= r->at;
		r->at = 0;
		n = s5__sys(SYS_read, r->fd, (long)(r->buf + r->have),
			    (long)sizeof(r->buf) - r->have, 0, 0, 0);
		if (n <= 0)
			return NULL;
		r->have += n;
	}
}

static bool each_line(long fd, bool (*each)(const struct s5__map *, void *),
		      void *arg, bool *ret_any)
{
	struct reader r;
	struct s5__map map;
	char *line;

	r.fd = fd;
	r.have = 0;
	r.at = 0;
	while ((line = next_line(&r)) != NULL) {
		*ret_any = true;
		if (parse(line, &map) && !each(&map, arg))
			return false;
	}
	return true;
}

struct entry64 { /* as getdents64(2) has it */
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

static uint32_t number(const char *s)
{
	uint64_t v = 0;

	for (; *s >= '0' && *s <= '9' && v < UINT32_MAX; s++)
		v = v * 10 + (uint64_t)(*s - '0');
	return *s == '\0' && v < UINT32_MAX ? (uint32_t)v : 0;
}

static int each_number(long dir, bool (*each)(uint32_t, void *), void *arg)
{
	char buf[2048] __attribute__((aligned(8)));
	long n;

	while ((n = s5__sys(SYS_getdents64, dir, (long)buf, sizeof(buf), 0, 0,
			    0)) > 0) {
		for (long at = 0; at < n;) {
			const struct entry64 *e =
				(const struct entry64 *)(const void *)(buf +
								       at);
			uint32_t v = number(e->name);

			at += e->len;
			if (v && !each(v, arg))
				return 0;
		}
	}
	return (int)n;
}

int s5__maps_processes(bool (*each)(uint32_t pid, void *), void *arg)
{
	long dir = s5__sys(SYS_openat, AT_FDCWD, (long)"/proc",
			   O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, 0, 0);
	int err;

	if (dir < 0)
		return (int)dir;
	err = each_number(dir, each, arg);
	sys_close(dir);
	return err;
}

struct tasks {
	uint32_t pid;
	bool any;
	bool (*each)(const struct s5__map *, void *);
	void *arg;
};

static bool try_task(uint32_t tid, void *arg)
{
	struct tasks *t = arg;
	char file[40];
	long fd;

	(void)append(append_number(append(file, "task/"), tid), "/maps");
	fd = open_proc(t->pid, file);
	if (fd < 0)
		return true;
	(void)each_line(fd, t->each, t->arg, &t->any);
	sys_close(fd);
	return !t->any;
}

/* The first thread has ended, and with it /proc/PID/maps; others may live. */
static void each_of_tasks(uint32_t pid,
			  bool (*each)(const struct s5__map *, void *),
			  void *arg)
{
	struct tasks t = {pid, false, each, arg};
	long dir = open_proc(pid, "task");

	if (dir < 0)
		return;
	(void)each_number(dir, try_task, &t);
	sys_close(dir);
}

int s5__maps_each(uint32_t pid, bool (*each)(const struct s5__map *, void *),
		  void *arg)
{
	long fd = open_proc(pid, "maps");
	bool any = false;

	if (fd < 0)
		return (int)fd;
	(void)each_line(fd, each, arg, &any);
	sys_close(fd);
	if (!any)
		each_of_tasks(pid, each, arg);
	return 0;
}

struct counted {
	uint64_t serial;
	int n;
};

static bool count_one(const struct s5__map *map, void *arg)
{
	struct counted *c = arg;

	if (map->serial == c->serial)
		c->n++;
	return true;
}

int s5__maps_count(uint32_t pid, uint64_t serial)
{
	struct counted c = {serial, 0};
	int err = s5__maps_each(pid, count_one, &c);

	return err ? err : c.n;
}

uint64_t s5__maps_start(uint32_t pid)
{
	char buf[512];
	uint64_t v = 0;
	const char *p;
	long fd = open_proc(pid, "stat");
	long n;

	if (fd < 0)
		return 0;
	n = s5__sys(SYS_read, fd, (long)buf, sizeof(buf) - 1, 0, 0, 0);
	sys_close(fd);
	if (n <= 0)
		return 0;
	buf[n] = '\0';
	p = strrchr(buf, ')');
	for (int field = 2; p && field < FIELD_START; field++) {
		p = strchr(p, ' ');
		if (p)
			p++;
	}
	while (p && *p >= '0' && *p <= '9')
		v = v * 10 + (uint64_t)(*p++ - '0');
	return v;
}
