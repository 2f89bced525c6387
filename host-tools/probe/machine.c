// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The probe's machine: 64-bit mode, 2 MiB of memory, the code of guest.S at CPL 3 and its handlers at CPL 0.
 * It has no interrupt controller, so HLT stops it, and the next VMRUN injects what KVM_INTERRUPT queues.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probe.h"

#define SIZE 0x200000
#define TABLES 0x1000 /* of four levels */
#define GDT 0x5000
#define TSS 0x5800
#define IDT 0x6000
#define KERNEL_STACK 0x8000
#define STACK 0xa000
#define RING_LINES 0x1000
#define MAX_CPUID 256

#define KCS 0x08
#define USS 0x1b /* SYSRET: STAR[63:48] + 8 */
#define UCS 0x23 /* + 16 */
#define STAR ((u64)(USS - 8) << 48 | (u64)KCS << 32)

extern const u8 in_out[], in_iret[], in_hlt[], in_syscall[], in_fault[];

static void write_gate(struct machine *m, u32 vector, const u8 *handler)
{
	u64 at = AT(handler);

	lwp_put64(m->mem + IDT + vector * 16,
		  (at & 0xffff) | KCS << 16 | 0xee00ull << 32 | at >> 16 << 48);
}

static void write_tables(struct machine *m)
{
	static const u64 gdt[] = { 0, 0x00af9b000000ffff, 0x00cf93000000ffff, 0x00cff3000000ffff,
				   0x00affb000000ffff };
	u64 *table = (u64 *)(m->mem + TABLES);

	for (u32 i = 0; i < 3; i++)
		table[i * 512] = (TABLES + (i + 1) * 0x1000) | 7;
	for (u32 i = 0; i < SIZE >> 12; i++)
		table[3 * 512 + i] = i << 12 == AT_HOLE ? 0 : (u64)i << 12 | 7;
	memcpy(m->mem + GDT, gdt, sizeof(gdt));
	lwp_put64(m->mem + TSS + 4, KERNEL_STACK);
	for (u32 i = 0; i < 256; i++)
		write_gate(m, i, in_fault);
	write_gate(m, 14, in_out);
	write_gate(m, VECTOR, in_out);
	write_gate(m, 0x80, in_out);
	write_gate(m, 0x81, in_iret);
	write_gate(m, 0x82, in_hlt);
	/* Pointers through all lines, each by another distance than the one before. */
	for (u32 i = 0; i < RING_LINES; i++)
		lwp_put64(m->mem + AT_RING + i * 64, AT_RING + (5 * i + 2345) % RING_LINES * 64);
	memcpy(m->mem + AT_CODE, guest, (size_t)(guest_end - guest));
}

/* Base, limit, selector, type, present, DPL, DB, S, L, G */
static const struct kvm_segment code = { 0, ~0u, UCS, 11, 1, 3, 0, 1, 1, 1 },
				data = { 0, ~0u, USS, 3, 1, 3, 1, 1, 0, 1 },
				task = { TSS, 0x67, 0x28, 11, 1 };

static bool set_up_vcpu(struct machine *m)
{
	struct {
		struct kvm_msrs head;
		struct kvm_msr_entry msr[3]; /* STAR, LSTAR, SFMASK */
	} msrs = { { 3 },
		   { { 0xc0000081, 0, STAR },
		     { 0xc0000082, 0, AT(in_syscall) },
		     { 0xc0000084, 0, 0x700 } } };
	struct kvm_cpuid2 *cpuid = calloc(1, sizeof(*cpuid) + MAX_CPUID * sizeof(*cpuid->entries));
	struct kvm_signal_mask *none = calloc(1, sizeof(*none) + 8);
	struct kvm_sregs *s = &m->sregs;

	cpuid->nent = MAX_CPUID;
	none->len = 8;
	if (ioctl(m->kvm, KVM_GET_SUPPORTED_CPUID, cpuid) ||
	    ioctl(m->vcpu, KVM_SET_CPUID2, cpuid) || ioctl(m->vcpu, KVM_SET_SIGNAL_MASK, none) ||
	    ioctl(m->vcpu, KVM_GET_SREGS, s))
		return false;
	s->cs = code;
	s->ss = s->ds = s->es = s->fs = s->gs = data;
	s->tr = task;
	s->gdt = (struct kvm_dtable){ .base = GDT, .limit = 0xff };
	s->idt = (struct kvm_dtable){ .base = IDT, .limit = 0xfff };
	s->cr0 = 0x80050033;
	s->cr3 = TABLES;
	s->cr4 = 0x6a0; /* PAE, PGE, OSFXSR, OSXMMEXCPT */
	s->efer = 0xd01; /* SCE, LME, LMA, NX */
	return !ioctl(m->vcpu, KVM_SET_SREGS, s) && ioctl(m->vcpu, KVM_SET_MSRS, &msrs) == 3;
}

