/* SPDX-License-Identifier: MIT */
/* sem_wait.c - sleepers: who is served and when, counts, errors on waking. */
#define SUITE 4
#include "sets.h"

/* ---- served by the waker ---- */

/* The sleeper has not run yet, and all is as if it had. */
SCENARIO(grant_is_complete_at_once, NEED_FIFO, "A-105 A-104 A-129")
{
	int s = new_set(3, 0600);
	struct actor *p = SLEEPER(s, {0, -1, 0}, {1, 2, 0}, {2, 0, 0});

	EQ(ncnt_of(s, 0), 1);
	EQ(set_stat_of(s).sem_otime, 0);
	hold_cpu(&p, 1);
	EQ(add(s, 0, 1), 0);
	EQ(value_of(s, 0), 0);
	EQ(value_of(s, 1), 2);
	EQ(pid_of(s, 0), p->pid);
	EQ(pid_of(s, 1), p->pid);
	EQ(pid_of(s, 2), p->pid);
	EQ(ncnt_of(s, 0), 0);
	IS(set_stat_of(s).sem_otime != 0);
	EQ(OP(s, {0, -1, IPC_NOWAIT}), -EAGAIN);
	release_cpu();
	EQ(finish(p), 0);
}

SCENARIO(grant_by_setval_is_complete_at_once, NEED_FIFO,
	 "A-105 A-119 A-127 A-128")
{
	int s = new_set(2, 0600);
	struct actor *p = sleeper(s, 0, -3, 0), *z;

	hold_cpu(&p, 1);
	EQ(set_value(s, 0, 5), 0);
	EQ(value_of(s, 0), 2);
	EQ(pid_of(s, 0), p->pid);
	EQ(ncnt_of(s, 0), 0);
	IS(set_stat_of(s).sem_otime != 0);
	release_cpu();
	EQ(finish(p), 0);
	z = sleeper(s, 0, 0, 0);
	hold_cpu(&z, 1);
	EQ(SET_ALL(s, 0, 9), 0);
	EQ(zcnt_of(s, 0), 0);
	EQ(pid_of(s, 0), z->pid);
	EQ(pid_of(s, 1), self()->pid);
	release_cpu();
	EQ(finish(z), 0);
}

/* A whole chain is done before anybody runs. */
SCENARIO(cascade_is_complete_at_once, NEED_FIFO, "A-115 A-105")
{
	int s = new_set(4, 0600);
	struct actor *p[3] = {
		SLEEPER(s, {0, -1, 0}, {1, 1, 0}),
		SLEEPER(s, {1, -1, 0}, {2, 1, 0}),
		SLEEPER(s, {2, -1, 0}, {3, 1, 0}),
	};

	hold_cpu(p, 3);
	EQ(add(s, 0, 1), 0);
	EQ(get_values(s, 4), 0);
	EQ(got_value(0) + got_value(1) + got_value(2), 0);
	EQ(got_value(3), 1);
	EQ(pid_of(s, 0), p[0]->pid);
	EQ(pid_of(s, 1), p[1]->pid);
	EQ(pid_of(s, 2), p[2]->pid);
	EQ(pid_of(s, 3), p[2]->pid);
	release_cpu();
	for (int i = 0; i < 3; i++)
		EQ(finish(p[i]), 0);
}

SCENARIO(cascade_against_the_order_of_arrival, NEED_NOTHING, "A-115")
{
	int s = new_set(4, 0600);
	struct actor *c = SLEEPER(s, {2, -1, 0}, {3, 1, 0});
	struct actor *b = SLEEPER(s, {1, -1, 0}, {2, 1, 0});
	struct actor *a = SLEEPER(s, {0, -1, 0}, {1, 1, 0});

	EQ(add(s, 0, 1), 0);
	EQ(finish(a), 0);
	EQ(finish(b), 0);
	EQ(finish(c), 0);
	EQ(get_values(s, 4), 0);
	EQ(got_value(3), 1);
}

/* ---- single operations ---- */

