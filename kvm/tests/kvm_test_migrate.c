// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Saving and restoring: the test moves everything that user space saves of a VM into a new one, at
 * any instruction boundary and with any contents of the guest's memory (43724-304, 43724-310,
 * 43724-715).
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include "counted.h"
#include "texts.h"
#include "lwp_state.h"

/* The VM's contexts. The caller frees their memory. */
static int get_contexts(struct vm *of, struct kvm_lwp_contexts *c)
{
	int r;

	*c = (struct kvm_lwp_contexts){ .format = KVM_LWP_CONTEXTS_FORMAT };
	r = lwp_get(of, VM, CONTEXTS, c);
	if (r == -ENOSPC) {
		c->addr = (u64)malloc(c->size);
		r = lwp_get(of, VM, CONTEXTS, c);
	}
	return r;
}

/* Move the state of LWP as QEMU does. */
static int carry_lwp(struct vm *old, struct vm *new)
{
	struct vcpu *from = &old->vcpu[0], *to = &new->vcpu[0];
	struct kvm_lwp_contexts c;
	struct kvm_lwp_live live;
	u8 image[LWP_IMAGE_SIZE];
	int r = get_contexts(old, &c);

	r |= lwp_get(from, VCPU, IMAGE, image);
	r |= lwp_get(from, VCPU, LIVE, &live);
	/* The state of a live context is among the contexts; LWP_CFG is the vCPU's. */
	if (live.flags & KVM_LWP_LIVE) {
		memset(image, 0, LWP_IMAGE_CFG);
		lwp_put64(image + LWP_IMAGE_RETRY_RIP, 0);
	}
	r |= lwp_set(new, VM, CONTEXTS, &c);
	r |= lwp_set(to, VCPU, IMAGE, image);
	r |= lwp_set(to, VCPU, LIVE, &live);
	free((void *)c.addr);
	return r;
}

/* Move the VM into a new one. */
static struct vm *migrate(struct vm *old, u32 context)
{
	u32 m, msrs[] = { 0xc0000081, 0xc0000082, 0xc0000084, FS_BASE, LWP_MSR_CFG };
	struct vcpu *from = &old->vcpu[0], *to;
	struct vm *new = vm_new_unasked(true);
	struct kvm_vcpu_events events;
	struct kvm_sregs s;
	int r;

	vm_ask_for_lwp(new, (struct kvm_lwp_policy){ .context = context });
	to = vm_add_vcpu(new);
	memcpy(new->mem, old->mem, VM_SIZE);
	s = vm_sregs(from);
	to->regs = from->regs;
	vm_set_regs(to);
	r = ioctl(to->fd, KVM_SET_SREGS, &s);
	for (m = 0; m < sizeof(msrs) / sizeof(msrs[0]); m++)
		vm_set_msr(to, msrs[m], vm_get_msr(from, msrs[m]));
	r |= carry_lwp(old, new);
	r |= ioctl(from->fd, KVM_GET_VCPU_EVENTS, &events);
	r |= ioctl(to->fd, KVM_SET_VCPU_EVENTS, &events);
	if (r)
		ok(false, "state is carried over: %d", r);
	vm_free(old);
	return new;
}

static void begin_with(const u8 *from, const u8 *to, u32 context)
{
	vm_free(vm);
	vm = vm_new_unasked(true);
	vm_ask_for_lwp(vm, (struct kvm_lwp_policy){ .context = context });
	v = vm_add_vcpu(vm);
	block_init(vm, LWP_F_IRE, 128);
	block_event(vm, 2, 1000, 1000);
	vm_load(vm, from, to);
	vm_set_msr(v, FS_BASE, 0x1000);
}

static void move(u32 context)
{
	vm = migrate(vm, context);
	v = &vm->vcpu[0];
}

/* Counted: MOV, then NOP, MOV, DEC, MOV, JNZ in each round. */
PROGRAM(long_run, "	mov $9, %ecx\n"
		  "1:	nop\n"
		  "	syscall\n"
		  "	mov %r8, %rcx\n"
		  "	dec %rcx\n"
		  "	mov %rcx, %r8\n"
		  "	jnz 1b\n");

/*
 * Nine rounds, a migration in each: 1 + 9 * 5 instructions. Interval 6, counter 6: records at the
 * 7th, 14th ... 42nd; the 46 leave 6 - 4 = 2.
 */
static void nothing_is_lost_when_the_vm_migrates_all_the_time(void)
{
	int stop, rounds = 0;

	begin_with(long_run, long_run_end, KVM_LWP_CONTEXT_AUTO);
	block_event(vm, 2, 6, 6);
	v->regs.r8 = 9;
	vm_set_regs(v);
	while ((stop = vm_run(vm, v)) == VM_SYSCALL && rounds < 20) {
		move(KVM_LWP_CONTEXT_AUTO);
		rounds++;
	}
	is(stop, VM_DONE, "the program runs to its end");
	is(rounds, 9, "nine migrations");
	is(block_head(vm), 6, "six records");
	is(block_counter(vm, 2), 2, "and the rest in the counter");
}

/* While the block cannot be read, a lookup leaves the context parked and nothing counts. */
static void saving_takes_no_context_away(void)
{
	struct kvm_lwp_contexts c;

	begin_with(parts, parts_end, KVM_LWP_CONTEXT_AUTO);
	is(vm_run(vm, v), VM_SYSCALL, "first part");
	vm_map(vm, VM_BLOCK, false);
	is(get_contexts(vm, &c), 0, "its contexts are read, while its block is gone");
	is(c.size, LWP_CTX_ENTRY_SIZE, "there is one");
	is(lwp_get32((u8 *)c.addr + LWP_CTX_ENTRY_IMAGE + LWP_IMAGE_COUNTERS + 4), 998,
	   "with what has been counted");
	free((void *)c.addr);
	is(vm_get_msr(v, LWP_MSR_CBADDR), VM_BLOCK, "LWP is still on");
	is(vm_run(vm, v), VM_SYSCALL, "second part");
	vm_map(vm, VM_BLOCK, true);
	ok(vm_finish(vm, v), "third part");
	total(6, "six NOPs counted, also those while its block is gone");
}

