/* SPDX-License-Identifier: MIT */
/*
 * enter.c - registering processes and threads; thread slots
 *
 * Shared: slot->state and the identity beside it, claimed by compare-and-swap.
 * A process is known to itself by the epoch page, which every kind of fork
 * wipes. A vfork child shares its parent's memory, thread-local state and all,
 * so while `s5__maybe_vfork` is set the thread asks the kernel who it is.
 */
#include "enter.h"

#include "../base/cred.h"
#include "ns.h"
#include "process.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

const struct s5__facility *s5__facilities[S5__KINDS];

/*
 * Of this only the first page is used.  The rest is there so that it does not
 * come to lie in a hole that the program has made by munmap() and expects to
 * be refused there.
 */
#define EPOCH_SIZE (16 * S5__PAGE)

static volatile uint32_t *epoch_page; /* private; zero in a forked child */
static struct s5__a32 epochs;	      /* epochs given out; never in a page */
static struct s5__a32 exit_key;	      /* of pthread_key_create(), plus 1 */

/* A signal frame is larger than that; frames of our entry points differ less.
 */
#define SIGNAL_FRAME 512u

/* How long a thread waits for a slot: some seconds, on a busy machine more. */
#define SLOT_YIELDS 100
#define SLOT_NAP_NS 2000000u
#define SLOT_TRIES  1000

/* --- the process -------------------------------------------------------- */

static uint64_t read_pid_ns(void)
{
	struct stat sb;

	memset(&sb, 0, sizeof(sb));
	if (s5__sys(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/ns/pid",
		    (long)&sb, 0, 0, 0) != 0)
		return 0;
	return sb.st_ino;
}

/* Field 22 of /proc/self/stat, behind the command's closing bracket. */
static uint64_t read_start_time(void)
{
	char buf[512];
	uint64_t v = 0;
	long fd = s5__sys(SYS_openat, AT_FDCWD, (long)"/proc/self/stat",
			  O_RDONLY | O_CLOEXEC, 0, 0, 0);
	long n;
	const char *p;

	if (fd < 0)
		return 0;
	n = s5__sys(SYS_read, fd, (long)buf, sizeof(buf) - 1, 0, 0, 0);
	(void)s5__sys(SYS_close, fd, 0, 0, 0, 0, 0);
	if (n <= 0)
		return 0;
	buf[n] = '\0';
	p = strrchr(buf, ')');
	for (int field = 2; p && field < 22; field++) {
		p = strchr(p, ' ');
		if (p)
			p++;
	}
	while (p && *p >= '0' && *p <= '9')
		v = v * 10 + (uint64_t)(*p++ - '0');
	return v;
}

/* Does the machine have more than one CPU? Not: may this thread use more, as
 * the partner may well run where we may not. */
static bool has_other_cpus(void)
{
	char buf[16] = "";
	long fd = s5__sys(SYS_openat, AT_FDCWD,
			  (long)"/sys/devices/system/cpu/online",
			  O_RDONLY | O_CLOEXEC, 0, 0, 0);

	if (fd < 0)
		return true;
	(void)s5__sys(SYS_read, fd, (long)buf, sizeof(buf) - 1, 0, 0, 0);
	(void)s5__sys(SYS_close, fd, 0, 0, 0, 0, 0);
	return strpbrk(buf, "-,") != NULL;
}

/*
 * Who this thread is. What /proc says of the process is kept, but not where the
 * thread may be a child of vfork, whose parent would find it.
 */
static void identify(struct s5__self *self, uint64_t *ret_start)
{
	struct s5__process *p = &s5__process;

	self->tid = (uint32_t)s5__sys(SYS_gettid, 0, 0, 0, 0, 0, 0);
	self->pid = (uint32_t)s5__sys(SYS_getpid, 0, 0, 0, 0, 0, 0);
	/* PAIR process: acquire */
	if (!s5__maybe_vfork && s5__a32_load_acq(&p->pid) == self->pid) {
		self->pid_ns = s5__a64_load_rlx(&p->pid_ns);
		*ret_start = s5__a64_load_rlx(&p->start);
		return;
	}
	self->pid_ns = read_pid_ns();
	*ret_start = read_start_time();
	if (s5__maybe_vfork)
		return;
	s5__a64_store_rlx(&p->pid_ns, self->pid_ns);
	s5__a64_store_rlx(&p->start, *ret_start);
	s5__a32_store_rel(&p->pid, self->pid); /* PAIR process: release */
}