SCENARIO(equal_sleepers_in_order, NEED_NOTHING, "A-114 A-111")
{
	int s = new_set(1, 0600);
	struct actor *p[5];

	for (int i = 0; i < 5; i++)
		p[i] = sleeper(s, 0, -1, 0);
	EQ(ncnt_of(s, 0), 5);
	EQ(add(s, 0, 1), 0);
	EQ(finish(p[0]), 0);
	for (int i = 1; i < 5; i++)
		ASLEEP(p[i]);
	EQ(add(s, 0, 2), 0);
	EQ(finish(p[1]), 0);
	EQ(finish(p[2]), 0);
	ASLEEP(p[3]);
	ASLEEP(p[4]);
	EQ(ncnt_of(s, 0), 2);
	EQ(pid_of(s, 0), p[2]->pid);
	EQ(add(s, 0, 3), 0);
	EQ(finish(p[3]), 0);
	EQ(finish(p[4]), 0);
	EQ(pid_of(s, 0), p[4]->pid);
	EQ(value_of(s, 0), 1);
}

SCENARIO(small_requests_overtake_large, NEED_NOTHING, "A-113")
{
	int s = new_set(1, 0600);
	struct actor *large = sleeper(s, 0, -3, 0);
	struct actor *small = sleeper(s, 0, -1, 0);
	struct actor *middle = sleeper(s, 0, -2, 0);

	EQ(add(s, 0, 1), 0);
	EQ(finish(small), 0);
	ASLEEP(large);
	EQ(add(s, 0, 2), 0);
	EQ(finish(middle), 0);
	ASLEEP(large);
	EQ(add(s, 0, 2), 0);
	ASLEEP(large);
	EQ(value_of(s, 0), 2);
	EQ(add(s, 0, 1), 0);
	EQ(finish(large), 0);
	EQ(value_of(s, 0), 0);
}

/* What is left after the first is served is looked at for the rest. */
SCENARIO(large_first_then_what_fits, NEED_NOTHING, "A-113 A-114")
{
	int s = new_set(1, 0600);
	struct actor *a = sleeper(s, 0, -3, 0);
	struct actor *b = sleeper(s, 0, -3, 0);
	struct actor *c = sleeper(s, 0, -2, 0);
	struct actor *d = sleeper(s, 0, -1, 0);

	EQ(add(s, 0, 5), 0);
	EQ(finish(a), 0);
	EQ(finish(c), 0);
	ASLEEP(b);
	ASLEEP(d);
	EQ(value_of(s, 0), 0);
	EQ(add(s, 0, 4), 0);
	EQ(finish(b), 0);
	EQ(finish(d), 0);
}

SCENARIO(newcomer_overtakes, NEED_NOTHING, "A-112")
{
	struct actor *p = new_process();
	int s = new_set(1, 0600);
	struct actor *large = sleeper(s, 0, -5, 0);

	EQ(add(s, 0, 4), 0);
	EQ(BY(p, add(s, 0, -2)), 0);
	ASLEEP(large);
	EQ(value_of(s, 0), 2);
	EQ(add(s, 0, 3), 0);
	EQ(finish(large), 0);
}

/* The waker's own next P finds what it gave away gone. */
SCENARIO(waker_does_not_overtake_the_woken, NEED_NOTHING, "A-105 A-112")
{
	int s = new_set(1, 0600);
	struct actor *p = sleeper(s, 0, -1, 0);

	EQ(add(s, 0, 1), 0);
	EQ(OP(s, {0, -1, IPC_NOWAIT}), -EAGAIN);
	EQ(finish(p), 0);
}

SCENARIO(one_call_that_gives_and_takes, NEED_NOTHING, "A-116 A-099")
{
	int s = new_set(1, 0600);
	struct actor *p = sleeper(s, 0, -1, 0);

	/* Only what is left after the whole call counts. */
	EQ(OP(s, {0, 1, 0}, {0, -1, 0}), 0);
	ASLEEP(p);
	EQ(OP(s, {0, 2, 0}, {0, -1, 0}), 0);
	EQ(finish(p), 0);
	EQ(value_of(s, 0), 0);
}

SCENARIO(many_sleepers_one_call, NEED_NOTHING, "A-115 A-114")
{
	int s = new_set(30, 0600);
	struct sembuf *o = self()->buf.ops;
	struct actor *p[40];

	for (int i = 0; i < 40; i++)
		p[i] = sleeper(s, i % 30, -1, 0);
	for (int i = 0; i < 30; i++)
		o[i] = (struct sembuf){(unsigned short)i, 1, 0};
	EQ(op_from(s, o, 30), 0);
	for (int i = 0; i < 30; i++)
		EQ(finish(p[i]), 0);
	for (int i = 30; i < 40; i++)
		ASLEEP(p[i]);
	for (int i = 0; i < 10; i++)
		o[i].sem_op = 2;
	EQ(op_from(s, o, 10), 0);
	for (int i = 30; i < 40; i++)
		EQ(finish(p[i]), 0);
	EQ(value_of(s, 9), 1);
}

