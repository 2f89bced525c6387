// SPDX-License-Identifier: GPL-2.0-or-later
/* See counted.h. */
#include <sys/ioctl.h>
#include "counted.h"

struct vm *vm;
struct vcpu *v;

void begin(const u8 *from, const u8 *to, u32 event)
{
	vm_free(vm);
	vm = vm_new(true);
	v = vm_add_vcpu(vm);
	block_init(vm, LWP_BIT(event), 128);
	block_event(vm, event, 0, 0);
	vm_load(vm, from, to);
}

void begin_policy(const u8 *from, const u8 *to, struct kvm_lwp_policy policy, u32 flags)
{
	vm_free(vm);
	vm = vm_new_unasked(true);
	if (vm_ask_for_lwp(vm, policy))
		ok(false, "set the policy");
	v = vm_add_vcpu(vm);
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

u64 missed(void)
{
	return lwp_get64(vm->mem + VM_BLOCK + LWP_CB_MISSED);
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
	is(1000 - block_counter(vm, 2), wanted, what);
}

void begin_total(const u8 *from, const u8 *to)
{
	begin(from, to, 2);
	block_event(vm, 2, 1000, 1000);
}

void run_to_end(void)
{
	if (!vm_finish(vm, v))
		ok(false, "the program runs to its end");
}
