/* SPDX-License-Identifier: MIT */
/*
 * shm_ctl.c - shmctl
 *
 * Order of checks. User memory is read before and written after
 * the lock.
 */
#include "../base/probe.h"
#include "room.h"
#include "seg.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#ifndef SHM_STAT_ANY
#define SHM_STAT_ANY 15
#endif

static void fill_stat(const struct s5__seg *seg, uint32_t nattch,
		      struct shmid_ds *ds)
{
	memset(ds, 0, sizeof(*ds));
	ds->shm_perm.__key = seg->ipc.key;
	ds->shm_perm.uid = s5__a32_load_rlx(&seg->ipc.uid);
	ds->shm_perm.gid = s5__a32_load_rlx(&seg->ipc.gid);
	ds->shm_perm.cuid = s5__a32_load_rlx(&seg->ipc.cuid);
	ds->shm_perm.cgid = s5__a32_load_rlx(&seg->ipc.cgid);
	ds->shm_perm.mode = (unsigned short)s5__seg_mode(seg);
	ds->shm_perm.__seq = (unsigned short)seg->ipc.seq;
	ds->shm_segsz = seg->size;
	ds->shm_atime = seg->atime;
	ds->shm_dtime = seg->dtime;
	ds->shm_ctime = seg->ipc.ctime;
	ds->shm_cpid = (pid_t)seg->cpid;
	ds->shm_lpid = (pid_t)seg->lpid;
	ds->shm_nattch = nattch;
}

/* IPC_STAT, and by index SHM_STAT and SHM_STAT_ANY. */
static int stat_segment(struct s5__self *self, int id, int cmd,
			struct shmid_ds *user)
{
	struct s5__seg *seg;
	struct shmid_ds ds;
	uint32_t nattch;
	int ret = 0;
	int err;

	if (cmd != IPC_STAT) {
		id = s5__seg_id_at((uint32_t)id % S5__IPC_MNI);
		ret = id;
	}
	seg = s5__seg_find(id);
	if (!seg || s5__seg_reap(self, seg, id))
		return -EINVAL;
	err = cmd == SHM_STAT_ANY ? 0
				  : s5__perm_check(&seg->ipc, S5__WANT_READ);
	if (err)
		return err;
	nattch = s5__attach_count(self, seg, id);
	err = s5__seg_lock(self, id, seg);
	if (err)
		return err;
	fill_stat(seg, nattch, &ds);
	s5__unlock(self, &seg->lock);
	if (s5__probe(user, sizeof(ds), S5__PROBE_WRITE))
		return -EFAULT;
	memcpy(user, &ds, sizeof(ds));
	return ret;
}

static int set_segment(struct s5__self *self, int id,
		       const struct shmid_ds *user)
{
	struct s5__seg *seg;
	struct shmid_ds ds;
	int err;

	if (s5__probe(user, sizeof(ds), S5__PROBE_READ))
		return -EFAULT;
	memcpy(&ds, user, sizeof(ds));
	seg = s5__seg_find(id);
	if (!seg)
		return -EINVAL;
	err = s5__perm_owner(&seg->ipc);
	if (err)
		return err;
	if (ds.shm_perm.uid == (uid_t)-1 || ds.shm_perm.gid == (gid_t)-1)
		return -EINVAL;
	err = s5__seg_lock(self, id, seg);
	if (err)
		return err;
	s5__tx_log64(self, &seg->ipc.ctime);
	s5__tx_log32(self, s5__a32_raw(&seg->ipc.uid));
	s5__tx_log32(self, s5__a32_raw(&seg->ipc.gid));
	s5__tx_log32(self, s5__a32_raw(&seg->ipc.mode));
	s5__tx_arm(self);
	seg->ipc.ctime = s5__now_s();
	s5__a32_store_rlx(&seg->ipc.uid, ds.shm_perm.uid);
	s5__a32_store_rlx(&seg->ipc.gid, ds.shm_perm.gid);
	s5__a32_store_rlx(&seg->ipc.mode, ds.shm_perm.mode & 0777u);
	s5__tx_commit(self);
	s5__unlock(self, &seg->lock);
	return 0;
}

/* marked, its key free; gone with the last attachment. */
static int remove_segment(struct s5__self *self, int id)
{
	struct s5__seg *seg = s5__seg_find(id);
	int err;

	if (!seg)
		return -EINVAL;
	err = s5__perm_owner(&seg->ipc);
	if (err)
		return err;
	while ((err = s5__names_disown(self, &s5__shm_kind, id, &seg->dest)) ==
	       -EAGAIN)
		(void)s5__lock_wait(self);
	if (err)
		return err;
	S5_CRASH_POINT("shm-marked");
	(void)s5__seg_reap(self, seg, id);
	return 0;
}

/* --- SHM_LOCK (A-170) ------------------------------------------------------
 */

