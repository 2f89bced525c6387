/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A very small virtual machine on /dev/kvm for tests: one or more vCPUs in 64-bit mode, 4 MiB of identity
 * mapped memory that programs may use, an IDT that reports every exception, and TAP.
 */
#ifndef VM_H
#define VM_H

#include <linux/kvm.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "lwp_kvm.h"
#include "lwp_cb.h"
#include "lwp_msr.h"
#include "lwp_record.h"

/* Where things are in guest memory; linear = physical. */
#define VM_SIZE 0x400000
#define VM_KSTACK_TOP 0x30000 /* of vCPU 0; each further one 0x1000 lower */
#define VM_CODE 0x100000 /* the program, CPL 3 */
#define VM_BLOCK 0x200000 /* the LWPCB */
#define VM_RING 0x210000
#define VM_STACK_TOP 0x290000
#define VM_DATA 0x300000
#define VM_APIC 0x3ff000 /* registers of the local APIC */
#define VM_CR3 0x10000
#define VM_CR3_OTHER 0x18000 /* another address space with the same contents */

/* MSRs of the guest's kernel. */
#define LSTAR 0xc0000082u
#define FS_BASE 0xc0000100u
#define GS_BASE 0xc0000101u
#define KERNEL_GS_BASE 0xc0000102u

/* The result of vm_run(): an exception or interrupt vector, or one of these. */
#define VM_SYSCALL 0x100 /* the program executed SYSCALL; the kernel is about to SYSRET */
#define VM_DEBUG 0x101 /* KVM_EXIT_DEBUG */
#define VM_HALT 0x102
#define VM_TIMEOUT 0x103 /* or interrupted by a signal */
#define VM_MMIO 0x104
#define VM_SYSENTER 0x105 /* 32-bit program; the kernel is about to SYSEXIT to EDX, ECX */
#define VM_EOI_VECTOR 0x42 /* its handler ends the interrupt at the local APIC; all others do not */
#define VM_DONE 0x80 /* INT 80h: the program's last instruction */

struct vcpu {
	int fd;
	struct kvm_run *run;
	struct kvm_regs regs; /* after vm_run() */
	pthread_t thread; /* vm_run_beside() */
	bool over;
};

struct vm {
	int kvm, fd;
	u8 *mem;
	unsigned int vcpus;
	struct vcpu vcpu[5];
	struct kvm_cpuid2 *cpuid;
};

/* The kernel's stack frame of the exception that vm_run() returned. */
struct vm_frame {
	u64 error, rip, cs, rflags, rsp, ss;
};

/* Machine without vCPUs that has LWP if the host has, with `exact` delivery. `apic`: in-kernel irqchip. */
struct vm *vm_new(bool apic);
/* The same made as by a VMM that does not know LWP: CPUID is what KVM supports. */
struct vm *vm_new_unasked(bool apic);
/* Ask for LWP of this policy and announce all that the host offers for it, before the first vCPU: 0 or -errno. */
int vm_ask_for_lwp(struct vm *vm, struct kvm_lwp_policy policy);
/* The first entry of a function in the CPUID of the vCPUs to come; NULL: there is none. */
struct kvm_cpuid_entry2 *vm_leaf(struct vm *vm, u32 function);
void vm_free(struct vm *vm); /* NULL: nothing to do */
/* One more vCPU with the machine's CPUID; it starts at VM_CODE, CPL 3. */
struct vcpu *vm_add_vcpu(struct vm *vm);
/* The program: position-independent code from..to, copied to VM_CODE. */
void vm_load(struct vm *vm, const void *from, const void *to);
/* vCPU at VM_CODE with fresh registers. */
void vm_start(struct vm *vm, struct vcpu *v);
/* The same in 32-bit protected mode without paging. */
void vm_start32(struct vm *vm, struct vcpu *v);
/* The same at CPL 0 with EFER.SVME, at rip. */
void vm_start_kernel(struct vm *vm, struct vcpu *v, u64 rip);
int vm_run(struct vm *vm, struct vcpu *v);
/* The same without a time limit, for callers that have a timer of their own. */
int vm_run_interruptible(struct vm *vm, struct vcpu *v);
/* The same in a thread of its own, again and again, until vm_stop(). */
void vm_run_beside(struct vcpu *v);
void vm_stop(struct vcpu *v);
/* vm_run() until the program is done. Any other stop is a failure, and the result is false. */
bool vm_finish(struct vm *vm, struct vcpu *v);
struct vm_frame vm_frame(const struct vm *vm, const struct vcpu *v, int vector);
/* Address of a label of the loaded program. */
#define VM_AT(prog, label) (VM_CODE + (u64)((const u8 *)(label) - (const u8 *)(prog)))
/* Map a page (4 KiB) of both address spaces not present, or again. */
void vm_map(struct vm *vm, u64 addr, bool present);
/* Map a page to another physical address, before the vCPUs run. */
void vm_remap(struct vm *vm, u64 addr, u64 physical);

/* The kernel's handler of a vector: position-independent 64-bit code from..to instead of the report. */
void vm_handler(struct vm *vm, int vector, const void *from, const void *to);

