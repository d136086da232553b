/* SPDX-License-Identifier: MIT */
/*
 * runner.c - plays every scenario in each world and compares the traces.
 *
 *   conformance [--suite N] [--preload DROPIN] [--linked PROGRAM] [--list]
 *               [--show] [--only NAME]... [--differs FILE]
 *
 * The kernel's trace is the measure.  Without --preload and --linked the
 * kernel is compared with itself through libc, which tests this program.
 */
#include "play.h"
#include "run.h"
#include "scenario.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS	   20
#define TRACE_MAX  (1 << 20)
#define WORLDS_MAX 4

struct world {
	const char *name;
	const char *program; /* NULL: this one */
	const char *preload; /* or NULL */
	const char *table;   /* which names it calls: kernel or libc */
	const char *kind;    /* whose results they should be */
};

struct played {
	struct run_result run;
	char *trace;
	bool is_bad, is_skipped;
};

/* What run_guarded()'s body needs. */
struct order {
	const struct scenario *scenario;
	const struct world *world;
	int trace_fd;
};

static struct world worlds[WORLDS_MAX] = {
	{"kernel", NULL, NULL, "kernel", "kernel"},
};
static int world_count = 1;
static int suite;
static bool show;
static char **only;
static int only_count;
static char *differs_text;
static int passed, failed, skipped;

/* ---- one world ---- */

static bool write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (f == NULL)
		return false;
	fputs(text, f);
	return fclose(f) == 0;
}

/*
 * A kernel namespace of the scenario's own: as root simply so, else within a
 * user namespace in which the user stays who he is; exec then takes all
 * capabilities away.
 */
static bool enter_private_namespace(void)
{
	char map[64];
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (unshare(CLONE_NEWIPC) == 0)
		return true;
	if (unshare(CLONE_NEWUSER | CLONE_NEWIPC) != 0)
		return false;
	snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	if (!write_text("/proc/self/uid_map", map))
		return false;
	snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	return write_text("/proc/self/setgroups", "deny") &&
	       write_text("/proc/self/gid_map", map);
}

static void exec_scenario(void *arg)
{
	const struct order *o = arg;
	const char *dir = getenv("SYSFIVE_DIR");
	bool is_private = enter_private_namespace();

	/* Scenarios become other users. */
	if (dir != NULL && chmod(dir, 01777) != 0)
		perror(dir);
	dup2(o->trace_fd, TRACE_FD);
	if (o->world->preload != NULL)
		setenv("LD_PRELOAD", o->world->preload, 1);
	const char *program = o->world->program;
	execl(program != NULL ? program : "/proc/self/exe", "conformance",
	      "--play", o->scenario->name, o->world->table, o->world->kind,
	      is_private ? "private" : "shared", (char *)NULL);
	perror("exec");
	_exit(127);
}

static char *read_trace(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *text = calloc(1, TRACE_MAX + 1);

	if (text != NULL && pread(fd, text, TRACE_MAX, 0) != size)
		fprintf(stderr, "the trace is too long\n");
	return text;
}

static void play_in(const struct scenario *s, const struct world *w,
		    struct played *ret_played)
{
	struct order o = {s, w, memfd_create("trace", 0)};

	run_guarded(exec_scenario, &o, SECONDS, true, &ret_played->run);
	ret_played->trace = read_trace(o.trace_fd);
	close(o.trace_fd);
	int status = ret_played->run.status;
	ret_played->is_skipped =
		WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIPPED;
	ret_played->is_bad = !ret_played->is_skipped &&
			     (status != 0 || ret_played->run.leaks != 0 ||
			      ret_played->run.is_timed_out);
}

/* ---- comparing ---- */

/* The next line that counts, without its end; NULL at the end of the trace. */
static char *next_line(char **at)
{
	for (;;) {
		char *line = *at;
		if (*line == '\0')
			return NULL;
		char *end = strchr(line, '\n');
		if (end != NULL)
			*end++ = '\0';
		else
			end = line + strlen(line);
		*at = end;
		if (*line != '!' && *line != '~')
			return line;
	}
}

static void comment_lines(const char *label, const char *text, char only_mark)
{
	while (*text != '\0') {
		size_t n = strcspn(text, "\n");
		if (only_mark == 0 || *text == only_mark)
			printf("#   %s: %.*s\n", label, (int)n, text);
		text += n + (text[n] == '\n');
	}
}

/* Prints the first difference with the lines that led there. */
static bool traces_are_equal(const struct world *w, const char *want,
			     const char *got)
{
	char *a = strdup(want), *b = strdup(got);
	char *at_a = a, *at_b = b;
	const char *before[3] = {NULL, NULL, NULL};
	bool equal = true;

	while (equal) {
		char *x = next_line(&at_a), *y = next_line(&at_b);
		if (x == NULL && y == NULL)
			break;
		equal = x != NULL && y != NULL && strcmp(x, y) == 0;
		if (!equal) {
			printf("#   the traces part here:\n");
			for (int i = 0; i < 3; i++)
				if (before[i] != NULL)
					printf("#     both: %s\n", before[i]);
			printf("#     kernel: %s\n", x != NULL ? x : "(end)");
			printf("#     %s: %s\n", w->name,
			       y != NULL ? y : "(end)");
		}
		before[0] = before[1];
		before[1] = before[2];
		before[2] = x;
	}
	free(a);
	free(b);
	return equal;
}