/* Once per process, also after a fork. Racing threads do the same twice. */
static int register_process(void)
{
	volatile uint32_t *page = epoch_page;

	if (!page) {
		volatile uint32_t *none = NULL;
		long p =
			s5__sys(SYS_mmap, 0, EPOCH_SIZE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p < 0 && p >= -4095)
			return -ENOMEM;
		(void)s5__sys(SYS_madvise, p, EPOCH_SIZE, MADV_WIPEONFORK, 0, 0,
			      0);
		page = (volatile uint32_t *)p;
		if (!__atomic_compare_exchange_n(&epoch_page, &none, page, 0,
						 __ATOMIC_SEQ_CST,
						 __ATOMIC_SEQ_CST)) {
			(void)s5__sys(SYS_munmap, p, EPOCH_SIZE, 0, 0, 0, 0);
			page = none;
		}
	}
	if (*page == 0) {
		s5__a32_store_rlx(&s5__process.pid, 0); /* the parent's */
		s5__process.other_cpus = has_other_cpus();
		s5__arena.plain_release =
			s5__sys(SYS_membarrier,
				MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0,
				0, 0, 0) == 0;
		uint32_t none = 0; /* of racing threads one decides */

		(void)__atomic_compare_exchange_n(page, &none,
						  s5__a32_add_full(&epochs, 1) +
							  1,
						  0, __ATOMIC_SEQ_CST,
						  __ATOMIC_SEQ_CST);
	}
	__atomic_store_n(&s5__epoch, page, __ATOMIC_RELAXED);
	return 0;
}

static void after_fork_in_child(void)
{
	/* Where the kernel does not wipe it. */
	if (epoch_page)
		*epoch_page = 0;
	/* The parent's slot word must not be marked by our death. */
	if (s5__self.robust)
		s5__self.robust->list_op_pending = NULL;
	/* a call that a handler of this thread interrupted is the parent's */
	s5__self.wait_gen++;
	s5__defer_fork_child();
}

/* Racing threads do it twice, and one key goes: nobody waits for another, who
 * may not be there any more after a fork. */
static int make_exit_key(void)
{
	pthread_key_t key;

	if (s5__a32_load_rlx(&exit_key) != 0)
		return 0;
	if (pthread_key_create(&key, s5__thread_exit) != 0)
		return -ENOMEM;
	if (pthread_atfork(NULL, NULL, after_fork_in_child) != 0 ||
	    !s5__a32_cas_full(&exit_key, 0, (uint32_t)key + 1))
		(void)pthread_key_delete(key);
	return s5__a32_load_rlx(&exit_key) != 0 ? 0 : -ENOMEM;
}

/* --- the thread --------------------------------------------------------- */

/* Claims a free slot for this thread; 0 if there is none just now. */
static uint32_t claim_slot(const struct s5__self *self, uint64_t start,
			   uint64_t *ret_state)
{
	uint32_t most = s5__a32_load_acq(&s5__header()->slot_chunks) * 8u;

	/* PAIR dir: acquire */
	for (uint32_t i = 1; i < most; i++) {
		struct s5__slot *s = s5__slot_at(i);
		uint64_t old, state;

		if (!s)
			break;
		old = s5__a64_load_rlx(&s->state);
		state = s5__slot_state(S5__SLOT_CLAIMED, S5__SLOT_GEN(old) + 1,
				       self->pid_ns, self->tid);
		if (s5__slot_phase(old) != S5__SLOT_FREE ||
		    !s5__a64_cas_full(&s->state, old, state))
			continue;
		*ret_state = state;
		s->pid = self->pid;
		s->tid = self->tid;
		s->pid_ns = self->pid_ns;
		s->start = start;
		return i;
	}
	return 0;
}

/* Every field that a former owner may have left. */
static void reset_slot(struct s5__slot *s)
{
	s5__a64_store_rlx(&s->holding, 0);
	s5__a64_store_rlx(&s->commit, 0);
	s->recovering = 0;
	s->hand = 0;
	s->hand_kind = S5__HAND_NONE;
	s->mag[0] = 0;
	s->mag[1] = 0;
	s->mag_n[0] = 0;
	s->mag_n[1] = 0;
	s->pages = 0;
	s->hollow = 0;
	s->held = 0;
	s->dismantle = 0;
	s->wait_kind = S5__WAIT_NONE;
	s5__a32_store_rlx(&s->wait_word, 0);
	s->euid = (uint32_t)s5__sys(SYS_geteuid, 0, 0, 0, 0, 0, 0);
}

