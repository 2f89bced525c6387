// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A processor without long mode: 32-bit programs under 2-level and PAE paging, whose contexts are known by CR3, and
 * virtual-8086 mode, where the four instructions raise #UD and code of CPL 3 counts like any other. The second
 * processor comes from INIT, enters protected mode and runs jobs (43724-503, 43724-604, 2007-503, 2007-607, 2007-701).
 */
#include "apic.h"
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

/* Below 1 MiB: code, job, descriptor tables, and the code of virtual-8086 mode. */
#define CODE 0x9000u
#define JOB 0xa000u
#define GDT 0xa800u
#define TABLES 0xa900u /* what LGDT and, 16 bytes on, LIDT load */
#define TSS 0xab00u
#define STACK 0xafc0u
#define V86 0xb000u
#define IDT 0xc000u

#define CS_KERNEL 0x08u
#define CS_USER 0x1bu
#define DS_USER 0x23u
#define TSS_BYTES 0x68u
#define GATE 0x8e00u
#define GATE_USER 0xee00u
#define CR4_PSE 0x10u
#define CR4_PAE 0x20u
#define RFLAGS_VM 0x20000u
#define LARGE_ENTRIES 16u /* of 4 MiB */
#define SPINS 2000000000ull

/* Offsets are in the assembly. */
struct job {
	volatile u32 state; /* 1: run, 2: it is back */
	u32 cr3;
	u32 eip, cs, eflags, esp, ss, es, ds, fs, gs;
	u32 eax, ebx;
	u32 vector, error, cr4;
};

extern char lg_code[], lg_end[], lg_ud[], lg_gate[], lg_gp[], lg_pf[];
extern char lg_start[], lg_run[], lg_1[], lg_2[], lg_query[];
extern char lg_v86[], lg_v86_1[], lg_v86_2[], lg_v86_3[], lg_v86_4[], lg_v86_5[], lg_v86_xop[],
	lg_v86_end[];

asm(".pushsection .rodata\n"
    ".code16\n"
    "lg_code: cli\n"
    "xor %ax, %ax\n"
    "mov %ax, %ds\n"
    "lgdtl 0xa900\n"
    "lidtl 0xa910\n"
    "mov $1, %eax\n"
    "mov %eax, %cr0\n"
    "ljmpl $0x08, $(0x9000 + 1f - lg_code)\n"
    ".code32\n"
    "1: mov $0x10, %eax\n"
    "mov %eax, %ds\n"
    "mov %eax, %es\n"
    "mov %eax, %ss\n"
    "mov 0xa03c, %eax\n"
    "mov %eax, %cr4\n"
    "mov 0xa004, %eax\n"
    "mov %eax, %cr3\n"
    "mov $0x80010023, %eax\n" /* PG WP NE MP PE */
    "mov %eax, %cr0\n"
    "mov $0x28, %eax\n"
    "ltr %ax\n"
    "movl $2, 0xa000\n"
    "2: mov $0xafc0, %esp\n"
    "3: pause\n"
    "cmpl $1, 0xa000\n"
    "jne 3b\n"
    "mov 0xa004, %eax\n"
    "mov %eax, %cr3\n"
    "mov $0x23, %eax\n"
    "mov %eax, %ds\n"
    "mov %eax, %es\n"
    "mov $0xa028, %ebx\n"
    "4: pushl (%ebx)\n"
    "sub $4, %ebx\n"
    "cmp $0xa004, %ebx\n"
    "jne 4b\n"
    "mov 0xa02c, %eax\n"
    "mov 0xa030, %ebx\n"
    "iret\n"
    /* Stubs of #UD, of the gate, and of #GP and #PF, which have an error code. */
    "lg_ud: pushl $6\n"
    "jmp 5f\n"
    "lg_gate: pushl $0x80\n"
    "jmp 5f\n"
    "lg_gp: popl 0xa038\n"
    "pushl $13\n"
    "jmp 5f\n"
    "lg_pf: popl 0xa038\n"
    "pushl $14\n"
    "5: push %eax\n"
    "mov $0x10, %eax\n"
    "mov %eax, %ds\n"
    "mov %eax, %es\n"
    "popl 0xa02c\n"
    "mov %ebx, 0xa030\n"
    "popl 0xa034\n"
    "mov $0xa008, %ebx\n"
    "6: popl (%ebx)\n"
    "add $4, %ebx\n"
    "cmp $0xa01c, %ebx\n"
    "jne 6b\n"
    "movl $2, 0xa000\n"
    "jmp 2b\n"
    "lg_end:\n"
    /* Offset 0 of its segment. */
    ".code16\n"
    "lg_v86:\n"
    "lg_v86_1: nop\n"
    "lg_v86_2: pushf\n"
    "lg_v86_3: pop %ax\n"
    "lg_v86_4: jmp lg_v86_5\n"
    "ud2\n"
    "lg_v86_5: nop\n"
    "int $0x80\n"
    "lg_v86_xop: .byte 0x8f, 0xe9, 0x78, 0x12, 0xc8\n" /* SLWPCB eax */
    "int $0x80\n"
    "lg_v86_end:\n"
    ".code64\n"
    ".popsection\n");

