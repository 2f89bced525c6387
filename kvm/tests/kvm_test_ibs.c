// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Data cache misses (EventId 4) by instruction-based sampling. The guest walks over twice as many lines as L1D has,
 * again and again: each load misses L1D and hits L2, in the lab's model (least recently used) and nearly so on processors.
 * So the number of misses is the number of loads, and the estimate must lie within five standard
 * deviations of it. A right estimate is beyond five in one of 1.7 million runs, beyond three in one of 370; the
 * samples cannot be seeded (43724-719, 2007-710).
 */
#include <math.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "counted.h"
#include "host_counters.h"

#define DME 4
#define LINE 64
#define LINES 1024
#define TURNS 3000
#define MISSES (LINES * TURNS)
#define DEVIATIONS 5
#define PERIOD 8192 /* of a sample */
#define L2_LATENCY 12 /* of the lab's model */

/* The load is at offset 20, the distance of two lines at 24. */
#define LOAD 20
#define DISTANCE 24
PROGRAM(walk, "	mov $3000, %ecx\n"
	      "1:	mov $0x300000, %esi\n"
	      "	mov $1024, %edx\n"
	      "2:	mov (%rsi), %eax\n"
	      "	add $64, %esi\n"
	      "	dec %edx\n"
	      "	jnz 2b\n"
	      "	dec %ecx\n"
	      "	jnz 1b\n");

/* Whatever other VMs of the host have. edx: the event's bit in CPUID. */
static void a_vm_has_the_event_if_its_policy_says_so(u32 rev, u32 edx)
{
	struct vm *without = vm_new_unasked(true), *with = vm_new_unasked(true);
	struct kvm_lwp_policy policy = { .rev = rev };

	is(vm_ask_for_lwp(without, policy), 0, "one policy does not have the flag");
	policy.flags = KVM_LWP_SAMPLE_MISSES;
	is(vm_ask_for_lwp(with, policy), 0, "another one has");
	is(vm_leaf(without, LWP_CPUID_LEAF)->edx & edx, 0, "no misses without the flag");
	is(vm_leaf(with, LWP_CPUID_LEAF)->edx & edx, edx, "misses with it");
	*vm_leaf(without, LWP_CPUID_LEAF) = *vm_leaf(with, LWP_CPUID_LEAF);
	is(vm_lwp_status(vm_add_vcpu(without)), KVM_LWP_REFUSED_LEAF, "a leaf that claims them");
	is(vm_lwp_status(vm_add_vcpu(with)), KVM_LWP_REFUSED_NOT, "a leaf that may");
	vm_free(without);
	vm_free(with);
}

static void begin_sampled(u32 flags)
{
	begin_policy(walk, walk_end, (struct kvm_lwp_policy){ 0, 0, 1, KVM_LWP_SAMPLE_MISSES },
		     flags);
	count_only(DME);
}

static double estimate(void)
{
	return count_of(DME);
}

/* A load is each fourth instruction: the samples that are one have a binomial distribution. */
TEST(the_estimate_is_right)
{
	double samples, deviation;

	begin_sampled(LWP_F_DME);
	run_to_end();
	samples = (double)vm_stat(v, "lwp_counter_irqs");
	deviation = MISSES * sqrt(3 / (4 * samples));
	diag("%u misses, estimated %.0f from %.0f samples of %.0f ops; standard deviation %.0f",
	     MISSES, estimate(), samples, estimate() / samples, deviation);
	ok(samples > 100, "there are samples");
	ok(samples && fabs(estimate() - MISSES) < DEVIATIONS * deviation,
	   "within five standard deviations");
	ok(estimate() < samples * PERIOD, "none stands for the ops of the host");
	is(vm_stat(v, "lwp_steps"), 0, "no step");
	is(block_head(vm), 0, "no record before the event is due");
}

TEST(loads_that_hit_do_not_count)
{
	begin_sampled(LWP_F_DME);
	vm->mem[VM_CODE + DISTANCE] = 0; /* all loads are of one line */
	run_to_end();
	ok(estimate() < MISSES / 100, "loads that hit do not count: %.0f", estimate());
}

static bool is_walk(struct lwp_record r)
{
	return r.event_id == DME && r.address == VM_CODE + LOAD && r.data2 >= VM_DATA &&
	       r.data2 < VM_DATA + LINES * LINE && r.data2 % LINE == 0;
}

