/* SPDX-License-Identifier: MIT */
/*
 * atomic.h - atomics whose memory order is in their name
 *
 * Each atomic is a one-member struct, so that plain use does not compile and
 * no sequentially consistent access slips in unseen.
 */
#ifndef S5_BASE_ATOMIC_H
#define S5_BASE_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct s5__a32 {
	_Atomic uint32_t v;
};
struct s5__a64 {
	_Atomic uint64_t v;
};

#define S5__ATOMIC_OPS(name, type)                                           \
	static inline type name##_load_rlx(const struct name *a)             \
	{                                                                    \
		return atomic_load_explicit(&a->v, memory_order_relaxed);    \
	}                                                                    \
	static inline type name##_load_acq(const struct name *a)             \
	{                                                                    \
		return atomic_load_explicit(&a->v, memory_order_acquire);    \
	}                                                                    \
	static inline void name##_store_rlx(struct name *a, type v)          \
	{                                                                    \
		atomic_store_explicit(&a->v, v, memory_order_relaxed);       \
	}                                                                    \
	static inline void name##_store_rel(struct name *a, type v)          \
	{                                                                    \
		atomic_store_explicit(&a->v, v, memory_order_release);       \
	}                                                                    \
	static inline bool name##_cas_acq(struct name *a, type old, type v)  \
	{                                                                    \
		return atomic_compare_exchange_strong_explicit(              \
			&a->v, &old, v, memory_order_acquire,                \
			memory_order_relaxed);                               \
	}                                                                    \
	static inline bool name##_cas_full(struct name *a, type old, type v) \
	{                                                                    \
		return atomic_compare_exchange_strong_explicit(              \
			&a->v, &old, v, memory_order_seq_cst,                \
			memory_order_relaxed);                               \
	}                                                                    \
	static inline type name##_or_full(struct name *a, type v)            \
	{                                                                    \
		return atomic_fetch_or_explicit(&a->v, v,                    \
						memory_order_seq_cst);       \
	}                                                                    \
	static inline type name##_and_full(struct name *a, type v)           \
	{                                                                    \
		return atomic_fetch_and_explicit(&a->v, v,                   \
						 memory_order_seq_cst);      \
	}                                                                    \
	static inline type name##_add_full(struct name *a, type v)           \
	{                                                                    \
		return atomic_fetch_add_explicit(&a->v, v,                   \
						 memory_order_seq_cst);      \
	}                                                                    \
	static inline type name##_xchg_full(struct name *a, type v)          \
	{                                                                    \
		return atomic_exchange_explicit(&a->v, v,                    \
						memory_order_seq_cst);       \
	}

S5__ATOMIC_OPS(s5__a32, uint32_t)
S5__ATOMIC_OPS(s5__a64, uint64_t)

/*
 * A look at a plain word that its owner may be writing, under a lock that we do
 * not hold. What it says may be outdated already: whoever acts on it looks
 * again under the lock.
 */
__attribute__((no_sanitize("thread"))) static inline uint32_t
s5__hint(const uint32_t *p)
{
	return *(const volatile uint32_t *)p;
}

/* The futex system call wants the word itself. */
static inline uint32_t *s5__a32_raw(struct s5__a32 *a)
{
	return (uint32_t *)(void *)a;
}

#endif
