// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The four LWP instructions, which raise #UD on a processor without LWP: decode, execute, complete.
 */
#include "svm.h"
#include "x86.h"
#include "lwp_layers.h"

static void svm_lwp_inject_read(struct kvm_vcpu *vcpu, struct x86_exception *e)
{
	if (e->vector == PF_VECTOR)
		kvm_inject_emulated_page_fault(vcpu, e);
	else
		kvm_queue_exception_e(vcpu, e->vector, 0);
}

/* 43724-622 */
static void svm_lwp_write_reg(struct kvm_vcpu *vcpu, const struct lwp_xop *xop, u8 reg, u64 value)
{
	kvm_register_write_raw(vcpu, reg, lwp_xop_value(xop, value));
}

/* 43724-609, 2007-601, 2007-602 */
static void svm_lwp_llwpcb(struct kvm_vcpu *vcpu, const struct lwp_xop *xop, struct lwp_exc *exc)
{
	struct vcpu_svm *svm = to_svm(vcpu);
	struct lwp_engine *e = &svm->lwp.engine;
	u64 ea = lwp_xop_value(xop, kvm_register_read_raw(vcpu, xop->reg));
	struct lwp_ds ds = svm_lwp_ds(vcpu);
	u64 old;

	lwp_llwpcb(e, ea, &ds, svm->vmcb->save.cpl, &old, exc);
	if (exc->kind == LWP_EXC_NONE && e->rev->llwpcb_returns_old)
		svm_lwp_write_reg(vcpu, xop, VCPU_REGS_RAX, old);
}

static void svm_lwp_slwpcb(struct kvm_vcpu *vcpu, const struct lwp_xop *xop, struct lwp_exc *exc)
{
	struct lwp_ds ds = svm_lwp_ds(vcpu);
	u64 result;

	lwp_slwpcb(&to_svm(vcpu)->lwp.engine, &ds, &result, exc);
	if (exc->kind == LWP_EXC_NONE)
		svm_lwp_write_reg(vcpu, xop, xop->reg, result);
}

/*
 * LWPINS and LWPVAL. False: the read of the memory operand raised *fault (43724-603, 43724-625,
 * 43724-627, 43724-629, 43724-634).
 */
static bool svm_lwp_sample(struct kvm_vcpu *vcpu, const struct lwp_xop *xop, struct lwp_exc *exc,
			   struct x86_exception *fault)
{
	struct lwp_engine *e = &to_svm(vcpu)->lwp.engine;
	bool ins = xop->op == LWP_XOP_LWPINS;
	struct lwp_sample sample = {
		.address = kvm_get_linear_rip(vcpu),
		.data2 = lwp_xop_value(xop, kvm_register_read_raw(vcpu, xop->reg)),
		.flags = (u16)xop->imm,
	};
	struct svm_lwp_reader reader;
	struct lwp_access access;
	unsigned long rflags;
	bool reads, cf;
	u64 value;

	reads = (ins ? lwp_ins_reads(e) : lwp_val_reads(e, sample.address)) &&
		lwp_sample_settle(e, sample.address, exc);
	if (exc->kind != LWP_EXC_NONE)
		return true;
	if (reads) {
		access = svm_lwp_access(&reader, vcpu);
		if (lwp_operand_read(&xop->rm, sizeof(u32), kvm_rip_read(vcpu) + xop->length,
				     &access, &value)) {
			*fault = reader.e;
			return false;
		}
		sample.data1 = value;
	}
	if (!ins) {
		lwp_val(e, &sample, exc);
		return true;
	}
	lwp_ins(e, &sample, &cf, exc);
	if (exc->kind == LWP_EXC_NONE) {
		rflags = kvm_get_rflags(vcpu) & ~X86_EFLAGS_CF;
		kvm_set_rflags(vcpu, rflags | (cf ? X86_EFLAGS_CF : 0));
	}
	return true;
}

