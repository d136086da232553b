/* SPDX-License-Identifier: MIT */
/*
 * shm_get.c - the table of segments, and shmget
 *
 * The file of a new segment is made before its id is, without a lock held, and
 * only when it turns out that a segment has to be made.
 */
#include "../region/ns.h"
#include "room.h"
#include "seg.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SHM_HUGE_SHIFT
#define SHM_HUGE_SHIFT 26
#endif
#define SHM_HUGE_BITS 0x3f

/* Of may_create(): a file first. Never leaves this file. */
#define NEED_FILE (-EINPROGRESS)

struct request {
	uint64_t size;
	bool has_file;
	struct s5__seg_name name;
};

static struct s5__a32 *directory(void)
{
	return (struct s5__a32 *)(void *)(s5__arena.base +
					  S5__FIX_SHM_DIR * S5__PAGE);
}

struct s5__seg *s5__seg_at(uint32_t index)
{
	uint32_t page;

	if (index >= S5__IPC_MNI)
		return NULL;
	/* PAIR dir: acquire */
	page = s5__a32_load_acq(&directory()[index / S5__SEG_CHUNK]);
	if (page < S5__FIX_PAGES)
		return NULL;
	return s5__at(((uint64_t)page << S5__PAGE_SHIFT) +
			      index % S5__SEG_CHUNK * sizeof(struct s5__seg),
		      sizeof(struct s5__seg));
}

/* Its removal may be one that a dead thread did not commit: taking the lock
 * undoes it, and the id is there again. */
static bool find_again(struct s5__seg *seg, uint32_t want)
{
	/* relaxed: the acquire of the id has ordered both */
	if (seg->ipc.dying != want || s5__a32_load_rlx(&seg->lock) == 0 ||
	    s5__lock(&s5__self, &seg->lock) != 0)
		return false;
	s5__unlock(&s5__self, &seg->lock);
	/* PAIR seg-id: acquire */
	return s5__a32_load_acq(&seg->id) == want;
}

struct s5__seg *s5__seg_find(int id)
{
	struct s5__seg *seg;

	if (id < 0)
		return NULL;
	seg = s5__seg_at((uint32_t)id % S5__IPC_MNI);
	/* PAIR seg-id: acquire; who sees the id sees the segment. */
	if (!seg || s5__a32_load_acq(&seg->id) != (uint32_t)id + 1)
		return seg && find_again(seg, (uint32_t)id + 1) ? seg : NULL;
	return seg;
}

int s5__seg_lock(struct s5__self *self, int id, struct s5__seg *seg)
{
	if (!s5__lock_firmly(self, &seg->lock))
		return -EIDRM;
	if (s5__a32_load_rlx(&seg->id) == (uint32_t)id + 1)
		return 0;
	s5__unlock(self, &seg->lock);
	return -EIDRM;
}

int s5__seg_id_at(uint32_t index)
{
	struct s5__seg *seg = s5__seg_at(index);
	uint32_t at;

	if (!seg)
		return -1;
	at = s5__a32_load_acq(&seg->id); /* PAIR seg-id: acquire */
	if (at == 0)
		at = s5__hint(&seg->ipc.dying);
	if (at == 0 || at > INT32_MAX || (at - 1) % S5__IPC_MNI != index)
		return -1;
	return s5__seg_find((int)(at - 1)) ? (int)(at - 1) : -1;
}

/* --- the kind --------------------------------------------------------------
 */

static struct s5__ipc *ipc_at(uint32_t index)
{
	struct s5__seg *seg = s5__seg_at(index);

	return seg ? &seg->ipc : NULL;
}

static int add_chunk(struct s5__self *self, uint32_t index)
{
	struct s5__a32 *chunks = (struct s5__a32 *)(void *)&s5__header()
					 ->names[S5__KIND_SHM]
					 .chunks;

	return s5__chunk_add(self, directory(), index / (uint32_t)S5__SEG_CHUNK,
			     chunks);
}

static uint32_t limit(void)
{
	uint64_t mni = s5__a64_load_rlx(&s5__header()->shmmni);

	return mni < S5__IPC_MNI ? (uint32_t)mni : S5__IPC_MNI;
}

