/* SPDX-License-Identifier: MIT */
/*
 * rows_pmsg.c - pairs of threads on one queue, each thread with its own type
 *
 * As in the historic test: each message wakes one thread of many that sleep on
 * the queue.  All threads run for a time; the figure is what all received.
 */
#include "bench.h"

#include <pthread.h>
#include <sys/resource.h>

#define THREADS_MAX 64

enum word { GO_ON, STOP };

struct pmsg {
	struct bench_run *run;
	int id;
	atomic_int started;
	int threads;
	atomic_bool stop;
};

/* A line of its own for each, so that counting costs the others nothing. */
struct player {
	_Alignas(128) struct pmsg *game;
	long own_type;
	long partner_type;
	uint64_t received;
	pthread_t thread;
};

/* Serves first; the partner ends when it is told to. */
static void *caller(void *argument)
{
	struct player *p = argument;
	struct pmsg *game = p->game;
	struct bench_msg msg;
	bool stop;

	bench_meet(&game->started, game->threads + 1);
	do {
		stop = atomic_load_explicit(&game->stop, memory_order_relaxed);
		msg.type = p->partner_type;
		msg.word[0] = stop ? STOP : GO_ON;
		bench_send(game->run, game->id, &msg);
		bench_receive(game->run, game->id, &msg, p->own_type);
		p->received++;
	} while (!stop);
	return NULL;
}

static void *answerer(void *argument)
{
	struct player *p = argument;
	struct pmsg *game = p->game;
	struct bench_msg msg;

	bench_meet(&game->started, game->threads + 1);
	do {
		bench_receive(game->run, game->id, &msg, p->own_type);
		p->received++;
		msg.type = p->partner_type;
		bench_send(game->run, game->id, &msg);
	} while (msg.word[0] != STOP);
	return NULL;
}

static void start_players(struct pmsg *game, struct player *players)
{
	int i;

	for (i = 0; i < game->threads; i++) {
		struct player *p = &players[i];

		p->game = game;
		p->own_type = i + 1;
		p->partner_type = (i ^ 1) + 1;
		p->received = 0;
		p->thread =
			bench_thread(game->run, i & 1 ? answerer : caller, p);
	}
}

/* The argument is the number of threads. */
void bench_run_pmsg(struct bench_run *run, uint64_t count,
		    struct bench_result *ret_result)
{
	static struct player players[THREADS_MAX];
	struct pmsg game = {.run = run, .threads = (int)run->row->argument};
	struct bench_usage before, after;
	uint64_t received = 0;
	uint64_t ns;
	int i;

	(void)count;
	game.id = bench_queue(run, 0);
	start_players(&game, players);
	bench_meet(&game.started, game.threads + 1);
	before = bench_usage(RUSAGE_SELF);
	ns = bench_now_ns();
	bench_sleep(run->seconds);
	atomic_store(&game.stop, true);
	for (i = 0; i < game.threads; i++) {
		(void)pthread_join(players[i].thread, NULL);
		received += players[i].received;
	}
	ns = bench_now_ns() - ns;
	after = bench_usage(RUSAGE_SELF);
	bench_result_rate(ret_result, received, ns, 1e6);
	bench_result_extra(ret_result, BENCH_SWITCHES,
			   (after.switches - before.switches) * 1000 /
				   (double)received);
	bench_result_extra(ret_result, BENCH_CPU,
			   (after.cpu_seconds - before.cpu_seconds) /
				   ret_result->seconds);
	bench_queue_remove(run, game.id);
}
