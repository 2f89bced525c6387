// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Contexts: the state follows address space and thread, also between vCPUs, without help from the
 * guest; and `os` contexts by MSR (43724-216, 43724-902, 43724-903,
 * 43724-907).
 */
#include "counted.h"
#include "texts.h"
#include "tracing.h"

static void begin_parts(void)
{
	begin_total(parts, parts_end);
	vm_set_msr(v, FS_BASE, 0x1000);
}

static void run_first_part(void)
{
	begin_parts();
	is(vm_run(vm, v), VM_SYSCALL, "first part");
}

/* The thread of the first part is switched away before the second. */
static void run_two_threads(void)
{
	run_first_part();
	vm_set_msr(v, FS_BASE, 0x2000);
	is(vm_run(vm, v), VM_SYSCALL, "second part, as another thread");
}

/* Code of the guest's kernel, which w runs next. */
static void go_to_kernel(struct vcpu *w, const u8 *from, const u8 *to)
{
	memcpy(vm->mem + VM_DATA, from, (size_t)(to - from));
	vm_go_to(w, VM_DATA);
}

/* Another thread of the same program runs its second part: nothing is counted for the first. */
TEST(another_fs_base_is_another_thread)
{
	run_two_threads();
	is(vm_get_msr(v, LWP_MSR_CBADDR), 0, "that thread has no block");
	vm_set_msr(v, FS_BASE, 0x1000);
	ok(vm_finish(vm, v), "third part, as the first thread again");
	is(v->regs.rax, VM_BLOCK, "whose block is there");
	total(3, "two NOPs and one counted");
}

/* The guest's kernel goes back to the program, as the thread with this GS base. */
static int run_as(u64 gs)
{
	v->regs.r8 = gs;
	vm_go_to(v, VM_DATA);
	return vm_run(vm, v);
}

/* LSTAR: as `windows`, with WRGSBASE. */
GUEST_CODE(wrgsbase, "	swapgs\n"
		     "	swapgs\n" /* as Linux writes the base that is not in use */
		     "	wrgsbase %r8\n"
		     "	swapgs\n"
		     "	swapgs\n"
		     "	sysretq\n");

/* FS base is the same for all; only what the kernel puts into GS before the return differs. */
static void another_gs_base_is_another_thread(const u8 *from, const u8 *to)
{
	begin_parts();
	memcpy(vm->mem + VM_DATA, from, (size_t)(to - from));
	vm_set_msr(v, KERNEL_GS_BASE, 0x40000000);
	vm_set_msr(v, GS_BASE, 0x1000);
	is(vm_run(vm, v), VM_SYSCALL, "first part");
	is(run_as(0x2000), VM_SYSCALL, "second part, as the thread with another GS base");
	is(vm_get_msr(v, LWP_MSR_CBADDR), 0, "that thread has no block");
	is(run_as(0x1000), VM_DONE, "third part, as the first thread again");
	is(v->regs.rax, VM_BLOCK, "whose block is there");
	total(3, "two NOPs and one counted");
}

/* 8 instructions, besides SYSENTER; SYSEXIT goes to offset 19. */
PROGRAM32(calls32, "	mov $3, %edi\n" /* 5 */
		   "	mov $0x100013, %edx\n" /* 10 */
		   "1:	mov %esp, %ecx\n" /* 15 */
		   "	sysenter\n" /* 17 */
		   "	dec %edi\n" /* 19 */
		   "	jnz 1b\n");

/* The guest's kernel goes back to the thread with this GS base. FS is null, its base another one's. */
static int run32_as(u64 gs)
{
	struct kvm_sregs s = vm_sregs(v);

	s.gs.base = gs;
	s.fs.selector = 0;
	s.fs.base = gs + 0x3000;
	vm_set_sregs(v, &s);
	return vm_run(vm, v);
}

TEST(another_gs_base_of_32_bit_code_is_another_thread)
{
	begin_total(calls32, calls32_end);
	vm_start32(vm, v);
	is(vm_run(vm, v), VM_SYSENTER, "first part of 32-bit code");
	is(run32_as(0x2000), VM_SYSENTER, "second part, as another thread");
	is(vm_get_msr(v, LWP_MSR_CBADDR), 0, "that thread has no block");
	is(run32_as(0), VM_SYSENTER, "third part, as the first thread again");
	is(vm_run(vm, v), VM_DONE, "to its end");
	is(v->regs.rax, VM_BLOCK, "whose block is there");
	total(8, "its own instructions counted");
}

