// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that is dead costs its VM nothing soon after, one that sleeps keeps its context, and another VM never
 * notices (43724-905).
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "kvm_vm.h"

#define WRITES 3000u /* of each register */
#define CALM 200u /* exits of a run without intercepts: interrupts of the host, the OUT */
#define ROUNDS 60u /* runs until exits must have ended; a run of them takes about a second */
#define SLEEP 5 /* seconds */

/* A program under LWP that stops with SYSCALL between its parts. */
PROGRAM(parts, "	nop\n"
	       "	nop\n"
	       "	syscall\n"
	       "	nop\n");

GUEST_CODE(off, "	xor %eax, %eax\n"
		"	llwpcb %rax\n"
		"	syscall\n");

/* A kernel in the other address space that switches a lot: writes of CR3, FS base and KernelGSBase, and WRFSBASE. */
GUEST_CODE(kernel, "	mov $3000, %ebx\n"
		   "1:	mov $0x18000, %eax\n" /* VM_CR3_OTHER */
		   "	mov %rax, %cr3\n"
		   "	mov $0x5000, %eax\n"
		   "	xor %edx, %edx\n"
		   "	mov $0xc0000100, %ecx\n"
		   "	wrmsr\n"
		   "	mov $0xc0000102, %ecx\n"
		   "	wrmsr\n"
		   "	wrfsbase %rax\n"
		   "	dec %ebx\n"
		   "	jnz 1b\n"
		   "	out %al, $0x50\n");

struct machine {
	struct vm *vm;
	struct vcpu *v;
};

static struct machine begin(void)
{
	struct machine m = { .vm = vm_new(true) };

	m.v = vm_add_vcpu(m.vm);
	block_init(m.vm, LWP_F_IRE, 128);
	block_event(m.vm, 2, 1000, 1000);
	vm_load(m.vm, parts, parts_end);
	memcpy(m.vm->mem + VM_DATA, kernel, (size_t)(kernel_end - kernel));
	vm_set_msr(m.v, FS_BASE, 0x1000);
	return m;
}

/* The kernel's loop; how many exits does it take? The vCPU is at CPL 0. */
static u64 exits(struct machine *m)
{
	u64 before = vm_stat(m->v, "exits");

	vm_go_to(m->v, VM_DATA);
	if (vm_run(m->vm, m->v) != 0x50)
		ok(false, "the kernel's loop");
	return vm_stat(m->v, "exits") - before;
}

/* The first part of the program, then its kernel in the other address space. */
static void profile(struct machine *m)
{
	is(vm_run(m->vm, m->v), VM_SYSCALL, "a program is profiled");
	vm_set_cr3(m->v, VM_CR3_OTHER);
}

/* Run the kernel's loop until it takes less exits. */
static bool calms_down(struct machine *m, u64 less)
{
	for (u32 i = 0; i < ROUNDS; i++)
		if (exits(m) < less)
			return true;
	return false;
}

static void loop_for(struct machine *m, time_t seconds)
{
	time_t end = time(NULL) + seconds;

	while (time(NULL) < end)
		exits(m);
}

static void a_dead_program_costs_nothing(void)
{
	struct machine m = begin(), other = begin();
	u64 before, stock;

	vm_start_kernel(other.vm, other.v, VM_DATA);
	stock = exits(&other);
	ok(stock < CALM, "a VM that is not profiled: %lu exits", stock);
	profile(&m);
	before = exits(&m);
	ok(before >= 3 * WRITES && before < 4 * WRITES,
	   "a VM that is profiled: %lu exits, one for each write, but none for WRFSBASE", before);
	stock = exits(&other);
	ok(stock < CALM, "the other VM meanwhile: %lu exits", stock);
	/* The program dies; its page tables are used for something else. */
	memset(m.vm->mem + VM_CR3, 0x5a, 0x5000);
	ok(calms_down(&m, CALM), "soon after the death of the program its VM has no more exits");
	stock = exits(&m);
	ok(stock < CALM, "and it stays so: %lu exits", stock);
	stock = exits(&other);
	ok(stock < CALM, "the other VM afterwards: %lu exits", stock);
	vm_free(m.vm);
	vm_free(other.vm);
}

static void back_to_the_program(struct machine *m, u64 ip)
{
	vm_set_cr3(m->v, VM_CR3);
	vm_set_msr(m->v, FS_BASE, 0x1000);
	vm_set_msr(m->v, 0xc0000102u, 0);
	vm_go_to(m->v, ip);
}

static void a_sleeping_program_keeps_its_context(bool swapped)
{
	struct machine m = begin();
	u64 ip, rcx, n;

	profile(&m);
	ip = m.v->regs.rip;
	rcx = m.v->regs.rcx;
	if (swapped)
		vm_map(m.vm, VM_BLOCK, false);
	loop_for(&m, SLEEP);
	n = exits(&m);
	ok(n >= 3 * WRITES, "it%s sleeps for %u times the age: %lu exits, it is still awaited",
	   swapped ? " is swapped out and" : "", SLEEP, n);
	if (swapped)
		vm_map(m.vm, VM_BLOCK, true);
	m.v->regs.rcx = rcx;
	back_to_the_program(&m, ip);
	ok(vm_finish(m.vm, m.v), "it wakes up");
	is(m.v->regs.rax, VM_BLOCK, "its block is there");
	is(1000 - block_counter(m.vm, 2), 3, "three NOPs counted");
	vm_free(m.vm);
}

/* The program in the other address space. */
static void run_there(struct machine *m, const char *what)
{
	vm_start(m->vm, m->v);
	vm_set_cr3(m->v, VM_CR3_OTHER);
	is(vm_run(m->vm, m->v), VM_SYSCALL, what);
}

static void only_where_a_program_is_profiled_wrfsbase_exits(void)
{
	struct machine m = begin();
	u64 n;

	profile(&m);
	run_there(&m, "and one in the other address space");
	n = exits(&m);
	ok(n >= 4 * WRITES, "%lu exits there, also for WRFSBASE", n);
	vm_load(m.vm, off, off_end);
	run_there(&m, "which ends that");
	ok(calms_down(&m, 4 * WRITES), "soon after WRFSBASE does not exit any more");
	n = exits(&m);
	ok(n >= 3 * WRITES, "the other program is still awaited: %lu exits", n);
	vm_free(m.vm);
}

int main(void)
{
	set_parameter("context_age", "1");
	a_dead_program_costs_nothing();
	a_sleeping_program_keeps_its_context(false);
	a_sleeping_program_keeps_its_context(true);
	only_where_a_program_is_profiled_wrfsbase_exits();
	return done();
}
