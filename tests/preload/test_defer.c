/* SPDX-License-Identifier: MIT */
/*
 * test_defer.c - deferral of signals, on the static core
 *
 * install() and installed() do what the drop-in's sigaction() does. Signals
 * are sent by the thread to itself, so that each is delivered, or deferred,
 * before the sending call returns.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/defer.h"
#include "harness.h"

#define ALT_SIZE 65536

typedef void info_fn(int, siginfo_t *, void *);

static volatile int runs, other_runs, last_value, last_code, ran_inside;
static volatile int order[8], values[8], order_n;
static volatile uintptr_t handler_stack;
static sigjmp_buf jump;

static void note(int sig, siginfo_t *info, void *context)
{
	char here;

	(void)context;
	runs++;
	last_value = info->si_value.sival_int;
	last_code = info->si_code;
	ran_inside += s5__defer_self.state != S5__DEFER_OUTSIDE;
	handler_stack = (uintptr_t)&here;
	values[order_n % 8] = last_value;
	order[order_n++ % 8] = sig;
}

static void note_other(int sig)
{
	other_runs++;
	ran_inside += s5__defer_self.state != S5__DEFER_OUTSIDE;
	order[order_n++ % 8] = sig;
}

static void jump_away(int sig)
{
	runs++;
	siglongjmp(jump, sig);
}

static void install(int sig, void *handler, int flags)
{
	struct sigaction act = {.sa_flags = 0};
	unsigned long wide = (unsigned int)flags;

	s5__defer_wrap(&handler, &wide);
	act.sa_sigaction = (info_fn *)handler;
	act.sa_flags = (int)wide;
	CHECK_OK(sigaction(sig, &act, NULL));
}

static void *installed(int sig, int *ret_flags)
{
	struct sigaction act;
	unsigned long flags;
	void *handler;

	CHECK_OK(sigaction(sig, NULL, &act));
	handler = (void *)act.sa_sigaction;
	flags = (unsigned int)act.sa_flags;
	s5__defer_unwrap(&handler, &flags);
	*ret_flags = (int)flags & ~0x04000000; /* SA_RESTORER, libc's own */
	return handler;
}

static void send_value(int sig, int value)
{
	union sigval v = {.sival_int = value};

	CHECK_OK(sigqueue(getpid(), sig, v));
}

static uint64_t mask_now(void)
{
	uint64_t mask = 0;

	CHECK_OK(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, 8));
	return mask;
}

TEST(deferred_until_the_section_is_left)
{
	uint64_t before = mask_now();

	install(SIGUSR1, (void *)note, SA_SIGINFO);
	s5__defer_enter();
	send_value(SIGUSR1, 42);
	CHECK_EQ_INT(runs, 0);
	s5__defer_leave();
	CHECK_EQ_INT(runs, 1);
	CHECK_EQ_INT(last_value, 42);
	CHECK_EQ_INT(last_code, SI_QUEUE);
	CHECK_EQ_INT(ran_inside, 0);
	CHECK(mask_now() == before, "mask %llx", (long long)mask_now());
	send_value(SIGUSR1, 43);
	CHECK_EQ_INT(last_value, 43);
}

TEST(every_signal_keeps_its_value)
{
	for (int sig = 1; sig <= 64; sig++) {
		if (sig == SIGKILL || sig == SIGSTOP || sig == SIGSEGV ||
		    sig == SIGBUS || sig == SIGFPE || sig == SIGILL ||
		    sig == 32 || sig == 33)
			continue;
		install(sig, (void *)note, SA_SIGINFO);
		runs = 0;
		s5__defer_enter();
		send_value(sig, sig * 3);
		CHECK(runs == 0, "signal %d", sig);
		s5__defer_leave();
		CHECK(runs == 1, "signal %d ran %d times", sig, runs);
		CHECK_EQ_INT(last_value, sig * 3);
		CHECK(mask_now() == 0, "after signal %d", sig);
	}
}

TEST(two_signals_in_one_section)
{
	install(SIGUSR1, (void *)note, SA_SIGINFO);
	install(SIGUSR2, (void *)note_other, 0);
	s5__defer_enter();
	send_value(SIGUSR1, 1);
	raise(SIGUSR2);
	CHECK_EQ_INT(runs + other_runs, 0);
	s5__defer_leave();
	CHECK_EQ_INT(runs, 1);
	CHECK_EQ_INT(other_runs, 1);
	CHECK_EQ_INT(ran_inside, 0);
	CHECK_EQ_INT(mask_now(), 0);
}

