/* SPDX-License-Identifier: MIT */
/*
 * ls.c - sysfive ls: the options, and message queues
 *
 * The namespace is read through sysfive/admin.h, one object at a time: the list
 * is no snapshot.  waiters.c and sets.c have the other tables.
 */
#include "ls.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "object.h"
#include "sysfive/admin.h"

enum {
	Q_KEY,
	Q_MSQID,
	Q_OWNER,
	Q_PERMS,
	Q_USED_BYTES,
	Q_MESSAGES,
	Q_SENDERS,
	Q_RECEIVERS,
	Q_QBYTES,
	Q_CREATOR,
	Q_SEND_TIME,
	Q_SEND_PID,
	Q_RECV_TIME,
	Q_RECV_PID,
	Q_CHANGE_TIME,
	Q_GROUP,
	Q_CGROUP,
	Q_UID,
	Q_GID,
	Q_CUID,
	Q_CGID,
	Q_HELD_BY,
	N_COLUMNS,
};

#define RIGHT  (CLI_COLUMN_RIGHT | CLI_COLUMN_NUMBER)
#define HIDDEN CLI_COLUMN_HIDDEN

static const struct cli_column column[N_COLUMNS] = {
	[Q_KEY] = {"KEY", "the queue's key, hexadecimal", 0},
	[Q_MSQID] = {"MSQID", "its id", RIGHT},
	[Q_OWNER] = {"OWNER", "user that owns it", 0},
	[Q_PERMS] = {"PERMS", "permission bits, octal", CLI_COLUMN_RIGHT},
	[Q_USED_BYTES] = {"USED_BYTES", "bytes in its messages", RIGHT},
	[Q_MESSAGES] = {"MESSAGES", "messages in it", RIGHT},
	[Q_SENDERS] = {"SENDERS", "threads that wait for room", RIGHT},
	[Q_RECEIVERS] = {"RECEIVERS", "threads that wait for a message", RIGHT},
	[Q_QBYTES] = {"QBYTES", "most bytes in its messages", RIGHT | HIDDEN},
	[Q_CREATOR] = {"CREATOR", "user that made it", HIDDEN},
	[Q_SEND_TIME] = {"SEND_TIME", "when it was last sent to", HIDDEN},
	[Q_SEND_PID] = {"SEND_PID", "process that did that", RIGHT | HIDDEN},
	[Q_RECV_TIME] = {"RECV_TIME", "when it was last received from", HIDDEN},
	[Q_RECV_PID] = {"RECV_PID", "process that did that", RIGHT | HIDDEN},
	[Q_CHANGE_TIME] = {"CHANGE_TIME", "when it was made or changed",
			   HIDDEN},
	[Q_GROUP] = {"GROUP", "group that owns it", HIDDEN},
	[Q_CGROUP] = {"CGROUP", "group of its creator", HIDDEN},
	[Q_UID] = {"UID", "the owner's number", RIGHT | HIDDEN},
	[Q_GID] = {"GID", "the owning group's number", RIGHT | HIDDEN},
	[Q_CUID] = {"CUID", "the creator's number", RIGHT | HIDDEN},
	[Q_CGID] = {"CGID", "its group's number", RIGHT | HIDDEN},
	[Q_HELD_BY] = {"HELD_BY", "stopped process that keeps it locked",
		       RIGHT | HIDDEN},
};

static const struct cli_columns queue_columns = {"queues", column, N_COLUMNS};

