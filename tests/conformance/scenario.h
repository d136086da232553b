/* SPDX-License-Identifier: MIT */
/*
 * scenario.h - what a scenario is written with.
 *
 * A scenario is a function that plays in its own process, P0, and directs
 * actors: processes P1, P2 ... and threads T1, T2 ... of P0.  Every call that
 * P0 or an actor makes becomes a line of the trace, and only P0 writes it, so
 * the trace has one order.  The runner plays a scenario once per back end and
 * compares the traces; the EQ() lines check what each world promises, the
 * kernel's own included.  README.md here says how to write one.
 *
 * Calls return the call's value, or -errno.
 */
#ifndef S5_CONFORMANCE_SCENARIO_H
#define S5_CONFORMANCE_SCENARIO_H

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/types.h>
#include <time.h>

#include "backend.h"

#ifndef MSG_COPY
#define MSG_COPY 040000
#endif
#ifndef MSG_STAT_ANY
#define MSG_STAT_ANY 13
#endif

/* Which meson suite a file's scenarios belong to: 2, or what it says. */
#ifndef SUITE
#define SUITE 2
#endif

#define BODY_MAX   (128 * 1024)
#define OPS_MAX	   1024
#define VALUES_MAX 32768
#define ACTORS_MAX 48
#define INDEX_BITS 15
#define NOBODY	   65534

enum need {
	NEED_NOTHING = 0,
	NEED_ROOT = 1,	   /* become other users */
	NEED_PRIVATE = 2,  /* an IPC namespace of one's own */
	NEED_FIFO = 4,	   /* SCHED_FIFO, to keep others off the processor */
	NEED_RESOURCE = 8, /* CAP_SYS_RESOURCE */
	NEED_LIMITS = 16,  /* change the namespace's limits */
};

struct scenario {
	const char *name, *items, *file;
	unsigned needs;
	int suite;
	void (*play)(void);
	struct scenario *next;
};

void add_scenario(struct scenario *s);

/* SCENARIO(name, needs, "A-001 A-002") { ... } */
#define SCENARIO(id, need_mask, item_list)                                  \
	static void id(void);                                               \
	__attribute__((constructor)) static void add_##id(void)             \
	{                                                                   \
		static struct scenario s = {#id,       item_list, __FILE__, \
					    need_mask, SUITE,	  id,       \
					    NULL};                          \
		add_scenario(&s);                                           \
	}                                                                   \
	static void id(void)

/* ---- actors ---- */

enum call_op {
	CALL_GET,
	CALL_SND,
	CALL_RCV,
	CALL_CTL,
	CALL_RUN,
	CALL_SEMGET,
	CALL_SEMOP,
	CALL_SEMTIMEDOP,
	CALL_SEMCTL,
};

struct call {
	enum call_op op;
	int id; /* of the queue or set; the key of CALL_GET, CALL_SEMGET */
	int flags;
	int cmd;
	int num; /* semnum or nsems */
	long type;
	size_t size; /* or nsops */
	void *user;  /* the pointer that the call is given */
	const struct timespec *timeout;
	const char *name;
	long (*fn)(long arg);
	long arg; /* of fn; of SETVAL */
};

struct message {
	long type;
	char body[BODY_MAX];
};

struct actor {
	char name[8];
	pid_t pid, tid;
	pthread_t thread;
	bool is_thread, is_alive;
	int bell[2];
	_Atomic int phase;
	_Atomic int hits; /* runs of the signal handler */
	struct call call;
	long ret;
	union {
		struct message message;
		struct msqid_ds ds;
		struct msginfo info;
		struct sembuf ops[OPS_MAX];
		unsigned short values[VALUES_MAX];
		struct semid_ds set;
		struct seminfo seminfo;
	} buf __attribute__((aligned(4096)));
	struct timespec timeout;
};

struct actor *new_process(void);
struct actor *new_thread(void);
struct actor *self(void); /* P0 */

/* BY(actor, call) has the actor make the call and returns its value. */
#define BY(actor_, expr)             \
	({                           \
		cast(actor_, false); \
		long by_ = (expr);   \
		cast(NULL, false);   \
		by_;                 \
	})
/* START(actor, call) only begins it: ASLEEP(), FINISH() come later. */
#define START(actor_, expr)         \
	do {                        \
		cast(actor_, true); \
		(void)(expr);       \
		cast(NULL, false);  \
	} while (0)