/* what is asked of an existing segment. */
static int suits(const struct s5__ipc *ipc, const void *arg)
{
	const struct s5__seg *seg =
		(const struct s5__seg *)(const void *)((const char *)ipc -
						       offsetof(struct s5__seg,
								ipc));
	const struct request *r = arg;

	return seg->size < r->size ? -EINVAL : 0;
}

/* The first checks of A-148, in their order. */
static int may_create(const void *arg)
{
	const struct s5__header *h = s5__header();
	const struct request *r = arg;
	uint64_t all = s5__a64_load_rlx(&h->shmall);
	uint64_t pages = s5__seg_pages(r->size);

	if (all > UINT32_MAX)
		all = UINT32_MAX;
	if (r->size < 1 || r->size > s5__a64_load_rlx(&h->shmmax))
		return -EINVAL;
	if (r->size > UINT64_MAX - S5__PAGE ||
	    h->names[S5__KIND_SHM].parts + pages > all)
		return pages > UINT32_MAX && all == UINT32_MAX ? -ENOMEM
							       : -ENOSPC;
	return r->has_file ? 0 : NEED_FILE;
}

static uint32_t parts(uint32_t index)
{
	struct s5__seg *seg = s5__seg_at(index);

	return seg ? (uint32_t)s5__seg_pages(seg->size) : 0;
}

static void init(uint32_t index, const void *arg)
{
	struct s5__seg *seg = s5__seg_at(index);
	const struct request *r = arg;

	if (!seg)
		return; /* damaged meanwhile */
	seg->dest = 0;
	s5__a32_store_rlx(&seg->strays, 0);
	seg->size = r->size;
	seg->serial = r->name.serial;
	seg->name_key = r->name.key;
	seg->cpid = s5__self.pid;
	seg->lpid = 0;
	seg->locker = 0;
	seg->atime = 0;
	seg->dtime = 0;
	memset(&seg->attaches, 0, sizeof(seg->attaches));
}

static void publish_log(struct s5__self *self, uint32_t index)
{
	struct s5__seg *seg = s5__seg_at(index);

	if (seg)
		s5__tx_log32(self, s5__a32_raw(&seg->id));
}

static void publish(uint32_t index, uint32_t id)
{
	struct s5__seg *seg = s5__seg_at(index);

	if (seg) /* PAIR seg-id: release */
		s5__a32_store_rel(&seg->id, id + 1);
}

/* Frees one block of attachers of a segment that is still dying; false: no
 * more. Lock held. */
static bool free_block(struct s5__self *self, struct s5__seg *seg)
{
	struct s5__slot *s = self->slot;
	uint32_t cell = seg->attaches.next;
	struct s5__attaches *b =
		(struct s5__attaches *)(void *)(cell ? s5__cell_at(cell)
						     : NULL);

	if (!b) {
		seg->attaches.next = 0;
		return false;
	}
	s5__tx_log32(self, &seg->attaches.next);
	s5__tx_log32(self, &s->mag[0]);
	s5__tx_log32(self, &s->mag_n[0]);
	s5__tx_log32(self, &b->mag_next);
	s5__tx_arm(self);
	seg->attaches.next = b->next;
	b->mag_next = s->mag[0];
	s->mag[0] = cell;
	s->mag_n[0]++;
	s5__tx_commit(self);
	return true;
}

/* Finishes a removal that somebody began. No lock held. */
static void dismantle(struct s5__self *self, uint32_t index)
{
	struct s5__seg *seg = s5__seg_at(index);
	uint32_t dying = seg ? seg->ipc.dying : 0;
	struct s5__seg_name name;
	bool more = seg != NULL;

	for (uint32_t n = 0; more && n < S5__IPC_MNI; n++) {
		if (!s5__lock_firmly(self, &seg->lock))
			return;
		if (seg->ipc.phase != S5__PHASE_DYING ||
		    seg->ipc.dying != dying) {
			s5__unlock(self, &seg->lock);
			return;
		}
		name = s5__seg_name(seg);
		more = free_block(self, seg);
		s5__unlock(self, &seg->lock);
		s5__cells_overflow(self);
		S5_CRASH_POINT("shm-dismantle-step");
	}
	if (!seg)
		return;
	s5__seg_file_remove(name);
	S5_CRASH_POINT("shm-file-removed");
	while (s5__names_remove(self, &s5__shm_kind, index, dying) == -EAGAIN)
		(void)s5__lock_wait(self);
}

