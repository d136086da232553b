/* SPDX-License-Identifier: MIT */
/*
 * names.h - keys and identifiers of one kind of object
 *
 * Identifiers are Linux's: sequence * 32768 + index, index given out
 * cyclically. Guarded by header->reg_lock.
 */
#ifndef S5_REGION_NAMES_H
#define S5_REGION_NAMES_H

#include "enter.h"
#include "perm.h"

/* What the names need to know of a kind. */
struct s5__kind_ops {
	enum s5__kind kind;
	uint32_t bucket_page; /* first page of its key hash */
	/* The object at an index, or NULL if its chunk does not exist yet. */
	struct s5__ipc *(*at)(uint32_t index);
	/* Makes the chunk of that index. No lock held. */
	int (*add_chunk)(struct s5__self *self, uint32_t index);
	/* Limit on the number of objects. */
	uint32_t (*limit)(void);
	/* 0, or the error for an existing object that does not suit. */
	int (*suits)(const struct s5__ipc *ipc, const void *arg);
	/* Fills a free object; not yet visible, nothing needs logging. */
	void (*init)(uint32_t index, const void *arg);
	/* 0, or the error that a new object gets, before the limit's. */
	int (*may_create)(const void *arg);
	/* Parts that the object has, counted in names->parts. */
	uint32_t (*parts)(uint32_t index);
	/* Logs the word which makes it visible, and then stores it. */
	void (*publish_log)(struct s5__self *self, uint32_t index);
	void (*publish)(uint32_t index, uint32_t id);
	void (*dismantle)(struct s5__self *self, uint32_t index);
};

/* msgget and its kin: an id, or -errno. */
int s5__names_get(struct s5__self *self, const struct s5__kind_ops *ops,
		  int32_t key, int flags, const void *arg);

/* Ends the removal of a DYING object that was `dying`: its key and index
 * become free. 0, or as s5__lock(). */
int s5__names_remove(struct s5__self *self, const struct s5__kind_ops *ops,
		     uint32_t index, uint32_t dying);

/* The id that the next object of a kind gets, or -1. Not for calls
 * that hold a lock. Choosing: 0, or as s5__enter(). */
S5__SHARED int32_t s5__names_next_id(enum s5__kind kind);
S5__SHARED int s5__names_choose(enum s5__kind kind, int32_t id);

/* Takes the key from an object of that id, so that another one can have it, and
 * sets *mark to 1. Nothing, if the object is gone. 0, or as s5__lock(). */
int s5__names_disown(struct s5__self *self, const struct s5__kind_ops *ops,
		     int id, uint32_t *mark);

#endif
