/* SPDX-License-Identifier: MIT */
/*
 * test_dropin.c - what the drop-in does to calls that are not IPC
 *
 * Each case runs a helper of this program with the drop-in preloaded.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cred.h"
#include "preloaded.h"

/* glibc has it, and no header that declares it. */
int capset(void *head, const void *data);

static volatile int runs;

static void count(int sig)
{
	(void)sig;
	runs++;
}

static bool is_from_dropin(void *symbol)
{
	Dl_info info;

	return dladdr(symbol, &info) && strstr(info.dli_fname, "dropin");
}

HELPER(pass_through)
{
	struct s5__ksigaction act = {0}, old = {0};
	char page[4096] = {0}, *map;
	int fd = CHECK_OK(memfd_create("x", 0));

	CHECK(is_from_dropin((void *)syscall));
	page[0] = 'b';
	CHECK_EQ_INT(pwrite(fd, page, 4096, 4096), 4096);
	map = (char *)syscall(SYS_mmap, NULL, 4096L, (long)PROT_READ,
			      (long)MAP_SHARED, (long)fd, 4096L);
	CHECK(map != MAP_FAILED);
	CHECK_EQ_INT(map[0], 'b');
	errno = 77;
	CHECK_EQ_INT(syscall(SYS_getpid), getpid());
	CHECK_EQ_INT(errno, 77);
	CHECK_ERRNO(syscall(SYS_close, -1), EBADF);
	CHECK_ERRNO(syscall(999999L), ENOSYS);
	CHECK_ERRNO(syscall(-1L), ENOSYS);

	act.handler = (void *)count;
	errno = 77;
	CHECK_OK(syscall(SYS_rt_sigaction, SIGUSR1, NULL, &old, 8));
	/* As libc has them: what it returns from a handler by. */
	(void)signal(SIGUSR2, count);
	act.restorer = kernel_action(SIGUSR2).restorer;
	act.flags = kernel_action(SIGUSR2).flags & ~(unsigned long)SA_SIGINFO;
	CHECK_OK(syscall(SYS_rt_sigaction, SIGUSR1, &act, &old, 8));
	CHECK_EQ_INT(errno, 77);
	CHECK(old.handler == (void *)SIG_DFL);
	CHECK(kernel_action(SIGUSR1).handler != (void *)count);
	CHECK_OK(syscall(SYS_rt_sigaction, SIGUSR1, NULL, &old, 8));
	CHECK(old.handler == (void *)count);
	CHECK(old.flags == act.flags);
	raise(SIGUSR1);
	CHECK_EQ_INT(runs, 1);
	CHECK_ERRNO(syscall(SYS_rt_sigaction, SIGUSR1, 8L, NULL, 8), EFAULT);
	CHECK_ERRNO(syscall(SYS_rt_sigaction, SIGUSR1, NULL, 8L, 8), EFAULT);
	CHECK_ERRNO(syscall(SYS_rt_sigaction, SIGUSR1, &act, NULL, 7), EINVAL);
	CHECK_ERRNO(syscall(SYS_rt_sigaction, 99, &act, NULL, 8), EINVAL);
	return 0;
}

TEST(syscall_passes_others_on)
{
	run_preloaded("pass_through");
}

HELPER(open_extension)
{
	void *handle = dlopen(getenv("OPENER"), RTLD_NOW | RTLD_DEEPBIND);
	int (*value)(void);
	void *(*bound)(void);

	CHECK(handle, "%s", dlerror());
	value = (int (*)(void))dlsym(handle, "opener_value");
	bound = (void *(*)(void))dlsym(handle, "opener_msgget");
	CHECK_EQ_INT(value(), 7);
	CHECK(is_from_dropin(bound()), "bound to libc's msgget");
	CHECK(dlopen("libplugin.so", RTLD_NOW) == NULL || value() == 7);
	CHECK(dlopen("/nonexistent/x.so", RTLD_NOW) == NULL);
	CHECK(dlerror() != NULL);
	return 0;
}

TEST(dlopen_binds_to_us_and_keeps_the_runpath)
{
	run_preloaded("open_extension");
}

static pid_t vfork_exec(const char *status)
{
	pid_t pid = vfork();

	if (pid == 0) {
		(void)signal(SIGUSR1, SIG_DFL);
		execl("/bin/sh", "sh", "-c", status, (char *)NULL);
		_exit(127);
	}
	return pid;
}

HELPER(vfork_often)
{
	int *flag = dlsym(RTLD_DEFAULT, "s5__maybe_vfork");

	CHECK(flag && *flag == 0);
	(void)signal(SIGUSR1, count);
	for (int i = 0; i < 100; i++) {
		int status;
		pid_t pid = CHECK_OK(vfork_exec(i % 2 ? "exit 3" : "exit 4"));

		CHECK_EQ_INT(*flag, 1);
		*flag = 0;
		CHECK_EQ_INT(waitpid(pid, &status, 0), pid);
		CHECK_EQ_INT(WEXITSTATUS(status), i % 2 ? 3 : 4);
		raise(SIGUSR1);
		CHECK_EQ_INT(runs, i + 1);
	}
	return 0;
}