TEST(another_cr3_is_another_address_space)
{
	run_first_part();
	vm_set_cr3(v, VM_CR3_OTHER);
	is(vm_run(vm, v), VM_SYSCALL, "second part in another address space");
	is(vm_get_msr(v, LWP_MSR_CBADDR), 0, "which has no block");
	vm_set_cr3(v, VM_CR3);
	ok(vm_finish(vm, v), "third part in the first one");
	total(3, "two NOPs and one counted");
}

/* Set the registers and FS base of w so that the thread continues there from where `from` stopped. */
static void go_on_at(struct vcpu *w, struct vcpu *from, u64 fs_base)
{
	struct kvm_sregs s = vm_sregs(from);

	s.tr.base = 0x3080;
	vm_set_sregs(w, &s);
	w->regs = from->regs;
	vm_set_regs(w);
	vm_set_msr(w, FS_BASE, fs_base);
}

/* Returns vCPU 1. */
static struct vcpu *run_on_two_vcpus(void)
{
	struct vcpu *w;

	begin_parts();
	w = vm_add_vcpu(vm);
	is(vm_run(vm, v), VM_SYSCALL, "first part on vCPU 0");
	go_on_at(w, v, 0x2000);
	is(vm_run(vm, w), VM_SYSCALL, "another thread on vCPU 1");
	return w;
}

/*
 * The thread moves to vCPU 1 while vCPU 0, where its state is live, does nothing at all. vCPU 1 has
 * run another thread before: a vCPU that has not switched since the first LLWPCB takes no context.
 */
TEST(a_thread_takes_its_context_to_another_vcpu)
{
	struct vcpu *w = run_on_two_vcpus();

	is(vm_get_msr(w, LWP_MSR_CBADDR), 0, "it has no block");
	go_on_at(w, v, 0x1000);
	is(vm_run(vm, w), VM_SYSCALL, "second part on vCPU 1");
	is(vm_get_msr(w, LWP_MSR_CBADDR), VM_BLOCK, "the block is there");
	is(vm_get_msr(v, LWP_MSR_CBADDR), 0, "and not on vCPU 0 any more");
	ok(vm_finish(vm, w), "third part on vCPU 1");
	total(6, "all six NOPs counted");
}

/* A kernel that switches to another address space and thread, and back. Runs at CPL 0. */
GUEST_CODE(kernel, "	mov $0x18000, %eax\n" /* VM_CR3_OTHER */
		   "	mov %rax, %cr3\n"
		   "	mov $0xc0000100, %ecx\n"
		   "	mov $0x7000, %eax\n"
		   "	xor %edx, %edx\n"
		   "	wrmsr\n"
		   "	mov $0xc0000106, %ecx\n"
		   "	rdmsr\n"
		   "	mov %eax, %r12d\n"
		   "	mov $0x10000, %eax\n" /* VM_CR3 */
		   "	mov %rax, %cr3\n"
		   "	mov $0xc0000100, %ecx\n"
		   "	mov $0x1000, %eax\n"
		   "	xor %edx, %edx\n"
		   "	wrmsr\n"
		   "	mov $0xc0000106, %ecx\n"
		   "	rdmsr\n"
		   "	mov %eax, %r13d\n"
		   "	out %al, $0x50\n");

/*
 * vCPU 1 is idle in its kernel, with CR3 and FS base of the thread that has moved on to vCPU 0, and
 * writes them once more. The context stays where the thread runs.
 */
TEST(an_idle_kernel_takes_no_context_away)
{
	struct vcpu *w = run_on_two_vcpus();

	go_to_kernel(w, kernel, kernel_end);
	is(vm_run(vm, w), 0x50, "whose kernel switches to the first thread");
	is(vm_get_msr(v, LWP_MSR_CBADDR), VM_BLOCK, "vCPU 0 has its block");
	is(vm_run(vm, v), VM_SYSCALL, "second part on vCPU 0");
	ok(vm_finish(vm, v), "third part");
	total(6, "all six NOPs counted");
}

/* A state whose block was changed while it was parked is dropped without a write. */
TEST(a_state_whose_block_is_gone_is_dropped)
{
	run_two_threads();
	vm_set_msr(v, FS_BASE, 0x1000);
	memset(vm->mem + VM_BLOCK, 0x5a, 64);
	ok(vm_finish(vm, v), "third part");
	is(v->regs.rax, 0, "the thread has no block");
	is(count_of(2), 0, "and nothing was written");
}

/* A kernel that is about to go back to the program. */
GUEST_CODE(returns, "	out %al, $0x50\n"
		    "	sysretq\n");

