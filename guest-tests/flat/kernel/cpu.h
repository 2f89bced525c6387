/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One processor: descriptor tables, traps, and running code at CPL 3. */
#ifndef FLAT_CPU_H
#define FLAT_CPU_H

#include "layout.h"
#include "lwp_types.h"

/* What trap.S leaves on the stack, and what it loads to enter user mode. */
struct regs {
	u64 r15, r14, r13, r12, r11, r10, r9, r8, rbp, rdi, rsi, rdx, rcx, rbx, rax;
	u64 vector, error;
	u64 rip, cs, rflags, rsp, ss;
};

/*
 * User code, before and after a run. Before: everything in r except vector and error, the data
 * selectors, and how to enter. After: r as at the trap that ended the run, its vector (VEC_*), error
 * code and, for #PF, CR2. Running again resumes where the code came back.
 */
struct user {
	struct regs r;
	u64 cr2;
	u16 ds, es;
	bool enter_by_sysret;
};

/* Set u to start 64-bit user code at rip with stack rsp, all other registers 0. */
void user_init64(struct user *u, u64 rip, u64 rsp);
/* The same for 32-bit code with flat segments. */
void user_init32(struct user *u, u32 rip, u32 rsp);
/* The same for 64-bit code at CPL 1, in the free segments. */
void user_init_cpl1(struct user *u, u64 rip, u64 rsp);
/* Run u at CPL 3 until it comes back by the exit gate, by SYSCALL or by an exception. */
void user_run(struct user *u);
/* "int $VEC_EXIT_GATE" is how user code comes back on purpose. Is that how u came back? */
bool user_exited(const struct user *u);

/* A descriptor of a segment: access byte and flags nibble as in a GDT. */
u64 descriptor(u32 base, u32 limit, u8 access, u8 flags);
/* Fill USER_FREE_DS or USER_FREE_CS of this processor. */
void seg_set(u16 selector, u32 base, u32 limit, u8 access, u8 flags);
#define SEG_USER_DATA 0xf3
#define SEG_WRITABLE 0x02 /* of data */
#define SEG_EXPAND_DOWN 0x04
#define SEG_USER_CODE 0xfb
#define SEG_CPL1_CODE 0xbb
#define SEG_CPL1_DATA 0xb3
#define SEG_16BIT_BYTES 0x0
#define SEG_32BIT_BYTES 0x4
#define SEG_64BIT 0xa
#define SEG_32BIT_PAGES 0xc

/* Interrupt handlers get the frame, run with interrupts off and must send EOI. */
typedef void (*irq_handler)(struct regs *r);
void irq_set_handler(u8 vector, irq_handler handler);
/* One for NMIs: how many there were, and where the last came. */
void note_nmi(struct regs *r);
extern volatile u32 nmis;
extern volatile u64 nmi_rip;
/* One for interrupts: how many there were. */
void count_irq(struct regs *r);
extern volatile u32 irqs;

/*
 * Kernel code that may fault: the instruction at label `insn` continues at label `next`, and the
 * fault is left in r8. A fault is its vector and error code in one number.
 */
#define EX_TABLE(insn, next) \
	".pushsection .ex_table, \"a\"\n.quad " insn ", " next "\n.popsection\n"
#define FAULT(vector, error) ((u32)(vector) | (u32)(error) << 8)
#define NO_FAULT 0xffffffffu
/* The fault of an instruction, or NO_FAULT: its inputs from %1 on, and what it clobbers. */
#define TRY(insn, ...)                                                \
	({                                                            \
		register u32 fault_ asm("r8") = NO_FAULT;             \
		asm volatile("1: " insn "\n2:\n" EX_TABLE("1b", "2b") \
			     : "+r"(fault_)                           \
			     : __VA_ARGS__);                          \
		fault_;                                               \
	})

/* WRMSR and the like that report their fault (or NO_FAULT). */
u32 try_wrmsr(u32 msr, u64 value);
u32 try_rdmsr(u32 msr, u64 *value);
u32 try_rdpmc(u32 index);
u32 try_xsetbv(u32 index, u64 value);

/* CR2 of the last kernel fault. */
u64 fault_cr2(void);

/* Set up tables, SYSCALL and the local APIC on the processor that calls. */
void cpu_init(u32 index);
/* Index of the processor that calls: 0 is the boot processor. */
u32 cpu_index(void);

#endif
