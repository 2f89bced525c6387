// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * AVIC is inhibited while a vCPU steps, and only then: not while a counter counts. Where the processor has none, kvm-amd's parameter
 * force_avic=1 makes KVM believe that it has: enough to see the inhibit come and go in KVM's
 * tracepoint (43724-811).
 */
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "counted.h"
#include "tracing.h"

#define NAMED " LWP" /* among the reasons that are set */

static char lwp_reason[32] = " reason=(not told yet)";

/* Learn the number of LWP's reason, in which kernels differ, from a line that tells of no other. */
static void learn(const char *line)
{
	const char *text = strstr(line, "set reason=");
	unsigned long long inhibits;
	unsigned int reason;
	char name[16];

	if (text &&
	    sscanf(text, "set reason=%u, inhibits=0x%llx %15s", &reason, &inhibits, name) == 3 &&
	    !strcmp(name, "LWP") && inhibits == 1ull << reason)
		snprintf(lwp_reason, sizeof(lwp_reason), " reason=%u,", reason);
}

/* How often the tracepoint has told of LWP, "set", "cleared" or NAMED; "": of anything. */
static u32 inhibits_so_far(const char *what)
{
	FILE *f = trace_open("trace");
	char line[512], wanted[64];
	u32 n = 0;

	while (f && fgets(line, sizeof(line), f)) {
		learn(line);
		snprintf(wanted, sizeof(wanted), "%s%s", what,
			 *what && strcmp(what, NAMED) ? lwp_reason : "");
		n += strstr(line, "kvm_apicv_inhibit_changed") && strstr(line, wanted);
	}
	if (f)
		fclose(f);
	return n;
}

/* The same; forgets it. */
static u32 inhibits(const char *what)
{
	u32 n = inhibits_so_far(what);

	trace_clear();
	return n;
}

/* The same, when it tells of it within ten seconds. */
static u32 inhibits_soon(const char *what)
{
	for (u32 i = 0; i < 100 && !inhibits_so_far(what); i++)
		usleep(100000);
	return inhibits(what);
}

PROGRAM(phases, "	nop\n"
		"	syscall\n"
		"	xor %r11d, %r11d\n"
		"	llwpcb %r11\n"
		"	nop\n");

TEST(avic_is_inhibited_while_a_context_steps)
{
	begin(phases, phases_end, 2);
	is(inhibits(NAMED), 0, "a vCPU that does not use LWP changes nothing");
	is(vm_run(vm, v), VM_SYSCALL, "LWP is on");
	is(inhibits("set"), 1, "the inhibit is set, once");
	run_to_end();
	is(inhibits_soon("cleared"), 1, "and cleared when LWP has been off for a while");
}

TEST(counting_leaves_it_alone)
{
	begin_delivery(phases, phases_end, KVM_LWP_DELIVERY_PROMPT, LWP_F_IRE);
	event_each(2, 1000000);
	inhibits("");
	is(vm_run(vm, v), VM_SYSCALL, "LWP is on, and counts");
	run_to_end();
	is(inhibits("set"), 0, "nothing is inhibited");
	is(vm_stat(v, "lwp_steps"), 0, "as nothing is stepped");
}

PROGRAM(nops, "	.rept 100\n"
	      "	nop\n"
	      "	.endr\n");

/* The kernel returns from the #PF of a record's store, by an IRET that KVM steps over. */
static u32 inhibits_at_iret(u64 interrupt_flag)
{
	begin_delivery(nops, nops_end, KVM_LWP_DELIVERY_PROMPT, LWP_F_IRE);
	event_each(2, 50);
	vm_map(vm, VM_RING, false);
	inhibits("");
	is(vm_run(vm, v), 14, "the ring's page is missing");
	vm_map(vm, VM_RING, true);
	v->regs.rflags |= interrupt_flag;
	vm_set_regs(v);
	run_to_end();
	return inhibits("set");
}

TEST(an_iret_with_interrupts_off_leaves_it_alone)
{
	is(inhibits_at_iret(0), 0, "no interrupt can come before the IRET: nothing is inhibited");
	is(inhibits_at_iret(0x200), 1, "one can: AVIC is inhibited");
}

/* The id is there already: KVM makes a vCPU and frees it again. */
TEST(a_vcpu_that_cannot_be_created_leaves_it_alone)
{
	begin(phases, phases_end, 2);
	vm_run(vm, v);
	inhibits("");
	run_to_end();
	ok(ioctl(vm->fd, KVM_CREATE_VCPU, 0) < 0, "vCPU 0 is there already");
	is(inhibits_soon("cleared"), 1, "the inhibit is cleared all the same");
}

PROGRAM(toggles, "	mov $200, %ecx\n"
		 "1:	xor %r11d, %r11d\n"
		 "	llwpcb %r11\n"
		 "	nop\n"
		 "	llwpcb %rbx\n"
		 "	loop 1b\n"
		 "	xor %r11d, %r11d\n"
		 "	llwpcb %r11\n");

/* To set or clear it stops all vCPUs of the VM. */
TEST(a_program_cannot_toggle_it)
{
	u32 set;

	begin(toggles, toggles_end, 2);
	inhibits("");
	run_to_end();
	set = inhibits("set");
	ok(set >= 1 && set <= 3, "LWP goes off and on 200 times, the inhibit is set %u times", set);
	is(inhibits_soon("cleared"), 1, "and cleared at the end");
}

TEST(a_vm_may_end_before_it_is_cleared)
{
	begin(phases, phases_end, 2);
	vm_run(vm, v);
	run_to_end();
	sleep(2);
	ok(true, "a VM ends while its inhibit is set");
}

int main(void)
{
	if (!parameter_is("avic", "Y"))
		skip_all("no AVIC; the kvm-amd parameters avic=1 force_avic=1 pretend one");
	trace_write("events/kvm/kvm_apicv_inhibit_changed/enable", "1");
	run_tests();
	return done();
}
