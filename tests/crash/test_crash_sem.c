/* SPDX-License-Identifier: MIT */
/*
 * test_crash_sem.c - killed at every named point of a semaphore's calls
 *
 * A scene is a list of calls that a victim makes; it is killed at a visit of a
 * point. Survivors then find the state after the calls that returned, or after
 * one more; adjustments of the dead applied, nobody counted who is dead, and
 * every call works. A run has a namespace of its own.
 */
#include "harness.h"

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sysfive/sysfive.h>
#include <unistd.h>

const char *s5_crash_name(unsigned i);
void s5_crash_arm(const char *name, unsigned visit);

#define MANY	   200 /* semaphores: more than a page, and than the log has */
#define VISITS_MAX 40
#define POINTS_MAX 256

/* What leader, victim and partners know of a run. */
struct world {
	volatile int id, done;	     /* calls of the victim that returned */
	volatile int partner_result; /* 1: not yet; else what its call gave */
	uint8_t reached[POINTS_MAX];
};
static struct world *world;

static int op(int num, int add, int flags)
{
	struct sembuf b = {(unsigned short)num, (short)add, (short)flags};

	return s5_semop(world->id, &b, 1);
}

static int op2(int a, int add_a, int b, int add_b, int flags)
{
	struct sembuf ops[2] = {{(unsigned short)a, (short)add_a, (short)flags},
				{(unsigned short)b, (short)add_b,
				 (short)flags}};

	return s5_semop(world->id, ops, 2);
}

static int value(int num)
{
	return CHECK_OK(s5_semctl(world->id, num, GETVAL));
}

static void make_set(int nsems, int first)
{
	world->id = CHECK_OK(s5_semget(IPC_PRIVATE, nsems, 0600));
	for (int i = 0; i < nsems && i < 3; i++)
		CHECK_OK(s5_semctl(world->id, i, SETVAL, first));
}

static void done(int n)
{
	world->done = n;
}

/* --- values, several operations, undo ------------------------------------- */

static void setup_values(void)
{
	make_set(3, 5);
}

static void act_values(void)
{
	CHECK_OK(op(0, 3, 0));
	done(1);
	CHECK_OK(op2(0, -2, 1, 4, 0));
	done(2);
	CHECK_OK(op2(0, -1, 2, -1, SEM_UNDO));
	done(3);
	CHECK_OK(s5_semctl(world->id, 1, SETVAL, 2));
	done(4);
	CHECK_OK(op(2, -3, SEM_UNDO));
	done(5);
}

/* Values after so many calls, what SEM_UNDO gives back included. */
static void after_values(void)
{
	static const int want[6][3] = {{5, 5, 5}, {8, 5, 5}, {6, 9, 5},
				       {6, 9, 5}, {6, 2, 5}, {6, 2, 5}};
	int now[3] = {value(0), value(1), value(2)};
	int n = world->done;

	CHECK(memcmp(now, want[n], sizeof(now)) == 0 ||
		      (n < 5 && memcmp(now, want[n + 1], sizeof(now)) == 0),
	      "%d calls: %d %d %d", n, now[0], now[1], now[2]);
}

/* --- who sleeps is completed ------------------------------------------------
 */

static void partner(void *arg)
{
	(void)arg;
	world->partner_result = op2(0, -2, 1, -1, SEM_UNDO) == 0 ? 0 : -errno;
	(void)pause();
}

static void until_sleeping(int num, int n)
{
	for (int i = 0; s5_semctl(world->id, num, GETNCNT) != n; i++) {
		CHECK(i < 100000, "nobody sleeps at %d", num);
		(void)usleep(100);
	}
}

static pid_t partner_pid;

static void setup_sleeper(void)
{
	make_set(3, 0);
	world->partner_result = 1;
	partner_pid = harness_spawn(partner, NULL);
	until_sleeping(0, 1);
}

static void act_release(void)
{
	CHECK_OK(op(0, 2, 0));
	done(1);
	CHECK_OK(op(1, 2, 0));
	done(2);
}

static void after_release(void)
{
	int n = world->done;
	int sum = value(0) + value(1);

	/* What the victim gave is there, or with the partner. */
	if (world->partner_result == 1 && sum < 4 && value(1) == 0) {
		CHECK(n <= 1 && (sum == 0 || sum == 2), "%d calls: %d", n, sum);
		if (value(0) == 0)
			CHECK_OK(op(0, 2, 0));
		CHECK_OK(op(1, 2, 0));
	}
	for (int i = 0; world->partner_result == 1 && i < 100000; i++)
		(void)usleep(100);
	CHECK_EQ_INT(world->partner_result, 0);
	CHECK_EQ_INT(value(0), 0);
	CHECK_EQ_INT(value(1), 1);
	CHECK_OK(kill(partner_pid, SIGKILL));
	(void)harness_reap(partner_pid);
	CHECK_EQ_INT(value(0), 2); /* its adjustments */
	CHECK_EQ_INT(value(1), 2);
}

