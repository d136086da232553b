/* SPDX-License-Identifier: MIT */
/*
 * sem_ctl.c - semctl
 *
 * Order of checks. User memory is read before and written after
 * the lock. What dead processes left is applied before any value is shown or
 * set.
 */
#include "../base/probe.h"
#include "room.h"
#include "semset.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define SEMMAP		 1024000000
#define SEMMNU		 1024000000
#define SEMUME		 500
#define SEMUSZ		 20
#define SEMVMX		 32767
#define SEMAEM		 32767
#define ADJUSTMENTS_MOST (1u << 20)
#define HERE_MAX	 256u /* values that need no memory of their own */

/* Locks the set of an id for semctl, which has no EINTR. 0 or -EIDRM. */
static int lock_id(struct s5__self *self, int id, struct s5__semset *set,
		   struct s5__wakes *wakes)
{
	int err;

	while ((err = s5__set_lock(self, set, (uint32_t)id, wakes)) == -EAGAIN)
		(void)s5__lock_wait(self);
	return err;
}

/* The same, and nothing of the dead is left undone. */
static int lock_settled(struct s5__self *self, int id, struct s5__semset *set,
			struct s5__wakes *wakes)
{
	int err = lock_id(self, id, set, wakes);

	if (err == 0 && set->undo)
		(void)s5__undo_apply(self, set, wakes);
	return err;
}

static int unlock(struct s5__self *self, int id, struct s5__semset *set,
		  struct s5__wakes *wakes)
{
	s5__set_unlock(self, set, wakes);
	if (wakes->log)
		s5__set_catch_up(self, set, (uint32_t)id, wakes);
	s5__cells_overflow(self);
	return 0;
}

/* --- IPC_STAT and its kin
 * ------------------------------------------------------ */

static void fill_stat(struct s5__semset *set, struct semid_ds *ds)
{
	uint64_t otime = 0;

	memset(ds, 0, sizeof(*ds));
	ds->sem_perm.__key = set->ipc.key;
	ds->sem_perm.uid = s5__a32_load_rlx(&set->ipc.uid);
	ds->sem_perm.gid = s5__a32_load_rlx(&set->ipc.gid);
	ds->sem_perm.cuid = s5__a32_load_rlx(&set->ipc.cuid);
	ds->sem_perm.cgid = s5__a32_load_rlx(&set->ipc.cgid);
	ds->sem_perm.mode = (unsigned short)s5__a32_load_rlx(&set->ipc.mode);
	ds->sem_perm.__seq = (unsigned short)set->ipc.seq;
	for (uint32_t i = 0; i < s5__set_n(set); i++) {
		const struct s5__sem *sem = s5__sem_at(set, i);
		uint64_t t = sem ? s5__a64_load_rlx(&sem->otime) : 0;

		if (t > otime)
			otime = t;
	}
	ds->sem_otime = (time_t)otime;
	ds->sem_ctime = set->ipc.ctime;
	ds->sem_nsems = s5__set_n(set);
}

static int stat_set(struct s5__self *self, int id, int cmd, void *user)
{
	struct s5__wakes wakes = {.n = 0};
	struct s5__semset *set;
	struct semid_ds ds;
	int ret = 0, err;

	if (cmd == IPC_STAT) {
		set = s5__set_find(id);
	} else {
		uint32_t at;

		set = s5__set_at((uint32_t)id % S5__IPC_MNI);
		/* PAIR set-id: acquire */
		at = set ? s5__a32_load_acq(&set->id) : 0;
		if (at == 0)
			return -EINVAL;
		id = (int)(at - 1);
		ret = id;
	}
	if (!set)
		return -EINVAL;
	err = cmd == SEM_STAT_ANY ? 0
				  : s5__perm_check(&set->ipc, S5__WANT_READ);
	if (err == 0)
		err = lock_settled(self, id, set, &wakes);
	if (err)
		return err;
	fill_stat(set, &ds);
	(void)unlock(self, id, set, &wakes);
	if (s5__probe(user, sizeof(ds), S5__PROBE_WRITE))
		return -EFAULT;
	memcpy(user, &ds, sizeof(ds));
	return ret;
}

