// SPDX-License-Identifier: GPL-2.0-or-later
/* One processor: GDT, TSS, IDT, SYSCALL; what a trap means; running code at CPL 3. */
#include "apic.h"
#include "cpu.h"
#include "place.h"
#include "report.h"
#include "smp.h"
#include "suite.h"
#include "x86.h"

struct tss {
	u32 reserved0;
	u64 rsp0, rsp1, rsp2;
	u64 reserved1;
	u64 ist[7];
	u64 reserved2;
	u16 reserved3;
	u16 io_map;
} __attribute__((packed));

struct cpu {
	u64 rsp0; /* CPU_RSP0: kernel stack for SYSCALL and for user_leave() */
	u64 user_rsp; /* CPU_USER_RSP */
	u32 index;
	struct user *user; /* what runs at CPL 3 now */
	u64 fault_cr2;
	u64 gdt[GDT_ENTRIES];
	struct tss tss;
};

_Static_assert(offsetof(struct cpu, rsp0) == CPU_RSP0, "trap.S");
_Static_assert(offsetof(struct cpu, user_rsp) == CPU_USER_RSP, "trap.S");

struct gate {
	u16 offset_low, selector;
	u8 ist, type;
	u16 offset_mid;
	u32 offset_high, reserved;
};

#define GATE_INTERRUPT 0x8e
#define GATE_DPL3 0x60
#define TRAP_STUB_SIZE 16
#define PIC1_MASK 0x21
#define PIC2_MASK 0xa1

struct table_pointer {
	u16 limit;
	u64 base;
} __attribute__((packed));

struct ex_entry {
	u64 insn, next;
};

extern const char trap_stubs[], syscall_entry[];
extern const struct ex_entry ex_table_start[], ex_table_end[];
void user_enter(const struct regs *r, struct cpu *cpu, struct tss *tss, bool by_sysret);
_Noreturn void user_leave(struct cpu *cpu);
void trap_handle(struct regs *r);

char boot_cpu_area[MAX_CPUS][CPU_AREA_SIZE] __attribute__((aligned(CPU_AREA_SIZE)));
static struct gate idt[256];
static irq_handler irq_handlers[256];

static struct cpu *this_cpu(void)
{
	u64 rsp;

	asm volatile("mov %%rsp, %0" : "=r"(rsp));
	return (struct cpu *)(rsp & ~((u64)CPU_AREA_SIZE - 1));
}

u32 cpu_index(void)
{
	return this_cpu()->index;
}

u64 fault_cr2(void)
{
	return this_cpu()->fault_cr2;
}

u64 descriptor(u32 base, u32 limit, u8 access, u8 flags)
{
	return (limit & 0xffff) | (u64)(base & 0xffffff) << 16 | (u64)access << 40 |
	       (u64)(limit >> 16 & 0xf) << 48 | (u64)(flags & 0xf) << 52 | (u64)(base >> 24) << 56;
}

void seg_set(u16 selector, u32 base, u32 limit, u8 access, u8 flags)
{
	this_cpu()->gdt[selector / 8] = descriptor(base, limit, access, flags);
}

volatile u32 nmis, irqs;
volatile u64 nmi_rip;

void note_nmi(struct regs *r)
{
	nmis++;
	nmi_rip = r->rip;
}

void count_irq(struct regs *r)
{
	irqs++;
	apic_eoi();
}

void irq_set_handler(u8 vector, irq_handler handler)
{
	irq_handlers[vector] = handler;
}

static void load_gdt(struct cpu *cpu)
{
	struct table_pointer p = { sizeof(cpu->gdt) - 1, (u64)cpu->gdt };
	u64 tss = (u64)&cpu->tss;

	cpu->gdt[KERNEL_CS / 8] = descriptor(0, 0xfffff, 0x9b, 0xa);
	cpu->gdt[KERNEL_DS / 8] = descriptor(0, 0xfffff, 0x93, 0xc);
	cpu->gdt[USER_CS32 / 8] = descriptor(0, 0xfffff, SEG_USER_CODE, SEG_32BIT_PAGES);
	cpu->gdt[USER_DS / 8] = descriptor(0, 0xfffff, SEG_USER_DATA, SEG_32BIT_PAGES);
	cpu->gdt[USER_CS64 / 8] = descriptor(0, 0xfffff, SEG_USER_CODE, 0xa);
	cpu->gdt[TSS_SEL / 8] = descriptor((u32)tss, sizeof(cpu->tss) - 1, 0x89, 0);
	cpu->gdt[TSS_SEL / 8 + 1] = tss >> 32;
	cpu->tss.io_map = sizeof(cpu->tss);
	asm volatile("lgdt %0; ltr %w1" : : "m"(p), "r"(TSS_SEL));
}

