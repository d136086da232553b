/* SPDX-License-Identifier: MIT */
/*
 * ns.c - opens a namespace, or says why that can't be done and what to do
 *
 * The library keeps the namespace open; the command ends with it open.
 */
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sysfive/admin.h"

/* A NULL why is the meaning of the errno. */
struct reason {
	enum s5_ns_reason reason;
	const char *why;
	const char *hint;
};

static const struct reason reasons[] = {
	{S5_NS_ABSENT, "it is not there",
	 "make the directory, or name another one by --dir or SYSFIVE_DIR"},
	{S5_NS_NO_PLACE,
	 "neither /dev/shm nor $XDG_RUNTIME_DIR nor $TMPDIR is a directory "
	 "that you may write to",
	 "name a directory on a tmpfs by --dir or SYSFIVE_DIR"},
	{S5_NS_NOT_OURS, "it belongs to another user",
	 "look who made it (ls -ld), remove it if it should not be there, or "
	 "name another directory by --dir or SYSFIVE_DIR"},
	{S5_NS_NOT_DIR, "something that is not a directory has that name",
	 "look what it is (ls -ld), remove it if it should not be there, or "
	 "name another directory by --dir or SYSFIVE_DIR"},
	{S5_NS_TOO_OPEN, "its mode lets others replace the files in it",
	 "chmod it to 0700 for yourself, 2770 for a group or 1777 for all"},
	{S5_NS_NO_ACCESS, "permission denied",
	 "ask its owner for access, or name another directory by --dir or "
	 "SYSFIVE_DIR"},
	{S5_NS_NOT_A_NS,
	 "the file in it is damaged or not a namespace of sysfive",
	 "end the programs that use it and remove the directory's files, or "
	 "name another directory by --dir or SYSFIVE_DIR"},
	{S5_NS_VERSION, "another version of sysfive made it",
	 "use that version, or end the programs that use it and remove the "
	 "directory's files"},
	{S5_NS_NO_ROOM, "the file system is full",
	 "free some memory there (df), enlarge it, or name another directory "
	 "by --dir or SYSFIVE_DIR"},
	{S5_NS_NO_MEMORY,
	 "there is too little memory or address space, or a "
	 "limit forbids so large a file",
	 "raise the limits (ulimit -v, ulimit -f)"},
	{S5_NS_SYSTEM, NULL, "see the manual, sysfive(1)"},
};

static const struct reason *find_reason(enum s5_ns_reason reason)
{
	size_t n = sizeof(reasons) / sizeof(reasons[0]);
	size_t i;

	for (i = 0; i < n - 1; i++)
		if (reasons[i].reason == reason)
			break;
	return &reasons[i];
}

static void explain(int err, const struct s5_ns_status *status)
{
	const struct reason *reason = find_reason(status->reason);
	char formats[64] = "";
	char call[64] = "";

	if (status->reason == S5_NS_VERSION)
		(void)snprintf(formats, sizeof(formats),
			       " (its format is %u, ours %u)", status->format,
			       status->supported);
	if (status->call[0])
		(void)snprintf(call, sizeof(call), " (%s: %s)", status->call,
			       strerror(-err));
	cli_error("cannot use the namespace%s%s: %s%s%s; %s",
		  status->dir[0] ? " in " : "", status->dir,
		  reason->why ? reason->why : strerror(-err), formats, call,
		  reason->hint);
}

/*
 * Makes SYSFIVE_DIR name dir.  The library joins the namespace that it names
 * when it is loaded, and a process has only one: so the command starts anew.
 */
static int choose(const char *dir)
{
	const char *chosen = getenv("SYSFIVE_DIR");
	char path[PATH_MAX];
	int err;

	if (dir[0] == '\0')
		return cli_usage("--dir needs the name of a directory");
	err = cli_path_absolute(dir, path, sizeof(path));
	if (!err && chosen && strcmp(chosen, path) == 0)
		return CLI_DONE;
	if (!err && setenv("SYSFIVE_DIR", path, 1))
		err = -errno;
	if (!err)
		err = cli_restart();
	cli_error("cannot use the directory %s: %s", dir, strerror(-err));
	return CLI_FAILED;
}

int cli_ns_open(const char *dir)
{
	struct s5_ns_status status = {.reason = S5_NS_SYSTEM};
	int err = dir ? choose(dir) : CLI_DONE;

	if (err)
		return err;
	err = s5_ns_open(NULL, 1, &status);
	if (!err)
		return CLI_DONE;
	explain(err, &status);
	return CLI_FAILED;
}