static int set_set(struct s5__self *self, int id, const void *user)
{
	struct s5__wakes wakes = {.n = 0};
	struct s5__semset *set;
	struct semid_ds ds;
	int err;

	if (s5__probe(user, sizeof(ds), S5__PROBE_READ))
		return -EFAULT;
	memcpy(&ds, user, sizeof(ds));
	set = s5__set_find(id);
	if (!set)
		return -EINVAL;
	err = s5__perm_owner(&set->ipc);
	if (err)
		return err;
	if (ds.sem_perm.uid == (uid_t)-1 || ds.sem_perm.gid == (gid_t)-1)
		return -EINVAL;
	if (lock_id(self, id, set, &wakes) != 0)
		return -EINVAL; /* as if it had been gone before */
	s5__tx_log64(self, &set->ipc.ctime);
	s5__tx_log32(self, s5__a32_raw(&set->ipc.uid));
	s5__tx_log32(self, s5__a32_raw(&set->ipc.gid));
	s5__tx_log32(self, s5__a32_raw(&set->ipc.mode));
	s5__tx_arm(self);
	set->ipc.ctime = s5__now_s();
	s5__a32_store_rlx(&set->ipc.uid, ds.sem_perm.uid);
	s5__a32_store_rlx(&set->ipc.gid, ds.sem_perm.gid);
	s5__a32_store_rlx(&set->ipc.mode, ds.sem_perm.mode & 0777u);
	s5__tx_commit(self);
	return unlock(self, id, set, &wakes);
}

/* All words are kept from the fast path first; then one store removes it. */
static int remove_set(struct s5__self *self, int id)
{
	struct s5__semset *set = s5__set_find(id);
	struct s5__wakes wakes = {.n = 0};
	struct s5__slot *s = self->slot;
	int err;

	if (!set)
		return -EINVAL;
	err = s5__perm_owner(&set->ipc);
	if (err)
		return err;
	if (lock_id(self, id, set, &wakes) != 0)
		return -EINVAL; /* as if it had been gone before */
	s->dismantle = S5__KIND_SEM << S5__DISMANTLE_KIND |
		       ((uint32_t)id % S5__IPC_MNI + 1);
	self->unfinished |= S5__UNFINISHED_REMOVE;
	s5__set_freeze(set);
	s5__tx_log32(self, s5__a32_raw(&set->id));
	s5__tx_log64(self, &set->ipc.phase);
	s5__tx_arm(self);
	set->ipc.phase = S5__PHASE_DYING;
	set->ipc.dying = (uint32_t)id + 1;
	s5__a32_store_rel(&set->id, 0); /* PAIR set-id: release */
	s5__tx_commit(self);
	s5__set_unlock(self, set, &wakes);
	S5_CRASH_POINT("sem-rmid-committed");
	s5__set_dismantle(self, (uint32_t)id % S5__IPC_MNI);
	self->unfinished &= ~S5__UNFINISHED_REMOVE;
	s->dismantle = 0;
	return 0;
}

/* --- values
 * --------------------------------------------------------------------- */

static int get_one(struct s5__self *self, int id, int semnum, int cmd)
{
	struct s5__semset *set = s5__set_find(id);
	struct s5__wakes wakes = {.n = 0};
	const struct s5__sem *sem;
	uint64_t word;
	int ret;

	if (!set)
		return -EINVAL;
	ret = s5__perm_check(&set->ipc, S5__WANT_READ);
	if (ret)
		return ret;
	if (semnum < 0 || (uint32_t)semnum >= s5__set_n(set))
		return -EINVAL;
	ret = lock_settled(self, id, set, &wakes);
	if (ret)
		return ret;
	sem = s5__sem_at(set, (uint32_t)semnum);
	word = sem ? s5__a64_load_rlx(&sem->word) : 0;
	switch (cmd) {
	case GETVAL:
		ret = (int)(word & S5__SEM_VALUE);
		break;
	case GETPID:
		ret = (int)(word >> 32);
		break;
	case GETNCNT:
		ret = s5__set_count(self, set, (uint32_t)semnum, false, &wakes);
		break;
	default:
		ret = s5__set_count(self, set, (uint32_t)semnum, true, &wakes);
		break;
	}
	(void)unlock(self, id, set, &wakes);
	return ret;
}

/* Values in private memory. */
struct values {
	unsigned short here[HERE_MAX];
	unsigned short *v;
	uint32_t n;
};

static int values_make(struct values *values, uint32_t n)
{
	long p;

	values->n = n;
	values->v = values->here;
	if (n <= HERE_MAX)
		return 0;
	p = s5__sys(SYS_mmap, 0, (long)(n * sizeof(values->v[0])),
		    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p < 0 && p >= -4095)
		return -ENOMEM;
	values->v = (unsigned short *)p;
	return 0;
}

