/* SPDX-License-Identifier: MIT */
/*
 * shm_view.c - reading segments and who has them attached, for display
 *
 * Owns nothing. One entry at a time is copied to a local record, under the
 * segment's lock, and only then to the caller's memory. Attachments are counted
 * first, as for IPC_STAT, with all that a count does: a segment that waits for
 * its last user may end by being looked at. A lock whose owner is stopped is
 * not waited for: then what was last counted is shown.
 */
#include "../../include/sysfive/admin.h"
#include "room.h"
#include "seg.h"

#include <errno.h>
#include <string.h>

/* A lock is given up after 20 ms; the owner may just have lost its CPU. */
#define LOCK_TRIES 4

/* What a cursor over attachers is made of: bits 32-63 the cell of the block, 0
 * for the one in the segment; 3-31 how many blocks came before it, so that a
 * damaged chain ends; 0-2 the entry in it. */
#define AT_ENTRY(cursor) ((uint32_t)(cursor)&7u)
#define AT_BLOCK(cursor) ((uint32_t)(cursor) >> 3)
#define AT_CELL(cursor)	 ((uint32_t)((cursor) >> 32))
_Static_assert(S5__ATTACHES < 8, "bits of an entry");

static bool lock_for_view(struct s5__self *self, struct s5__seg *seg)
{
	int err = -EAGAIN;

	for (int i = 0; err == -EAGAIN && i < LOCK_TRIES; i++)
		err = s5__lock(self, &seg->lock);
	return err == 0;
}

static bool can_lock(struct s5__self *self, struct s5__seg *seg)
{
	bool can = lock_for_view(self, seg);

	if (can)
		s5__unlock(self, &seg->lock);
	return can;
}

static int enter(struct s5__self **ret_self)
{
	int err = s5__enter(ret_self, false);

	return err == -EACCES ? -EINVAL : err;
}

/* The block of attachers in that cell, or the segment's own; or NULL. */
static struct s5__attaches *block_at(struct s5__seg *seg, uint32_t cell)
{
	if (cell == 0)
		return &seg->attaches;
	return (struct s5__attaches *)(void *)s5__cell_at(cell);
}

/* What was last counted. */
static uint32_t last_count(struct s5__seg *seg)
{
	const struct s5__attaches *b = &seg->attaches;
	uint32_t sum = 0;

	for (uint32_t n = 0; b && n < S5__ATTACH_BLOCKS; n++) {
		uint32_t next = s5__hint(&b->next);

		for (uint32_t i = 0; i < S5__ATTACHES; i++)
			sum += s5__hint(&b->at[i].count);
		b = next ? block_at(seg, next) : NULL;
	}
	return sum;
}

static void fill_segment(const struct s5__seg *seg, struct s5_shmseg_info *info)
{
	info->key = seg->ipc.key;
	info->uid = s5__a32_load_rlx(&seg->ipc.uid);
	info->gid = s5__a32_load_rlx(&seg->ipc.gid);
	info->cuid = s5__a32_load_rlx(&seg->ipc.cuid);
	info->cgid = s5__a32_load_rlx(&seg->ipc.cgid);
	info->mode = s5__seg_mode(seg);
	info->cpid = (int32_t)seg->cpid;
	info->lpid = (int32_t)seg->lpid;
	info->size = seg->size;
	info->atime = seg->atime;
	info->dtime = seg->dtime;
	info->ctime = seg->ipc.ctime;
	if (s5__perm_owner(&seg->ipc) == 0)
		info->flags |= S5_INFO_CONTROL;
}

static void note_owner(const struct s5__seg *seg, struct s5_shmseg_info *info)
{
	uint32_t token = s5__a32_load_rlx(&seg->lock);
	const struct s5__slot *owner = s5__slot_at(S5__TOKEN_IDX(token));

	info->flags |= S5_INFO_UNLOCKED;
	info->held_pid = owner ? (int32_t)owner->pid : 0;
}

/* 0, or -EINVAL if there is no segment of that id now. */
static int read_segment(struct s5__self *self, int id,
			struct s5_shmseg_info *info)
{
	struct s5__seg *seg = s5__seg_find(id);
	bool locked;
	int err = 0;