/* As while the guest's kernel moves the page: the thread does not have to be switched again. */
TEST(a_state_whose_block_cannot_be_read_comes_back)
{
	run_two_threads();
	vm_map(vm, VM_BLOCK, false);
	vm_set_msr(v, FS_BASE, 0x1000);
	go_to_kernel(v, returns, returns_end);
	is(vm_run(vm, v), 0x50, "a kernel about to go back to the first thread");
	is(vm_get_msr(v, LWP_MSR_CBADDR), 0, "whose block cannot be read");
	vm_remap(vm, VM_BLOCK, VM_BLOCK);
	ok(vm_finish(vm, v), "third part, with the block there again");
	is(v->regs.rax, VM_BLOCK, "the thread has its block");
	total(3, "and its third NOP counts");
}

/* The guest switches with MOV CR3 and WRMSR itself: both are noticed. */
TEST(guest_writes_of_cr3_and_fs_base_are_noticed)
{
	run_first_part();
	is(vm_sregs(v).cs.dpl, 0, "at CPL 0");
	go_to_kernel(v, kernel, kernel_end);
	is(vm_run(vm, v), 0x50, "the kernel switches there and back");
	is(v->regs.r12, 0, "RDMSR LWP_CBADDR after the switch away");
	is(v->regs.r13, VM_BLOCK, "and after the switch back");
}

/* A kernel that switches the address space and goes back to the program, with nothing else that exits. */
extern const u8 and_back[];
GUEST_CODE(there, "	mov $0x18000, %eax\n" /* VM_CR3_OTHER */
		  "	mov %rax, %cr3\n"
		  "	sysretq\n"
		  "and_back:\n"
		  "	mov $0x10000, %eax\n" /* VM_CR3 */
		  "	mov %rax, %cr3\n"
		  "	sysretq\n");

static int run_from(const u8 *code)
{
	vm_go_to(v, VM_DATA + (u64)(code - there));
	return vm_run(vm, v);
}

/* The state is resumed, or parked, before the first instruction after the switch. */
TEST(a_write_of_cr3_alone_is_noticed)
{
	begin_parts();
	memcpy(vm->mem + VM_DATA, there, (size_t)(there_end - there));
	is(vm_run(vm, v), VM_SYSCALL, "first part, two NOPs");
	is(run_from(there), VM_SYSCALL, "second part, in another address space");
	is(run_from(and_back), VM_DONE, "third part, one NOP");
	total(3, "what is counted is all that its address space has executed");
}

/* LSTAR: 500 switches to the other address space and back, by two forms of the instruction. */
GUEST_CODE(flushes, "	mov $500, %r9d\n"
		    "1:	mov $0x18000, %eax\n" /* VM_CR3_OTHER */
		    "	mov %rax, %cr3\n"
		    "	mov %cr3, %r13\n"
		    "	mov $0x10000, %r10d\n" /* VM_CR3 */
		    "	mov %r10, %cr3\n"
		    "	dec %r9d\n"
		    "	jnz 1b\n"
		    "	sysretq\n");

/* KVM's own handler of MOV CR3 has all translations of the guest flushed, global ones too. */
TEST(mov_cr3_flushes_only_what_it_says)
{
	u64 before;

	run_first_part();
	before = vm_stat(v, "tlb_flush");
	go_to_kernel(v, flushes, flushes_end);
	is(vm_run(vm, v), VM_SYSCALL, "second part, after a thousand switches");
	is(v->regs.r13, VM_CR3_OTHER, "which are switches");
	is(vm_stat(v, "tlb_flush") - before, 0, "guests' TLBs flushed by KVM");
	ok(vm_finish(vm, v), "third part");
	total(6, "all six NOPs counted");
}

/* LSTAR: a bit that no CR3 has. */
GUEST_CODE(wrong, "	mov $1, %eax\n"
		  "	shl $62, %rax\n"
		  "	mov %rax, %cr3\n"
		  "	sysretq\n");

TEST(a_wrong_cr3_raises_gp)
{
	run_first_part();
	go_to_kernel(v, wrong, wrong_end);
	is(vm_run(vm, v), 13, "#GP");
	is(vm_frame(vm, v, 13).rip, VM_DATA + 9, "of MOV CR3");
	is(vm_sregs(v).cr3, VM_CR3, "which changes nothing");
}

/* A program whose thread has this FS base, and two more in r8 and r9. */
static void begin_bases(const u8 *from, const u8 *to, u64 fs, u64 r8, u64 r9)
{
	begin_total(from, to);
	vm_start(vm, v);
	vm_set_msr(v, FS_BASE, fs);
	v->regs.r8 = r8;
	v->regs.r9 = r9;
	vm_set_regs(v);
}

