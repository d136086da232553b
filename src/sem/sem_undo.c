/* SPDX-License-Identifier: MIT */
/*
 * sem_undo.c - SEM_UNDO: what a process gives back when it ends (A-135 to
 *
 *
 * Each process that used SEM_UNDO on a set has a record there, a cell and
 * further ones, which lists its adjustments. They change in the transactions
 * that change the values. The set's lock is held.
 */
#include "semset.h"

#include <sys/sem.h>

static struct s5__undo *find_record(struct s5__semset *set, uint32_t proc,
				    uint32_t gen, uint32_t *ret_cell)
{
	uint32_t cell = set->undo;

	for (uint32_t n = 0; cell && n < s5__proc_count(); n++) {
		struct s5__undo *u = s5__undo_at(cell);

		if (!u)
			return NULL; /* damaged */
		if (u->proc == proc && u->proc_gen == gen) {
			*ret_cell = cell;
			return u;
		}
		cell = u->rec_next;
	}
	return NULL;
}

/* Takes a reserved cell for a record, or for a part of one, which *link shall
 * lead to. NULL if there is none. */
static struct s5__undo *take_cell(struct s5__self *self, uint32_t *link,
				  struct s5__undo content)
{
	struct s5__slot *s = self->slot;
	uint32_t cell = s5__cell_peek(self);
	struct s5__undo *u = s5__undo_at(cell);

	if (!u)
		return NULL;
	content.mag_next = u->mag_next;
	*u = content;
	s5__tx_log32(self, link);
	s5__tx_log32(self, &s->mag[0]);
	s5__tx_arm(self);
	*link = cell;
	s->mag[0] = u->mag_next;
	s->mag_n[0]--;
	S5_CRASH_POINT("undo-cell");
	s5__tx_commit(self);
	return u;
}

struct s5__adj *s5__undo_find(uint32_t cell, uint32_t num)
{
	struct s5__undo *u = s5__undo_at(cell);

	for (uint32_t k = 0; u && k < S5__SEMMSL_MOST; k++) {
		for (uint32_t i = 0; i < u->n && i < S5__UNDO_ADJ; i++)
			if (u->adj[i].num == num)
				return &u->adj[i];
		u = u->next ? s5__undo_at(u->next) : NULL;
	}
	return NULL;
}

static bool add_entry(struct s5__self *self, struct s5__undo *u, uint32_t num)
{
	struct s5__undo *next;

	for (uint32_t k = 0; u->next && k < S5__SEMMSL_MOST; k++) {
		next = s5__undo_at(u->next);
		if (!next)
			return false;
		u = next;
	}
	if (u->n >= S5__UNDO_ADJ)
		return take_cell(self, &u->next,
				 (struct s5__undo){.n = 1,
						   .adj = {{num, 0}}}) != NULL;
	u->adj[u->n] = (struct s5__adj){num, 0};
	s5__tx_log32(self, &u->n);
	s5__tx_arm(self);
	u->n++;
	s5__tx_commit(self);
	return true;
}

uint32_t s5__undo_prepare(struct s5__self *self, struct s5__semset *set,
			  uint32_t proc, const struct s5__ops *ops)
{
	const struct s5__proc *p = s5__proc_at(proc);
	uint32_t gen = p ? s5__a32_load_rlx(&p->state) : 0;
	uint32_t cell = 0;
	struct s5__undo *u = find_record(set, proc, gen, &cell);

	if (!u) {
		u = take_cell(self, &set->undo,
			      (struct s5__undo){.rec_next = set->undo,
						.proc = proc,
						.proc_gen = gen,
						.pid = self->slot->pid,
						.set_id = s5__a32_load_rlx(
							&set->id)});
		if (!u)
			return 0;
		cell = set->undo;
	}
	for (uint32_t i = 0; i < ops->n; i++) {
		struct s5__op op = s5__op_get(ops, i);

		if ((op.flg & SEM_UNDO) && op.op != 0 &&
		    !s5__undo_find(cell, op.num) && !add_entry(self, u, op.num))
			return 0;
	}
	return cell;
}

