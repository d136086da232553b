/* SPDX-License-Identifier: MIT */
/*
 * opener.c - an extension that opens another one by its bare name, and says
 * which msgget() it is bound to
 */
#include <dlfcn.h>
#include <stddef.h>
#include <sys/msg.h>

int opener_value(void);
void *opener_msgget(void);

int opener_value(void)
{
	void *handle = dlopen("libplugin.so", RTLD_NOW | RTLD_DEEPBIND);
	int (*value)(void);

	if (!handle)
		return -1;
	value = (int (*)(void))dlsym(handle, "plugin_value");
	return value ? value() : -2;
}

void *opener_msgget(void)
{
	return (void *)msgget;
}
