/* SPDX-License-Identifier: MIT */
/*
 * sem_get.c - the table of sets, the memory of semaphores, and semget
 *
 * Sets lie in chunks of 32, which stay. Up to four semaphores lie in the set;
 * more in pages that only ever hold semaphores, so that a call with a stale id
 * that was delayed between finding a semaphore and its compare-and-swap finds
 * a semaphore there, of another generation. More than a page full are found by
 * a table, the first page of the chain.
 */
#include "room.h"
#include "semset.h"

#include <string.h>

struct wish {
	uint32_t nsems;
};

static struct s5__a32 *directory(void)
{
	return (struct s5__a32 *)(void *)(s5__arena.base +
					  S5__FIX_SEM_DIR * S5__PAGE);
}

struct s5__semset *s5__set_at(uint32_t index)
{
	uint32_t page;

	if (S5_UNLIKELY(index >= S5__IPC_MNI))
		return NULL;
	/* PAIR dir: acquire */
	page = s5__a32_load_acq(&directory()[index / S5__SET_CHUNK]);
	if (S5_UNLIKELY(page < S5__FIX_PAGES))
		return NULL;
	return s5__at(((uint64_t)page << S5__PAGE_SHIFT) +
			      index % S5__SET_CHUNK * sizeof(struct s5__semset),
		      sizeof(struct s5__semset));
}

/* Its removal may be one that a dead thread did not commit: taking the lock
 * undoes it, and the id is there again. */
static bool find_again(struct s5__semset *set, uint32_t want)
{
	/* relaxed: the acquire of the id has ordered both */
	if (set->ipc.dying != want || s5__a32_load_rlx(&set->lock) == 0)
		return false;
	if (!s5__lock_firmly(&s5__self, &set->lock))
		return false;
	s5__unlock(&s5__self, &set->lock);
	/* PAIR set-id: acquire */
	return s5__a32_load_acq(&set->id) == want;
}

struct s5__semset *s5__set_find(int id)
{
	struct s5__semset *set;

	if (S5_UNLIKELY(id < 0))
		return NULL;
	set = s5__set_at((uint32_t)id % S5__IPC_MNI);
	/* PAIR set-id: acquire; who sees the id sees the set. */
	if (S5_UNLIKELY(!set || s5__a32_load_acq(&set->id) != (uint32_t)id + 1))
		return set && find_again(set, (uint32_t)id + 1) ? set : NULL;
	return set;
}

static struct s5__ipc *ipc_at(uint32_t index)
{
	struct s5__semset *set = s5__set_at(index);

	return set ? &set->ipc : NULL;
}

static int add_chunk(struct s5__self *self, uint32_t index)
{
	struct s5__a32 *chunks = (struct s5__a32 *)(void *)&s5__header()
					 ->names[S5__KIND_SEM]
					 .chunks;

	return s5__chunk_add(self, directory(), index / (uint32_t)S5__SET_CHUNK,
			     chunks);
}

static uint32_t limit(void)
{
	uint64_t mni = s5__a64_load_rlx(&s5__header()->semmni);

	return mni < S5__IPC_MNI ? (uint32_t)mni : S5__IPC_MNI;
}

static int suits(const struct s5__ipc *ipc, const void *arg)
{
	const struct wish *wish = arg;
	const struct s5__semset *set =
		(const struct s5__semset
			 *)(const void *)((const char *)ipc -
					  offsetof(struct s5__semset, ipc));

	return wish->nsems > set->nsems ? -EINVAL : 0;
}

static int may_create(const void *arg)
{
	const struct wish *wish = arg;
	uint64_t in_use = s5__header()->names[S5__KIND_SEM].parts;

	if (wish->nsems == 0)
		return -EINVAL;
	if (wish->nsems > S5__SEM_OWN && s5__self.slot->held == 0)
		return -ENOBUFS; /* it went by on the way: start over */
	return in_use + wish->nsems > s5__a64_load_rlx(&s5__header()->semmns)
		       ? -ENOSPC
		       : 0;
}

static uint32_t parts(uint32_t index)
{
	const struct s5__semset *set = s5__set_at(index);

	return set ? set->nsems : 0;
}

/* Where the semaphores are many: the table of their pages, which are the rest
 * of the chain. */
static void fill_table(const struct s5__semset *set)
{
	uint32_t *table = s5__page_at(set->array);
	const uint32_t *link = s5__page_link(set->array);

	for (uint32_t i = 0; table && i < S5__PAGE / sizeof(*table); i++) {
		table[i] = link ? *link : 0;
		link = table[i] ? s5__page_link(table[i]) : NULL;
	}
}

