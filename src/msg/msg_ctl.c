/* SPDX-License-Identifier: MIT */
/*
 * msg_ctl.c - msgctl
 *
 * Order of checks. User memory is read before and written after
 * the lock.
 */
#include "../base/probe.h"
#include "msgq.h"
#include "room.h"

#include <limits.h>
#include <string.h>

/* What IPC_INFO tells of the days when messages had a pool. Constants in the
 * kernel, whatever the limits are now. */
#define MSGPOOL 512000
#define MSGMAP	16384
#define MSGTQL	16384
#define MSGSSZ	16
#define MSGSEG	65535

/* Locks the queue of an id for msgctl, which has no EINTR. 0, or -EIDRM: it was
 * there a moment ago. */
static int lock_id(struct s5__self *self, int id, struct s5__msgq *q)
{
	if (!s5__lock_firmly(self, &q->lock))
		return -EINTR;
	if (s5__a32_load_rlx(&q->id) == (uint32_t)id + 1)
		return 0;
	s5__unlock(self, &q->lock);
	return -EIDRM;
}

static void fill_stat(struct s5__msgq *q, struct msqid_ds *ds)
{
	memset(ds, 0, sizeof(*ds));
	ds->msg_perm.__key = q->ipc.key;
	ds->msg_perm.uid = s5__a32_load_rlx(&q->ipc.uid);
	ds->msg_perm.gid = s5__a32_load_rlx(&q->ipc.gid);
	ds->msg_perm.cuid = s5__a32_load_rlx(&q->ipc.cuid);
	ds->msg_perm.cgid = s5__a32_load_rlx(&q->ipc.cgid);
	ds->msg_perm.mode = (unsigned short)s5__a32_load_rlx(&q->ipc.mode);
	ds->msg_perm.__seq = (unsigned short)q->ipc.seq;
	ds->msg_stime = q->stime;
	ds->msg_rtime = q->rtime;
	ds->msg_ctime = q->ipc.ctime;
	ds->__msg_cbytes = q->cbytes;
	ds->msg_qnum = q->qnum;
	ds->msg_qbytes = q->qbytes;
	ds->msg_lspid = (pid_t)q->lspid;
	ds->msg_lrpid = (pid_t)q->lrpid;
}

/* IPC_STAT, and by index MSG_STAT and MSG_STAT_ANY. */
static int stat_queue(struct s5__self *self, int id, int cmd,
		      struct msqid_ds *user)
{
	struct s5__msgq *q;
	struct msqid_ds ds;
	int ret = 0;
	int err;

	if (cmd == IPC_STAT) {
		q = s5__msgq_find(id);
	} else {
		uint32_t at;

		q = s5__msgq_at((uint32_t)id % S5__IPC_MNI);
		at = q ? s5__a32_load_acq(&q->id)
		       : 0; /* PAIR queue-id: acquire */
		if (at == 0)
			return -EINVAL;
		id = (int)(at - 1);
		ret = id;
	}
	if (!q)
		return -EINVAL;
	err = cmd == MSG_STAT_ANY ? 0 : s5__perm_check(&q->ipc, S5__WANT_READ);
	if (err == 0 && s5__hint(&q->handed_to))
		(void)s5__msgq_recall(self, q); /* so that it is counted */
	if (err == 0)
		err = lock_id(self, id, q);
	if (err)
		return err;
	fill_stat(q, &ds);
	s5__unlock(self, &q->lock);
	if (s5__probe(user, sizeof(ds), S5__PROBE_WRITE))
		return -EFAULT;
	memcpy(user, &ds, sizeof(ds));
	return ret;
}

/* Wakes all receivers, which check their rights again, and the senders that
 * fit now. */
static void wake_after_set(struct s5__self *self, int id, struct s5__msgq *q)
{
	/* Who looked and came back is not woken again. */
	uint64_t until = UINT64_MAX;
	bool more = true;

	while (more && lock_id(self, id, q) == 0) {
		if (until == UINT64_MAX)
			until = q->order;
		more = s5__waiters_release(self, q, S5__TRY_AGAIN, until);
		if (!more)
			more = s5__waiters_fit(self, q);
		s5__tx_commit(self);
		s5__unlock(self, &q->lock);
		s5__wake_flush(self);
	}
}

