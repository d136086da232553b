/* SPDX-License-Identifier: MIT */
/*
 * sysfive/admin.h - namespaces, their limits, and what is in them
 *
 * For the command and for administrative programs. These functions follow the
 * library's inner convention: 0 or a negative errno, errno itself untouched.
 */
#ifndef SYSFIVE_ADMIN_H
#define SYSFIVE_ADMIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum s5_ns_reason {
	S5_NS_OK = 0,
	S5_NS_ABSENT,	 /* no such directory, or no namespace in it */
	S5_NS_NO_PLACE,	 /* no directory to put the default one in */
	S5_NS_NOT_OURS,	 /* the default place belongs to somebody else */
	S5_NS_NOT_DIR,	 /* something that is no directory has that name */
	S5_NS_TOO_OPEN,	 /* anybody may replace files in the directory */
	S5_NS_NO_ACCESS, /* permission denied */
	S5_NS_NOT_A_NS,	 /* the file is not an arena, or is cut short */
	S5_NS_VERSION,	 /* made by a version with another format */
	S5_NS_NO_ROOM,	 /* the file system is full */
	S5_NS_NO_MEMORY, /* no address space, or a file size limit */
	S5_NS_SYSTEM,	 /* another failure: see the errno returned */
};

/* Why a namespace could be opened or not. */
struct s5_ns_status {
	enum s5_ns_reason reason;
	uint32_t format;    /* S5_NS_VERSION: the format found */
	uint32_t supported; /* the format that this library knows */
	int created;	    /* 1 if this call made the namespace */
	char dir[512];	    /* the directory */
	char call[32];	    /* the system call that failed, or "" */
};

/*
 * Opens the namespace in `dir` (NULL: $SYSFIVE_DIR, else the default place)
 * for this process, making it if `create` is not 0 and it is not there. A
 * process has one namespace; opening it again returns 0 if it is the same.
 * Returns 0 or -errno; *ret_status is always written.
 */
int s5_ns_open(const char *dir, int create, struct s5_ns_status *ret_status);

/*
 * Reads and sets a limit of the open namespace by the kernel's name: msgmax,
 * msgmnb, msgmni. Returns 0, -EINVAL (no such limit, or no namespace open), or
 * -ERANGE (the value is not one the kernel would take).
 */
int s5_ns_limit_get(const char *name, uint64_t *ret_value);
int s5_ns_limit_set(const char *name, uint64_t value);

/* The i-th limit's name, or NULL. */
const char *s5_ns_limit_name(unsigned i);

/*
 * The object's lock was not to be had: its owner is stopped, or gets no CPU.
 * The values were read without it and need not fit together.
 */
#define S5_INFO_UNLOCKED 1u
/* This process may change and remove the object. */
#define S5_INFO_CONTROL 2u

/* A message queue at one moment. */
struct s5_msgq_info {
	int32_t msqid;
	int32_t key;
	uint32_t uid, gid;   /* owner */
	uint32_t cuid, cgid; /* creator */
	uint32_t mode;	     /* permission bits */
	uint32_t flags;	     /* S5_INFO_... */
	int32_t lspid;	     /* last msgsnd, msgrcv: process, or 0 */
	int32_t lrpid;
	int32_t held_pid;   /* S5_INFO_UNLOCKED: whose lock it is, if known */
	uint32_t senders;   /* threads that wait for room */
	uint32_t receivers; /* threads that wait for a message */
	uint32_t unused0;
	uint64_t qnum;	 /* messages */
	uint64_t cbytes; /* bytes in them */
	uint64_t qbytes; /* most bytes */
	int64_t stime;	 /* last msgsnd, msgrcv: s since the Epoch, or 0 */
	int64_t rtime;
	int64_t ctime; /* last change, or creation */
	uint64_t unused[4];
};

/* What a waiter waits for. */
enum s5_wait_for {
	S5_WAIT_SEND = 1, /* room for a message */
	S5_WAIT_ANY,	  /* any message */
	S5_WAIT_TYPE,	  /* one of that type */
	S5_WAIT_EXCEPT,	  /* one of another type (MSG_EXCEPT) */
	S5_WAIT_UPTO,	  /* one of the lowest type, up to that type */
};

/* A thread that waits at a message queue. */
struct s5_waiter_info {
	int32_t msqid;
	enum s5_wait_for what;
	int32_t pid, tid; /* as its own pid namespace numbers them */
	uint64_t pid_ns;  /* inode of that namespace, 0 if unknown */
	uint32_t euid;	  /* when it joined; in its own user namespace */
	uint32_t flags;	  /* S5_INFO_UNLOCKED */
	int64_t type;	  /* S5_WAIT_SEND: of its message, 0 if unknown */
	uint64_t size;	  /* S5_WAIT_SEND: bytes of its message; else the most
			   * bytes it takes, UINT64_MAX for any (MSG_NOERROR) */
	uint64_t since;	  /* CLOCK_MONOTONIC, ns */
	uint64_t order;	  /* of arrival, among those of its queue */
	uint64_t unused[4];
};

/*
 * Reading what is in the open namespace. No permission is asked for, as for
 * /proc/sysvipc/msg. Nothing is held between two calls, so what is found may be
 * gone already. A negative errno is -EINVAL (no namespace open), -ENOMEM (no
 * room for one more thread) or -EDEADLK (see sysfive/sysfive.h).
 *
 * The "next" functions find the first entry at or after *cursor, which starts
 * at 0, and set it behind that entry. They return 1, or 0 at the end, or
 * -errno; *ret_info is written only with 1.
 */
int s5_msgq_info_next(uint32_t *cursor, struct s5_msgq_info *ret_info);

