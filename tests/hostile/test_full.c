/* SPDX-License-Identifier: MIT */
/*
 * test_full.c - no room: file systems, limits, descriptors
 *
 * A call that needs memory which is not there says ENOMEM (ENOSPC from
 * msgget), nothing has changed, and no signal comes.
 */
#include "check.h"
#include "harness.h"
#include "msg/msgq.h"
#include "msg/room.h"
#include "region/ns.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LARGEST 60000
#define MOST	20000 /* messages */

struct message {
	long type;
	uint32_t number;
	uint8_t bytes[LARGEST];
};
static struct message m;

/* A tmpfs of that size at SYSFIVE_DIR, seen by this process only. */
static void mount_small(const char *size)
{
	char options[64];

	if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0)
		SKIP("only root may mount");
	CHECK_OK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	snprintf(options, sizeof(options), "size=%s,mode=0700", size);
	CHECK_OK(mount("tmpfs", getenv("SYSFIVE_DIR"), "tmpfs", 0, options));
}

static void raise_limits(void)
{
	CHECK_EQ_INT(s5__ns_limit_set("msgmax", 1 << 20), 0);
	CHECK_EQ_INT(s5__ns_limit_set("msgmnb", 1 << 30), 0);
}

static int make_queue(void)
{
	struct s5_ns_status st;
	int id;

	s5__msg_init();
	CHECK_EQ_INT(s5__ns_attach(NULL, true, &st), 0);
	raise_limits();
	id = s5__msgget(IPC_PRIVATE, 0600);
	CHECK(id >= 0, "msgget: %d", id);
	return id;
}

static size_t size_of(uint32_t number, uint32_t most)
{
	uint64_t state = number;

	return 4 + harness_random(&state) % (most - 3);
}

static int send_one(int id, uint32_t number, uint32_t most)
{
	size_t size = size_of(number, most);

	m.type = 1 + number % 7;
	m.number = number;
	memset(m.bytes, (int)number, size - 4);
	return s5__msgsnd(id, &m, size, IPC_NOWAIT);
}

static void receive_one(int id, uint32_t number, uint32_t most)
{
	size_t size = size_of(number, most);
	long n = s5__msgrcv(id, &m, sizeof(m) - sizeof(long), 0, IPC_NOWAIT);

	CHECK(n == (long)size && m.number == number, "%ld, not %zu; %u, not %u",
	      n, size, m.number, number);
	for (size_t i = 0; i < size - 4; i++)
		CHECK(m.bytes[i] == (uint8_t)number, "message %u, byte %zu",
		      number, i);
}

/* Sends until there is no room; how many were sent. */
static uint32_t fill(int id, uint32_t most)
{
	for (uint32_t n = 0; n < MOST; n++) {
		int err = send_one(id, n, most);

		if (err) {
			CHECK(err == -ENOMEM, "msgsnd: %d", err);
			return n;
		}
	}
	return MOST;
}

static void fill_and_drain(int id, uint32_t most)
{
	uint32_t first = 0;

	for (int round = 0; round < 4; round++) {
		uint32_t n = fill(id, most);

		CHECK(n > 3 && n < MOST, "%u messages", n);
		CHECK(round < 2 || n + n / 2 >= first,
		      "room for %u messages, then for %u", first, n);
		first = n;
		for (uint32_t i = 0; i < n; i++)
			receive_one(id, i, most);
		check_clean("after a round");
	}
}

static uint64_t blocks(void)
{
	char path[300];
	struct stat st;

	snprintf(path, sizeof(path), "%s/arena", getenv("SYSFIVE_DIR"));
	CHECK_OK(stat(path, &st));
	return (uint64_t)st.st_blocks / 8; /* pages */
}

TEST_TIMEOUT(file_system_full_of_messages, 60)
{
	int id;

	mount_small("1m");
	id = make_queue();
	/* In this order: a page that was cut into cells stays cut. */
	fill_and_drain(id, LARGEST);
	fill_and_drain(id, 3000);
	fill_and_drain(id, 300);
	CHECK_EQ_INT(s5__msgctl(id, IPC_RMID, NULL), 0);
}

TEST_TIMEOUT(file_system_full_of_queues, 60)
{
	int ids[4000];
	int id, err = 0, n = 0;
	uint32_t sent;

	mount_small("1m");
	id = make_queue();
	sent = fill(id, 500);
	while (n < 4000 && (err = s5__msgget(IPC_PRIVATE, 0600)) >= 0)
		ids[n++] = err;
	CHECK_EQ_INT(err, -ENOSPC);
	for (int i = 0; i < n; i++)
		CHECK_EQ_INT(s5__msgctl(ids[i], IPC_RMID, NULL), 0);
	for (uint32_t i = 0; i < sent; i++)
		receive_one(id, i, 500);
	check_clean("in the end");
}

