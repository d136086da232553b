/* SPDX-License-Identifier: MIT */
/*
 * bench.h - what the parts of `sysfive bench` share
 *
 * A *row* is a benchmark, a *side* one implementation of the calls.  The
 * supervisor (supervise.c) measures a row on a side in a process of its own,
 * the worker (worker.c), which it executes anew each time: fresh namespace,
 * fresh address space, nothing inherited.  Request and result lie in a
 * struct bench_shared, a memory file that both map.  A row may fork partners;
 * they all belong to the worker's process group, so a kill reaches them.
 */
#ifndef S5_BENCH_BENCH_H
#define S5_BENCH_BENCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/types.h>
#include <time.h>

/* Bytes of text in a message. */
#define BENCH_TEXT 64

/* Keys that a worker may use: shared.key and the next ones. */
#define BENCH_KEYS 4

enum bench_side {
	BENCH_KERNEL,
	BENCH_SYSFIVE,
	BENCH_BOOST,
	BENCH_GLIBC, /* its semaphores in shared memory */
	BENCH_SIDES,
};

struct bench_msg {
	long type;
	union {
		char text[BENCH_TEXT];
		uint64_t word[BENCH_TEXT / 8];
	};
};

/* As semctl(2) takes it. */
union bench_semun {
	int val;
	struct semid_ds *buf;
	unsigned short *array;
};

/* The calls of one side, with libc's contract: -1 and errno. */
struct bench_ops {
	int (*get)(key_t key, int flags);
	int (*snd)(int id, const void *msg, size_t size, int flags);
	ssize_t (*rcv)(int id, void *msg, size_t size, long type, int flags);
	int (*ctl)(int id, int command, struct msqid_ds *ds);
	int (*semget)(key_t key, int nsems, int flags);
	int (*semtimedop)(int id, struct sembuf *ops, size_t nops,
			  const struct timespec *timeout);
	int (*semctl)(int id, int number, int command, union bench_semun arg);
};

extern const struct bench_ops bench_kernel_ops;
extern const struct bench_ops bench_sysfive_ops;

/* Figures beside a row's main one. */
enum bench_extra {
	BENCH_P50_US, /* median latency of a message */
	BENCH_P99_US,
	BENCH_SWITCHES,	 /* context switches per 1000 messages */
	BENCH_CPU,	 /* processor time used, in CPUs */
	BENCH_BASE,	 /* the same without what is measured */
	BENCH_DELTA,	 /* median of the paired differences */
	BENCH_QUIET,	 /* 1: ran without a single system call */
	BENCH_UNTOUCHED, /* 1: shared memory was left alone */
	BENCH_SYSTEM,	 /* system time used, in CPUs */
	BENCH_SYSTEM_US, /* system time of an operation */
	BENCH_OF_10,	 /* the value with 10 waiters */
	BENCH_OF_100,	 /* and with 100 */
	BENCH_EXTRAS,
};

struct bench_result {
	bool done;
	bool skipped;
	uint64_t count; /* operations measured */
	double seconds; /* that they took */
	double value;
	bool has[BENCH_EXTRAS];
	double extra[BENCH_EXTRAS];
	char why[160]; /* it failed or was skipped */
};

/* The memory file: the request is the supervisor's, the result the worker's. */
struct bench_shared {
	uint32_t row;	/* index into the table of rows */
	uint32_t side;	/* enum bench_side */
	uint64_t count; /* operations to do; 0: find a fitting number */
	double seconds; /* aim of one measurement */
	key_t key;
	atomic_int failed;
	struct bench_result result;
};

/* What a row's function gets. */
struct bench_run {
	const struct bench_row *row;
	const struct bench_ops *ops;
	struct bench_shared *shared;
	enum bench_side side;
	bool final;	/* neither warm-up nor calibration */
	double seconds; /* aim, for rows that run by time */
	int cpu[2];	/* two CPUs, or twice the same if there is one */
	int ncpus;
};

enum bench_goal {
	BENCH_GOAL_NONE,
	BENCH_GOAL_FASTER, /* so many times the kernel's speed */
	BENCH_GOAL_TIME,   /* at most so many times the kernel's time */
	BENCH_GOAL_VALUE,  /* sysfive's value at most this */
	BENCH_GOAL_DELTA,  /* BENCH_DELTA at most this */
	BENCH_GOAL_PEER,   /* at most so many times glibc's time */
	BENCH_GOAL_SYSTEM, /* at most so many times the kernel's BENCH_SYSTEM */
	BENCH_GOAL_LINEAR, /* at most so many times its own BENCH_OF_10 */
};

enum bench_row_flags {
	BENCH_RATE = 1,	      /* more is better */
	BENCH_BY_TIME = 2,    /* runs for a time, not for a count */
	BENCH_ALONE = 4,      /* sysfive only */
	BENCH_CROSS = 8,      /* needs two CPUs */
	BENCH_EXTRA_ROW = 16, /* only if named */
	BENCH_PEERS = 32,     /* other libraries are measured, too */
	BENCH_GLIBC_TOO = 64, /* glibc's semaphores are measured, too */
};

struct bench_target {
	enum bench_goal goal;
	double value;
};

#define BENCH_TARGETS 2

struct bench_row {
	const char *name;
	const char *what;
	const char *unit;
	unsigned int flags;
	struct bench_target target[BENCH_TARGETS];
	/* Does count operations and fills ret_result; fails by bench_fail(). */
	void (*run)(struct bench_run *run, uint64_t count,
		    struct bench_result *ret_result);
	long argument; /* threads, depth: the row's own */
};

