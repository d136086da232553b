/* SPDX-License-Identifier: MIT */
/*
 * cli.h - what the verbs of the sysfive command share
 *
 * The command is single-threaded; nothing here is locked.  Messages go to
 * standard error and start with "sysfive: VERB: ".
 */
#ifndef S5_CLI_CLI_H
#define S5_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit status of every verb; `run` passes the command's on instead. */
enum cli_exit {
	CLI_DONE = 0,
	CLI_FAILED = 1,
	CLI_USAGE = 2,
	CLI_CANNOT_EXEC = 126,
	CLI_NOT_FOUND = 127,
	CLI_SIGNAL_BASE = 128,
};

/* Each verb gets the arguments from its own name on. */
int cli_run(int argc, char **argv);
int cli_limits(int argc, char **argv);
int cli_ls(int argc, char **argv);
int cli_rm(int argc, char **argv);
int cli_bench(int argc, char **argv);

/* Sets the name that messages carry. */
void cli_set_verb(const char *verb);

/* One line on standard error. */
void cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same for a wrong command line, whose error getopt_long() may have told
 * already (format NULL); returns CLI_USAGE. */
int cli_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Flushes standard output; CLI_FAILED and a message if that fails. */
int cli_close_stdout(int status);

/* Executes the command anew with the same arguments; returns only -errno. */
int cli_restart(void);

/*
 * Opens the namespace in dir, or by the default rule if dir is NULL; makes it
 * if need be and `create`.  SYSFIVE_DIR names it then by its absolute path.
 * Returns CLI_DONE, or another status after saying what is wrong, why, and what
 * to do.
 */
int cli_ns_open(const char *dir, bool create);

/* Says why what is in the open namespace cannot be read: err is of one of the
 * functions of sysfive/admin.h.  Returns CLI_FAILED. */
int cli_ns_unreadable(int err);

/*
 * Writes the absolute path of dir, which need not exist, to ret_path.
 * Returns 0 or -errno.
 */
int cli_path_absolute(const char *dir, char *ret_path, size_t size);

/*
 * Finds the drop-in library: beside the command, else where it was configured
 * to be installed.  Returns 0 or -errno; ret_path is written only on success.
 */
int cli_dropin_path(char *ret_path, size_t size);

/* Finds file as execvp() would.  Returns 0 or -errno. */
int cli_path_search(const char *file, char *ret_path, size_t size);

/*
 * Says on standard error if the program at path is one that the preload cannot
 * reach.
 */
void cli_warn_unreachable(const char *path);

/* Reads a decimal id of an object.  0, or -EINVAL. */
int cli_text_to_id(const char *text, int *ret_id);

/* Reads a key: decimal, or hexadecimal with 0x.  0, or -EINVAL. */
int cli_text_to_key(const char *text, int32_t *ret_key);

/* A key as ipcs(1) shows it. */
#define CLI_KEY_SIZE 12
void cli_key_text(int32_t key, char ret_text[CLI_KEY_SIZE]);

/* The name of a user or group, or its number; cut off if need be. */
#define CLI_NAME_SIZE 34
void cli_user_text(uint32_t uid, char ret_text[CLI_NAME_SIZE]);
void cli_group_text(uint32_t gid, char ret_text[CLI_NAME_SIZE]);

/* Local time, by ISO 8601; "" for 0 and for what is no time. */
#define CLI_TIME_SIZE 32
void cli_time_text(int64_t seconds, char ret_text[CLI_TIME_SIZE]);

/* Makes what came from elsewhere fit to be printed: one line of ASCII. */
void cli_text_clean(char *text);

#endif
