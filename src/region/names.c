/* SPDX-License-Identifier: MIT */
/*
 * names.c - keys and identifiers of one kind of object
 *
 * Lock: header->reg_lock. One transaction makes an object, one removes it.
 */
#include "names.h"

#include <errno.h>
#include <sys/ipc.h>

#define MIN_CYCLE 64u
#define TRIES	  200 /* of msgget: each meets another obstacle */
#define SEQ_MAX	  ((uint32_t)INT32_MAX >> S5__IPC_SHIFT)

static uint32_t *bucket_of(const struct s5__kind_ops *ops, int32_t key)
{
	uint32_t hash = (uint32_t)key * 2654435761u;

	return (uint32_t *)(void *)(s5__arena.base +
				    ops->bucket_page * S5__PAGE) +
	       (hash >> 20) % S5__KEY_BUCKET;
}

/* The index + 1 that has this key, or 0. *ret_link is what leads to it. */
static uint32_t find_key(const struct s5__kind_ops *ops, int32_t key,
			 uint32_t **ret_link)
{
	uint32_t *link = bucket_of(ops, key);

	for (uint32_t n = 0; n < S5__IPC_MNI && *link; n++) {
		uint32_t at = *link;
		struct s5__ipc *ipc = ops->at(at - 1);

		if (!ipc)
			break;
		if (ipc->key == key && ipc->phase != S5__PHASE_FREE) {
			*ret_link = link;
			return at;
		}
		link = &ipc->key_next;
	}
	return 0;
}

/* The next free index by the kernel's rule; -ENOSPC, or -EAGAIN with
 * *ret_index the first of a chunk that does not exist. */
static int find_index(const struct s5__kind_ops *ops,
		      const struct s5__names *names, uint32_t *ret_index)
{
	uint32_t end = names->in_use / 2 * 3 + names->in_use % 2;
	uint32_t from = names->next;

	if (end < MIN_CYCLE)
		end = MIN_CYCLE;
	if (end > S5__IPC_MNI)
		end = S5__IPC_MNI;
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = from; i < end; i++) {
			struct s5__ipc *ipc = ops->at(i);

			*ret_index = i;
			if (!ipc)
				return -EAGAIN;
			if (ipc->phase == S5__PHASE_FREE)
				return 0;
		}
		if (from < end)
			end = from;
		from = 0;
	}
	return -ENOSPC;
}

/* The id that was chosen for the next object, or -1. */
static int32_t chosen_id(struct s5__names *names)
{
	uint32_t at = s5__a32_load_rlx(&names->next_id);

	return at - 1 > INT32_MAX ? -1 : (int32_t)(at - 1);
}

/* The first free index from that of a chosen id on; errors as find_index(). */
static int find_chosen(const struct s5__kind_ops *ops,
		       const struct s5__names *names, uint32_t id,
		       uint32_t *ret_index)
{
	(void)names;
	for (uint32_t i = id % S5__IPC_MNI; i < S5__IPC_MNI; i++) {
		struct s5__ipc *ipc = ops->at(i);

		*ret_index = i;
		if (!ipc)
			return -EAGAIN;
		if (ipc->phase == S5__PHASE_FREE)
			return 0;
	}
	return -ENOSPC;
}

/* A chosen id is used up, and the round of indexes goes on where it was. */
static void give(struct s5__names *names, bool is_chosen, uint32_t index,
		 uint32_t seq)
{
	names->in_use++;
	if (is_chosen) {
		s5__a32_store_rlx(&names->next_id, 0);
		return;
	}
	names->next = index + 1;
	names->last = index + 1;
	names->seq = seq;
}