static void a_live_context_needs_no_memory_to_go_on(void)
{
	begin_with(parts, parts_end, KVM_LWP_CONTEXT_AUTO);
	is(vm_run(vm, v), VM_SYSCALL, "first part");
	vm_map(vm, VM_BLOCK, false);
	vm_map(vm, VM_RING, false);
	move(KVM_LWP_CONTEXT_AUTO);
	is(vm_get_msr(v, LWP_MSR_CBADDR), VM_BLOCK, "the context is taken up without a look");
	is(vm_run(vm, v), VM_SYSCALL, "second part in the new VM");
	vm_map(vm, VM_BLOCK, true);
	vm_map(vm, VM_RING, true);
	ok(vm_finish(vm, v), "third part");
	total(6, "all six NOPs counted");
}

/* A context that is parked when the VM is saved is found again, in the new VM as in the old one. */
static void a_parked_context_is_found_again(void)
{
	begin_with(parts, parts_end, KVM_LWP_CONTEXT_AUTO);
	is(vm_run(vm, v), VM_SYSCALL, "first part");
	vm_set_msr(v, FS_BASE, 0x2000);
	is(vm_run(vm, v), VM_SYSCALL, "second part, as another thread");
	move(KVM_LWP_CONTEXT_AUTO);
	is(vm_get_msr(v, LWP_MSR_CBADDR), 0, "that thread has no block");
	vm_set_msr(v, FS_BASE, 0x1000);
	ok(vm_finish(vm, v), "third part, as the first thread");
	total(3, "two NOPs and one counted");
}

/* The program's kernel switches LWP by MSR, away and back, and returns to the program. */
GUEST_CODE(os_switch, "	mov %rcx, %r10\n"
		      "	mov $0xc0000106, %ecx\n"
		      "	rdmsr\n"
		      "	wrmsr\n"
		      "	mov %r10, %rcx\n"
		      "	out %al, $0x50\n"
		      "	sysretq\n");

/*
 * os: RDMSR has parked the state, WRMSR has written the pointer back, and CPL 3 has not been
 * reached when the VM is saved. If KVM read the block again, the counter would be 1000 again.
 */
static void a_pointer_that_was_written_finds_its_state(void)
{
	begin_with(parts, parts_end, KVM_LWP_CONTEXT_OS);
	vm_set_msr(v, LWP_MSR_CFG, LWP_F_IRE);
	is(vm_run(vm, v), VM_SYSCALL, "first part");
	memcpy(vm->mem + VM_DATA, os_switch, (size_t)(os_switch_end - os_switch));
	v->regs.rip = VM_DATA;
	vm_set_regs(v);
	is(vm_run(vm, v), 0x50, "the kernel switches");
	move(KVM_LWP_CONTEXT_OS);
	is(vm_run(vm, v), VM_SYSCALL, "second part in the new VM");
	ok(vm_finish(vm, v), "third part");
	total(6, "its own state continues: six NOPs counted");
}

/*
 * Each NOP stores a record, and the ring is not mapped: the first store faults before the second
 * NOP. The test, as the kernel, returns there, and saves the VM before anything has run.
 */
static void faulted_and_about_to_return(u64 *rip, u8 shadow)
{
	struct kvm_vcpu_events events;
	struct kvm_sregs user;
	struct vm_frame f;

	begin_with(parts, parts_end, KVM_LWP_CONTEXT_AUTO);
	block_event(vm, 2, 0, 0);
	vm_map(vm, VM_RING, false);
	user = vm_sregs(v);
	is(vm_run(vm, v), 14, "the store faults");
	f = vm_frame(vm, v, 14);
	*rip = f.rip;
	vm_set_sregs(v, &user);
	vm_set_msr(v, FS_BASE, 0x1000);
	v->regs.rip = f.rip;
	v->regs.rsp = f.rsp;
	v->regs.rflags = f.rflags;
	vm_set_regs(v);
	ioctl(v->fd, KVM_GET_VCPU_EVENTS, &events);
	events.interrupt.shadow = shadow;
	ioctl(v->fd, KVM_SET_VCPU_EVENTS, &events);
	move(KVM_LWP_CONTEXT_AUTO);
}

static void a_return_to_the_program_that_was_saved_tries_again(void)
{
	u64 rip;

	faulted_and_about_to_return(&rip, 0);
	is(vm_run(vm, v), 14, "it faults in the new VM");
	is(vm_frame(vm, v, 14).rip, rip, "at once: the store is tried again where it faulted");
}

static void nothing_is_stored_in_a_shadow_that_was_saved(void)
{
	u64 rip;

	faulted_and_about_to_return(&rip, KVM_X86_SHADOW_INT_MOV_SS);
	is(vm_run(vm, v), 14, "it faults in the new VM");
	is(vm_frame(vm, v, 14).rip, rip + 1, "one NOP later, not in the shadow of MOV SS");
}

int main(void)
{
	nothing_is_lost_when_the_vm_migrates_all_the_time();
	saving_takes_no_context_away();
	a_live_context_needs_no_memory_to_go_on();
	a_parked_context_is_found_again();
	a_pointer_that_was_written_finds_its_state();
	a_return_to_the_program_that_was_saved_tries_again();
	nothing_is_stored_in_a_shadow_that_was_saved();
	return done();
}
