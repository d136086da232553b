/* SPDX-License-Identifier: MIT */
/*
 * defer.c - trampolines around the program's signal handlers
 *
 * What the kernel has installed is a trampoline; which handler and flags it
 * stands for is in `table`, which only grows. So a child of vfork, which has
 * its own handlers but writes to its parent's memory, can do no harm.
 *
 * A trampoline that interrupts a section sends the signal to its own thread
 * once more, while it is blocked, and returns with it blocked. Leaving the
 * section restores the mask, and the kernel delivers the signal as if it had
 * come just then. No lock; private memory only; death leaves nothing.
 */
#include "defer.h"

#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "cred.h"
#include "sys.h"

#define SIGNALS	    64
#define MASK_SIZE   8
#define TRAMP_COUNT 512
#define TRAMP_SIZE  16
/* In a race another thread sets a handler in each round; nobody does so. */
#define RACE_ROUNDS 100

/* Keeps what is rare out of the way of an ordinary delivery. */
#define COLD __attribute__((noinline, cold))

#define XSTR(x) STR(x)
#define STR(x)	#x

/* An entry: the handler's address and, above it, the flags that a trampoline
 * changes. 0 is free; an entry that was once set never changes. */
#define ENTRY_SIGINFO	(UINT64_C(1) << 62)
#define ENTRY_RESETHAND (UINT64_C(1) << 63)
#define ENTRY_HANDLER	(ENTRY_SIGINFO - 1)

/* glibc's own: cancellation and set*id. It neither jumps nor calls us. */
#define SIG_LIBC_FIRST 32
#define SIG_LIBC_LAST  33

#define SIG_BIT(sig) (UINT64_C(1) << ((sig)-1))
/* A fault while its signal is blocked kills, so these stay unblocked. */
#define FAULTS                                                  \
	(SIG_BIT(SIGSEGV) | SIG_BIT(SIGBUS) | SIG_BIT(SIGFPE) | \
	 SIG_BIT(SIGILL) | SIG_BIT(SIGTRAP) | SIG_BIT(SIGSYS))

typedef void handler_fn(int sig, siginfo_t *info, void *context);

_Thread_local struct s5__defer s5__defer_self;
_Atomic uint32_t s5__defer_mode = S5__MODE_ADOPT;
/* These two belong to the drop-in's other hooks. */
_Thread_local int s5__maybe_vfork;
_Atomic uint32_t s5__cred_gen;

static _Atomic uint64_t table[TRAMP_COUNT];

extern const char s5__defer_tramps[] __attribute__((visibility("hidden")));
void s5__defer_dispatch(int sig, siginfo_t *info, void *context,
			unsigned int idx)
	__attribute__((used, visibility("hidden")));

/* Trampoline N passes the handler's arguments on, and N as the fourth. The
 * formatter would indent each line by where it continues the one before. */
/* clang-format off */
__asm__(
	".text\n"
	".p2align 4\n"
	".hidden s5__defer_tramps\n"
	".globl s5__defer_tramps\n"
	".type s5__defer_tramps, %function\n"
	"s5__defer_tramps:\n"
	".cfi_startproc\n"
	".set s5__defer_n, 0\n"
	".rept " XSTR(TRAMP_COUNT) "\n"
#if defined(__x86_64__)
	"endbr64\n"
	"movl $s5__defer_n, %ecx\n"
	"jmp s5__defer_dispatch\n"
#elif defined(__aarch64__)
	"hint #34\n" /* bti c */
	"mov w3, #s5__defer_n\n"
	"b s5__defer_dispatch\n"
#else
#error "no trampoline for this machine"
#endif
	".p2align 4\n"
	".set s5__defer_n, s5__defer_n + 1\n"
	".endr\n"
	".cfi_endproc\n"
	".size s5__defer_tramps, . - s5__defer_tramps\n"
	".previous\n");
/* clang-format on */

