/* SPDX-License-Identifier: MIT */
/*
 * paths.c - where the drop-in, a command and a directory are
 *
 * Owns no state.
 */
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli_config.h"

static int print_path(char *ret_path, size_t size, const char *dir,
		      const char *file)
{
	int n = snprintf(ret_path, size, "%s/%s", dir, file);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

int cli_path_absolute(const char *dir, char *ret_path, size_t size)
{
	char cwd[PATH_MAX];

	if (dir[0] == '/') {
		if (strlen(dir) >= size)
			return -ENAMETOOLONG;
		memcpy(ret_path, dir, strlen(dir) + 1);
		return 0;
	}
	if (!getcwd(cwd, sizeof(cwd)))
		return -errno;
	return print_path(ret_path, size, cwd, dir);
}

/* The directory of the command's own executable. */
static int own_directory(char *ret_dir, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", ret_dir, size - 1);
	char *slash;

	if (n < 0)
		return -errno;
	ret_dir[n] = '\0';
	slash = strrchr(ret_dir, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	return 0;
}

/* Writes path to ret_path if a readable file is there. */
static int take_readable(const char *path, char *ret_path, size_t size)
{
	if (access(path, R_OK))
		return -errno;
	if (strlen(path) >= size)
		return -ENAMETOOLONG;
	memcpy(ret_path, path, strlen(path) + 1);
	return 0;
}

int cli_dropin_path(char *ret_path, size_t size)
{
	static const char *const beside_us[] = {
		"libsysfive-dropin.so",
		CLI_BINDIR_TO_LIBDIR "/libsysfive-dropin.so.0",
	};
	char dir[PATH_MAX];
	char path[PATH_MAX];
	size_t i;
	int err;

	err = own_directory(dir, sizeof(dir));
	for (i = 0; !err && i < sizeof(beside_us) / sizeof(char *); i++) {
		if (print_path(path, sizeof(path), dir, beside_us[i]))
			continue;
		if (take_readable(path, ret_path, size) == 0)
			return 0;
	}
	return take_readable(CLI_LIBDIR "/libsysfive-dropin.so.0", ret_path,
			     size);
}

/* 0 if path is a file that may be executed, else what execve() would say. */
static int check_executable(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || access(path, X_OK))
		return -EACCES;
	return 0;
}

static int check_in(const char *dir, size_t length, const char *file,
		    char *ret_path, size_t size)
{
	char path[PATH_MAX];
	int n;
	int err;

	if (length == 0) {
		dir = ".";
		length = 1;
	}
	n = snprintf(path, sizeof(path), "%.*s/%s", (int)length, dir, file);
	if (n < 0 || (size_t)n >= sizeof(path) || (size_t)n >= size)
		return -ENAMETOOLONG;
	err = check_executable(path);
	if (err == 0)
		memcpy(ret_path, path, (size_t)n + 1);
	return err;
}

int cli_path_search(const char *file, char *ret_path, size_t size)
{
	const char *dirs = getenv("PATH");
	int result = -ENOENT;

	if (file[0] == '\0')
		return -ENOENT;
	if (strchr(file, '/')) {
		result = check_executable(file);
		if (strlen(file) >= size)
			return -ENAMETOOLONG;
		if (result == 0)
			memcpy(ret_path, file, strlen(file) + 1);
		return result;
	}
	if (!dirs)
		dirs = "/bin:/usr/bin";
	for (;;) {
		size_t length = strcspn(dirs, ":");
		int err = check_in(dirs, length, file, ret_path, size);

		if (err == 0)
			return 0;
		if (err == -EACCES)
			result = err;
		if (dirs[length] == '\0')
			return result;
		dirs += length + 1;
	}
}
