/* SPDX-License-Identifier: MIT */
/*
 * test_crash.c - kills a process at every named point, and between points
 *
 * For every scene a first run counts how often the victim comes by each crash
 * point. Then it is killed at the first and at later visits, one run each; then
 * at any instruction, by single steps, in runs drawn at random. After each
 * death survivors use the queue, everybody who waits must be released or
 * served, every message must be accounted for, and the arena must be clean.
 *
 * S5_CRASH_ALL=1 takes every visit, S5_CRASH_STEPS=N sets the runs of single
 * steps, S5_CRASH_ONLY=SCENE:POINT:VISIT replays one (POINT may be "step").
 */
#include "check.h"
#include "harness.h"
#include "lock/crash.h"
#include "msg/msgq.h"
#include "msg/room.h"
#include "region/ns.h"
#include "scenes.h"
#include "world.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXTRA	    1000 /* number of the survivor's message */
#define RUN_SECONDS 15
#define STEP	    (-2) /* instead of a point: an instruction */
#define NO_POINT    (-1)
#define STEPS_RUN   10000 /* instructions of one run */
#define STEPS_MOST  15000 /* of all runs of a scene, by default */

struct totals {
	int scenes, runs, kills, steps;
	uint8_t reached[WORLD_POINTS];
};
static struct totals *totals;

