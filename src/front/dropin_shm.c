/* SPDX-License-Identifier: MIT */
/*
 * dropin_shm.c - shared memory: sysfive's, or with SYSFIVE_SHM=kernel the
 * kernel's
 *
 * Owns the choice, made once at load: a program never sees both.
 */
#include "dropin.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>

#include <sysfive/sysfive.h>

static bool use_kernel;

__attribute__((constructor)) static void choose_at_load(void)
{
	const char *choice = secure_getenv("SYSFIVE_SHM");

	use_kernel = choice && strcmp(choice, "kernel") == 0;
}

S5_EXPORT int shmget(key_t key, size_t size, int shmflg)
{
	return use_kernel ? REAL(shmget)(key, size, shmflg)
			  : s5_shmget(key, size, shmflg);
}

S5_EXPORT void *shmat(int shmid, const void *shmaddr, int shmflg)
{
	return use_kernel ? REAL(shmat)(shmid, shmaddr, shmflg)
			  : s5_shmat(shmid, shmaddr, shmflg);
}

S5_EXPORT int shmdt(const void *shmaddr)
{
	return use_kernel ? REAL(shmdt)(shmaddr) : s5_shmdt(shmaddr);
}

S5_EXPORT int shmctl(int shmid, int cmd, struct shmid_ds *buf)
{
	return use_kernel ? REAL(shmctl)(shmid, cmd, buf)
			  : s5_shmctl(shmid, cmd, buf);
}
