/* SPDX-License-Identifier: MIT */
/*
 * dropin_signal.c - sigaction, signal and their kin, with handlers wrapped
 *
 * All of them go through set_action(): the program's handler on its way in
 * becomes a trampoline, and on its way out is itself again. Owns the set of
 * signals that siginterrupt() chose; its bits are changed one at a time.
 */
#include "dropin.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/defer.h"

#define SIGNALS 64
/* Linux knows and ignores it; System V's signal() sets it. */
#define SA_INTERRUPT_OLD 0x20000000
/* What sigset() takes and gives for "blocked"; not in every header set. */
#define SIG_HOLD_OLD ((void (*)(int))2)

typedef void handler_fn(int sig);

/* Not in the headers under these names. */
int __sigaction(int sig, const struct sigaction *act, struct sigaction *old);
handler_fn *bsd_signal(int sig, handler_fn *handler);

static _Atomic uint64_t interrupting;

static uint64_t sig_bit(int sig)
{
	return UINT64_C(1) << (sig - 1);
}

static void wrap(struct sigaction *act)
{
	void *handler = (void *)act->sa_handler;
	unsigned long flags = (unsigned int)act->sa_flags;

	s5__defer_wrap(&handler, &flags);
	act->sa_handler = (handler_fn *)handler;
	act->sa_flags = (int)flags;
}

static void unwrap(struct sigaction *act)
{
	void *handler = (void *)act->sa_handler;
	unsigned long flags = (unsigned int)act->sa_flags;

	s5__defer_unwrap(&handler, &flags);
	act->sa_handler = (handler_fn *)handler;
	act->sa_flags = (int)flags;
}

static int set_action(int sig, const struct sigaction *act,
		      struct sigaction *old)
{
	struct sigaction wrapped, seen = {.sa_flags = 0};
	int ret;

	if (act) {
		wrapped = *act;
		wrap(&wrapped);
	}
	ret = REAL(sigaction)(sig, act ? &wrapped : NULL, old ? &seen : NULL);
	if (ret == 0 && old) {
		unwrap(&seen);
		*old = seen;
	}
	return ret;
}

/* The common part of the older calls: they take and give a bare handler.
 * `is_blocked`: is the signal blocked while its handler runs? */
static handler_fn *set_handler(int sig, handler_fn *handler, int flags,
			       bool is_blocked)
{
	struct sigaction act = {.sa_handler = handler, .sa_flags = flags};
	struct sigaction old = {.sa_flags = 0};

	if (handler == SIG_ERR || sig < 1 || sig > SIGNALS) {
		errno = EINVAL;
		return SIG_ERR;
	}
	(void)sigemptyset(&act.sa_mask);
	if (is_blocked)
		(void)sigaddset(&act.sa_mask, sig);
	return set_action(sig, &act, &old) < 0 ? SIG_ERR : old.sa_handler;
}

S5_EXPORT int sigaction(int sig, const struct sigaction *act,
			struct sigaction *old)
{
	return set_action(sig, act, old);
}

S5_EXPORT int __sigaction(int sig, const struct sigaction *act,
			  struct sigaction *old)
{
	return set_action(sig, act, old);
}

static handler_fn *set_bsd(int sig, handler_fn *handler)
{
	int flags = SA_RESTART;

	if (sig >= 1 && sig <= SIGNALS &&
	    (atomic_load_explicit(&interrupting, memory_order_relaxed) &
	     sig_bit(sig)))
		flags = 0;
	return set_handler(sig, handler, flags, true);
}

S5_EXPORT handler_fn *signal(int sig, handler_fn *handler)
{
	return set_bsd(sig, handler);
}

S5_EXPORT handler_fn *bsd_signal(int sig, handler_fn *handler)
{
	return set_bsd(sig, handler);
}

S5_EXPORT handler_fn *ssignal(int sig, handler_fn *handler)
{
	return set_bsd(sig, handler);
}

static handler_fn *set_sysv(int sig, handler_fn *handler)
{
	return set_handler(sig, handler,
			   (int)SA_RESETHAND | SA_NODEFER | SA_INTERRUPT_OLD,
			   false);
}

S5_EXPORT handler_fn *sysv_signal(int sig, handler_fn *handler)
{
	return set_sysv(sig, handler);
}

S5_EXPORT handler_fn *__sysv_signal(int sig, handler_fn *handler)
{
	return set_sysv(sig, handler);
}

S5_EXPORT int siginterrupt(int sig, int interrupt)
{
	struct sigaction act = {.sa_flags = 0};

	if (set_action(sig, NULL, &act) < 0)
		return -1;
	if (interrupt) {
		(void)atomic_fetch_or_explicit(&interrupting, sig_bit(sig),
					       memory_order_relaxed);
		act.sa_flags &= ~SA_RESTART;
	} else {
		(void)atomic_fetch_and_explicit(&interrupting, ~sig_bit(sig),
						memory_order_relaxed);
		act.sa_flags |= SA_RESTART;
	}
	return set_action(sig, &act, NULL);
}

S5_EXPORT handler_fn *sigset(int sig, handler_fn *handler)
{
	struct sigaction act = {.sa_flags = 0};
	sigset_t one, before;
	handler_fn *old;
	bool is_hold = handler == SIG_HOLD_OLD;

	(void)sigemptyset(&one);
	if (handler == SIG_ERR || sigaddset(&one, sig) < 0) {
		errno = EINVAL;
		return SIG_ERR;
	}
	if (is_hold) {
		if (sigprocmask(SIG_BLOCK, &one, &before) < 0 ||
		    set_action(sig, NULL, &act) < 0)
			return SIG_ERR;
		old = act.sa_handler;
	} else {
		old = set_handler(sig, handler, 0, false);
		if (old == SIG_ERR ||
		    sigprocmask(SIG_UNBLOCK, &one, &before) < 0)
			return SIG_ERR;
	}
	return sigismember(&before, sig) ? SIG_HOLD_OLD : old;
}
