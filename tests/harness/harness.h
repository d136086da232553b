/* SPDX-License-Identifier: MIT */
/*
 * harness.h - what a test program sees of the test harness.
 *
 * A test program is a list of TEST() cases and links harness_dep, which brings
 * main().  Every case runs in a process and process group of its own, with a
 * fresh SYSFIVE_DIR in its environment, under a deadline.  What a case prints
 * is shown if it fails.  A case fails if a CHECK fails in it or in any of its
 * descendants, if it dies, hangs, or leaves a process or a kernel IPC object
 * behind.  Only the runner prints TAP.
 */
#ifndef S5_TESTS_HARNESS_H
#define S5_TESTS_HARNESS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

struct harness_case {
	const char *name;
	void (*run)(void);
	int (*helper)(int argc, char **argv);
	int seconds; /* deadline, 0: the default */
	struct harness_case *next;
};

void harness_register(struct harness_case *c);

#define HARNESS_REGISTER_(name_, ...)                                    \
	static struct harness_case name_##_case_ = {__VA_ARGS__};        \
	__attribute__((constructor)) static void name_##_register_(void) \
	{                                                                \
		harness_register(&name_##_case_);                        \
	}

/* TEST(name) { body }, run in source order. */
#define TEST(name_) TEST_TIMEOUT(name_, 0)
#define TEST_TIMEOUT(name_, seconds_)                          \
	static void name_(void);                               \
	HARNESS_REGISTER_(name_, .name = #name_, .run = name_, \
			  .seconds = (seconds_))               \
	static void name_(void)

/*
 * HELPER(name) { body using argc, argv; return status; } is what the program
 * does when it is executed as `PROGRAM --helper name args...`; for tests that
 * exec themselves, preloaded or with another environment.  CHECK works there.
 */
#define HELPER(name_)                                             \
	static int name_(int argc, char **argv);                  \
	HARNESS_REGISTER_(name_, .name = #name_, .helper = name_) \
	static int name_(int argc __attribute__((unused)),        \
			 char **argv __attribute__((unused)))

/* A failing CHECK ends the calling process; the text after it is optional. */
#define CHECK(cond_, ...)  \
	((cond_) ? (void)0 \
		 : harness_fail(__FILE__, __LINE__, #cond_, " " __VA_ARGS__))

#define CHECK_EQ_INT(got_, want_)                                             \
	__extension__({                                                       \
		long long g_ = (long long)(got_), w_ = (long long)(want_);    \
		if (g_ != w_)                                                 \
			harness_fail(__FILE__, __LINE__, #got_ " == " #want_, \
				     " got %lld, want %lld", g_, w_);         \
	})

#define CHECK_EQ_STR(got_, want_)                                             \
	__extension__({                                                       \
		const char *g_ = (got_), *w_ = (want_);                       \
		if (strcmp(g_, w_) != 0)                                      \
			harness_fail(__FILE__, __LINE__, #got_ " == " #want_, \
				     " got \"%s\", want \"%s\"", g_, w_);     \
	})

/* The call must not fail; its value. */
#define CHECK_OK(call_)                                                       \
	__extension__({                                                       \
		__typeof__(call_) r_ = (call_);                               \
		if (r_ == (__typeof__(r_))-1)                                 \
			harness_fail(__FILE__, __LINE__, #call_, " errno %d", \
				     errno);                                  \
		r_;                                                           \
	})

/* The call must fail with this errno. */
#define CHECK_ERRNO(call_, errno_)                                        \
	__extension__({                                                   \
		long long r_ = (long long)(call_);                        \
		int e_ = r_ == -1 ? errno : 0;                            \
		if (e_ != (errno_))                                       \
			harness_fail(__FILE__, __LINE__,                  \
				     #call_ " fails with " #errno_,       \
				     " returned %lld, errno %d", r_, e_); \
	})

/* The case does not apply here; say why. Does not return. */
#define SKIP(reason_) harness_skip(reason_)

void harness_fail(const char *file, int line, const char *what,
		  const char *format, ...)
	__attribute__((noreturn, format(printf, 4, 5)));
void harness_skip(const char *reason) __attribute__((noreturn));

/* The seed of this case: printed, and taken from SYSFIVE_SEED to replay. */
uint64_t harness_seed(void);
/* The next number of a generator that *state, set to a seed, drives. */
uint64_t harness_random(uint64_t *state);

/* fn(arg) in a child, which exits 0 if fn returns. */
pid_t harness_spawn(void (*fn)(void *), void *arg);
/* Waits for a child, which must exit 0. */
void harness_join(pid_t pid);
/* Waits for a child, whatever becomes of it; its status as of waitpid(). */
int harness_reap(pid_t pid);

/*
 * Poll until the condition holds; the case fails, naming the condition,
 * shortly before its deadline.
 */
#define WAIT_UNTIL(expr_)                                          \
	do {                                                       \
		while (!(expr_))                                   \
			harness_pause(__FILE__, __LINE__, #expr_); \
	} while (0)
void harness_pause(const char *file, int line, const char *what);
void wait_until(bool (*cond)(void *), void *arg);

/*
 * Until the thread sleeps in a futex or SysV IPC call: state S, in such a
 * call if the kernel tells, and no context switch across two looks.
 */
void wait_sleeping(pid_t pid);
void wait_thread_sleeping(pid_t pid, pid_t tid);
/* Until the process is gone or a zombie. */
void wait_dead(pid_t pid);

#endif
