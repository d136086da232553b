/* SPDX-License-Identifier: MIT */
/*
 * shm_op.c - shmat, shmdt, and what fork and exit do to attachments
 *
 * Private: one bit for each segment that this process has attached, so that a
 * fork knows which segments get one attacher more.
 */
#include "room.h"
#include "seg.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define FRAGMENTS 32 /* of one attachment that are unmapped at a time */

static struct s5__a32 attached_bits[S5__IPC_MNI / 32];
static struct s5__a32 any_attached;
static struct s5__a32 has_fork_hooks;

static bool is_error(long p)
{
	return p < 0 && p >= -4095;
}

/* --- fork ------------------------------------------------------------------
 */

/* Calls `each` for every segment that this process has attached. */
static void each_attached(void (*each)(struct s5__self *, uint32_t index),
			  struct s5__self *self)
{
	for (uint32_t i = 0; i < S5__IPC_MNI / 32; i++) {
		uint32_t bits = s5__a32_load_rlx(&attached_bits[i]);

		while (bits) {
			each(self, i * 32 + (uint32_t)__builtin_ctz(bits));
			bits &= bits - 1;
		}
	}
}

/* Until the child has made its entry it is looked for in all of /proc. */
static void expect_child(struct s5__self *self, uint32_t index)
{
	struct s5__seg *seg = s5__seg_at(index);

	(void)self;
	if (seg)
		(void)s5__a32_add_full(&seg->strays, 1);
}

static void before_fork(void)
{
	if (s5__a32_load_rlx(&any_attached))
		each_attached(expect_child, NULL);
}

static void enter_child(struct s5__self *self, uint32_t index)
{
	struct s5__seg *seg = s5__seg_at(index);
	int id = s5__seg_id_at(index);
	uint32_t parent = (uint32_t)s5__sys(SYS_getppid, 0, 0, 0, 0, 0, 0);
	int n = seg ? s5__maps_count(0, seg->serial) : 0;

	if (n < 0 || !seg || id < 0)
		return; /* it is looked for, then */
	if (n == 0)
		(void)s5__a32_and_full(&attached_bits[index / 32],
				       ~(1u << index % 32));
	else if (s5__attach_note(self, seg, id, s5__attacher_self(),
				 S5__NOTED_FORK, (uint32_t)n, parent) != 0)
		return;
	if (s5__a32_load_rlx(&seg->strays))
		(void)s5__a32_add_full(&seg->strays, UINT32_MAX);
}

static void after_fork_in_child(void)
{
	struct s5__self *self;

	if (!s5__a32_load_rlx(&any_attached) || s5__enter(&self, false) != 0)
		return;
	each_attached(enter_child, self);
	s5__leave(self);
}

static void hook_fork(void)
{
	if (s5__a32_load_rlx(&has_fork_hooks) == 0 &&
	    s5__a32_cas_full(&has_fork_hooks, 0, 1) &&
	    pthread_atfork(before_fork, NULL, after_fork_in_child) != 0)
		s5__a32_store_rlx(&has_fork_hooks, 0);
}

/* --- exit ------------------------------------------------------------------
 */

static void say_left(struct s5__self *self, uint32_t index)
{
	struct s5__seg *seg = s5__seg_at(index);
	int id = s5__seg_id_at(index);

	if (seg && id >= 0)
		s5__attach_leave(self, seg, id, s5__attacher_self());
}

void s5__shm_exit(void)
{
	struct s5__self *self;

	if (!s5__a32_load_rlx(&any_attached) || s5__enter(&self, false) != 0)
		return;
	each_attached(say_left, self);
	s5__leave(self);
}

/* --- shmat -----------------------------------------------------------------
 */

struct place {
	uintptr_t addr;
	int flags; /* of mmap */
};

/* before the id is looked at. */
static int choose_place(const void *addr, int shmflg, struct place *ret_place)
{
	uintptr_t at = (uintptr_t)addr;

	*ret_place = (struct place){at, MAP_SHARED};
	if (at == 0)
		return shmflg & SHM_REMAP ? -EINVAL : 0;
	ret_place->flags |=
		shmflg & SHM_REMAP ? MAP_FIXED : MAP_FIXED_NOREPLACE;
	if (at % S5__PAGE == 0)
		return 0;
	if (!(shmflg & SHM_RND))
		return -EINVAL;
	ret_place->addr = at & ~(uintptr_t)(S5__PAGE - 1);
	if (ret_place->addr == 0) {
		if (shmflg & SHM_REMAP)
			return -EINVAL;
		/* as Linux has it: page 0, whatever is there */
		ret_place->flags = MAP_SHARED | MAP_FIXED;
	}
	return 0;
}

/* Maps the file, which must be as large as the segment says: else touching it
 * would raise SIGBUS. */