/* False: see svm_lwp_sample(). */
static bool svm_lwp_perform(struct kvm_vcpu *vcpu, const struct lwp_xop *xop, struct lwp_exc *exc,
			    struct x86_exception *fault)
{
	bool read = true;

	svm_lwp_store_begin(vcpu);
	if (xop->op == LWP_XOP_LLWPCB)
		svm_lwp_llwpcb(vcpu, xop, exc);
	else if (xop->op == LWP_XOP_SLWPCB)
		svm_lwp_slwpcb(vcpu, xop, exc);
	else
		read = svm_lwp_sample(vcpu, xop, exc, fault);
	svm_lwp_store_end(vcpu);
	return read;
}

/*
 * False: memory was not there, and has been waited for; execute it once more. True: *r is the
 * result of the exit handler (43724-628, 43724-712).
 */
static bool svm_lwp_execute(struct kvm_vcpu *vcpu, const struct lwp_xop *xop, int *r)
{
	struct lwp_retired retired = { .address = kvm_get_linear_rip(vcpu) };
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct lwp_exc exc = { .kind = LWP_EXC_NONE };
	struct x86_exception fault = {};
	bool read = true;

	svm_lwp_memory_lock(vcpu);
	if (svm_lwp_user_mode(to_svm(vcpu)))
		svm_lwp_source_stop_user(vcpu);
	else
		svm_lwp_source_stop(vcpu);
	svm_lwp_ctx_before_insn(vcpu, xop->op == LWP_XOP_LLWPCB);
	if (!svm_lwp_memory_waits(vcpu))
		read = svm_lwp_perform(vcpu, xop, &exc, &fault);
	if (!svm_lwp_memory_waits(vcpu) && read && exc.kind == LWP_EXC_NONE &&
	    xop->op != LWP_XOP_LLWPCB && svm_lwp_user_mode(to_svm(vcpu)))
		lwp_retire(&lwp->engine, &retired);
	svm_lwp_ctx_changed(vcpu);
	lwp->next.valid = false;
	if (svm_lwp_mode_counts(lwp->mode))
		svm_lwp_set_mode(to_svm(vcpu), "insn", LWP_MODE_PASS);
	lwp->ss_shadow = false;
	svm_lwp_account(vcpu);
	if (svm_lwp_memory_unlock(vcpu))
		return false;

	if (!read)
		svm_lwp_inject_read(vcpu, &fault);
	else if (exc.kind != LWP_EXC_NONE)
		svm_lwp_inject(vcpu, &exc);
	else
		*r = svm_lwp_complete(vcpu, xop->length);
	return true;
}

/*
 * #UD was intercepted. True: an LWP instruction raised it, or one that KVM traps so and has to
 * complete, and it is handled; *r is the result of the exit handler (43724-605, 43724-606,
 * 2007-607).
 */
bool svm_lwp_ud(struct kvm_vcpu *vcpu, int *r)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	enum lwp_decode verdict;
	struct x86_exception e;
	struct lwp_xop xop;

	if (!lwp->enabled || !svm_lwp_here(vcpu) || !is_protmode(vcpu) ||
	    kvm_get_rflags(vcpu) & X86_EFLAGS_VM)
		return false;
	*r = 1;
	if (!svm_lwp_xop_at_rip(vcpu, &xop, &verdict, &e)) {
		if (e.vector != PF_VECTOR)
			return false;
		kvm_inject_emulated_page_fault(vcpu, &e);
		return true;
	}
	switch (verdict) {
	case LWP_DECODE_OK:
		while (!svm_lwp_execute(vcpu, &xop, r) && !signal_pending(current))
			;
		return true;
	case LWP_DECODE_GP:
		kvm_queue_exception_e(vcpu, GP_VECTOR, 0);
		return true;
	case LWP_DECODE_NOT_OURS:
		return svm_lwp_fsgsbase(vcpu, r) || svm_lwp_sysret(vcpu, r) ||
		       svm_lwp_syscall(vcpu, r);
	default:
		return false;
	}
}
