/* SPDX-License-Identifier: MIT */
/*
 * process.c - who has ended, and who has only execed
 *
 * The kernel marks the slot word of each thread that dies, before the process
 * can be reaped and before its files are closed. A process is taken for living
 * as long as its witness, one of its threads, is not marked. A mark alone is no
 * verdict: exec marks too, and a thread may have ended for itself. Then /proc
 * says whether a task of that pid and start time lives that is not exiting.
 * From another pid namespace, where /proc shows somebody else, the mark is the
 * verdict.
 */
#include "process.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

#define PF_EXITING 4u
#define PIDFS	   0x50494446u

/* Fields of /proc/PID/stat, as proc(5) counts them. */
#define FIELD_FLAGS 9
#define FIELD_START 22

void (*s5__proc_mark_used)(uint32_t *idle, uint32_t n);

static struct s5__a32 *directory(void)
{
	return (struct s5__a32 *)(void *)(s5__arena.base +
					  S5__FIX_PROC_DIR * S5__PAGE);
}

struct s5__proc *s5__proc_at(uint32_t idx)
{
	uint32_t page;

	if (idx == 0 || idx >= S5__PROCS_MAX)
		return NULL;
	/* PAIR dir: acquire */
	page = s5__a32_load_acq(&directory()[idx / S5__PROC_CHUNK]);
	if (page < S5__FIX_PAGES)
		return NULL;
	return s5__at(((uint64_t)page << S5__PAGE_SHIFT) +
			      idx % S5__PROC_CHUNK * sizeof(struct s5__proc),
		      sizeof(struct s5__proc));
}

/* --- what /proc says ------------------------------------------------------ */

static char *append(char *p, const char *s)
{
	while (*s)
		*p++ = *s++;
	*p = '\0';
	return p;
}

