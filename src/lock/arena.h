/* SPDX-License-Identifier: MIT */
/*
 * arena.h - where the namespace's memory lies in this process
 *
 * Shared memory is input: an offset or index that was read from it becomes a
 * pointer only here, after a bounds check. Nothing in the arena is a pointer.
 *
 * The arena is mapped once. Beyond `open` it is PROT_NONE, so that a guest's
 * mlockall() cannot fill the sparse file; `open` follows the shared `top`,
 * below which every page has been reserved (docs/design/layout.md).
 */
#ifndef S5_LOCK_ARENA_H
#define S5_LOCK_ARENA_H

#include "../base/atomic.h"
#include "../base/sys.h"

#include <stddef.h>

#define S5__PAGE	 4096u
#define S5__PAGE_SHIFT	 12
#define S5__CELL	 128u
#define S5__CELL_SHIFT	 7
#define S5__EXTENT_PAGES 1024u /* the first page of each links the others */

/* The fixed part of the file, in pages. */
#define S5__FIX_HEADER	  0u
#define S5__FIX_PAGE_LINK 1u  /* page links of extent 0 */
#define S5__FIX_SLOT_DIR  2u  /* 4 pages: page number of each slot chunk */
#define S5__FIX_MSGQ_DIR  6u  /* 1 page: page number of each queue chunk */
#define S5__FIX_MSG_KEYS  7u  /* 4 pages: hash of the keys */
#define S5__FIX_SEM_DIR	  11u /* 1 page: page number of each chunk of sets */
#define S5__FIX_SEM_KEYS  12u /* 4 pages: hash of the keys */
#define S5__FIX_PROC_DIR  16u /* 1 page: page number of each process chunk */
#define S5__FIX_SEATS	  17u /* 2 pages: futex words, by CPU */
#define S5__FIX_SHM_DIR	  19u /* 1 page: page number of each chunk */
#define S5__FIX_SHM_KEYS  20u /* 4 pages: hash of the keys */
#define S5__FIX_PAGES	  24u

#define S5__SLOT_CHUNK	4096u /* chunks of 8 thread slots of 2 KiB */
#define S5__SLOTS_MAX	(S5__SLOT_CHUNK * 8u)
#define S5__CHUNK_PAGES 4u

/*
 * struct s5__arena - this process's view; private memory
 * `open` and `base` are written once per growth by whichever thread meets it;
 * a value that is too small only leads to s5__arena_sync().
 */
struct s5__arena {
	char *base;	     /* NULL: no namespace */
	struct s5__a64 open; /* bytes that may be touched */
	uint64_t reserved;   /* bytes of address space */
	bool plain_release;  /* locks are released by a plain store */
};
extern struct s5__arena s5__arena;

/* Opens what the namespace has reserved since; false if nothing was gained. */
bool s5__arena_sync(uint64_t want);

/* The address of [off, off+len), or NULL if that is not all in the arena. */
static inline void *s5__at(uint64_t off, uint64_t len)
{
	uint64_t open = s5__a64_load_rlx(&s5__arena.open);

	if (S5_UNLIKELY(off > open || len > open - off)) {
		if (off + len < off || !s5__arena_sync(off + len))
			return NULL;
	}
	return s5__arena.base + off;
}

/* The bytes of a page that may hold anything, or NULL. */
static inline void *s5__page_at(uint32_t page)
{
	if (S5_UNLIKELY(page < S5__FIX_PAGES || page % S5__EXTENT_PAGES == 0))
		return NULL;
	return s5__at((uint64_t)page << S5__PAGE_SHIFT, S5__PAGE);
}

/* The link of a page to the next in its chain, or NULL. */
static inline uint32_t *s5__page_link(uint32_t page)
{
	uint32_t table = page & ~(S5__EXTENT_PAGES - 1);

	if (table == 0)
		table = S5__FIX_PAGE_LINK;
	return (uint32_t *)s5__at(((uint64_t)table << S5__PAGE_SHIFT) +
					  (page % S5__EXTENT_PAGES) *
						  sizeof(uint32_t),
				  sizeof(uint32_t));
}

/* The offset of something that lies in the arena. */
static inline uint64_t s5__off(const void *p)
{
	return (uint64_t)((const char *)p - s5__arena.base);
}

#endif
