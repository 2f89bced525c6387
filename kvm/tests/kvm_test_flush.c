// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * kvm_test_flush [SECONDS]: a guest's kernel takes the pages of rings away, as one under Hyper-V does: it maps others,
 * flushes the other vCPUs' TLBs by a hypercall, and uses the pages for something else. It need not wait for a vCPU that
 * KVM is working for at that time; and the four programs have KVM store records all the time (43724-608).
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "counted.h"

#define PAGE 4096
#define PROGRAMS 4
#define PAGES 32 /* the rings', and those that have another use */
#define POOL 0x2a0000 /* where they are */
#define OTHER_USE 0xa5 /* all bytes of a page that has one */

#define HYPERV 0x31237648 /* the signature in CPUID */
#define HYPERV_LEAF 0x40000001
#define HYPERV_OS_ID 0x40000000 /* an MSR */
#define FLUSH_FAST 0x10002 /* HvCallFlushVirtualAddressSpace, operands in registers */
#define FLUSH_ALL 3 /* all address spaces, all processors */
#define FLUSHED 0x55 /* vm_run(): the kernel has done so */

PROGRAM(stores, "1:	lwpins $0, %ecx, %edx\n"
		"	jmp 1b\n");
GUEST_CODE(flusher, "1:	vmmcall\n"
		    "	out %al, $0x55\n"
		    "	jmp 1b\n");

static u8 other_use[PAGE];
static u32 turn;

static void begin_program(u32 i, u64 ring)
{
	struct vcpu *program = vm_add_vcpu(vm);
	u8 *block = vm->mem + VM_BLOCK + i * PAGE;

	memcpy(block, vm->mem + VM_BLOCK, PAGE);
	lwp_put64(block + LWP_CB_BASE, VM_RING + i * PAGE);
	vm_remap(vm, VM_RING + i * PAGE, ring);
	program->regs.rbx = VM_BLOCK + i * PAGE;
	vm_set_regs(program);
	vm_set_msr(program, FS_BASE, 0x1000 * (i + 1));
}

static struct vcpu *begin_kernel(void)
{
	struct vcpu *kernel = vm_add_vcpu(vm);

	memcpy(vm->mem + VM_DATA, flusher, (size_t)(flusher_end - flusher));
	vm_start_kernel(vm, kernel, VM_DATA);
	vm_set_msr(kernel, HYPERV_OS_ID, 1);
	kernel->regs.rcx = FLUSH_FAST;
	kernel->regs.rdx = 0;
	kernel->regs.r8 = FLUSH_ALL;
	vm_set_regs(kernel);
	return kernel;
}

static void *page_at(u32 i)
{
	return vm->mem + POOL + (i % PAGES) * PAGE;
}

/* The kernel, until a time. The rings move on through the pages. */
static bool take_pages_away(struct vcpu *kernel, time_t until)
{
	for (; time(NULL) < until; turn++) {
		u32 to = turn + PROGRAMS;

		if (to >= PAGES && memcmp(page_at(to), other_use, PAGE)) {
			diag("turn %u: something was stored in a page that had another use", turn);
			return false;
		}
		vm_remap(vm, VM_RING + turn % PROGRAMS * PAGE, POOL + to % PAGES * PAGE);
		if (vm_run_interruptible(vm, kernel) != FLUSHED || kernel->regs.rax & 0xffff) {
			diag("turn %u: the hypercall's result is 0x%lx", turn,
			     (u64)kernel->regs.rax);
			return false;
		}
		memcpy(page_at(turn), other_use, PAGE);
	}
	return true;
}

int main(int argc, char **argv)
{
	time_t until = time(NULL) + (argc > 1 ? atol(argv[1]) : 60);
	struct vcpu *kernel;
	u64 records = 0;
	bool good;
	u32 i;

	memset(other_use, OTHER_USE, PAGE);
	vm = vm_new(true);
	vm_leaf(vm, HYPERV_LEAF)->eax = HYPERV;
	vm_load(vm, stores, stores_end);
	block_init(vm, LWP_F_CONT, PAGE / LWP_RECORD_SIZE);
	for (i = 0; i < PROGRAMS; i++)
		begin_program(i, POOL + i * PAGE);
	kernel = begin_kernel();
	for (i = 0; i < PROGRAMS; i++)
		vm_run_beside(&vm->vcpu[i]);
	good = take_pages_away(kernel, until);
	for (i = 0; i < PROGRAMS; i++) {
		vm_stop(&vm->vcpu[i]);
		records += vm_stat(&vm->vcpu[i], "lwp_records");
	}
	ok(good && turn > PAGES, "%u pages of rings taken away, nothing is stored in them", turn);
	ok(records > turn, "%lu records meanwhile", records);
	vm_free(vm);
	return done();
}
