/* SPDX-License-Identifier: MIT */
/*
 * test_enter.c - who am I? Forks that libc does not see, children that share
 * memory, handlers that use libc's robust mutexes
 */
#include "check.h"
#include "msg/msgq.h"
#include "msg/room.h"

#include "harness.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK 65536

/* Seen by a forked child, too. */
static struct shared {
	volatile uint32_t idx;
	volatile int done;
	volatile long ret, sent;
} * shared;
static int id;
static struct {
	long type;
	char text[100];
} m = {.type = 1};

static volatile pid_t child; /* of the handler; in the child 0 */
static volatile int handled;

static void start(void)
{
	s5__msg_init();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	id = s5__msgget(IPC_PRIVATE, 0600);
	CHECK(id >= 0, "msgget: %d", id);
}

static void handle(int sig, void (*handler)(int))
{
	struct sigaction sa = {.sa_handler = handler};

	CHECK_OK(sigaction(sig, &sa, NULL));
}

static void signal_sleeper(void *arg)
{
	pid_t pid = *(const pid_t *)arg;

	wait_sleeping(pid);
	CHECK_OK(kill(pid, SIGUSR1));
}

/* Somebody sends this process SIGUSR1 when it sleeps. */
static pid_t signal_me(void)
{
	pid_t pid = getpid();

	return harness_spawn(signal_sleeper, &pid);
}

static void end_child(long ret)
{
	shared->ret = ret;
	shared->sent = s5__msgsnd(id, &m, sizeof(m.text), IPC_NOWAIT);
	shared->idx = s5__self.idx;
	(void)syscall(SYS_exit_group, 0);
}

static void reap(pid_t pid)
{
	int status;

	CHECK_EQ_INT(waitpid(pid, &status, 0), pid);
	CHECK(status == 0, "the child: status %#x", (unsigned)status);
}

/* --- forks that libc does not see -------------------------------------------
 */