USER_CODE(".code32\n"
	  "lg_start: llwpcb %eax\n"
	  "int $0x80\n"
	  "lg_run:\n"
	  "lg_1: nop\n"
	  "lg_2: nop\n"
	  "int $0x80\n"
	  "lg_query: slwpcb %ebx\n"
	  "int $0x80\n"
	  ".code64\n");

static struct job *const job = (struct job *)(u64)JOB;

static u32 low(const char *label)
{
	return CODE + (u32)(label - lg_code);
}

static void set_gate(u32 vector, const char *stub, u32 kind)
{
	u32 *gate = (u32 *)(u64)(IDT + 8 * vector);

	gate[0] = CS_KERNEL << 16 | low(stub);
	gate[1] = kind;
}

static void set_table(u32 at, u16 limit, u32 base)
{
	u8 *p = (u8 *)(u64)at;

	lwp_put16(p, limit);
	lwp_put32(p + 2, base);
}

static void fill_tables(void)
{
	static const u64 gdt[] = { 0,
				   0x00cf9b000000ffff,
				   0x00cf93000000ffff,
				   0x00cffb000000ffff,
				   0x00cff3000000ffff,
				   (u64)TSS << 16 | 0x89ul << 40 | (TSS_BYTES - 1) };

	memcpy((void *)(u64)CODE, lg_code, (size_t)(lg_end - lg_code));
	memcpy((void *)(u64)V86, lg_v86, (size_t)(lg_v86_end - lg_v86));
	memset((void *)(u64)IDT, 0, 0x81 * 8);
	memset((void *)(u64)TSS, 0, TSS_BYTES);
	memcpy((void *)(u64)GDT, gdt, sizeof(gdt));
	set_table(TABLES, sizeof(gdt) - 1, GDT);
	set_table(TABLES + 16, 0x81 * 8 - 1, IDT);
	set_gate(VEC_UD, lg_ud, GATE);
	set_gate(VEC_GP, lg_gp, GATE);
	set_gate(VEC_PF, lg_pf, GATE);
	set_gate(VEC_EXIT_GATE, lg_gate, GATE_USER);
	lwp_put32((u8 *)(u64)TSS + 4, STACK - 32); /* ESP0 */
	lwp_put32((u8 *)(u64)TSS + 8, 0x10); /* SS0 */
	lwp_put16((u8 *)(u64)TSS + 102, TSS_BYTES);
}

/* Identity of the first 64 MiB for user mode. */
static u32 two_level(void)
{
	u32 *directory = (u32 *)phys_alloc(1, PAGE_SIZE);

	for (u32 i = 0; i < LARGE_ENTRIES; i++)
		directory[i] = i << 22 | PTE_PS | PAGE_USER_RW;
	return (u32)(u64)directory;
}

/* The second space's table lies 32 bytes after the first's, in the same page. */
static u32 pae(u32 space)
{
	static u64 *pointers;
	u64 *directory = (u64 *)phys_alloc(1, PAGE_SIZE);

	if (!pointers)
		pointers = (u64 *)phys_alloc(1, PAGE_SIZE);
	for (u32 i = 0; i < 2 * LARGE_ENTRIES; i++)
		directory[i] = (u64)i << 21 | PTE_PS | PAGE_USER_RW;
	pointers[4 * space] = (u64)directory | PTE_P;
	return (u32)(u64)(pointers + 4 * space);
}