static void find_robust_list(struct s5__self *self)
{
	struct robust_list_head *head = NULL;
	size_t len = 0;

	if (s5__sys(SYS_get_robust_list, 0, (long)&head, (long)&len, 0, 0, 0) !=
		    0 ||
	    !head) {
		/* a libc without, or a vfork child: one of our own */
		head = &self->own_robust;
		head->list.next = &head->list;
		head->futex_offset = 0;
		head->list_op_pending = NULL;
		(void)s5__sys(SYS_set_robust_list, (long)head, sizeof(*head), 0,
			      0, 0, 0);
	}
	self->robust = head;
}

/* Adds a chunk of slots before the last one is gone; see claim_slot(). */
static void add_slots_ahead(struct s5__self *self)
{
	struct s5__header *h = s5__header();
	uint32_t chunks = s5__a32_load_acq(&h->slot_chunks);
	struct s5__a32 *dir =
		(struct s5__a32 *)(void *)(s5__arena.base +
					   S5__FIX_SLOT_DIR * S5__PAGE);

	/* PAIR dir: acquire */
	if (self->idx / 8u + 1 < chunks || self->idx % 8u < 3 ||
	    chunks >= S5__SLOT_CHUNK)
		return;
	while (s5__chunk_add(self, dir, chunks, &h->slot_chunks) == -EAGAIN)
		(void)s5__lock_wait(self); /* others count on it */
}

