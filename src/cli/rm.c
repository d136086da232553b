/* SPDX-License-Identifier: MIT */
/*
 * rm.c - sysfive rm: removes message queues
 *
 * All selectors are read before the first queue is removed.  Each that cannot
 * be removed is told, and the others are removed all the same.
 */
#include "cli.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>

#include "sysfive/admin.h"
#include "sysfive/sysfive.h"

/* A queue by its id, or by its key. */
struct selector {
	bool by_key;
	int id;
	int32_t key;
};

struct request {
	const char *dir;
	bool all;
	bool dry_run;
	size_t n;
	struct selector *selector;
};

static const struct option options[] = {
	{"dir", required_argument, NULL, 'd'},
	{"key", required_argument, NULL, 'k'},
	{"all", no_argument, NULL, 'a'},
	{"dry-run", no_argument, NULL, 'n'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static int print_help(void)
{
	puts("Usage: sysfive rm [OPTION]... ID...\n"
	     "       sysfive rm [OPTION]... --key KEY [--key KEY]...\n"
	     "       sysfive rm [OPTION]... --all\n"
	     "\n"
	     "Removes message queues, with the messages in them. Whoever "
	     "waits\n"
	     "at one is told that it is gone (EIDRM).\n"
	     "\n"
	     "Options:\n"
	     "  -d, --dir DIR   the namespace in DIR instead of $SYSFIVE_DIR\n"
	     "                  or the default\n"
	     "  -k, --key KEY   the queue with that key, decimal or 0x...; "
	     "may\n"
	     "                  be given several times, and beside IDs\n"
	     "  -a, --all       all queues of the namespace\n"
	     "  -n, --dry-run   only say what would be removed\n"
	     "  -h, --help      show this text\n"
	     "\n"
	     "Exit status: 0 done; 1 if a queue was not there or could not be\n"
	     "removed; 2 wrong usage.");
	return cli_close_stdout(CLI_DONE);
}

static void tell_not_owner(const struct s5_msgq_info *info)
{
	char owner[CLI_NAME_SIZE];
	char creator[CLI_NAME_SIZE];

	cli_user_text(info->uid, owner);
	cli_user_text(info->cuid, creator);
	if (info->uid == info->cuid)
		cli_error("cannot remove queue %d: it belongs to %s; run this "
			  "as %s or as root",
			  info->msqid, owner, owner);
	else
		cli_error("cannot remove queue %d: it belongs to %s, and %s "
			  "made it; run this as one of them or as root",
			  info->msqid, owner, creator);
}

static void tell_absent(const struct selector *s)
{
	if (s->by_key)
		cli_error("there is no message queue with key 0x%08" PRIx32
			  "; 'sysfive ls' shows those that are there",
			  (uint32_t)s->key);
	else
		cli_error("there is no message queue with id %d; 'sysfive ls' "
			  "shows those that are there",
			  s->id);
}

/* The removal failed.  Was that to be told? */
static int explain(int err, const struct s5_msgq_info *info, bool all)
{
	struct s5_msgq_info now;
	struct selector s = {.id = info->msqid};

	if (err == -EPERM) {
		tell_not_owner(info);
	} else if (err == -EINVAL || err == -EIDRM) {
		if (s5_msgq_info_get(info->msqid, &now) == 0) {
			cli_error("cannot remove queue %d: its memory is "
				  "damaged; end the programs that use the "
				  "namespace and remove its directory",
				  info->msqid);
			return CLI_FAILED;
		}
		if (all)
			return CLI_DONE; /* somebody else was faster */
		tell_absent(&s);
	} else {
		cli_error("cannot remove queue %d: %s; see the manual, "
			  "sysfive-rm(1)",
			  info->msqid, strerror(-err));
	}
	return CLI_FAILED;
}

static void show(const struct s5_msgq_info *info)
{
	char owner[CLI_NAME_SIZE];
	char key[CLI_KEY_SIZE];

	cli_user_text(info->uid, owner);
	cli_key_text(info->key, key);
	printf("would remove queue %d, key %s, of %s: %" PRIu64
	       " messages, %" PRIu64 " waiting\n",
	       info->msqid, key, owner, info->qnum,
	       (uint64_t)info->senders + info->receivers);
}

static int remove_queue(const struct request *request,
			const struct s5_msgq_info *info)
{
	if (request->dry_run) {
		if (!(info->flags & S5_INFO_CONTROL)) {
			tell_not_owner(info);
			return CLI_FAILED;
		}
		show(info);
		return CLI_DONE;
	}
	if (info->flags & S5_INFO_UNLOCKED)
		cli_warn("queue %d is kept locked by process %d; this waits "
			 "until it lets go; if it is stopped, let it go on "
			 "(kill -CONT %d) or end it",
			 info->msqid, info->held_pid, info->held_pid);
	if (s5_msgctl(info->msqid, IPC_RMID, NULL) == 0)
		return CLI_DONE;
	return explain(-errno, info, request->all);
}

/* Finds the queue that is selected: 0, or -errno. */
static int find(const struct selector *s, struct s5_msgq_info *ret_info)
{
	int id = s->id;

	if (s->by_key) {
		id = s5_msgget(s->key, 0);
		if (id < 0)
			return errno == ENOENT ? -EINVAL : -errno;
	}
	return s5_msgq_info_get(id, ret_info);
}

static int remove_selected(const struct request *request)
{
	struct s5_msgq_info info;
	int status = CLI_DONE;
	size_t i;

	for (i = 0; i < request->n; i++) {
		int err = find(&request->selector[i], &info);

		if (err == -EINVAL)
			tell_absent(&request->selector[i]);
		else if (err)
			return cli_ns_unreadable(err);
		if (err || remove_queue(request, &info))
			status = CLI_FAILED;
	}
	return status;
}

static int remove_all(const struct request *request)
{
	struct s5_msgq_info info;
	uint32_t cursor = 0;
	int status = CLI_DONE;
	int found;

	while ((found = s5_msgq_info_next(&cursor, &info)) > 0)
		if (remove_queue(request, &info))
			status = CLI_FAILED;
	return found < 0 ? cli_ns_unreadable(found) : status;
}

static int add_key(struct request *request, const char *text)
{
	struct selector *s = &request->selector[request->n++];

	s->by_key = true;
	if (cli_text_to_key(text, &s->key))
		return cli_usage("'%s' is not a key", text);
	if (s->key == IPC_PRIVATE)
		return cli_usage("key 0 (IPC_PRIVATE) names no queue; give "
				 "the queue's id");
	return CLI_DONE;
}

static int add_id(struct request *request, const char *text)
{
	struct selector *s = &request->selector[request->n++];

	if (cli_text_to_id(text, &s->id))
		return cli_usage("'%s' is not the id of a queue", text);
	return CLI_DONE;
}

/* CLI_DONE, an exit status, or -1 if the help text was asked for. */
static int parse(int argc, char **argv, struct request *request)
{
	int option;
	int err = CLI_DONE;

	while (!err && (option = getopt_long(argc, argv, "d:k:anh", options,
					     NULL)) != -1) {
		switch (option) {
		case 'd':
			request->dir = optarg;
			break;
		case 'k':
			err = add_key(request, optarg);
			break;
		case 'a':
			request->all = true;
			break;
		case 'n':
			request->dry_run = true;
			break;
		case 'h':
			return -1;
		default:
			return cli_usage(NULL);
		}
	}
	for (; !err && optind < argc; optind++)
		err = add_id(request, argv[optind]);
	if (err)
		return err;
	if (request->all && request->n)
		return cli_usage("either --all, or ids and keys");
	if (!request->all && !request->n)
		return cli_usage("which queues?");
	return CLI_DONE;
}

int cli_rm(int argc, char **argv)
{
	struct request request = {0};
	int status;

	/* Each argument holds at most one selector. */
	request.selector = calloc((size_t)argc, sizeof(*request.selector));
	if (!request.selector) {
		cli_error("out of memory");
		return CLI_FAILED;
	}
	status = parse(argc, argv, &request);
	if (status == CLI_DONE)
		status = cli_ns_open(request.dir, false);
	if (status == CLI_DONE)
		status = cli_close_stdout(request.all
						  ? remove_all(&request)
						  : remove_selected(&request));
	free(request.selector);
	return status < 0 ? print_help() : status;
}