/* Bytes of segments that this user keeps locked. */
static uint64_t locked_bytes(uint32_t euid)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < S5__IPC_MNI; i++) {
		const struct s5__seg *seg = s5__seg_at(i);

		if (!seg)
			i |= (uint32_t)S5__SEG_CHUNK - 1;
		else if (s5__hint(&seg->locker) == euid + 1 &&
			 s5__seg_id_at(i) >= 0)
			sum += s5__seg_pages(seg->size) * S5__PAGE;
	}
	return sum;
}

static int may_lock(const struct s5__seg *seg, int cmd)
{
	struct {
		uint64_t cur, max;
	} lim = {RLIM_INFINITY, RLIM_INFINITY};

	if (s5__perm_capable(S5__CAP_IPC_LOCK))
		return 0;
	if (s5__perm_euid() != s5__a32_load_rlx(&seg->ipc.uid) &&
	    s5__perm_euid() != s5__a32_load_rlx(&seg->ipc.cuid))
		return -EPERM;
	if (cmd == SHM_UNLOCK || seg->locker)
		return 0;
	(void)s5__sys(SYS_prlimit64, 0, RLIMIT_MEMLOCK, 0, (long)&lim, 0, 0);
	if (lim.cur == 0)
		return -EPERM;
	return lim.cur - locked_bytes(s5__perm_euid()) <
				       s5__seg_pages(seg->size) * S5__PAGE ||
			       lim.cur < locked_bytes(s5__perm_euid())
		       ? -ENOMEM
		       : 0;
}

static int lock_segment(struct s5__self *self, int id, int cmd)
{
	struct s5__seg *seg = s5__seg_find(id);
	int err;

	if (!seg)
		return -EINVAL;
	err = may_lock(seg, cmd);
	if (err == 0)
		err = s5__seg_lock(self, id, seg);
	if (err)
		return err;
	if (cmd == SHM_UNLOCK)
		seg->locker = 0;
	else if (seg->locker == 0)
		seg->locker = s5__perm_euid() + 1;
	s5__unlock(self, &seg->lock);
	return 0;
}

/* --- IPC_INFO, SHM_INFO (A-171) --------------------------------------------
 */

/* Sums up all segments; the highest index in use, or 0. */
static int sum_up(struct s5__self *self, struct shm_info *ret_info)
{
	uint64_t rss = 0;
	int highest = 0;

	memset(ret_info, 0, sizeof(*ret_info));
	s5__seg_reap_all(self);
	for (uint32_t i = 0; i < S5__IPC_MNI; i++) {
		struct s5__seg *seg = s5__seg_at(i);
		int id = seg ? s5__seg_id_at(i) : -1;

		if (!seg) {
			i |= (uint32_t)S5__SEG_CHUNK - 1;
			continue;
		}
		if (id < 0)
			continue;
		highest = (int)i;
		ret_info->used_ids++;
		ret_info->shm_tot += s5__seg_pages(seg->size);
		rss += s5__seg_file_rss(s5__seg_name(seg));
	}
	ret_info->shm_rss = rss / S5__PAGE;
	return highest;
}

static int info(struct s5__self *self, int cmd, void *user)
{
	const struct s5__header *h = s5__header();
	struct shm_info sum;
	int highest = sum_up(self, &sum);

	if (cmd == IPC_INFO) {
		struct shminfo limits;

		memset(&limits, 0, sizeof(limits));
		limits.shmmax = s5__a64_load_rlx(&h->shmmax);
		limits.shmmin = 1;
		limits.shmmni = s5__a64_load_rlx(&h->shmmni);
		limits.shmseg = limits.shmmni;
		limits.shmall = s5__a64_load_rlx(&h->shmall);
		if (s5__probe(user, sizeof(limits), S5__PROBE_WRITE))
			return -EFAULT;
		memcpy(user, &limits, sizeof(limits));
	} else {
		if (s5__probe(user, sizeof(sum), S5__PROBE_WRITE))
			return -EFAULT;
		memcpy(user, &sum, sizeof(sum));
	}
	return highest;
}

static int control(struct s5__self *self, int id, int cmd,
		   struct shmid_ds *user)
{
	switch (cmd) {
	case IPC_STAT:
	case SHM_STAT:
	case SHM_STAT_ANY:
		return stat_segment(self, id, cmd, user);
	case IPC_SET:
		return set_segment(self, id, user);
	case IPC_RMID:
		return remove_segment(self, id);
	case SHM_LOCK:
	case SHM_UNLOCK:
		return lock_segment(self, id, cmd);
	case IPC_INFO:
	case SHM_INFO:
		return info(self, cmd, user);
	default:
		return -EINVAL;
	}
}

int s5__shmctl(int id, int cmd, struct shmid_ds *user)
{
	/* Limits there are also where no segment was ever made. */
	bool create = cmd == IPC_INFO || cmd == SHM_INFO;
	struct s5__self *self;
	int ret = s5__enter(&self, create);

	if (ret)
		return ret == -EACCES ? -EINVAL : ret;
	ret = id < 0 || cmd < 0 ? -EINVAL : control(self, id, cmd, user);
	s5__leave(self);
	return ret;
}