/* Somebody else fills the file system while there are messages. */
TEST_TIMEOUT(file_system_filled_by_others, 60)
{
	char path[300];
	static char zero[65536];
	uint32_t n;
	int id, err;
	FILE *f;

	mount_small("2m");
	id = make_queue();
	for (uint32_t i = 0; i < 40; i++)
		CHECK_EQ_INT(send_one(id, i, 5000), 0);
	snprintf(path, sizeof(path), "%s/other", getenv("SYSFIVE_DIR"));
	f = fopen(path, "we");
	CHECK(f != NULL);
	while (fwrite(zero, 1, sizeof(zero), f) == sizeof(zero) &&
	       fflush(f) == 0)
		;
	(void)fclose(f);
	for (n = 40; (err = send_one(id, n, 5000)) == 0; n++)
		;
	CHECK_EQ_INT(err, -ENOMEM);
	for (uint32_t i = 0; i < n; i++)
		receive_one(id, i, 5000);
	for (n = 0; n < 30; n++)
		CHECK_EQ_INT(send_one(id, n, 5000), 0);
	check_clean("in the end");
}

/* Fills the file system with a file that is not ours. */
static void fill_up(void)
{
	char path[300];
	static char zero[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/other", getenv("SYSFIVE_DIR"));
	f = fopen(path, "we");
	CHECK(f != NULL);
	(void)setvbuf(f, NULL, _IONBF, 0);
	while (fwrite(zero, 1, sizeof(zero), f) == sizeof(zero))
		;
	(void)fclose(f);
}

static void remove_other(void)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/other", getenv("SYSFIVE_DIR"));
	CHECK_OK(unlink(path));
}

/* Free pages whose memory went to somebody else meanwhile: ENOMEM, time and
 * again, and when there is room they serve again. */
