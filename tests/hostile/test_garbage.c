/* SPDX-License-Identifier: MIT */
/*
 * test_garbage.c - a member writes garbage into the arena
 *
 * "at rest": the arena is damaged while nobody works, then one process makes
 * every call; the same seed does the same again. "at work": several work while
 * another keeps writing. Any error is fine. To die, to stay in a call, or to
 * write outside of the arena or the buffers given is not.
 *
 * S5_HOSTILE_SEEDS=N tries N seeds of each kind. Seeds that once failed stand
 * in seeds.list and come first.
 */
#include "harness.h"
#include "msg/msgq.h"
#include "msg/room.h"
#include "region/ns.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 3
#define QUEUES	6
#define BUFFER	65536
/* Longer than a thread waits for a slot, which damage may keep from coming, on
 * a busy machine. */
#define HANG_NS	   12000000000ull
#define TICK_US	   5000
#define CALLS	   150 /* of a worker at rest */
#define AT_WORK_NS 200000000ull
#define MOST_NS	   1000000000ull

struct stage {
	volatile int is_over;
	volatile uint64_t in_call[WORKERS]; /* since when, 0: between two */
	volatile uint32_t calls[WORKERS];
	volatile int what[WORKERS];
};
static struct stage *stage;
static uint64_t state; /* of the random numbers */

static uint64_t rnd(uint64_t below)
{
	return harness_random(&state) % below;
}

/* --- the buffer, with a wall right behind it --------------------------------
 */

static uint8_t *buffer_end;

