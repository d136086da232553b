/* SPDX-License-Identifier: MIT */
/*
 * sem/room.h - semaphore sets, as the front calls them
 *
 * Every function returns >= 0, or -errno; the errno values and their causes are
 * in docs/errors.md. `user` pointers belong to the program and are probed.
 */
#ifndef S5_SEM_ROOM_H
#define S5_SEM_ROOM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/sem.h>
#include <time.h>

/* Makes the facility known to the layers below; at load. */
void s5__sem_init(void);

int s5__semget(int32_t key, int nsems, int flags);
int s5__semtimedop(int id, const struct sembuf *user, size_t nsops,
		   const struct timespec *timeout);
/* `arg` is semctl's fourth argument: a value or a pointer. */
int s5__semctl(int id, int semnum, int cmd, unsigned long arg);

/* sem_view.c: as sysfive/admin.h has them. */
struct s5_semset_info;
struct s5_sem_info;
struct s5_sem_waiter_info;
struct s5_sem_undo_info;
int s5__semset_info_next(uint32_t *cursor, struct s5_semset_info *ret_info);
int s5__semset_info_get(int id, struct s5_semset_info *ret_info);
int s5__sem_info_get(int id, uint32_t num, struct s5_sem_info *ret_info);
int s5__sem_waiter_next(uint32_t *cursor, int id,
			struct s5_sem_waiter_info *ret_info);
int s5__sem_undo_next(uint64_t *cursor, int id,
		      struct s5_sem_undo_info *ret_info);

/* The process has left its undo list, by unshare or setns: as if it had ended
 * . Called by the drop-in. */
__attribute__((visibility("default"))) void s5__sem_unshared(void);

#endif
