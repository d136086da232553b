/* SPDX-License-Identifier: MIT */
/*
 * test_crash_shm.c - killed at every named point of a segment's calls
 *
 * A victim makes, attaches, detaches and removes segments, and is killed at a
 * visit of a point. The survivor then finds each call done or not done, nobody
 * counted who is dead, no file that belongs to no segment, and its own
 * attachment untouched. A run has a namespace of its own.
 */
#include "harness.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysfive/sysfive.h>
#include <unistd.h>

#include "shm/seg.h"

const char *s5_crash_name(unsigned i);
void s5_crash_arm(const char *name, unsigned visit);

#define PAGE	   4096
#define KEY	   7
#define OTHERS	   6 /* attachers: more than lie in the segment itself */
#define VISITS_MAX 20
#define POINTS_MAX 256

struct world {
	uint8_t reached[POINTS_MAX];
};
static struct world *world;
static int kept; /* the leader's segment, attached by it */

static void victim(void *arg)
{
	char *p, *q;
	int id;

	(void)arg;
	for (int i = 0; i < 2; i++) {
		id = CHECK_OK(s5_shmget(KEY, 2 * PAGE, IPC_CREAT | 0600));
		p = s5_shmat(id, NULL, 0);
		CHECK(p != (char *)-1);
		p[0] = 1;
		if (i == 0)
			CHECK_OK(s5_shmdt(p));
		CHECK_OK(s5_shmctl(id, IPC_RMID, NULL));
		if (i == 1)
			CHECK_OK(s5_shmdt(p));
	}
	q = s5_shmat(kept, NULL, SHM_RDONLY);
	CHECK(q != (char *)-1);
	CHECK_EQ_INT(*q, 'k');
	CHECK_OK(s5_shmdt(q));
	_exit(0);
}

static void other(void *arg)
{
	(void)arg;
	CHECK(s5_shmat(kept, NULL, 0) != (void *)-1);
	_exit(0);
}

static int nattch(int id)
{
	struct shmid_ds ds;

	CHECK_OK(s5_shmctl(id, IPC_STAT, &ds));
	return (int)ds.shm_nattch;
}

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

/* What the victim was doing is done or not, and nothing else has changed. */
static void after(const char *mine)
{
	struct shm_info info;
	int id;

	CHECK_EQ_INT(nattch(kept), 1);
	CHECK_EQ_INT(*mine, 'k');
	id = s5_shmget(KEY, 0, 0);
	CHECK(id >= 0 || errno == ENOENT, "errno %d", errno);
	if (id >= 0) {
		CHECK_EQ_INT(nattch(id), 0);
		CHECK_OK(s5_shmctl(id, IPC_RMID, NULL));
	}
	id = CHECK_OK(s5_shmget(KEY, PAGE, IPC_CREAT | IPC_EXCL | 0600));
	CHECK_OK(s5_shmctl(id, IPC_RMID, NULL));
	CHECK_OK(s5_shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&info));
	CHECK_EQ_INT(info.used_ids, 1);
	CHECK_EQ_INT(info.shm_tot, 1);
	s5__seg_files_sweep();
	CHECK_EQ_INT(files(), 1);
}

struct run {
	const char *point;
	unsigned visit;
};

/* The leader of one run, in a process of its own. Exits with 3 if the victim
 * ended without meeting its death. */
static void lead(void *arg)
{
	const struct run *run = arg;
	pid_t pid[OTHERS];
	char *mine;
	int status;

	kept = CHECK_OK(s5_shmget(IPC_PRIVATE, PAGE, 0600));
	for (int i = 0; i < OTHERS; i++)
		pid[i] = harness_spawn(other, NULL);
	for (int i = 0; i < OTHERS; i++)
		CHECK_EQ_INT(harness_reap(pid[i]), 0);
	mine = s5_shmat(kept, NULL, 0);
	CHECK(mine != (char *)-1);
	*mine = 'k';
	s5_crash_arm(run->point, run->visit);
	pid[0] = harness_spawn(victim, NULL);
	s5_crash_arm("", 0);
	status = harness_reap(pid[0]);
	CHECK(status == 0 ||
		      (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL),
	      "status %#x", status);
	after(mine);
	CHECK_OK(s5_shmctl(kept, IPC_RMID, NULL));
	CHECK_OK(s5_shmdt(mine));
	CHECK_EQ_INT(files(), 0);
	_exit(status == 0 ? 3 : 0);
}

/* Whether the victim was killed there. */
static bool run_once(const char *point, unsigned visit)
{
	struct run run = {point, visit};
	char dir[256], path[300], old[256];
	int status;

	(void)snprintf(old, sizeof(old), "%s", getenv("SYSFIVE_DIR"));
	(void)snprintf(dir, sizeof(dir), "%s/run", old);
	CHECK_OK(mkdir(dir, 0700));
	CHECK_OK(setenv("SYSFIVE_DIR", dir, 1));
	status = harness_reap(harness_spawn(lead, &run));
	CHECK_OK(setenv("SYSFIVE_DIR", old, 1));
	(void)snprintf(path, sizeof(path), "%s/arena", dir);
	(void)unlink(path);
	CHECK(WIFEXITED(status) &&
		      (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3),
	      "%s:%u: status %#x", point, visit, status);
	CHECK_OK(rmdir(dir));
	return WEXITSTATUS(status) == 0;
}

static bool is_ours(const char *name)
{
	return strncmp(name, "shm-", 4) == 0 ||
	       strcmp(name, "names-disown") == 0;
}

TEST_TIMEOUT(killed_at_every_point, 280)
{
	const char *name;

	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(world != MAP_FAILED);
	for (unsigned p = 0; (name = s5_crash_name(p)) != NULL; p++) {
		unsigned visit = 1;

		while (visit <= VISITS_MAX && run_once(name, visit)) {
			CHECK(p < POINTS_MAX);
			world->reached[p] = 1;
			visit += visit < 3 ? 1 : visit / 2;
		}
		CHECK(!is_ours(name) || world->reached[p], "%s never reached",
		      name);
	}
}
