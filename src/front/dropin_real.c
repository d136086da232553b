/* SPDX-License-Identifier: MIT */
/*
 * dropin_real.c - finds libc's own functions
 *
 * "The next one after ours", so that other preloaded libraries which define
 * the same names are called as well. By dlsym(), and so all of it at load: it
 * is not for handlers, nor for a child forked by a program with threads, where
 * its lock may be held for ever.
 */
#include "dropin.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

struct s5__front_real s5__front_real;

static long no_syscall(long nr, ...)
{
	(void)nr;
	errno = ENOSYS;
	return -1;
}

static int no_call(void)
{
	errno = ENOSYS;
	return -1;
}

static void *no_dlopen(const char *file, int mode)
{
	(void)file;
	(void)mode;
	return NULL;
}

static void *find(const char *name, void *otherwise)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (found)
		return found;
	(void)dlerror(); /* The program is not to hear of it. */
	return otherwise;
}

void s5__front_find_all(void)
{
	int saved = errno;

#define FIND(result, name, arguments) \
	s5__front_real.name = (result(*) arguments)find(#name, (void *)no_call);
	S5__FRONT_REAL(FIND)
#undef FIND
	s5__front_real_syscall =
		(long (*)(long, ...))find("syscall", (void *)no_syscall);
	s5__front_real_vfork = find("vfork", (void *)no_call);
	s5__front_real_clone = find("clone", (void *)no_call);
	s5__front_real_dlopen = find("dlopen", (void *)no_dlopen);
	errno = saved;
}

__attribute__((constructor)) static void find_at_load(void)
{
	s5__front_find_all();
}
