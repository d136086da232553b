/* SPDX-License-Identifier: MIT */
/* stage.h - what the files behind scenario.h share. */
#ifndef S5_CONFORMANCE_STAGE_H
#define S5_CONFORMANCE_STAGE_H

#include <stdarg.h>

#include "play.h"
#include "scenario.h"

/* Whose turn: P0 moves IDLE to ISSUED and DONE to IDLE, the actor the rest. */
enum phase { PHASE_IDLE, PHASE_ISSUED, PHASE_CALLING, PHASE_DONE };

/* actor.c */
long direct(const struct call *call);
struct actor *current_actor(void);
struct actor *actor_at(int i);
int actor_count(void);
void perform(struct actor *a);
void start_actors(void);
void end_actors(void);

/* task.c */
char state_of(pid_t pid, pid_t tid);
void pause_briefly(void);
bool is_over(double deadline);
double deadline_in(double seconds);

/* trace.c */
void trace_open(void);
void trace(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void trace_call(const struct actor *a, bool with_call, bool with_result);
int failures(void);
void fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* name.c */
struct text {
	char s[640];
	size_t n;
};
void put(struct text *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
enum kind { QUEUE, SET, KINDS };
void name_object(enum kind kind, int id);
void put_object(struct text *t, enum kind kind, int id);
void put_key(struct text *t, key_t key);
void put_flags(struct text *t, const struct call *call);
void put_time(struct text *t, long when);
const char *command_name(int cmd);
const char *set_command_name(int cmd);
void put_perm(struct text *t, const struct ipc_perm *perm);
void remove_objects(void);

/* set_trace.c: of the calls of semaphore sets */
bool is_set_call(const struct call *c);
void put_set_call(struct text *t, const struct actor *a);
void put_set_result(struct text *t, const struct actor *a, long ret);

#endif
