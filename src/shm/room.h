/* SPDX-License-Identifier: MIT */
/*
 * shm/room.h - shared memory segments, as the front calls them
 *
 * Every function returns >= 0, or -errno; the errno values and their causes are
 * in docs/errors.md. `user` pointers belong to the program and are probed.
 */
#ifndef S5_SHM_ROOM_H
#define S5_SHM_ROOM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/shm.h>

/* Makes the facility known to the layers below; at load. */
void s5__shm_init(void);

int s5__shmget(int32_t key, size_t size, int flags);
/* The address, or -errno. */
long s5__shmat(int id, const void *addr, int flags);
int s5__shmdt(const void *addr);
int s5__shmctl(int id, int cmd, struct shmid_ds *user);

/* shm_view.c: as sysfive/admin.h has them. */
struct s5_shmseg_info;
struct s5_shmseg_attacher;
int s5__shmseg_info_next(uint32_t *cursor, struct s5_shmseg_info *ret_info);
int s5__shmseg_info_get(int id, struct s5_shmseg_info *ret_info);
int s5__shmseg_attacher_next(uint64_t *cursor, int id,
			     struct s5_shmseg_attacher *ret_info);

/* The process is about to end by exit(): when its attachments end is known. */
void s5__shm_exit(void);

#endif