/* ---- waiting for zero ---- */

SCENARIO(zero_sleepers_all_wake, NEED_NOTHING, "A-117 A-113")
{
	int s = new_set(1, 0600);
	struct actor *z[4];

	EQ(add(s, 0, 2), 0);
	for (int i = 0; i < 4; i++)
		z[i] = sleeper(s, 0, 0, 0);
	EQ(zcnt_of(s, 0), 4);
	EQ(ncnt_of(s, 0), 0);
	EQ(add(s, 0, -1), 0);
	for (int i = 0; i < 4; i++)
		ASLEEP(z[i]);
	EQ(add(s, 0, -1), 0);
	for (int i = 0; i < 4; i++)
		EQ(finish(z[i]), 0);
	EQ(zcnt_of(s, 0), 0);
	EQ(value_of(s, 0), 0);
}

SCENARIO(zero_inside_a_call_is_not_seen, NEED_NOTHING, "A-116")
{
	int s = new_set(1, 0600);
	struct actor *z;

	EQ(add(s, 0, 1), 0);
	z = sleeper(s, 0, 0, 0);
	EQ(OP(s, {0, -1, 0}, {0, 1, 0}), 0);
	ASLEEP(z);
	EQ(OP(s, {0, -1, 0}, {0, 0, 0}, {0, 1, 0}), 0);
	ASLEEP(z);
	EQ(OP(s, {0, 1, 0}, {0, -2, 0}), 0);
	EQ(finish(z), 0);
}

/* Zero sleepers come before takers, and see zero between two of them. */
SCENARIO(zero_sleepers_and_takers, NEED_NOTHING, "A-113 A-116 A-117")
{
	int s = new_set(1, 0600);
	struct actor *taker = sleeper(s, 0, -3, 0), *z;

	EQ(add(s, 0, 1), 0);
	z = sleeper(s, 0, 0, 0);
	EQ(add(s, 0, 2), 0);
	EQ(finish(taker), 0);
	EQ(finish(z), 0);
	EQ(value_of(s, 0), 0);
}

SCENARIO(zero_sleeper_then_taker_by_setval, NEED_NOTHING, "A-119 A-117")
{
	int s = new_set(1, 0600);
	struct actor *z1, *z2, *taker;

	EQ(add(s, 0, 3), 0);
	z1 = sleeper(s, 0, 0, 0);
	taker = sleeper(s, 0, -4, 0);
	z2 = sleeper(s, 0, 0, 0);
	EQ(set_value(s, 0, 2), 0);
	ASLEEP(z1);
	ASLEEP(taker);
	EQ(set_value(s, 0, 4), 0);
	EQ(finish(taker), 0);
	EQ(finish(z1), 0);
	EQ(finish(z2), 0);
	EQ(value_of(s, 0), 0);
}

SCENARIO(zero_sleeper_of_two_semaphores, NEED_NOTHING, "A-117 A-129 A-116")
{
	int s = new_set(2, 0600);
	struct actor *z;

	EQ(SET_ALL(s, 1, 1), 0);
	z = SLEEPER(s, {0, 0, 0}, {1, 0, 0});
	EQ(zcnt_of(s, 0), 1);
	EQ(zcnt_of(s, 1), 0);
	EQ(add(s, 0, -1), 0);
	ASLEEP(z);
	EQ(zcnt_of(s, 0), 0);
	EQ(zcnt_of(s, 1), 1);
	EQ(add(s, 0, 1), 0);
	EQ(add(s, 1, -1), 0);
	ASLEEP(z);
	EQ(zcnt_of(s, 0), 1);
	EQ(zcnt_of(s, 1), 0);
	EQ(add(s, 0, -1), 0);
	EQ(finish(z), 0);
	EQ(pid_of(s, 0), z->pid);
	EQ(pid_of(s, 1), z->pid);
}