#define ASLEEP(a) assert_asleep(a, __FILE__, __LINE__)
#define START_ASLEEP(a, expr)   \
	do {                    \
		START(a, expr); \
		ASLEEP(a);      \
	} while (0)

void cast(struct actor *a, bool start_only);
void assert_asleep(struct actor *a, const char *file, int line);
bool is_asleep(struct actor *a); /* waits until it is, or has returned */
long finish(struct actor *a);	 /* the started call's value */
long collect(struct actor *a);	 /* the same, not in the trace */
int finish_one_of(struct actor *const *list, int n, long *ret_value);
unsigned long sleeps_of(const struct actor *a);

void send_signal(struct actor *a, int sig);
void stop(struct actor *a);
void resume(struct actor *a);
void kill_actor(struct actor *a); /* SIGKILL, and it is reaped */
void cancel(struct actor *a);	  /* pthread_cancel(), and it is joined */
void join(struct actor *a);	  /* a thread that is about to end */
void await_end(struct actor *a);  /* a process likewise: it is reaped */
void hold_cpu(struct actor *const *list, int n); /* they run after... */
void release_cpu(void);				 /* ...this only */
void next_second(void);

/* ---- recorded calls ---- */

long get(key_t key, int flags);
long snd(int q, long type, const char *text, int flags);
long snd_sized(int q, long type, size_t size, int flags);
long snd_from(int q, const void *msg, size_t size, int flags);
long rcv(int q, size_t size, long type, int flags);
long rcv_into(int q, void *msg, size_t size, long type, int flags);
long ctl(int q, int cmd, void *arg);
long ctl_stat(int q, int cmd, struct msqid_ds *ret_ds);
long ctl_info(int cmd, struct msginfo *ret_info);
long set(int q, const struct msqid_ds *ds);
long rmid(int q);
long run(const char *name, long (*fn)(long), long arg);

/* Short forms, of P0's own calls. */
int new_queue(int mode);
struct msqid_ds stat_of(int q);
struct msqid_ds peek(int q); /* the same, not in the trace */
long set_qbytes(int q, unsigned long qbytes);
long set_mode(int q, int mode);

/* What the last finished msgrcv of an actor (NULL: P0) brought. */
long got_type(const struct actor *a);
const char *got_text(const struct actor *a);

/* Things an actor can be made to run(). */
long become(long uid);	       /* for good, gid likewise, no groups */
long take_euid(long uid);      /* effective uid only */
long take_egid(long gid);      /* effective gid only */
long take_group(long gid);     /* one supplementary group */
long keep_only_cap(long cap);  /* uid nobody, with one capability */
long drop_caps(long arg);      /* the same uid, with none */
long handle(long sig);	       /* a handler that counts */
long handle_restart(long sig); /* the same with SA_RESTART */
long ignore(long sig);

/* ---- memory to be wrong with ---- */
void *unmapped(void);		      /* no page there */
void *read_only(void);		      /* a readable page, holding type 1 */
void *at_page_end(size_t bytes_left); /* then comes no page */

/* ---- names, notes, checks ---- */
key_t key_of(int n);
void set_limit(const char *name, long value); /* msgmax ... semmni */
bool on_kernel(void);
void use_libc_names(void); /* where raw calls can't do, as with cancelling */
void use_numbers(void);	   /* libc's syscall() instead of its names */
const struct backend *backend(void);
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
const char *role_of(pid_t pid);
const char *error_name(long value);

void check_eq(long got, long want, const char *what, const char *file,
	      int line);
void differs(const char *item, const char *what, long got, long on_kernel,
	     long on_sysfive, const char *file, int line);
#define EQ(got, want) \
	check_eq((long)(got), (long)(want), #got, __FILE__, __LINE__)
#define IS(cond) check_eq((cond) ? 1 : 0, 1, #cond, __FILE__, __LINE__)
/* A documented difference; differs.list has the reason. */
#define EXPECT_DIFFERS(item, got, on_kernel_, on_sysfive_)   \
	differs(item, #got, (long)(got), (long)(on_kernel_), \
		(long)(on_sysfive_), __FILE__, __LINE__)
void give_up(const char *fmt, ...)
	__attribute__((format(printf, 1, 2), noreturn));

/* ---- for the runner ---- */
const char *missing(unsigned needs, bool private_ns); /* NULL, or what */
void open_stage(const struct backend *b, bool sysfive);
int close_stage(void); /* the exit status */
extern struct scenario *all_scenarios;

#endif
