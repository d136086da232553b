/* SPDX-License-Identifier: MIT */
/*
 * reach.c - can the preload reach a program?
 *
 * The dynamic loader loads the drop-in.  It is not there in a static program,
 * cannot use a library of another word size, and drops the preload where a
 * program gains rights by being executed.  A script is as good as its
 * interpreter.  Owns no state.
 */
#include "cli.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/* How many interpreters a script's interpreter may have. */
#define DEPTH_MAX 4

#if __SIZEOF_POINTER__ == 8
#define OWN_CLASS ELFCLASS64
typedef Elf64_Ehdr elf_header;
typedef Elf64_Phdr elf_segment;
#else
#define OWN_CLASS ELFCLASS32
typedef Elf32_Ehdr elf_header;
typedef Elf32_Phdr elf_segment;
#endif

enum reach {
	REACHED,
	REACH_STATIC,
	REACH_OTHER_CLASS,
	REACH_PRIVILEGED,
};

/* Is there a segment that names a dynamic loader? */
static bool has_loader(int fd, const elf_header *header)
{
	elf_segment segment;
	off_t at = (off_t)header->e_phoff;
	unsigned int i;

	if (header->e_phentsize != sizeof(segment))
		return true; /* not a program at all; let execve() say so */
	for (i = 0; i < header->e_phnum; i++) {
		if (pread(fd, &segment, sizeof(segment), at) !=
		    (ssize_t)sizeof(segment))
			return true;
		if (segment.p_type == PT_INTERP)
			return true;
		at += (off_t)sizeof(segment);
	}
	return false;
}

static enum reach elf_reach(int fd)
{
	elf_header header;

	if (pread(fd, &header, sizeof(header), 0) < EI_NIDENT ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return REACHED;
	if (header.e_ident[EI_CLASS] != OWN_CLASS)
		return REACH_OTHER_CLASS;
	return has_loader(fd, &header) ? REACHED : REACH_STATIC;
}

/* Does executing the file give rights that the caller has not? */
static bool is_privileged(int fd)
{
	struct statvfs fs;
	struct stat st;

	if (fstat(fd, &st))
		return false;
	if (fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_NOSUID))
		return false;
	if ((st.st_mode & S_ISUID) && st.st_uid != getuid())
		return true;
	if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
	    st.st_gid != getgid())
		return true;
	return geteuid() != 0 &&
	       fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

/* Takes the next word off *line; false if there is none. */
static bool next_word(char **line, char **ret_word)
{
	char *at = *line + strspn(*line, " \t");

	if (*at == '\0')
		return false;
	*ret_word = at;
	at += strcspn(at, " \t");
	if (*at != '\0')
		*at++ = '\0';
	*line = at;
	return true;
}

/*
 * Finds the interpreter in a script's first line, #! and what follows; looks
 * through env(1), its options and its assignments.
 */
static bool find_interpreter(char *line, char *ret_path, size_t size)
{
	char *word;
	const char *name;

	line[strcspn(line, "\r\n")] = '\0';
	line += 2;
	if (!next_word(&line, &word) || strlen(word) >= size)
		return false;
	name = strrchr(word, '/');
	if (!name || strcmp(name, "/env") != 0) {
		memcpy(ret_path, word, strlen(word) + 1);
		return true;
	}
	while (next_word(&line, &word)) {
		if (word[0] == '-' || strchr(word, '='))
			continue;
		return cli_path_search(word, ret_path, size) == 0;
	}
	return false;
}

/*
 * Says how path is reached.  *path becomes the interpreter if path is a script;
 * ret_next is room for that.
 */
static enum reach file_reach(const char **path, char *ret_next, size_t size,
			     bool *ret_again)
{
	char line[256];
	enum reach reach;
	ssize_t n;
	int fd;

	*ret_again = false;
	fd = open(*path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return REACHED; /* may be executed, not read: nobody knows */
	n = read(fd, line, sizeof(line) - 1);
	line[n > 0 ? n : 0] = '\0';
	if (strncmp(line, "#!", 2) == 0) {
		*ret_again = find_interpreter(line, ret_next, size);
		reach = REACHED;
	} else {
		reach = is_privileged(fd) ? REACH_PRIVILEGED : elf_reach(fd);
	}
	(void)close(fd);
	return reach;
}

static void warn(enum reach reach, const char *path)
{
	switch (reach) {
	case REACHED:
		break;
	case REACH_STATIC:
		cli_warn("%s is statically linked, so the preload cannot reach "
			 "it and it talks to the kernel; use a dynamically "
			 "linked build of it",
			 path);
		break;
	case REACH_OTHER_CLASS:
		cli_warn("%s has another word size than the drop-in, so the "
			 "preload cannot reach it and it talks to the kernel; "
			 "use a %d-bit build of it",
			 path, 8 * __SIZEOF_POINTER__);
		break;
	case REACH_PRIVILEGED:
		cli_warn("%s gains rights when executed (set-uid, set-gid or "
			 "file capabilities), so the loader drops the preload "
			 "and it talks to the kernel; run it as the user it "
			 "becomes",
			 path);
		break;
	}
}

void cli_warn_unreachable(const char *path)
{
	char buffers[2][PATH_MAX];
	enum reach reach;
	bool again;
	int depth = 0;

	do {
		reach = file_reach(&path, buffers[depth & 1], PATH_MAX, &again);
		if (again)
			path = buffers[depth & 1];
	} while (again && ++depth < DEPTH_MAX);
	warn(reach, path);
}
