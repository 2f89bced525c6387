// SPDX-License-Identifier: GPL-2.0-or-later
/* See counted.h. */
#include <time.h>
#include "counted.h"

struct vm *vm;
struct vcpu *v;
u32 more_flags;

void new_machine(struct kvm_lwp_policy policy)
{
	vm_free(vm);
	vm = vm_new_unasked(true);
	policy.flags |= more_flags;
	if (vm_ask_for_lwp(vm, policy))
		ok(false, "set the policy");
	v = vm_add_vcpu(vm);
}

void begin(const u8 *from, const u8 *to, u32 event)
{
	begin_delivery(from, to, KVM_LWP_DELIVERY_EXACT, LWP_BIT(event));
	block_event(vm, event, 0, 0);
}

void begin_total(const u8 *from, const u8 *to)
{
	begin(from, to, 2);
	count_only(2);
}

void begin_policy(const u8 *from, const u8 *to, struct kvm_lwp_policy policy, u32 flags)
{
	new_machine(policy);
	block_init(vm, flags, 128);
	vm_load(vm, from, to);
}

void begin_delivery(const u8 *from, const u8 *to, u32 delivery, u32 flags)
{
	begin_policy(from, to,
		     (struct kvm_lwp_policy){ .delivery = delivery, .step_budget = BUDGET }, flags);
}

void event_each(u32 event, u32 period)
{
	block_event(vm, event, period - 1, period - 1);
}

void count_only(u32 event)
{
	block_event(vm, event, MOST_COUNT, MOST_COUNT);
}

u32 count_of(u32 event)
{
	return MOST_COUNT - block_counter(vm, event);
}

u64 missed(void)
{
	return lwp_get64(vm->mem + VM_BLOCK + LWP_CB_MISSED);
}

double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void counted(const int *offsets, const char *what)
{
	u32 n = 0, head = block_head(vm);

	for (; offsets[n] >= 0; n++) {
		u64 address = n < head ? ring_record(vm, n).address - VM_CODE : ~(u64)0;

		if (address == (u64)offsets[n])
			continue;
		ok(false, "%s", what);
		diag("record %u of %u: offset 0x%lx, wanted 0x%x", n, head, address, offsets[n]);
		return;
	}
	ok(n == head, "%s: %u instructions counted", what, head);
	if (n != head)
		diag("wanted %u; the next is 0x%lx", n, ring_record(vm, n).address - VM_CODE);
}

void total(u32 wanted, const char *what)
{
	is(count_of(2), wanted, what);
}

void run_to_end(void)
{
	if (!vm_finish(vm, v))
		ok(false, "the program runs to its end");
}

void run_with(const u8 *from, const u8 *to, u32 delivery, u32 event, u32 period)
{
	begin_delivery(from, to, delivery, LWP_BIT(event));
	event_each(event, period);
	run_to_end();
}

u32 run_past(int stop, int other)
{
	u32 stops = 0;
	int last;

	while ((last = vm_run(vm, v)) == stop || last == other)
		stops++;
	is(last, VM_DONE, "the program runs to its end");
	return stops;
}