/* Both are pending, so that one trampoline interrupts the other. */
TEST(trampolines_interrupt_each_other)
{
	sigset_t both, before;
	int first = SIGRTMIN + 1;

	sigemptyset(&both);
	for (int i = 0; i < 8; i++) {
		install(first + i, (void *)note, SA_SIGINFO);
		sigaddset(&both, first + i);
	}
	CHECK_OK(sigprocmask(SIG_BLOCK, &both, &before));
	for (int i = 0; i < 8; i++)
		send_value(first + i, i);
	s5__defer_enter();
	CHECK_OK(sigprocmask(SIG_SETMASK, &before, NULL));
	CHECK_EQ_INT(runs, 0);
	s5__defer_leave();
	CHECK_EQ_INT(runs, 8);
	CHECK_EQ_INT(ran_inside, 0);
	CHECK_EQ_INT(mask_now(), 0);
}

TEST(queued_values_keep_their_order)
{
	install(SIGRTMIN, (void *)note, SA_SIGINFO);
	s5__defer_enter();
	for (int i = 1; i <= 5; i++)
		send_value(SIGRTMIN, i);
	s5__defer_leave();
	CHECK_EQ_INT(runs, 5);
	for (int i = 0; i < 5; i++)
		CHECK_EQ_INT(values[i], i + 1);
}

TEST(on_the_alternate_stack)
{
	char *stack = malloc(ALT_SIZE);
	stack_t alt = {.ss_sp = stack, .ss_size = ALT_SIZE};

	CHECK(stack != NULL);
	CHECK_OK(sigaltstack(&alt, NULL));
	install(SIGUSR1, (void *)note, SA_SIGINFO | SA_ONSTACK);
	s5__defer_enter();
	raise(SIGUSR1);
	s5__defer_leave();
	CHECK_EQ_INT(runs, 1);
	CHECK(handler_stack - (uintptr_t)stack < ALT_SIZE);
	alt.ss_flags = SS_DISABLE;
	CHECK_OK(sigaltstack(&alt, NULL));
	free(stack);
}

static void enter_and_leave(int sig)
{
	s5__defer_enter();
	runs++;
	if (sig == SIGUSR1) {
		raise(SIGUSR2);
		CHECK_EQ_INT(runs, 1);
	}
	s5__defer_leave();
}

TEST(sections_in_handlers)
{
	install(SIGUSR1, (void *)enter_and_leave, 0);
	install(SIGUSR2, (void *)enter_and_leave, 0);
	s5__defer_enter();
	raise(SIGUSR1);
	s5__defer_leave();
	CHECK_EQ_INT(runs, 2);
	CHECK_EQ_INT(mask_now(), 0);
	CHECK_EQ_INT(s5__defer_self.state, S5__DEFER_OUTSIDE);
}

TEST(reset_when_it_runs_and_not_before)
{
	int flags, reset = SA_RESETHAND | SA_NODEFER;

	install(SIGHUP, (void *)note_other, reset);
	CHECK(installed(SIGHUP, &flags) == (void *)note_other);
	CHECK_EQ_INT(flags, reset);
	s5__defer_enter();
	raise(SIGHUP);
	CHECK(installed(SIGHUP, &flags) == (void *)note_other);
	s5__defer_leave();
	CHECK_EQ_INT(other_runs, 1);
	CHECK(installed(SIGHUP, &flags) == (void *)SIG_DFL);
	CHECK_EQ_INT(flags, reset);
}

TEST(jump_out_of_a_deferred_handler)
{
	install(SIGUSR1, (void *)jump_away, 0);
	install(SIGUSR2, (void *)note_other, 0);
	for (volatile int i = 0; i < 3; i++) {
		if (sigsetjmp(jump, 1) == 0) {
			s5__defer_enter();
			raise(SIGUSR1);
			s5__defer_leave();
			CHECK(false, "came back");
		}
		CHECK_EQ_INT(runs, i + 1);
		CHECK_EQ_INT(s5__defer_self.state, S5__DEFER_OUTSIDE);
		CHECK_EQ_INT(s5__defer_self.todo, 0);
		CHECK_EQ_INT(mask_now(), 0);
	}
	raise(SIGUSR2);
	CHECK_EQ_INT(other_runs, 1);
}