/* The queue of that id: 0, or -errno; -EINVAL also if there is none. */
int s5_msgq_info_get(int msqid, struct s5_msgq_info *ret_info);

/* Who waits at the queue of that id; at any queue, if it is -1. In no order. */
int s5_msgq_waiter_next(uint32_t *cursor, int msqid,
			struct s5_waiter_info *ret_info);

/* A set of semaphores at one moment. */
struct s5_semset_info {
	int32_t semid;
	int32_t key;
	uint32_t uid, gid;   /* owner */
	uint32_t cuid, cgid; /* creator */
	uint32_t mode;	     /* permission bits */
	uint32_t flags;	     /* S5_INFO_... */
	int32_t held_pid;    /* S5_INFO_UNLOCKED: whose lock it is, if known */
	uint32_t nsems;	     /* semaphores */
	uint32_t waiters;    /* threads that wait at it */
	uint32_t undoers;    /* processes that hold adjustments for it */
	int64_t otime;	     /* last semop: s since the Epoch, or 0 */
	int64_t ctime;	     /* last change, or creation */
	uint64_t unused[4];
};

/* One semaphore. */
struct s5_sem_info {
	int32_t semid;
	uint32_t number; /* from 0 */
	uint32_t value;
	int32_t pid;	/* that changed it last, or 0 */
	uint32_t ncnt;	/* threads that wait for it to grow */
	uint32_t zcnt;	/* threads that wait for it to be 0 */
	uint32_t flags; /* S5_INFO_UNLOCKED */
	uint32_t unused0;
	uint64_t unused[2];
};

/* A thread that waits at a set, and the operation at which it got stuck. */
struct s5_sem_waiter_info {
	int32_t semid;
	uint32_t number;  /* of the semaphore */
	int32_t op;	  /* below 0: how much it takes; 0: it waits for 0 */
	uint32_t nsops;	  /* operations in its call */
	int32_t pid, tid; /* as its own pid namespace numbers them */
	uint64_t pid_ns;  /* inode of that namespace, 0 if unknown */
	uint32_t euid;	  /* when it joined; in its own user namespace */
	uint32_t flags;	  /* S5_INFO_UNLOCKED */
	uint64_t since;	  /* CLOCK_MONOTONIC, ns */
	uint64_t order;	  /* of arrival, among those of its set */
	uint64_t unused[4];
};

/* What will be added to a semaphore when a process ends (SEM_UNDO). */
struct s5_sem_undo_info {
	int32_t semid;
	uint32_t number;
	int32_t adjust;	 /* not 0 */
	int32_t pid;	 /* as its own pid namespace numbers it */
	uint64_t pid_ns; /* inode of that namespace, 0 if unknown */
	uint32_t flags;	 /* S5_INFO_UNLOCKED */
	uint32_t unused0;
	uint64_t unused[2];
};

/* As above: sets, one set, and who waits at one or, with -1, at any. */
int s5_semset_info_next(uint32_t *cursor, struct s5_semset_info *ret_info);
int s5_semset_info_get(int semid, struct s5_semset_info *ret_info);
int s5_sem_waiter_next(uint32_t *cursor, int semid,
		       struct s5_sem_waiter_info *ret_info);

/* That semaphore of a set: 0, or -errno; -EINVAL also if there is none. */
int s5_sem_info_get(int semid, uint32_t number, struct s5_sem_info *ret_info);

/* The adjustments of a set, of each process and semaphore. In no order. */
int s5_sem_undo_next(uint64_t *cursor, int semid,
		     struct s5_sem_undo_info *ret_info);

/* A shared memory segment at one moment. */
struct s5_shmseg_info {
	int32_t shmid;
	int32_t key;
	uint32_t uid, gid;   /* owner */
	uint32_t cuid, cgid; /* creator */
	uint32_t mode;	     /* permission bits, S5_SHM_... */
	uint32_t flags;	     /* S5_INFO_... */
	int32_t cpid;	     /* that made it */
	int32_t lpid;	     /* last shmat, shmdt: process, or 0 */
	int32_t held_pid;    /* S5_INFO_UNLOCKED: whose lock it is, if known */
	uint32_t nattch;     /* mappings; S5_INFO_UNLOCKED: as last counted */
	uint64_t size;	     /* bytes, as asked for */
	uint64_t rss;	     /* bytes of memory or swap that it occupies */
	int64_t atime;	     /* last shmat, shmdt: s since the Epoch, or 0 */
	int64_t dtime;
	int64_t ctime; /* last change, or creation */
	uint64_t unused[4];
};

/* In the mode, as the kernel shows it: removed, and gone with its last
 * mapping; SHM_LOCK was called. */
#define S5_SHM_DEST   01000u
#define S5_SHM_LOCKED 02000u

/* A process that has a segment mapped. */
struct s5_shmseg_attacher {
	int32_t shmid;
	int32_t pid;	   /* as its own pid namespace numbers it */
	uint64_t pid_ns;   /* inode of that namespace, 0 if unknown */
	uint32_t mappings; /* pieces, as nattch counts them */
	uint32_t flags;	   /* S5_INFO_UNLOCKED */
	uint64_t unused[2];
};

/* As above: segments, one segment, and who has it mapped. Mappings are counted
 * now, by /proc; of processes that cannot be seen there (another pid namespace,
 * another user) the last count stands as long as they may live. */
int s5_shmseg_info_next(uint32_t *cursor, struct s5_shmseg_info *ret_info);
int s5_shmseg_info_get(int shmid, struct s5_shmseg_info *ret_info);
int s5_shmseg_attacher_next(uint64_t *cursor, int shmid,
			    struct s5_shmseg_attacher *ret_info);

#ifdef __cplusplus
}
#endif

#endif