static void fork_raw(int sig)
{
	(void)sig;
	handled++;
	child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/* The child returns into the call that it has only a copy of. */
TEST(fork_in_a_handler_while_waiting_for_a_message)
{
	pid_t helper;
	long ret;

	handle(SIGUSR1, fork_raw);
	start();
	helper = signal_me();
	ret = s5__msgrcv(id, &m, sizeof(m.text), 0, 0);
	if (handled && child == 0)
		end_child(ret);
	CHECK_EQ_INT(ret, -EINTR);
	reap(child);
	harness_join(helper);
	CHECK_EQ_INT(shared->ret, -EINTR);
	CHECK_EQ_INT(shared->sent, 0);
	CHECK(shared->idx != s5__self.idx, "a slot of two");
	CHECK_EQ_INT(s5__msgrcv(id, &m, sizeof(m.text), 0, IPC_NOWAIT),
		     sizeof(m.text));
	check_clean("in the end");
}

/* The child makes a call in the handler, and then returns. */
static void fork_raw_and_call(int sig)
{
	fork_raw(sig);
	if (child == 0)
		shared->done = s5__msgsnd(id, &m, sizeof(m.text), 0) == 0;
}

TEST(fork_and_call_in_a_handler)
{
	pid_t helper;
	long ret;

	handle(SIGUSR1, fork_raw_and_call);
	start();
	helper = signal_me();
	ret = s5__msgrcv(id, &m, sizeof(m.text), 2, 0);
	if (handled && child == 0)
		end_child(ret);
	CHECK_EQ_INT(ret, -EINTR);
	reap(child);
	harness_join(helper);
	CHECK_EQ_INT(shared->ret, -EINTR);
	CHECK(shared->done && shared->sent == 0);
	CHECK(shared->idx != s5__self.idx, "a slot of two");
	for (int i = 0; i < 2; i++)
		CHECK_EQ_INT(s5__msgrcv(id, &m, sizeof(m.text), 0, IPC_NOWAIT),
			     sizeof(m.text));
	check_clean("in the end");
}

static struct s5__slot *other;
static uint32_t other_token;
static pthread_barrier_t barrier;

static void *partner(void *arg)
{
	(void)arg;
	CHECK(s5__msgget(1, IPC_CREAT | 0600) >= 0);
	other = s5__self.slot;
	other_token = s5__self.token;
	(void)pthread_barrier_wait(&barrier);
	for (;;)
		(void)pause();
	return NULL;
}

/* The queue's lock is held by a thread that does not come to release it. */
static struct s5__a32 *hold_lock(void)
{
	struct s5__a32 *lock;
	pthread_t t;

	CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
	CHECK(pthread_create(&t, NULL, partner, NULL) == 0);
	(void)pthread_barrier_wait(&barrier);
	lock = &s5__msgq_at((uint32_t)id % S5__IPC_MNI)->lock;
	s5__a64_store_rlx(&other->holding, s5__off(lock));
	s5__a32_store_rlx(lock, other_token);
	return lock;
}

static struct s5__a32 *held;

static void fork_raw_and_release(int sig)
{
	fork_raw(sig);
	if (child == 0)
		return;
	reap(child);
	CHECK(s5__a32_load_rlx(held) == other_token, "taken by the child");
	s5__a32_store_rlx(held, 0);
	s5__a64_store_rlx(&other->holding, 0);
}

static void wait_for_lock(long (*call)(void), long ret_of_parent)
{
	pid_t helper;
	long ret;

	handle(SIGUSR1, fork_raw_and_release);
	start();
	held = hold_lock();
	helper = signal_me();
	ret = call();
	if (handled && child == 0) {
		shared->ret = ret;
		(void)syscall(SYS_exit_group, 0);
	}
	harness_join(helper);
	CHECK_EQ_INT(ret, ret_of_parent);
	CHECK(shared->ret < 0, "the child: %ld", shared->ret);
	check_clean("in the end");
}

static long call_send(void)
{
	return s5__msgsnd(id, &m, sizeof(m.text), 0);
}

static long call_stat(void)
{
	struct msqid_ds ds;

	return s5__msgctl(id, IPC_STAT, &ds);
}

static long call_remove(void)
{
	return s5__msgctl(id, IPC_RMID, NULL);
}

TEST(fork_in_a_handler_while_msgsnd_waits_for_a_lock)
{
	wait_for_lock(call_send, -EINTR);
}

TEST(fork_in_a_handler_while_msgctl_waits_for_a_lock)
{
	wait_for_lock(call_stat, 0);
}

TEST(fork_in_a_handler_while_a_queue_is_removed)
{
	wait_for_lock(call_remove, 0);
}

static long no_madvise(long nr)
{
	return nr == SYS_madvise ? -EINVAL : 0;
}

static void send_in_child(void *arg)
{
	(void)arg;
	CHECK_EQ_INT(s5__msgsnd(id, &m, sizeof(m.text), 0), 0);
	shared->idx = s5__self.idx;
}

/* A kernel, or a sandbox, that does not wipe pages at a fork. */
TEST(fork_where_pages_are_not_wiped)
{
	s5__sys_hook = no_madvise;
	start();
	harness_join(harness_spawn(send_in_child, NULL));
	CHECK(shared->idx != s5__self.idx, "a slot of two");
}

/* --- a thread that was to finish something is not there after a fork --------
 */

int __real_pthread_atfork(void (*)(void), void (*)(void), void (*)(void));
int __wrap_pthread_atfork(void (*a)(void), void (*b)(void), void (*c)(void));

static volatile pid_t stays; /* the process in which nobody comes back */

int __wrap_pthread_atfork(void (*a)(void), void (*b)(void), void (*c)(void))
{
	if (stays == getpid()) {
		(void)pthread_barrier_wait(&barrier);
		for (;;)
			(void)pause();
	}
	return __real_pthread_atfork(a, b, c);
}

static void *register_in_thread(void *arg)
{
	(void)arg;
	(void)s5__msgget(1, IPC_CREAT | 0600);
	return NULL;
}

static void get_in_child(void *arg)
{
	(void)arg;
	CHECK(s5__msgget(1, IPC_CREAT | 0600) >= 0);
}

TEST(fork_while_another_thread_makes_the_first_call)
{
	pthread_t t;

	s5__msg_init();
	stays = getpid();
	CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
	CHECK(pthread_create(&t, NULL, register_in_thread, NULL) == 0);
	(void)pthread_barrier_wait(&barrier);
	harness_join(harness_spawn(get_in_child, NULL));
}

/* --- children that share memory ---------------------------------------------
 */

static uint32_t last_sender(void)
{
	struct msqid_ds ds;

	CHECK_EQ_INT(s5__msgctl(id, IPC_STAT, &ds), 0);
	return (uint32_t)ds.msg_lspid;
}

static volatile int stage;
static volatile uint32_t sender_in_child, sender_meanwhile;

/* Sends before the child lives, and while it does. */
static void *send_twice(void *arg)
{
	(void)arg;
	CHECK_EQ_INT(s5__msgsnd(id, &m, sizeof(m.text), 0), 0);
	stage = 1;
	WAIT_UNTIL(stage == 2);
	CHECK_EQ_INT(s5__msgsnd(id, &m, sizeof(m.text), 0), 0);
	sender_meanwhile = last_sender();
	stage = 3;
	return NULL;
}

static int be_vfork_child(void *arg)
{
	volatile pid_t *pid = arg;

	*pid = getpid();
	if (s5__msgsnd(id, &m, sizeof(m.text), 0) != 0)
		return 1;
	sender_in_child = last_sender();
	shared->idx = s5__self.idx;
	if (s5__msgsnd(id, &m, sizeof(m.text), 0) != 0)
		return 1;
	if (stage != 3)
		stage = 2;
	while (stage != 3)
		(void)sched_yield();
	return 0;
}

/* As vfork does, with a stack of its own for the child. */
static void share_memory_with(int (*fn)(void *), pid_t *pid)
{
	static _Alignas(16) char stack[STACK];

	s5__maybe_vfork |= 1; /* as the drop-in does */
	reap(CHECK_OK(clone(fn, stack + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD,
			    pid)));
}

TEST(vfork_child_is_another_process)
{
	uint32_t before;
	pid_t pid = 0;
	pthread_t t;

	start();
	CHECK_EQ_INT(s5__msgsnd(id, &m, sizeof(m.text), 0), 0);
	before = s5__self.idx;
	CHECK(pthread_create(&t, NULL, send_twice, NULL) == 0);
	WAIT_UNTIL(stage == 1);
	share_memory_with(be_vfork_child, &pid);
	CHECK(pthread_join(t, NULL) == 0);
	CHECK_EQ_INT(sender_in_child, pid);
	CHECK_EQ_INT(sender_meanwhile, getpid());
	CHECK(shared->idx != before, "a slot of two");
	CHECK_EQ_INT(s5__msgsnd(id, &m, sizeof(m.text), 0), 0);
	CHECK_EQ_INT(last_sender(), getpid());
	CHECK_EQ_INT(s5__self.idx, before);
	CHECK_EQ_INT(s5__maybe_vfork, 0);
	check_clean("in the end");
}

/* Its parent's slot is not its own because there is none for it. */
static int be_slotless_child(void *arg)
{
	struct s5__a32 *chunks = &s5__header()->slot_chunks;
	uint32_t before = s5__a32_load_rlx(chunks);
	int err[2];

	(void)arg;
	s5__a32_store_rlx(chunks, 0);
	for (int i = 0; i < 2; i++)
		err[i] = s5__msgsnd(id, &m, sizeof(m.text), 0);
	s5__a32_store_rlx(chunks, before);
	return err[0] == -ENOMEM && err[1] == -ENOMEM ? 0 : 1;
}

TEST(vfork_child_without_a_slot)
{
	uint32_t before;

	start();
	before = s5__self.idx;
	share_memory_with(be_slotless_child, NULL);
	CHECK_EQ_INT(s5__msgsnd(id, &m, sizeof(m.text), 0), 0);
	CHECK_EQ_INT(s5__self.idx, before);
	CHECK_EQ_INT(last_sender(), getpid());
	check_clean("in the end");
}

static void vfork_in_handler(int sig)
{
	static pid_t pid;

	(void)sig;
	handled++;
	stage = 3; /* nobody else is to do anything */
	share_memory_with(be_vfork_child, &pid);
}

/* The interrupted call gets the record back. */
TEST(vfork_in_a_handler_while_waiting)
{
	uint32_t before;
	pid_t helper;

	handle(SIGUSR1, vfork_in_handler);
	start();
	before = s5__self.idx;
	helper = signal_me();
	/* of a type that nobody sends */
	CHECK_EQ_INT(s5__msgrcv(id, &m, sizeof(m.text), 9, 0), -EINTR);
	harness_join(helper);
	CHECK_EQ_INT(handled, 1);
	CHECK_EQ_INT(s5__self.idx, before);
	check_clean("in the end");
}

/* --- exec by a thread that is not the first ---------------------------------
 */

static uint32_t slots_of(pid_t pid)
{
	uint32_t most = s5__a32_load_acq(&s5__header()->slot_chunks) * 8u;
	uint32_t n = 0;

	for (uint32_t i = 1; i < most; i++) {
		struct s5__slot *s = s5__slot_at(i);

		n += s && s->pid == (uint32_t)pid &&
		     s5__slot_phase(s5__a64_load_acq(&s->state)) !=
			     S5__SLOT_FREE;
	}
	return n;
}

/* It has the first one's tid then, and the kernel marked only the others. */
HELPER(after_exec)
{
	struct s5__self *self;

	s5__msg_init();
	CHECK_EQ_INT(s5__enter(&self, false), 0);
	s5__a64_store_rlx(&s5__header()->janitor_s, 0);
	s5__janitor(self);
	s5__leave(self);
	CHECK_EQ_INT(slots_of(getpid()), 1);
	CHECK_EQ_INT(self->tid, getpid());
	return 0;
}

static void *call_and_exec(void *arg)
{
	char *argv[] = {"test_enter", "--helper", "after_exec", NULL};

	(void)arg;
	CHECK_EQ_INT(s5__msgsnd(id, &m, sizeof(m.text), 0), 0);
	CHECK_EQ_INT(slots_of(getpid()), 2);
	(void)execv("/proc/self/exe", argv);
	CHECK(0, "exec: errno %d", errno);
	return NULL;
}

static void exec_in_thread(void *arg)
{
	pthread_t t;

	(void)arg;
	CHECK_EQ_INT(s5__msgsnd(id, &m, sizeof(m.text), 0), 0);
	CHECK(pthread_create(&t, NULL, call_and_exec, NULL) == 0);
	(void)pthread_join(t, NULL);
	CHECK(0, "not executed");
}

TEST(exec_by_a_thread)
{
	start();
	harness_join(harness_spawn(exec_in_thread, NULL));
	check_clean("in the end");
}

/* --- list_op_pending ---------------------------------------------------------
 */

void __real_s5__crash_hit(const struct s5__crash_point *p);
void __wrap_s5__crash_hit(const struct s5__crash_point *p);

static volatile int looking, looks, unmarked;

static void **pending(void)
{
	return (void **)(void *)&s5__self.robust->list_op_pending;
}

/* Wherever a lock is held, our death must be seen. */
void __wrap_s5__crash_hit(const struct s5__crash_point *p)
{
	if (looking && strcmp(p->name, "lock-taken") == 0) {
		looks++;
		unmarked += *pending() != s5__pending(&s5__self);
	}
	__real_s5__crash_hit(p);
}

static void use_robust_mutex(int sig)
{
	static pthread_mutex_t mutex;
	pthread_mutexattr_t attr;

	(void)sig;
	handled++;
	CHECK(pthread_mutexattr_init(&attr) == 0);
	CHECK(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST) == 0);
	CHECK(pthread_mutex_init(&mutex, &attr) == 0);
	CHECK(pthread_mutex_lock(&mutex) == 0);
	CHECK(pthread_mutex_unlock(&mutex) == 0);
	CHECK(*pending() == NULL, "libc leaves it as it was");
}

