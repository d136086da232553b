/* SPDX-License-Identifier: MIT */
/*
 * msg_get.c - the table of queues, and msgget
 *
 * Queues lie in chunks of 32; a chunk, once made, stays. The words of a queue
 * keep their meaning when it is removed, so a stale id may be looked up, and
 * even its lock taken, without harm.
 */
#include "msgq.h"
#include "room.h"

static struct s5__a32 *directory(void)
{
	return (struct s5__a32 *)(void *)(s5__arena.base +
					  S5__FIX_MSGQ_DIR * S5__PAGE);
}

struct s5__msgq *s5__msgq_at(uint32_t index)
{
	uint32_t page;

	if (S5_UNLIKELY(index >= S5__IPC_MNI))
		return NULL;
	/* PAIR dir: acquire */
	page = s5__a32_load_acq(&directory()[index / S5__MSGQ_CHUNK]);
	if (S5_UNLIKELY(page < S5__FIX_PAGES))
		return NULL;
	return s5__at(((uint64_t)page << S5__PAGE_SHIFT) +
			      index % S5__MSGQ_CHUNK * sizeof(struct s5__msgq),
		      sizeof(struct s5__msgq));
}

/* Its removal may be one that a dead thread did not commit: taking the lock
 * undoes it, and the id is there again. */
static bool find_again(struct s5__msgq *q, uint32_t want)
{
	/* relaxed: the acquire of the id has ordered both */
	if (q->ipc.dying != want || s5__a32_load_rlx(&q->lock) == 0)
		return false;
	if (!s5__lock_firmly(&s5__self, &q->lock))
		return false;
	s5__unlock(&s5__self, &q->lock);
	/* PAIR queue-id: acquire */
	return s5__a32_load_acq(&q->id) == want;
}

struct s5__msgq *s5__msgq_find(int id)
{
	struct s5__msgq *q;

	if (S5_UNLIKELY(id < 0))
		return NULL;
	q = s5__msgq_at((uint32_t)id % S5__IPC_MNI);
	/* PAIR queue-id: acquire; who sees the id sees the queue. */
	if (S5_UNLIKELY(!q || s5__a32_load_acq(&q->id) != (uint32_t)id + 1))
		return q && find_again(q, (uint32_t)id + 1) ? q : NULL;
	return q;
}

static struct s5__ipc *ipc_at(uint32_t index)
{
	struct s5__msgq *q = s5__msgq_at(index);

	return q ? &q->ipc : NULL;
}

static int add_chunk(struct s5__self *self, uint32_t index)
{
	struct s5__a32 *chunks = (struct s5__a32 *)(void *)&s5__header()
					 ->names[S5__KIND_MSG]
					 .chunks;

	return s5__chunk_add(self, directory(),
			     index / (uint32_t)S5__MSGQ_CHUNK, chunks);
}

static uint32_t limit(void)
{
	uint64_t mni = s5__a64_load_rlx(&s5__header()->msgmni);

	return mni < S5__IPC_MNI ? (uint32_t)mni : S5__IPC_MNI;
}

static void init(uint32_t index, const void *arg)
{
	struct s5__msgq *q = s5__msgq_at(index);

	(void)arg;
	if (!q)
		return; /* damaged meanwhile */
	q->head = 0;
	q->tail = 0;
	q->qnum = 0;
	q->lspid = 0;
	q->lrpid = 0;
	q->cbytes = 0;
	q->qbytes = s5__a64_load_rlx(&s5__header()->msgmnb);
	q->stime = 0;
	q->rtime = 0;
	q->any.head = 0;
	q->any.tail = 0;
	q->senders.head = 0;
	q->senders.tail = 0;
	q->n_recv = 0;
	q->n_send = 0;
	q->root = 0;
	q->n_lanes = 0;
	q->skip = 0;
	q->skip_type = 0;
	q->order = 0;
	q->handed_to = 0;
}

static void publish_log(struct s5__self *self, uint32_t index)
{
	struct s5__msgq *q = s5__msgq_at(index);

	if (q)
		s5__tx_log32(self, s5__a32_raw(&q->id));
}

static void publish(uint32_t index, uint32_t id)
{
	struct s5__msgq *q = s5__msgq_at(index);

	if (q) /* PAIR queue-id: release */
		s5__a32_store_rel(&q->id, id + 1);
}

const struct s5__kind_ops s5__msg_kind = {
	.kind = S5__KIND_MSG,
	.bucket_page = S5__FIX_MSG_KEYS,
	.at = ipc_at,
	.add_chunk = add_chunk,
	.limit = limit,
	.suits = NULL,
	.init = init,
	.publish_log = publish_log,
	.publish = publish,
	.dismantle = s5__msgq_dismantle,
};

void s5__msg_init(void)
{
	s5__facilities[S5__KIND_MSG] = &s5__msg_facility;
}

int s5__msgget(int32_t key, int flags)
{
	struct s5__self *self;
	int ret = s5__enter(&self, true);

	if (ret)
		return ret;
	ret = s5__names_get(self, &s5__msg_kind, key, flags, NULL);
	s5__leave(self);
	return ret;
}
