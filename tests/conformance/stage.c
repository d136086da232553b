/* SPDX-License-Identifier: MIT */
/* stage.c - where a scenario plays: its back end, memory, users and limits. */
#include "stage.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct backend *current;
static bool is_sysfive;

const struct backend *backend(void)
{
	return current;
}

bool on_kernel(void)
{
	return !is_sysfive;
}

/* Raw calls stay raw in no other way than this: for what libc adds to them. */
void use_libc_names(void)
{
	current = &backend_libc;
}

/* What calls libc's names is to call them by their numbers. */
void use_numbers(void)
{
	if (current == &backend_libc)
		current = &backend_number;
}

void open_stage(const struct backend *b, bool sysfive)
{
	current = b;
	is_sysfive = sysfive;
	start_actors();
	signal(SIGPIPE, SIG_IGN);
}

int close_stage(void)
{
	end_actors();
	remove_objects();
	return failures() > 0 ? EXIT_FAILED : 0;
}

void give_up(const char *fmt, ...)
{
	char why[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	fail("given up: %s", why);
	if (getpid() == self()->pid) {
		end_actors();
		remove_objects();
	}
	_exit(EXIT_GAVE_UP);
}

/* ---- what a scenario may need ---- */

static uint64_t effective_caps(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data) != 0)
		return 0;
	return data[0].effective | (uint64_t)data[1].effective << 32;
}

static bool may_use_fifo(void)
{
	struct sched_param high = {.sched_priority = 10};
	struct sched_param normal = {.sched_priority = 0};

	if (sched_setscheduler(0, SCHED_FIFO, &high) != 0)
		return false;
	sched_setscheduler(0, SCHED_OTHER, &normal);
	return true;
}

const char *missing(unsigned needs, bool private_ns)
{
	if ((needs & NEED_ROOT) != 0 && geteuid() != 0)
		return "needs root, to become other users";
	if ((needs & NEED_PRIVATE) != 0 && !private_ns)
		return "needs an IPC namespace of its own";
	if ((needs & NEED_LIMITS) != 0 && (geteuid() != 0 || !private_ns))
		return "needs root, to change the kernel's limits";
	if ((needs & NEED_RESOURCE) != 0 &&
	    (effective_caps() >> CAP_SYS_RESOURCE & 1) == 0)
		return "needs CAP_SYS_RESOURCE";
	if ((needs & NEED_FIFO) != 0 && !may_use_fifo())
		return "needs to set SCHED_FIFO";
	return NULL;
}

/* ---- limits ---- */

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	bool ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return ok;
}

static bool run_limits(const char *assignment)
{
	const char *cmd = getenv("S5_CMD");
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		unsetenv("LD_PRELOAD");
		if (cmd != NULL)
			execl(cmd, cmd, "limits", assignment, (char *)NULL);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* The numbers of kernel.sem, in its order. */
static bool write_sem_limit(const char *name, long value)
{
	static const char *const names[] = {"semmsl", "semmns", "semopm",
					    "semmni"};
	static const char path[] = "/proc/sys/kernel/sem";
	char text[96];
	long n[4];
	FILE *f = fopen(path, "re");

	if (f == NULL)
		return false;
	int got = fscanf(f, "%ld %ld %ld %ld", &n[0], &n[1], &n[2], &n[3]);
	fclose(f);
	for (int i = 0; i < 4; i++)
		if (strcmp(name, names[i]) == 0)
			n[i] = value;
	snprintf(text, sizeof(text), "%ld %ld %ld %ld\n", n[0], n[1], n[2],
		 n[3]);
	return got == 4 && write_file(path, text);
}

void set_limit(const char *name, long value)
{
	char text[64], path[80];

	trace("limit %s is now %ld", name, value);
	if (is_sysfive) {
		snprintf(text, sizeof(text), "%s=%ld", name, value);
		if (!run_limits(text))
			give_up("sysfive limits %s failed", text);
		return;
	}
	if (strncmp(name, "sem", 3) == 0) {
		if (!write_sem_limit(name, value))
			give_up("kernel.sem: %s", strerror(errno));
		return;
	}
	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	snprintf(text, sizeof(text), "%ld\n", value);
	if (!write_file(path, text))
		give_up("%s: %s", path, strerror(errno));
}

/* ---- memory to be wrong with ---- */

static char *three_pages(void)
{
	static char *pages;

	if (pages != NULL)
		return pages;
	pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		give_up("mmap: %s", strerror(errno));
	*(long *)(void *)(pages + 4096) = 1;
	mprotect(pages + 4096, 4096, PROT_READ);
	mprotect(pages + 8192, 4096, PROT_NONE);
	return pages;
}

void *unmapped(void)
{
	static char *page;

	if (page == NULL) {
		page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
		munmap(page, 4096);
	}
	return page;
}

void *read_only(void)
{
	return three_pages() + 4096;
}

/* Readable up to the end of its page, and nothing comes behind. */
void *at_page_end(size_t bytes_left)
{
	static char *pages;

	if (pages == NULL) {
		pages = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (pages == MAP_FAILED)
			give_up("mmap: %s", strerror(errno));
		mprotect(pages + 4096, 4096, PROT_NONE);
	}
	return pages + 4096 - bytes_left;
}

/* ---- things an actor can be made to run() ---- */

static long die_with_parent(long ret)
{
	if (getpid() != self()->pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return ret == 0 ? 0 : -errno;
}

long become(long uid)
{
	if (setgroups(0, NULL) != 0)
		return -errno;
	if (setresgid((gid_t)uid, (gid_t)uid, (gid_t)uid) != 0)
		return -errno;
	return die_with_parent(setresuid((uid_t)uid, (uid_t)uid, (uid_t)uid));
}

long take_euid(long uid)
{
	return die_with_parent(seteuid((uid_t)uid));
}

long take_egid(long gid)
{
	return die_with_parent(setegid((gid_t)gid));
}

long take_group(long gid)
{
	gid_t group = (gid_t)gid;

	return setgroups(1, &group) == 0 ? 0 : -errno;
}

static long take_caps(uint64_t caps)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	memset(data, 0, sizeof(data));
	for (int i = 0; i < 2; i++) {
		data[i].effective = (uint32_t)(caps >> (32 * i));
		data[i].permitted = data[i].effective;
	}
	return syscall(SYS_capset, &head, data) == 0 ? 0 : -errno;
}

long keep_only_cap(long cap)
{
	prctl(PR_SET_KEEPCAPS, 1);
	long ret = become(NOBODY);
	return ret != 0 ? ret : take_caps((uint64_t)1 << cap);
}

long drop_caps(long arg)
{
	(void)arg;
	return take_caps(0);
}

/* The handler of whichever actor it interrupts. */
static void count_hit(int sig)
{
	(void)sig;
	pid_t tid = gettid();

	for (int i = 0; i < actor_count(); i++)
		if (actor_at(i)->tid == tid)
			atomic_fetch_add(&actor_at(i)->hits, 1);
}

static long install(int sig, void (*handler)(int), int flags)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = handler;
	sa.sa_flags = flags;
	return sigaction(sig, &sa, NULL) == 0 ? 0 : -errno;
}

long handle(long sig)
{
	return install((int)sig, count_hit, 0);
}

long handle_restart(long sig)
{
	return install((int)sig, count_hit, SA_RESTART);
}

long ignore(long sig)
{
	return install((int)sig, SIG_IGN, 0);
}