TEST(a_query_gives_what_was_installed)
{
	static const int flags[] = {
		0,
		SA_SIGINFO,
		SA_RESTART,
		SA_SIGINFO | SA_RESTART | SA_ONSTACK | SA_NODEFER,
		SA_RESETHAND | SA_NOCLDSTOP,
		SA_RESETHAND | SA_SIGINFO | SA_NOCLDWAIT,
	};
	int seen;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		install(SIGUSR1, (void *)note, flags[i]);
		CHECK(installed(SIGUSR1, &seen) == (void *)note);
		CHECK_EQ_INT(seen, flags[i]);
		install(SIGUSR1, (void *)jump_away, flags[i]);
		CHECK(installed(SIGUSR1, &seen) == (void *)jump_away);
	}
	install(SIGUSR1, (void *)SIG_IGN, 0);
	CHECK(installed(SIGUSR1, &seen) == (void *)SIG_IGN);
	install(SIGUSR1, (void *)SIG_DFL, 0);
	CHECK(installed(SIGUSR1, &seen) == (void *)SIG_DFL);
}

TEST(a_vfork_child_resets_its_own_handlers)
{
	int flags;
	pid_t pid;

	install(SIGUSR2, (void *)note_other, 0);
	pid = vfork();
	if (pid == 0) {
		install(SIGUSR2, (void *)SIG_DFL, 0);
		install(SIGUSR1, (void *)note, SA_SIGINFO);
		_exit(0);
	}
	CHECK_OK(pid);
	CHECK_EQ_INT(harness_reap(pid), 0);
	CHECK(installed(SIGUSR2, &flags) == (void *)note_other);
	CHECK(installed(SIGUSR1, &flags) == (void *)SIG_DFL);
	s5__defer_enter();
	raise(SIGUSR2);
	CHECK_EQ_INT(other_runs, 0);
	s5__defer_leave();
	CHECK_EQ_INT(other_runs, 1);
}

TEST(handlers_from_before_are_adopted)
{
	struct sigaction act = {.sa_sigaction = note, .sa_flags = SA_SIGINFO};
	int flags;

	sigaddset(&act.sa_mask, SIGTERM);
	CHECK_OK(sigaction(SIGUSR1, &act, NULL));
	s5__defer_enter();
	raise(SIGUSR1);
	CHECK_EQ_INT(runs, 0);
	s5__defer_leave();
	CHECK_EQ_INT(runs, 1);
	CHECK(installed(SIGUSR1, &flags) == (void *)note);
	CHECK_EQ_INT(flags, SA_SIGINFO);
	CHECK_OK(sigaction(SIGUSR1, NULL, &act));
	CHECK(sigismember(&act.sa_mask, SIGTERM) == 1);
	s5__defer_adopt();
	CHECK(installed(SIGUSR1, &flags) == (void *)note);
}

TEST(a_vfork_child_does_not_adopt_for_its_parent)
{
	struct sigaction act = {.sa_sigaction = note, .sa_flags = SA_SIGINFO};
	pid_t pid;

	CHECK_OK(sigaction(SIGUSR1, &act, NULL));
	s5__maybe_vfork = 1;
	pid = vfork();
	if (pid == 0) {
		s5__defer_enter();
		s5__defer_leave();
		_exit(0);
	}
	CHECK_OK(pid);
	CHECK_EQ_INT(harness_reap(pid), 0);
	s5__maybe_vfork = 0;
	s5__defer_enter();
	raise(SIGUSR1);
	CHECK_EQ_INT(runs, 0);
	s5__defer_leave();
	CHECK_EQ_INT(runs, 1);
}

/* Addresses that are never called fill the table. */
static void fill_table(void)
{
	for (uintptr_t i = 0; i < 1000; i++)
		install(SIGUSR2, (void *)(0x10000 + i * 16), 0);
	CHECK(s5__defer_mode & S5__MODE_BLOCK);
}

