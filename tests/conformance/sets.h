/* SPDX-License-Identifier: MIT */
/* sets.h - what a scenario about semaphore sets is written with. */
#ifndef S5_CONFORMANCE_SETS_H
#define S5_CONFORMANCE_SETS_H

#include "scenario.h"

#define SEMVMX 32767
#define SEMMSL 32000
#define SEMOPM 500

/* ---- recorded calls, by P0 or BY() an actor ---- */

long get_set(key_t key, int nsems, int flags);
/* The operations are copied to where an actor can read them. */
long op_from(int set, const void *sops, size_t nsops);
long op_copied(int set, const struct sembuf *sops, size_t nsops);
long timed_copied(int set, const struct timespec *timeout,
		  const struct sembuf *sops, size_t nsops);
long timed_from(int set, const void *timeout, const void *sops, size_t nsops);
#define OPS_ARE(...)                                      \
	((const struct sembuf[]){__VA_ARGS__}),           \
		(sizeof((struct sembuf[]){__VA_ARGS__}) / \
		 sizeof(struct sembuf))
/* OP(set, {num, op, flags}, ...) */
#define OP(set, ...) op_copied(set, OPS_ARE(__VA_ARGS__))
/* TIMED(set, timeout or NULL, {num, op, flags}, ...) */
#define TIMED(set, timeout, ...) \
	timed_copied(set, timeout, OPS_ARE(__VA_ARGS__))
#define IN(seconds, nanoseconds) \
	(&(const struct timespec){seconds, nanoseconds})
long add(int set, int num, int delta); /* one operation, no flags */

long set_ctl(int set, int num, int cmd, void *arg);
long value_of(int set, int num);
long pid_of(int set, int num);
long ncnt_of(int set, int num);
long zcnt_of(int set, int num);
long set_value(int set, int num, long value);
long set_values(int set, const unsigned short *values, int n);
#define SET_ALL(set, ...)                                      \
	set_values(set, (const unsigned short[]){__VA_ARGS__}, \
		   (int)(sizeof((unsigned short[]){__VA_ARGS__}) / 2))
long get_values(int set, int n); /* for `n` values to be shown */
long set_stat(int set, int cmd, struct semid_ds *ret_ds);
long set_info(int cmd, struct seminfo *ret_info);
long set_set(int set, const struct semid_ds *ds);
long remove_set(int set);

/* ---- short forms ---- */

int new_set(int nsems, int mode); /* by P0 */
struct semid_ds set_stat_of(int set);
struct semid_ds peek_set(int set); /* the same, not in the trace */
long peek_value(int set, int num);
long set_set_mode(int set, int mode);
unsigned short got_value(int num); /* of P0's last GETALL */

/* An actor that sleeps in the call. */
struct actor *sleeper(int set, int num, int delta, int flags);
#define SLEEPER(set, ...)                                     \
	({                                                    \
		struct actor *sleeper_ = new_process();       \
		START_ASLEEP(sleeper_, OP(set, __VA_ARGS__)); \
		sleeper_;                                     \
	})

#endif
