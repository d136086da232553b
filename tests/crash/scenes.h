/* SPDX-License-Identifier: MIT */
/*
 * scenes.h - what a victim does when it is killed
 */
#ifndef S5_TESTS_SCENES_H
#define S5_TESTS_SCENES_H

#include <sys/types.h>

/*
 * struct scene - one way to use the library
 * The leader calls setup(), and lets the victim do act(). The leader does
 * during() while the victim runs, if that needs a partner. after() looks at
 * what is particular to the scene before the leader removes the queue.
 */
struct scene {
	const char *name;
	void (*setup)(void);
	void (*act)(void);
	void (*during)(pid_t victim);
	void (*after)(void);
	int is_slow; /* where nobody settles, waiters look after a second */
};

extern const struct scene scenes[];
extern const int scene_count;

/* A child does act() and is killed at its `visit`th visit of the point. */
void kill_at(const char *point, unsigned visit, void (*act)(void));

/* Waits until the process waits in a list, or is dead; whether it waits. */
int until_waiting_or_dead(pid_t pid);

#endif