/* Gives one cell, which *link leads to, back to the thread's magazine. */
static void give_cell(struct s5__self *self, uint32_t *link, uint32_t rest)
{
	struct s5__slot *s = self->slot;
	uint32_t cell = *link;
	struct s5__undo *u = s5__undo_at(cell);

	s5__tx_log32(self, link);
	if (u) {
		s5__tx_log32(self, &s->mag[0]);
		s5__tx_log32(self, &u->mag_next);
	}
	s5__tx_arm(self);
	*link = rest;
	if (u) {
		u->mag_next = s->mag[0];
		s->mag[0] = cell;
		s->mag_n[0]++;
	}
	s5__tx_commit(self);
}

/* Frees the record that *link leads to. */
static void free_record(struct s5__self *self, uint32_t *link)
{
	struct s5__undo *u = s5__undo_at(*link);

	for (uint32_t k = 0; u && u->next && k < S5__SEMMSL_MOST; k++) {
		const struct s5__undo *next = s5__undo_at(u->next);

		give_cell(self, &u->next, next ? next->next : 0);
	}
	S5_CRASH_POINT("undo-free");
	give_cell(self, link, u ? u->rec_next : 0);
}

bool s5__undo_free_first(struct s5__self *self, struct s5__semset *set)
{
	if (set->undo == 0)
		return false;
	free_record(self, &set->undo);
	return true;
}

/* Adds one adjustment of a dead process to its semaphore. */
static void apply_one(struct s5__self *self, struct s5__semset *set,
		      struct s5__adj *adj, uint32_t pid)
{
	struct s5__sem *sem = s5__sem_at(set, adj->num);
	uint64_t word;
	int value;

	if (!sem || adj->adj == 0)
		return;
	s5__sem_freeze(sem);
	word = s5__a64_load_rlx(&sem->word);
	value = (int)(word & S5__SEM_VALUE) + adj->adj;
	value = value < 0 ? 0 : value > S5__SEM_MAX ? S5__SEM_MAX : value;
	s5__tx_log64(self, &sem->word);
	s5__tx_log32(self, (const uint32_t *)&adj->adj);
	s5__tx_log32(self, &set->due);
	s5__tx_arm(self);
	s5__a64_store_rlx(&sem->word, (word & (S5__SEM_SLOW | S5__SEM_GEN)) |
					      (uint64_t)value |
					      (uint64_t)pid << 32);
	adj->adj = 0;
	set->due = 1;
	S5_CRASH_POINT("undo-applied");
	s5__tx_commit(self);
	s5__sem_thaw(sem);
}

static void apply_record(struct s5__self *self, struct s5__semset *set,
			 struct s5__undo *u)
{
	const struct s5__proc *p = s5__proc_at(u->proc);
	uint32_t pid = p ? p->pid : 0;

	for (uint32_t k = 0; u && k < S5__SEMMSL_MOST; k++) {
		for (uint32_t i = 0; i < u->n && i < S5__UNDO_ADJ; i++)
			apply_one(self, set, &u->adj[i], pid);
		u = u->next ? s5__undo_at(u->next) : NULL;
	}
}

bool s5__undo_apply(struct s5__self *self, struct s5__semset *set,
		    struct s5__wakes *wakes)
{
	uint32_t *link = &set->undo;
	bool any = false;

	for (uint32_t n = 0; *link && n < s5__proc_count(); n++) {
		struct s5__undo *u = s5__undo_at(*link);
		const struct s5__proc *p = u ? s5__proc_at(u->proc) : NULL;

		if (!u) {
			*link = 0; /* damaged */
			break;
		}
		if (p && !s5__proc_is_dead(p, u->proc_gen)) {
			link = &u->rec_next;
			continue;
		}
		apply_record(self, set, u);
		free_record(self, link);
		any = true;
	}
	if (any) {
		struct s5__sem *sem = s5__sem_at(set, 0);

		if (sem) /* */
			s5__a64_store_rlx(&sem->otime, (uint64_t)s5__now_s());
		(void)s5__set_update(self, set, NULL, wakes);
	}
	return any;
}

void s5__undo_clear(struct s5__self *self, struct s5__semset *set, uint32_t num)
{
	uint32_t cell = set->undo;

	for (uint32_t n = 0; cell && n < s5__proc_count(); n++) {
		struct s5__undo *u = s5__undo_at(cell);
		struct s5__adj *adj = s5__undo_find(cell, num);

		if (!u)
			break;
		if (adj && adj->adj != 0) {
			s5__tx_log32(self, (const uint32_t *)&adj->adj);
			s5__tx_arm(self);
			adj->adj = 0;
		}
		cell = u->rec_next;
	}
}