/* A barrier as programs write it: zero, then one more. */
SCENARIO(zero_then_add_one_at_a_time, NEED_NOTHING, "A-115 A-117 A-099")
{
	int s = new_set(1, 0600);
	struct actor *p[3];

	EQ(add(s, 0, 1), 0);
	for (int i = 0; i < 3; i++)
		p[i] = SLEEPER(s, {0, 0, 0}, {0, 1, 0});
	EQ(zcnt_of(s, 0), 3);
	for (int i = 0; i < 3; i++) {
		EQ(add(s, 0, -1), 0);
		EQ(finish(p[i]), 0);
		EQ(value_of(s, 0), 1);
		EQ(zcnt_of(s, 0), 2 - i);
	}
}

/* ---- several operations, asleep ---- */

SCENARIO(complex_sleeper_needs_both, NEED_NOTHING, "A-099 A-111 A-129")
{
	int s = new_set(2, 0600);
	struct actor *p = SLEEPER(s, {0, -1, 0}, {1, -1, 0});

	EQ(ncnt_of(s, 0), 1);
	EQ(ncnt_of(s, 1), 0);
	EQ(add(s, 1, 1), 0);
	ASLEEP(p);
	EQ(value_of(s, 1), 1);
	EQ(ncnt_of(s, 0), 1);
	EQ(add(s, 1, -1), 0);
	EQ(add(s, 0, 1), 0);
	ASLEEP(p);
	EQ(value_of(s, 0), 1);
	EQ(ncnt_of(s, 0), 0);
	EQ(ncnt_of(s, 1), 1);
	EQ(add(s, 1, 1), 0);
	EQ(finish(p), 0);
	EQ(get_values(s, 2), 0);
	EQ(ncnt_of(s, 0) + ncnt_of(s, 1), 0);
}

/* The counts follow the operation that blocks now. */
SCENARIO(counts_move_with_the_values, NEED_NOTHING, "A-129")
{
	int s = new_set(4, 0600);
	struct actor *p =
		SLEEPER(s, {0, -2, 0}, {1, 0, 0}, {2, -1, 0}, {3, -1, 0});

	EQ(ncnt_of(s, 0), 1);
	EQ(set_value(s, 1, 1), 0);
	EQ(ncnt_of(s, 0), 1);
	EQ(set_value(s, 0, 2), 0);
	EQ(ncnt_of(s, 0), 0);
	EQ(zcnt_of(s, 1), 1);
	EQ(ncnt_of(s, 1), 0);
	EQ(set_value(s, 1, 0), 0);
	EQ(zcnt_of(s, 1), 0);
	EQ(ncnt_of(s, 2), 1);
	EQ(set_value(s, 2, 5), 0);
	EQ(ncnt_of(s, 2), 0);
	EQ(ncnt_of(s, 3), 1);
	EQ(set_value(s, 0, 1), 0);
	EQ(ncnt_of(s, 3), 0);
	EQ(ncnt_of(s, 0), 1);
	EQ(SET_ALL(s, 2, 0, 1, 1), 0);
	EQ(finish(p), 0);
	EQ(get_values(s, 4), 0);
}

SCENARIO(counts_of_one_semaphore_named_twice, NEED_NOTHING, "A-129 A-099")
{
	int s = new_set(1, 0600);
	struct actor *p = SLEEPER(s, {0, -1, 0}, {0, -1, 0}, {0, 0, 0});

	EQ(ncnt_of(s, 0), 1);
	EQ(zcnt_of(s, 0), 0);
	EQ(set_value(s, 0, 1), 0);
	EQ(ncnt_of(s, 0), 1);
	EQ(set_value(s, 0, 3), 0);
	EQ(ncnt_of(s, 0), 0);
	EQ(zcnt_of(s, 0), 1);
	EQ(set_value(s, 0, 2), 0);
	EQ(finish(p), 0);
}

SCENARIO(counts_of_mixed_sleepers, NEED_NOTHING, "A-129 A-111")
{
	int s = new_set(2, 0600);
	struct actor *a, *b, *c, *d;

	EQ(add(s, 0, 1), 0);
	a = sleeper(s, 0, -2, 0);
	b = SLEEPER(s, {0, -2, 0}, {1, 1, 0});
	c = sleeper(s, 0, 0, 0);
	d = SLEEPER(s, {0, 0, 0}, {1, 0, 0});
	EQ(ncnt_of(s, 0), 2);
	EQ(zcnt_of(s, 0), 2);
	EQ(ncnt_of(s, 1), 0);
	EQ(zcnt_of(s, 1), 0);
	kill_actor(b);
	EQ(ncnt_of(s, 0), 1);
	kill_actor(d);
	EQ(zcnt_of(s, 0), 1);
	EQ(add(s, 0, 1), 0);
	EQ(finish(a), 0);
	EQ(finish(c), 0);
}