static void wait(void)
{
	for (u64 i = 0; job->state != 2; i++) {
		if (i == SPINS)
			bail("the second processor does not answer");
		pause();
	}
	if (job->vector == VEC_GP || job->vector == VEC_PF)
		bail("the second processor: vector %u error %x at %x:%x", job->vector, job->error,
		     job->cs, job->eip);
}

/* Run to the gate or an #UD; result: the vector. */
static u32 run(u32 cr3, const char *code, u64 eax)
{
	*job = (struct job){ .cr3 = cr3,
			     .eip = (u32)(u64)code,
			     .cs = CS_USER,
			     .eflags = RFLAGS_FIXED,
			     .esp = STACK - 0x400,
			     .ss = DS_USER,
			     .eax = (u32)eax };
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	job->state = 1;
	wait();
	return job->vector;
}

static u32 run_v86(u32 cr3, u32 ip)
{
	*job = (struct job){ .cr3 = cr3,
			     .eip = ip,
			     .cs = V86 / 16,
			     .eflags = RFLAGS_FIXED | RFLAGS_VM | RFLAGS_IOPL3,
			     .esp = 0x800,
			     .ss = V86 / 16,
			     .es = V86 / 16,
			     .ds = V86 / 16 };
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	job->state = 1;
	wait();
	return job->vector;
}

static void begin(struct lwp *l)
{
	struct block b = { .base = (u64)l->ring, .event = { { EV_IRE, 0, 0 } } };

	block_write(l, &b);
	memset(l->ring, RING_FILL, RING_PAGES * PAGE_SIZE);
}

static struct rec ire(u64 at)
{
	return (struct rec){ EV_IRE, .core = 1, .address = at };
}

static void test_spaces(struct lwp *l, u32 one, u32 two)
{
	begin(l);
	report_eq(run(one, lg_start, (u64)l->cb), VEC_EXIT_GATE, "LLWPCB");
	run(one, lg_run, 0);
	run(two, lg_query, 0);
	report_eq(job->ebx, 0, "another CR3: LWP is off there");
	run(two, lg_run, 0);
	run(one, lg_run, 0);
	run(one, lg_query, 0);
	report_eq(job->ebx, (u64)l->cb, "SLWPCB returns the block");
	EXPECT_RECORDS(l, "instructions of its own address space only", ire((u64)lg_1),
		       ire((u64)lg_2), ire((u64)lg_1), ire((u64)lg_2), ire((u64)lg_query));
}

static u64 v86_linear(const char *label)
{
	return V86 + (u64)(label - lg_v86);
}

static void test_v86(struct lwp *l, u32 cr3)
{
	run(cr3, lg_start, 0);
	begin(l);
	run(cr3, lg_start, (u64)l->cb);
	report_eq(run_v86(cr3, (u32)(lg_v86_xop - lg_v86)), VEC_UD,
		  "virtual-8086 mode: SLWPCB raises #UD");
	report_eq(job->eip, (u64)(lg_v86_xop - lg_v86), "at SLWPCB");
	report_eq(run_v86(cr3, 0), VEC_EXIT_GATE, "code of virtual-8086 mode runs to INT 80h");
	report_eq(job->eax & RFLAGS_TF, 0, "PUSHF shows no TF");
	EXPECT_RECORDS(l, "it counts, with linear addresses; INT n does not",
		       ire(v86_linear(lg_v86_1)), ire(v86_linear(lg_v86_2)),
		       ire(v86_linear(lg_v86_3)), ire(v86_linear(lg_v86_4)),
		       ire(v86_linear(lg_v86_5)));
}

static void test(struct lwp *l, const char *how, u32 cr4, u32 one, u32 two)
{
	fill_tables(); /* LTR has made the TSS busy */
	job->cr4 = cr4;
	job->cr3 = one;
	job->state = 0;
	apic_start(1, CODE / PAGE_SIZE);
	wait();
	report_push("%s", how);
	test_spaces(l, one, two);
	test_v86(l, one);
	report_pop();
}

LWP_TEST(legacy)
{
	u32 one, two;

	rule("43724-605 43724-701 43724-902", CHOICE);
	one = two_level();
	two = two_level();
	test(l, "2-level paging", CR4_PSE, one, two);
	one = pae(0);
	two = pae(1);
	test(l, "PAE paging", CR4_PAE, one, two);
}