TEST(a_full_table_blocks_signals)
{
	struct sigaction act;
	int flags;

	install(SIGUSR2, (void *)note_other, 0);
	fill_table();
	install(SIGUSR1, (void *)note, SA_SIGINFO);
	CHECK(installed(SIGUSR1, &flags) == (void *)note);
	CHECK_OK(sigaction(SIGUSR1, NULL, &act));
	CHECK(act.sa_sigaction == note, "this one is not wrapped");
	install(SIGUSR2, (void *)note_other, 0);
	for (int i = 1; i <= 3; i++) {
		s5__defer_enter();
		send_value(SIGUSR1, i);
		raise(SIGUSR2);
		CHECK_EQ_INT(runs, i - 1);
		CHECK_EQ_INT(other_runs, i - 1);
		s5__defer_leave();
		CHECK_EQ_INT(runs, i);
		CHECK_EQ_INT(last_value, i);
		CHECK_EQ_INT(other_runs, i);
		CHECK_EQ_INT(mask_now(), 0);
	}
}

static volatile sig_atomic_t fault_state, jump_from_fault;
static char *fault_page;

static void mend_fault(int sig)
{
	(void)sig;
	fault_state = (sig_atomic_t)s5__defer_self.state;
	order[order_n++ % 8] = sig;
	if (jump_from_fault)
		siglongjmp(jump, 1);
	CHECK_OK(mprotect(fault_page, 4096, PROT_READ | PROT_WRITE));
}

static void make_fault_page(void)
{
	fault_page =
		mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(fault_page != MAP_FAILED);
	install(SIGSEGV, (void *)mend_fault, 0);
	install(SIGUSR1, (void *)note, SA_SIGINFO);
}

TEST(a_fault_is_not_deferred)
{
	make_fault_page();
	s5__defer_enter();
	*(volatile char *)fault_page = 1;
	CHECK_EQ_INT(fault_state, S5__DEFER_SUSPENDED);
	CHECK(s5__defer_is_inside());
	raise(SIGUSR1);
	CHECK_EQ_INT(runs, 0);
	s5__defer_leave();
	CHECK_EQ_INT(runs, 1);
	CHECK_EQ_INT(mask_now(), 0);
}

TEST(a_fault_lets_what_waits_go_first)
{
	make_fault_page();
	s5__defer_enter();
	raise(SIGUSR1);
	CHECK_EQ_INT(runs, 0);
	*(volatile char *)fault_page = 1;
	CHECK_EQ_INT(runs, 1);
	CHECK_EQ_INT(order[0], SIGUSR1);
	CHECK_EQ_INT(order[1], SIGSEGV);
	CHECK(s5__defer_is_inside());
	raise(SIGUSR1);
	CHECK_EQ_INT(runs, 1);
	s5__defer_leave();
	CHECK_EQ_INT(runs, 2);
	CHECK_EQ_INT(mask_now(), 0);
}

TEST(a_jump_away_from_a_fault)
{
	make_fault_page();
	jump_from_fault = 1;
	if (sigsetjmp(jump, 1) == 0) {
		s5__defer_enter();
		raise(SIGUSR1);
		*(volatile char *)fault_page = 1;
	}
	CHECK_EQ_INT(runs, 1);
	CHECK(s5__defer_is_suspended());
	CHECK_EQ_INT(mask_now(), 0);
	raise(SIGUSR1);
	CHECK_EQ_INT(runs, 2);
	s5__defer_enter();
	raise(SIGUSR1);
	CHECK_EQ_INT(runs, 2);
	s5__defer_leave();
	CHECK_EQ_INT(runs, 3);
	CHECK_EQ_INT(s5__defer_self.state, S5__DEFER_OUTSIDE);
}

TEST(a_trap_that_was_sent_is_deferred)
{
	install(SIGTRAP, (void *)note, SA_SIGINFO);
	install(SIGUSR2, (void *)note_other, 0);
	s5__defer_enter();
	raise(SIGUSR2);
	raise(SIGTRAP);
	CHECK_EQ_INT(runs + other_runs, 0);
	s5__defer_leave();
	CHECK_EQ_INT(runs, 1);
	CHECK_EQ_INT(other_runs, 1);
	CHECK_EQ_INT(mask_now(), 0);
}

/* The signal comes, though what came with it does not. */
TEST(no_room_to_queue)
{
	struct rlimit none = {0, 0};

	install(SIGRTMIN, (void *)note, SA_SIGINFO);
	s5__defer_enter();
	CHECK_OK(setrlimit(RLIMIT_SIGPENDING, &none));
	CHECK_OK(syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGRTMIN,
			 &(siginfo_t){.si_code = SI_USER}));
	CHECK_EQ_INT(runs, 0);
	s5__defer_leave();
	CHECK_EQ_INT(runs, 1);
	CHECK_EQ_INT(mask_now(), 0);
}