const struct s5__kind_ops s5__shm_kind = {
	.kind = S5__KIND_SHM,
	.bucket_page = S5__FIX_SHM_KEYS,
	.at = ipc_at,
	.add_chunk = add_chunk,
	.limit = limit,
	.suits = suits,
	.may_create = may_create,
	.parts = parts,
	.init = init,
	.publish_log = publish_log,
	.publish = publish,
	.dismantle = dismantle,
};

static int drop_nothing(struct s5__self *self, struct s5__slot *slot)
{
	(void)self;
	(void)slot;
	return 0; /* nobody waits for a segment */
}

static void revoke_nothing(struct s5__self *self, struct s5__slot *slot)
{
	(void)self;
	(void)slot;
}

static const struct s5__facility facility = {
	.drop = drop_nothing,
	.revoke = revoke_nothing,
	.sweep = s5__seg_reap_all,
	.dismantle = dismantle,
};

void s5__shm_init(void)
{
	s5__facilities[S5__KIND_SHM] = &facility;
}

/* --- shmget ----------------------------------------------------------------
 */

/* As a kernel that has no free huge pages: 0 if none are asked for. */
static int huge_pages(int flags)
{
	char path[] = "/sys/kernel/mm/hugepages/hugepages-1048576kB";
	unsigned shift = ((unsigned)flags >> SHM_HUGE_SHIFT) & SHM_HUGE_BITS;

	if (!(flags & SHM_HUGETLB))
		return 0;
	if (shift == 21)
		memcpy(path + sizeof(path) - 10, "2048kB", 7);
	else if (shift != 0 && shift != 30)
		return -EINVAL;
	if (shift &&
	    s5__sys(SYS_faccessat, AT_FDCWD, (long)path, F_OK, 0, 0, 0) != 0)
		return -EINVAL;
	return s5__perm_capable(S5__CAP_IPC_LOCK) ? -ENOMEM : -EPERM;
}

/* Makes the file. Full: what is only waiting to be given back is, first. */
static long make_file(struct s5__self *self, int32_t key, int flags,
		      struct request *r)
{
	bool all = !(flags & SHM_NORESERVE);
	int err = huge_pages(flags);
	long fd;

	if (err)
		return err;
	fd = s5__seg_file_make(key, r->size, all, &r->name);
	if (fd == -ENOMEM) {
		s5__seg_reap_all(self);
		s5__seg_files_sweep();
		fd = s5__seg_file_make(key, r->size, all, &r->name);
	}
	return fd;
}

static int get(struct s5__self *self, int32_t key, int flags, struct request *r)
{
	int ret = s5__names_get(self, &s5__shm_kind, key, flags, r);
	long fd;

	if (ret != NEED_FILE)
		return ret;
	fd = make_file(self, key, flags, r);
	if (fd < 0)
		return (int)fd;
	r->has_file = true;
	ret = s5__names_get(self, &s5__shm_kind, key, flags, r);
	S5_CRASH_POINT("shm-made");
	r->has_file = false;
	if (ret >= 0) {
		const struct s5__seg *seg = s5__seg_find(ret);

		r->has_file = seg && seg->serial == r->name.serial;
	}
	if (!r->has_file) /* somebody else was faster */
		s5__seg_file_remove(r->name);
	(void)s5__sys(SYS_close, fd, 0, 0, 0, 0, 0);
	return ret;
}

int s5__shmget(int32_t key, size_t size, int flags)
{
	struct request r = {.size = size};
	struct s5__self *self;
	int ret = s5__enter(&self, true);

	if (ret)
		return ret;
	s5__janitor(self);
	ret = get(self, key, flags, &r);
	if (ret == -ENOSPC) { /* segments that only wait for their last user */
		s5__seg_reap_all(self);
		ret = get(self, key, flags, &r);
	}
	s5__leave(self);
	return ret;
}
