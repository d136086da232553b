/* SPDX-License-Identifier: MIT */
/*
 * object.h - objects of any kind, as a verb needs them that treats all alike
 */
#ifndef S5_CLI_OBJECT_H
#define S5_CLI_OBJECT_H

#include <stdint.h>

struct cli_object {
	int id;
	int32_t key;
	uint32_t uid, cuid; /* owner, creator */
	uint32_t flags;	    /* S5_INFO_... */
	int32_t held_pid;   /* S5_INFO_UNLOCKED: whose lock it is, if known */
	char content[96];   /* what is in it, in words */
};

/* Functions return as those of sysfive/admin.h do. */
struct cli_kind {
	const char *name;      /* "queue" */
	const char *full_name; /* "message queue" */
	const char *list;      /* the command that lists them */
	int (*next)(uint32_t *cursor, struct cli_object *ret_object);
	int (*get)(int id, struct cli_object *ret_object);
	int (*find)(int32_t key); /* the id, or -errno */
	int (*remove)(int id);	  /* 0 or -errno */
};

extern const struct cli_kind cli_queues;
extern const struct cli_kind cli_sets;

#endif
