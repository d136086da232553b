/* SPDX-License-Identifier: MIT */
/* play.h - playing one scenario, and what its exit status says. */
#ifndef S5_CONFORMANCE_PLAY_H
#define S5_CONFORMANCE_PLAY_H

/* Written to by the player, read by the runner. */
#define TRACE_FD 3

#define EXIT_FAILED  1
#define EXIT_GAVE_UP 2 /* the scenario could not be played to its end */
#define EXIT_SKIPPED 77

int play(char **args);
int act(char **args); /* what a scenario execs */

#endif
