/* SPDX-License-Identifier: MIT */
/*
 * test_signal_calls.c - sigaction, signal and their kin under the drop-in
 *
 * One trace of results is taken with and without it, and must be the same.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "preloaded.h"

/* Old calls are what is tested. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

typedef void handler_fn(int);

/* No header has it by this name. */
handler_fn *bsd_signal(int sig, handler_fn *handler);

static volatile int runs;

static void count(int sig)
{
	(void)sig;
	runs++;
}

static void count_info(int sig, siginfo_t *info, void *context)
{
	(void)context;
	runs += info->si_signo == sig;
}

static void show(const char *what, handler_fn *handler)
{
	const char *name = handler == SIG_DFL			   ? "default"
			   : handler == SIG_IGN			   ? "ignore"
			   : handler == SIG_ERR			   ? "error"
			   : handler == SIG_HOLD		   ? "hold"
			   : handler == count			   ? "count"
			   : (void *)handler == (void *)count_info ? "info"
								   : "unknown";

	printf("%s: %s", what, name);
	if (handler == SIG_ERR)
		printf(" errno %d", errno);
	printf("\n");
}

static void show_action(int sig)
{
	struct sigaction act;
	unsigned long mask;

	CHECK_OK(sigaction(sig, NULL, &act));
	memcpy(&mask, &act.sa_mask, sizeof(mask));
	printf("  flags %x mask %lx ", (unsigned int)act.sa_flags, mask);
	show("action", act.sa_handler);
}

static void show_mask(void)
{
	sigset_t now;
	unsigned long mask;

	CHECK_OK(sigprocmask(SIG_BLOCK, NULL, &now));
	memcpy(&mask, &now, sizeof(mask));
	printf("  blocked %lx\n", mask);
}

static void show_old_calls(int sig)
{
	show("signal", signal(sig, count));
	show_action(sig);
	printf("siginterrupt %d\n", siginterrupt(sig, 1));
	show_action(sig);
	show("signal", signal(sig, count));
	show_action(sig);
	printf("siginterrupt %d\n", siginterrupt(sig, 0));
	show("bsd_signal", bsd_signal(sig, SIG_IGN));
	show_action(sig);
	show("ssignal", ssignal(sig, count));
	show_action(sig);
	show("sysv_signal", sysv_signal(sig, count));
	show_action(sig);
	raise(sig);
	show_action(sig);
	show("sigset", sigset(sig, count));
	show_action(sig);
	show("sigset", sigset(sig, SIG_HOLD));
	show_mask();
	show("sigset", sigset(sig, SIG_HOLD));
	show("sigset", sigset(sig, SIG_DFL));
	show_mask();
}

HELPER(signal_trace)
{
	static const int bad[] = {0, -1, 65, 32, 33, SIGKILL, SIGSTOP};
	struct sigaction act = {.sa_sigaction = count_info, .sa_flags = 0}, old;
	/* One struct may serve for both actions. */
	struct sigaction *volatile same = &act;

	show_old_calls(SIGUSR1);
	show_old_calls(SIGTERM);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		printf("signal %d\n", bad[i]);
		show("signal", signal(bad[i], count));
		show("sysv_signal", sysv_signal(bad[i], count));
		show("sigset", sigset(bad[i], count));
		show("sigset hold", sigset(bad[i], SIG_HOLD));
		errno = 0;
		printf("siginterrupt %d", siginterrupt(bad[i], 0));
		printf(" errno %d\n", errno);
		errno = 0;
		printf("sigaction %d", sigaction(bad[i], &act, NULL));
		printf(" errno %d\n", errno);
	}
	show("signal", signal(SIGUSR2, SIG_ERR));
	act.sa_flags = (int)SA_RESETHAND | SA_SIGINFO;
	sigaddset(&act.sa_mask, SIGUSR2);
	CHECK_OK(sigaction(SIGUSR1, &act, &old));
	show("sigaction", old.sa_handler);
	show_action(SIGUSR1);
	act.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
	CHECK_OK(sigaction(SIGUSR1, &act, same));
	show("sigaction", act.sa_handler);
	show_action(SIGUSR1);
	raise(SIGUSR1);
	printf("runs %d\n", runs);
	CHECK_EQ_INT(fflush(stdout), 0);
	return 0;
}

/* The trace of the signal calls, of at most `size` bytes. */
static void take_trace(bool is_preloaded, char *ret_text, size_t size)
{
	int ends[2];
	size_t have = 0;
	ssize_t n;
	pid_t pid;

	CHECK_OK(pipe(ends));
	pid = CHECK_OK(fork());
	if (pid == 0) {
		CHECK_OK(dup2(ends[1], 1));
		become("signal_trace", is_preloaded);
	}
	CHECK_OK(close(ends[1]));
	while ((n = read(ends[0], ret_text + have, size - 1 - have)) > 0)
		have += (size_t)n;
	ret_text[have] = 0;
	CHECK_OK(close(ends[0]));
	harness_join(pid);
	CHECK(have > 1000 && have < size - 1, "%zu bytes", have);
}

TEST(signal_calls_do_as_libc_does)
{
	static char bare[16384], wrapped[16384];
	char *b, *w, *save_b, *save_w;

	take_trace(false, bare, sizeof(bare));
	take_trace(true, wrapped, sizeof(wrapped));
	b = strtok_r(bare, "\n", &save_b);
	w = strtok_r(wrapped, "\n", &save_w);
	for (int line = 1; b || w; line++) {
		CHECK(b && w && strcmp(b, w) == 0, "line %d: %s, wrapped %s",
		      line, b ? b : "-", w ? w : "-");
		b = strtok_r(NULL, "\n", &save_b);
		w = strtok_r(NULL, "\n", &save_w);
	}
}

HELPER(handlers_are_wrapped)
{
	struct sigaction act = {.sa_handler = count, .sa_flags = 0};

	CHECK_OK(sigaction(SIGUSR1, &act, NULL));
	CHECK(kernel_action(SIGUSR1).handler != (void *)count);
	CHECK(signal(SIGUSR1, SIG_DFL) == count);
	CHECK(signal(SIGUSR1, count) == SIG_DFL);
	CHECK(kernel_action(SIGUSR1).handler != (void *)count);
	CHECK(sysv_signal(SIGUSR1, count) == count);
	CHECK(kernel_action(SIGUSR1).handler != (void *)count);
	CHECK(sigset(SIGUSR1, count) == count);
	CHECK(kernel_action(SIGUSR1).handler != (void *)count);
	raise(SIGUSR1);
	CHECK_EQ_INT(runs, 1);
	return 0;
}

TEST(all_of_them_wrap)
{
	run_preloaded("handlers_are_wrapped");
}
