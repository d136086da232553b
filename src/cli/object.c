/* SPDX-License-Identifier: MIT */
/*
 * object.c - objects, as a verb needs them that treats all kinds alike
 */
#include "object.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/ipc.h>
#include <sys/sem.h>

#include "sysfive/admin.h"
#include "sysfive/sysfive.h"

static void from_queue(const struct s5_msgq_info *info,
		       struct cli_object *ret_object)
{
	*ret_object = (struct cli_object){
		.id = info->msqid,
		.key = info->key,
		.uid = info->uid,
		.cuid = info->cuid,
		.flags = info->flags,
		.held_pid = info->held_pid,
	};
	(void)snprintf(ret_object->content, sizeof(ret_object->content),
		       "%" PRIu64 " messages, %" PRIu64 " waiting", info->qnum,
		       (uint64_t)info->senders + info->receivers);
}

static int next_queue(uint32_t *cursor, struct cli_object *ret_object)
{
	struct s5_msgq_info info;
	int found = s5_msgq_info_next(cursor, &info);

	if (found > 0)
		from_queue(&info, ret_object);
	return found;
}

static int get_queue(int id, struct cli_object *ret_object)
{
	struct s5_msgq_info info;
	int err = s5_msgq_info_get(id, &info);

	if (!err)
		from_queue(&info, ret_object);
	return err;
}

static int find_queue(int32_t key)
{
	int id = s5_msgget(key, 0);

	return id < 0 ? -errno : id;
}

static int remove_queue(int id)
{
	return s5_msgctl(id, IPC_RMID, NULL) ? -errno : 0;
}

const struct cli_kind cli_queues = {
	.name = "queue",
	.full_name = "message queue",
	.list = "sysfive ls",
	.next = next_queue,
	.get = get_queue,
	.find = find_queue,
	.remove = remove_queue,
};

static void from_set(const struct s5_semset_info *info,
		     struct cli_object *ret_object)
{
	*ret_object = (struct cli_object){
		.id = info->semid,
		.key = info->key,
		.uid = info->uid,
		.cuid = info->cuid,
		.flags = info->flags,
		.held_pid = info->held_pid,
	};
	(void)snprintf(ret_object->content, sizeof(ret_object->content),
		       "%" PRIu32 " semaphores, %" PRIu32 " waiting",
		       info->nsems, info->waiters);
}

static int next_set(uint32_t *cursor, struct cli_object *ret_object)
{
	struct s5_semset_info info;
	int found = s5_semset_info_next(cursor, &info);

	if (found > 0)
		from_set(&info, ret_object);
	return found;
}

static int get_set(int id, struct cli_object *ret_object)
{
	struct s5_semset_info info;
	int err = s5_semset_info_get(id, &info);

	if (!err)
		from_set(&info, ret_object);
	return err;
}

static int find_set(int32_t key)
{
	int id = s5_semget(key, 0, 0);

	return id < 0 ? -errno : id;
}

static int remove_set(int id)
{
	return s5_semctl(id, 0, IPC_RMID) ? -errno : 0;
}

const struct cli_kind cli_sets = {
	.name = "semaphore set",
	.full_name = "semaphore set",
	.list = "sysfive ls -s",
	.next = next_set,
	.get = get_set,
	.find = find_set,
	.remove = remove_set,
};