/* One order of arrival over simple and complex ones. */
SCENARIO(simple_and_complex_in_order, NEED_NOTHING, "A-111 A-113 A-114")
{
	int s = new_set(2, 0600);
	struct actor *a = sleeper(s, 0, -1, 0);
	struct actor *b = SLEEPER(s, {0, -1, 0}, {1, 1, 0});
	struct actor *c = sleeper(s, 0, -1, 0);
	struct actor *d = SLEEPER(s, {0, -1, 0}, {1, 1, 0});

	EQ(ncnt_of(s, 0), 4);
	EQ(add(s, 0, 1), 0);
	EQ(finish(a), 0);
	EQ(add(s, 0, 1), 0);
	EQ(finish(b), 0);
	EQ(value_of(s, 1), 1);
	EQ(add(s, 0, 1), 0);
	EQ(finish(c), 0);
	EQ(add(s, 0, 1), 0);
	EQ(finish(d), 0);
	EQ(get_values(s, 2), 0);
}

SCENARIO(simple_before_complex_after_it_left, NEED_NOTHING, "A-111 A-114")
{
	int s = new_set(2, 0600);
	struct actor *a = SLEEPER(s, {1, -1, 0}, {0, -1, 0});
	struct actor *b = sleeper(s, 0, -1, 0);
	struct actor *c = sleeper(s, 0, -1, 0);

	kill_actor(a);
	EQ(add(s, 0, 1), 0);
	EQ(finish(b), 0);
	ASLEEP(c);
	struct actor *d = SLEEPER(s, {0, -1, 0}, {1, 1, 0});
	struct actor *e = sleeper(s, 0, -1, 0);
	EQ(add(s, 0, 3), 0);
	EQ(finish(c), 0);
	EQ(finish(d), 0);
	EQ(finish(e), 0);
}

SCENARIO(complex_sleepers_that_cannot_are_passed_over, NEED_NOTHING,
	 "A-113 A-115")
{
	int s = new_set(3, 0600);
	struct actor *stuck[3], *p[2];

	for (int i = 0; i < 3; i++)
		stuck[i] = SLEEPER(s, {0, -1, 0}, {2, -1, 0});
	p[0] = SLEEPER(s, {0, -1, 0}, {1, 1, 0});
	p[1] = sleeper(s, 0, -1, 0);
	EQ(add(s, 0, 1), 0);
	EQ(finish(p[0]), 0);
	EQ(add(s, 0, 1), 0);
	EQ(finish(p[1]), 0);
	for (int i = 0; i < 3; i++)
		ASLEEP(stuck[i]);
	EQ(OP(s, {0, 2, 0}, {2, 2, 0}), 0);
	EQ(finish(stuck[0]), 0);
	EQ(finish(stuck[1]), 0);
	ASLEEP(stuck[2]);
	EQ(get_values(s, 3), 0);
}

/* Taking from one may be what another call, which adds, waited for. */
SCENARIO(decrement_lets_complex_sleeper_go, NEED_NOTHING, "A-115 A-118")
{
	int s = new_set(2, 0600);
	struct actor *p;

	EQ(SET_ALL(s, 2, 0), 0);
	p = SLEEPER(s, {0, 0, 0}, {1, 4, 0});
	EQ(add(s, 0, -1), 0);
	ASLEEP(p);
	EQ(add(s, 0, -1), 0);
	EQ(finish(p), 0);
	EQ(value_of(s, 1), 4);
}

/* {0:-1, 0:+2}: each served lets the next go. */
SCENARIO(sleepers_that_feed_each_other, NEED_NOTHING, "A-115")
{
	int s = new_set(1, 0600);
	struct actor *p[4];

	for (int i = 0; i < 4; i++)
		p[i] = SLEEPER(s, {0, (short)-(i + 1), 0},
			       {0, (short)(i + 2), 0});
	EQ(add(s, 0, 1), 0);
	for (int i = 0; i < 4; i++)
		EQ(finish(p[i]), 0);
	EQ(value_of(s, 0), 5);
}