TEST(robust_mutex_in_a_handler_while_waiting)
{
	pid_t helper;

	handle(SIGUSR1, use_robust_mutex);
	start();
	helper = signal_me();
	looking = 1;
	CHECK_EQ_INT(s5__msgrcv(id, &m, sizeof(m.text), 0, 0), -EINTR);
	looking = 0;
	harness_join(helper);
	CHECK_EQ_INT(handled, 1);
	CHECK(looks > 1, "%d looks", looks);
	CHECK_EQ_INT(unmarked, 0);
}

static struct robust_list entry[2]; /* of mutexes that libc is about to lock */

static void interrupt_libc_and_call(int sig)
{
	(void)sig;
	handled++;
	*pending() = &entry[1];
	CHECK_EQ_INT(s5__msgsnd(id, &m, sizeof(m.text), 0), 0);
	CHECK(*pending() == &entry[1], "not given back to the inner one");
	*pending() = NULL;
}

TEST(calls_that_interrupt_libc_in_two_levels)
{
	pid_t helper;

	handle(SIGUSR1, interrupt_libc_and_call);
	start();
	helper = signal_me();
	*pending() = &entry[0];
	CHECK_EQ_INT(s5__msgrcv(id, &m, sizeof(m.text), 9, 0), -EINTR);
	CHECK(*pending() == &entry[0], "not given back to the outer one");
	*pending() = NULL;
	harness_join(helper);
	CHECK_EQ_INT(handled, 1);
}