/* The thread comes to a vCPU that has its FS base already. */
TEST(a_write_of_the_same_fs_base_is_noticed)
{
	struct vcpu *w;
	u64 rip;

	begin_parts();
	w = vm_add_vcpu(vm);
	vm_set_cr3(v, VM_CR3_OTHER);
	is(vm_run(vm, v), VM_SYSCALL, "a program is profiled on vCPU 0");
	go_on_at(w, v, 0x1000);
	vm_set_cr3(w, VM_CR3);
	go_to_kernel(w, wrfsbase, wrfsbase_end);
	is(vm_run(vm, w), 0x50, "vCPU 1 is in its kernel, with another's CR3 and FS base");
	rip = w->regs.rip;
	vm_start(vm, v);
	vm_set_msr(v, FS_BASE, 0x1000);
	is(vm_run(vm, v), VM_SYSCALL, "which is profiled now on vCPU 0");
	w->regs = v->regs;
	w->regs.r8 = 0x1000;
	vm_go_to(w, rip);
	is(vm_run(vm, w), VM_SYSCALL, "and comes to vCPU 1");
	is(vm_get_msr(w, LWP_MSR_CBADDR), VM_BLOCK, "where its block is");
}

/* r8, r9: values to write */
PROGRAM(bases, "	rdfsbase %r10\n"
	       "	wrgsbase %r8\n"
	       "	rdgsbase %r11\n"
	       "	.byte 0x2e\n" /* a prefix without effect */
	       "	rdgsbase %r12d\n"
	       "	wrfsbase %r8d\n"
	       "	rdfsbase %r13\n"
	       "	wrfsbase %r9\n");

PROGRAM32(wrfsbase32, "	.byte 0xf3, 0x0f, 0xae, 0xd0\n");

TEST(fs_and_gs_bases_are_as_without_lwp)
{
	struct kvm_sregs s;

	begin_bases(bases, bases_end, 0xffff800000001000, 0x7ffe12345678, 0x800000000000);
	is(vm_run(vm, v), 13, "#GP");
	is(vm_frame(vm, v, 13).rip, VM_CODE + (u64)(bases_end - bases) - 12, "of WRFSBASE");
	is(v->regs.r10, 0xffff800000001000, "RDFSBASE");
	is(v->regs.r11, 0x7ffe12345678, "WRGSBASE and RDGSBASE");
	is(v->regs.r12, 0x12345678, "of 32 bits");
	is(v->regs.r13, 0x12345678, "WRFSBASE of 32 bits clears the high half");
	s = vm_sregs(v);
	is(s.fs.base, 0x12345678, "the last FS base");
	is(s.gs.base, 0x7ffe12345678, "the last GS base");
	is(s.cr4 & 0x10000, 0x10000, "CR4.FSGSBASE is set");
	s.cr4 &= ~0x10000ull;
	vm_start(vm, v);
	vm_set_sregs(v, &s);
	is(vm_run(vm, v), 6, "it is clear: #UD");

	begin_total(wrfsbase32, wrfsbase32_end);
	vm_start32(vm, v);
	s = vm_sregs(v);
	s.cr4 |= 0x10000;
	s.tr.type = 9; /* as in vm_start32(); KVM_GET_SREGS says busy */
	vm_set_sregs(v, &s);
	is(vm_run(vm, v), 6, "and #UD in 32-bit code");
}

PROGRAM(on_off, "	mov $200, %ecx\n"
		"1:	xor %r11d, %r11d\n"
		"	llwpcb %r11\n"
		"	llwpcb %rbx\n"
		"	loop 1b\n");

PROGRAM32(on_off32, "	mov $200, %ecx\n"
		    "1:	xor %esi, %esi\n"
		    "	llwpcb %esi\n"
		    "	llwpcb %ebx\n"
		    "	loop 1b\n");

static void stops(const char *what)
{
	unsigned int before = probe_hits("requests"), n;

	run_to_end();
	n = probe_hits("requests") - before;
	ok(n >= 1 && n <= 10, "%s goes off and on 200 times, and stops all vCPUs %u times", what,
	   n);
}

/* To have all vCPUs watch stops them. */
TEST(a_program_cannot_stop_other_vcpus)
{
	probe("requests", "kvm_make_all_cpus_request");
	begin_total(on_off, on_off_end);
	vm_add_vcpu(vm);
	stops("LWP");
	vm_start(vm, v);
	vm_set_cr3(v, VM_CR3_OTHER);
	stops("LWP in another address space");
	vm_load(vm, on_off32, on_off32_end);
	vm_start32(vm, v);
	stops("LWP in 32-bit code");
}

int main(void)
{
	another_gs_base_is_another_thread(windows, windows_end);
	another_gs_base_is_another_thread(wrgsbase, wrgsbase_end);
	ok(says("row", "instructions: stepped: lwp_source is not perf\n"),
	   "what steps is not perf");
	run_tests();
	return done();
}