SCENARIO(zero_seen_between_two_served, NEED_NOTHING, "A-115 A-116 A-117")
{
	int s = new_set(2, 0600);
	struct actor *a, *b, *z;

	EQ(add(s, 0, 1), 0);
	z = sleeper(s, 0, 0, 0);
	a = SLEEPER(s, {0, -2, 0}, {1, 1, 0});
	b = SLEEPER(s, {1, -1, 0}, {0, 3, 0});
	EQ(add(s, 0, 1), 0);
	EQ(finish(a), 0);
	EQ(finish(z), 0);
	EQ(finish(b), 0);
	EQ(value_of(s, 0), 3);
}

/* ---- errors found asleep ---- */

SCENARIO(overflow_found_asleep, NEED_NOTHING, "A-103 A-101")
{
	int s = new_set(2, 0600);
	struct actor *p = SLEEPER(s, {0, -1, 0}, {1, 1, 0});

	EQ(set_value(s, 1, 32767), 0);
	ASLEEP(p);
	EQ(add(s, 0, 1), 0);
	EQ(finish(p), -ERANGE);
	EQ(get_values(s, 2), 0);
	EQ(got_value(0), 1);
	EQ(got_value(1), 32767);
	EQ(pid_of(s, 0), self()->pid);
	EQ(ncnt_of(s, 0), 0);
}

SCENARIO(overflow_of_the_first_operation_asleep, NEED_NOTHING, "A-103")
{
	int s = new_set(2, 0600);
	struct actor *p = SLEEPER(s, {1, 10, 0}, {0, -1, 0});

	EQ(set_value(s, 1, 32760), 0);
	EQ(finish(p), -ERANGE);
	EQ(get_values(s, 2), 0);
	p = SLEEPER(s, {1, 7, 0}, {0, -1, 0});
	EQ(add(s, 1, 1), 0);
	EQ(finish(p), -ERANGE);
	EQ(value_of(s, 1), 32761);
	EQ(value_of(s, 0), 0);
}

SCENARIO(nowait_found_asleep, NEED_NOTHING, "A-103 A-100")
{
	int s = new_set(3, 0600);
	struct actor *p = SLEEPER(s, {0, -1, 0}, {1, -1, IPC_NOWAIT});

	EQ(add(s, 0, 1), 0);
	EQ(finish(p), -EAGAIN);
	EQ(get_values(s, 2), 0);
	EQ(got_value(0), 1);
	EQ(set_value(s, 0, 0), 0);
	EQ(set_value(s, 2, 0), 0);
	p = SLEEPER(s, {0, -1, 0}, {2, 0, IPC_NOWAIT});
	EQ(set_value(s, 2, 1), 0);
	ASLEEP(p);
	EQ(add(s, 0, 1), 0);
	EQ(finish(p), -EAGAIN);
	EQ(value_of(s, 0), 1);
}

/* A sleeper that ends with an error leaves all to the next. */
SCENARIO(error_asleep_and_the_next_is_served, NEED_NOTHING, "A-103 A-113")
{
	int s = new_set(2, 0600);
	struct actor *bad = SLEEPER(s, {0, -1, 0}, {1, -1, IPC_NOWAIT});
	struct actor *good = sleeper(s, 0, -1, 0);

	EQ(add(s, 0, 1), 0);
	EQ(finish(bad), -EAGAIN);
	EQ(finish(good), 0);
	EQ(get_values(s, 2), 0);
}

/* ---- removal, rights ---- */

SCENARIO(removal_ends_every_sleeper, NEED_NOTHING, "A-120 A-015 A-087")
{
	int s = new_set(2, 0600);
	struct actor *p[5];

	EQ(add(s, 1, 1), 0);
	p[0] = sleeper(s, 0, -1, 0);
	p[1] = sleeper(s, 1, 0, 0);
	p[2] = SLEEPER(s, {1, -1, 0}, {0, -1, 0});
	p[3] = SLEEPER(s, {1, 0, 0}, {0, 0, 0});
	p[4] = new_process();
	START_ASLEEP(p[4], TIMED(s, IN(1000, 0), {0, -2, SEM_UNDO}));
	EQ(remove_set(s), 0);
	for (int i = 0; i < 5; i++)
		EQ(finish(p[i]), -EIDRM);
	EQ(BY(p[0], add(s, 0, -1)), -EINVAL);
}