TEST(vfork_and_exec)
{
	run_preloaded("vfork_often");
}

static void *do_nothing(void *arg)
{
	return arg;
}

static volatile int clone_seen;

static int clone_child(void *arg)
{
	(void)arg;
	clone_seen = 5;
	return 0;
}

HELPER(clone_kinds)
{
	static char stack[65536] __attribute__((aligned(16)));
	int *flag = dlsym(RTLD_DEFAULT, "s5__maybe_vfork");
	pthread_t thread;
	pid_t pid, parent_tid = 0;

	CHECK(flag != NULL);
	CHECK_EQ_INT(pthread_create(&thread, NULL, do_nothing, NULL), 0);
	CHECK_EQ_INT(pthread_join(thread, NULL), 0);
	CHECK_EQ_INT(*flag, 0);
	pid = CHECK_OK(clone(clone_child, stack + 65536,
			     SIGCHLD | CLONE_PARENT_SETTID, NULL, &parent_tid));
	harness_join(pid);
	CHECK_EQ_INT(parent_tid, pid);
	CHECK_EQ_INT(clone_seen, 0);
	CHECK_EQ_INT(*flag, 0);
	pid = CHECK_OK(clone(clone_child, stack + 65536,
			     CLONE_VM | CLONE_VFORK | SIGCHLD, NULL));
	harness_join(pid);
	CHECK_EQ_INT(clone_seen, 5);
	CHECK_EQ_INT(*flag, 1);
	clone_seen = 0;
	pid = CHECK_OK(
		clone(clone_child, stack + 65536, CLONE_VM | SIGCHLD, NULL));
	harness_join(pid);
	CHECK_EQ_INT(clone_seen, 5);
	CHECK_EQ_INT(*flag, 3);
	return 0;
}

TEST(clone_says_what_it_shares)
{
	run_preloaded("clone_kinds");
}

HELPER(libc_children)
{
	char line[64] = {0}, *args[] = {"sh", "-c", "kill -INT $$", NULL};
	struct sigaction act;
	FILE *pipe;
	pid_t pid;
	int status;

	(void)signal(SIGINT, count);
	(void)signal(SIGQUIT, SIG_IGN);
	(void)signal(SIGCHLD, count);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ_INT(WEXITSTATUS(system("exit 3")), 3);
		CHECK_OK(sigaction(SIGINT, NULL, &act));
		CHECK(act.sa_handler == count);
		CHECK_OK(sigaction(SIGQUIT, NULL, &act));
		CHECK(act.sa_handler == SIG_IGN);
	}
	runs = 0;
	raise(SIGINT);
	CHECK_EQ_INT(runs, 1);
	pipe = popen("echo hello", "r");
	CHECK(pipe && fgets(line, sizeof(line), pipe));
	CHECK_EQ_STR(line, "hello\n");
	CHECK_EQ_INT(pclose(pipe), 0);
	/* A handler is reset in the child. */
	CHECK_EQ_INT(posix_spawn(&pid, "/bin/sh", NULL, NULL, args, environ),
		     0);
	CHECK_EQ_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
	CHECK(runs >= 2, "no SIGCHLD was seen");
	return 0;
}

TEST(system_popen_and_posix_spawn)
{
	run_preloaded("libc_children");
}

/* Exported by this program, it is called in place of the core's. */
__attribute__((visibility("default"))) void s5__cred_changed(void)
{
	runs++;
}

#define CHANGES(call_)                                        \
	do {                                                  \
		runs = 0;                                     \
		(void)(call_);                                \
		CHECK(runs == 1, "%d from %s", runs, #call_); \
	} while (0)

HELPER(change_credentials)
{
	uid_t u = geteuid();
	gid_t g = getegid();

	CHANGES(setuid(u));
	CHANGES(seteuid(u));
	CHANGES(setreuid(u, u));
	CHANGES(setresuid(u, u, u));
	CHANGES(setfsuid(u));
	CHANGES(setgid(g));
	CHANGES(setegid(g));
	CHANGES(setregid(g, g));
	CHANGES(setresgid(g, g, g));
	CHANGES(setfsgid(g));
	CHANGES(setgroups(1, &g));
	CHANGES(initgroups("root", g));
	CHANGES(capset(NULL, NULL));
	CHANGES(unshare(0));
	CHANGES(setns(-1, 0));
	CHANGES(syscall(SYS_setuid, u));
	CHANGES(syscall(SYS_setresgid, g, g, g));
	CHANGES(syscall(SYS_setgroups, 1, &g));
	CHANGES(syscall(SYS_capset, NULL, NULL));
	CHANGES(syscall(SYS_setns, -1, 0));
	CHECK_ERRNO(setns(-1, 0), EBADF);
	CHECK_ERRNO(syscall(SYS_setns, -1, 0), EBADF);
	CHECK_EQ_INT(geteuid(), u);
	return 0;
}

TEST(changed_credentials_are_noticed)
{
	run_preloaded("change_credentials");
}
