/* SPDX-License-Identifier: MIT */
/*
 * defer.h - program's signal handlers kept out of critical sections
 *
 * Owns one thread-local record per thread and the process's table of wrapped
 * handlers. No lock: the table is append-only, the record is its thread's own
 * and is read by handlers that interrupt that thread. Death leaves nothing
 * behind: all of it is private memory. docs/design/signals.md explains why it
 * works.
 *
 * A section is opened by s5__defer_enter() and closed by s5__defer_leave() in
 * the same thread. Sections do not nest and contain no sleep: code that is
 * about to sleep leaves, sleeps, and enters again.
 */
#ifndef S5_BASE_DEFER_H
#define S5_BASE_DEFER_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Defined here, but reached by the drop-in across the library's border. */
#define S5__SHARED __attribute__((visibility("default")))

/* What a handler adds to the futex word that its thread sleeps on. The bits
 * below it belong to the waiting code. */
#define S5__SLEEP_BUMP 16u

enum {
	S5__DEFER_OUTSIDE = 0,
	S5__DEFER_INSIDE = 1,
	/* A handler for a fault that happened inside is running, or has left
	 * by longjmp. */
	S5__DEFER_SUSPENDED = 2,
};

/* Bits of s5__defer.todo: exact; what leaving has to do. */
#define S5__DEFER_RESTORE 1u /* set the signal mask to `mask` */

/* Bits of s5__defer_mode: exact; why entering takes the slow path. */
#define S5__MODE_ADOPT 1u /* older handlers have not been looked for */
#define S5__MODE_BLOCK 2u /* some handler is not wrapped: block signals */

/*
 * struct s5__defer - what one thread's handlers and sections tell each other
 * Field        writer                        reader
 * state        section, wrapper              wrapper
 * todo, mask   wrapper, entering             leaving
 * intr         wrapper                       waiting code
 * sleep_*      waiting code                  wrapper
 */
struct s5__defer {
	volatile uint32_t state;
	volatile uint32_t todo;
	volatile uint32_t intr;
	uint32_t unused;
	_Atomic uint32_t *volatile sleep_word;
	_Atomic uint32_t *volatile sleep_seat;
	volatile uint64_t mask;
};

extern _Thread_local struct s5__defer s5__defer_self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));
extern _Atomic uint32_t s5__defer_mode __attribute__((visibility("hidden")));

/* Set in a thread that called vfork (bit 0) or clone with CLONE_VM (bit 1):
 * parent and child share it, so whoever sees it must ask the kernel who it
 * is. Bit 0 may be cleared once that answer is "the parent"; bit 1 stays. */
extern S5__SHARED _Thread_local int s5__maybe_vfork
	__attribute__((tls_model("initial-exec")));

void s5__defer_enter_slow(void);
void s5__defer_leave_slow(void);

static inline void s5__defer_enter(void)
{
	s5__defer_self.state = S5__DEFER_INSIDE;
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(atomic_load_explicit(&s5__defer_mode,
						  memory_order_relaxed) != 0,
			     0))
		s5__defer_enter_slow();
}

static inline void s5__defer_leave(void)
{
	atomic_signal_fence(memory_order_seq_cst);
	s5__defer_self.state = S5__DEFER_OUTSIDE;
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(s5__defer_self.todo != 0, 0))
		s5__defer_leave_slow();
}

/* Has a handler that nothing could defer interrupted this thread's section?
 * A call that finds so must fail and not wait. */
static inline bool s5__defer_is_inside(void)
{
	return s5__defer_self.state == S5__DEFER_INSIDE;
}

/* Did a fault interrupt a section of this thread, whose handler is running or
 * has jumped away? The section's locks, if any, are still held. */
static inline bool s5__defer_is_suspended(void)
{
	return s5__defer_self.state == S5__DEFER_SUSPENDED;
}

/* How many handlers have run in this thread, modulo 2^32. */
static inline uint32_t s5__defer_intr(void)
{
	return s5__defer_self.intr;
}

/*
 * Names the word that shows others that this thread sleeps, or NULL; and the
 * futex word, if it sleeps on another. The order is: name it, read it, look at
 * results and s5__defer_intr(), sleep.
 */
static inline void s5__defer_sleep_on(_Atomic uint32_t *word,
				      _Atomic uint32_t *seat)
{
	s5__defer_self.sleep_seat = seat;
	s5__defer_self.sleep_word = word;
	atomic_signal_fence(memory_order_seq_cst);
}

/* Keeps this thread from falling asleep on what it named. */
static inline void s5__defer_bump(void)
{
	_Atomic uint32_t *words[] = {s5__defer_self.sleep_word,
				     s5__defer_self.sleep_seat};

	for (int i = 0; i < 2; i++)
		if (words[i])
			(void)atomic_fetch_add_explicit(words[i],
							S5__SLEEP_BUMP,
							memory_order_relaxed);
}

/* Wraps the handlers that are installed; does something the first time only.
 * The first s5__defer_enter() of a process calls it. */
void s5__defer_adopt(void);

/* In a forked child, whose parent may have been about to sleep. */
void s5__defer_fork_child(void);

/* When a thread ends, perhaps inside a section: what waits is delivered. */
void s5__defer_thread_exit(void);

/* What the kernel's rt_sigaction takes; the same on x86-64 and AArch64. */
struct s5__ksigaction {
	void *handler;
	unsigned long flags;
	void *restorer;
	uint64_t mask;
};

/*
 * Replaces a program's handler and flags by a trampoline and what must be
 * installed with it. Default, ignore, and what is a trampoline already stay.
 * Safe in handlers and after vfork. If the table is full the handler stays as
 * it is, and from then on every section blocks signals.
 */
S5__SHARED void s5__defer_wrap(void **handler, unsigned long *flags);

/* The reverse, for what the kernel reports as installed. */
S5__SHARED void s5__defer_unwrap(void **handler, unsigned long *flags);

#endif