SCENARIO(removed_and_made_again, NEED_NOTHING, "A-120 A-015")
{
	long s = get_set(key_of(1), 1, IPC_CREAT | 0600);
	struct actor *p = sleeper((int)s, 0, -1, 0);

	EQ(remove_set((int)s), 0);
	long again = get_set(key_of(1), 1, IPC_CREAT | 0600);
	IS(again != s);
	EQ(add((int)again, 0, 1), 0);
	EQ(finish(p), -EIDRM);
	EQ(value_of((int)again, 0), 1);
}

/* Served, then removed: it was served. */
SCENARIO(granted_and_removed, NEED_FIFO, "A-120 A-107")
{
	int s = new_set(1, 0600);
	struct actor *p = sleeper(s, 0, -1, 0);

	hold_cpu(&p, 1);
	EQ(add(s, 0, 1), 0);
	EQ(remove_set(s), 0);
	release_cpu();
	EQ(finish(p), 0);
}

SCENARIO(sleeper_that_lost_its_right_is_served, NEED_ROOT, "A-121 A-029")
{
	struct actor *p = new_process();
	int s = new_set(1, 0666);

	BY(p, run("become", become, NOBODY));
	START_ASLEEP(p, add(s, 0, -1));
	EQ(set_set_mode(s, 0600), 0);
	ASLEEP(p);
	EQ(add(s, 0, 1), 0);
	EQ(finish(p), 0);
	EQ(BY(p, add(s, 0, -1)), -EACCES);
	EQ(pid_of(s, 0), p->pid);
}

/* ---- killed sleepers ---- */

SCENARIO(killed_sleepers_leave_nothing, NEED_NOTHING, "A-109 A-129")
{
	int s = new_set(2, 0600);
	struct actor *p[4];

	EQ(add(s, 1, 1), 0);
	p[0] = sleeper(s, 0, -1, 0);
	p[1] = sleeper(s, 1, 0, 0);
	p[2] = SLEEPER(s, {0, -1, 0}, {1, 1, SEM_UNDO});
	p[3] = sleeper(s, 0, -1, 0);
	for (int i = 0; i < 3; i++)
		kill_actor(p[i]);
	EQ(ncnt_of(s, 0), 1);
	EQ(zcnt_of(s, 1), 0);
	EQ(add(s, 0, 1), 0);
	EQ(finish(p[3]), 0);
	EQ(add(s, 0, 1), 0);
	EQ(value_of(s, 0), 1);
	EQ(value_of(s, 1), 1);
}

SCENARIO(granted_and_killed, NEED_FIFO, "A-109 A-138")
{
	int s = new_set(1, 0600);
	struct actor *p = sleeper(s, 0, -1, 0);

	hold_cpu(&p, 1);
	EQ(add(s, 0, 1), 0);
	kill(p->pid, SIGKILL);
	release_cpu();
	kill_actor(p);
	EQ(value_of(s, 0), 0);
	EQ(pid_of(s, 0), p->pid);
}

SCENARIO(sleeping_threads_of_a_killed_process, NEED_NOTHING, "A-109 A-129")
{
	int s = new_set(1, 0600);
	struct actor *p[3];

	for (int i = 0; i < 3; i++)
		p[i] = sleeper(s, 0, -1 - i, 0);
	EQ(ncnt_of(s, 0), 3);
	kill_actor(p[1]);
	kill_actor(p[0]);
	EQ(ncnt_of(s, 0), 1);
	EQ(add(s, 0, 3), 0);
	EQ(finish(p[2]), 0);
}

/* ---- threads ---- */

SCENARIO(threads_in_order, NEED_NOTHING, "A-114 A-105")
{
	struct actor *t[6];
	int s = new_set(2, 0600);

	for (int i = 0; i < 6; i++) {
		t[i] = new_thread();
		START_ASLEEP(t[i], add(s, i % 2, -1));
	}
	EQ(ncnt_of(s, 0), 3);
	for (int i = 0; i < 6; i++) {
		EQ(add(s, i % 2, 1), 0);
		EQ(finish(t[i]), 0);
	}
	EQ(get_values(s, 2), 0);
}

SCENARIO(two_that_hand_each_other_on, NEED_NOTHING, "A-105 A-112")
{
	struct actor *p = new_process();
	int s = new_set(2, 0600);

	for (int i = 0; i < 40; i++) {
		START(p, add(s, 0, -1));
		EQ(add(s, 0, 1), 0);
		EQ(collect(p), 0);
		EQ(BY(p, add(s, 1, 1)), 0);
		EQ(add(s, 1, -1), 0);
	}
	EQ(get_values(s, 2), 0);
}
