/* SPDX-License-Identifier: MIT */
/*
 * rows_deep.c - receiving by type from the end of a long queue
 *
 * The queue is filled with other messages, then the wanted one is sent to the
 * end and received, again and again.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sysfive/admin.h"

/* Kinds, as in rows.c: bit 0 asks for the lowest type, bit 1 fills with as
 * many types as messages. */
#define KIND_LOWEST 1
#define KIND_TYPES  2

/* What any queue can hold. */
#define DEFAULT_BYTES 16384

#define TYPE_OTHERS 100
#define TYPE_LOW    50
#define TYPE_HIGH   10000000

/* Lets queues of sysfive's hold so many bytes. */
static void raise_limit(struct bench_run *run, msglen_t bytes)
{
	int err;

	bench_namespace(run);
	err = s5_ns_limit_set("msgmnb", bytes);
	errno = -err;
	if (err)
		bench_fail(run, "cannot set msgmnb");
}

static bool write_file(const char *path, const char *text)
{
	size_t size = strlen(text);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done;

	if (fd < 0)
		return false;
	done = write(fd, text, size) == (ssize_t)size;
	(void)close(fd);
	return done;
}

/* With a user namespace of its own, in which this user is root, if need be. */
static bool unshare_ipc(void)
{
	char map[32];

	if (unshare(CLONE_NEWIPC) == 0)
		return true;
	(void)snprintf(map, sizeof(map), "0 %lu 1", (unsigned long)geteuid());
	return unshare(CLONE_NEWUSER | CLONE_NEWIPC) == 0 &&
	       write_file("/proc/self/uid_map", map);
}

/*
 * The kernel's limit cannot be raised for one queue without a capability, and
 * this machine's limit is not ours to change.  But a new IPC namespace has a
 * limit of its own.  False if none of that is allowed.
 */
static bool enter_roomy_namespace(msglen_t bytes)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%lu", (unsigned long)bytes);
	return unshare_ipc() && write_file("/proc/sys/kernel/msgmnb", text);
}

static bool has_room(struct bench_run *run, int id, msglen_t bytes)
{
	struct msqid_ds ds;

	if (run->ops->ctl(id, IPC_STAT, &ds))
		bench_fail(run, "msgctl IPC_STAT");
	if (ds.msg_qbytes >= bytes)
		return true;
	ds.msg_qbytes = bytes;
	if (run->ops->ctl(id, IPC_SET, &ds) == 0)
		return true;
	if (errno != EPERM)
		bench_fail(run, "msgctl IPC_SET");
	return false;
}

/* A queue with room for depth messages and the wanted one. */
static int deep_queue(struct bench_run *run, long depth)
{
	msglen_t bytes = (msglen_t)(depth + 2) * BENCH_TEXT;
	int id;

	if (bytes < DEFAULT_BYTES)
		return bench_queue(run, 0);
	if (run->side == BENCH_SYSFIVE)
		raise_limit(run, bytes);
	id = bench_queue(run, 0);
	if (has_room(run, id, bytes))
		return id;
	bench_queue_remove(run, id);
	if (run->side != BENCH_KERNEL || !enter_roomy_namespace(bytes))
		bench_skip(run, "no right to make so large a queue");
	id = bench_queue(run, 0);
	if (!has_room(run, id, bytes))
		bench_skip(run, "no right to make so large a queue");
	return id;
}

void bench_run_deep(struct bench_run *run, uint64_t count,
		    struct bench_result *ret_result)
{
	long depth = run->row->argument / 4;
	long kind = run->row->argument % 4;
	int id = deep_queue(run, depth);
	struct bench_msg msg = {.text = "a message"};
	long wanted = kind & KIND_LOWEST ? TYPE_LOW : TYPE_HIGH;
	long asked = kind & KIND_LOWEST ? -TYPE_HIGH : TYPE_HIGH;
	uint64_t start;
	uint64_t i;

	for (i = 0; i < (uint64_t)depth; i++) {
		msg.type = TYPE_OTHERS + (kind & KIND_TYPES ? (long)i : 0);
		bench_send(run, id, &msg);
	}
	start = bench_now_ns();
	for (i = 0; i < count; i++) {
		msg.type = wanted;
		bench_send(run, id, &msg);
		bench_receive(run, id, &msg, asked);
		if (msg.type != wanted)
			bench_wrong(run, "a message of type %ld came",
				    msg.type);
	}
	bench_result_time(ret_result, count, bench_now_ns() - start);
	bench_queue_remove(run, id);
}