__attribute__((constructor)) static void share(void)
{
	totals = mmap(NULL, sizeof(*totals), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* --- the end of a run: survivors, account
 * ---------------------------------------- */

static void drain(void)
{
	long n;

	while ((n = w_recv(1 << 17, 0, IPC_NOWAIT)) >= 0)
		;
	CHECK(n == -ENOMSG, "msgrcv: %ld", n);
}

static bool no_sender_left(void)
{
	struct s5__msgq *q = s5__msgq_find(world->id);

	drain();
	return q && *(volatile uint32_t *)&q->n_send == 0;
}

/* None is on its way: with a message in hand, or about to look again. */
static bool helpers_at_rest(void)
{
	for (int i = 0; i < world->helpers; i++)
		if (!world->helper[i].done && !waiting_of(world->helper[i].pid))
			return false;
	return true;
}

static bool helpers_reaped(void)
{
	for (int i = 0; i < world->helpers; i++) {
		struct helper *h = &world->helper[i];
		int status;

		if (h->pid == 0)
			continue;
		if (waitpid(h->pid, &status, WNOHANG) != h->pid)
			return false;
		CHECK(status == 0, "helper %d: status %#x", i, status);
		CHECK(h->result >= 0 || h->result == -EIDRM ||
			      h->result == -EINVAL || h->result == -E2BIG,
		      "helper %d: result %ld", i, h->result);
		h->pid = 0;
	}
	return true;
}

static void account(bool was_there)
{
	int lost = 0, last = 0;

	for (int i = 0; i < WORLD_MESSAGES; i++) {
		enum sent sent = (enum sent)world->sent[i];

		CHECK(world->got[i] <= (sent == SENDING || sent == SENT),
		      "message %d, sent %d, received %d times", i, (int)sent,
		      world->got[i]);
		if (sent == SENT && !world->got[i]) {
			last = i;
			lost++;
		}
	}
	CHECK(!was_there || lost <= world->receiving + world->may_lose,
	      "%d messages lost, the last is %d", lost, last);
}

/* What the survivors do after the victim's death. */
static void survive(const struct scene *scene, bool settle_first)
{
	static struct check_report r;
	struct msqid_ds ds;
	bool was_there;

	if (settle_first)
		CHECK_EQ_INT(check_settle(), 0);
	was_there = s5__msgctl(world->id, IPC_STAT, &ds) == 0;
	CHECK(was_there || world->removed, "the queue is gone");
	if (was_there) {
		if (scene->after)
			scene->after();
		WAIT_UNTIL(helpers_at_rest());
		WAIT_UNTIL(no_sender_left());
		world->sent[EXTRA] = NOT_SENT;
		CHECK_EQ_INT(w_send(EXTRA, 999, 100, IPC_NOWAIT), 0);
		WAIT_UNTIL((drain(), world->got[EXTRA]));
		/* Dead receivers may have taken no message with them. */
		CHECK_EQ_INT(check_settle(), 0);
		WAIT_UNTIL(helpers_at_rest());
		drain();
		CHECK_EQ_INT(w_remove(), 0);
	}
	WAIT_UNTIL(helpers_reaped());
	check_clean("at the end");
	CHECK(check_all(&r), "%s", r.text);
	CHECK(r.queues == 0 && r.cells_used == 0 && r.pages_used == 0,
	      "left: %u queues, %u cells, %u pages", r.queues, r.cells_used,
	      r.pages_used);
	account(was_there);
}

/* --- one run
 * ------------------------------------------------------------------------ */

static void be_victim(void *arg)
{
	const struct scene *scene = arg;

	world_is_victim = true;
	scene->act();
	world_is_victim = false;
}

static void be_stepped(void *arg)
{
	const struct scene *scene = arg;

	struct msqid_ds ds;

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
		_exit(77);
	world_is_stepped = true;
	if (scene->act != scenes[0].act) /* one scene begins unregistered */
		(void)s5__msgctl(world->id, IPC_STAT, &ds);
	(void)raise(SIGSTOP);
	scene->act();
	_exit(0);
}

/* Steps the victim `steps` instructions, or to its end; how many it made. */
static long step(pid_t pid, long steps)
{
	long n = 0;
	int status, sig = 0;

	CHECK(waitpid(pid, &status, 0) == pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP("no ptrace here");
	while (WIFSTOPPED(status) && n < steps) {
		if (WSTOPSIG(status) != SIGTRAP && WSTOPSIG(status) != SIGSTOP)
			sig = WSTOPSIG(status);
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, (void *)(long)sig) !=
		    0)
			break;
		sig = 0;
		CHECK(waitpid(pid, &status, 0) == pid);
		n++;
	}
	if (WIFSTOPPED(status)) {
		CHECK_OK(kill(pid, SIGKILL));
		(void)harness_reap(pid);
		return n;
	}
	CHECK(status == 0, "stepped to its end: status %#x", status);
	return n;
}

struct run {
	const struct scene *scene;
	int point;
	uint32_t visit;
	bool settle_first;
};

static void lead(const struct run *run)
{
	const struct scene *scene = run->scene;
	struct s5_ns_status st;
	pid_t victim;
	int status;

	(void)alarm(RUN_SECONDS);
	s5__msg_init();
	CHECK_EQ_INT(s5__ns_attach(NULL, true, &st), 0);
	scene->setup();
	point_arm(run->point, run->visit);
	if (run->point == STEP) {
		long n = step(harness_spawn(be_stepped,
					    (void *)(uintptr_t)scene),
			      run->visit ? (long)run->visit : STEPS_RUN);

		if (run->visit == 0)
			totals->steps = (int)n;
		survive(scene, run->settle_first);
		return;
	}
	victim = harness_spawn(be_victim, (void *)(uintptr_t)scene);
	if (scene->during)
		scene->during(victim);
	status = harness_reap(victim);
	if (run->point == NO_POINT)
		CHECK_EQ_INT(status, 0);
	else
		CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ||
			      status == 0,
		      "the victim: status %#x", status);
	totals->kills += status != 0; /* of points */
	survive(scene, run->settle_first);
}

/* In a process and a namespace of its own. */
static void run_once(const struct scene *scene, int point, uint32_t visit,
		     int number)
{
	struct run run = {scene, point, visit,
			  number % (scene->is_slow ? 8 : 2) != 0};
	char dir[256], path[300];
	pid_t pid;
	int status;

	memset(world, 0, sizeof(*world));
	snprintf(dir, sizeof(dir), "%s/run", getenv("SYSFIVE_DIR"));
	CHECK_OK(mkdir(dir, 0700));
	(void)fflush(NULL);
	pid = CHECK_OK(fork());
	if (pid == 0) {
		(void)setpgid(0, 0);
		setenv("SYSFIVE_DIR", dir, 1);
		lead(&run);
		_exit(0);
	}
	status = harness_reap(pid);
	if (status != 0) {
		printf("# %s:%s:%u %s\n", scene->name,
		       point >= 0      ? point_name(point)
		       : point == STEP ? "step"
				       : "none",
		       visit,
		       WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
					   : "failed");
		(void)fflush(NULL);
		if (WIFSIGNALED(status))
			CHECK(0, "the run hung: %s:%d:%u", scene->name, point,
			      visit);
	}
	(void)kill(-pid, SIGKILL);
	totals->runs++;
	snprintf(path, sizeof(path), "%s/arena", dir);
	(void)unlink(path);
	CHECK_OK(rmdir(dir));
	if (status != 0)
		_exit(1);
}

