/* SPDX-License-Identifier: MIT */
/*
 * attach.c - who has a segment mapped, and how often
 *
 * An attacher has an entry; how many mappings it has is looked up in its
 * /proc/PID/maps when somebody asks. Where that cannot be read (another user,
 * another pid namespace, no /proc) the entry's count stands, as long as the
 * process does. A process without an entry is found by looking through all of
 * /proc, if there may be one (`strays`). A count that comes out zero is
 * confirmed by the kernel, which knows of every mapping.
 *
 * Who attaches maps first and then makes its entry, under the lock and after a
 * look at the id; who destroys asks the kernel first and then takes the id
 * away, under the lock. So one of them sees the other.
 */
#include "seg.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#define COUNT_TRIES 8
#define ASK_TRIES   3 /* of the kernel: others may be asking, too */

struct s5__attacher s5__attacher_self(void)
{
	/* A vfork child attaches to its parent's memory, which is its. */
	return (struct s5__attacher){
		s5__a32_load_rlx(&s5__process.pid),
		(uint32_t)s5__a64_load_rlx(&s5__process.start),
		(uint32_t)s5__a64_load_rlx(&s5__process.pid_ns),
	};
}

static bool is_same(const struct s5__attach *a, struct s5__attacher who)
{
	return a->pid == who.pid && a->start == who.start && a->ns == who.ns;
}

/* The block after this one, or NULL. */
static struct s5__attaches *next_block(const struct s5__attaches *b)
{
	uint32_t next = s5__hint(&b->next);

	return next ? (struct s5__attaches *)(void *)s5__cell_at(next) : NULL;
}

/* --- noting; lock held -----------------------------------------------------
 */

struct found {
	struct s5__attach *mine, *unused;
	struct s5__attaches *last;
};

static struct found find(struct s5__seg *seg, struct s5__attacher who)
{
	struct found f = {NULL, NULL, &seg->attaches};

	for (uint32_t n = 0; n < S5__ATTACH_BLOCKS; n++) {
		struct s5__attaches *next;

		for (uint32_t i = 0; i < S5__ATTACHES; i++) {
			struct s5__attach *a = &f.last->at[i];

			if (a->count == 0 && !f.unused)
				f.unused = a;
			else if (a->count && is_same(a, who))
				f.mine = a;
		}
		next = next_block(f.last);
		if (!next)
			break;
		f.last = next;
	}
	return f;
}

/* Adds a block of entries behind `last`, from the thread's magazine; logs and
 * arms. NULL: there is none, or damage. */
static struct s5__attach *add_block(struct s5__self *self,
				    struct s5__attaches *last)
{
	struct s5__slot *s = self->slot;
	uint32_t cell = s5__cell_peek(self);
	struct s5__attaches *b =
		(struct s5__attaches *)(void *)(cell ? s5__cell_at(cell)
						     : NULL);

	if (!b || last->next)
		return NULL;
	s5__tx_log32(self, &last->next);
	s5__tx_log32(self, &s->mag[0]);
	s5__tx_log32(self, &s->mag_n[0]);
	s5__tx_arm(self);
	b->next = 0;
	memset(b->at, 0, sizeof(b->at));
	last->next = cell;
	s->mag[0] = b->mag_next;
	s->mag_n[0]--;
	return &b->at[0];
}

static void store(struct s5__self *self, struct s5__seg *seg,
		  struct s5__attach *a, enum s5__noted what, uint32_t count,
		  uint32_t by)
{
	int64_t *when = what == S5__NOTED_DETACH ? &seg->dtime : &seg->atime;
	int64_t now = s5__now_s();

	if (what == S5__NOTED_DETACH && a && a->left)
		now = a->left;
	s5__tx_log64(self, when);
	s5__tx_log32(self, &seg->lpid);
	s5__tx_log32(self, &seg->attaches.attached);
	if (a)
		s5__tx_log32(self, &a->count);
	s5__tx_arm(self);
	*when = now;
	seg->lpid = by;
	if (a)
		a->count = count;
	if (what != S5__NOTED_DETACH)
		seg->attaches.attached++;
	s5__tx_commit(self);
	S5_CRASH_POINT("shm-noted");
}

static struct s5__attach *entry_for(struct s5__self *self, struct s5__seg *seg,
				    struct s5__attacher who)
{
	struct found f = find(seg, who);
	struct s5__attach *a = f.mine;

	if (a)
		return a;
	a = f.unused ? f.unused : add_block(self, f.last);
	if (!a)
		return NULL;
	a->pid = who.pid;
	a->start = who.start;
	a->ns = who.ns;
	a->left = 0;
	return a;
}

