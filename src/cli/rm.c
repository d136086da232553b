/* SPDX-License-Identifier: MIT */
/*
 * rm.c - sysfive rm: removes message queues or semaphore sets
 *
 * All selectors are read before the first object is removed.  Each that cannot
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

#include "object.h"
#include "sysfive/admin.h"

/* An object by its id, or by its key. */
struct selector {
	bool by_key;
	int id;
	int32_t key;
};

struct request {
	const struct cli_kind *kind;
	const char *dir;
	bool all;
	bool dry_run;
	size_t n;
	struct selector *selector;
};

static const struct option options[] = {
	{"dir", required_argument, NULL, 'd'},
	{"queues", no_argument, NULL, 'q'},
	{"semaphores", no_argument, NULL, 's'},
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
	     "Removes message queues, with the messages in them, or "
	     "semaphore\n"
	     "sets. Whoever waits at one is told that it is gone (EIDRM).\n"
	     "\n"
	     "Options:\n"
	     "  -d, --dir DIR     the namespace in DIR instead of\n"
	     "                    $SYSFIVE_DIR or the default\n"
	     "  -q, --queues      message queues (if none of -q, -s is given)\n"
	     "  -s, --semaphores  semaphore sets\n"
	     "  -k, --key KEY     the one with that key, decimal or 0x...; "
	     "may be\n"
	     "                    given several times, and beside IDs\n"
	     "  -a, --all         all of the namespace\n"
	     "  -n, --dry-run     only say what would be removed\n"
	     "  -h, --help        show this text\n"
	     "\n"
	     "Exit status: 0 done; 1 if one was not there or could not be\n"
	     "removed; 2 wrong usage.");
	return cli_close_stdout(CLI_DONE);
}

static void tell_not_owner(const struct cli_kind *kind,
			   const struct cli_object *object)
{
	char owner[CLI_NAME_SIZE];
	char creator[CLI_NAME_SIZE];

	cli_user_text(object->uid, owner);
	cli_user_text(object->cuid, creator);
	if (object->uid == object->cuid)
		cli_error("cannot remove %s %d: it belongs to %s; run this "
			  "as %s or as root",
			  kind->name, object->id, owner, owner);
	else
		cli_error("cannot remove %s %d: it belongs to %s, and %s "
			  "made it; run this as one of them or as root",
			  kind->name, object->id, owner, creator);
}

static void tell_absent(const struct cli_kind *kind, const struct selector *s)
{
	if (s->by_key)
		cli_error("there is no %s with key 0x%08" PRIx32
			  "; '%s' shows those that are there",
			  kind->full_name, (uint32_t)s->key, kind->list);
	else
		cli_error("there is no %s with id %d; '%s' shows those that "
			  "are there",
			  kind->full_name, s->id, kind->list);
}

/* The removal failed.  Was that to be told? */
static int explain(int err, const struct request *request,
		   const struct cli_object *object)
{
	const struct cli_kind *kind = request->kind;
	struct cli_object now;
	struct selector s = {.id = object->id};

	if (err == -EPERM) {
		tell_not_owner(kind, object);
	} else if (err == -EINVAL || err == -EIDRM) {
		if (kind->get(object->id, &now) == 0) {
			cli_error("cannot remove %s %d: its memory is "
				  "damaged; end the programs that use the "
				  "namespace and remove its directory",
				  kind->name, object->id);
			return CLI_FAILED;
		}
		if (request->all)
			return CLI_DONE; /* somebody else was faster */
		tell_absent(kind, &s);
	} else {
		cli_error("cannot remove %s %d: %s; see the manual, "
			  "sysfive-rm(1)",
			  kind->name, object->id, strerror(-err));
	}
	return CLI_FAILED;
}

static void show(const struct cli_kind *kind, const struct cli_object *object)
{
	char owner[CLI_NAME_SIZE];
	char key[CLI_KEY_SIZE];

	cli_user_text(object->uid, owner);
	cli_key_text(object->key, key);
	printf("would remove %s %d, key %s, of %s: %s\n", kind->name,
	       object->id, key, owner, object->content);
}

static int remove_object(const struct request *request,
			 const struct cli_object *object)
{
	const struct cli_kind *kind = request->kind;
	int err;

	if (request->dry_run) {
		if (!(object->flags & S5_INFO_CONTROL)) {
			tell_not_owner(kind, object);
			return CLI_FAILED;
		}
		show(kind, object);
		return CLI_DONE;
	}
	if (object->flags & S5_INFO_UNLOCKED)
		cli_warn("%s %d is kept locked by process %d; this waits "
			 "until it lets go; if it is stopped, let it go on "
			 "(kill -CONT %d) or end it",
			 kind->name, object->id, object->held_pid,
			 object->held_pid);
	err = kind->remove(object->id);
	return err ? explain(err, request, object) : CLI_DONE;
}

/* Finds what is selected: 0, or -errno. */
static int find(const struct cli_kind *kind, const struct selector *s,
		struct cli_object *ret_object)
{
	int id = s->id;

	if (s->by_key) {
		id = kind->find(s->key);
		if (id < 0)
			return id == -ENOENT ? -EINVAL : id;
	}
	return kind->get(id, ret_object);
}

static int remove_selected(const struct request *request)
{
	struct cli_object object;
	int status = CLI_DONE;
	size_t i;

	for (i = 0; i < request->n; i++) {
		const struct selector *s = &request->selector[i];
		int err = find(request->kind, s, &object);

		if (err == -EINVAL)
			tell_absent(request->kind, s);
		else if (err)
			return cli_ns_unreadable(err);
		if (err || remove_object(request, &object))
			status = CLI_FAILED;
	}
	return status;
}

static int remove_all(const struct request *request)
{
	struct cli_object object;
	uint32_t cursor = 0;
	int status = CLI_DONE;
	int found;

	while ((found = request->kind->next(&cursor, &object)) > 0)
		if (remove_object(request, &object))
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
		return cli_usage("key 0 (IPC_PRIVATE) names nothing; give "
				 "the id");
	return CLI_DONE;
}

static int add_id(struct request *request, const char *text)
{
	struct selector *s = &request->selector[request->n++];

	if (cli_text_to_id(text, &s->id))
		return cli_usage("'%s' is not an id", text);
	return CLI_DONE;
}

/* CLI_DONE, an exit status, or -1 if the help text was asked for. */
static int parse(int argc, char **argv, struct request *request)
{
	bool queues = false;
	int option;
	int err = CLI_DONE;

	while (!err && (option = getopt_long(argc, argv, "d:qsk:anh", options,
					     NULL)) != -1) {
		switch (option) {
		case 'd':
			request->dir = optarg;
			break;
		case 'q':
			queues = true;
			break;
		case 's':
			request->kind = &cli_sets;
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
	if (queues && request->kind != &cli_queues)
		return cli_usage("either -q or -s");
	if (request->all && request->n)
		return cli_usage("either --all, or ids and keys");
	if (!request->all && !request->n)
		return cli_usage("which %ss?", request->kind->full_name);
	return CLI_DONE;
}

int cli_rm(int argc, char **argv)
{
	struct request request = {.kind = &cli_queues};
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