static void values_free(struct values *values)
{
	if (values->v != values->here)
		(void)s5__sys(SYS_munmap, (long)values->v,
			      (long)(values->n * sizeof(values->v[0])), 0, 0, 0,
			      0);
}

static int get_all(struct s5__self *self, int id, void *user)
{
	struct s5__semset *set = s5__set_find(id);
	struct s5__wakes wakes = {.n = 0};
	struct values values;
	int err;

	if (!set)
		return -EINVAL;
	err = s5__perm_check(&set->ipc, S5__WANT_READ);
	if (err == 0)
		err = values_make(&values, s5__set_n(set));
	if (err)
		return err;
	err = lock_settled(self, id, set, &wakes);
	if (err == 0) {
		s5__set_freeze(set); /* so that one moment is seen */
		for (uint32_t i = 0; i < values.n; i++) {
			const struct s5__sem *sem = s5__sem_at(set, i);

			values.v[i] =
				sem ? (unsigned short)(s5__a64_load_rlx(
							       &sem->word) &
						       S5__SEM_VALUE)
				    : 0;
		}
		s5__set_thaw(set);
		(void)unlock(self, id, set, &wakes);
		if (s5__probe(user, values.n * sizeof(values.v[0]),
			      S5__PROBE_WRITE))
			err = -EFAULT;
		else
			memcpy(user, values.v, values.n * sizeof(values.v[0]));
	}
	values_free(&values);
	return err;
}

/* One semaphore's new value; logged. */
static void store_value(struct s5__self *self, struct s5__semset *set,
			uint32_t num, int value)
{
	struct s5__sem *sem = s5__sem_at(set, num);
	uint64_t word;

	if (!sem)
		return;
	s5__sem_freeze(sem);
	word = s5__a64_load_rlx(&sem->word);
	s5__tx_log64(self, &sem->word);
	s5__tx_arm(self);
	s5__a64_store_rlx(&sem->word, (word & (S5__SEM_SLOW | S5__SEM_GEN)) |
					      (uint64_t)value |
					      (uint64_t)self->slot->pid << 32);
	S5_CRASH_POINT("sem-set");
}

/* How many adjustments processes have for the set: log entries. */
static uint32_t count_adjustments(struct s5__semset *set)
{
	uint32_t n = 0, cell = set->undo;

	for (uint32_t k = 0; cell && k < s5__proc_count(); k++) {
		const struct s5__undo *u = s5__undo_at(cell);

		cell = u ? u->rec_next : 0;
		while (u && n < ADJUSTMENTS_MOST) {
			n += S5__UNDO_ADJ;
			u = u->next ? s5__undo_at(u->next) : NULL;
		}
	}
	return n;
}

/* SETVAL (n 1, from `first` on) and SETALL: all values or none, everybody's
 * adjustments forgotten, and who can proceed is served. */
static int set_values(struct s5__self *self, int id, struct s5__semset *set,
		      uint32_t first, const unsigned short *v, uint32_t n)
{
	struct s5__wakes wakes = {.n = 0};
	int err;

	for (;;) {
		uint32_t log;

		err = lock_settled(self, id, set, &wakes);
		if (err)
			break;
		log = n + count_adjustments(set) + 8;
		if (log <= self->log_cap)
			break;
		(void)unlock(self, id, set, &wakes);
		while ((err = s5__log_extend(self, log)) == -EAGAIN)
			(void)s5__lock_wait(self);
		if (err)
			break;
	}
	if (err) {
		s5__log_shrink(self);
		return err;
	}
	for (uint32_t i = 0; i < n; i++) {
		store_value(self, set, first + i, v[i]);
		s5__undo_clear(self, set, first + i);
	}
	s5__tx_log64(self, &set->ipc.ctime);
	s5__tx_log32(self, &set->due);
	s5__tx_arm(self);
	set->ipc.ctime = s5__now_s();
	set->due = 1;
	s5__tx_commit(self);
	(void)s5__set_update(self, set, NULL, &wakes);
	if (n == s5__set_n(set)) {
		s5__set_thaw(set);
	} else {
		const struct s5__op op = {(uint16_t)first, 0, 0, 0};
		const struct s5__ops ops = {.array = &op, .n = 1};

		s5__ops_thaw(set, &ops);
	}
	(void)unlock(self, id, set, &wakes);
	s5__log_shrink(self);
	return 0;
}

