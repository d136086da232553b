/* SPDX-License-Identifier: MIT */
/*
 * world.h - the two worlds of the differential test: the same workers twice,
 * one lot calling the kernel, the other libc's names, and for each step the
 * same request to both.
 */
#ifndef S5_CONFORMANCE_WORLD_H
#define S5_CONFORMANCE_WORLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/types.h>

#include "backend.h"

#define WORLDS	   2
#define WORKERS	   5
#define BUFFER_MAX 16384
#define NSEMS_MAX  4
#define NSOPS_MAX  6

enum request_kind {
	REQ_GET,
	REQ_SND,
	REQ_RCV,
	REQ_CTL,
	REQ_EUID,
	REQ_SEMGET,
	REQ_SEMOP,
	REQ_SEMCTL,
};

/* Whose call it is; none but the worker itself may have to wait in it. */
enum operator{
	BY_WORKER,
	BY_FORK,
	BY_VFORK,
	BY_THREAD,
};

/* Of one semop or, if there is a limit, semtimedop. */
struct operations {
	enum operator by;
	struct sembuf list[NSOPS_MAX];
	size_t n;
	bool has_limit;
	struct timespec limit;
};

struct request {
	enum request_kind kind;
	int id; /* of the object in its world; the key of REQ_GET */
	int cmd, flags;
	long type;
	size_t size;
	bool bad_pointer;
	uid_t uid;
	int num; /* of the semaphore; how many, for REQ_SEMGET */
	struct operations operations;
	union set_data {
		long value;
		unsigned short values[NSEMS_MAX];
		struct semid_ds ds;
	} set;
};

struct reply {
	long ret;
	long type; /* of a message received */
	uint32_t hash;
	bool is_spilt; /* bytes behind the message were written */
	union {
		struct msqid_ds ds;
		struct msginfo info;
		union set_data set;
		struct seminfo seminfo;
	} u;
};

void open_worlds(bool kernel_twice);
/* A msgctl by the test itself. */
long control(int world, int id, int cmd, struct msqid_ds *ds);
long control_set(int world, int id, int num, int cmd, void *arg);
bool have_private_worlds(void);
/* Asked once, at the end: no object was made in its kernel namespace. */
bool second_world_is_not_kernel(void);
void start_workers(void);
void end_workers(void);
const struct backend *backend_of(int world);

/* What IPC_SET is to carry lies in `ds` until the reply. */
void request(int worker, const struct request per_world[WORLDS],
	     const struct msqid_ds *ds);
bool is_busy(int worker); /* asked, and its reply not yet taken */
/*
 * Waits until each worker in its call has returned or sleeps, and the same
 * have returned in both worlds; false if that does not come about.
 */
bool settle(void);
/* Waits until this one has returned in both worlds. */
bool await_return(int worker);
/* As settle(), but who has returned may differ. */
bool settle_apart(void);
bool has_returned(int world, int worker);
/* Takes the reply; the worker is idle again. */
void take_reply(int world, int worker, struct reply *ret_reply);
void signal_worker(int worker, int sig);
void kill_worker(int worker);
/* A pid of this world as worker * 1000 + incarnation; 0, or -1 if unknown. */
int role_of_pid(int world, pid_t pid);
/* What every worker does and in which state, for a report. */
void print_workers(void);

#endif
