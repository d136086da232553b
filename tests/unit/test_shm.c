/* SPDX-License-Identifier: MIT */
/*
 * test_shm.c - segments: attachments counted through every kind of change
 */
#include "harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cred.h"
#include "region/ns.h"
#include "shm/seg.h"
#include "sysfive/admin.h"
#include "sysfive/sysfive.h"

#define PAGE 4096

static struct shmid_ds stat_of(int id)
{
	struct shmid_ds ds;

	CHECK_OK(s5_shmctl(id, IPC_STAT, &ds));
	return ds;
}

static int nattch(int id)
{
	return (int)stat_of(id).shm_nattch;
}

static int make(size_t size)
{
	return CHECK_OK(s5_shmget(IPC_PRIVATE, size, IPC_CREAT | 0600));
}

static char *attach(int id, int flags)
{
	char *p = s5_shmat(id, NULL, flags);

	CHECK(p != (char *)-1);
	return p;
}

/* Files of segments in the namespace's directory. */
static int files(void)
{
	DIR *dir = opendir(getenv("SYSFIVE_DIR"));
	struct dirent *e;
	int n = 0;

	CHECK(dir != NULL);
	while ((e = readdir(dir)) != NULL)
		n += s5__seg_name_parse(e->d_name) != 0;
	CHECK_OK(closedir(dir));
	return n;
}

static int status_of(pid_t pid)
{
	int status;

	CHECK_EQ_INT(waitpid(pid, &status, 0), pid);
	return status;
}

/* A child that attaches, says so, and stays until it is killed or told. */
struct child {
	pid_t pid;
	int to, from;
};

static struct child start(int id, int attaches)
{
	int up[2], down[2];
	struct child c;
	char byte;

	CHECK_OK(pipe(up));
	CHECK_OK(pipe(down));
	c.pid = fork();
	if (c.pid == 0) {
		close(up[0]);
		close(down[1]);
		for (int i = 0; i < attaches; i++)
			(void)attach(id, 0);
		CHECK(write(up[1], "a", 1) == 1);
		(void)!read(down[0], &byte, 1);
		_exit(0);
	}
	close(up[1]);
	close(down[0]);
	CHECK(read(up[0], &byte, 1) == 1);
	c.to = down[1];
	c.from = up[0];
	return c;
}

static void stop(struct child *c, int sig)
{
	if (sig)
		CHECK_OK(kill(c->pid, sig));
	close(c->to);
	(void)status_of(c->pid);
	close(c->from);
}

TEST(segment_of_its_size_is_there_and_zero)
{
	int id = make(PAGE + 1);
	char *p = attach(id, 0);
	struct shmid_ds ds = stat_of(id);

	CHECK_EQ_INT(ds.shm_segsz, PAGE + 1);
	CHECK_EQ_INT(ds.shm_nattch, 1);
	CHECK_EQ_INT(ds.shm_cpid, getpid());
	CHECK_EQ_INT(ds.shm_lpid, getpid());
	CHECK(p[0] == 0 && p[2 * PAGE - 1] == 0);
	CHECK_OK(s5_shmdt(p));
	CHECK_EQ_INT(nattch(id), 0);
	CHECK_OK(s5_shmctl(id, IPC_RMID, NULL));
	CHECK_EQ_INT(s5_shmctl(id, IPC_RMID, NULL), -1);
	CHECK_EQ_INT(errno, EINVAL);
	CHECK_EQ_INT(files(), 0);
}

TEST(killed_and_ended_attachers_are_not_counted)
{
	int id = make(PAGE);
	struct child a = start(id, 2), b = start(id, 1);

	CHECK_EQ_INT(nattch(id), 3);
	stop(&a, SIGKILL);
	CHECK_EQ_INT(nattch(id), 1);
	CHECK_EQ_INT(stat_of(id).shm_lpid, a.pid);
	stop(&b, 0);
	CHECK_EQ_INT(nattch(id), 0);
	CHECK_EQ_INT(stat_of(id).shm_lpid, b.pid);
	CHECK_OK(s5_shmctl(id, IPC_RMID, NULL));
}

TEST(forked_child_counts_at_once_and_any_way)
{
	int id = make(PAGE);
	char *p = attach(id, 0);
	int down[2];
	char byte;
	pid_t pid;

	(void)p;
	CHECK_OK(pipe(down));
	for (int raw = 0; raw < 2; raw++) {
		pid = raw ? _Fork() : fork();
		if (pid == 0) {
			close(down[1]);
			(void)!read(down[0], &byte, 1);
			_exit(0);
		}
		CHECK(pid > 0);
		/* past libc's fork it is seen only if it is the last one */
		if (!raw)
			CHECK_EQ_INT(nattch(id), 2);
		CHECK_OK(kill(pid, SIGKILL));
		(void)status_of(pid);
		CHECK_EQ_INT(nattch(id), 1);
	}
	CHECK_OK(s5_shmdt(p));
	CHECK_EQ_INT(nattch(id), 0);
	CHECK_OK(s5_shmctl(id, IPC_RMID, NULL));
}