void s5__cred_changed(void)
{
	(void)atomic_fetch_add_explicit(&s5__cred_gen, 1, memory_order_relaxed);
}

/* Which trampoline is it? -1: none. */
static int tramp_index(const void *handler)
{
	uintptr_t off = (uintptr_t)handler - (uintptr_t)s5__defer_tramps;

	if (off >= (uintptr_t)TRAMP_COUNT * TRAMP_SIZE || off % TRAMP_SIZE != 0)
		return -1;
	return (int)(off / TRAMP_SIZE);
}

static uint64_t entry_of(const void *handler, unsigned long flags)
{
	uint64_t entry = (uintptr_t)handler;

	if (flags & SA_SIGINFO)
		entry |= ENTRY_SIGINFO;
	if (flags & SA_RESETHAND)
		entry |= ENTRY_RESETHAND;
	return entry;
}

/* Finds or makes the entry's place; -1 if the table is full. */
static int table_find(uint64_t entry)
{
	for (int i = 0; i < TRAMP_COUNT; i++) {
		uint64_t seen =
			atomic_load_explicit(&table[i], memory_order_relaxed);

		if (seen == 0 &&
		    atomic_compare_exchange_strong_explicit(
			    &table[i], &seen, entry, memory_order_relaxed,
			    memory_order_relaxed))
			return i;
		if (seen == entry)
			return i;
	}
	return -1;
}

void s5__defer_wrap(void **handler, unsigned long *flags)
{
	uintptr_t addr = (uintptr_t)*handler;
	int idx = -1;

	if (*handler == (void *)SIG_DFL || *handler == (void *)SIG_IGN ||
	    tramp_index(*handler) >= 0)
		return;
	if ((addr & ~ENTRY_HANDLER) == 0)
		idx = table_find(entry_of(*handler, *flags));
	if (idx < 0) {
		(void)atomic_fetch_or_explicit(&s5__defer_mode, S5__MODE_BLOCK,
					       memory_order_relaxed);
		return;
	}
	/* The kernel's own system call orders the entry before a delivery. */
	*handler = (void *)((uintptr_t)s5__defer_tramps +
			    (uintptr_t)idx * TRAMP_SIZE);
	*flags = (*flags | SA_SIGINFO) & ~(unsigned long)SA_RESETHAND;
}

void s5__defer_unwrap(void **handler, unsigned long *flags)
{
	int idx = tramp_index(*handler);
	uint64_t entry;

	if (idx < 0)
		return;
	entry = atomic_load_explicit(&table[idx], memory_order_relaxed);
	*handler = (void *)(uintptr_t)(entry & ENTRY_HANDLER);
	*flags &= ~(unsigned long)(SA_SIGINFO | SA_RESETHAND);
	if (entry & ENTRY_SIGINFO)
		*flags |= SA_SIGINFO;
	if (entry & ENTRY_RESETHAND)
		*flags |= SA_RESETHAND;
}

static long sys_sigaction(int sig, const struct s5__ksigaction *act,
			  struct s5__ksigaction *old)
{
	return s5__sys(SYS_rt_sigaction, sig, (long)act, (long)old, MASK_SIZE,
		       0, 0);
}

static uint64_t sys_sigmask(int how, uint64_t mask)
{
	uint64_t old = 0;

	(void)s5__sys(SYS_rt_sigprocmask, how, (long)&mask, (long)&old,
		      MASK_SIZE, 0, 0);
	return old;
}

/*
 * Changes the action from `seen` to `next`. Another thread may set one in
 * between: then that one was overwritten, and is put back, wrapped.
 */
static void replace_action(int sig, struct s5__ksigaction seen,
			   struct s5__ksigaction next)
{
	struct s5__ksigaction prev;

	for (int i = 0; i < RACE_ROUNDS; i++) {
		if (sys_sigaction(sig, &next, &prev) < 0)
			return;
		if (prev.handler == seen.handler && prev.flags == seen.flags &&
		    prev.mask == seen.mask)
			return;
		seen = next;
		next = prev;
		s5__defer_wrap(&next.handler, &next.flags);
	}
}

