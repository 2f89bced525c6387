// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Mediated vPMUs: their guests have the processor's counters themselves. perf refuses events that count guests while
 * there is such a VM, and such a VM while there is such an event.
 *
 * LWP steps while one is there, and uses counters again when it has gone. Its own events keep no VM from its vPMU for
 * longer than a profile and a little more.
 */
#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "counted.h"
#include "texts.h"
#include "vpmu.h"

#define TURNS 2000 /* of the loop */
#define PERIOD 500
#define TENTHS 50 /* how long to wait, in tenths of a second */
#define RETRY_US 200000 /* more than the time after which LWP tries again to get a counter */

#define RECORDS ((1 + TURNS * 3 + 1) / PERIOD)

static void begin_profile(bool pmu)
{
	struct kvm_enable_cap no_pmu = { .cap = KVM_CAP_PMU_CAPABILITY,
					 .args = { KVM_PMU_CAP_DISABLE } };

	vm = vm_new_unasked(true);
	is(vm_ask_for_lwp(vm, (struct kvm_lwp_policy){ .delivery = 1, .step_budget = BUDGET }), 0,
	   "prompt delivery");
	if (!pmu)
		ok(!ioctl(vm->fd, KVM_ENABLE_CAP, &no_pmu), "a VM without counters");
	v = vm_add_vcpu(vm);
	vm_load(vm, profiled, profiled_end);
	lwp_put32(vm->mem + VM_CODE + 6, TURNS);
}

static void profile(const char *what)
{
	vm_start(vm, v);
	block_init(vm, LWP_F_IRE | LWP_F_BRE, 128);
	event_each(2, PERIOD);
	count_only(3);
	run_to_end();
	diag("%s", what);
	is(block_head(vm) + missed(), RECORDS, "the records, and the periods that are missed");
	is(count_of(3), TURNS, "the branches");
}

/* Does the PMU count a profile for LWP, or does LWP step it? */
static void profile_by(bool counter, const char *what)
{
	u64 irqs = vm_stat(v, "lwp_counter_irqs"), lacking = vm_stat(v, "lwp_no_counter");
	u64 steps = vm_stat(v, "lwp_steps");

	profile(what);
	irqs = vm_stat(v, "lwp_counter_irqs") - irqs;
	lacking = vm_stat(v, "lwp_no_counter") - lacking;
	steps = vm_stat(v, "lwp_steps") - steps;
	diag("%lu interrupts of counters, %lu steps", irqs, steps);
	ok(counter ? irqs > 0 && !lacking : !irqs && lacking > 0,
	   counter ? "the PMU counts" : "no counter was free, and the statistic says so");
	ok(counter || steps >= 1 + TURNS * 3, "%lu instructions are stepped", steps);
}

static struct vm *other;
static int other_vcpu;

/* A VM with a mediated vPMU. Result: 0, or why there is none. */
static int make_other(void)
{
	other_vcpu = ioctl(other->fd, KVM_CREATE_VCPU, 0);
	return other_vcpu < 0 ? errno : 0;
}

TEST(a_profile_keeps_no_vm_from_its_pmu)
{
	int i;

	begin_profile(false);
	profile_by(true, "no VM has a vPMU");
	other = vm_new_unasked(true);
	is(make_other(), EBUSY, "right after a profile a VM gets no vPMU");
	for (i = 0; i < TENTHS && other_vcpu < 0; i++) {
		usleep(100000);
		make_other();
	}
	ok(other_vcpu >= 0, "it does %d tenths of a second later", i);
}

TEST(lwp_steps_beside_it_and_returns)
{
	profile_by(false, "beside a VM with a vPMU");
	close(other_vcpu);
	vm_free(other);
	usleep(RETRY_US);
	profile_by(true, "after it");
	vm_free(vm);
}

/* The counter of instructions of a guest that has a vPMU, with LWP or without. */
static u64 guest_counts(bool lwp)
{
	u64 count;

	begin_profile(true);
	vpmu_count(v, 0, PERF_INSTRUCTIONS);
	if (lwp) {
		profile_by(false, "in a VM with a vPMU");
	} else {
		v->regs.rbx = 0;
		vm_set_regs(v);
		run_to_end();
	}
	count = vpmu_counted(v, 0);
	vm_free(vm);
	return count;
}

TEST(the_guests_own_counters_are_right)
{
	u64 without = guest_counts(false), with = guest_counts(true);

	/* LLWPCB is skipped in both: KVM executes it. */
	is(with, without, "the guest counts as many instructions with LWP as without");
	ok(without >= 1 + TURNS * 3, "which are all of them");
}

int main(void)
{
	need_source("perf");
	if (!parameter_is("enable_mediated_pmu", "Y"))
		skip_all("no mediated vPMU here");
	run_tests();
	return done();
}
