/* SPDX-License-Identifier: MIT */
/*
 * admin.c - namespaces, their limits and contents, for the command
 */
#include "../msg/room.h"
#include "../region/ns.h"
#include "../sem/room.h"
#include "../shm/room.h"

#define S5_EXPORT __attribute__((visibility("default")))

S5_EXPORT int s5_ns_open(const char *dir, int create,
			 struct s5_ns_status *ret_status)
{
	return s5__ns_attach(dir, create != 0, ret_status);
}

S5_EXPORT const char *s5_ns_limit_name(unsigned i)
{
	return s5__ns_limit_name(i);
}

S5_EXPORT int s5_ns_limit_get(const char *name, uint64_t *ret_value)
{
	return s5__ns_limit_get(name, ret_value);
}

S5_EXPORT int s5_ns_limit_set(const char *name, uint64_t value)
{
	return s5__ns_limit_set(name, value);
}

S5_EXPORT int s5_msgq_info_next(uint32_t *cursor, struct s5_msgq_info *ret_info)
{
	return s5__msgq_info_next(cursor, ret_info);
}

S5_EXPORT int s5_msgq_info_get(int msqid, struct s5_msgq_info *ret_info)
{
	return s5__msgq_info_get(msqid, ret_info);
}

S5_EXPORT int s5_msgq_waiter_next(uint32_t *cursor, int msqid,
				  struct s5_waiter_info *ret_info)
{
	return s5__msgq_waiter_next(cursor, msqid, ret_info);
}

S5_EXPORT int s5_semset_info_next(uint32_t *cursor,
				  struct s5_semset_info *ret_info)
{
	return s5__semset_info_next(cursor, ret_info);
}

S5_EXPORT int s5_semset_info_get(int semid, struct s5_semset_info *ret_info)
{
	return s5__semset_info_get(semid, ret_info);
}

S5_EXPORT int s5_sem_info_get(int semid, uint32_t number,
			      struct s5_sem_info *ret_info)
{
	return s5__sem_info_get(semid, number, ret_info);
}

S5_EXPORT int s5_sem_waiter_next(uint32_t *cursor, int semid,
				 struct s5_sem_waiter_info *ret_info)
{
	return s5__sem_waiter_next(cursor, semid, ret_info);
}

S5_EXPORT int s5_sem_undo_next(uint64_t *cursor, int semid,
			       struct s5_sem_undo_info *ret_info)
{
	return s5__sem_undo_next(cursor, semid, ret_info);
}

S5_EXPORT int s5_shmseg_info_next(uint32_t *cursor,
				  struct s5_shmseg_info *ret_info)
{
	return s5__shmseg_info_next(cursor, ret_info);
}

S5_EXPORT int s5_shmseg_info_get(int shmid, struct s5_shmseg_info *ret_info)
{
	return s5__shmseg_info_get(shmid, ret_info);
}

S5_EXPORT int s5_shmseg_attacher_next(uint64_t *cursor, int shmid,
				      struct s5_shmseg_attacher *ret_info)
{
	return s5__shmseg_attacher_next(cursor, shmid, ret_info);
}