/* --- all of many
 * -------------------------------------------------------------- */

static void setup_many(void)
{
	make_set(MANY, 0);
}

static void act_many(void)
{
	unsigned short v[MANY];
	struct sembuf ops[MANY];

	for (int i = 0; i < MANY; i++) {
		v[i] = 7;
		ops[i] = (struct sembuf){(unsigned short)i, 1, 0};
	}
	CHECK_OK(s5_semctl(world->id, 0, SETALL, v));
	done(1);
	CHECK_OK(s5_semop(world->id, ops, MANY));
	done(2);
}

static void after_many(void)
{
	static const int want[] = {0, 7, 8, 8};
	unsigned short v[MANY];
	int n = world->done;

	CHECK_OK(s5_semctl(world->id, 0, GETALL, v));
	CHECK(v[0] == want[n] || v[0] == want[n + 1], "%d calls: %d", n, v[0]);
	for (int i = 1; i < MANY; i++)
		CHECK(v[i] == v[0], "%d is %d, not %d", i, v[i], v[0]);
}

/* --- who sleeps and dies
 * -------------------------------------------------------- */

static void setup_zero(void)
{
	make_set(3, 0);
}

static void act_sleep(void)
{
	const struct timespec t = {0, 2000000};
	struct sembuf one = {0, -1, 0};
	struct sembuf three[3] = {{1, 0, 0}, {2, 0, 0}, {0, -1, SEM_UNDO}};

	CHECK(s5_semtimedop(world->id, &one, 1, &t) == -1 && errno == EAGAIN);
	done(1);
	CHECK(s5_semtimedop(world->id, three, 3, &t) == -1 && errno == EAGAIN);
	done(2);
}

static void after_sleep(void)
{
	CHECK_EQ_INT(s5_semctl(world->id, 0, GETNCNT), 0);
	CHECK_EQ_INT(s5_semctl(world->id, 1, GETZCNT), 0);
	CHECK_OK(op(0, 2, 0));
	CHECK_EQ_INT(value(0), 2);
	CHECK_OK(op(0, -2, 0));
}

/* --- who jumps out of its sleep --- */

static sigjmp_buf out;

static void jump(int sig)
{
	(void)sig;
	siglongjmp(out, 1);
}

/* Before the first call, which wraps it: it may not run inside of one. */
static void setup_jump(void)
{
	(void)signal(SIGALRM, jump);
	setup_zero();
}

static void act_jump(void)
{
	const struct itimerval soon = {{0, 0}, {0, 3000}};

	if (sigsetjmp(out, 1) == 0) {
		CHECK_OK(setitimer(ITIMER_REAL, &soon, NULL));
		CHECK(op2(0, -1, 1, -1, SEM_UNDO) != 0, "completed");
	}
	CHECK_OK(op(2, 1, 0)); /* finds what the jump has left */
	done(1);
}

/* --- who gives back what the dead have taken --- */

static void setup_dead(void)
{
	make_set(3, 5);
	world->partner_result = 1;
	partner_pid = harness_spawn(partner, NULL);
	for (int i = 0; world->partner_result == 1 && i < 100000; i++)
		(void)usleep(100);
	CHECK_OK(kill(partner_pid, SIGKILL));
	(void)harness_reap(partner_pid);
}

static void act_look(void)
{
	CHECK_EQ_INT(value(0), 5);
	done(1);
}

static void after_look(void)
{
	CHECK_EQ_INT(value(0), 5);
	CHECK_EQ_INT(value(1), 5);
}

/* --- made and removed
 * -------------------------------------------------------------- */

static void act_make(void)
{
	for (int i = 0; i < 2; i++) {
		int id =
			CHECK_OK(s5_semget(7, i ? MANY : 10, IPC_CREAT | 0600));
		struct sembuf b = {1, 1, SEM_UNDO};

		CHECK_OK(s5_semop(id, &b, 1));
		done(i * 2 + 1);
		CHECK_OK(s5_semctl(id, 0, IPC_RMID));
		done(i * 2 + 2);
	}
}