static void explain(const struct world *w, const struct played *p)
{
	const struct run_result *r = &p->run;

	printf("#   in world %s:\n", w->name);
	comment_lines("failed", p->trace, '!');
	if (r->is_timed_out)
		printf("#   timed out after:\n");
	if (r->is_timed_out || show)
		comment_lines("trace", p->trace, 0);
	if (WIFSIGNALED(r->status))
		printf("#   died of signal %d\n", WTERMSIG(r->status));
	else if (r->status != 0)
		printf("#   exit status %d\n", WEXITSTATUS(r->status));
	comment_lines("note", r->notes, 0);
	if (r->output != NULL)
		comment_lines("output", r->output, 0);
}

/* Every "~ A-nnn ..." line must stand in differs.list with this scenario. */
static bool differences_are_listed(const struct scenario *s, const char *trace)
{
	char entry[128];
	bool all = true;

	for (const char *at = trace; at != NULL && *at != '\0';
	     at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
		if (strncmp(at, "~ A-", 4) != 0)
			continue;
		snprintf(entry, sizeof(entry), "\n%.5s %s ", at + 2, s->name);
		if (differs_text == NULL ||
		    strstr(differs_text, entry) == NULL) {
			printf("#   not in differs.list: %.5s %s\n", at + 2,
			       s->name);
			all = false;
		}
	}
	return all;
}

static bool judge(const struct scenario *s, const struct played *p)
{
	bool ok = differences_are_listed(s, p[0].trace);

	for (int i = 0; i < world_count; i++) {
		if (p[i].is_bad) {
			ok = false;
			explain(&worlds[i], &p[i]);
		}
		if (i > 0 &&
		    !traces_are_equal(&worlds[i], p[0].trace, p[i].trace))
			ok = false;
		if (show && !p[i].is_bad)
			comment_lines(worlds[i].name, p[i].trace, 0);
	}
	return ok;
}

static void run_scenario(const struct scenario *s, int number)
{
	struct played p[WORLDS_MAX];

	for (int i = 0; i < world_count; i++)
		play_in(s, &worlds[i], &p[i]);
	bool ok = judge(s, p);
	printf("%sok %d - %s [%s]", ok ? "" : "not ", number, s->name,
	       s->items);
	if (ok && p[0].is_skipped) {
		skipped++;
		printf(" # SKIP %.*s", (int)strcspn(p[0].trace, "\n"),
		       p[0].trace);
	} else {
		*(ok ? &passed : &failed) += 1;
	}
	putchar('\n');
	fflush(stdout);
	for (int i = 0; i < world_count; i++) {
		free(p[i].trace);
		free(p[i].run.output);
	}
}

/* ---- the command line ---- */

static bool is_wanted(const struct scenario *s)
{
	if (suite != 0 && s->suite != suite)
		return false;
	for (int i = 0; i < only_count; i++)
		if (strcmp(only[i], s->name) == 0)
			return true;
	return only_count == 0;
}

static void add_world(const char *name, const char *program,
		      const char *preload, const char *kind)
{
	if (world_count == WORLDS_MAX) {
		fprintf(stderr, "at most %d worlds\n", WORLDS_MAX);
		exit(2);
	}
	worlds[world_count++] =
		(struct world){name, program, preload, "libc", kind};
}

static char *read_file(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = calloc(1, 65536);

	if (f == NULL || text == NULL) {
		perror(path);
		exit(2);
	}
	text[0] = '\n';
	(void)!fread(text + 1, 1, 65534, f);
	fclose(f);
	return text;
}

static void list_scenarios(void)
{
	for (const struct scenario *s = all_scenarios; s != NULL; s = s->next)
		if (is_wanted(s))
			printf("%d %s %s\n", s->suite, s->name, s->items);
}

static void usage(void)
{
	fprintf(stderr, "usage: conformance [--suite N] [--preload DROPIN] "
			"[--linked PROGRAM]\n"
			"    [--differs FILE] [--only NAME]... [--show] "
			"[--list]\n");
	exit(2);
}

/* Whether to list only. */
static bool read_options(int argc, char **argv)
{
	bool list = false;

	only = calloc((size_t)argc, sizeof(*only));
	for (int i = 1; i < argc; i++) {
		bool more = i + 1 < argc;
		if (strcmp(argv[i], "--list") == 0)
			list = true;
		else if (strcmp(argv[i], "--show") == 0)
			show = true;
		else if (more && strcmp(argv[i], "--suite") == 0)
			suite = atoi(argv[++i]);
		else if (more && strcmp(argv[i], "--only") == 0)
			only[only_count++] = argv[++i];
		else if (more && strcmp(argv[i], "--differs") == 0)
			differs_text = read_file(argv[++i]);
		else if (more && strcmp(argv[i], "--preload") == 0)
			add_world("preloaded", NULL, argv[++i], "sysfive");
		else if (more && strcmp(argv[i], "--linked") == 0)
			add_world("linked", argv[++i], NULL, "sysfive");
		else
			usage();
	}
	return list;
}

int main(int argc, char **argv)
{
	int count = 0;

	if (argc == 6 && strcmp(argv[1], "--play") == 0)
		return play(argv + 2);
	if (argc == 4 && strcmp(argv[1], "--act") == 0)
		return act(argv + 2);
	if (read_options(argc, argv)) {
		list_scenarios();
		return 0;
	}
	if (world_count == 1)
		add_world("libc", NULL, NULL, "kernel");
	for (const struct scenario *s = all_scenarios; s != NULL; s = s->next)
		count += is_wanted(s);
	run_init();
	printf("1..%d\n", count);
	count = 0;
	for (const struct scenario *s = all_scenarios; s != NULL; s = s->next)
		if (is_wanted(s))
			run_scenario(s, ++count);
	printf("# %d passed, %d failed, %d skipped\n", passed, failed, skipped);
	return failed > 0;
}
