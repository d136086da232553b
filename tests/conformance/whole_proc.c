/* SPDX-License-Identifier: MIT */
/* whole_proc.c - the limits in /proc/sys/kernel, opened and written every way;
 * and opening what is not ours. */
#define SUITE 3
#include "scenario.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MSGMNI "/proc/sys/kernel/msgmni"
#define MSGMAX "/proc/sys/kernel/msgmax"

/* An address that nothing is at; volatile, or the compiler would know. */
static char *volatile nowhere = (char *)8;

static long value_of(const char *path)
{
	FILE *f = fopen(path, "re");
	long value = -2;

	if (f == NULL)
		return -errno;
	(void)!fscanf(f, "%ld", &value);
	fclose(f);
	return value;
}

/* What write() returns, where the offset is then, and what the file says. */
static void note_write(const char *path, const char *text)
{
	char now[64] = "";
	int fd = open(path, O_RDWR);

	IS(fd >= 0);
	errno = 0;
	ssize_t ret = write(fd, text, strlen(text));
	note("\"%s\" -> %zd %s, at %ld", text, ret, error_name(-errno),
	     (long)lseek(fd, 0, SEEK_CUR));
	lseek(fd, 0, SEEK_SET);
	(void)!read(fd, now, sizeof(now) - 1);
	note("reads \"%s\"", now);
	close(fd);
	note("is %ld", value_of(path));
}

SCENARIO(proc_limit_texts, NEED_LIMITS | NEED_PRIVATE, "A-177")
{
	static const char *const texts[] = {
		"100\n",      "100 200",    "\t 7",
		"x",	      "5,6",	    "5\n6",
		"0x20\n",     "010",	    "08",
		"0x",	      "",	    "   ",
		"-0",	      "-1",	    "+4",
		"33 x",	      "34\n\n",	    "000000000000000000001",
		"2147483647", "2147483648", "99999999999999999999999",
		"32768",      "32769",	    "000000000000000000000001",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		note_write(MSGMNI, texts[i]);
		note_write(MSGMAX, texts[i]);
		note_write("/proc/sys/kernel/msgmnb", texts[i]);
		note_write("/proc/sys/kernel/msg_next_id", texts[i]);
	}
}

/* Only what is written at the beginning counts. */
SCENARIO(proc_limit_later_writes, NEED_LIMITS | NEED_PRIVATE, "A-177")
{
	char text[16] = "";
	int fd = open64(MSGMAX, O_RDWR | O_CLOEXEC);
	int copy = dup(fd);

	EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	EQ(write(fd, "50", 2), 2);
	EQ(write(fd, "60", 2), 2);
	EQ(value_of(MSGMAX), 50);
	EQ(lseek(copy, 0, SEEK_SET), 0);
	EQ(write(copy, "70\n", 3), 3);
	EQ(value_of(MSGMAX), 70);
	EQ(write(copy, nowhere, 3), -1);
	EQ(lseek(fd, 0, SEEK_SET), 0);
	EQ(read(fd, text, 15), 3);
	EQ(strcmp(text, "70\n"), 0);
	close(fd);
	close(copy);
}

static void write_stream(const char *mode, const char *text)
{
	FILE *f = fopen64(MSGMNI, mode);

	IS(f != NULL);
	fputs(text, f);
	errno = 0;
	int ret = fflush(f);
	note("%s \"%s\" -> %d %s, error %d", mode, text, ret,
	     error_name(-errno), ferror(f) != 0);
	fclose(f);
	note("is %ld", value_of(MSGMNI));
}

SCENARIO(proc_limit_streams, NEED_LIMITS | NEED_PRIVATE, "A-177")
{
	char text[16] = "";

	write_stream("w", "44\n");
	write_stream("we", "45");
	write_stream("a", "46");
	write_stream("r+", "47");
	write_stream("w", "");

	FILE *f = fopen(MSGMNI, "r+");
	IS(fgets(text, sizeof(text), f) != NULL);
	EQ(strcmp(text, "47\n"), 0);
	rewind(f);
	EQ(fprintf(f, "8"), 1);
	EQ(fclose(f), 0);
	EQ(value_of(MSGMNI), 8);
	f = fopen(MSGMNI, "w");
	EQ(fprintf(f, "-8"), 2);
	EQ(fclose(f), -1);
	EQ(errno, EINVAL);
	EQ(value_of(MSGMNI), 8);
}

/* As shells do it: standard output is lent to the file. */
SCENARIO(proc_limit_redirected, NEED_LIMITS | NEED_PRIVATE, "A-177")
{
	int fd = open(MSGMNI, O_WRONLY | O_TRUNC | O_CREAT, 0666);
	int kept = dup(1);

	IS(fd >= 0);
	fflush(stdout);
	dup2(fd, 1);
	close(fd);
	printf("12\n");
	int ret = fflush(stdout);
	dup2(kept, 1);
	close(kept);
	EQ(ret, 0);
	EQ(value_of(MSGMNI), 12);
}