TEST_TIMEOUT(file_system_filled_when_memory_was_given_back, 60)
{
	static struct {
		long type;
		uint8_t bytes[1 << 20];
	} large = {.type = 1};
	int id;

	mount_small("6m");
	id = make_queue();
	for (int i = 0; i < 3; i++)
		CHECK_EQ_INT(s5__msgsnd(id, &large, 1 << 20, IPC_NOWAIT), 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ_INT(s5__msgrcv(id, &large, 1 << 20, 0, 0), 1 << 20);
	CHECK(s5__header()->punched_n > 500, "%u pages given back",
	      s5__header()->punched_n);
	fill_up();
	for (int i = 0; i < 3; i++) {
		int err = 0;

		for (int n = 0; n < 3 && err == 0; n++)
			err = s5__msgsnd(id, &large, 1 << 20, IPC_NOWAIT);
		CHECK_EQ_INT(err, -ENOMEM);
		/* What there is serves smaller ones. */
		(void)fill(id, LARGEST);
		(void)fill(id, 3000);
		while (s5__msgrcv(id, &large, 1 << 20, 0, IPC_NOWAIT) >= 0)
			;
		check_clean("in a full file system");
	}
	remove_other();
	for (int i = 0; i < 3; i++)
		CHECK_EQ_INT(s5__msgsnd(id, &large, 1 << 20, IPC_NOWAIT), 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ_INT(s5__msgrcv(id, &large, 1 << 20, 0, 0), 1 << 20);
	check_clean("in the end");
}

TEST(no_room_for_an_arena)
{
	mount_small("16k");
	s5__msg_init();
	CHECK(s5__msgget(IPC_PRIVATE, 0600) == -EACCES);
	CHECK(s5__msgsnd(0, &m, 8, IPC_NOWAIT) == -EINVAL);
}

static void limit(int what, rlim_t value)
{
	struct rlimit lim = {value, value};

	CHECK_OK(setrlimit((__rlimit_resource_t)what, &lim));
}

TEST_TIMEOUT(file_size_limit, 60)
{
	limit(RLIMIT_FSIZE, 4 << 20);
	fill_and_drain(make_queue(), 3000);
}

static void be_limited(void *arg)
{
	int id = (int)(intptr_t)arg;

	/* The file is there, and larger than the limit. */
	limit(RLIMIT_FSIZE, 1 << 16);
	for (uint32_t i = 0; i < 300; i++)
		CHECK_EQ_INT(send_one(id, i, 3000), 0);
}

TEST_TIMEOUT(file_size_limit_of_a_later_member, 60)
{
	int id = make_queue();

	harness_join(harness_spawn(be_limited, (void *)(intptr_t)id));
	for (uint32_t i = 0; i < 300; i++)
		receive_one(id, i, 3000);
	check_clean("in the end");
}

static uint64_t address_space(void)
{
	unsigned long long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	CHECK(f && fscanf(f, "%llu", &pages) == 1);
	(void)fclose(f);
	return pages * S5__PAGE;
}

TEST_TIMEOUT(address_space_limit, 60)
{
	int id;

	limit(RLIMIT_AS, address_space() + (40 << 20));
	id = make_queue();
	fill_and_drain(id, LARGEST);
}

TEST(no_address_space_at_all)
{
	limit(RLIMIT_AS, address_space() + 4096);
	s5__msg_init();
	CHECK(s5__msgget(IPC_PRIVATE, 0600) == -EACCES);
	CHECK(s5__msgsnd(0, &m, 8, IPC_NOWAIT) == -EINVAL);
}

static void *send_in_thread(void *arg)
{
	(void)send_one((int)(intptr_t)arg, 0, 100);
	return NULL;
}

TEST_TIMEOUT(no_descriptors, 60)
{
	pthread_t t[12];
	int id = make_queue();
	uint64_t before = blocks();

	for (int fd = 3; fd < 1024; fd++)
		(void)close(fd);
	limit(RLIMIT_NOFILE, 3);
	for (uint32_t i = 0; i < 500; i++)
		CHECK_EQ_INT(send_one(id, i, 8000), 0);
	for (uint32_t i = 0; i < 500; i++)
		receive_one(id, i, 8000);
	for (int i = 0; i < 12; i++)
		CHECK_EQ_INT(pthread_create(&t[i], NULL, send_in_thread,
					    (void *)(intptr_t)id),
			     0);
	for (int i = 0; i < 12; i++)
		CHECK_EQ_INT(pthread_join(t[i], NULL), 0);
	for (int i = 0; i < 12; i++)
		receive_one(id, 0, 100);
	for (int i = 0; i < 200; i++)
		CHECK(s5__msgget(IPC_PRIVATE, 0600) >= 0);
	check_clean("in the end");
	CHECK(blocks() > before);
}

TEST_TIMEOUT(all_memory_locked, 60)
{
	int id;

	if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
		SKIP("may not lock memory");
	id = make_queue();
	CHECK(blocks() < 200, "%llu pages", (unsigned long long)blocks());
	for (uint32_t i = 0; i < 100; i++)
		CHECK_EQ_INT(send_one(id, i, 3000), 0);
	CHECK_OK(mlockall(MCL_CURRENT | MCL_FUTURE));
	CHECK(blocks() < 600, "%llu pages", (unsigned long long)blocks());
	for (uint32_t i = 0; i < 100; i++)
		receive_one(id, i, 3000);
	check_clean("in the end");
}

TEST_TIMEOUT(as_many_queues_as_there_may_be, 120)
{
	static int ids[32000];

	mount_small("64m");
	(void)make_queue();
	CHECK_EQ_INT(s5__ns_limit_set("msgmni", 32768), 0);
	for (int i = 0; i < 32000; i++) {
		ids[i] = s5__msgget(i + 1, IPC_CREAT | 0600);
		CHECK(ids[i] >= 0, "queue %d: %d", i, ids[i]);
	}
	printf("%llu KiB for 32,000 queues\n",
	       (unsigned long long)blocks() * 4);
	for (int i = 0; i < 32000; i += 97)
		CHECK_EQ_INT(send_one(ids[i], (uint32_t)i, 200), 0);
	for (int i = 0; i < 32000; i++)
		CHECK_EQ_INT(s5__msgget(i + 1, 0), ids[i]);
	check_clean("with all of them");
	for (int i = 0; i < 32000; i++)
		CHECK_EQ_INT(s5__msgctl(ids[i], IPC_RMID, NULL), 0);
	check_clean("without them");
}

/* A page each: 80 MiB, or 420 with 100,000. */
TEST_TIMEOUT(memory_is_given_back, 300)
{
	int most = getenv("S5_STORM_SECONDS") ? 100000 : 20000;
	int id = make_queue();
	struct statfs fs;
	uint64_t full, after;

	CHECK_OK(statfs(getenv("SYSFIVE_DIR"), &fs));
	if ((uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize <
	    (uint64_t)most * 6000)
		SKIP("not enough room for this test");
	m.type = 1;
	for (int i = 0; i < most; i++)
		CHECK_EQ_INT(s5__msgsnd(id, &m, 3500, IPC_NOWAIT), 0);
	full = blocks();
	CHECK_EQ_INT(s5__msgctl(id, IPC_RMID, NULL), 0);
	after = blocks();
	printf("%llu KiB for %d messages, %llu afterwards\n",
	       (unsigned long long)full * 4, most,
	       (unsigned long long)after * 4);
	check_clean("afterwards");
	CHECK(after < full / 10, "%llu of %llu pages",
	      (unsigned long long)after, (unsigned long long)full);
}