/* The local APIC as firmware leaves it: enabled by its spurious-vector register. */
void vm_apic_on(struct vcpu *v);
/* One of its registers, by its offset. */
void vm_apic_set(struct vcpu *v, u32 reg, u32 value);
/* Does the local APIC have an interrupt requested? */
bool vm_apic_pending(struct vcpu *v, u8 vector);
/* An interrupt for vCPU 0 from a device. */
void vm_interrupt(struct vm *vm, u8 vector);

/* A statistic of KVM's for the vCPU, by name; ~0 = there is none. */
u64 vm_stat(struct vcpu *v, const char *name);

/* KVM_*_DEVICE_ATTR of a machine or a vCPU: 0 or -errno. */
int vm_attr(int fd, unsigned long request, u32 group, u64 number, void *addr);
/* The same with KVM_LWP_VM_name of a machine, or KVM_LWP_VCPU_name of a vCPU. */
#define lwp_get(of, group, name, to) \
	vm_attr((of)->fd, KVM_GET_DEVICE_ATTR, KVM_LWP_##group, KVM_LWP_##group##_##name, to)
#define lwp_set(of, group, name, from) \
	vm_attr((of)->fd, KVM_SET_DEVICE_ATTR, KVM_LWP_##group, KVM_LWP_##group##_##name, from)
/* Why it has no LWP, KVM_LWP_REFUSED_*. */
u32 vm_lwp_status(struct vcpu *v);
u64 vm_get_msr(struct vcpu *v, u32 msr);
int vm_set_msr(struct vcpu *v, u32 msr, u64 value);
void vm_set_regs(struct vcpu *v);
/* The same with another rip. */
void vm_go_to(struct vcpu *v, u64 rip);
struct kvm_sregs vm_sregs(struct vcpu *v);
void vm_set_sregs(struct vcpu *v, const struct kvm_sregs *s);
void vm_set_cr3(struct vcpu *v, u64 cr3);
/* User space debugs the guest, KVM_GUESTDBG_*, 0: no more; with a breakpoint of the processor before `at`. */
void vm_debug(struct vcpu *v, u32 control, u64 at);

/* A block at VM_BLOCK, ring of `records` records at VM_RING; events are enabled one by one. */
void block_init(struct vm *vm, u32 flags, u32 records);
void block_event(struct vm *vm, u32 id, u32 interval, u32 counter);
u32 block_counter(const struct vm *vm, u32 id);
u32 block_head(const struct vm *vm); /* in records */
struct lwp_record ring_record(const struct vm *vm, u32 index);

/* Position-independent code, from `name` to `name`_end. */
#define GUEST_CODE(name, text)                \
	extern const u8 name[], name##_end[]; \
	asm(".pushsection .text\n" #name ":\n" text #name "_end:\n.popsection\n")

/* A program under LWP. LLWPCB is 5 bytes: the text begins at offset 5. */
#define PROGRAM(name, text) \
	GUEST_CODE(name, "	llwpcb %rbx\n" text "	slwpcb %rax\n	int $0x80\n")

/* The same in 32-bit code. */
#define PROGRAM32(name, text)                               \
	GUEST_CODE(name, ".code32\n	llwpcb %ebx\n" text \
			 "	slwpcb %eax\n	int $0x80\n.code64\n")

/*
 * A parameter of kvm_amd, a file of its LWP in debugfs, or a sysctl of the kernel, whose value is the first line: the
 * value; whether it has this one; write it; set it, until the program ends.
 */
void read_parameter(const char *name, char *to, size_t size);
bool parameter_is(const char *name, const char *value);
void need_source(const char *source); /* of kvm-amd: all is skipped without it */
bool write_parameter(const char *name, const char *value);
void set_parameter(const char *name, const char *value);
/*
 * Samples in a second, above which perf throttles. The kernel takes it only while it may lower it by itself, which it
 * may not afterwards.
 */
void set_sample_rate(const char *rate);
/* Is there a line that begins so? */
bool says(const char *name, const char *line);
/*
 * The same with lwp_row, of which all stays but the lateness: `exact` steps so many instructions before a record, at
 * least 2; 0: a margin that follows the interrupts.
 */
void set_margin(unsigned int margin);

/* TAP */
__attribute__((format(printf, 2, 3))) void ok(bool good, const char *format, ...);
#define is(got, want, what)                                                           \
	do {                                                                          \
		u64 g_ = (u64)(got), w_ = (u64)(want);                                \
		ok(g_ == w_, "%s: 0x%lx%s", (what), g_, g_ == w_ ? "" : " is wrong"); \
		if (g_ != w_)                                                         \
			diag("wanted 0x%lx (%s:%d)", w_, __FILE__, __LINE__);         \
	} while (0)
#define diag(format, ...) printf("# " format "\n", ##__VA_ARGS__)
#define skip_all(format, ...) (printf("1..0 # SKIP " format "\n", ##__VA_ARGS__), exit(77))
int done(void);

/* A test: run_tests() runs all of a program, in their order. */
#define TEST(name)                                                   \
	static void name(void);                                      \
	static __attribute__((constructor)) void name##_is_one(void) \
	{                                                            \
		add_test(name);                                      \
	}                                                            \
	static void name(void)
void add_test(void (*test)(void));
void run_tests(void);

#endif