static void fill_idt(void)
{
	for (u32 i = 0; i < 256; i++) {
		u64 stub = (u64)trap_stubs + i * TRAP_STUB_SIZE;
		bool user = i == VEC_BP || i == VEC_OF || i == VEC_EXIT_GATE;

		idt[i] = (struct gate){
			.offset_low = (u16)stub,
			.offset_mid = (u16)(stub >> 16),
			.offset_high = (u32)(stub >> 32),
			.selector = KERNEL_CS,
			.type = GATE_INTERRUPT | (user ? GATE_DPL3 : 0),
		};
	}
}

void cpu_init(u32 index)
{
	struct table_pointer p = { sizeof(idt) - 1, (u64)idt };
	struct cpu *cpu = this_cpu();

	cpu->index = index;
	cpu->user = NULL;
	if (!index) {
		fill_idt();
		/* The firmware left the timer going, on vector 8. */
		outb(PIC1_MASK, 0xff);
		outb(PIC2_MASK, 0xff);
	}
	load_gdt(cpu);
	asm volatile("lidt %0" : : "m"(p));
	write_cr4(read_cr4() | CR4_OSFXSR);
	wrmsr(MSR_EFER, rdmsr(MSR_EFER) | EFER_SCE);
	wrmsr(MSR_STAR, (u64)USER_CS32 << 48 | (u64)KERNEL_CS << 32);
	wrmsr(MSR_LSTAR, (u64)syscall_entry);
	wrmsr(MSR_SFMASK, RFLAGS_IF | RFLAGS_TF);
	wrmsr(MSR_KERNEL_GS_BASE, (u64)cpu);
	apic_init();
}

static bool fix_up(struct regs *r)
{
	const struct ex_entry *e;

	for (e = ex_table_start; e < ex_table_end; e++) {
		if (e->insn == r->rip) {
			r->rip = e->next;
			r->r8 = FAULT(r->vector, r->error);
			return true;
		}
	}
	return false;
}

void trap_handle(struct regs *r)
{
	struct cpu *cpu = this_cpu();
	u64 cr2 = read_cr2();

	if (r->vector == VEC_NMI && suite_is_abandoned() && !cpu->index)
		suite_next(NULL);
	if (r->vector == VEC_NMI && !cpu->index && suite_alarm())
		return;
	if (r->vector < 256 && irq_handlers[r->vector]) {
		irq_handlers[r->vector](r);
		return;
	}
	if (r->cs & 3) {
		cpu->user->r = *r;
		cpu->user->cr2 = cr2;
		user_leave(cpu);
	}
	cpu->fault_cr2 = cr2;
	if (!fix_up(r))
		bail("kernel trap %u error %lx at %lx, cr2 %lx, processor %u", (u32)r->vector,
		     r->error, r->rip, cr2, cpu->index);
}

void user_init64(struct user *u, u64 rip, u64 rsp)
{
	*u = (struct user){
		.r = { .rip = rip,
		       .cs = USER_CS64,
		       .rflags = RFLAGS_FIXED,
		       .rsp = rsp,
		       .ss = USER_DS },
		.ds = USER_DS,
		.es = USER_DS,
	};
}

void user_init32(struct user *u, u32 rip, u32 rsp)
{
	user_init64(u, rip, rsp);
	u->r.cs = USER_CS32;
}

void user_init_cpl1(struct user *u, u64 rip, u64 rsp)
{
	user_init64(u, rip, rsp);
	seg_set(USER_FREE_CS, 0, 0xfffff, SEG_CPL1_CODE, SEG_64BIT);
	seg_set(USER_FREE_DS, 0, 0xfffff, SEG_CPL1_DATA, SEG_32BIT_PAGES);
	u->r.cs = (USER_FREE_CS & ~3u) | 1;
	u->r.ss = (USER_FREE_DS & ~3u) | 1;
}

void user_run(struct user *u)
{
	struct cpu *cpu = this_cpu();

	if (cpu->user)
		bail("user_run inside user_run");
	cpu->user = u;
	asm volatile("mov %0, %%ds; mov %1, %%es" : : "r"(u->ds), "r"(u->es));
	user_enter(&u->r, cpu, &cpu->tss, u->enter_by_sysret);
	place_came_back(u);
	cpu->user = NULL;
}

bool user_exited(const struct user *u)
{
	return u->r.vector == VEC_EXIT_GATE;
}

u32 try_wrmsr(u32 msr, u64 value)
{
	return TRY("wrmsr", "c"(msr), "a"((u32)value), "d"((u32)(value >> 32)) : "memory");
}

u32 try_rdmsr(u32 msr, u64 *value)
{
	register u32 fault asm("r8") = NO_FAULT;
	u32 lo = 0, hi = 0;

	asm volatile("1: rdmsr\n2:\n" EX_TABLE("1b", "2b")
		     : "+r"(fault), "+a"(lo), "+d"(hi)
		     : "c"(msr));
	*value = lo | (u64)hi << 32;
	return fault;
}

u32 try_rdpmc(u32 index)
{
	return TRY("rdpmc", "c"(index) : "rax", "rdx");
}

u32 try_xsetbv(u32 index, u64 value)
{
	return TRY("xsetbv", "c"(index), "a"((u32)value), "d"((u32)(value >> 32)) : "memory");
}
