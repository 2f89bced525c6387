// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Saving and restoring: the test moves everything that user space saves of a VM into a new one, at
 * any instruction boundary and with any contents of the guest's memory (43724-304, 43724-310,
 * 43724-715).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "counted.h"
#include "texts.h"
#include "tracing.h"
#include "lwp_state.h"

/* What user space saves of a VM. */
static struct saved {
	struct kvm_regs regs;
	struct kvm_sregs sregs;
	struct kvm_vcpu_events events;
	u64 msr[5];
	struct kvm_lwp_live live;
	struct kvm_lwp_contexts contexts;
	u8 image[LWP_IMAGE_SIZE], array[4 * LWP_CTX_ENTRY_SIZE], mem[VM_SIZE];
} saved;

static const u32 msrs[] = { 0xc0000081, 0xc0000082, 0xc0000084, FS_BASE, LWP_MSR_CFG };

/* LWP as QEMU does it. */
static void save(void)
{
	struct saved *s = &saved;
	struct kvm_lwp_contexts *c = &s->contexts;
	int r;

	*c = (struct kvm_lwp_contexts){ .format = KVM_LWP_CONTEXTS_FORMAT };
	r = lwp_get(vm, VM, CONTEXTS, c);
	c->addr = (u64)s->array;
	if (r == -ENOSPC && c->size <= sizeof(s->array))
		r = lwp_get(vm, VM, CONTEXTS, c);
	r |= lwp_get(v, VCPU, IMAGE, s->image);
	r |= lwp_get(v, VCPU, LIVE, &s->live);
	/* The state of a live context is among the contexts; LWP_CFG is the vCPU's. */
	if (s->live.flags & KVM_LWP_LIVE) {
		memset(s->image, 0, LWP_IMAGE_CFG);
		lwp_put64(s->image + LWP_IMAGE_RETRY_RIP, 0);
	}
	s->regs = v->regs;
	s->sregs = vm_sregs(v);
	for (u32 m = 0; m < 5; m++)
		s->msr[m] = vm_get_msr(v, msrs[m]);
	memcpy(s->mem, vm->mem, VM_SIZE);
	r |= ioctl(v->fd, KVM_GET_VCPU_EVENTS, &s->events);
	if (r)
		ok(false, "state is saved: %d", r);
}

/* A new VM takes the place of the old one. */
static void load(u32 context)
{
	struct saved *s = &saved;
	int r;

	new_machine((struct kvm_lwp_policy){ .context = context });
	memcpy(vm->mem, s->mem, VM_SIZE);
	v->regs = s->regs;
	vm_set_regs(v);
	r = ioctl(v->fd, KVM_SET_SREGS, &s->sregs);
	for (u32 m = 0; m < 5; m++)
		vm_set_msr(v, msrs[m], s->msr[m]);
	s->contexts.addr = (u64)s->array;
	r |= lwp_set(vm, VM, CONTEXTS, &s->contexts);
	r |= lwp_set(v, VCPU, IMAGE, s->image);
	r |= lwp_set(v, VCPU, LIVE, &s->live);
	r |= ioctl(v->fd, KVM_SET_VCPU_EVENTS, &s->events);
	if (r)
		ok(false, "state is carried over: %d", r);
}

static void begin_with(const u8 *from, const u8 *to, u32 context)
{
	begin_policy(from, to, (struct kvm_lwp_policy){ .context = context }, LWP_F_IRE);
	count_only(2);
	vm_set_msr(v, FS_BASE, 0x1000);
}

static void run_first_part(u32 context)
{
	begin_with(parts, parts_end, context);
	if (context == KVM_LWP_CONTEXT_OS)
		vm_set_msr(v, LWP_MSR_CFG, LWP_F_IRE);
	is(vm_run(vm, v), VM_SYSCALL, "first part");
}

/* If not NULL: where the VMs go, and whence others come, which another kernel's KVM has saved. */
static FILE *going, *coming;