TEST(zero_is_not_believed_while_a_child_nobody_noticed_has_it)
{
	int id = make(PAGE);
	char *p = attach(id, 0);
	int down[2];
	char byte;
	pid_t pid;

	CHECK_OK(pipe(down));
	pid = _Fork();
	if (pid == 0) {
		close(down[1]);
		(void)!read(down[0], &byte, 1);
		_exit(0);
	}
	CHECK_OK(s5_shmdt(p));
	CHECK_EQ_INT(nattch(id), 1);
	CHECK_OK(s5_shmctl(id, IPC_RMID, NULL));
	CHECK_EQ_INT(nattch(id), 1);
	CHECK_EQ_INT(stat_of(id).shm_perm.mode & 01000, 01000);
	CHECK_EQ_INT(files(), 1);
	CHECK_OK(kill(pid, SIGKILL));
	(void)status_of(pid);
	CHECK_EQ_INT(s5_shmctl(id, IPC_RMID, NULL), 0);
	CHECK_EQ_INT(files(), 0);
}

TEST(mappings_are_counted)
{
	int id = make(5 * PAGE);
	char *p = attach(id, 0);

	CHECK_OK(mprotect(p + PAGE, PAGE, PROT_READ));
	CHECK_EQ_INT(nattch(id), 3);
	CHECK_OK(munmap(p, PAGE));
	CHECK_EQ_INT(nattch(id), 2);
	CHECK_OK(s5_shmdt(p));
	CHECK_EQ_INT(nattch(id), 0);
	CHECK_EQ_INT(s5_shmdt(p), -1);
	CHECK_EQ_INT(errno, EINVAL);
	CHECK_OK(s5_shmctl(id, IPC_RMID, NULL));
}

TEST(removed_segment_stays_until_the_last_detach)
{
	int id = CHECK_OK(s5_shmget(77, PAGE, IPC_CREAT | 0600));
	char *p = attach(id, 0), *q;
	int other;

	CHECK_OK(s5_shmctl(id, IPC_RMID, NULL));
	CHECK_EQ_INT(stat_of(id).shm_perm.__key, IPC_PRIVATE);
	other = CHECK_OK(s5_shmget(77, PAGE, IPC_CREAT | IPC_EXCL | 0600));
	CHECK(other != id);
	q = attach(id, 0);
	*p = 'x';
	CHECK_EQ_INT(*q, 'x');
	CHECK_OK(s5_shmdt(p));
	CHECK_EQ_INT(nattch(id), 1);
	CHECK_OK(s5_shmdt(q));
	CHECK(s5_shmat(id, NULL, 0) == (void *)-1);
	CHECK_EQ_INT(errno, EINVAL);
	CHECK_OK(s5_shmctl(other, IPC_RMID, NULL));
	CHECK_EQ_INT(files(), 0);
}

TEST(memory_of_a_removed_segment_whose_user_was_killed_comes_back)
{
	int id = make(PAGE);
	struct child c = start(id, 1);
	struct shm_info info;

	CHECK_OK(s5_shmctl(id, IPC_RMID, NULL));
	CHECK_EQ_INT(files(), 1);
	stop(&c, SIGKILL);
	CHECK_OK(s5_shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&info));
	CHECK_EQ_INT(info.used_ids, 0);
	CHECK_EQ_INT(files(), 0);
}

TEST(read_only_attachment_cannot_be_made_writable)
{
	int id = make(PAGE);
	char *p = attach(id, SHM_RDONLY);

	CHECK_EQ_INT(mprotect(p, PAGE, PROT_READ | PROT_WRITE), -1);
	CHECK_EQ_INT(errno, EACCES);
	CHECK_OK(s5_shmdt(p));
	CHECK_OK(s5_shmctl(id, IPC_RMID, NULL));
}

