/* SPDX-License-Identifier: MIT */
/*
 * dropin_entry.S - the names that must be jumps, not calls
 *
 * vfork returns twice, dlopen looks at who called it to choose a RUNPATH, and
 * syscall and clone pass arguments on that no C function could: each does its
 * one thing in scratch registers and jumps to libc's function with arguments,
 * stack and return address as it found them.
 *
 * The pointers that are jumped through start out pointing at code below which
 * saves the arguments, has all of them found, and jumps again.
 */
#include <sys/syscall.h>

#define RTLD_DEEPBIND	8
#define CLONE_VM	0x00000100
#define CLONE_VFORK	0x00004000
#define CLONE_SETTLS	0x00080000
#define MAYBE_VFORK	1	/* bits of s5__maybe_vfork */
#define MAYBE_CLONE	2

	.macro	function name
	.globl	\name
	.type	\name, %function
	.p2align 4
\name:
	.cfi_startproc
#if defined(__x86_64__)
	endbr64
#else
	hint	#34	/* bti c */
#endif
	.endm

	.macro	done name
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.macro	alias name, other
	.globl	\name
	.set	\name, \other
	.endm

	/* A pointer that starts out as the address of the code that sets it. */
	.macro	pointer name, first
	.hidden	\name
	.globl	\name
	.type	\name, %object
	.size	\name, 8
\name:
	.quad	\first
	.endm

	.data
	.p2align 3
	pointer	s5__front_real_syscall, find_syscall
	pointer	s5__front_real_vfork, find_vfork
	pointer	s5__front_real_clone, find_clone
	pointer	s5__front_real_dlopen, find_dlopen

	.hidden	s5__front_find_all
	.hidden	s5__front_syscall
	.hidden	s5__front_numbers
	.text

#if defined(__x86_64__)

	.macro	jump_real name
	movq	s5__front_real_\name(%rip), %r11
	jmp	*%r11
	.endm

	.macro	save reg
	pushq	%\reg
	.cfi_adjust_cfa_offset 8
	.endm

	.macro	restore reg
	popq	%\reg
	.cfi_adjust_cfa_offset -8
	.endm

	.macro	find_and_jump name
	function find_\name
	save	rdi
	save	rsi
	save	rdx
	save	rcx
	save	r8
	save	r9
	save	rax
	call	s5__front_find_all
	restore	rax
	restore	r9
	restore	r8
	restore	rcx
	restore	rdx
	restore	rsi
	restore	rdi
	jump_real \name
	done	find_\name
	.endm

	.macro	forward name
	function \name
	jmp	*s5_\name@GOTPCREL(%rip)
	done	\name
	.endm

	function syscall
	cmpq	$SYS_setns, %rdi	/* the highest that is marked */
	ja	1f
	leaq	s5__front_numbers(%rip), %r11
	cmpb	$0, (%r11,%rdi)
	jne	2f
1:	jump_real syscall
2:	jmp	s5__front_syscall
	done	syscall

	function vfork
	movq	s5__maybe_vfork@gottpoff(%rip), %r11
	orl	$MAYBE_VFORK, %fs:(%r11)
	jump_real vfork
	done	vfork

	function clone
	testl	$CLONE_VM, %edx
	jz	1f
	testl	$CLONE_SETTLS, %edx
	jnz	1f
	movl	$MAYBE_CLONE, %r10d
	testl	$CLONE_VFORK, %edx
	jz	2f
	movl	$MAYBE_VFORK, %r10d
2:	movq	s5__maybe_vfork@gottpoff(%rip), %r11
	orl	%r10d, %fs:(%r11)
1:	jump_real clone
	done	clone

	function dlopen
	andl	$~RTLD_DEEPBIND, %esi
	jump_real dlopen
	done	dlopen

#elif defined(__aarch64__)

	.macro	jump_real name
	adrp	x16, s5__front_real_\name
	ldr	x16, [x16, #:lo12:s5__front_real_\name]
	br	x16
	.endm

	.macro	find_and_jump name
	function find_\name
	stp	x29, x30, [sp, #-80]!
	.cfi_adjust_cfa_offset 80
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	stp	x2, x3, [sp, #32]
	stp	x4, x5, [sp, #48]
	stp	x6, x7, [sp, #64]
	bl	s5__front_find_all
	ldp	x6, x7, [sp, #64]
	ldp	x4, x5, [sp, #48]
	ldp	x2, x3, [sp, #32]
	ldp	x0, x1, [sp, #16]
	ldp	x29, x30, [sp], #80
	.cfi_adjust_cfa_offset -80
	.cfi_restore x29
	.cfi_restore x30
	jump_real \name
	done	find_\name
	.endm

	.macro	forward name
	function \name
	adrp	x16, :got:s5_\name
	ldr	x16, [x16, #:got_lo12:s5_\name]
	br	x16
	done	\name
	.endm

	/* Ors \bits into this thread's s5__maybe_vfork. */
	.macro	mark bits
	mrs	x16, tpidr_el0
	adrp	x17, :gottprel:s5__maybe_vfork
	ldr	x17, [x17, #:gottprel_lo12:s5__maybe_vfork]
	ldr	w9, [x16, x17]
	orr	w9, w9, #\bits
	str	w9, [x16, x17]
	.endm

	function syscall
	cmp	x0, #SYS_setns		/* the highest that is marked */
	b.hi	1f
	adrp	x16, s5__front_numbers
	add	x16, x16, #:lo12:s5__front_numbers
	ldrb	w16, [x16, x0]
	cbnz	w16, 2f
1:	jump_real syscall
2:	b	s5__front_syscall
	done	syscall

	function vfork
	mark	MAYBE_VFORK
	jump_real vfork
	done	vfork

	function clone
	tst	w2, #CLONE_VM
	b.eq	1f
	tst	w2, #CLONE_SETTLS
	b.ne	1f
	tst	w2, #CLONE_VFORK
	b.eq	2f
	mark	MAYBE_VFORK
	b	1f
2:	mark	MAYBE_CLONE
1:	jump_real clone
	done	clone

	function dlopen
	and	w1, w1, #~RTLD_DEEPBIND
	jump_real dlopen
	done	dlopen

#else
#error "no entry code for this machine"
#endif

	forward	msgget
	forward	msgsnd
	forward	msgrcv
	forward	msgctl
	forward	semget
	forward	semop
	forward	semtimedop
	forward	semctl
	alias	__vfork, vfork
	alias	__clone, clone

	find_and_jump syscall
	find_and_jump vfork
	find_and_jump clone
	find_and_jump dlopen

	.section .note.GNU-stack, "", %progbits
