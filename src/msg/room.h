/* SPDX-License-Identifier: MIT */
/*
 * msg/room.h - message queues, as the front calls them
 *
 * Every function returns >= 0, or -errno; the errno values and their causes are
 * in docs/errors.md. `user` pointers belong to the program and are probed.
 */
#ifndef S5_MSG_ROOM_H
#define S5_MSG_ROOM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/msg.h>

/* Makes the facility known to the layers below; at load. */
void s5__msg_init(void);

int s5__msgget(int32_t key, int flags);
int s5__msgsnd(int id, const void *user, size_t size, int flags);
long s5__msgrcv(int id, void *user, size_t size, long type, int flags);
int s5__msgctl(int id, int cmd, struct msqid_ds *user);

/* What sysfive/admin.h says of the functions of these names. */
struct s5_msgq_info;
struct s5_waiter_info;
int s5__msgq_info_next(uint32_t *cursor, struct s5_msgq_info *ret_info);
int s5__msgq_info_get(int id, struct s5_msgq_info *ret_info);
int s5__msgq_waiter_next(uint32_t *cursor, int id,
			 struct s5_waiter_info *ret_info);

#endif