static void make_buffer(void)
{
	uint8_t *p = mmap(NULL, BUFFER + 2 * S5__PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	CHECK_OK(mprotect(p, S5__PAGE, PROT_NONE));
	CHECK_OK(mprotect(p + S5__PAGE + BUFFER, S5__PAGE, PROT_NONE));
	buffer_end = p + S5__PAGE + BUFFER;
}

/* `size` bytes of text behind a type, up to the wall. */
static long *buffer(size_t size)
{
	return (long *)(void *)(buffer_end - sizeof(long) - (size + 7) / 8 * 8);
}

/* --- calls -------------------------------------------------------------------
 */

static void tick(int sig)
{
	(void)sig;
}

/* Waits for the debugger that show_stacks() calls. */
static void stay(int sig)
{
	(void)sig;
	for (;;)
		(void)pause();
}

static void start_clock(void)
{
	struct sigaction fault = {.sa_handler = stay};
	struct sigaction sa = {.sa_handler = tick};
	struct itimerval it = {{0, TICK_US}, {0, TICK_US}};

	CHECK_OK(sigaction(SIGALRM, &sa, NULL));
	CHECK_OK(setitimer(ITIMER_REAL, &it, NULL));
	if (getenv("S5_HOSTILE_GDB")) {
		CHECK_OK(sigaction(SIGSEGV, &fault, NULL));
		CHECK_OK(sigaction(SIGBUS, &fault, NULL));
	}
}

static int some_id(void)
{
	uint32_t seq = rnd(4) == 0 ? (uint32_t)rnd(65536) : 0;

	return (int)(seq << S5__IPC_SHIFT |
		     (rnd(8) == 0 ? (uint32_t)rnd(200)
				  : (uint32_t)rnd(QUEUES + 1)));
}

static size_t some_size(void)
{
	return rnd(8) == 0 ? rnd(BUFFER - 64) : rnd(300);
}

static void call(int what)
{
	struct msqid_ds ds;
	size_t size = some_size();
	long *m = buffer(size);
	int flags = rnd(30) ? IPC_NOWAIT : 0;
	int id = some_id();
	long type;

	switch (what) {
	case 0:
		(void)s5__msgget(rnd(2) ? IPC_PRIVATE : (int)rnd(20),
				 (rnd(4) ? IPC_CREAT : 0) | 0600);
		break;
	case 1:
	case 2:
	case 3:
		*m = 1 + (long)rnd(50);
		memset(m + 1, 0x5a, size);
		(void)s5__msgsnd(id, m, size, flags);
		break;
	case 4:
	case 5:
	case 6:
		type = rnd(3) == 0 ? 0 : (long)rnd(100) - 50;
		flags |= rnd(4) == 0 ? MSG_EXCEPT : 0;
		flags |= rnd(2) ? MSG_NOERROR : 0;
		(void)s5__msgrcv(id, m, size, type, flags);
		break;
	case 7:
		if (rnd(3) == 0)
			(void)s5__msgctl(id, IPC_STAT, &ds);
		else if (rnd(2) == 0)
			(void)s5__msgctl(id % 64, MSG_STAT, &ds);
		else
			(void)s5__msgctl(0, MSG_INFO, &ds);
		break;
	case 8:
		memset(&ds, 0, sizeof(ds));
		ds.msg_qbytes = rnd(30000);
		ds.msg_perm.mode = 0600;
		(void)s5__msgctl(id, IPC_SET, &ds);
		break;
	case 9:
		if (rnd(4) == 0)
			(void)s5__msgctl(id, IPC_RMID, NULL);
		break;
	default: {
		struct s5__self *self;

		if (s5__enter(&self, false) == 0) {
			s5__a64_store_rlx(&s5__header()->janitor_s, 0);
			s5__janitor(self);
			s5__leave(self);
		}
	}
	}
}

/* Each call may wait for what damage keeps from coming; not all of them. */
static void work(int w, uint32_t most)
{
	uint64_t end = s5__now_ns() + MOST_NS;

	while (!stage->is_over && stage->calls[w] < most &&
	       s5__now_ns() < end) {
		int what = (int)rnd(11);

		stage->what[w] = what;
		stage->in_call[w] = s5__now_ns();
		call(what);
		stage->in_call[w] = 0;
		stage->calls[w]++;
	}
}

static void attach(void)
{
	struct s5_ns_status st;

	s5__msg_init();
	(void)s5__ns_attach(NULL, false, &st);
}

/* --- the arena before
 * ---------------------------------------------------------- */

static void *wait_in_thread(void *arg)
{
	struct {
		long type;
		char text[64];
	} m;

	(void)s5__msgrcv((int)(intptr_t)arg, &m, sizeof(m.text),
			 (intptr_t)arg < QUEUES ? 77 : 0, 0);
	return NULL;
}

/* Queues, messages of several sizes and types, waiters, a dead thread. */
static void furnish(void *arg)
{
	struct s5_ns_status st;

	(void)arg;
	s5__msg_init();
	CHECK_EQ_INT(s5__ns_attach(NULL, true, &st), 0);
	CHECK_EQ_INT(s5__ns_limit_set("msgmax", 1 << 20), 0);
	CHECK_EQ_INT(s5__ns_limit_set("msgmnb", 1 << 20), 0);
	make_buffer();
	for (int q = 0; q < QUEUES; q++) {
		int id = s5__msgget(q % 2 ? 1 + q : IPC_PRIVATE,
				    IPC_CREAT | 0600);

		CHECK_EQ_INT(id, q);
		for (int i = 0; i < 20 + 10 * q; i++) {
			size_t size = i % 10 == 9 ? 9000 : (size_t)i * 20;
			long *m = buffer(size);

			*m = 1 + i % (5 + 9 * q);
			CHECK_EQ_INT(s5__msgsnd(id, m, size, IPC_NOWAIT), 0);
		}
	}
	CHECK_EQ_INT(s5__msgget(IPC_PRIVATE, 0600), QUEUES); /* stays empty */
}

static void be_waiter(void *arg)
{
	attach();
	wait_in_thread(arg);
}

/* --- garbage
 * --------------------------------------------------------------------- */

static uint8_t *arena; /* the writer's own mapping */
static uint64_t used;

static void map_arena(void)
{
	char path[300];
	struct s5__header h;
	int fd;

	snprintf(path, sizeof(path), "%s/arena", getenv("SYSFIVE_DIR"));
	fd = CHECK_OK(open(path, O_RDWR | O_CLOEXEC));
	CHECK_EQ_INT(pread(fd, &h, sizeof(h), 0), sizeof(h));
	used = (uint64_t)s5__a32_load_rlx(&h.top) * S5__PAGE;
	CHECK(used >= 32 * S5__PAGE && used < (1 << 24));
	arena = mmap(NULL, used, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(arena != MAP_FAILED);
	(void)close(fd);
}

/* Where a write goes: to tables more often than to anything. */
static uint64_t aim(void)
{
	const uint32_t *slots =
		(const uint32_t *)(void *)(arena + S5__FIX_SLOT_DIR * S5__PAGE);
	const uint32_t *queues =
		(const uint32_t *)(void *)(arena + S5__FIX_MSGQ_DIR * S5__PAGE);
	uint64_t page, off;

	switch (rnd(8)) {
	case 0:
		return rnd(sizeof(struct s5__header));
	case 1:
	case 2:
		page = slots[rnd(2)];
		off = rnd(8) * sizeof(struct s5__slot) +
		      (rnd(4) ? rnd(320) : rnd(2048));
		break;
	case 3:
	case 4:
		page = queues[0];
		off = rnd(QUEUES) * sizeof(struct s5__msgq) + rnd(192);
		break;
	case 5:
		page = 1 + rnd(S5__FIX_PAGES - 1);
		off = rnd(rnd(2) ? 64 : S5__PAGE);
		break;
	default:
		page = S5__FIX_PAGES + rnd(used / S5__PAGE - S5__FIX_PAGES);
		off = rnd(32) * S5__CELL + (rnd(2) ? rnd(64) : rnd(128));
		break;
	}
	return (page * S5__PAGE + off) % (used - 512);
}

static uint32_t plausible(void)
{
	switch (rnd(6)) {
	case 0:
		return (uint32_t)rnd(20);
	case 1: /* a page */
		return (uint32_t)rnd(used / S5__PAGE + 2);
	case 2: /* a cell */
		return (uint32_t)rnd(used / S5__CELL + 2);
	case 3: /* a node */
		return (uint32_t)rnd(used / S5__CELL) << 1 | 1u;
	case 4: /* an offset */
		return (uint32_t)rnd(used) & ~3u;
	default: /* what stands elsewhere */
		return *(uint32_t *)(void *)(arena + (aim() & ~3ull));
	}
}

static void scribble(void)
{
	uint64_t at = aim();
	uint64_t value = harness_random(&state);

	switch (rnd(8)) {
	case 0:
		arena[at] = (uint8_t)value;
		break;
	case 1:
		arena[at] ^= (uint8_t)(1u << value % 8);
		break;
	case 2:
		memcpy(arena + (at & ~3ull), &value, 4);
		break;
	case 3:
		memcpy(arena + (at & ~7ull), &value, 8);
		break;
	case 4:
		value = plausible();
		memcpy(arena + (at & ~7ull), &value, 8);
		break;
	case 5:
		if (rnd(4) == 0) {
			memset(arena + at, (int)value, rnd(256));
			break;
		}
		/* fall through */
	default: {
		uint32_t word = plausible();

		memcpy(arena + (at & ~3ull), &word, 4);
	}
	}
}

/* --- runs
 * ------------------------------------------------------------------------ */

static pid_t worker[WORKERS], waiter[2];

/* For whoever looks into a hang: where all of them are. */
static void show_stacks(void)
{
	for (int i = 0; i < WORKERS + 2 && getenv("S5_HOSTILE_GDB"); i++) {
		pid_t pid = i < WORKERS ? worker[i] : waiter[i - WORKERS];
		char command[160];

		snprintf(command, sizeof(command),
			 "gdb -p %d -batch -ex bt -ex 'p s5__self' 2>/dev/null "
			 "| grep '^[#$]'",
			 (int)pid);
		printf("%s, process %d\n", i < WORKERS ? "worker" : "waiter",
		       (int)pid);
		(void)fflush(stdout);
		if (pid && system(command) != 0)
			printf("no stack\n");
	}
}

static void expect_alive(pid_t pid, int w, const char *kind, uint64_t seed)
{
	int status;

	for (;;) {
		pid_t got = waitpid(pid, &status, WNOHANG);
		uint64_t since = stage->in_call[w];
		struct timespec gap = {0, 500000};

		if (got == pid)
			break;
		if (since && s5__now_ns() - since > HANG_NS) {
			show_stacks();
			CHECK(0, "%s, seed %llu: hangs in call %d", kind,
			      (unsigned long long)seed, stage->what[w]);
		}
		nanosleep(&gap, NULL);
	}
	CHECK(status == 0, "%s, seed %llu: call %d (%u.): %s %d", kind,
	      (unsigned long long)seed, stage->what[w], stage->calls[w],
	      WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "status",
	      status);
}

struct job {
	int worker;
	uint64_t seed;
	uint32_t most;
};

static void be_worker(void *arg)
{
	const struct job *j = arg;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	state = j->seed + (uint64_t)j->worker * 7919;
	make_buffer();
	start_clock();
	attach();
	work(j->worker, j->most);
}

static void scribble_on(void *arg)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	state = *(uint64_t *)arg;
	map_arena();
	while (!stage->is_over) {
		struct timespec gap = {0, (long)rnd(1000000)};

		for (uint64_t n = rnd(10); n > 0; n--)
			scribble();
		nanosleep(&gap, NULL);
	}
}

/* In a directory of its own. */
static void run(const char *kind, uint64_t seed)
{
	bool at_rest = strcmp(kind, "rest") == 0;
	pid_t writer = 0;
	int workers = at_rest ? 1 : WORKERS;
	char dir[256], path[300];
	char *top = getenv("SYSFIVE_DIR");

	CHECK(top != NULL);
	snprintf(dir, sizeof(dir), "%s/%llx", top, (unsigned long long)seed);
	top = strdup(top);
	CHECK(top && mkdir(dir, 0700) == 0 &&
	      setenv("SYSFIVE_DIR", dir, 1) == 0);
	memset(stage, 0, sizeof(*stage));
	memset(worker, 0, sizeof(worker));
	state = seed;
	harness_join(harness_spawn(furnish, NULL));
	waiter[0] = harness_spawn(be_waiter, (void *)(intptr_t)1);
	waiter[1] = harness_spawn(be_waiter, (void *)(intptr_t)QUEUES);
	if (at_rest) {
		wait_sleeping(waiter[0]);
		wait_sleeping(waiter[1]);
		map_arena();
		for (uint64_t n = 1 + rnd(30); n > 0; n--)
			scribble();
		CHECK_OK(munmap(arena, used));
	} else {
		writer = harness_spawn(scribble_on, &seed);
	}
	for (int w = 0; w < workers; w++) {
		struct job j = {w, seed, at_rest ? CALLS : UINT32_MAX};

		worker[w] = harness_spawn(be_worker, &j);
	}
	if (!at_rest) {
		struct timespec t = {0, AT_WORK_NS};

		nanosleep(&t, NULL);
		stage->is_over = 1;
		harness_join(writer);
	}
	for (int w = 0; w < workers; w++)
		expect_alive(worker[w], w, kind, seed);
	/* Waiters may wait for ever, but must not have died of it. */
	for (int i = 0; i < 2; i++) {
		int status;

		if (waitpid(waiter[i], &status, WNOHANG) == 0) {
			CHECK_OK(kill(waiter[i], SIGKILL));
			(void)harness_reap(waiter[i]);
		} else {
			CHECK(status == 0, "%s, seed %llu: waiter: %#x", kind,
			      (unsigned long long)seed, status);
		}
	}
	snprintf(path, sizeof(path), "%s/arena", dir);
	(void)unlink(path);
	CHECK_OK(rmdir(dir));
	(void)setenv("SYSFIVE_DIR", top, 1);
	free(top);
}

static void play(const char *kind, int seeds)
{
	const char *more = getenv("S5_HOSTILE_SEEDS");
	const char *one = getenv("S5_HOSTILE_SEED");
	char path[300], line[128];
	uint64_t from = harness_seed();
	unsigned long long seed;
	FILE *f;

	stage = mmap(NULL, sizeof(*stage), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(stage != MAP_FAILED);
	if (one) {
		run(kind, strtoull(one, NULL, 10));
		return;
	}
	snprintf(path, sizeof(path), "%s/tests/hostile/seeds.list",
		 getenv("S5_SOURCE_DIR") ? getenv("S5_SOURCE_DIR") : ".");
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		char name[32];

		if (sscanf(line, "%31s %llu", name, &seed) == 2 &&
		    strcmp(name, kind) == 0)
			run(kind, seed);
	}
	if (f)
		(void)fclose(f);
	for (int i = 0; i < (more ? atoi(more) : seeds); i++)
		run(kind, harness_random(&from));
}

TEST_TIMEOUT(at_rest, 3600)
{
	play("rest", 150);
}

TEST_TIMEOUT(at_work, 3600)
{
	play("work", 20);
}
