// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Collection of contexts: one that has been parked for context_age seconds is looked at through its
 * own page tables, and goes if its program's memory has gone. The threads of vCPUs do that
 * before they enter the guest, a few contexts at a time, so that a VM that does not run does
 * nothing. Guest memory that the host has swapped out is not waited for.
 */
#include "svm.h"
#include "cpuid.h"
#include "lwp_layers.h"

/* A file in debugfs: seconds until a context that is not used is looked at, 0 = never. */
u32 svm_lwp_context_age = LWP_CTX_AGE_DEFAULT / MSEC_PER_SEC;

#define CONTEXT_AGE_MOST 86400u

/* Looks before one VM-Entry: some microseconds each. */
#define LWP_LOOKS 16

/* The table of the VM has just been allocated. */
void svm_lwp_collect_init(struct kvm_svm_lwp *vm)
{
	u64 age = min(READ_ONCE(svm_lwp_context_age), CONTEXT_AGE_MOST);

	vm->table.age = age * MSEC_PER_SEC;
	vm->look_at = jiffies;
}

/* Is it time to ask the table whether anything is to be looked at? Read without the lock. */
bool svm_lwp_collect_due(struct kvm_svm_lwp *vm)
{
	return lwp_ctx_any(&vm->table) && vm->table.age &&
	       time_after_eq(jiffies, READ_ONCE(vm->look_at));
}

static enum lwp_phys_result svm_lwp_read_phys(void *ctx, u64 gpa, void *to, u32 len)
{
	struct kvm_memory_slot *slot;
	struct kvm_vcpu *vcpu = ctx;

	slot = __gfn_to_memslot(kvm_vcpu_memslots(vcpu), gpa_to_gfn(gpa));
	if (!slot || slot->flags & KVM_MEMSLOT_INVALID)
		return LWP_PHYS_NONE;
	return kvm_vcpu_read_guest_atomic(vcpu, gpa, to, len) ? LWP_PHYS_AWAY : LWP_PHYS_OK;
}

/*
 * Look at contexts that are due. One vCPU of the VM does it at a time; between two rounds without
 * work is a quarter of the age (43724-905).
 */
void svm_lwp_collect(struct kvm_vcpu *vcpu)
{
	struct kvm_svm_lwp *vm = &to_kvm_svm(vcpu->kvm)->lwp;
	struct lwp_phys phys = {
		.read = svm_lwp_read_phys,
		.ctx = vcpu,
		.bits = cpuid_maxphyaddr(vcpu),
	};
	struct lwp_ctx_look look;
	enum lwp_ctx_fate fate;
	int looks;

	if (!mutex_trylock(&vm->lock))
		return;
	WRITE_ONCE(vm->look_at, jiffies + msecs_to_jiffies(vm->table.age / 4));
	for (looks = 0; lwp_ctx_due(&vm->table, svm_lwp_now(), &look); looks++) {
		mutex_unlock(&vm->lock);
		fate = lwp_ctx_look(&phys, &vm->caps, &look.saved);
		mutex_lock(&vm->lock);
		vcpu->stat.lwp_context_switches +=
			lwp_ctx_looked(&vm->table, svm_lwp_now(), &look, fate);
		if (looks == LWP_LOOKS) {
			WRITE_ONCE(vm->look_at, jiffies);
			break;
		}
	}
	mutex_unlock(&vm->lock);
}