static bool is_due(uint32_t visit, uint32_t most)
{
	if (getenv("S5_CRASH_ALL") || visit <= 3 || visit == most)
		return true;
	return (visit & (visit - 1)) == 0;
}

static void kill_at_points(const struct scene *scene)
{
	uint32_t visits[WORLD_POINTS];
	int number = 0;

	run_once(scene, NO_POINT, 0, 0);
	memcpy(visits, world->visits, sizeof(visits));
	for (int p = 0; p < point_count(); p++) {
		for (uint32_t v = 1; v <= visits[p]; v++)
			if (is_due(v, visits[p]))
				run_once(scene, p, v, number++);
		totals->reached[p] |= visits[p] != 0;
	}
}

static void kill_at_steps(const struct scene *scene, int runs, long most)
{
	uint64_t state = harness_seed();

	if (scene->during || runs == 0)
		return;
	run_once(scene, STEP, 0, 0);
	CHECK(totals->steps > 0);
	for (long made = 0, i = 0; i < runs && made < most; i++) {
		uint32_t n = 1 + (uint32_t)(harness_random(&state) %
					    (uint32_t)totals->steps);

		run_once(scene, STEP, n, (int)i);
		made += n;
	}
}

/* Points that test_crash_sem.c and test_crash_shm.c come by. */
static bool is_of_others(const char *name)
{
	return strncmp(name, "sem-", 4) == 0 || strncmp(name, "shm-", 4) == 0 ||
	       strcmp(name, "names-disown") == 0 ||
	       strncmp(name, "wake-seat-", 10) == 0 ||
	       strncmp(name, "undo-", 5) == 0 ||
	       strncmp(name, "proc-", 5) == 0 ||
	       strcmp(name, "pages-let-go") == 0 ||
	       strcmp(name, "pages-joined") == 0;
}

/* After the last scene, whichever that is. */
static void check_coverage(void)
{
	for (int p = 0; p < point_count(); p++)
		CHECK(totals->reached[p] || is_of_others(point_name(p)),
		      "no scene comes by %s", point_name(p));
	printf("%d points, %d scenes, %d runs, %d kills\n", point_count(),
	       scene_count, totals->runs, totals->kills);
}

static void play(const char *name)
{
	const char *only = getenv("S5_CRASH_ONLY");
	const char *steps = getenv("S5_CRASH_STEPS");
	const struct scene *scene = NULL;

	for (int i = 0; i < scene_count; i++)
		if (strcmp(scenes[i].name, name) == 0)
			scene = &scenes[i];
	CHECK(scene != NULL);
	if (only) {
		char point[64] = "";
		unsigned visit = 0;
		int p = STEP;

		if (strncmp(only, name, strlen(name)) != 0 ||
		    sscanf(only + strlen(name), ":%63[^:]:%u", point, &visit) !=
			    2)
			SKIP("not the one");
		for (int i = 0; i < point_count(); i++)
			if (strcmp(point_name(i), point) == 0)
				p = i;
		run_once(scene, p, visit, 0);
		run_once(scene, p, visit, 1);
		return;
	}
	kill_at_points(scene);
	kill_at_steps(scene, steps ? atoi(steps) : 40,
		      steps ? INT32_MAX : STEPS_MOST);
	if (++totals->scenes == scene_count)
		check_coverage();
}

#define SCENE(name_)             \
	TEST_TIMEOUT(name_, 600) \
	{                        \
		play(#name_);    \
	}

SCENE(send)
SCENE(send_handover)
SCENE(send_too_big)
SCENE(send_blocked)
SCENE(recv_each_way)
SCENE(recv_blocked)
SCENE(recv_wakes_senders)
SCENE(rmid)
SCENE(rmid_threads)
SCENE(rmid_many)
SCENE(set)
SCENE(large)
SCENE(larger)
SCENE(many_types)
SCENE(growth)
SCENE(get)
SCENE(get_many)
SCENE(get_and_remove)
SCENE(thread_end)
SCENE(jump)
SCENE(dead_owner)
SCENE(dead_chain)
SCENE(dead_waker)
SCENE(dead_hands)
SCENE(dead_remover)
SCENE(dead_waiter)
SCENE(stopped)