TEST(records_are_those_of_sampled_loads)
{
	u32 wrong = 0, lines = 0, latency = 0;

	begin_sampled(LWP_F_DME);
	event_each(DME, 50000);
	run_to_end();
	for (u32 i = 0; i < block_head(vm); i++) {
		struct lwp_record r = ring_record(vm, i);

		wrong += !is_walk(r);
		lines += i && r.data2 != ring_record(vm, 0).data2;
		latency += r.data1 != L2_LATENCY;
	}
	ok(block_head(vm) + missed() >= MISSES / 50000 / 2, "%u records, %lu missed",
	   block_head(vm), missed());
	is(wrong, 0, "each names the load, and a line of the walk");
	ok(lines > 0, "of several lines");
	ok(latency <= block_head(vm) / 10, "with the latency of L2, but %u", latency);
}

/* The model is emptied when IBS is switched on, so some loads miss L2. */
static void filtered(u32 filters, u64 base, u64 limit, bool counts, const char *what)
{
	begin_sampled(LWP_F_DME);
	lwp_put32(vm->mem + VM_BLOCK + LWP_CB_FILTERS, filters);
	lwp_put64(vm->mem + VM_BLOCK + LWP_CB_BASE_IP, base);
	lwp_put64(vm->mem + VM_BLOCK + LWP_CB_LIMIT_IP, limit);
	run_to_end();
	ok((estimate() > MISSES / 10) == counts, "%s: %.0f", what, estimate());
}

TEST(filters_hold)
{
	u64 load = VM_CODE + LOAD;

	filtered(1, 0, 0, false, "a latency of 16 or more: hardly any");
	filtered(LWP_FILTER_CLF | LWP_FILTER_RAM, 0, 0, false, "data from RAM: hardly any");
	filtered(LWP_FILTER_IPF, load, load, true, "the address of the load");
	filtered(LWP_FILTER_IPF, load + 1, load + 9, false, "other addresses: none");
}

/* Misses of a program that counts something else cost no sample. */
TEST(only_who_counts_is_sampled)
{
	begin_sampled(LWP_F_IRE);
	count_only(2);
	run_to_end();
	is(vm_stat(v, "lwp_counter_irqs"), 0, "without the event: no sample");
}

TEST(without_ibs_nothing_is_counted)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW,
		.config = 0xc1,
		.precise_ip = 2,
		.sample_period = 1 << 20,
	};
	int fd = take_event(&attr);

	begin_sampled(LWP_F_DME);
	run_to_end();
	ok(fd >= 0 && vm_stat(v, "lwp_no_counter") > 0, "another has IBS: none for KVM");
	is(estimate(), 0, "no miss is counted");
	close(fd);
	begin_sampled(LWP_F_DME);
	run_to_end();
	ok(estimate() > 0, "all are, once it is free: %.0f", estimate());
}

/* 0 stands for 1,024 ops. A load is each fourth op: of 46 samples or more all miss the loads in one of 500,000 runs. */
TEST(periods_are_bounded)
{
	double samples;

	set_parameter("ibs_period", "0");
	begin_sampled(LWP_F_DME);
	run_to_end();
	samples = (double)vm_stat(v, "lwp_counter_irqs");
	ok(samples > MISSES / 1024 / 2 && estimate() <= samples * 1024,
	   "a period of 0: %.0f samples, none stands for more than 1,024 ops", samples);

	set_parameter("ibs_period", "4294967295");
	begin_sampled(LWP_F_DME);
	lwp_put32(vm->mem + VM_CODE + 6, 4 * TURNS);
	run_to_end();
	ok(vm_stat(v, "lwp_counter_irqs") > 0, "the longest period has samples");
}

int main(void)
{
	set_parameter("ibs_period", "8199"); /* rounded down to PERIOD */
	/* perf samples less if its handlers take long, as they do in the emulated machine, or many come in a tick. */
	set_sample_rate("100000000");
	a_vm_has_the_event_if_its_policy_says_so(LWP_REV_43724, LWP_F_DME);
	a_vm_has_the_event_if_its_policy_says_so(LWP_REV_2007, LWP07_EDX_DME);
	ok(ioctl(vm_new(true)->fd, KVM_CHECK_EXTENSION, KVM_CAP_X86_LWP) & KVM_LWP_HAS_MISSES,
	   "the capability says that there are");
	run_tests();
	return done();
}