/* No SIGXFSZ, no SIGBUS: an error at creation. */
TEST(what_cannot_be_had_is_refused_at_creation)
{
	struct rlimit limit = {1 << 20, 1 << 20};

	CHECK_EQ_INT(s5_shmget(IPC_PRIVATE, (size_t)1 << 50, 0600), -1);
	CHECK_EQ_INT(errno, ENOMEM);
	CHECK_EQ_INT(s5_shmget(IPC_PRIVATE, 0, 0600), -1);
	CHECK_EQ_INT(errno, EINVAL);
	CHECK_EQ_INT(s5_shmget(IPC_PRIVATE, SIZE_MAX, 0600), -1);
	CHECK_EQ_INT(errno, EINVAL);
	(void)make(PAGE);
	CHECK_OK(setrlimit(RLIMIT_FSIZE, &limit));
	CHECK_EQ_INT(s5_shmget(IPC_PRIVATE, 2 << 20, 0600), -1);
	CHECK_EQ_INT(errno, ENOMEM);
	CHECK_EQ_INT(files(), 1);
}

TEST(more_attachers_than_one_block_holds)
{
	int id = make(PAGE);
	struct child c[12];

	for (int i = 0; i < 12; i++) {
		c[i] = start(id, 1);
		CHECK_EQ_INT(nattch(id), i + 1);
	}
	for (int i = 0; i < 12; i++) {
		stop(&c[i], SIGKILL);
		CHECK_EQ_INT(nattch(id), 11 - i);
	}
	CHECK_OK(s5_shmctl(id, IPC_RMID, NULL));
	CHECK_EQ_INT(files(), 0);
}

/* A maker that died leaves a file which belongs to no segment. */
TEST(files_of_nobody_are_swept)
{
	struct s5__seg_name name;
	int id = make(PAGE);
	long fd = s5__seg_file_make(0, PAGE, true, &name);

	CHECK(fd >= 0);
	s5__seg_files_sweep();
	CHECK_EQ_INT(files(), 2); /* its maker has it open */
	CHECK_OK(close((int)fd));
	s5__seg_files_sweep();
	CHECK_EQ_INT(files(), 1);
	CHECK_OK(s5_shmctl(id, IPC_RMID, NULL));
}

/* --- views ---------------------------------------------------------------- */

static struct s5_shmseg_info info_of(int id)
{
	struct s5_shmseg_info info;

	CHECK_EQ_INT(s5_shmseg_info_get(id, &info), 0);
	return info;
}

/* Whether the process is among the attachers; how many there are. */
static bool is_attacher(int id, pid_t pid, int *ret_n)
{
	struct s5_shmseg_attacher a;
	uint64_t cursor = 0;
	bool found = false;
	int got;

	*ret_n = 0;
	while ((got = s5_shmseg_attacher_next(&cursor, id, &a)) > 0) {
		CHECK_EQ_INT(a.shmid, id);
		found = found || a.pid == pid;
		++*ret_n;
	}
	CHECK_EQ_INT(got, 0);
	return found;
}

TEST(view_says_what_stat_says)
{
	int id = CHECK_OK(s5_shmget(0x2a, PAGE + 1, IPC_CREAT | 0640));
	int other = make(PAGE);
	struct s5_shmseg_info info;
	struct shmid_ds ds;
	uint32_t cursor = 0;

	(void)attach(id, 0);
	(void)attach(id, SHM_RDONLY);
	ds = stat_of(id);
	CHECK_EQ_INT(s5_shmseg_info_next(&cursor, &info), 1);
	CHECK_EQ_INT(info.shmid, id);
	CHECK_EQ_INT(info.key, 0x2a);
	CHECK_EQ_INT(info.mode, 0640);
	CHECK_EQ_INT(info.uid, getuid());
	CHECK_EQ_INT(info.cgid, getgid());
	CHECK_EQ_INT(info.flags, S5_INFO_CONTROL);
	CHECK_EQ_INT(info.cpid, getpid());
	CHECK_EQ_INT(info.lpid, getpid());
	CHECK_EQ_INT(info.nattch, 2);
	CHECK_EQ_INT(info.size, PAGE + 1);
	CHECK_EQ_INT(info.rss, 2 * PAGE);
	CHECK_EQ_INT(info.atime, ds.shm_atime);
	CHECK_EQ_INT(info.dtime, 0);
	CHECK_EQ_INT(info.ctime, ds.shm_ctime);
	CHECK_EQ_INT(s5_shmseg_info_next(&cursor, &info), 1);
	CHECK_EQ_INT(info.shmid, other);
	CHECK_EQ_INT(info.nattch, 0);
	CHECK_EQ_INT(s5_shmseg_info_next(&cursor, &info), 0);
	CHECK_EQ_INT(s5_shmseg_info_get(4711, &info), -EINVAL);
	CHECK_EQ_INT(s5_shmseg_info_get(-1, &info), -EINVAL);
	CHECK_OK(s5_shmctl(id, SHM_LOCK, NULL));
	CHECK_OK(s5_shmctl(id, IPC_RMID, NULL));
	CHECK_EQ_INT(info_of(id).mode, 0640 | S5_SHM_DEST | S5_SHM_LOCKED);
	CHECK_EQ_INT(info_of(id).key, 0);
}