extern const struct bench_row bench_rows[];
extern const size_t bench_nrows;

/* The rows' functions. */
void bench_run_pair(struct bench_run *, uint64_t, struct bench_result *);
void bench_run_get(struct bench_run *, uint64_t, struct bench_result *);
void bench_run_create(struct bench_run *, uint64_t, struct bench_result *);
void bench_run_stream(struct bench_run *, uint64_t, struct bench_result *);
void bench_run_pingpong(struct bench_run *, uint64_t, struct bench_result *);
void bench_run_pmsg(struct bench_run *, uint64_t, struct bench_result *);
void bench_run_deep(struct bench_run *, uint64_t, struct bench_result *);
void bench_run_load(struct bench_run *, uint64_t, struct bench_result *);
void bench_run_idle(struct bench_run *, uint64_t, struct bench_result *);
void bench_run_queue(struct bench_run *, uint64_t, struct bench_result *);
void bench_run_sem_pair(struct bench_run *, uint64_t, struct bench_result *);
void bench_run_sem_zero(struct bench_run *, uint64_t, struct bench_result *);
void bench_run_sem_pingpong(struct bench_run *, uint64_t,
			    struct bench_result *);
void bench_run_sembench(struct bench_run *, uint64_t, struct bench_result *);
void bench_run_sem_bulk(struct bench_run *, uint64_t, struct bench_result *);
void bench_run_sem_release(struct bench_run *, uint64_t, struct bench_result *);
void bench_run_sem_pass(struct bench_run *, uint64_t, struct bench_result *);
void bench_run_sem_lock(struct bench_run *, uint64_t, struct bench_result *);

/* worker.c: for the rows' functions, in the worker and its partners. */

/* Notes why in the result, errno's meaning with it, and ends the whole process
 * group. */
__attribute__((noreturn, format(printf, 2, 3))) void
bench_fail(struct bench_run *run, const char *format, ...);
/* The same where errno has no part in it. */
__attribute__((noreturn, format(printf, 2, 3))) void
bench_wrong(struct bench_run *run, const char *format, ...);
/* Ends the worker; the row is left out, with the reason. */
__attribute__((noreturn)) void bench_skip(struct bench_run *run,
					  const char *why);

uint64_t bench_now_ns(void);
void bench_pin(struct bench_run *run, int cpu);
/* Makes sysfive's namespace, for those who need it before the first call. */
void bench_namespace(struct bench_run *run);
/* The queue of key number index, made anew. */
int bench_queue(struct bench_run *run, unsigned int index);
void bench_queue_remove(struct bench_run *run, int id);
void bench_send(struct bench_run *run, int id, const struct bench_msg *msg);
void bench_receive(struct bench_run *run, int id, struct bench_msg *ret_msg,
		   long type);
/* A child that dies with its parent; returns as fork() does. */
pid_t bench_fork(struct bench_run *run);
/* Waits for a child that must exit with 0. */
void bench_join(struct bench_run *run, pid_t child);
/* A page of zeroes that children share. */
void *bench_shared_page(struct bench_run *run);
/* 1 if work() runs without a system call, 0 if not, -1 if that can't be seen.
 */
int bench_is_quiet(struct bench_run *run, int id,
		   void (*work)(struct bench_run *, int id, uint64_t count));
/* Two processes or more meet here; the counter starts at 0. */
void bench_meet(atomic_int *counter, int parties);

void bench_result_rate(struct bench_result *result, uint64_t count, uint64_t ns,
		       double scale);
void bench_result_time(struct bench_result *result, uint64_t count,
		       uint64_t ns);
void bench_result_extra(struct bench_result *result, enum bench_extra extra,
			double value);
/* Context switches and processor time of a process (RUSAGE_...) so far. */
struct bench_usage {
	double switches;
	double cpu_seconds;
	double system_seconds;
};
struct bench_usage bench_usage(int who);

/* threads.c: many threads in the worker. */

/* A thread with a small stack. */
pthread_t bench_thread(struct bench_run *run, void *(*work)(void *),
		       void *argument);
void bench_sleep(double seconds);
/* Waits until each of n threads of this process sleeps in the kernel. */
void bench_await_asleep(struct bench_run *run, const pid_t *tids, int n);

/* sets.c: semaphore sets. */

/* The set of key number index, made anew, each semaphore 0. */
int bench_set(struct bench_run *run, unsigned int index, int nsems);
void bench_set_remove(struct bench_run *run, int id);
void bench_set_value(struct bench_run *run, int id, int number, int value);
/* One operation on one semaphore. */
void bench_semop(struct bench_run *run, int id, int number, int op, int flags);
/* The sleepers that wait for more, on all of the set's nsems semaphores. */
int bench_set_waiters(struct bench_run *run, int id, int nsems);

/* The worker: never returns to the verb. */
int bench_worker(int fd);

/* Runs another library's benchmark; false if it is not there. */
bool bench_peer_path(enum bench_side side, char *ret_path, size_t size);
void bench_peer(struct bench_run *run, uint64_t count,
		struct bench_result *ret_result);

/* stats.c */
int bench_compare_double(const void *a, const void *b);
/* The q-quantile of n sorted values. */
double bench_quantile(const double *sorted, size_t n, double q);

#endif