static bool find_stats(struct machine *m)
{
	static u8 stats[0x10000];
	const struct kvm_stats_header *h = (void *)stats;
	const u8 *at;

	m->stats = ioctl(m->vcpu, KVM_GET_STATS_FD, NULL);
	if (pread(m->stats, stats, sizeof(stats) - 1, 0) < (ssize_t)sizeof(*h))
		return false;
	for (at = stats + h->desc_offset; at < stats + h->data_offset;
	     at += sizeof(struct kvm_stats_desc) + h->name_size) {
		const struct kvm_stats_desc *desc = (void *)at;

		if (!strcmp(desc->name, "exits"))
			m->exits = (long)h->data_offset + desc->offset;
		if (!strcmp(desc->name, "irq_exits"))
			m->irqs = (long)h->data_offset + desc->offset;
	}
	return m->exits && m->irqs;
}

const char *machine_new(struct machine *m)
{
	struct kvm_userspace_memory_region region = { .memory_size = SIZE };

	m->kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	if (m->kvm < 0)
		return "/dev/kvm";
	m->mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(m->mem, SIZE, MADV_NOHUGEPAGE); /* a page can be taken away alone */
	region.userspace_addr = (u64)m->mem;
	m->vm = ioctl(m->kvm, KVM_CREATE_VM, 0);
	if (m->vm < 0 || ioctl(m->vm, KVM_SET_USER_MEMORY_REGION, &region) ||
	    (m->vcpu = ioctl(m->vm, KVM_CREATE_VCPU, 0)) < 0)
		return "KVM makes no VM";
	m->run = mmap(NULL, (size_t)ioctl(m->kvm, KVM_GET_VCPU_MMAP_SIZE, 0),
		      PROT_READ | PROT_WRITE, MAP_SHARED, m->vcpu, 0);
	write_tables(m);
	if (!set_up_vcpu(m))
		return "KVM does not take the state of a vCPU";
	return find_stats(m) ? NULL : "KVM does not count exits, as it does since Linux 5.14";
}

void machine_start(struct machine *m, u64 rip, u64 rsi, u64 rcx)
{
	struct kvm_regs regs = { .rip = rip,
				 .rsi = rsi,
				 .rcx = rcx,
				 .rax = 0x9e3779b1,
				 .rsp = STACK,
				 .rflags = 0x3202 }; /* IOPL 3, IF */

	if (ioctl(m->vcpu, KVM_SET_SREGS, &m->sregs) || ioctl(m->vcpu, KVM_SET_REGS, &regs))
		abort();
}

int machine_run(struct machine *m)
{
	if (ioctl(m->vcpu, KVM_RUN, 0))
		return errno == EINTR ? STOP_SIGNAL : STOP_OTHER;
	if (m->run->exit_reason == KVM_EXIT_IO) {
		m->run->immediate_exit = 1; /* OUT is complete only when KVM_RUN is called again */
		ioctl(m->vcpu, KVM_RUN, 0);
		m->run->immediate_exit = 0;
		return m->run->io.port;
	}
	if (m->run->exit_reason == KVM_EXIT_HLT)
		return STOP_HLT;
	return m->run->exit_reason == KVM_EXIT_DEBUG ? STOP_DEBUG : STOP_OTHER;
}

void machine_exits(const struct machine *m, u64 exits[2])
{
	if (pread(m->stats, exits, 8, m->exits) + pread(m->stats, exits + 1, 8, m->irqs) != 16)
		abort();
}
