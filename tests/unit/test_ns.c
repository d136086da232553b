/* SPDX-License-Identifier: MIT */
/*
 * test_ns.c - making the arena: without /proc, among others, after a boot
 */
#include "region/ns.h"

#include "harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The path of a file in the namespace's directory; the last one asked for. */
static const char *in_dir(const char *name)
{
	static char path[4096];

	(void)snprintf(path, sizeof(path), "%s/%s", getenv("SYSFIVE_DIR"),
		       name);
	return path;
}

static ino_t inode(void)
{
	struct stat sb;

	CHECK_OK(stat(in_dir("arena"), &sb));
	return sb.st_ino;
}

static int attach(bool create)
{
	struct s5_ns_status st;
	int err = s5__ns_attach(NULL, create, &st);

	CHECK(err != 0 || st.reason == 0, "attached, and reason %d",
	      (int)st.reason);
	return err;
}

static void attach_in_child(void *arg)
{
	CHECK_EQ_INT(attach(arg != NULL), 0);
}

/* Makes the arena; this process stays without. */
static void make(void)
{
	harness_join(harness_spawn(attach_in_child, ""));
}

static void set_boot_id(int byte)
{
	uint8_t id[16];
	int fd = CHECK_OK(open(in_dir("arena"), O_RDWR | O_CLOEXEC));

	memset(id, byte, sizeof(id));
	CHECK_EQ_INT(pwrite(fd, id, sizeof(id),
			    offsetof(struct s5__header, boot_id)),
		     sizeof(id));
	(void)close(fd);
}

static int files(void)
{
	DIR *d = opendir(getenv("SYSFIVE_DIR"));
	int n = 0;

	CHECK(d != NULL);
	for (struct dirent *e; (e = readdir(d)) != NULL;)
		n += strcmp(e->d_name, ".") != 0 &&
		     strcmp(e->d_name, "..") != 0;
	(void)closedir(d);
	return n;
}

static void make_file(const char *name)
{
	int fd = CHECK_OK(
		open(in_dir(name), O_CREAT | O_RDWR | O_CLOEXEC, 0600));

	(void)close(fd);
}

static void hide_proc(void)
{
	if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0)
		SKIP("only root may mount");
	CHECK_OK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	CHECK_OK(mount("tmpfs", "/proc", "tmpfs", 0, NULL));
}

TEST(arena_of_an_earlier_boot_is_replaced)
{
	ino_t old;

	make();
	old = inode();
	set_boot_id(0x11);
	CHECK_EQ_INT(attach(false), -ENOENT);
	CHECK(inode() == old);
	CHECK_EQ_INT(attach(true), 0);
	CHECK(inode() != old);
}

TEST(arena_of_an_unknown_boot_is_used)
{
	ino_t old;

	make();
	old = inode();
	set_boot_id(0);
	CHECK_EQ_INT(attach(true), 0);
	CHECK(inode() == old);
}

TEST(without_proc_an_arena_is_made)
{
	hide_proc();
	CHECK_EQ_INT(attach(true), 0);
	CHECK_EQ_INT(files(), 1);
}

TEST(without_proc_an_arena_is_used)
{
	ino_t old;

	make();
	old = inode();
	hide_proc();
	CHECK_EQ_INT(attach(true), 0);
	CHECK(inode() == old);
}

/* --- others at the same time ------------------------------------------------
 */

static int hooked; /* calls until the other one acts */
static int links;

/* Another starter is faster, and done, just before this one locks, or removes
 * what it found. */
static long other_starter(long nr)
{
	if ((nr == SYS_flock || nr == SYS_unlinkat) && hooked++ == 0) {
		char fresh[4096];

		(void)snprintf(fresh, sizeof(fresh), "%s", in_dir("fresh"));
		CHECK_OK(rename(fresh, in_dir("arena")));
	}
	return 0;
}

TEST(two_starters_after_a_boot)
{
	char fresh[4096];
	ino_t one;

	make();
	one = inode();
	(void)snprintf(fresh, sizeof(fresh), "%s", in_dir("fresh"));
	CHECK_OK(rename(in_dir("arena"), fresh));
	make();
	set_boot_id(0x11);
	s5__sys_hook = other_starter;
	CHECK_EQ_INT(attach(true), 0);
	s5__sys_hook = NULL;
	CHECK(hooked > 0);
	CHECK(inode() == one, "the arena of the first one was removed");
}

/* Who may read the directory may lock it. */
TEST(directory_that_stays_locked)
{
	int fd = CHECK_OK(open(getenv("SYSFIVE_DIR"), O_RDONLY | O_CLOEXEC));

	CHECK_OK(flock(fd, LOCK_EX));
	make();
	set_boot_id(0x11);
	CHECK_EQ_INT(attach(true), -EAGAIN);
	CHECK_OK(flock(fd, LOCK_UN));
	CHECK_EQ_INT(attach(true), 0);
	(void)close(fd);
}

static long no_links(long nr)
{
	return nr == SYS_linkat && links++ == 0 ? -ENOENT : 0;
}

TEST(leftovers_of_killed_makers)
{
	int at_work = CHECK_OK(
		open(in_dir(".new-2"), O_CREAT | O_RDWR | O_CLOEXEC, 0600));

	CHECK_OK(flock(at_work, LOCK_EX));
	make_file(".new-1");
	make_file("else");
	s5__sys_hook = no_links;
	CHECK_EQ_INT(attach(true), 0);
	s5__sys_hook = NULL;
	CHECK(links == 2);
	CHECK(access(in_dir(".new-1"), F_OK) != 0, "left");
	CHECK_OK(access(in_dir(".new-2"), F_OK));
	CHECK_OK(access(in_dir("else"), F_OK));
	CHECK_EQ_INT(files(), 3);
	(void)close(at_work);
}