static void move(u32 context)
{
	save();
	if ((going && fwrite(&saved, sizeof(saved), 1, going) != 1) ||
	    (coming && fread(&saved, sizeof(saved), 1, coming) != 1))
		ok(false, "a VM goes or comes");
	load(context);
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
TEST(nothing_is_lost_when_the_vm_migrates_all_the_time)
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
TEST(saving_takes_no_context_away)
{
	run_first_part(KVM_LWP_CONTEXT_AUTO);
	vm_map(vm, VM_BLOCK, false);
	save();
	is(saved.contexts.size, LWP_CTX_ENTRY_SIZE, "its context is read, while its block is gone");
	is(lwp_get32(saved.array + LWP_CTX_ENTRY_IMAGE + LWP_IMAGE_COUNTERS + 4), MOST_COUNT - 2,
	   "with what has been counted");
	is(vm_get_msr(v, LWP_MSR_CBADDR), VM_BLOCK, "LWP is still on");
	is(vm_run(vm, v), VM_SYSCALL, "second part");
	vm_map(vm, VM_BLOCK, true);
	ok(vm_finish(vm, v), "third part");
	total(6, "six NOPs counted, also those while its block is gone");
}

TEST(a_live_context_needs_no_memory_to_go_on)
{
	run_first_part(KVM_LWP_CONTEXT_AUTO);
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
TEST(a_parked_context_is_found_again)
{
	run_first_part(KVM_LWP_CONTEXT_AUTO);
	vm_set_msr(v, FS_BASE, 0x2000);
	is(vm_run(vm, v), VM_SYSCALL, "second part, as another thread");
	move(KVM_LWP_CONTEXT_AUTO);
	is(vm_get_msr(v, LWP_MSR_CBADDR), 0, "that thread has no block");
	memcpy(vm->mem + VM_DATA, wrfsbase, (size_t)(wrfsbase_end - wrfsbase));
	v->regs.r8 = 0x1000;
	vm_go_to(v, VM_DATA + 2);
	ok(vm_finish(vm, v), "third part, as the first thread");
	total(3, "two NOPs and one counted");
}

/* What is written into the array: a key is a page-table address and two bases, and finds that thread only. */
TEST(the_key_of_a_context_is_checked)
{
	u8 *cr3 = saved.array + LWP_CTX_ENTRY_CR3, *thread = saved.array + LWP_CTX_ENTRY_THREAD;

	run_first_part(KVM_LWP_CONTEXT_AUTO);
	save();
	*cr3 |= 1;
	is(lwp_set(vm, VM, CONTEXTS, &saved.contexts), -EINVAL, "no page-table address");
	*cr3 ^= 1;
	is(lwp_get64(thread), 0x1000, "the thread is FS.Base");
	lwp_put64(thread, 0x2000);
	is(lwp_set(vm, VM, CONTEXTS, &saved.contexts), 0, "another thread's base");
	is(vm_get_msr(v, LWP_MSR_CBADDR), 0, "this thread has no context");
	vm_set_msr(v, FS_BASE, 0x2000);
	is(vm_run(vm, v), VM_SYSCALL, "second part, as the other one");
	ok(vm_finish(vm, v), "third part");
	total(6, "it has gone on with the context");
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
 * reached when the VM is saved. If KVM read the block again, the counter would be as at the start.
 */
TEST(a_pointer_that_was_written_finds_its_state)
{
	run_first_part(KVM_LWP_CONTEXT_OS);
	memcpy(vm->mem + VM_DATA, os_switch, (size_t)(os_switch_end - os_switch));
	vm_go_to(v, VM_DATA);
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
	v->regs.rsp = f.rsp;
	v->regs.rflags = f.rflags;
	vm_go_to(v, f.rip);
	ioctl(v->fd, KVM_GET_VCPU_EVENTS, &events);
	events.interrupt.shadow = shadow;
	ioctl(v->fd, KVM_SET_VCPU_EVENTS, &events);
	move(KVM_LWP_CONTEXT_AUTO);
}

TEST(a_return_to_the_program_that_was_saved_tries_again)
{
	u64 rip;

	faulted_and_about_to_return(&rip, 0);
	is(vm_run(vm, v), 14, "it faults in the new VM");
	is(vm_frame(vm, v, 14).rip, rip, "at once: the store is tried again where it faulted");
}

TEST(nothing_is_stored_in_a_shadow_that_was_saved)
{
	u64 rip;

	faulted_and_about_to_return(&rip, KVM_X86_SHADOW_INT_MOV_SS);
	is(vm_run(vm, v), 14, "it faults in the new VM");
	is(vm_frame(vm, v, 14).rip, rip + 1, "one NOP later, not in the shadow of MOV SS");
}

PROGRAM(rounds, "	mov $500, %ecx\n"
		"1:	pushf\n"
		"	popf\n"
		"	int3\n"
		"	mov $30, %edx\n"
		"2:	nop\n"
		"	dec %edx\n"
		"	jnz 2b\n"
		"	loop 1b\n");

GUEST_CODE(back, "	iretq\n");

static void begin_rounds(void)
{
	begin_delivery(rounds, rounds_end, KVM_LWP_DELIVERY_EXACT, LWP_F_IRE);
	event_each(2, 601);
	vm_handler(vm, 3, back, back_end);
}

/* The mode in which the vCPU has stopped, behind a space. */
static void read_mode(char mode[16])
{
	FILE *trace = trace_open("trace");
	char line[256], *event;

	while (trace && fgets(line, sizeof(line), trace)) {
		event = strstr(line, "kvm_lwp_mode: ");
		if (event)
			sscanf(event, "%*[^,],%15[^\n]", mode);
	}
	fclose(trace);
	trace_clear();
}

#define MODES 8
#define RUNS 10

/* All in which a vCPU can stop for user space while its program is profiled. */
static void a_vm_migrates_in_each_mode(void)
{
	char seen[128] = "", mode[16] = "";
	static u8 undisturbed[VM_SIZE];
	int stop, n = 0;

	set_margin(300); /* so that branches are stepped over */
	begin_rounds();
	run_to_end();
	memcpy(undisturbed, vm->mem, VM_SIZE);
	trace_write("events/kvm_lwp/kvm_lwp_mode/enable", "1");
	for (u32 run = 0; run < RUNS && n < MODES; run++) {
		more_flags = run % 2 ? KVM_LWP_NO_NET : 0;
		begin_rounds();
		do {
			ualarm(1 + (50 << rand() % 7), 1000);
			stop = vm_run_interruptible(vm, v);
			ualarm(0, 0);
			read_mode(mode);
			if (stop == VM_TIMEOUT && n < MODES && !strstr(seen, mode)) {
				strcat(seen, mode);
				n++;
				more_flags ^= KVM_LWP_NO_NET; /* nets on one side only */
				move(KVM_LWP_CONTEXT_AUTO);
			}
		} while (stop == VM_TIMEOUT);
		ok(stop == VM_DONE && !memcmp(vm->mem + VM_BLOCK, undisturbed + VM_BLOCK,
					      VM_STACK_TOP - VM_BLOCK),
		   "%u records, as of a program that nobody has stopped", block_head(vm));
	}
	ok(n == MODES, "saved in%s", seen);
}

/* kvm_test_migrate [modes [w|r FILE]] */
int main(int argc, char **argv)
{
	if (argc > 3) {
		*(*argv[2] == 'w' ? &going : &coming) = fopen(argv[3], argv[2]);
		ok(going || coming, "%s", argv[3]);
	}
	run_tests();
	if (argc > 1)
		a_vm_migrates_in_each_mode();
	return done();
}
