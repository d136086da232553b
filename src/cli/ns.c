/* SPDX-License-Identifier: MIT */
/*
 * ns.c - opens a namespace, or says why that can't be done and what to do
 *
 * The library keeps the namespace open; the command ends with it open.  The
 * library's reason is looked into here where it leaves something open: what is
 * there instead, and whose it is.
 */
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sysfive/admin.h"

#define WHY_SIZE 256

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

static const char too_long_hint[] =
	"choose a shorter name, for example a symbolic link to it";
static const char none_hint[] =
	"'sysfive run' makes one; or name another directory by --dir or "
	"SYSFIVE_DIR";

static const struct reason *find_reason(enum s5_ns_reason reason)
{
	size_t n = sizeof(reasons) / sizeof(reasons[0]);
	size_t i;

	for (i = 0; i < n - 1; i++)
		if (reasons[i].reason == reason)
			break;
	return &reasons[i];
}

__attribute__((format(printf, 2, 3))) static void say(char *why,
						      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(why, WHY_SIZE, format, args);
	va_end(args);
}

static const char *kind_text(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "a regular file";
	case S_IFDIR:
		return "a directory";
	case S_IFLNK:
		return "a symbolic link";
	case S_IFIFO:
		return "a fifo";
	case S_IFSOCK:
		return "a socket";
	default:
		return "a device";
	}
}

/* The file in the directory is not what it should be: says so. */
static const struct reason *look_at_arena(const struct reason *reason,
					  const struct stat *arena, char *why)
{
	if (!S_ISREG(arena->st_mode)) {
		say(why, "the file 'arena' in it is %s",
		    kind_text(arena->st_mode));
		return find_reason(S5_NS_NOT_A_NS);
	}
	if (reason->reason == S5_NS_NOT_A_NS)
		say(why,
		    "the file 'arena' in it, of %lld bytes, is damaged, cut "
		    "short or not a namespace of sysfive",
		    (long long)arena->st_size);
	if (reason->reason == S5_NS_NO_ACCESS) {
		char user[CLI_NAME_SIZE];

		cli_user_text(arena->st_uid, user);
		say(why,
		    "permission denied: the file 'arena' in it belongs to %s, "
		    "its mode is %04o",
		    user, arena->st_mode & 07777u);
	}
	return reason;
}

static void look_at_dir(const struct reason *reason, const struct stat *dir,
			char *why)
{
	unsigned int mode = dir->st_mode & 07777u;
	char user[CLI_NAME_SIZE];

	cli_user_text(dir->st_uid, user);
	if (reason->reason == S5_NS_NOT_OURS)
		say(why, "it belongs to another user, %s", user);
	else if (reason->reason == S5_NS_TOO_OPEN)
		say(why, "its mode, %04o, lets others replace the files in it",
		    mode);
	else if (reason->reason == S5_NS_NO_ACCESS)
		say(why,
		    "permission denied: it belongs to %s, its mode is "
		    "%04o",
		    user, mode);
}

/*
 * Looks into the reason; writes a better sentence to why, or "".  Returns the
 * reason, or another if what is found is one.
 */
static const struct reason *look(int err, const struct s5_ns_status *status,
				 char *why)
{
	const struct reason *reason = find_reason(status->reason);
	char path[sizeof(status->dir) + 8];
	struct stat dir;
	struct stat arena;

	why[0] = '\0';
	if (err == -ENAMETOOLONG && status->reason == S5_NS_NO_PLACE)
		say(why, "the name in SYSFIVE_DIR is longer than %zu bytes",
		    sizeof(status->dir) - 1);
	if (err == -EROFS)
		say(why, "its file system can only be read");
	if (why[0] || !status->dir[0] || lstat(status->dir, &dir))
		return reason;
	if (reason->reason == S5_NS_NOT_DIR && !S_ISDIR(dir.st_mode)) {
		say(why, "%s has that name", kind_text(dir.st_mode));
		return reason;
	}
	(void)snprintf(path, sizeof(path), "%s/arena", status->dir);
	if (access(status->dir, R_OK | X_OK) == 0 && lstat(path, &arena) == 0)
		reason = look_at_arena(reason, &arena, why);
	if (!why[0] && stat(status->dir, &dir) == 0)
		look_at_dir(reason, &dir, why);
	return reason;
}

static void explain(int err, const struct s5_ns_status *status, bool create)
{
	char why[WHY_SIZE];
	const struct reason *reason = look(err, status, why);
	const char *hint = reason->hint;
	char formats[64] = "";
	char call[64] = "";

	if (status->reason == S5_NS_VERSION)
		(void)snprintf(formats, sizeof(formats),
			       " (its format is %u, ours %u)", status->format,
			       status->supported);
	if (status->reason == S5_NS_ABSENT && !create) {
		cli_error("there is no namespace in %s; %s", status->dir,
			  none_hint);
		return;
	}
	if (status->call[0])
		(void)snprintf(call, sizeof(call), " (%s: %s)", status->call,
			       strerror(-err));
	if (err == -ENAMETOOLONG)
		hint = too_long_hint;
	cli_error("cannot use the namespace%s%s: %s%s%s; %s",
		  status->dir[0] ? " in " : "", status->dir,
		  why[0]	? why
		  : reason->why ? reason->why
				: strerror(-err),
		  formats, call, hint);
}

/* Makes SYSFIVE_DIR name dir by its absolute path.  0 or -errno. */
static int export_dir(const char *dir)
{
	char path[PATH_MAX];
	int err = cli_path_absolute(dir, path, sizeof(path));

	if (!err && setenv("SYSFIVE_DIR", path, 1))
		err = -errno;
	return err;
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
	if (!err)
		err = export_dir(path);
	if (!err)
		err = cli_restart();
	cli_error("cannot use the directory %.100s%s: %s; %s", dir,
		  strlen(dir) > 100 ? "..." : "", strerror(-err),
		  err == -ENAMETOOLONG ? too_long_hint
				       : "see the manual, sysfive(1)");
	return CLI_FAILED;
}

int cli_ns_open(const char *dir, bool create)
{
	struct s5_ns_status status = {.reason = S5_NS_SYSTEM};
	int err = dir ? choose(dir) : CLI_DONE;

	if (err)
		return err;
	err = s5_ns_open(NULL, create, &status);
	if (err) {
		explain(err, &status, create);
		return CLI_FAILED;
	}
	/* So that a command that becomes another user, or changes its working
	 * directory, and executes others still names this one. */
	err = export_dir(status.dir);
	if (!err)
		return CLI_DONE;
	cli_error("cannot name the directory %s in SYSFIVE_DIR: %s; start it "
		  "from a directory that exists, or name one by an absolute "
		  "path",
		  status.dir, strerror(-err));
	return CLI_FAILED;
}

int cli_ns_unreadable(int err)
{
	if (err == -ENOMEM)
		cli_error("cannot read the namespace: it has no room for one "
			  "more thread; free some memory in its file system "
			  "(df), or end some of the programs that use it");
	else
		cli_error("cannot read the namespace: %s; see the manual, "
			  "sysfive(1)",
			  strerror(-err));
	return CLI_FAILED;
}