TEST(view_asks_for_no_right)
{
	int id = CHECK_OK(s5_shmget(IPC_PRIVATE, PAGE, IPC_CREAT));
	pid_t pid;

	if (getuid() != 0)
		SKIP("needs root");
	CHECK_OK(chmod(getenv("SYSFIVE_DIR"), 01777));
	CHECK_OK(info_of(id).nattch);
	pid = fork();
	if (pid == 0) {
		CHECK_OK(setgid(65534));
		CHECK_OK(setuid(65534));
		s5__cred_changed();
		CHECK_EQ_INT(info_of(id).flags, 0);
		CHECK_EQ_INT(info_of(id).size, PAGE);
		_exit(0);
	}
	CHECK_EQ_INT(status_of(pid), 0);
}

TEST(attachers_are_listed)
{
	enum { N = 12 };
	struct child c[N];
	int id = make(PAGE);
	int n;

	CHECK(!is_attacher(id, getpid(), &n));
	for (int i = 0; i < N; i++)
		c[i] = start(id, 1 + i % 2);
	for (int i = 0; i < N; i++)
		CHECK(is_attacher(id, c[i].pid, &n));
	CHECK_EQ_INT(n, N);
	stop(&c[3], SIGKILL);
	CHECK(!is_attacher(id, c[3].pid, &n));
	CHECK_EQ_INT(n, N - 1);
	for (int i = 0; i < N; i++) {
		if (i != 3)
			stop(&c[i], SIGKILL);
	}
	CHECK(!is_attacher(id, c[0].pid, &n));
	CHECK_EQ_INT(n, 0);
	CHECK(!is_attacher(4711, getpid(), &n));
}

TEST(segment_that_ends_by_being_looked_at)
{
	struct s5_shmseg_info info;
	int id = make(PAGE);
	struct child c = start(id, 1);
	uint64_t at = 0;
	struct s5_shmseg_attacher a;

	CHECK_OK(s5_shmctl(id, IPC_RMID, NULL));
	CHECK_EQ_INT(info_of(id).nattch, 1);
	stop(&c, SIGKILL);
	CHECK_EQ_INT(s5_shmseg_attacher_next(&at, id, &a), 0);
	CHECK_EQ_INT(s5_shmseg_info_get(id, &info), -EINVAL);
	CHECK_EQ_INT(files(), 0);
}

/* A process that stops while it holds the segment's lock. */
static pid_t stop_with_lock(int id)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct s5__self *self;

		CHECK_EQ_INT(s5__enter(&self, false), 0);
		CHECK_EQ_INT(s5__seg_lock(self, id, s5__seg_find(id)), 0);
		raise(SIGSTOP);
		_exit(0);
	}
	CHECK_EQ_INT(waitpid(pid, &status, WUNTRACED), pid);
	CHECK(WIFSTOPPED(status));
	return pid;
}

TEST(view_does_not_wait_for_who_is_stopped)
{
	int id = make(PAGE);
	pid_t pid;
	int n;

	(void)attach(id, 0);
	pid = stop_with_lock(id);
	CHECK_EQ_INT(info_of(id).flags, S5_INFO_UNLOCKED | S5_INFO_CONTROL);
	CHECK_EQ_INT(info_of(id).held_pid, pid);
	CHECK_EQ_INT(info_of(id).nattch, 2);
	CHECK(is_attacher(id, getpid(), &n));
	CHECK_OK(kill(pid, SIGKILL));
	(void)status_of(pid);
	CHECK_EQ_INT(info_of(id).flags, S5_INFO_CONTROL);
	CHECK_EQ_INT(info_of(id).nattch, 1);
}

TEST(damaged_chain_of_attachers_ends)
{
	enum { N = 8 };
	struct child c[N];
	int id = make(PAGE);
	struct s5__seg *seg = s5__seg_find(id);
	struct s5__attaches *b;
	int n;

	for (int i = 0; i < N; i++)
		c[i] = start(id, 1);
	b = (struct s5__attaches *)(void *)s5__cell_at(seg->attaches.next);
	CHECK(b != NULL);
	b->next = seg->attaches.next; /* a ring */
	(void)is_attacher(id, c[0].pid, &n);
	CHECK(n > N && n < (int)(S5__ATTACH_BLOCKS * S5__ATTACHES));
	b->next = UINT32_MAX; /* nowhere */
	CHECK(is_attacher(id, c[0].pid, &n));
	CHECK_EQ_INT(n, N);
	b->next = 0;
	for (int i = 0; i < N; i++)
		stop(&c[i], SIGKILL);
}
