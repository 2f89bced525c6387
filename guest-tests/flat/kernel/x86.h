/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processor as the test kernel sees it: bits, MSRs, and one inline function per instruction. */
#ifndef FLAT_X86_H
#define FLAT_X86_H

#include "lwp_types.h"

#define PAGE_SIZE 4096ul
#define PAGE_MASK (~(PAGE_SIZE - 1))
#define LARGE_PAGE_SIZE (PAGE_SIZE * 512)

#define CR0_WP (1ul << 16)
#define CR0_TS (1ul << 3)
#define CR4_DE (1ul << 3)
#define CR4_OSFXSR (1ul << 9)
#define CR4_LA57 (1ul << 12)
#define CR4_FSGSBASE (1ul << 16)
#define CR4_OSXSAVE (1ul << 18)
#define EFER_SCE (1ul << 0)

#define RFLAGS_CF 0x001ul
#define RFLAGS_FIXED 0x002ul
#define RFLAGS_PF 0x004ul
#define RFLAGS_ZF 0x040ul
#define RFLAGS_TF 0x100ul
#define RFLAGS_IF 0x200ul
#define RFLAGS_DF 0x400ul
#define RFLAGS_STATUS 0x8d5ul
#define RFLAGS_IOPL3 0x3000ul
#define RFLAGS_RF 0x10000ul

#define DR6_BS 0x4000ul
#define DR6_NONE 0xffff0ff0ul
#define DR7_NONE 0x400ul
#define DR7_CODE_0 0x402ul /* DR0 on, code */
#define DR7_IO_0 0x20402ul /* DR0 on, one byte, I/O */
#define DR7_WRITE_0 0xd0402ul /* DR0 on, four bytes, writes */
#define DR7_WRITE_BYTE_0 0x10402ul /* DR0 on, one byte, writes */

#define VEC_DB 1
#define VEC_NMI 2
#define VEC_BP 3
#define VEC_OF 4
#define VEC_UD 6
#define VEC_NM 7
#define VEC_SS 12
#define VEC_GP 13
#define VEC_PF 14

#define PF_PRESENT 0x1
#define PF_WRITE 0x2
#define PF_USER 0x4

#define D0_EDX_LWP (1u << 30) /* CPUID D.0: XCR0[62] can be set */

#define MSR_APIC_BASE 0x0000001b
#define MSR_DEBUGCTL 0x000001d9
#define MSR_EFER 0xc0000080
#define MSR_STAR 0xc0000081
#define MSR_LSTAR 0xc0000082
#define MSR_SFMASK 0xc0000084
#define MSR_FS_BASE 0xc0000100
#define MSR_GS_BASE 0xc0000101
#define MSR_KERNEL_GS_BASE 0xc0000102

struct cpuid {
	u32 a, b, c, d;
};

static inline struct cpuid cpuid(u32 leaf, u32 subleaf)
{
	struct cpuid r;

	asm volatile("cpuid"
		     : "=a"(r.a), "=b"(r.b), "=c"(r.c), "=d"(r.d)
		     : "a"(leaf), "c"(subleaf));
	return r;
}

static inline u64 rdmsr(u32 msr)
{
	u32 lo, hi;

	asm volatile("rdmsr" : "=a"(lo), "=d"(hi) : "c"(msr));
	return lo | (u64)hi << 32;
}

static inline void wrmsr(u32 msr, u64 value)
{
	asm volatile("wrmsr" : : "c"(msr), "a"((u32)value), "d"((u32)(value >> 32)) : "memory");
}

#define DEFINE_CR(n)                                                   \
	static inline u64 read_cr##n(void)                             \
	{                                                              \
		u64 v;                                                 \
		asm volatile("mov %%cr" #n ", %0" : "=r"(v));          \
		return v;                                              \
	}                                                              \
	static inline void write_cr##n(u64 v)                          \
	{                                                              \
		asm volatile("mov %0, %%cr" #n : : "r"(v) : "memory"); \
	}
DEFINE_CR(0)
DEFINE_CR(2)
DEFINE_CR(3)
DEFINE_CR(4)
DEFINE_CR(8)
#undef DEFINE_CR

/* Switch the instructions on that read and write FS base and GS base. False: there are none. */
static inline bool fsgsbase_on(void)
{
	if (!(cpuid(7, 0).b & 1))
		return false;
	write_cr4(read_cr4() | CR4_FSGSBASE);
	return true;
}

static inline u64 rdtsc(void)
{
	u32 lo, hi;

	asm volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return lo | (u64)hi << 32;
}

/* DR6, and no condition is left in it. */
static inline u64 take_dr6(void)
{
	u64 v;

	asm volatile("mov %%dr6, %0; mov %1, %%dr6" : "=&r"(v) : "r"(DR6_NONE));
	return v;
}

static inline void invlpg(u64 va)
{
	asm volatile("invlpg (%0)" : : "r"(va) : "memory");
}

static inline void outb(u16 port, u8 v)
{
	asm volatile("outb %0, %1" : : "a"(v), "Nd"(port));
}

static inline void outl(u16 port, u32 v)
{
	asm volatile("outl %0, %1" : : "a"(v), "Nd"(port));
}

static inline u8 inb(u16 port)
{
	u8 v;

	asm volatile("inb %1, %0" : "=a"(v) : "Nd"(port));
	return v;
}

/* The clock (0: seconds) and the RAM behind it. */
static inline u8 cmos_read(u8 index)
{
	outb(0x70, index);
	return inb(0x71);
}

static inline void cmos_write(u8 index, u8 v)
{
	outb(0x70, index);
	outb(0x71, v);
}

/* Interrupts that wait come here. */
static inline void let_in(void)
{
	asm volatile("sti; nop; cli" : : : "memory");
}

static inline void pause(void)
{
	asm volatile("pause" : : : "memory");
}

#endif
