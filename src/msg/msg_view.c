/* SPDX-License-Identifier: MIT */
/*
 * msg_view.c - reading queues and who waits at them, for display
 *
 * Owns nothing. One entry at a time is copied under its queue's lock to a local
 * record, and only then to the caller's memory. The waiters are found in the
 * thread slots, not in the queue's lists: that is one bounded loop, whatever a
 * member has written there. A lock whose owner is stopped is not waited for.
 */
#include "../../include/sysfive/admin.h"
#include "msgq.h"
#include "room.h"

#include <string.h>

/* A lock is given up after 20 ms; the owner may just have lost its CPU. */
#define LOCK_TRIES 4

static bool lock_for_view(struct s5__self *self, struct s5__msgq *q)
{
	int err = -EAGAIN;

	for (int i = 0; err == -EAGAIN && i < LOCK_TRIES; i++)
		err = s5__lock(self, &q->lock);
	return err == 0;
}

static void fill_queue(const struct s5__msgq *q, struct s5_msgq_info *info)
{
	info->key = q->ipc.key;
	info->uid = s5__a32_load_rlx(&q->ipc.uid);
	info->gid = s5__a32_load_rlx(&q->ipc.gid);
	info->cuid = s5__a32_load_rlx(&q->ipc.cuid);
	info->cgid = s5__a32_load_rlx(&q->ipc.cgid);
	info->mode = s5__a32_load_rlx(&q->ipc.mode) & 0777u;
	info->lspid = (int32_t)q->lspid;
	info->lrpid = (int32_t)q->lrpid;
	info->senders = q->n_send;
	info->receivers = q->n_recv;
	info->qnum = q->qnum;
	info->cbytes = q->cbytes;
	info->qbytes = q->qbytes;
	info->stime = q->stime;
	info->rtime = q->rtime;
	info->ctime = q->ipc.ctime;
	if (s5__perm_owner(&q->ipc) == 0)
		info->flags |= S5_INFO_CONTROL;
}

/* 0, or -EINVAL if there is no queue of that id now. */
static int read_queue(struct s5__self *self, int id, struct s5_msgq_info *info)
{
	struct s5__msgq *q = s5__msgq_find(id);
	bool locked;
	int err = 0;

	if (!q)
		return -EINVAL;
	memset(info, 0, sizeof(*info));
	info->msqid = id;
	if (s5__hint(&q->handed_to))
		(void)s5__msgq_recall(self, q); /* as IPC_STAT counts it */
	locked = lock_for_view(self, q);
	if (!locked) {
		struct s5__slot *owner =
			s5__slot_at(S5__TOKEN_IDX(s5__a32_load_rlx(&q->lock)));

		info->flags |= S5_INFO_UNLOCKED;
		info->held_pid = owner ? (int32_t)owner->pid : 0;
	}
	/* relaxed: the lock orders it, if we have it */
	if (s5__a32_load_rlx(&q->id) == (uint32_t)id + 1)
		fill_queue(q, info);
	else
		err = -EINVAL;
	if (locked)
		s5__unlock(self, &q->lock);
	return err;
}

/* The id of the queue at an index, or -1. What a dead remover did not commit
 * still has its name: s5__msgq_find() looks closer. */
static int id_at(uint32_t index)
{
	struct s5__msgq *q = s5__msgq_at(index);
	uint32_t at;

	if (!q)
		return -1;
	at = s5__a32_load_acq(&q->id); /* PAIR queue-id: acquire */
	if (at == 0)
		at = *(const volatile uint32_t *)&q->ipc.dying;
	if (at == 0 || at - 1 > INT32_MAX || (at - 1) % S5__IPC_MNI != index)
		return -1;
	return (int)(at - 1);
}

static int enter(struct s5__self **ret_self)
{
	int err = s5__enter(ret_self, false);

	return err == -EACCES ? -EINVAL : err;
}

int s5__msgq_info_next(uint32_t *cursor, struct s5_msgq_info *ret_info)
{
	struct s5_msgq_info info;
	struct s5__self *self;
	uint32_t i = *cursor;
	int found = 0;
	int err = enter(&self);

	if (err)
		return err;
	for (; !found && i < S5__IPC_MNI; i++) {
		int id;

		if (!s5__msgq_at(i)) {
			i |= (uint32_t)S5__MSGQ_CHUNK - 1;
			continue;
		}
		id = id_at(i);
		found = id >= 0 && read_queue(self, id, &info) == 0;
	}
	s5__leave(self);
	*cursor = i;
	if (found)
		*ret_info = info;
	return found;
}

