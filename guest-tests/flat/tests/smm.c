// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * System management mode: an SMI in a profiled program, whose handler runs code at CPL 3. LWP is inactive there: that
 * code gives no record, an LWP instruction raises #UD, and the program's profile is as without the SMI (43724-920,
 * 43724-921) (2007-908).
 */
#include "lwp_fixture.h"
#include "pmu.h"
#include "test.h"
#include "x86.h"

/* q35: the host bridge's SMRAM register, the LPC bridge's PMBASE, and SMI_EN after it. */
#define PCI_ADDRESS 0xcf8
#define PCI_DATA 0xcfc
#define PCI_SMRAM 0x8000009cu
#define SMRAM_SHIFT 8
#define SMRAM_OPEN (0x40u << SMRAM_SHIFT)
#define SMRAM_LOCKED (0x10u << SMRAM_SHIFT)
#define PCI_PMBASE 0x8000f840u
#define PMBASE_MASK 0xff80u
#define SMI_EN 0x30
#define SMI_EN_GLOBAL 0x01u
#define SMI_EN_APM 0x20u

/* The firmware has moved SMBASE to A0000h. Code, tables and stacks of the handler, all in its first 64 KiB. */
#define SMBASE 0xa0000ul
#define CODE (SMBASE + 0x8000)
#define GDT (SMBASE + 0x9000)
#define IDT (SMBASE + 0x9100)
#define TSS (SMBASE + 0x9200)
#define GDT_POINTER (SMBASE + 0x9300)
#define IDT_POINTER (SMBASE + 0x9310)
#define TSS_SIZE 0x68
/* Where the handler says at which instruction it was left. */
#define LEFT_AT 0x9000ul

extern char smm_code[], smm_end[], smm_lwp[];
extern char smi_code[], smi_1[], smi_out[], smi_2[], smi_3[], smi_last[];

asm(".pushsection .rodata\n"
    ".code16\n"
    "smm_code: lgdtl %cs:0x9300\n"
    "lidtl %cs:0x9310\n"
    "mov %cr0, %eax\n"
    "or $1, %al\n"
    "mov %eax, %cr0\n"
    "ljmpl $0x08, $(0xa8000 + 1f - smm_code)\n"
    ".code32\n"
    "1: mov $0x10, %eax\n"
    "mov %eax, %ds\n"
    "mov %eax, %es\n"
    "mov %eax, %ss\n"
    "mov $0xa7800, %esp\n"
    "mov $0x28, %eax\n"
    "ltr %ax\n"
    "pushl $0x23\n"
    "pushl $0xa7000\n"
    "pushl $0x2\n"
    "pushl $0x1b\n"
    "pushl $(0xa8000 + 2f - smm_code)\n"
    "iretl\n"
    /* CPL 3 */
    "2: .fill 20, 1, 0x90\n"
    "smm_lwp: .byte 0x8f, 0xe9, 0x78, 0x12, 0xc8\n" /* SLWPCB eax */
    "ud2\n"
    /* #UD, at CPL 0 */
    ".balign 64\n"
    "smm_ud: mov (%esp), %eax\n"
    "mov %eax, 0x9000\n"
    "rsm\n"
    "smm_end:\n"
    ".code64\n"
    ".popsection\n");
extern char smm_ud[];

USER_CODE("smi_code: llwpcb %rax\n"
	  "smi_1: nop\n"
	  "smi_out: out %al, $0xb2\n"
	  "smi_2: nop\n"
	  "smi_3: nop\n"
	  "smi_last: slwpcb %rbx\n"
	  "user_exit\n");

static u32 inl(u16 port)
{
	u32 v;

	asm volatile("inl %1, %0" : "=a"(v) : "Nd"(port));
	return v;
}

static u32 pci_read(u32 address)
{
	outl(PCI_ADDRESS, address);
	return inl(PCI_DATA);
}

static void pci_write(u32 address, u32 value)
{
	outl(PCI_ADDRESS, address);
	outl(PCI_DATA, value);
}

static u32 in_smram(const char *label)
{
	return (u32)(CODE + (u64)(label - smm_code));
}

static void fill_tables(void)
{
	u64 *gdt = (u64 *)GDT, *idt = (u64 *)IDT;
	u64 ud = in_smram(smm_ud);

	memset(gdt, 0, IDT_POINTER + 0x10 - GDT);
	gdt[1] = descriptor(0, 0xfffff, 0x9b, 0xc);
	gdt[2] = descriptor(0, 0xfffff, 0x93, 0xc);
	gdt[3] = descriptor(0, 0xfffff, 0xfb, 0xc);
	gdt[4] = descriptor(0, 0xfffff, 0xf3, 0xc);
	gdt[5] = descriptor(TSS, TSS_SIZE - 1, 0x89, 0);
	idt[VEC_UD] = (ud & 0xffff) | 0x08 << 16 | 0x8eull << 40 | (ud >> 16) << 48;
	lwp_put32((u8 *)TSS + 4, SMBASE + 0x7800);
	lwp_put32((u8 *)TSS + 8, 0x10);
	lwp_put16((u8 *)GDT_POINTER, 6 * 8 - 1);
	lwp_put32((u8 *)GDT_POINTER + 2, GDT);
	lwp_put16((u8 *)IDT_POINTER, 7 * 8 - 1);
	lwp_put32((u8 *)IDT_POINTER + 2, IDT);
}

/* The handler, fresh: LTR has made its TSS busy. */
static void install(void)
{
	u32 smram = pci_read(PCI_SMRAM), port = pci_read(PCI_PMBASE) & PMBASE_MASK;

	if (smram & SMRAM_LOCKED)
		bail("SMRAM is locked");
	pci_write(PCI_SMRAM, smram | SMRAM_OPEN);
	memcpy((void *)CODE, smm_code, (size_t)(smm_end - smm_code));
	fill_tables();
	pci_write(PCI_SMRAM, smram & ~SMRAM_OPEN);
	outl((u16)(port + SMI_EN), inl((u16)(port + SMI_EN)) | SMI_EN_GLOBAL | SMI_EN_APM);
}

static void run(struct lwp *l, const struct block *b)
{
	volatile u32 *left_at = (volatile u32 *)LEFT_AT;

	install();
	*left_at = 0;
	lwp_prepare(l, b, smi_code);
	l->u.r.rflags |= RFLAGS_IOPL3;
	lwp_resume(l);
	report_eq(*left_at, in_smram(smm_lwp), "SLWPCB in SMM raises #UD");
}

LWP_TEST(smm)
{
	if (pmu_present())
		pmu_start(0, PERF_SMIS | PERF_USR | PERF_OS, 0);
	run(l, EVENT(EV_IRE, 100, 50));
	report_eq(cb_counter(l, EV_IRE), 46, "the program's four instructions are counted");
	run(l, every_insn());
	EXPECT_IRE(l, "each has one record", smi_1, smi_out, smi_2, smi_3, smi_last);
	if (pmu_present())
		report_eq(pmu_stop(0), 2, "a counter of SMIs has both");
}