static char *append_number(char *p, uint32_t v)
{
	char digits[12];
	char *d = digits + sizeof(digits) - 1;

	*d = '\0';
	do {
		*--d = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	return append(p, d);
}

static uint64_t field(const char *stat, int n)
{
	const char *p = strrchr(stat, ')');
	uint64_t v = 0;

	for (int at = 2; p && at < n; at++) {
		p = strchr(p, ' ');
		if (p)
			p++;
	}
	while (p && *p >= '0' && *p <= '9')
		v = v * 10 + (uint64_t)(*p++ - '0');
	return v;
}

/* Reads the file at `path` into buf: its length, or -errno. */
static long read_file(const char *path, char *buf, size_t size)
{
	long fd = s5__sys(SYS_openat, AT_FDCWD, (long)path,
			  O_RDONLY | O_CLOEXEC, 0, 0, 0);
	long n;

	if (fd < 0)
		return fd;
	n = s5__sys(SYS_read, fd, (long)buf, (long)size - 1, 0, 0, 0);
	(void)s5__sys(SYS_close, fd, 0, 0, 0, 0, 0);
	buf[n > 0 ? n : 0] = '\0';
	return n;
}

struct entry64 { /* as getdents64(2) has it */
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

/* Does one of the tasks in this buffer live, and not exit? */
static bool has_living(const char *entries, long n, const char *dir)
{
	for (long at = 0; at < n;) {
		const struct entry64 *e =
			(const struct entry64 *)(const void *)(entries + at);
		char path[96], stat[512];

		at += e->len;
		if (e->name[0] < '0' || e->name[0] > '9' ||
		    strlen(e->name) > 10)
			continue;
		(void)append(append(append(path, dir), e->name), "/stat");
		if (read_file(path, stat, sizeof(stat)) > 0 &&
		    !(field(stat, FIELD_FLAGS) & PF_EXITING))
			return true;
	}
	return false;
}

/* What tells a process from the next one of the same pid, even if that starts
 * within the same tick: since Linux 6.9 the inode of its pidfd; else 0. */
static uint64_t identify(uint32_t pid)
{
	long fd = s5__sys(SYS_pidfd_open, (long)pid, 0, 0, 0, 0, 0);
	struct statfs fs;
	struct stat sb;
	uint64_t ident = 0;

	if (fd < 0)
		return 0;
	if (s5__sys(SYS_fstatfs, fd, (long)&fs, 0, 0, 0, 0) == 0 &&
	    (uint32_t)fs.f_type == PIDFS &&
	    s5__sys(SYS_fstat, fd, (long)&sb, 0, 0, 0, 0) == 0)
		ident = sb.st_ino;
	(void)s5__sys(SYS_close, fd, 0, 0, 0, 0, 0);
	return ident;
}

/* Is there still that process, with a task that does not exit? */
static bool lives(uint32_t pid, uint64_t start, uint64_t ident)
{
	char dir[64], path[80], buf[1024] __attribute__((aligned(8)));
	bool found = false;
	long fd, n;

	(void)append(append_number(append(dir, "/proc/"), pid), "/");
	(void)append(append(path, dir), "stat");
	if (read_file(path, buf, sizeof(buf)) <= 0 ||
	    field(buf, FIELD_START) != start ||
	    (ident && identify(pid) != ident))
		return false;
	(void)append(dir + strlen(dir), "task/");
	fd = s5__sys(SYS_openat, AT_FDCWD, (long)dir,
		     O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, 0, 0);
	if (fd < 0)
		return false;
	while (!found && (n = s5__sys(SYS_getdents64, fd, (long)buf,
				      sizeof(buf), 0, 0, 0)) > 0)
		found = has_living(buf, n, dir);
	(void)s5__sys(SYS_close, fd, 0, 0, 0, 0, 0);
	return found;
}

/* --- verdict -------------------------------------------------------------- */

/* Is this the token of a thread that has not ended? */
static bool testifies(uint32_t token)
{
	uint32_t idx = S5__TOKEN_IDX(token);
	struct s5__slot *s = s5__slot_at(idx);
	uint64_t state;

	if (!s)
		return false;
	state = s5__a64_load_acq(&s->state); /* PAIR slot-word: acquire */
	return s5__slot_phase(state) == S5__SLOT_USED &&
	       s5__token(idx, state) == token &&
	       !(s5__a32_load_acq(&s->word) & FUTEX_OWNER_DIED);
}

bool s5__proc_is_dead(const struct s5__proc *p, uint32_t gen)
{
	uint32_t witness;

	if (s5__a32_load_acq(&p->state) != gen) /* PAIR proc: acquire */
		return true;
	witness = s5__a32_load_rlx(&p->witness);
	if (testifies(witness))
		return false;
	if (p->pid_ns != s5__a64_load_rlx(&s5__process.pid_ns) ||
	    p->pid_ns == 0 || s5__a64_load_rlx(&s5__process.start) == 0)
		return witness != 0; /* /proc says nothing to us */
	return !lives(p->pid, p->start, p->ident);
}

/* --- registering ---------------------------------------------------------- */

uint32_t s5__proc_count(void)
{
	/* PAIR dir: acquire */
	uint32_t chunks = s5__a32_load_acq(&s5__header()->proc_chunks);
	uint32_t n = chunks * (uint32_t)S5__PROC_CHUNK;

	return chunks < 1024 ? n : S5__PROCS_MAX;
}

static bool is_mine(const struct s5__proc *p, uint32_t pid)
{
	return s5__a32_load_acq(&p->state) != 0 && /* PAIR proc: acquire */
	       p->pid == pid &&
	       p->pid_ns == s5__a64_load_rlx(&s5__process.pid_ns) &&
	       p->start == s5__a64_load_rlx(&s5__process.start);
}

/* The slot that this process has, perhaps since before an exec; or 0. */
static uint32_t find(uint32_t pid)
{
	uint64_t ident = identify(pid);

	for (uint32_t i = 1; i < s5__proc_count(); i++) {
		const struct s5__proc *p = s5__proc_at(i);

		if (!p)
			break;
		if (is_mine(p, pid) && p->ident == ident)
			return i;
	}
	return 0;
}

/* Frees slots of dead processes that nothing refers to. reg_lock is not held
 * while the objects are looked through; a slot that has got another owner
 * meanwhile has another generation. */
static void collect(struct s5__self *self)
{
	struct s5__a32 *lock = &s5__header()->reg_lock;
	uint32_t n = s5__proc_count();
	uint64_t size = n * sizeof(uint32_t);
	long p = s5__sys(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t *idle = (uint32_t *)p; /* generations of the dead */

	if (n == 0 || (p < 0 && p >= -4095))
		return;
	/* Dead first, then referred to: the dead get no new references. */
	for (uint32_t i = 1; i < n; i++) {
		const struct s5__proc *q = s5__proc_at(i);
		/* PAIR proc: acquire */
		uint32_t gen = q ? s5__a32_load_acq(&q->state) : 0;

		idle[i] = gen && s5__proc_is_dead(q, gen) ? gen : 0;
	}
	if (s5__proc_mark_used)
		s5__proc_mark_used(idle, n);
	if (s5__lock(self, lock) == 0) {
		for (uint32_t i = 1; i < n; i++) {
			struct s5__proc *q = s5__proc_at(i);

			if (q && idle[i] &&
			    s5__a32_load_rlx(&q->state) == idle[i])
				s5__a32_store_rlx(&q->state, 0);
		}
		s5__unlock(self, lock);
	}
	(void)s5__sys(SYS_munmap, p, (long)size, 0, 0, 0, 0);
}

/* Takes a free slot under reg_lock; 0 if there is none. */
static int claim(struct s5__self *self, uint32_t pid)
{
	struct s5__a32 *lock = &s5__header()->reg_lock;
	int err = s5__lock(self, lock);
	uint32_t idx = 0;

	if (err)
		return err;
	for (uint32_t i = 1; i < s5__proc_count() && idx == 0; i++) {
		struct s5__proc *p = s5__proc_at(i);

		if (!p)
			break;
		if (s5__a32_load_rlx(&p->state) != 0)
			continue;
		p->pid = pid;
		p->pid_ns = s5__a64_load_rlx(&s5__process.pid_ns);
		p->start = s5__a64_load_rlx(&s5__process.start);
		p->ident = identify(pid);
		p->gen = p->gen < UINT32_MAX ? p->gen + 1 : 1;
		s5__a32_store_rlx(&p->witness, self->token);
		/* PAIR proc: release; a death before it leaves it free */
		s5__a32_store_rel(&p->state, p->gen);
		idx = i;
	}
	s5__unlock(self, lock);
	S5_CRASH_POINT("proc-claimed");
	return (int)idx;
}

static int make(struct s5__self *self, uint32_t pid)
{
	struct s5__header *h = s5__header();
	int idx = claim(self, pid);

	if (idx == 0 && s5__proc_count()) {
		collect(self);
		idx = claim(self, pid);
	}
	while (idx == 0) {
		uint32_t chunks = s5__a32_load_rlx(&h->proc_chunks);
		int err;

		if (chunks >= 1024)
			return -ENOMEM;
		err = s5__chunk_add(self, directory(), chunks, &h->proc_chunks);
		if (err)
			return err;
		idx = claim(self, pid);
	}
	return idx;
}

int s5__proc_register(struct s5__self *self)
{
	uint32_t pid = self->slot->pid; /* right in a vfork child, too */
	int idx = (int)self->proc;
	struct s5__proc *p = s5__proc_at((uint32_t)idx);

	if (S5_UNLIKELY(!p || !is_mine(p, pid))) {
		idx = (int)find(pid);
		if (idx == 0)
			idx = make(self, pid);
		if (idx < 0)
			return idx;
		p = s5__proc_at((uint32_t)idx);
		if (!p)
			return -ENOMEM; /* damaged meanwhile */
		self->proc = (uint32_t)idx;
	}
	if (S5_UNLIKELY(s5__a32_load_rlx(&p->witness) != self->token &&
			!testifies(s5__a32_load_rlx(&p->witness))))
		s5__a32_store_rlx(&p->witness, self->token);
	return idx;
}

bool s5__proc_forsake(struct s5__self *self)
{
	uint32_t idx = find(self->slot->pid);
	struct s5__proc *p = s5__proc_at(idx);

	self->proc = 0;
	if (!p)
		return false;
	/* A generation that no record has; it is free for its next owner. */
	s5__a32_store_rlx(&p->state, 0);
	return true;
}

void s5__proc_leave(const struct s5__self *self)
{
	const struct s5__slot *mine = self->slot;
	/* PAIR dir: acquire */
	uint32_t most = s5__a32_load_acq(&s5__header()->slot_chunks) * 8u;
	uint32_t idx = find(mine->pid);
	struct s5__proc *p = s5__proc_at(idx);

	if (!p || s5__a32_load_rlx(&p->witness) != self->token)
		return;
	for (uint32_t i = 1; i < most && i < S5__SLOTS_MAX; i++) {
		struct s5__slot *s = s5__slot_at(i);
		uint32_t token;

		if (!s)
			break;
		token = s5__token(i, s5__a64_load_acq(&s->state));
		if (i != self->idx && s->pid == mine->pid &&
		    s->pid_ns == mine->pid_ns && s->start == mine->start &&
		    testifies(token)) {
			s5__a32_store_rlx(&p->witness, token);
			return;
		}
	}
	s5__a32_store_rlx(&p->witness, 0);
}
