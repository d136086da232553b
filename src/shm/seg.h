/* SPDX-License-Identifier: MIT */
/*
 * seg.h - what the files of this room share
 */
#ifndef S5_SHM_SEG_H
#define S5_SHM_SEG_H

#include "../region/names.h"
#include "shm_layout.h"

#include <sys/shm.h>

#define S5__SEG_CHUNK (S5__CHUNK_PAGES * S5__PAGE / sizeof(struct s5__seg))

/* Modes beside the permissions, as the kernel shows them. */
#define S5__MODE_DEST	01000u
#define S5__MODE_LOCKED 02000u

/* The mode as the kernel shows it. */
static inline uint32_t s5__seg_mode(const struct s5__seg *seg)
{
	return (s5__a32_load_rlx(&seg->ipc.mode) & 0777u) |
	       (seg->dest ? S5__MODE_DEST : 0) |
	       (seg->locker ? S5__MODE_LOCKED : 0);
}

/* Blocks of attachers of a segment; bounds a damaged chain. */
#define S5__ATTACH_BLOCKS 8192u

extern const struct s5__kind_ops s5__shm_kind;

/* The segment at an index, or NULL. */
struct s5__seg *s5__seg_at(uint32_t index);
/* The segment of an id, or NULL if there is none now (EINVAL). No lock. */
struct s5__seg *s5__seg_find(int id);
/* Locks the segment of an id. 0, or -EIDRM. */
int s5__seg_lock(struct s5__self *self, int id, struct s5__seg *seg);
/* The id of the segment at an index, or -1. */
int s5__seg_id_at(uint32_t index);

static inline uint64_t s5__seg_pages(uint64_t size)
{
	return size / S5__PAGE + (size % S5__PAGE != 0);
}

/* --- file.c: the bytes of a segment --------------------------------------- */

/* What a segment's file is called; of both the name is made. */
struct s5__seg_name {
	uint64_t serial;
	int32_t key;
};

#define S5__SEG_NAME_MAX 32u
void s5__seg_name_text(struct s5__seg_name name, char buf[S5__SEG_NAME_MAX]);
/* The serial in a path whose last part is such a name; or 0. */
uint64_t s5__seg_name_parse(const char *path);

static inline struct s5__seg_name s5__seg_name(const struct s5__seg *seg)
{
	return (struct s5__seg_name){seg->serial, seg->name_key};
}

/* Makes a file of that size; with `reserve` all its memory is there. Returns a
 * descriptor, -EACCES (the directory cannot be reached), or -ENOMEM. */
long s5__seg_file_make(int32_t key, uint64_t size, bool reserve,
		       struct s5__seg_name *ret_name);
/* Opens it: a descriptor, or -errno. */
long s5__seg_file_open(struct s5__seg_name name, int flags);
/* Takes its name away, and where that is not allowed its memory. */
void s5__seg_file_remove(struct s5__seg_name name);
/* Bytes of memory that it occupies. */
uint64_t s5__seg_file_rss(struct s5__seg_name name);
/* Is it mapped, or open, anywhere, in whatever process? */
enum s5__in_use {
	S5__IN_USE_NO,
	S5__IN_USE_YES,
	S5__IN_USE_UNKNOWN,
};
enum s5__in_use s5__seg_file_in_use(struct s5__seg_name name);
/* Removes files that belong to no segment: their maker died. */
void s5__seg_files_sweep(void);

/* --- maps.c: who has what mapped, by /proc ---------------------------------
 */

struct s5__map {
	uint64_t start, end, offset;
	uint64_t serial; /* of the segment */
};

/* Calls `each` for every mapping of a segment in the process, until it returns
 * false. pid 0: this process. 0 or -errno. */
int s5__maps_each(uint32_t pid, bool (*each)(const struct s5__map *, void *),
		  void *arg);
/* How many mappings of that segment the process has; or -errno. */
int s5__maps_count(uint32_t pid, uint64_t serial);
/* Start time in clock ticks of a process; 0 if there is none. */
uint64_t s5__maps_start(uint32_t pid);
/* Calls `each` for every process that /proc shows, until it returns false. */
int s5__maps_processes(bool (*each)(uint32_t pid, void *), void *arg);

/* --- attach.c: attachers ---------------------------------------------------
 */

/* Who an attacher is. */
struct s5__attacher {
	uint32_t pid, start, ns;
};
struct s5__attacher s5__attacher_self(void);

enum s5__noted {
	S5__NOTED_ATTACH, /* atime, one mapping more */
	S5__NOTED_FORK,	  /* the same, of so many mappings */
	S5__NOTED_DETACH, /* dtime, so many are left */
};

/* Notes what the process of `who` has just done; lpid is `by`. 0, -EIDRM (no
 * such segment any more), -ENOMEM. No lock held. */
int s5__attach_note(struct s5__self *self, struct s5__seg *seg, int id,
		    struct s5__attacher who, enum s5__noted what, uint32_t n,
		    uint32_t by);
/* Its process ends: notes when, for who counts later. No lock held. */
void s5__attach_leave(struct s5__self *self, struct s5__seg *seg, int id,
		      struct s5__attacher who);
/* nattch, looked up now. A zero is confirmed by the kernel. No lock held. */
uint32_t s5__attach_count(struct s5__self *self, struct s5__seg *seg, int id);
/* Destroys the segment if it is marked for it and nobody has it mapped. True
 * if it is gone. No lock held. */
bool s5__seg_reap(struct s5__self *self, struct s5__seg *seg, int id);
/* Does so for all segments, and ends removals that somebody died in. */
void s5__seg_reap_all(struct s5__self *self);

#endif