TEST(handlers_are_counted_and_bump)
{
	_Atomic uint32_t word = 3, seat = 7;
	uint32_t before;

	install(SIGUSR1, (void *)note, SA_SIGINFO);
	before = s5__defer_intr();
	raise(SIGUSR1);
	CHECK_EQ_INT(s5__defer_intr() - before, 1);
	s5__defer_sleep_on(&word, &seat);
	raise(SIGUSR1);
	CHECK_EQ_INT(word, 3 + S5__SLEEP_BUMP);
	CHECK_EQ_INT(seat, 7 + S5__SLEEP_BUMP);
	s5__defer_sleep_on(&word, NULL);
	s5__defer_enter();
	raise(SIGUSR1);
	CHECK_EQ_INT(word, 3 + S5__SLEEP_BUMP);
	CHECK_EQ_INT(s5__defer_intr() - before, 2);
	s5__defer_leave();
	CHECK_EQ_INT(word, 3 + 2 * S5__SLEEP_BUMP);
	CHECK_EQ_INT(s5__defer_intr() - before, 3);
	s5__defer_sleep_on(&word, &seat);
	s5__defer_fork_child();
	raise(SIGUSR1);
	CHECK_EQ_INT(word, 3 + 2 * S5__SLEEP_BUMP);
	CHECK_EQ_INT(seat, 7 + S5__SLEEP_BUMP);
}

static void *end_inside(void *arg)
{
	(void)arg;
	s5__defer_enter();
	raise(SIGUSR1);
	CHECK_EQ_INT(runs, 0);
	s5__defer_thread_exit();
	CHECK_EQ_INT(runs, 1);
	return NULL;
}

TEST(a_thread_that_ends_inside)
{
	pthread_t thread;

	install(SIGUSR1, (void *)note, SA_SIGINFO);
	CHECK_EQ_INT(pthread_create(&thread, NULL, end_inside, NULL), 0);
	CHECK_EQ_INT(pthread_join(thread, NULL), 0);
	CHECK_EQ_INT(runs, 1);
}

static volatile int stop;

static void *change_handlers(void *arg)
{
	(void)arg;
	while (!stop) {
		install(SIGUSR2, (void *)note_other, SA_RESTART);
		install(SIGUSR2, (void *)note, SA_SIGINFO);
	}
	return NULL;
}

/* Whatever adoption does meanwhile, the last one set is what remains. */
TEST(adoption_races_with_sigaction)
{
	pthread_t thread;
	int flags;

	CHECK_EQ_INT(pthread_create(&thread, NULL, change_handlers, NULL), 0);
	for (int i = 0; i < 2000; i++) {
		s5__defer_mode = S5__MODE_ADOPT;
		s5__defer_adopt();
	}
	stop = 1;
	CHECK_EQ_INT(pthread_join(thread, NULL), 0);
	CHECK(installed(SIGUSR2, &flags) == (void *)note);
	CHECK_EQ_INT(flags, SA_SIGINFO);
}

static volatile int sent, is_sent;

static void *send_storm(void *arg)
{
	pthread_t target = *(pthread_t *)arg;
	uint64_t rng = harness_seed();

	for (int i = 0; i < 20000; i++) {
		int sig = SIGRTMIN + (int)(harness_random(&rng) % 8);

		sent += pthread_kill(target, sig) == 0;
	}
	is_sent = 1;
	return NULL;
}

/* Signals that are queued are neither lost nor doubled. */
TEST(a_storm_of_signals)
{
	pthread_t self = pthread_self(), thread;

	for (int i = 0; i < 8; i++)
		install(SIGRTMIN + i, (void *)enter_and_leave, 0);
	CHECK_EQ_INT(pthread_create(&thread, NULL, send_storm, &self), 0);
	while (!is_sent) {
		s5__defer_enter();
		s5__defer_leave();
	}
	CHECK_EQ_INT(pthread_join(thread, NULL), 0);
	CHECK_EQ_INT(mask_now(), 0);
	CHECK(sent > 1000, "only %d were sent", sent);
	CHECK_EQ_INT(runs, sent);
	CHECK_EQ_INT(s5__defer_self.todo, 0);
	CHECK_EQ_INT(s5__defer_self.state, S5__DEFER_OUTSIDE);
}