int s5__attach_note(struct s5__self *self, struct s5__seg *seg, int id,
		    struct s5__attacher who, enum s5__noted what, uint32_t n,
		    uint32_t by)
{
	struct s5__attach *a;
	int err;

	while (what != S5__NOTED_DETACH &&
	       s5__cells_reserve(self, 1) == -EAGAIN)
		(void)s5__lock_wait(self);
	/* No memory: there may be an entry all the same. */
	err = s5__seg_lock(self, id, seg);
	if (err)
		return err;
	a = what == S5__NOTED_DETACH ? find(seg, who).mine
				     : entry_for(self, seg, who);
	if (!a && what != S5__NOTED_DETACH)
		err = -ENOMEM;
	else
		store(self, seg, a, what,
		      what == S5__NOTED_ATTACH ? a->count + 1 : n, by);
	s5__unlock(self, &seg->lock);
	return err;
}

void s5__attach_leave(struct s5__self *self, struct s5__seg *seg, int id,
		      struct s5__attacher who)
{
	struct s5__attach *a;

	if (s5__seg_lock(self, id, seg) != 0)
		return;
	a = find(seg, who).mine;
	if (a)
		a->left = (uint32_t)s5__now_s();
	s5__unlock(self, &seg->lock);
}

/* --- counting --------------------------------------------------------------
 */

struct counting {
	struct s5__self *self;
	struct s5__seg *seg;
	int id;
	uint32_t sum;
	uint32_t believed; /* of them, by entries that nobody could verify */
	uint32_t extra;	   /* of processes that there was no entry for */
};

static bool is_gone(uint32_t pid)
{
	return s5__sys(SYS_kill, (long)pid, 0, 0, 0, 0, 0) == -ESRCH;
}

/* How many mappings the process of an entry has. *ret_believed: nobody knows,
 * this is what the entry says. */
static uint32_t look_up(const struct s5__attach *a, uint64_t serial,
			bool *ret_believed)
{
	struct s5__attacher me = s5__attacher_self();
	uint64_t start;
	int n;

	*ret_believed = true;
	if (a->ns != me.ns)
		return a->count;
	start = s5__maps_start(a->pid);
	if (start == 0 || a->start == 0) /* or it is hidden from us */
		return is_gone(a->pid) ? 0 : a->count;
	if ((uint32_t)start != a->start)
		return 0; /* another process has its pid */
	n = s5__maps_count(a->pid, serial);
	if (n < 0)
		return is_gone(a->pid) ? 0 : a->count;
	*ret_believed = false;
	return (uint32_t)n;
}

/* What was seen goes to the entry, unless that has changed meanwhile. */
static void update(const struct counting *c, struct s5__attach *a,
		   const struct s5__attach *was, uint32_t n)
{
	if (s5__seg_lock(c->self, c->id, c->seg) != 0)
		return;
	if (a->pid == was->pid && a->start == was->start && a->ns == was->ns &&
	    a->count == was->count)
		store(c->self, c->seg, a,
		      n < was->count ? S5__NOTED_DETACH : S5__NOTED_FORK, n,
		      was->pid);
	s5__unlock(c->self, &c->seg->lock);
}

static void count_block(struct counting *c, struct s5__attaches *b)
{
	struct s5__attach at[S5__ATTACHES];

	if (s5__seg_lock(c->self, c->id, c->seg) != 0)
		return;
	memcpy(at, b->at, sizeof(at));
	s5__unlock(c->self, &c->seg->lock);
	for (uint32_t i = 0; i < S5__ATTACHES; i++) {
		bool believed;
		uint32_t n;

		if (at[i].count == 0)
			continue;
		n = look_up(&at[i], c->seg->serial, &believed);
		if (n != at[i].count)
			update(c, &b->at[i], &at[i], n);
		c->sum += n;
		c->believed += believed ? n : 0;
	}
}

static void count_entries(struct counting *c)
{
	struct s5__attaches *b = &c->seg->attaches;

	c->sum = 0;
	c->believed = 0;
	for (uint32_t n = 0; b && n < S5__ATTACH_BLOCKS; n++) {
		count_block(c, b);
		b = next_block(b);
	}
}

/* A process that has the segment mapped and has no entry gets one. */
static bool adopt(uint32_t pid, void *arg)
{
	struct counting *c = arg;
	struct s5__attacher who = s5__attacher_self();
	bool known;
	int n;

	who.pid = pid;
	n = s5__maps_count(pid, c->seg->serial);
	if (n <= 0)
		return true;
	who.start = (uint32_t)s5__maps_start(pid);
	if (s5__seg_lock(c->self, c->id, c->seg) != 0)
		return false;
	known = find(c->seg, who).mine != NULL;
	s5__unlock(c->self, &c->seg->lock);
	if (known)
		return true;
	if (s5__attach_note(c->self, c->seg, c->id, who, S5__NOTED_FORK,
			    (uint32_t)n, pid) != 0)
		c->extra += (uint32_t)n;
	return true;
}