/* Somebody is adding slots: yields, then sleeps a little. */
static void wait_for_slots(int tries)
{
	struct s5__a32 *chunks = &s5__header()->slot_chunks;
	uint32_t seen = s5__a32_load_rlx(chunks); /* only compared */
	uint64_t until = s5__now_ns() + SLOT_NAP_NS;
	struct timespec t = {(time_t)(until / 1000000000u),
			     (long)(until % 1000000000u)};

	if (tries < SLOT_YIELDS)
		(void)s5__sys(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	else
		(void)s5__futex_wait(s5__a32_raw(chunks), seen, &t);
}

static int register_thread(struct s5__self *self)
{
	uint64_t start, state = 0;
	uint32_t idx = 0;

	self->slot = NULL; /* that one was another's */
	identify(self, &start);
	for (int tries = 0; tries < SLOT_TRIES && idx == 0; tries++) {
		idx = claim_slot(self, start, &state);
		if (idx == 0)
			wait_for_slots(tries);
	}
	if (idx == 0)
		return -ENOMEM;
	self->idx = idx;
	self->token = s5__token(idx, state);
	self->unlocked = 0;
	self->unfinished = 0;
	self->wait_gen++; /* a call that this thread was in is another's */
	self->proc = 0;
	self->slot = s5__slot_at(idx);
	if (!self->slot)
		return -ENOMEM; /* the directory was damaged meanwhile */
	self->pending_saved = NULL;
	self->wake_n = 0;
	self->wake_done = 0;
	self->log_n = 0;
	self->log_cap = S5__LOG_MAX;
	self->sections = 0;
	self->spin = (struct s5__spin){.worth = 2, .rest = 32};
	self->yield = self->spin;
	find_robust_list(self);
	reset_slot(self->slot);
	/* The pending entry first, then the word: marked from then on. */
	s5__order();
	self->robust->list_op_pending = s5__pending(self);
	/* PAIR slot-word: release; who sees the tid sees the identity. */
	s5__a32_store_rel(&self->slot->word, self->tid);
	s5__a64_store_rel(&self->slot->state,
			  (state & ~(uint64_t)3) | S5__SLOT_USED);
	S5_CRASH_POINT("slot-claimed");
	return 0;
}

/* A thread, or a child of any kind of fork, at its first call. */
static int register_anew(struct s5__self *self)
{
	int err;

	s5__defer_enter(); /* a handler that forks must wait */
	err = register_process();
	if (err == 0)
		err = make_exit_key();
	if (err == 0)
		err = register_thread(self);
	if (err == 0) {
		(void)pthread_setspecific(s5__a32_load_rlx(&exit_key) - 1,
					  self);
		self->epoch = s5__epoch_now();
		add_slots_ahead(self);
		s5__janitor(self);
	}
	s5__defer_leave();
	return err;
}

/*
 * A vfork child that makes a call gets a slot of its own in its parent's
 * thread-local record, which the parent takes back at its next call, or before
 * it goes on with the one that a handler interrupted to vfork.
 */
static int look_after_vfork(struct s5__self *self)
{
	int err;

	if (s5__self_regain(self))
		return 0;
	s5__self_lend(self);
	s5__defer_enter();
	err = register_thread(self);
	s5__defer_leave();
	return err;
}

int s5__enter_slow(struct s5__self *self, bool create)
{
	if (!s5__arena.base) {
		struct s5_ns_status st;

		if (s5__ns_attach(NULL, create, &st) != 0)
			return -EACCES;
	}
	if (self->epoch == s5__epoch_now())
		return look_after_vfork(self);
	return register_anew(self);
}

/*
 * A handler for a fault in the program's buffer runs, or has jumped away. No
 * lock is held then: user memory is not touched under one. While the handler
 * runs its frames are below the interrupted call's, so that call is still
 * there, and what it has in hand must stay; from above, it has been left, and
 * its hand is found like any abandoned one. (A handler on an alternate stack
 * above the thread's own looks like the latter.)
 */
bool s5__enter_is_nested(const struct s5__self *self, const void *frame)
{
	return s5__defer_is_inside() || s5__slot_holding(self->slot) != 0 ||
	       (uintptr_t)frame + SIGNAL_FRAME < (uintptr_t)self->frame;
}

int s5__drop(struct s5__self *self, struct s5__slot *slot)
{
	int err = 0;

	for (int kind = S5__KINDS - 1; kind >= 0 && err == 0; kind--)
		if (s5__facilities[kind])
			err = s5__facilities[kind]->drop(self, slot);
	if (err == 0 && slot == self->slot)
		self->unfinished &= ~S5__UNFINISHED_WAIT;
	return err;
}

void s5__dismantle(struct s5__self *self, uint32_t which)
{
	uint32_t kind = which >> S5__DISMANTLE_KIND;

	if (kind < S5__KINDS && s5__facilities[kind])
		s5__facilities[kind]->dismantle(self, (which &
						       (S5__IPC_MNI * 2 - 1)) -
							      1);
}

int s5__enter_cleanup(struct s5__self *self)
{
	struct s5__slot *s = self->slot;
	int err = 0;

	self->wait_gen++; /* the call that waited, if it still runs, ends */
	while (s->hand || (self->unfinished & S5__UNFINISHED_WAIT)) {
		err = s5__drop(self, s);
		if (err == -EAGAIN)
			(void)s5__lock_wait(self);
		else if (err)
			break;
	}
	if (err == 0 && (self->unfinished & S5__UNFINISHED_REMOVE)) {
		s5__dismantle(self, s->dismantle);
		self->unfinished &= ~S5__UNFINISHED_REMOVE;
		self->slot->dismantle = 0;
	}
	if (err)
		s5__leave(self);
	return err;
}

void s5__thread_exit(void *arg)
{
	struct s5__self *self = arg;
	struct s5__slot *s = self->slot;

	s5__defer_thread_exit();
	if (!s || self->epoch != s5__epoch_now())
		return;
	if (s5__maybe_vfork && !s5__self_regain(self))
		return; /* it was a child's; ours is found by its mark */
	s = self->slot;
	s5__defer_enter();
	s5__proc_leave(self);
	if (s5__slot_holding(s) == 0 && s5__a64_load_rlx(&s->commit) == 0 &&
	    s->dismantle == 0 &&
	    (!(s->hand | self->unfinished) || s5__drop(self, s) == 0) &&
	    s5__heap_settle(self, s) == 0 &&
	    !(s->hand | self->unfinished | s->mag[0] | s->mag[1] | s->pages |
	      s->held)) {
		uint64_t state = s5__a64_load_rlx(&s->state);

		self->robust->list_op_pending = NULL;
		/* PAIR slot-word: release; the next owner claims it. */
		s5__a64_store_rel(&s->state,
				  s5__slot_state(S5__SLOT_FREE,
						 S5__SLOT_GEN(state), 0, 0));
	} else {
		/* Cancelled in the middle of something, or a lock is not to be
		 * had: it is as dead as if it had been killed. */
		self->robust->list_op_pending = NULL;
		(void)s5__a32_or_full(&s->word, FUTEX_OWNER_DIED);
		(void)s5__futex_wake(s5__a32_raw(&s->word), INT32_MAX);
	}
	self->slot = NULL;
	self->epoch = S5__NO_EPOCH;
	s5__defer_leave();
}