static int create(struct s5__self *self, const struct s5__kind_ops *ops,
		  int32_t key, int flags, uint32_t index, const void *arg)
{
	struct s5__names *names = &s5__header()->names[ops->kind];
	struct s5__ipc *ipc = ops->at(index);
	uint32_t *bucket = key == IPC_PRIVATE ? NULL : bucket_of(ops, key);
	int32_t chosen = chosen_id(names);
	uint32_t seq = names->seq;
	uint32_t parts;

	if (!ipc)
		return -ENOSPC; /* the directory was damaged meanwhile */
	if (chosen >= 0)
		seq = (uint32_t)chosen >> S5__IPC_SHIFT;
	else if (index + 1 <= names->last && ++seq >= SEQ_MAX)
		seq = 0;
	ipc->key = key;
	ipc->key_next = bucket ? *bucket : 0;
	ipc->seq = seq;
	ipc->ctime = s5__now_s();
	ipc->dying = 0;
	s5__a32_store_rlx(&ipc->uid, s5__perm_euid());
	s5__a32_store_rlx(&ipc->cuid, s5__perm_euid());
	s5__a32_store_rlx(&ipc->gid, s5__perm_egid());
	s5__a32_store_rlx(&ipc->cgid, s5__perm_egid());
	s5__a32_store_rlx(&ipc->mode, (uint32_t)flags & 0777u);
	ops->init(index, arg);
	parts = ops->parts ? ops->parts(index) : 0;

	s5__tx_log64(self, &names->in_use);
	s5__tx_log64(self, &names->last);
	s5__tx_log32(self, &names->parts);
	s5__tx_log32(self, s5__a32_raw(&names->next_id));
	s5__tx_log32(self, &ipc->phase);
	if (bucket)
		s5__tx_log32(self, bucket);
	ops->publish_log(self, index);
	s5__tx_arm(self);
	names->parts += parts;
	give(names, chosen >= 0, index, seq);
	ipc->phase = S5__PHASE_LIVE;
	S5_CRASH_POINT("names-create");
	if (bucket)
		*bucket = index + 1;
	ops->publish(index, seq << S5__IPC_SHIFT | index);
	s5__tx_commit(self);
	return (int)(seq << S5__IPC_SHIFT | index);
}

/* An existing object of that key: its id, or the error. */
static int use(const struct s5__kind_ops *ops, uint32_t index, int flags,
	       const void *arg)
{
	struct s5__ipc *ipc = ops->at(index);
	uint32_t want = ((uint32_t)flags >> 6 | (uint32_t)flags >> 3 |
			 (uint32_t)flags) &
			7u;
	int err;

	if ((flags & IPC_CREAT) && (flags & IPC_EXCL))
		return -EEXIST;
	if (!ipc)
		return -ENOENT; /* damaged meanwhile */
	err = ops->suits ? ops->suits(ipc, arg) : 0;
	if (err == 0)
		err = s5__perm_check(ipc, want);
	return err ? err : (int)(ipc->seq << S5__IPC_SHIFT | index);
}

/* One try under the lock. -EAGAIN: a chunk is missing, or an object is DYING,
 * at *ret_index. */
static int get_once(struct s5__self *self, const struct s5__kind_ops *ops,
		    int32_t key, int flags, const void *arg,
		    uint32_t *ret_index, bool *ret_dying)
{
	struct s5__names *names = &s5__header()->names[ops->kind];
	uint32_t *link;
	int32_t chosen;
	int err;

	if (key != IPC_PRIVATE) {
		uint32_t at = find_key(ops, key, &link);

		if (at) {
			const struct s5__ipc *ipc = ops->at(at - 1);

			*ret_index = at - 1;
			*ret_dying = ipc && ipc->phase != S5__PHASE_LIVE;
			return *ret_dying ? -EAGAIN
					  : use(ops, at - 1, flags, arg);
		}
		if (!(flags & IPC_CREAT))
			return -ENOENT;
	}
	err = ops->may_create ? ops->may_create(arg) : 0;
	if (err)
		return err;
	if (names->in_use >= ops->limit())
		return -ENOSPC;
	chosen = chosen_id(names);
	err = chosen >= 0 ? find_chosen(ops, names, (uint32_t)chosen, ret_index)
			  : find_index(ops, names, ret_index);
	return err ? err : create(self, ops, key, flags, *ret_index, arg);
}