/* Everybody, with `all` also those without an entry. */
static void count_all(struct counting *c, bool all)
{
	c->extra = 0;
	if (all)
		(void)s5__maps_processes(adopt, c);
	count_entries(c);
	c->sum += c->extra;
}

/* Nobody had it mapped when there had been that many attaches: entries that
 * could not be verified are of processes that are gone. False if somebody has
 * attached since. */
static bool forget_all(struct counting *c, uint32_t attached)
{
	struct s5__attaches *b = &c->seg->attaches;
	bool same;

	if (s5__seg_lock(c->self, c->id, c->seg) != 0)
		return true;
	same = b->attached == attached;
	for (uint32_t n = 0; same && b && n < S5__ATTACH_BLOCKS; n++) {
		for (uint32_t i = 0; i < S5__ATTACHES; i++) {
			if (b->at[i].count)
				store(c->self, c->seg, &b->at[i],
				      S5__NOTED_DETACH, 0, b->at[i].pid);
		}
		b = next_block(b);
	}
	if (same)
		s5__a32_store_rlx(&c->seg->strays, 0);
	s5__unlock(c->self, &c->seg->lock);
	return same;
}

/* No mapping is known that is beyond doubt. True if what was counted stands. */
static bool confirm(struct counting *c)
{
	uint32_t attached = s5__hint(&c->seg->attaches.attached);

	switch (s5__seg_file_in_use(s5__seg_name(c->seg))) {
	case S5__IN_USE_NO:
		c->sum = 0;
		return forget_all(c, attached);
	case S5__IN_USE_YES:
		count_all(c, true);
		return c->sum > 0;
	default:
		count_all(c, true);
		return true;
	}
}

uint32_t s5__attach_count(struct s5__self *self, struct s5__seg *seg, int id)
{
	struct counting c = {self, seg, id, 0, 0, 0};
	uint32_t attached;
	int tries = 0;

	do { /* an entry made meanwhile may have been missed */
		attached = s5__hint(&seg->attaches.attached);
		count_all(&c, s5__a32_load_rlx(&seg->strays) != 0);
	} while (attached != s5__hint(&seg->attaches.attached) &&
		 ++tries < COUNT_TRIES);
	for (int i = 0; i < ASK_TRIES && c.sum == c.believed; i++) {
		if (confirm(&c))
			return c.sum;
	}
	/* Somebody has it, whom /proc does not show. */
	return c.sum ? c.sum : 1;
}

/* --- destruction ---------------------------------------------------------- */

static bool has_attachers(const struct s5__seg *seg)
{
	const struct s5__attaches *b = &seg->attaches;

	for (uint32_t n = 0; b && n < S5__ATTACH_BLOCKS; n++) {
		for (uint32_t i = 0; i < S5__ATTACHES; i++) {
			if (b->at[i].count)
				return true;
		}
		b = next_block(b);
	}
	return false;
}

bool s5__seg_reap(struct s5__self *self, struct s5__seg *seg, int id)
{
	struct s5__slot *s = self->slot;
	uint32_t index = (uint32_t)id % S5__IPC_MNI;
	bool gone;

	if (s5__hint(&seg->dest) == 0 || s5__attach_count(self, seg, id) != 0)
		return false;
	if (s5__seg_lock(self, id, seg) != 0)
		return true;
	gone = !has_attachers(seg);
	if (gone) {
		s->dismantle = S5__KIND_SHM << S5__DISMANTLE_KIND | (index + 1);
		self->unfinished |= S5__UNFINISHED_REMOVE;
		s5__tx_log32(self, s5__a32_raw(&seg->id));
		s5__tx_log64(self, &seg->ipc.phase);
		s5__tx_arm(self);
		seg->ipc.phase = S5__PHASE_DYING;
		seg->ipc.dying = (uint32_t)id + 1;
		s5__a32_store_rel(&seg->id, 0); /* PAIR seg-id: release */
		s5__tx_commit(self);
	}
	s5__unlock(self, &seg->lock);
	if (gone) {
		S5_CRASH_POINT("shm-reap-committed");
		s5__shm_kind.dismantle(self, index);
		self->unfinished &= ~S5__UNFINISHED_REMOVE;
		self->slot->dismantle = 0;
	}
	return gone;
}

void s5__seg_reap_all(struct s5__self *self)
{
	for (uint32_t i = 0; i < S5__IPC_MNI; i++) {
		struct s5__seg *seg = s5__seg_at(i);
		int id = seg ? s5__seg_id_at(i) : -1;

		if (!seg)
			i |= (uint32_t)S5__SEG_CHUNK - 1;
		else if (s5__hint(&seg->ipc.phase) == S5__PHASE_DYING)
			s5__shm_kind.dismantle(self, i); /* who began died */
		else if (id >= 0)
			(void)s5__seg_reap(self, seg, id);
	}
}
