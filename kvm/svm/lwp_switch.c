// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Signs that the guest's kernel switches threads: writes of CR3, FS base and KernelGSBase. They are
 * intercepted while the VM has any context, and for a while after the last one: whoever has all
 * vCPUs begin stops them, and a program can switch LWP off and on in a loop.
 */
#include "svm.h"
#include "trace.h"
#include "x86.h"
#include "lwp_compat.h"
#include "lwp_layers.h"

/* In jiffies. */
#define WATCH_LEAST HZ

/* The intercepts of MSRs that KVM itself passes through, SYSENTER_CS of lwp_syscall.c as well. */
void svm_lwp_recalc_msr_intercepts(struct kvm_vcpu *vcpu)
{
	const struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	lwp_intercept_msr_writes(vcpu, MSR_FS_BASE, lwp->watching);
	lwp_intercept_msr_writes(vcpu, MSR_KERNEL_GS_BASE, lwp->watching);
	lwp_intercept_msr(vcpu, MSR_IA32_SYSENTER_CS, lwp->sysenter_trapped);
}

/* Switch all these intercepts on or off. */
void svm_lwp_watch(struct kvm_vcpu *vcpu, bool on)
{
	struct vcpu_svm *svm = to_svm(vcpu);

	if (svm->lwp.watching == on)
		return;
	svm->lwp.watching = on;
	svm_lwp_recalc_msr_intercepts(vcpu);
	if (npt_enabled)
		svm_lwp_intercept(svm, INTERCEPT_CR, BIT(INTERCEPT_CR3_WRITE), on);
}

/*
 * A context comes into the table, whose lock is held. True: the vCPUs do not watch yet, so each
 * must get a request.
 */
bool svm_lwp_watch_all(struct kvm_svm_lwp *vm)
{
	if (vm->watched)
		return false;
	WRITE_ONCE(vm->watched, true);
	schedule_delayed_work(&vm->unwatch, WATCH_LEAST);
	return true;
}

static void svm_lwp_unwatch(struct work_struct *work)
{
	struct kvm_svm_lwp *vm = container_of(to_delayed_work(work), struct kvm_svm_lwp, unwatch);

	guard(mutex)(&vm->lock);
	if (lwp_ctx_any(&vm->table))
		schedule_delayed_work(&vm->unwatch, WATCH_LEAST);
	else
		WRITE_ONCE(vm->watched, false);
}

void svm_lwp_watch_init(struct kvm_svm_lwp *vm)
{
	INIT_DELAYED_WORK(&vm->unwatch, svm_lwp_unwatch);
}

/* The VM goes. */
void svm_lwp_watch_end(struct kvm_svm_lwp *vm)
{
	cancel_delayed_work_sync(&vm->unwatch);
}

/* It may be a switch even if no register changes: the context may be on another vCPU. */
void svm_lwp_switched(struct kvm_vcpu *vcpu)
{
	to_svm(vcpu)->lwp.lookup = true;
}

/*
 * The register that the MOV to CR3 at rIP reads, and the length. False: the instruction has
 * prefixes that assemblers do not give it, or cannot be read.
 */
static bool svm_lwp_cr3_source(struct kvm_vcpu *vcpu, int *reg, unsigned int *length)
{
	u8 code[4]; /* REX, 0Fh 22h /3 */
	unsigned int n = svm_lwp_code_at_rip(vcpu, code, sizeof(code));
	unsigned int rex = n && (code[0] & 0xf0) == 0x40;
	const u8 *modrm = code + rex + 2;

	if (n < rex + 3 || code[rex] != 0x0f || code[rex + 1] != 0x22 || (*modrm & 0x38) != 0x18 ||
	    (rex && code[0] & 4))
		return false;
	*length = rex + 3;
	*reg = (*modrm & 7) | (rex && code[0] & 1 ? 8 : 0);
	return true;
}

/* Flush the translations of this guest that are not global, for all PCIDs. */
static void svm_lwp_flush(struct vcpu_svm *svm)
{
	u8 *control = &svm->vmcb->control.tlb_ctl;

	if (!cpu_feature_enabled(X86_FEATURE_FLUSHBYASID))
		svm->current_vmcb->asid_generation--;
	else if (*control == TLB_CONTROL_DO_NOTHING)
		*control = TLB_CONTROL_FLUSH_ASID_LOCAL;
}

/*
 * MOV to CR3 with nested paging, as the processor executes it: KVM's own handler would have the
 * global pages flushed, too, and what bit 63 says is to be kept. False: KVM's own is to complete
 * it, because it raises #GP, or loads PDPTEs; *r is the result of the exit handler.
 */
bool svm_lwp_mov_cr3(struct kvm_vcpu *vcpu, int *r)
{
	struct vcpu_svm *svm = to_svm(vcpu);
	bool keep = false;
	unsigned int length;
	u64 cr3;
	int reg;

	if (!is_64_bit_mode(vcpu) || !svm_lwp_cr3_source(vcpu, &reg, &length))
		return false;
	cr3 = kvm_register_read_raw(vcpu, reg);
	trace_kvm_cr_write(3, cr3);
	if (kvm_is_cr4_bit_set(vcpu, X86_CR4_PCIDE)) {
		keep = cr3 & X86_CR3_PCID_NOFLUSH;
		cr3 &= ~X86_CR3_PCID_NOFLUSH;
	}
	if (!kvm_vcpu_is_legal_cr3(vcpu, cr3))
		return false;
	vcpu->arch.cr3 = cr3;
	svm->vmcb->save.cr3 = cr3;
	vmcb_mark_dirty(svm->vmcb, VMCB_CR);
	if (!keep)
		svm_lwp_flush(svm);
	svm_lwp_switched(vcpu);
	*r = svm_lwp_complete(vcpu, length);
	return true;
}