static int set_one(struct s5__self *self, int id, int semnum, int value)
{
	unsigned short v = (unsigned short)value;
	struct s5__semset *set;
	int err;

	if (value < 0 || value > SEMVMX)
		return -ERANGE;
	set = s5__set_find(id);
	if (!set || semnum < 0 || (uint32_t)semnum >= s5__set_n(set))
		return -EINVAL;
	err = s5__perm_check(&set->ipc, S5__WANT_WRITE);
	return err ? err : set_values(self, id, set, (uint32_t)semnum, &v, 1);
}

static int set_all(struct s5__self *self, int id, const void *user)
{
	struct s5__semset *set = s5__set_find(id);
	struct values values;
	int err;

	if (!set)
		return -EINVAL;
	err = s5__perm_check(&set->ipc, S5__WANT_WRITE);
	if (err == 0)
		err = values_make(&values, s5__set_n(set));
	if (err)
		return err;
	if (s5__probe(user, values.n * sizeof(values.v[0]), S5__PROBE_READ)) {
		err = -EFAULT;
	} else {
		memcpy(values.v, user, values.n * sizeof(values.v[0]));
		for (uint32_t i = 0; i < values.n; i++)
			if (values.v[i] > SEMVMX)
				err = -ERANGE;
	}
	if (err == 0)
		err = set_values(self, id, set, 0, values.v, values.n);
	values_free(&values);
	return err;
}

/* --- IPC_INFO, SEM_INFO
 * ----------------------------------------------------------- */

static int info(int cmd, void *user)
{
	struct s5__header *h = s5__header();
	struct seminfo si;
	uint64_t sets = 0, sems = 0;
	int highest = 0;

	for (uint32_t i = 0; i < S5__IPC_MNI; i++) {
		struct s5__semset *set = s5__set_at(i);

		if (!set) {
			i |= (uint32_t)S5__SET_CHUNK - 1;
			continue;
		}
		if (s5__a32_load_acq(&set->id) == 0) /* PAIR set-id: acquire */
			continue;
		highest = (int)i;
		sets++;
		sems += s5__set_n(set);
	}
	memset(&si, 0, sizeof(si));
	si.semmni = (int)s5__a64_load_rlx(&h->semmni);
	si.semmns = (int)s5__a64_load_rlx(&h->semmns);
	si.semmsl = (int)s5__a64_load_rlx(&h->semmsl);
	si.semopm = (int)s5__a64_load_rlx(&h->semopm);
	si.semmap = SEMMAP;
	si.semmnu = SEMMNU;
	si.semume = SEMUME;
	si.semvmx = SEMVMX;
	si.semusz = cmd == SEM_INFO ? (int)sets : SEMUSZ;
	si.semaem = cmd == SEM_INFO ? (int)sems : SEMAEM;
	if (s5__probe(user, sizeof(si), S5__PROBE_WRITE))
		return -EFAULT;
	memcpy(user, &si, sizeof(si));
	return highest;
}

static int control(struct s5__self *self, int id, int semnum, int cmd,
		   unsigned long arg)
{
	void *user = (void *)arg;

	switch (cmd) {
	case IPC_INFO:
	case SEM_INFO:
		return info(cmd, user);
	case IPC_STAT:
	case SEM_STAT:
	case SEM_STAT_ANY:
		return stat_set(self, id, cmd, user);
	case GETALL:
		return get_all(self, id, user);
	case SETALL:
		return set_all(self, id, user);
	case GETVAL:
	case GETPID:
	case GETNCNT:
	case GETZCNT:
		return get_one(self, id, semnum, cmd);
	case SETVAL:
		return set_one(self, id, semnum, (int)arg);
	case IPC_SET:
		return set_set(self, id, user);
	case IPC_RMID:
		return remove_set(self, id);
	default:
		return -EINVAL;
	}
}

int s5__semctl(int id, int semnum, int cmd, unsigned long arg)
{
	/* Limits there are also where no set was ever made. */
	bool create = cmd == IPC_INFO || cmd == SEM_INFO;
	struct s5__self *self;
	int ret = s5__enter(&self, create);

	if (ret)
		return ret == -EACCES ? -EINVAL : ret;
	ret = id < 0 ? -EINVAL : control(self, id, semnum, cmd, arg);
	s5__leave(self);
	return ret;
}