static void init(uint32_t index, const void *arg)
{
	const struct wish *wish = arg;
	struct s5__semset *set = s5__set_at(index);

	if (!set)
		return; /* damaged meanwhile */
	set->nsems = wish->nsems;
	set->array = 0;
	if (wish->nsems > S5__SEM_OWN)
		set->array = s5__self.slot->held;
	if (wish->nsems > S5__SEM_PER_PAGE)
		fill_table(set);
	set->busy = 0;
	set->due = 0;
	set->complex = 0;
	set->mixed = 0;
	set->n_wait = 0;
	set->alter = (struct s5__sem_list){0, 0};
	set->zero = (struct s5__sem_list){0, 0};
	set->order = 0;
	set->undo = 0;
	s5__a32_store_rlx(&set->watcher, 0);
}

/* Every semaphore, with SLOW set until all is committed. */
static void fill_sems(struct s5__semset *set, uint32_t id)
{
	for (uint32_t i = 0; i < s5__set_n(set); i++) {
		struct s5__sem *sem = s5__sem_at(set, i);

		if (!sem)
			break;
		s5__a64_store_rlx(&sem->word, s5__sem_gen(id) | S5__SEM_SLOW);
		s5__a64_store_rlx(&sem->otime, 0);
		sem->owner = id + 1;
		sem->refs = 0;
		sem->alter = (struct s5__sem_list){0, 0};
		sem->zero = (struct s5__sem_list){0, 0};
	}
}

static void publish_log(struct s5__self *self, uint32_t index)
{
	struct s5__semset *set = s5__set_at(index);

	if (!set)
		return;
	s5__tx_log32(self, &self->slot->held);
	s5__tx_log32(self, &set->busy);
	s5__tx_log32(self, s5__a32_raw(&set->id));
}

static void publish(uint32_t index, uint32_t id)
{
	struct s5__semset *set = s5__set_at(index);

	if (!set)
		return;
	fill_sems(set, id);
	if (set->array)
		s5__self.slot->held = 0;
	set->busy = 1; /* the first who takes the lock clears SLOW */
	/* PAIR set-id: release */
	s5__a32_store_rel(&set->id, id + 1);
}

const struct s5__kind_ops s5__sem_kind = {
	.kind = S5__KIND_SEM,
	.bucket_page = S5__FIX_SEM_KEYS,
	.at = ipc_at,
	.add_chunk = add_chunk,
	.limit = limit,
	.suits = suits,
	.may_create = may_create,
	.parts = parts,
	.init = init,
	.publish_log = publish_log,
	.publish = publish,
	.dismantle = s5__set_dismantle,
};

/* Which processes have a record somewhere. */
static void mark_used(uint32_t *idle, uint32_t n)
{
	for (uint32_t i = 0; i < S5__IPC_MNI; i++) {
		struct s5__semset *set = s5__set_at(i);
		uint32_t cell;

		if (!set) {
			i |= (uint32_t)S5__SET_CHUNK - 1;
			continue;
		}
		if (!s5__lock_firmly(&s5__self, &set->lock))
			return;
		cell = set->undo;
		for (uint32_t k = 0; cell && k < s5__proc_count(); k++) {
			const struct s5__undo *u = s5__undo_at(cell);

			if (!u)
				break;
			if (u->proc < n)
				idle[u->proc] = 0;
			cell = u->rec_next;
		}
		s5__unlock(&s5__self, &set->lock);
	}
}

void s5__sem_init(void)
{
	s5__facilities[S5__KIND_SEM] = &s5__sem_facility;
	s5__proc_mark_used = mark_used;
}

/* Pages for that many semaphores, in the slot's `held`. */
static int reserve(struct s5__self *self, uint32_t nsems)
{
	uint32_t pages;

	if (nsems <= S5__SEM_OWN)
		return 0;
	pages = (nsems + (uint32_t)S5__SEM_PER_PAGE - 1) /
		(uint32_t)S5__SEM_PER_PAGE;
	return s5__pages_hold(self, pages + (pages > 1),
			      &s5__header()->sem_page);
}

int s5__semget(int32_t key, int nsems, int flags)
{
	struct s5__self *self;
	struct wish wish = {(uint32_t)nsems};
	bool makes = key == IPC_PRIVATE || (flags & IPC_CREAT);
	int ret = s5__enter(&self, true);

	if (ret)
		return ret;
	ret = -EINVAL;
	if (nsems >= 0 &&
	    (uint64_t)nsems <= s5__a64_load_rlx(&s5__header()->semmsl)) {
		do {
			ret = makes ? reserve(self, wish.nsems) : 0;
			if (ret == -EAGAIN)
				(void)s5__lock_wait(self);
			if (ret == 0)
				ret = s5__names_get(self, &s5__sem_kind, key,
						    flags, &wish);
		} while (ret == -ENOBUFS || ret == -EAGAIN);
		s5__pages_let_go(self, &self->slot->held,
				 &s5__header()->sem_page);
	}
	s5__leave(self);
	return ret;
}