static long map_file(struct s5__seg *seg, const struct place *place, int shmflg)
{
	uint64_t len = s5__seg_pages(seg->size) * S5__PAGE;
	int prot = PROT_READ;
	struct stat sb;
	long fd, p;

	if (!(shmflg & SHM_RDONLY))
		prot |= PROT_WRITE;
	if (shmflg & SHM_EXEC)
		prot |= PROT_EXEC;
	if (place->addr + len < place->addr)
		return -EINVAL;
	/* read-only: a later mprotect() cannot make it writable */
	fd = s5__seg_file_open(s5__seg_name(seg),
			       shmflg & SHM_RDONLY ? O_RDONLY : O_RDWR);
	if (fd == -EACCES || fd == -EROFS)
		return -EACCES;
	if (fd < 0)
		return fd == -ENOENT ? -EIDRM : -ENOMEM;
	if (s5__sys(SYS_fstat, fd, (long)&sb, 0, 0, 0, 0) != 0 ||
	    (uint64_t)sb.st_size < len)
		p = -EIDRM;
	else
		p = s5__sys(SYS_mmap, (long)place->addr, (long)len, prot,
			    place->flags, fd, 0);
	(void)s5__sys(SYS_close, fd, 0, 0, 0, 0, 0);
	if ((place->flags & MAP_FIXED_NOREPLACE) && !is_error(p) &&
	    (uintptr_t)p != place->addr) {
		/* a kernel that does not know the flag took it for a hint */
		(void)s5__sys(SYS_munmap, p, (long)len, 0, 0, 0, 0);
		p = -EEXIST;
	}
	return p == -EEXIST ? -EINVAL : p;
}

static long attach(struct s5__self *self, int id, const struct place *place,
		   int shmflg)
{
	uint32_t want = shmflg & SHM_RDONLY ? S5__WANT_READ
					    : S5__WANT_READ | S5__WANT_WRITE;
	struct s5__seg *seg = s5__seg_find(id);
	uint32_t index = (uint32_t)id % S5__IPC_MNI;
	int err;
	long p;

	if (!seg)
		return -EINVAL;
	if (shmflg & SHM_EXEC)
		want |= S5__WANT_EXEC;
	err = s5__perm_check(&seg->ipc, want);
	if (err)
		return err;
	p = map_file(seg, place, shmflg);
	if (is_error(p))
		return p;
	S5_CRASH_POINT("shm-mapped");
	hook_fork();
	(void)s5__a32_or_full(&attached_bits[index / 32], 1u << index % 32);
	s5__a32_store_rlx(&any_attached, 1);
	err = s5__attach_note(self, seg, id, s5__attacher_self(),
			      S5__NOTED_ATTACH, 0, self->pid);
	if (err) {
		(void)s5__sys(SYS_munmap, p,
			      (long)(s5__seg_pages(seg->size) * S5__PAGE), 0, 0,
			      0, 0);
		return err;
	}
	return p;
}

long s5__shmat(int id, const void *addr, int shmflg)
{
	struct s5__self *self;
	struct place place;
	long ret;
	int err;

	if (id < 0)
		return -EINVAL;
	err = choose_place(addr, shmflg, &place);
	if (err)
		return err;
	err = s5__enter(&self, false);
	if (err)
		return err == -EACCES ? -EINVAL : err;
	ret = attach(self, id, &place, shmflg);
	s5__leave(self);
	return ret;
}

/* --- shmdt -----------------------------------------------------------------
 */

/* Looks for the mappings that one shmat() at `addr` made, as far as they are
 * where it put them. */
struct fragments {
	uint64_t addr;
	uint64_t from;	 /* what lies below was looked at */
	uint64_t serial; /* 0: not known yet */
	int n;
	struct {
		uint64_t start, end;
	} at[FRAGMENTS];
};

static bool gather(const struct s5__map *map, void *arg)
{
	struct fragments *f = arg;

	if (map->start < f->from || map->start - map->offset != f->addr)
		return true;
	if (f->serial == 0)
		f->serial = map->serial;
	if (map->serial != f->serial)
		return true;
	f->at[f->n].start = map->start;
	f->at[f->n].end = map->end;
	return ++f->n < FRAGMENTS;
}

static struct s5__seg *find_serial(uint64_t serial, int *ret_id)
{
	for (uint32_t i = 0; i < S5__IPC_MNI; i++) {
		struct s5__seg *seg = s5__seg_at(i);

		if (!seg) {
			i |= (uint32_t)S5__SEG_CHUNK - 1;
			continue;
		}
		if (seg->serial != serial)
			continue;
		*ret_id = s5__seg_id_at(i);
		if (*ret_id >= 0)
			return seg;
	}
	return NULL;
}

/* The process has unmapped some of the segment; notes it. */
static void note_detach(struct s5__self *self, uint64_t serial)
{
	int n = s5__maps_count(0, serial);
	int id = -1;
	struct s5__seg *seg = find_serial(serial, &id);

	S5_CRASH_POINT("shm-unmapped");
	if (!seg)
		return;
	(void)s5__attach_note(self, seg, id, s5__attacher_self(),
			      S5__NOTED_DETACH, n > 0 ? (uint32_t)n : 0,
			      self->pid);
	(void)s5__seg_reap(self, seg, id);
}

static int detach(struct s5__self *self, uint64_t addr)
{
	struct fragments f = {.addr = addr, .from = addr};

	/* Never twice at one place: another thread may have attached there. */
	do {
		f.n = 0;
		(void)s5__maps_each(0, gather, &f);
		for (int i = 0; i < f.n; i++) {
			(void)s5__sys(SYS_munmap, (long)f.at[i].start,
				      (long)(f.at[i].end - f.at[i].start), 0, 0,
				      0, 0);
			f.from = f.at[i].end;
		}
	} while (f.n == FRAGMENTS);
	if (f.serial == 0)
		return -EINVAL;
	note_detach(self, f.serial);
	return 0;
}

int s5__shmdt(const void *addr)
{
	struct s5__self *self;
	int err;

	if ((uintptr_t)addr % S5__PAGE != 0)
		return -EINVAL;
	err = s5__enter(&self, false);
	if (err)
		return err == -EACCES ? -EINVAL : err;
	err = detach(self, (uint64_t)(uintptr_t)addr);
	s5__leave(self);
	return err;
}
