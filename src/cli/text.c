/* SPDX-License-Identifier: MIT */
/*
 * text.c - ids, keys, users and times as text, and back
 *
 * Owns two caches of one name each: a long list mostly has one owner.
 */
#include "cli.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Reads a number of that base, all of the text.  0, or -EINVAL. */
static int read_number(const char *text, unsigned int base, uint64_t most,
		       uint64_t *ret_value)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t value = 0;

	if (*text == '\0')
		return -EINVAL;
	for (; *text; text++) {
		char c = *text >= 'A' && *text <= 'F' ? (char)(*text + 32)
						      : *text;
		const char *digit = memchr(digits, c, base);

		if (!digit)
			return -EINVAL;
		value = value * base + (uint64_t)(digit - digits);
		if (value > most)
			return -EINVAL;
	}
	*ret_value = value;
	return 0;
}

int cli_text_to_id(const char *text, int *ret_id)
{
	uint64_t value;

	if (read_number(text, 10, INT32_MAX, &value))
		return -EINVAL;
	*ret_id = (int)value;
	return 0;
}

int cli_text_to_key(const char *text, int32_t *ret_key)
{
	uint64_t value;
	bool minus = text[0] == '-';
	int err;

	text += minus;
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		err = read_number(text + 2, 16, UINT32_MAX, &value);
	else
		err = read_number(text, 10, UINT32_MAX, &value);
	if (err)
		return err;
	if (minus)
		value = 0 - value;
	*ret_key = (int32_t)(uint32_t)value;
	return 0;
}

void cli_key_text(int32_t key, char ret_text[CLI_KEY_SIZE])
{
	(void)snprintf(ret_text, CLI_KEY_SIZE, "0x%08" PRIx32, (uint32_t)key);
}

void cli_text_clean(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

struct name {
	bool known;
	uint32_t id;
	char text[CLI_NAME_SIZE];
};

/* Is the name of that id the one in the cache? */
static bool is_cached(const struct name *cache, uint32_t id, char *ret_text)
{
	if (!cache->known || cache->id != id)
		return false;
	memcpy(ret_text, cache->text, CLI_NAME_SIZE);
	return true;
}

static void keep(struct name *cache, uint32_t id, const char *name,
		 char *ret_text)
{
	cache->known = true;
	cache->id = id;
	if (name)
		(void)snprintf(cache->text, CLI_NAME_SIZE, "%.*s",
			       CLI_NAME_SIZE - 1, name);
	else
		(void)snprintf(cache->text, CLI_NAME_SIZE, "%" PRIu32, id);
	cli_text_clean(cache->text);
	memcpy(ret_text, cache->text, CLI_NAME_SIZE);
}

void cli_user_text(uint32_t uid, char ret_text[CLI_NAME_SIZE])
{
	static struct name cache;

	if (!is_cached(&cache, uid, ret_text)) {
		/* cppcheck-suppress getpwuidCalled // one thread */
		const struct passwd *user = getpwuid(uid);

		keep(&cache, uid, user ? user->pw_name : NULL, ret_text);
	}
}

void cli_group_text(uint32_t gid, char ret_text[CLI_NAME_SIZE])
{
	static struct name cache;

	if (!is_cached(&cache, gid, ret_text)) {
		/* cppcheck-suppress getgrgidCalled // one thread */
		const struct group *group = getgrgid(gid);

		keep(&cache, gid, group ? group->gr_name : NULL, ret_text);
	}
}

void cli_time_text(int64_t seconds, char ret_text[CLI_TIME_SIZE])
{
	time_t time = (time_t)seconds;
	struct tm tm;

	if (seconds == 0 || !localtime_r(&time, &tm) ||
	    strftime(ret_text, CLI_TIME_SIZE, "%Y-%m-%dT%H:%M:%S%z", &tm) == 0)
		ret_text[0] = '\0';
}