	if (!seg)
		return -EINVAL;
	memset(info, 0, sizeof(*info));
	info->shmid = id;
	locked = can_lock(self, seg);
	if (locked && s5__seg_reap(self, seg, id))
		return -EINVAL;
	info->nattch =
		locked ? s5__attach_count(self, seg, id) : last_count(seg);
	info->rss = s5__seg_file_rss(s5__seg_name(seg));
	locked = locked && lock_for_view(self, seg);
	if (!locked)
		note_owner(seg, info);
	/* relaxed: the lock orders it, if we have it */
	if (s5__a32_load_rlx(&seg->id) == (uint32_t)id + 1)
		fill_segment(seg, info);
	else
		err = -EINVAL;
	if (locked)
		s5__unlock(self, &seg->lock);
	return err;
}

int s5__shmseg_info_next(uint32_t *cursor, struct s5_shmseg_info *ret_info)
{
	struct s5_shmseg_info info;
	struct s5__self *self;
	uint32_t i = *cursor;
	int found = 0;
	int err = enter(&self);

	if (err)
		return err;
	for (; !found && i < S5__IPC_MNI; i++) {
		int id;

		if (!s5__seg_at(i)) {
			i |= (uint32_t)S5__SEG_CHUNK - 1;
			continue;
		}
		id = s5__seg_id_at(i);
		found = id >= 0 && read_segment(self, id, &info) == 0;
	}
	s5__leave(self);
	*cursor = i;
	if (found)
		*ret_info = info;
	return found;
}

int s5__shmseg_info_get(int id, struct s5_shmseg_info *ret_info)
{
	struct s5_shmseg_info info;
	struct s5__self *self;
	int err = enter(&self);

	if (err)
		return err;
	err = read_segment(self, id, &info);
	s5__leave(self);
	if (err == 0)
		*ret_info = info;
	return err;
}

/* --- attachers ------------------------------------------------------------ */

/* The first attacher at or after the cursor. */
static bool find_attacher(struct s5__seg *seg, uint64_t *cursor,
			  struct s5_shmseg_attacher *info)
{
	const struct s5__attaches *b = block_at(seg, AT_CELL(*cursor));
	uint32_t cell = AT_CELL(*cursor);
	uint32_t i = AT_ENTRY(*cursor);

	for (uint32_t n = AT_BLOCK(*cursor); b && n < S5__ATTACH_BLOCKS; n++) {
		for (; i < S5__ATTACHES; i++) {
			const struct s5__attach *a = &b->at[i];

			if (a->count == 0)
				continue;
			info->pid = (int32_t)a->pid;
			info->mappings = a->count;
			info->pid_ns = a->ns;
			*cursor = (uint64_t)cell << 32 | n << 3 | (i + 1);
			return true;
		}
		i = 0;
		cell = b->next;
		b = cell ? block_at(seg, cell) : NULL;
	}
	return false;
}

static bool read_attacher(struct s5__self *self, int id, uint64_t *cursor,
			  struct s5_shmseg_attacher *info)
{
	struct s5__seg *seg = s5__seg_find(id);
	bool locked, found;

	if (!seg)
		return false;
	if (*cursor == 0 && can_lock(self, seg)) {
		if (s5__seg_reap(self, seg, id))
			return false;
		(void)s5__attach_count(self, seg, id);
	}
	memset(info, 0, sizeof(*info));
	info->shmid = id;
	locked = lock_for_view(self, seg);
	if (!locked)
		info->flags |= S5_INFO_UNLOCKED;
	/* relaxed: the lock orders it, if we have it. Blocks of attachers are
	 * given back with the segment only: the cursor's is still one. */
	found = s5__a32_load_rlx(&seg->id) == (uint32_t)id + 1 &&
		find_attacher(seg, cursor, info);
	if (locked)
		s5__unlock(self, &seg->lock);
	return found;
}

int s5__shmseg_attacher_next(uint64_t *cursor, int id,
			     struct s5_shmseg_attacher *ret_info)
{
	struct s5_shmseg_attacher info;
	struct s5__self *self;
	uint64_t at = *cursor;
	bool found;
	int err = enter(&self);

	if (err)
		return err;
	found = read_attacher(self, id, &at, &info);
	s5__leave(self);
	if (found) {
		*cursor = at;
		*ret_info = info;
	}
	return found;
}