static void adopt_signal(int sig)
{
	struct s5__ksigaction seen, next;

	if (sys_sigaction(sig, NULL, &seen) < 0)
		return;
	next = seen;
	s5__defer_wrap(&next.handler, &next.flags);
	if (next.handler != seen.handler)
		replace_action(sig, seen, next);
}

void s5__defer_adopt(void)
{
	if (!(atomic_load_explicit(&s5__defer_mode, memory_order_relaxed) &
	      S5__MODE_ADOPT))
		return;
	for (int sig = 1; sig <= SIGNALS; sig++) {
		if (sig < SIG_LIBC_FIRST || sig > SIG_LIBC_LAST)
			adopt_signal(sig);
	}
	/* A child of vfork has looked at its own handlers, not its parent's. */
	if (s5__maybe_vfork & 1)
		return;
	(void)atomic_fetch_and_explicit(&s5__defer_mode, ~S5__MODE_ADOPT,
					memory_order_relaxed);
}

/*
 * Notes the mask that the section began with. Handlers that interrupt each
 * other's trampolines see masks that only grow from it, so that the common
 * part of all of them is right in whichever order they come here.
 */
static void note_mask(struct s5__defer *self, uint64_t mask)
{
	if (self->todo & S5__DEFER_RESTORE)
		mask &= self->mask;
	self->mask = mask;
	atomic_signal_fence(memory_order_seq_cst);
	self->todo |= S5__DEFER_RESTORE;
}

void s5__defer_enter_slow(void)
{
	s5__defer_adopt();
	if (atomic_load_explicit(&s5__defer_mode, memory_order_relaxed) &
	    S5__MODE_BLOCK)
		note_mask(&s5__defer_self, sys_sigmask(SIG_BLOCK, ~FAULTS));
}

void s5__defer_leave_slow(void)
{
	struct s5__defer *self = &s5__defer_self;
	uint64_t mask = self->mask;

	/* Before the mask: the handlers that run then may jump away. */
	self->todo = 0;
	atomic_signal_fence(memory_order_seq_cst);
	(void)sys_sigmask(SIG_SETMASK, mask);
}

void s5__defer_fork_child(void)
{
	s5__defer_sleep_on(NULL, NULL);
}

void s5__defer_thread_exit(void)
{
	s5__defer_sleep_on(NULL, NULL);
	s5__defer_leave();
}

/* The kernel's signal set in a signal frame is shorter than libc's. */
static uint64_t frame_mask(const ucontext_t *context)
{
	uint64_t mask;

	memcpy(&mask, &context->uc_sigmask, sizeof(mask));
	return mask;
}

static void set_frame_mask(ucontext_t *context, uint64_t mask)
{
	memcpy(&context->uc_sigmask, &mask, sizeof(mask));
}

/* Did the thread's own instruction raise it? Such a signal cannot wait. */
static bool is_fault(int sig, const siginfo_t *info)
{
	switch (sig) {
	case SIGSEGV:
	case SIGBUS:
	case SIGFPE:
	case SIGILL:
		return true;
	case SIGTRAP:
	case SIGSYS:
		return info->si_code > 0;
	default:
		return false;
	}
}

/* Sends a signal that is blocked to this thread again. */
static bool send_again(int sig, const siginfo_t *info)
{
	long pid = s5__sys(SYS_getpid, 0, 0, 0, 0, 0, 0);
	long tid = s5__sys(SYS_gettid, 0, 0, 0, 0, 0, 0);
	siginfo_t plain;

	if (s5__sys(SYS_rt_tgsigqueueinfo, pid, tid, sig, (long)info, 0, 0) >=
	    0)
		return true;
	/* The queue is full (RLIMIT_SIGPENDING). The kernel takes this form
	 * even so, but does not keep what came with it. */
	memset(&plain, 0, sizeof(plain));
	plain.si_signo = sig;
	plain.si_code = SI_USER;
	if (s5__sys(SYS_rt_tgsigqueueinfo, pid, tid, sig, (long)&plain, 0, 0) >=
	    0)
		return true;
	return s5__sys(SYS_tgkill, pid, tid, sig, 0, 0, 0) >= 0;
}