static const struct option options[] = {
	{"dir", required_argument, NULL, 'd'},
	{"queues", no_argument, NULL, 'q'},
	{"semaphores", no_argument, NULL, 's'},
	{"each", no_argument, NULL, 'e'},
	{"undo", no_argument, NULL, 'u'},
	{"waiters", no_argument, NULL, 'w'},
	{"json", no_argument, NULL, 'J'},
	{"columns", required_argument, NULL, 'o'},
	{"noheadings", no_argument, NULL, 'n'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static int add_queues(struct cli_table *table,
		      const struct ls_request *request);

/* By enum ls_view. */
static const struct {
	const char *options;
	const struct cli_kind *kind;
	const struct cli_columns *columns;
	int (*add)(struct cli_table *table, const struct ls_request *request);
} views[] = {
	[LS_QUEUES] = {"-q", &cli_queues, &queue_columns, add_queues},
	[LS_QUEUE_WAITERS] = {"-qw", &cli_queues, &ls_waiter_columns,
			      ls_add_waiters},
	[LS_SETS] = {"-s", &cli_sets, &ls_set_columns, ls_add_sets},
	[LS_SEMAPHORES] = {"-se", &cli_sets, &ls_semaphore_columns,
			   ls_add_semaphores},
	[LS_SET_WAITERS] = {"-sw", &cli_sets, &ls_set_waiter_columns,
			    ls_add_set_waiters},
	[LS_UNDO] = {"-su", &cli_sets, &ls_undo_columns, ls_add_undo},
};

static int print_help(void)
{
	size_t i;

	puts("Usage: sysfive ls [OPTION]... [ID]...\n"
	     "\n"
	     "Lists the message queues or the semaphore sets of a namespace,\n"
	     "all or those with an ID, or what is about them.\n"
	     "\n"
	     "Options:\n"
	     "  -d, --dir DIR       the namespace in DIR instead of\n"
	     "                      $SYSFIVE_DIR or the default\n"
	     "  -q, --queues        message queues (if none of -q, -s is "
	     "given)\n"
	     "  -s, --semaphores    semaphore sets\n"
	     "  -w, --waiters       who waits at them, since when and for "
	     "what\n"
	     "  -e, --each          with -s: each semaphore, and its value\n"
	     "  -u, --undo          with -s: what will be added to semaphores\n"
	     "                      when a process ends (SEM_UNDO)\n"
	     "  -J, --json          print JSON, with all columns\n"
	     "  -o, --columns LIST  show these columns, with commas between\n"
	     "  -n, --noheadings    leave the columns' names out\n"
	     "  -h, --help          show this text");
	for (i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		printf("\nWith %s:", views[i].options);
		cli_table_help(views[i].columns);
	}
	puts("\nExit status: 0 done; 1 if the namespace or an object that is\n"
	     "named is not there; 2 wrong usage.");
	return cli_close_stdout(CLI_DONE);
}

bool ls_is_wanted(const struct ls_request *request, int id)
{
	size_t i;

	for (i = 0; i < request->n; i++)
		if (request->id[i] == id)
			return true;
	return request->n == 0;
}

int ls_open(struct cli_table *table, const struct cli_columns *columns,
	    const struct ls_request *request)
{
	const char *bad = "";
	int err = cli_table_open(table, columns, request->columns,
				 request->json, &bad);

	if (err == -EINVAL)
		return cli_usage("there is no column '%.*s'",
				 (int)strcspn(bad, ","), bad);
	if (err) {
		cli_error("out of memory, or more than %d columns",
			  CLI_COLUMNS_MAX);
		return CLI_FAILED;
	}
	if (request->no_headings)
		cli_table_hide_headings(table);
	return CLI_DONE;
}

_Static_assert(N_COLUMNS <= LS_CELLS, "fits into a line");

static int add_queue(struct cli_table *table, const struct s5_msgq_info *info)
{
	struct ls_line line;

	memset(&line, 0, sizeof(line));
	ls_set_key(&line, Q_KEY, info->key);
	ls_set_user(&line, Q_OWNER, info->uid);
	ls_set_user(&line, Q_CREATOR, info->cuid);
	ls_set_group(&line, Q_GROUP, info->gid);
	ls_set_group(&line, Q_CGROUP, info->cgid);
	ls_set_mode(&line, Q_PERMS, info->mode);
	ls_set_count(&line, Q_MSQID, (uint64_t)info->msqid);
	ls_set_count(&line, Q_USED_BYTES, info->cbytes);
	ls_set_count(&line, Q_MESSAGES, info->qnum);
	ls_set_count(&line, Q_SENDERS, info->senders);
	ls_set_count(&line, Q_RECEIVERS, info->receivers);
	ls_set_count(&line, Q_QBYTES, info->qbytes);
	ls_set_time(&line, Q_SEND_TIME, info->stime);
	ls_set_pid(&line, Q_SEND_PID, info->lspid);
	ls_set_time(&line, Q_RECV_TIME, info->rtime);
	ls_set_pid(&line, Q_RECV_PID, info->lrpid);
	ls_set_time(&line, Q_CHANGE_TIME, info->ctime);
	ls_set_count(&line, Q_UID, info->uid);
	ls_set_count(&line, Q_GID, info->gid);
	ls_set_count(&line, Q_CUID, info->cuid);
	ls_set_count(&line, Q_CGID, info->cgid);
	ls_set_pid(&line, Q_HELD_BY, info->held_pid);
	return cli_table_add(table, line.cell);
}

void ls_warn_held(const char *name, int id, int32_t pid)
{
	if (pid > 0)
		cli_warn("%s %d is kept locked by process %d, so its values "
			 "may not fit together; if that is stopped, let it go "
			 "on (kill -CONT %d)",
			 name, id, pid, pid);
	else
		cli_warn("the lock of %s %d is not to be had, so its values "
			 "may not fit together; its memory may be damaged",
			 name, id);
}

static int add_queues(struct cli_table *table, const struct ls_request *request)
{
	struct s5_msgq_info info;
	uint32_t cursor = 0;
	int found;
	int err = 0;

	while (!err && (found = s5_msgq_info_next(&cursor, &info)) != 0) {
		if (found < 0)
			return found;
		if (!ls_is_wanted(request, info.msqid))
			continue;
		if (info.flags & S5_INFO_UNLOCKED)
			ls_warn_held("queue", info.msqid, info.held_pid);
		err = add_queue(table, &info);
	}
	return err;
}

/* Says which of the objects that are named are not there. */
static int check_named(const struct ls_request *request)
{
	const struct cli_kind *kind = views[request->view].kind;
	struct cli_object object;
	int status = CLI_DONE;
	size_t i;

	for (i = 0; i < request->n; i++) {
		int err = kind->get(request->id[i], &object);

		if (err == 0)
			continue;
		if (err != -EINVAL)
			return cli_ns_unreadable(err);
		cli_error("there is no %s with id %d; '%s' without an id shows "
			  "all",
			  kind->full_name, request->id[i], kind->list);
		status = CLI_FAILED;
	}
	return status;
}

static int list(const struct ls_request *request)
{
	struct cli_table table;
	int status;
	int err;

	/* The columns first: a wrong command line should always be told. */
	status = ls_open(&table, views[request->view].columns, request);
	if (!status)
		status = cli_ns_open(request->dir, false);
	if (status)
		return status;
	status = check_named(request);
	err = views[request->view].add(&table, request);
	if (err)
		return cli_ns_unreadable(err);
	err = cli_table_close(&table);
	if (err) {
		cli_error("cannot write the output: %s", strerror(-err));
		return CLI_FAILED;
	}
	return cli_close_stdout(status);
}

/* The options that choose what is listed. */
struct choice {
	bool queues, sets;
	bool waiters, each, undo;
};

static int choose_view(const struct choice *choice, struct ls_request *request)
{
	if (choice->queues && choice->sets)
		return cli_usage("either -q or -s");
	if (choice->waiters + choice->each + choice->undo > 1)
		return cli_usage("one of -w, -e, -u");
	if (!choice->sets && (choice->each || choice->undo))
		return cli_usage("-e and -u are about semaphores: add -s");
	if (choice->each)
		request->view = LS_SEMAPHORES;
	else if (choice->undo)
		request->view = LS_UNDO;
	else if (choice->waiters)
		request->view =
			choice->sets ? LS_SET_WAITERS : LS_QUEUE_WAITERS;
	else
		request->view = choice->sets ? LS_SETS : LS_QUEUES;
	return CLI_DONE;
}

/* CLI_DONE, an exit status, or -1 if the help text was asked for. */
static int parse_options(int argc, char **argv, struct ls_request *request)
{
	struct choice choice = {0};
	int option;

	while ((option = getopt_long(argc, argv, "d:qsweuJo:nh", options,
				     NULL)) != -1) {
		switch (option) {
		case 'd':
			request->dir = optarg;
			break;
		case 'q':
			choice.queues = true;
			break;
		case 's':
			choice.sets = true;
			break;
		case 'w':
			choice.waiters = true;
			break;
		case 'e':
			choice.each = true;
			break;
		case 'u':
			choice.undo = true;
			break;
		case 'J':
			request->json = true;
			break;
		case 'o':
			request->columns = optarg;
			break;
		case 'n':
			request->no_headings = true;
			break;
		case 'h':
			return -1;
		default:
			return cli_usage(NULL);
		}
	}
	return choose_view(&choice, request);
}

static int parse_ids(int n, char **words, struct ls_request *request)
{
	int i;

	request->id = calloc((size_t)n + 1, sizeof(*request->id));
	if (!request->id) {
		cli_error("out of memory");
		return CLI_FAILED;
	}
	for (i = 0; i < n; i++)
		if (cli_text_to_id(words[i], &request->id[request->n++]))
			return cli_usage("'%s' is not an id", words[i]);
	return CLI_DONE;
}

int cli_ls(int argc, char **argv)
{
	struct ls_request request = {0};
	int status = parse_options(argc, argv, &request);

	if (status < 0)
		return print_help();
	if (!status)
		status = parse_ids(argc - optind, argv + optind, &request);
	if (!status)
		status = list(&request);
	free(request.id);
	return status;
}