int s5__msgq_info_get(int id, struct s5_msgq_info *ret_info)
{
	struct s5_msgq_info info;
	struct s5__self *self;
	int err = enter(&self);

	if (err)
		return err;
	err = read_queue(self, id, &info);
	s5__leave(self);
	if (err == 0)
		*ret_info = info;
	return err;
}

/* --- waiters -------------------------------------------------------------- */

/* What the slot's thread waits for; false if it does not wait at that queue. */
static bool fill_waiter(const struct s5__slot *w, int id,
			struct s5_waiter_info *info)
{
	static const enum s5_wait_for what[] = {
		[S5__SELECT_ANY] = S5_WAIT_ANY,
		[S5__SELECT_TYPE] = S5_WAIT_TYPE,
		[S5__SELECT_EXCEPT] = S5_WAIT_EXCEPT,
		[S5__SELECT_UPTO] = S5_WAIT_UPTO,
	};
	uint32_t kind = w->wait_kind;
	uint32_t select = w->wait_flags;

	/* PAIR slot-word: acquire */
	if (kind == S5__WAIT_NONE || kind > S5__WAIT_RECV_TYPE ||
	    w->wait_id != (uint32_t)id + 1 ||
	    (s5__a32_load_acq(&w->word) & FUTEX_OWNER_DIED))
		return false;
	info->pid = (int32_t)w->pid;
	info->tid = (int32_t)w->tid;
	info->pid_ns = w->pid_ns;
	info->euid = w->euid;
	info->size = w->wait_size;
	info->since = w->wait_since;
	info->order = w->wait_order;
	if (kind == S5__WAIT_SEND) {
		const struct s5__message *m = s5__message_at(w->hand);

		info->what = S5_WAIT_SEND;
		info->type = m ? m->type : 0;
		return true;
	}
	if (select >= sizeof(what) / sizeof(what[0]))
		return false;
	info->what = what[select];
	info->type = w->wait_type;
	if (select == S5__SELECT_UPTO)
		info->type = info->type < -INT64_MAX ? INT64_MAX : -info->type;
	return true;
}

static bool read_waiter(struct s5__self *self, const struct s5__slot *w, int id,
			struct s5_waiter_info *info)
{
	struct s5__msgq *q = s5__msgq_find(id);
	bool locked, found;

	if (!q)
		return false;
	memset(info, 0, sizeof(*info));
	info->msqid = id;
	locked = lock_for_view(self, q);
	if (!locked)
		info->flags |= S5_INFO_UNLOCKED;
	found = fill_waiter(w, id, info);
	if (locked)
		s5__unlock(self, &q->lock);
	return found;
}

/* The id of the queue that the slot seems to wait at, or -1. No lock. */
static int waits_at(const struct s5__slot *w)
{
	uint32_t at = *(const volatile uint32_t *)&w->wait_id;

	if (*(const volatile uint32_t *)&w->wait_kind == S5__WAIT_NONE ||
	    at == 0 || at - 1 > INT32_MAX)
		return -1;
	return (int)(at - 1);
}

int s5__msgq_waiter_next(uint32_t *cursor, int id,
			 struct s5_waiter_info *ret_info)
{
	struct s5_waiter_info info;
	struct s5__self *self;
	uint32_t i = *cursor;
	int found = 0;
	int err = enter(&self);
	uint32_t most;

	if (err)
		return err;
	/* PAIR dir: acquire */
	most = s5__a32_load_acq(&s5__header()->slot_chunks);
	most = most < S5__SLOT_CHUNK ? most * 8u : S5__SLOTS_MAX;
	for (; !found && i < most; i++) {
		const struct s5__slot *w = s5__slot_at(i);
		int at = w ? waits_at(w) : -1;

		if (at < 0 || i == self->idx || (id >= 0 && at != id))
			continue;
		found = read_waiter(self, w, at, &info);
	}
	s5__leave(self);
	*cursor = i;
	if (found)
		*ret_info = info;
	return found;
}
