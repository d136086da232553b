/* SPDX-License-Identifier: MIT */
/*
 * rows_sem.c - semaphores that are rarely waited for, and round trips
 */
#include "bench.h"

#include <semaphore.h>
#include <unistd.h>

#define THREADS_MAX 16
#define PROCESSES   16
/* Between two looks at the order to stop. */
#define BATCH 16

static void lock_unlock(struct bench_run *run, int id, uint64_t count)
{
	int flags = (int)run->row->argument;
	uint64_t i;

	for (i = 0; i < count; i++) {
		bench_semop(run, id, 0, -1, flags);
		bench_semop(run, id, 0, 1, flags);
	}
}

static void run_glibc_pair(struct bench_run *run, uint64_t count,
			   struct bench_result *ret_result)
{
	sem_t *sem = bench_shared_page(run);
	uint64_t start;
	uint64_t i;

	if (sem_init(sem, 1, 1))
		bench_fail(run, "sem_init");
	start = bench_now_ns();
	for (i = 0; i < count; i++)
		if (sem_wait(sem) || sem_post(sem))
			bench_fail(run, "sem_wait and sem_post");
	bench_result_time(ret_result, count, bench_now_ns() - start);
}

/* The argument is the operations' flags. */
void bench_run_sem_pair(struct bench_run *run, uint64_t count,
			struct bench_result *ret_result)
{
	uint64_t start;
	int id;

	if (run->side == BENCH_GLIBC) {
		run_glibc_pair(run, count, ret_result);
		return;
	}
	id = bench_set(run, 0, 1);
	bench_set_value(run, id, 0, 1);
	start = bench_now_ns();
	lock_unlock(run, id, count);
	bench_result_time(ret_result, count, bench_now_ns() - start);
	if (run->final && run->side == BENCH_SYSFIVE && !run->row->argument) {
		int quiet = bench_is_quiet(run, id, lock_unlock);

		if (quiet >= 0)
			bench_result_extra(ret_result, BENCH_QUIET, quiet);
	}
	bench_set_remove(run, id);
}

/* What those who run for a time share. */
struct game {
	atomic_int started;
	atomic_bool stop;
	/* A line for each, so that counting costs the others nothing. */
	struct {
		_Alignas(128) uint64_t count;
	} player[PROCESSES];
};
_Static_assert(sizeof(struct game) <= 4096, "fits into a page");

static bool goes_on(struct game *game)
{
	return !atomic_load_explicit(&game->stop, memory_order_relaxed);
}

static uint64_t sum_of(const struct game *game, int players)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < players; i++)
		sum += game->player[i].count;
	return sum;
}

struct zero_thread {
	struct bench_run *run;
	struct game *game;
	int id;
	int number;
	pthread_t thread;
};

static void *wait_for_zero(void *argument)
{
	struct zero_thread *self = argument;
	struct game *game = self->game;
	uint64_t count = 0;
	int i;

	bench_meet(&game->started, (int)self->run->row->argument + 1);
	while (goes_on(game)) {
		for (i = 0; i < BATCH; i++)
			bench_semop(self->run, self->id, self->number, 0, 0);
		count += BATCH;
	}
	game->player[self->number].count = count;
	return NULL;
}

/* The argument is the number of threads. */
void bench_run_sem_zero(struct bench_run *run, uint64_t count,
			struct bench_result *ret_result)
{
	struct zero_thread thread[THREADS_MAX];
	struct game *game = bench_shared_page(run);
	int threads = (int)run->row->argument;
	int id = bench_set(run, 0, threads);
	uint64_t start;
	int i;

	(void)count;
	for (i = 0; i < threads; i++) {
		thread[i] = (struct zero_thread){
			.run = run,
			.game = game,
			.id = id,
			.number = i,
		};
		thread[i].thread = bench_thread(run, wait_for_zero, &thread[i]);
	}
	bench_meet(&game->started, threads + 1);
	start = bench_now_ns();
	bench_sleep(run->seconds);
	atomic_store(&game->stop, true);
	for (i = 0; i < threads; i++)
		(void)pthread_join(thread[i].thread, NULL);
	bench_result_rate(ret_result, sum_of(game, threads),
			  bench_now_ns() - start, 1e6);
	bench_set_remove(run, id);
}

enum bell { THERE, BACK, BELLS };

static void answer(struct bench_run *run, int id, uint64_t count)
{
	uint64_t i;

	for (i = 0; i < count; i++) {
		bench_semop(run, id, THERE, -1, 0);
		bench_semop(run, id, BACK, 1, 0);
	}
}

static void call(struct bench_run *run, int id, uint64_t count)
{
	uint64_t i;

	for (i = 0; i < count; i++) {
		bench_semop(run, id, THERE, 1, 0);
		bench_semop(run, id, BACK, -1, 0);
	}
}

/* The argument is the number of CPUs to pin the two processes to. */
void bench_run_sem_pingpong(struct bench_run *run, uint64_t count,
			    struct bench_result *ret_result)
{
	atomic_int *counter = bench_shared_page(run);
	int id = bench_set(run, 0, BELLS);
	uint64_t start;
	pid_t child;

	child = bench_fork(run);
	bench_pin(run, run->cpu[child == 0 && run->row->argument == 2]);
	bench_meet(counter, 2);
	if (child == 0) {
		answer(run, id, count);
		_exit(0);
	}
	start = bench_now_ns();
	call(run, id, count);
	bench_result_time(ret_result, count, bench_now_ns() - start);
	bench_join(run, child);
	bench_set_remove(run, id);
}

static void contend(struct bench_run *run, struct game *game, int id, int self)
{
	int number = self % (int)run->row->argument;
	uint64_t count = 0;

	bench_meet(&game->started, PROCESSES + 1);
	for (; goes_on(game); count++) {
		bench_semop(run, id, number, -1, 0);
		bench_semop(run, id, number, 1, 0);
	}
	game->player[self].count = count;
}

/* The argument is the number of semaphores. */
void bench_run_sem_lock(struct bench_run *run, uint64_t count,
			struct bench_result *ret_result)
{
	struct game *game = bench_shared_page(run);
	int semaphores = (int)run->row->argument;
	int id = bench_set(run, 0, semaphores);
	pid_t child[PROCESSES];
	uint64_t start;
	int i;

	(void)count;
	for (i = 0; i < semaphores; i++)
		bench_set_value(run, id, i, 1);
	for (i = 0; i < PROCESSES; i++) {
		child[i] = bench_fork(run);
		if (child[i] == 0) {
			contend(run, game, id, i);
			_exit(0);
		}
	}
	bench_meet(&game->started, PROCESSES + 1);
	start = bench_now_ns();
	bench_sleep(run->seconds);
	atomic_store(&game->stop, true);
	for (i = 0; i < PROCESSES; i++)
		bench_join(run, child[i]);
	bench_result_rate(ret_result, sum_of(game, PROCESSES),
			  bench_now_ns() - start, 1e6);
	bench_set_remove(run, id);
}