static void after_make(void)
{
	struct seminfo info;
	int id = s5_semget(7, 1, 0);

	CHECK(id >= 0 || errno == ENOENT, "errno %d", errno);
	if (id >= 0)
		CHECK_OK(s5_semctl(id, 0, IPC_RMID));
	id = CHECK_OK(s5_semget(7, MANY, IPC_CREAT | IPC_EXCL | 0600));
	CHECK_EQ_INT(s5_semctl(id, MANY - 1, GETVAL), 0);
	CHECK_OK(s5_semctl(id, 0, IPC_RMID));
	CHECK_OK(s5_semctl(0, 0, SEM_INFO, &info));
	CHECK_EQ_INT(info.semusz, 1); /* the leader's */
	CHECK_EQ_INT(info.semaem, 3);
}

/* --- runs
 * ------------------------------------------------------------------------ */

struct scene {
	const char *name;
	void (*setup)(void);
	void (*act)(void);
	void (*after)(void);
};

static const struct scene scenes[] = {
	{"values", setup_values, act_values, after_values},
	{"release", setup_sleeper, act_release, after_release},
	{"many", setup_many, act_many, after_many},
	{"sleep", setup_zero, act_sleep, after_sleep},
	{"jump", setup_jump, act_jump, after_sleep},
	{"undo", setup_dead, act_look, after_look},
	{"make", setup_zero, act_make, after_make},
};

static void victim(void *arg)
{
	const struct scene *scene = arg;

	scene->act();
	_exit(0);
}

struct run {
	const struct scene *scene;
	const char *point;
	unsigned visit;
};

/* The leader of one run, in a process of its own. Exits with 3 if the victim
 * ended without meeting its death. */
static void lead(void *arg)
{
	const struct run *run = arg;
	pid_t pid;
	int status;

	run->scene->setup();
	s5_crash_arm(run->point, run->visit);
	pid = harness_spawn(victim, (void *)(uintptr_t)run->scene);
	s5_crash_arm("", 0);
	status = harness_reap(pid);
	CHECK(status == 0 ||
		      (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL),
	      "status %#x", status);
	run->scene->after();
	CHECK_OK(s5_semctl(world->id, 0, IPC_RMID));
	_exit(status == 0 ? 3 : 0);
}

/* Whether the victim was killed there. */
static bool run_once(const struct scene *scene, const char *point,
		     unsigned visit)
{
	struct run run = {scene, point, visit};
	char dir[256], path[300], old[256];
	int status;

	memset((void *)world, 0, offsetof(struct world, reached));
	(void)snprintf(old, sizeof(old), "%s", getenv("SYSFIVE_DIR"));
	(void)snprintf(dir, sizeof(dir), "%s/run", old);
	CHECK_OK(mkdir(dir, 0700));
	CHECK_OK(setenv("SYSFIVE_DIR", dir, 1));
	status = harness_reap(harness_spawn(lead, &run));
	CHECK_OK(setenv("SYSFIVE_DIR", old, 1));
	(void)snprintf(path, sizeof(path), "%s/arena", dir);
	(void)unlink(path);
	CHECK_OK(rmdir(dir));
	CHECK(WIFEXITED(status) &&
		      (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3),
	      "%s:%s:%u: status %#x", scene->name, point, visit, status);
	return WEXITSTATUS(status) == 0;
}

/* At every point, the first visits, and then more and more rarely. */
static void play(const struct scene *scene)
{
	const char *name;

	for (unsigned p = 0; (name = s5_crash_name(p)) != NULL; p++) {
		unsigned visit = 1;

		while (visit <= VISITS_MAX && run_once(scene, name, visit)) {
			CHECK(p < POINTS_MAX);
			world->reached[p] = 1;
			visit += visit < 3 ? 1 : visit / 2;
		}
	}
}

static bool is_ours(const char *name)
{
	return strncmp(name, "sem-", 4) == 0 ||
	       strncmp(name, "undo-", 5) == 0 ||
	       strncmp(name, "proc-", 5) == 0 ||
	       strcmp(name, "pages-let-go") == 0 ||
	       strcmp(name, "pages-joined") == 0;
}

TEST_TIMEOUT(killed_at_every_point, 280)
{
	const char *only = getenv("S5_CRASH_ONLY");
	const char *name;

	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(world != MAP_FAILED);
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
		if (!only || strcmp(only, scenes[i].name) == 0)
			play(&scenes[i]);
	for (unsigned p = 0; !only && (name = s5_crash_name(p)) != NULL; p++)
		CHECK(!is_ours(name) || world->reached[p],
		      "no scene comes by %s", name);
}