static int set_queue(struct s5__self *self, int id, const struct msqid_ds *user)
{
	struct s5__msgq *q;
	struct msqid_ds ds;
	int qbytes; /* the kernel, too, passes it on as an int */
	int err;

	if (s5__probe(user, sizeof(ds), S5__PROBE_READ))
		return -EFAULT;
	memcpy(&ds, user, sizeof(ds));
	qbytes = (int)ds.msg_qbytes;
	q = s5__msgq_find(id);
	if (!q)
		return -EINVAL;
	err = s5__perm_owner(&q->ipc);
	if (err)
		return err;
	if ((uint32_t)qbytes > s5__a64_load_rlx(&s5__header()->msgmnb) &&
	    !s5__perm_capable(S5__CAP_SYS_RESOURCE))
		return -EPERM;
	if (ds.msg_perm.uid == (uid_t)-1 || ds.msg_perm.gid == (gid_t)-1)
		return -EINVAL;
	if (lock_id(self, id, q) != 0)
		return -EINVAL; /* as if it had been gone before */
	s5__tx_log64(self, &q->qbytes);
	s5__tx_log64(self, &q->ipc.ctime);
	s5__tx_log32(self, s5__a32_raw(&q->ipc.uid));
	s5__tx_log32(self, s5__a32_raw(&q->ipc.gid));
	s5__tx_log32(self, s5__a32_raw(&q->ipc.mode));
	s5__tx_arm(self);
	q->qbytes = (uint64_t)(int64_t)qbytes;
	q->ipc.ctime = s5__now_s();
	s5__a32_store_rlx(&q->ipc.uid, ds.msg_perm.uid);
	s5__a32_store_rlx(&q->ipc.gid, ds.msg_perm.gid);
	s5__a32_store_rlx(&q->ipc.mode, ds.msg_perm.mode & 0777u);
	s5__tx_commit(self);
	s5__unlock(self, &q->lock);
	wake_after_set(self, id, q);
	return 0;
}

static int remove_queue(struct s5__self *self, int id)
{
	struct s5__msgq *q = s5__msgq_find(id);
	struct s5__slot *s = self->slot;
	int err;

	if (!q)
		return -EINVAL;
	err = s5__perm_owner(&q->ipc);
	if (err)
		return err;
	if (lock_id(self, id, q) != 0)
		return -EINVAL; /* as if it had been gone before */
	s->dismantle = S5__KIND_MSG << S5__DISMANTLE_KIND |
		       ((uint32_t)id % S5__IPC_MNI + 1);
	self->unfinished |= S5__UNFINISHED_REMOVE;
	s5__tx_log32(self, s5__a32_raw(&q->id));
	s5__tx_log64(self, &q->ipc.phase);
	s5__tx_arm(self);
	q->ipc.phase = S5__PHASE_DYING;
	q->ipc.dying = (uint32_t)id + 1;
	s5__a32_store_rel(&q->id, 0); /* PAIR queue-id: release */
	s5__tx_commit(self);
	s5__unlock(self, &q->lock);
	S5_CRASH_POINT("rmid-committed");
	s5__msgq_dismantle(self, (uint32_t)id % S5__IPC_MNI);
	self->unfinished &= ~S5__UNFINISHED_REMOVE;
	self->slot->dismantle = 0;
	return 0;
}

/* IPC_INFO and MSG_INFO: limits, and totals summed up now (W8; ).
 * Returns the highest index in use, or 0. */
static int info(int cmd, struct msqid_ds *user)
{
	const struct s5__header *h = s5__header();
	uint64_t queues = 0, messages = 0, bytes = 0;
	struct msginfo mi;
	int highest = 0;

	for (uint32_t i = 0; i < S5__IPC_MNI; i++) {
		struct s5__msgq *q = s5__msgq_at(i);

		if (!q) {
			i |= (uint32_t)S5__MSGQ_CHUNK - 1;
			continue;
		}
		if (s5__a32_load_acq(&q->id) == 0) /* PAIR queue-id: acquire */
			continue;
		highest = (int)i;
		queues++;
		messages += *(volatile uint32_t *)&q->qnum;
		bytes += *(volatile uint64_t *)&q->cbytes;
	}
	memset(&mi, 0, sizeof(mi));
	mi.msgmni = (int)s5__a64_load_rlx(&h->msgmni);
	mi.msgmax = (int)s5__a64_load_rlx(&h->msgmax);
	mi.msgmnb = (int)s5__a64_load_rlx(&h->msgmnb);
	mi.msgssz = MSGSSZ;
	mi.msgseg = MSGSEG;
	if (cmd == MSG_INFO) {
		mi.msgpool = (int)queues;
		mi.msgmap = messages < INT_MAX ? (int)messages : INT_MAX;
		mi.msgtql = bytes < INT_MAX ? (int)bytes : INT_MAX;
	} else {
		mi.msgpool = MSGPOOL;
		mi.msgmap = MSGMAP;
		mi.msgtql = MSGTQL;
	}
	if (s5__probe(user, sizeof(mi), S5__PROBE_WRITE))
		return -EFAULT;
	memcpy(user, &mi, sizeof(mi));
	return highest;
}

int s5__msgctl(int id, int cmd, struct msqid_ds *user)
{
	/* Limits there are also where no queue was ever made. */
	bool create = cmd == IPC_INFO || cmd == MSG_INFO;
	struct s5__self *self;
	int ret = s5__enter(&self, create);

	if (ret)
		return ret == -EACCES ? -EINVAL : ret;
	ret = -EINVAL;
	if (id >= 0 && cmd >= 0) {
		switch (cmd) {
		case IPC_STAT:
		case MSG_STAT:
		case MSG_STAT_ANY:
			ret = stat_queue(self, id, cmd, user);
			break;
		case IPC_SET:
			ret = set_queue(self, id, user);
			break;
		case IPC_RMID:
			ret = remove_queue(self, id);
			break;
		case IPC_INFO:
		case MSG_INFO:
			ret = info(cmd, user);
			break;
		default:
			break;
		}
	}
	s5__leave(self);
	return ret;
}
