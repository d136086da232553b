/* SPDX-License-Identifier: MIT */
/* plugin.c - found only by the RUNPATH of the library that opens it */
int plugin_value(void);

int plugin_value(void)
{
	return 7;
}