static long open_to_write(long arg)
{
	int fd = open(arg ? "/proc/sys/kernel/msg_next_id" : MSGMNI, O_RDWR);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

SCENARIO(proc_limit_rights, NEED_LIMITS | NEED_PRIVATE, "A-177 A-020")
{
	struct actor *p = new_process(), *q = new_process();

	EQ(BY(q, run("drop_caps", drop_caps, 0)), 0);
	EQ(BY(q, run("open msgmni", open_to_write, 0)), 0);
	EQ(BY(q, run("open msg_next_id", open_to_write, 1)), -EACCES);
	BY(p, run("become", become, NOBODY));
	EQ(BY(p, run("open msgmni", open_to_write, 0)), -EACCES);
	EQ(BY(p, run("open msg_next_id", open_to_write, 1)), -EACCES);
}

static long chosen(const char *text)
{
	FILE *f = fopen("/proc/sys/kernel/msg_next_id", "w");

	fputs(text, f);
	fclose(f);
	return get(IPC_PRIVATE, 0600);
}

/* Ids far away, indexes that are taken, and none left. */
SCENARIO(next_id_at_the_borders, NEED_LIMITS | NEED_PRIVATE, "A-020 A-012")
{
	int q = (int)chosen("2147483647");

	EQ(q, 2147483647);
	EQ(snd(q, 1, "last", 0), 0);
	EQ(rcv(q, 10, 0, 0), 4);
	EQ(ctl_stat(32767, MSG_STAT, NULL), q);
	EQ(ctl_info(MSG_INFO, NULL), 32767);
	EQ(rmid(q), 0);
	EQ(chosen("32767"), 32767);
	EQ(chosen("40"), 40);
	EQ(chosen("40"), 41);
	EQ(chosen("32808"), 32810);
	EQ(get(IPC_PRIVATE, 0600), 0);
	EQ(rmid(0), 0);
	EQ(chosen("0"), 0);
}

static int open_msgmni(int way, int dir)
{
	switch (way) {
	case 0:
		return open(MSGMNI, O_RDONLY);
	case 1:
		return open64(MSGMNI, O_RDONLY | O_NOFOLLOW);
	case 2:
		return openat64(dir, MSGMNI, O_RDONLY);
#ifdef SYS_open
	case 3:
		return (int)syscall(SYS_open, MSGMNI, O_RDONLY);
#endif
	default:
		return (int)syscall(SYS_openat, AT_FDCWD, MSGMNI, O_RDONLY);
	}
}

/* The ways to open it, and what is opened. */
SCENARIO(proc_ways_to_open, NEED_PRIVATE, "A-173 A-177")
{
	int dir = open("/proc", O_RDONLY | O_DIRECTORY);

	for (int way = 0; way < 5; way++) {
		char text[16] = "";
		int next = dup(0);

		close(next);
		int fd = open_msgmni(way, dir);
		EQ(fd, next);
		EQ(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
		EQ(fcntl(fd, F_GETFD), 0);
		EQ(read(fd, text, sizeof(text) - 1), 6);
		EQ(strcmp(text, "32000\n"), 0);
		EQ(write(fd, "1", 1), -1);
		EQ(errno, EBADF);
	}
	EQ(open(MSGMNI, O_RDONLY | O_DIRECTORY), -1);
	EQ(errno, ENOTDIR);
	EQ(open(MSGMNI, O_RDWR | O_CREAT | O_EXCL, 0600), -1);
	EQ(errno, EEXIST);
}

/* What is not ours, and what is nobody's. */
SCENARIO(open_elsewhere, NEED_NOTHING, "A-182")
{
	char name[] = "/tmp/s5-open-XXXXXX";
	int fd = mkstemp(name);
	struct stat st;

	close(fd);
	unlink(name);
	EQ(open(nowhere, O_RDONLY), -1);
	EQ(errno, EFAULT);
	EQ(openat(-1, nowhere, O_RDONLY), -1);
	EQ(errno, EFAULT);
	EQ(syscall(SYS_openat, AT_FDCWD, NULL, O_RDONLY), -1);
	EQ(errno, EFAULT);
	EQ(open("/proc/sysvipc/none", O_RDONLY), -1);
	EQ(errno, ENOENT);
	IS(fopen("/proc/sys/none", "r") == NULL);
	EQ(errno, ENOENT);
	fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0640);
	IS(fd >= 0);
	EQ(fstat(fd, &st), 0);
	EQ(st.st_mode & 0777, 0640);
	EQ(unlink(name), 0);
	EQ(write(fd, "abc", 3), 3);
	close(fd);
	errno = 0;
	fd = openat(AT_FDCWD, "/tmp", O_RDWR | O_TMPFILE, 0600);
	if (fd >= 0) {
		EQ(fstat(fd, &st), 0);
		EQ(st.st_mode & 0777, 0600);
		close(fd);
	}
}