int s5__names_get(struct s5__self *self, const struct s5__kind_ops *ops,
		  int32_t key, int flags, const void *arg)
{
	struct s5__a32 *lock = &s5__header()->reg_lock;

	for (int tries = 0; tries < TRIES; tries++) {
		uint32_t index = 0;
		bool dying = false;
		int ret = s5__lock(self, lock);

		if (ret == -EAGAIN) {
			(void)s5__lock_wait(self); /* get has no EINTR */
			tries = 0;
			continue;
		}
		if (ret)
			return ret;
		ret = get_once(self, ops, key, flags, arg, &index, &dying);
		s5__unlock(self, lock);
		if (ret != -EAGAIN)
			return ret;
		if (dying) {
			ops->dismantle(self, index);
			continue;
		}
		ret = ops->add_chunk(self, index);
		if (ret == -EAGAIN)
			(void)s5__lock_wait(self);
		else if (ret || !ops->at(index))
			return -ENOSPC;
	}
	return -ENOSPC; /* damaged: what is in the way does not go away */
}

int s5__names_remove(struct s5__self *self, const struct s5__kind_ops *ops,
		     uint32_t index, uint32_t dying)
{
	struct s5__names *names = &s5__header()->names[ops->kind];
	struct s5__ipc *ipc = ops->at(index);
	uint32_t *link = NULL;
	int err = s5__lock(self, &s5__header()->reg_lock);

	if (err)
		return err;
	if (ipc && ipc->phase == S5__PHASE_DYING && ipc->dying == dying) {
		if (ipc->key != IPC_PRIVATE &&
		    find_key(ops, ipc->key, &link) != index + 1)
			link = NULL;
		if (link)
			s5__tx_log32(self, link);
		s5__tx_log32(self, &ipc->phase);
		s5__tx_log32(self, &names->in_use);
		s5__tx_log32(self, &names->parts);
		s5__tx_arm(self);
		if (link)
			*link = ipc->key_next;
		S5_CRASH_POINT("names-remove");
		ipc->phase = S5__PHASE_FREE;
		names->in_use--;
		names->parts -= ops->parts ? ops->parts(index) : 0;
		s5__tx_commit(self);
	}
	s5__unlock(self, &s5__header()->reg_lock);
	return 0;
}

int32_t s5__names_next_id(enum s5__kind kind)
{
	return s5__arena.base ? chosen_id(&s5__header()->names[kind]) : -1;
}

int s5__names_choose(enum s5__kind kind, int32_t id)
{
	struct s5__self *self;
	int err = s5__enter(&self, true);

	if (err)
		return err;
	if (s5__lock_firmly(self, &s5__header()->reg_lock)) {
		s5__a32_store_rlx(&s5__header()->names[kind].next_id,
				  (uint32_t)id + 1);
		s5__unlock(self, &s5__header()->reg_lock);
	} else {
		err = -EINTR;
	}
	s5__leave(self);
	return err;
}

int s5__names_disown(struct s5__self *self, const struct s5__kind_ops *ops,
		     int id, uint32_t *mark)
{
	uint32_t index = (uint32_t)id % S5__IPC_MNI;
	struct s5__ipc *ipc = ops->at(index);
	uint32_t *link = NULL;
	int err = s5__lock(self, &s5__header()->reg_lock);

	if (err)
		return err;
	if (ipc && ipc->phase == S5__PHASE_LIVE &&
	    ipc->seq == (uint32_t)id >> S5__IPC_SHIFT && *mark == 0) {
		if (ipc->key != IPC_PRIVATE &&
		    find_key(ops, ipc->key, &link) != index + 1)
			link = NULL;
		if (link)
			s5__tx_log32(self, link);
		s5__tx_log32(self, (const uint32_t *)&ipc->key);
		s5__tx_log32(self, mark);
		s5__tx_arm(self);
		if (link)
			*link = ipc->key_next;
		S5_CRASH_POINT("names-disown");
		ipc->key = IPC_PRIVATE;
		*mark = 1;
		s5__tx_commit(self);
	}
	s5__unlock(self, &s5__header()->reg_lock);
	return 0;
}