static COLD bool put_off(int sig, const siginfo_t *info, ucontext_t *context)
{
	uint64_t fill = ~FAULTS | SIG_BIT(sig);
	uint64_t before = sys_sigmask(SIG_BLOCK, fill);
	uint64_t mask = frame_mask(context);

	if (!send_again(sig, info)) {
		(void)sys_sigmask(SIG_SETMASK, before);
		return false;
	}
	note_mask(&s5__defer_self, mask);
	set_frame_mask(context, mask | fill);
	return true;
}

/* What the kernel does itself for SA_RESETHAND, if it is still installed. */
static void reset_action(int sig, unsigned int idx)
{
	struct s5__ksigaction seen, next;

	if (sys_sigaction(sig, NULL, &seen) < 0 ||
	    tramp_index(seen.handler) != (int)idx)
		return;
	next = seen;
	s5__defer_unwrap(&next.handler, &next.flags);
	next.handler = (void *)SIG_DFL;
	replace_action(sig, seen, next);
}

static void run(int sig, siginfo_t *info, void *context, unsigned int idx)
{
	uint64_t entry =
		atomic_load_explicit(&table[idx], memory_order_relaxed);
	handler_fn *handler = (handler_fn *)(uintptr_t)(entry & ENTRY_HANDLER);

	if (entry & ENTRY_RESETHAND)
		reset_action(sig, idx);
	s5__defer_self.intr++;
	s5__defer_bump();
	handler(sig, info, context);
}

/* The mask that the kernel would have set for a handler, had the section
 * begun with `mask` and nothing been put off. */
static void unblock_for_handler(int sig, uint64_t mask)
{
	struct s5__ksigaction act;

	if (sys_sigaction(sig, NULL, &act) < 0)
		return;
	mask |= act.mask;
	if (!(act.flags & SA_NODEFER))
		mask |= SIG_BIT(sig);
	(void)sys_sigmask(SIG_SETMASK, mask);
}

/*
 * Runs a handler inside a section, for a fault or where deferral was refused.
 * It may jump away, so the section counts as over until it returns, and
 * signals that were put off come first.
 */
static COLD void run_suspended(int sig, siginfo_t *info, ucontext_t *context,
			       unsigned int idx)
{
	struct s5__defer *self = &s5__defer_self;
	uint32_t todo;
	uint64_t mask;

	self->state = S5__DEFER_SUSPENDED;
	atomic_signal_fence(memory_order_seq_cst);
	todo = self->todo;
	self->todo = 0;
	if (todo & S5__DEFER_RESTORE) {
		set_frame_mask(context, self->mask);
		unblock_for_handler(sig, self->mask);
	}
	run(sig, info, context, idx);
	if (todo & S5__DEFER_RESTORE) {
		mask = frame_mask(context);
		(void)sys_sigmask(SIG_BLOCK, ~FAULTS);
		set_frame_mask(context, mask | ~FAULTS);
		self->mask = mask;
		self->todo = todo;
	}
	atomic_signal_fence(memory_order_seq_cst);
	self->state = S5__DEFER_INSIDE;
}

void s5__defer_dispatch(int sig, siginfo_t *info, void *context,
			unsigned int idx)
{
	if (__builtin_expect(s5__defer_self.state != S5__DEFER_INSIDE, 1)) {
		run(sig, info, context, idx);
		return;
	}
	if (is_fault(sig, info) || !put_off(sig, info, context))
		run_suspended(sig, info, context, idx);
}
