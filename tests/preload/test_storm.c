/* SPDX-License-Identifier: MIT */
/*
 * test_storm.c - handlers that use the queue that they interrupted a call on
 *
 * Two children shower a preloaded process with signals while it sends and
 * receives. Its handlers send to the same queue, and some of them jump out of
 * the interrupted call. No call may fail for it, no message be doubled, and
 * none of the handlers' be lost.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/msg.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preloaded.h"

#define ROUNDS	  20000
#define HANDLED	  20000
#define JUMP_EACH 5

struct message {
	long type;
	uint64_t number;
};

static int queue;
static sigjmp_buf back;
static volatile sig_atomic_t may_jump;
static volatile uint64_t handled, sent_by_handler, unexpected;

static void send_and_jump(int sig)
{
	struct message m = {.type = sig, .number = handled++};
	int saved = errno;

	if (msgsnd(queue, &m, sizeof(m.number), IPC_NOWAIT) == 0)
		sent_by_handler++;
	else if (errno != EAGAIN)
		unexpected = (uint64_t)errno;
	errno = saved;
	if (may_jump && handled % JUMP_EACH == 0)
		siglongjmp(back, 1);
}

static pid_t shower(int sig)
{
	pid_t parent = getpid(), pid = CHECK_OK(fork());

	if (pid == 0) {
		while (getppid() == parent)
			(void)kill(parent, sig);
		_exit(0);
	}
	return pid;
}

/* Takes all of one type out; checks that their numbers only grow. */
static uint64_t drain(long type, uint64_t *last, int flags)
{
	struct message m;
	uint64_t n = 0;

	while (msgrcv(queue, &m, sizeof(m.number), type, flags) >= 0) {
		CHECK(m.number > *last, "%llu after %llu",
		      (unsigned long long)m.number, (unsigned long long)*last);
		*last = m.number;
		n++;
	}
	CHECK_EQ_INT(errno, ENOMSG);
	return n;
}

static void set_signals(int how)
{
	sigset_t both;

	CHECK_OK(sigemptyset(&both));
	CHECK_OK(sigaddset(&both, SIGUSR1));
	CHECK_OK(sigaddset(&both, SIGUSR2));
	CHECK_OK(sigprocmask(how, &both, NULL));
}

/* One message there and back, to be interrupted anywhere. */
static void one_round(uint64_t number, uint64_t *last)
{
	struct message m = {.type = 1, .number = number};

	if (sigsetjmp(back, 1) == 0) {
		may_jump = 1;
		if (msgsnd(queue, &m, sizeof(m.number), IPC_NOWAIT) < 0)
			CHECK_EQ_INT(errno, EAGAIN);
		(void)drain(1, last, IPC_NOWAIT);
	}
	may_jump = 0;
}

HELPER(storm)
{
	struct sigaction act = {.sa_handler = send_and_jump, .sa_flags = 0};
	static uint64_t last_main, first[2], got, i;
	pid_t pids[2];

	queue = CHECK_OK(msgget(IPC_PRIVATE, 0600));
	CHECK_OK(sigaddset(&act.sa_mask, SIGUSR1));
	CHECK_OK(sigaddset(&act.sa_mask, SIGUSR2));
	CHECK_OK(sigaction(SIGUSR1, &act, NULL));
	CHECK_OK(sigaction(SIGUSR2, &act, NULL));
	handled = 1;
	pids[0] = shower(SIGUSR1);
	pids[1] = shower(SIGUSR2);
	for (i = 1; i <= ROUNDS || handled < HANDLED; i++) {
		one_round(i, &last_main);
		if (i % 100)
			continue;
		set_signals(SIG_BLOCK);
		got += drain(SIGUSR1, &first[0], IPC_NOWAIT);
		got += drain(SIGUSR2, &first[1], IPC_NOWAIT);
		set_signals(SIG_UNBLOCK);
	}
	for (int k = 0; k < 2; k++) {
		CHECK_OK(kill(pids[k], SIGKILL));
		(void)harness_reap(pids[k]);
	}
	set_signals(SIG_BLOCK);
	got += drain(SIGUSR1, &first[0], IPC_NOWAIT);
	got += drain(SIGUSR2, &first[1], IPC_NOWAIT);
	CHECK_EQ_INT(unexpected, 0);
	CHECK_EQ_INT(got, sent_by_handler);
	CHECK_OK(msgctl(queue, IPC_RMID, NULL));
	return 0;
}

TEST_TIMEOUT(handlers_that_send_and_jump, 60)
{
	run_preloaded("storm");
}
