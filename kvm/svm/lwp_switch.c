// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Signs that the guest's kernel switches threads: writes of CR3, FS base and KernelGSBase. They are
 * intercepted while the VM has any context, and for a while after the last one: whoever has all
 * vCPUs begin stops them, and a program can switch LWP off and on in a loop.
 *
 * WRFSBASE and WRGSBASE have no intercept. In an address space that has contexts CR4.FSGSBASE is
 * clear in the VMCB: they and the two that read raise #UD, which is intercepted, and are completed
 * here. The other address spaces run them at full speed; a switch to one of theirs writes CR3.
 */
#include <linux/hash.h>

#include "svm.h"
#include "trace.h"
#include "x86.h"
#include "lwp_compat.h"
#include "lwp_layers.h"

/* In jiffies. */
#define WATCH_LEAST HZ

/* The intercepts of MSRs that KVM itself passes through; SYSENTER_CS is for svm_lwp_sysenter(). */
void svm_lwp_recalc_msr_intercepts(struct kvm_vcpu *vcpu)
{
	const struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	lwp_intercept_msr_writes(vcpu, MSR_FS_BASE, lwp->watching);
	lwp_intercept_msr_writes(vcpu, MSR_KERNEL_GS_BASE, lwp->watching);
	lwp_intercept_msr(vcpu, MSR_IA32_SYSENTER_CS, lwp->sysenter_trapped);
}

/* The value of CR4 for the VMCB, from the one that KVM would write. */
u64 svm_lwp_cr4(struct vcpu_svm *svm, u64 cr4)
{
	return svm->lwp.fsgsbase_trapped ? cr4 & ~X86_CR4_FSGSBASE : cr4;
}

/* The bit in kvm_svm_lwp.spaces of an address space; others may have the same. */
static u32 svm_lwp_space(u64 cr3)
{
	return hash_64(cr3 >> PAGE_SHIFT, LWP_SPACES_SHIFT);
}

/* Are FSGSBASE's instructions to be trapped as they are? */
bool svm_lwp_fsgsbase_watched(struct kvm_vcpu *vcpu)
{
	const struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	const struct kvm_svm_lwp *vm = &to_kvm_svm(vcpu->kvm)->lwp;
	bool on = lwp->watching && test_bit(svm_lwp_space(kvm_read_cr3(vcpu)), vm->spaces);

	return lwp->fsgsbase_trapped == on;
}

/* Switch all these intercepts on or off, and the trap as the address space has it. */
void svm_lwp_watch(struct kvm_vcpu *vcpu, bool on)
{
	struct vcpu_svm *svm = to_svm(vcpu);
	u64 *cr4 = &svm->vmcb->save.cr4;

	if (svm->lwp.watching != on) {
		svm->lwp.watching = on;
		svm_lwp_recalc_msr_intercepts(vcpu);
		if (npt_enabled)
			svm_lwp_intercept(svm, INTERCEPT_CR, BIT(INTERCEPT_CR3_WRITE), on);
	}
	if (!svm_lwp_fsgsbase_watched(vcpu)) {
		svm->lwp.fsgsbase_trapped ^= true;
		*cr4 = svm_lwp_cr4(svm, *cr4 | (vcpu->arch.cr4 & X86_CR4_FSGSBASE));
		vmcb_mark_dirty(svm->vmcb, VMCB_CR);
	}
}

static void svm_lwp_begin_watch(struct kvm_svm_lwp *vm)
{
	if (vm->watched)
		return;
	WRITE_ONCE(vm->watched, true);
	schedule_delayed_work(&vm->unwatch, WATCH_LEAST);
}

/*
 * The context of `key` comes into the table, whose lock is held. True: vCPUs may not watch its
 * address space yet, or 32-bit code, so each must get a request.
 */
bool svm_lwp_watch_key(struct kvm_svm_lwp *vm, const struct lwp_ctx_key *key)
{
	bool tell = !test_and_set_bit(svm_lwp_space(key->cr3), vm->spaces);

	svm_lwp_begin_watch(vm);
	if (!(key->flags & LWP_CTX_32BIT) || vm->code32)
		return tell;
	WRITE_ONCE(vm->code32, true);
	return true;
}

/* Note which address spaces have contexts, and if 32-bit code has; others may have had. */
static void svm_lwp_note_spaces(struct kvm_svm_lwp *vm)
{
	DECLARE_BITMAP(spaces, LWP_SPACES) = {};
	bool code32 = false;
	u32 i;

	for (i = 0; i < vm->table.size; i++) {
		const struct lwp_ctx_key *key = &vm->table.entry[i].saved.key;

		if (!vm->table.entry[i].used)
			continue;
		__set_bit(svm_lwp_space(key->cr3), spaces);
		code32 |= key->flags & LWP_CTX_32BIT;
	}
	bitmap_copy(vm->spaces, spaces, LWP_SPACES);
	WRITE_ONCE(vm->code32, code32);
}

/* User space has filled the table, whose lock is held. Each vCPU gets a request. */
void svm_lwp_watch_table(struct kvm_svm_lwp *vm)
{
	svm_lwp_begin_watch(vm);
	svm_lwp_note_spaces(vm);
}

static void svm_lwp_unwatch(struct work_struct *work)
{
	struct kvm_svm_lwp *vm = container_of(to_delayed_work(work), struct kvm_svm_lwp, unwatch);

	guard(mutex)(&vm->lock);
	svm_lwp_note_spaces(vm);
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
	unsigned int n = svm_lwp_code_at(vcpu, kvm_get_linear_rip(vcpu), code, sizeof(code));
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

/*
 * #UD was intercepted. True: RDFSBASE, RDGSBASE, WRFSBASE or WRGSBASE has raised it only for the
 * trap, and it is completed; *r is the result of the exit handler (43724-907).
 */
bool svm_lwp_fsgsbase(struct kvm_vcpu *vcpu, int *r)
{
	struct vmcb_save_area *save = &to_svm(vcpu)->vmcb->save;
	struct lwp_insn insn;
	unsigned int bits;
	u64 *base, value;

	if (!to_svm(vcpu)->lwp.fsgsbase_trapped || !kvm_is_cr4_bit_set(vcpu, X86_CR4_FSGSBASE) ||
	    !svm_lwp_insn_at_rip(vcpu, &insn) || insn.kind < LWP_INSN_RDFSBASE ||
	    insn.kind > LWP_INSN_WRGSBASE || insn.code_bits != LWP_CODE64)
		return false;
	*r = 1;
	base = insn.kind == LWP_INSN_RDFSBASE || insn.kind == LWP_INSN_WRFSBASE ? &save->fs.base :
										  &save->gs.base;
	bits = insn.op_bits == 64 ? 64 : 32;
	if (insn.kind <= LWP_INSN_RDGSBASE) {
		kvm_register_write_raw(vcpu, insn.rm.reg, lwp_truncate(*base, bits));
	} else {
		value = lwp_truncate(kvm_register_read_raw(vcpu, insn.rm.reg), bits);
		if (is_noncanonical_address(value, vcpu, 0)) {
			kvm_queue_exception_e(vcpu, GP_VECTOR, 0);
			return true;
		}
		*base = value;
		svm_lwp_switched(vcpu);
	}
	*r = svm_lwp_complete(vcpu, insn.length);
	return true;
}
