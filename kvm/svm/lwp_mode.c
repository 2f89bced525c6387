// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The mode of a vCPU: how LWP has the guest run.
 *
 * Rows: the mode of the last VM-Entry, or what the exit after it has found. Columns: what comes
 * next. `any` is OFF, PASS, COUNT, NET, STEP, OVER or IRET, as svm_lwp_choose() finds it.
 *
 *           enter  inject  nested  park  resume  #DB     IRET     INT n   LWP
 *  OFF      any    run     -       OFF   any     -       -        -       -
 *  PASS     any    run     VMRUN   off   any     -       AT_IRET  -       -
 *  COUNT    any    run     VMRUN   off   any     -       AT_IRET  AT_INT  PASS
 *  NET      any    run     VMRUN   off   any     NET     AT_IRET  AT_INT  PASS
 *  STEP     any    run     -       off   any     STEP    -        -       -
 *  OVER     any    run     -       off   any     OVER    AT_IRET  AT_INT  -
 *  IRET     IRET   run     -       off   IRET    PASS    -        -       -
 *  VMRUN    any    run     VMRUN   -     -       -       -        -       -
 *  AT_IRET  IRET   run     -       off   IRET    -       -        -       -
 *  AT_INT   once   run     -       off   once    -       -        -       -
 *
 * enter: nothing of the other columns has come. inject: VMRUN will deliver an event. run: COUNT if
 * the source counts, else PASS. nested: VMRUN of a nested guest was emulated. park, resume: the
 * engine has lost its state, or has got another one. off: OFF, or PASS if the running thread's
 * context is awaited from another vCPU. once: any but COUNT and NET, because the source is
 * stopped for the instruction that is next. LWP: one of the four instructions was executed.
 * IRET, INT n: intercepted; in COUNT an IRET at CPL 3 is as INT n. RESET and INIT lead to OFF.
 * VMRUN, nested: an entry that KVM has given up, because it has something else to do first.
 * A state that counts nothing is parked and resumed in OFF. User space may set rIP in IRET and
 * AT_IRET; then `any` follows.
 *
 * -: cannot come. VMRUN of L1 exits at CPL 0, where the mode is PASS or COUNT; VMLOAD exits before,
 * so it is not OFF. While a nested guest runs, contexts are neither parked nor resumed. Only TF and
 * breakpoints lead to #DB. Only the modes that count intercept INT n, and OVER, which meets it and
 * IRET behind MOV SS. A step meets neither, as the instruction was decoded before, unless another
 * vCPU has changed the code. AT_* are not entered.
 */
#include "svm.h"
#include "lwp_compat.h"
#include "lwp_layers.h"
#include "lwp_trace.h"

/*
 * Exceptions whose delivery would push the flag. They are intercepted while stepping, and queued
 * again. KVM always intercepts #UD, #DB, #AC and #MC; INT3 and INTO run without the flag.
 */
#define LWP_EXCEPTIONS                                                                        \
	(BIT(DE_VECTOR) | BIT(BR_VECTOR) | BIT(NM_VECTOR) | BIT(TS_VECTOR) | BIT(NP_VECTOR) | \
	 BIT(SS_VECTOR) | BIT(GP_VECTOR) | BIT(PF_VECTOR) | BIT(MF_VECTOR) | BIT(XM_VECTOR) | \
	 BIT(CP_VECTOR))

/* Software interrupts that the counter would count wrongly; INT n and ICEBP have other words. */
#define SOFTWARE_EXCEPTIONS (BIT(BP_VECTOR) | BIT(OF_VECTOR))

static const char *const names[LWP_MODES] = {
	[LWP_MODE_OFF] = "off",	      [LWP_MODE_PASS] = "pass",	  [LWP_MODE_COUNT] = "count",
	[LWP_MODE_NET] = "net",	      [LWP_MODE_STEP] = "step",	  [LWP_MODE_OVER] = "over",
	[LWP_MODE_IRET] = "iret",     [LWP_MODE_VMRUN] = "vmrun", [LWP_MODE_AT_IRET] = "at-iret",
	[LWP_MODE_AT_INT] = "at-int",
};

