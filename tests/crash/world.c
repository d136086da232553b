/* SPDX-License-Identifier: MIT */
/*
 * world.c - one run of a scene: victim, helpers, and what they saw
 *
 * s5__crash_hit() is replaced by the linker (--wrap), so that visits can be
 * counted, and only the victim dies.
 */
#include "world.h"

#include "harness.h"
#include "lock/crash.h"
#include "msg/msgq.h"
#include "msg/room.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SIZE_MAX_ (1 << 17)

struct world *world;
bool world_is_victim, world_is_stepped;

/* --- crash points ------------------------------------------------------------
 */

extern const struct s5__crash_point __start_s5_crash_points[];
extern const struct s5__crash_point __stop_s5_crash_points[];

static const char *names[WORLD_POINTS];
static int n_names;
static int armed = -1;
static uint32_t armed_visit;

void __wrap_s5__crash_hit(const struct s5__crash_point *p);

__attribute__((constructor)) static void list_points(void)
{
	const struct s5__crash_point *p = __start_s5_crash_points;

	for (; p < __stop_s5_crash_points; p++) {
		int i = 0;

		while (i < n_names && strcmp(names[i], p->name) != 0)
			i++;
		if (i == n_names && n_names < WORLD_POINTS)
			names[n_names++] = p->name;
	}
}

int point_count(void)
{
	return n_names;
}

const char *point_name(int i)
{
	return names[i];
}

void point_arm(int point, uint32_t visit)
{
	armed = point;
	armed_visit = visit;
}

void __wrap_s5__crash_hit(const struct s5__crash_point *p)
{
	int i = 0;

	if (!world_is_victim || !world)
		return;
	while (i < n_names && strcmp(names[i], p->name) != 0)
		i++;
	if (__atomic_add_fetch(&world->visits[i], 1, __ATOMIC_RELAXED) ==
		    armed_visit &&
	    i == armed)
		for (;;)
			syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
}

/* --- messages ----------------------------------------------------------------
 */

struct content {
	long type;
	uint8_t bytes[SIZE_MAX_];
};
static _Thread_local struct content *content;

static struct content *buffer(void)
{
	if (!content)
		content = malloc(sizeof(*content));
	CHECK(content != NULL);
	return content;
}

/* Message N has the bytes from N on. Copied, for few single steps. */
static uint8_t pattern[SIZE_MAX_ + WORLD_MESSAGES];

__attribute__((constructor)) static void fill_pattern(void)
{
	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i * 7 + (i >> 8) * 13);
}

int w_get(int key, int flags)
{
	return s5__msgget(key, flags);
}

int w_send(int number, long type, size_t size, int flags)
{
	struct content *c = buffer();
	uint32_t head[2] = {(uint32_t)number, (uint32_t)size};
	int err;

	CHECK(size >= sizeof(head) && size <= SIZE_MAX_);
	c->type = type;
	memcpy(c->bytes, pattern + number, size);
	memcpy(c->bytes, head, sizeof(head));
	world->sent[number] = SENDING;
	err = s5__msgsnd(world->id, c, size, flags);
	world->sent[number] = err ? REFUSED : SENT;
	return err;
}

long w_recv(size_t size, long type, int flags)
{
	struct content *c = buffer();
	uint32_t head[2];
	long n;

	if (world_is_victim || world_is_stepped)
		world->receiving = 1;
	n = s5__msgrcv(world->id, c, size, type, flags);
	if (n >= 0) {
		CHECK(n >= (long)sizeof(head), "a message of %ld bytes", n);
		memcpy(head, c->bytes, sizeof(head));
		CHECK(head[0] < WORLD_MESSAGES && (long)head[1] == n,
		      "message %u of %u bytes, got %ld", head[0], head[1], n);
		CHECK(memcmp(c->bytes + sizeof(head),
			     pattern + head[0] + sizeof(head),
			     (size_t)n - sizeof(head)) == 0,
		      "content of message %u of %ld bytes", head[0], n);
		__atomic_add_fetch(&world->got[head[0]], 1, __ATOMIC_RELAXED);
	}
	if (world_is_victim || world_is_stepped)
		world->receiving = 0;
	return n;
}

int w_remove(void)
{
	world->removed = 1;
	return s5__msgctl(world->id, IPC_RMID, NULL);
}

/* --- helpers
 * ------------------------------------------------------------------ */

struct job {
	long (*run)(const struct job *);
	size_t size;
	long type;
	int flags, number, index;
};

static long run_recv(const struct job *j)
{
	return w_recv(j->size, j->type, j->flags);
}

static long run_send(const struct job *j)
{
	return w_send(j->number, j->type, j->size, j->flags);
}

static void *recv_in_thread(void *arg)
{
	(void)w_recv(SIZE_MAX_, (long)(intptr_t)arg, 0);
	return NULL;
}

static long run_threads(const struct job *j)
{
	pthread_t t[WORLD_HELPERS];

	for (int i = 0; i < j->number; i++)
		CHECK(pthread_create(&t[i], NULL, recv_in_thread,
				     (void *)(intptr_t)(j->type + i)) == 0);
	for (int i = 0; i < j->number; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	return 0;
}

static void run_job(void *arg)
{
	const struct job *j = arg;
	struct helper *h = &world->helper[j->index];

	h->result = j->run(j);
	h->done = 1;
}

static void start(struct job j)
{
	CHECK(world->helpers < WORLD_HELPERS);
	j.index = world->helpers++;
	world->helper[j.index].pid = harness_spawn(run_job, &j);
}

void helper_recv(size_t size, long type, int flags)
{
	start((struct job){
		.run = run_recv, .size = size, .type = type, .flags = flags});
}

void helper_send(int number, long type, size_t size)
{
	start((struct job){
		.run = run_send, .size = size, .type = type, .number = number});
}

void helper_recv_threads(int threads, long from)
{
	start((struct job){.run = run_threads,
			   .number = threads,
			   .type = from});
}

unsigned waiting_of(pid_t pid)
{
	unsigned n = 0;
	uint32_t most = s5__a32_load_acq(&s5__header()->slot_chunks) * 8u;

	for (uint32_t i = 1; i < most; i++) {
		const struct s5__slot *s = s5__slot_at(i);

		n += s &&
		     s5__slot_phase(s5__a64_load_acq(&s->state)) ==
			     S5__SLOT_USED &&
		     !(s5__a32_load_acq(&s->word) & FUTEX_OWNER_DIED) &&
		     (pid == 0 || s->pid == (uint32_t)pid) &&
		     *(volatile const uint32_t *)&s->wait_kind != S5__WAIT_NONE;
	}
	return n;
}

unsigned waiting(void)
{
	return waiting_of(0);
}

bool all_helpers_done(void)
{
	for (int i = 0; i < world->helpers; i++)
		if (!world->helper[i].done)
			return false;
	return true;
}