/* event: the column of the table, for the trace. */
void svm_lwp_set_mode(struct vcpu_svm *svm, const char *event, enum svm_lwp_mode mode)
{
	trace_kvm_lwp_mode(svm->vcpu.vcpu_id, event, names[svm->lwp.mode], names[mode]);
	svm->lwp.mode = mode;
}

/* Are software interrupts intercepted? */
static bool svm_lwp_mode_sees_int(enum svm_lwp_mode mode)
{
	return svm_lwp_mode_counts(mode) || mode == LWP_MODE_OVER;
}

/*
 * The intercepts of the mode, and the one of IRET. The NMI window has one of its own for IRET
 * (43724-702).
 */
void svm_lwp_mode_intercepts(struct vcpu_svm *svm, bool iret)
{
	bool steps = svm_lwp_mode_single(svm->lwp.mode);
	bool counts = svm_lwp_mode_sees_int(svm->lwp.mode);

	svm_lwp_intercept(svm, INTERCEPT_EXCEPTION, LWP_EXCEPTIONS & ~BIT(GP_VECTOR), steps);
	svm_lwp_intercept(svm, INTERCEPT_EXCEPTION, BIT(GP_VECTOR),
			  steps || svm->lwp.sysenter_trapped);
	svm_lwp_intercept(svm, INTERCEPT_EXCEPTION, SOFTWARE_EXCEPTIONS, counts);
	svm_lwp_intercept(svm, INTERCEPT_INTn / 32, BIT(INTERCEPT_INTn % 32), counts);
	svm_lwp_intercept(svm, INTERCEPT_ICEBP / 32, BIT(INTERCEPT_ICEBP % 32), counts);
	svm_lwp_intercept(svm, INTERCEPT_IRET / 32, BIT(INTERCEPT_IRET % 32), iret);
}

/* Is this exception intercepted because its delivery would push RFLAGS.TF? */
bool svm_lwp_requeues(const struct vcpu_svm *svm, u32 vector)
{
	return svm_lwp_excepts(svm, vector) && LWP_EXCEPTIONS & BIT(vector);
}

/*
 * True: the exit was for a software interrupt. It runs at the next entry, while the source is
 * stopped (43724-702).
 */
bool svm_lwp_software_int(struct kvm_vcpu *vcpu, u32 exit_code)
{
	struct vcpu_svm *svm = to_svm(vcpu);
	u32 vector = exit_code - SVM_EXIT_EXCP_BASE;

	if (!svm_lwp_mode_sees_int(svm->lwp.mode))
		return false;
	if (exit_code != SVM_EXIT_SWINT && exit_code != SVM_EXIT_ICEBP &&
	    (!svm_lwp_excepts(svm, vector) || !(SOFTWARE_EXCEPTIONS & BIT(vector))))
		return false;
	svm_lwp_set_mode(svm, "int", LWP_MODE_AT_INT);
	return true;
}

/*
 * IRET was intercepted. It is stepped over at the next entry, unless an event comes first. A
 * counter would count one at CPL 3 as a return to it. True: it was intercepted for LWP (43724-816).
 */
bool svm_lwp_iret(struct kvm_vcpu *vcpu)
{
	struct vcpu_svm *svm = to_svm(vcpu);
	struct svm_lwp *lwp = &svm->lwp;
	enum svm_lwp_mode mode = LWP_MODE_AT_IRET;

	if (lwp->mode == LWP_MODE_OFF)
		return false;
	lwp->iret_ip = kvm_rip_read(vcpu);
	if (lwp->exit_user && svm_lwp_mode_counts(lwp->mode))
		mode = LWP_MODE_AT_INT;
	svm_lwp_set_mode(svm, "iret", mode);
	return true;
}
