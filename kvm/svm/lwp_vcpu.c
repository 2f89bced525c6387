// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * LWP for SVM guests: set-up and reset, the CPUID leaf, the two MSRs.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/moduleparam.h>
#include <linux/random.h>
#include <linux/stringify.h>

#include "svm.h"
#include "cpuid.h"
#include "lapic.h"
#include "lwp_compat.h"
#include "lwp_layers.h"

#define CREATE_TRACE_POINTS
#include "lwp_trace.h"

DEFINE_STATIC_KEY_DEFERRED_FALSE(svm_lwp_in_use, HZ);

bool __read_mostly enable_lwp = true;
module_param_named(lwp, enable_lwp, bool, 0444);
MODULE_PARM_DESC(lwp, "Lightweight Profiling for guests");

static unsigned int lwp_contexts = LWP_CTX_TABLE_DEFAULT;
module_param(lwp_contexts, uint, 0444);
MODULE_PARM_DESC(lwp_contexts, "profiled threads of one guest whose LWP state is kept");

#define LWP_CONTEXTS_LIMIT 65536
#define LWP_STEP_BUDGET 100000

/* The LWP that this host offers, by LWP_REV_*. Decided once, at hardware setup. */
static struct lwp_caps host_caps[LWP_REVS];

/* Can the host count this event? */
static bool svm_lwp_can_count(const struct lwp_rev *rev, u32 event_id)
{
	switch (rev->kind[event_id]) {
	case LWP_KIND_VAL:
	case LWP_KIND_IRE:
	case LWP_KIND_BRE:
		return true;
	case LWP_KIND_CNH:
	case LWP_KIND_RNH:
		return svm_lwp_source_clocks(rev->kind[event_id]);
	case LWP_KIND_DME:
		return svm_lwp_ibs_offered();
	default:
		return false;
	}
}

static void svm_lwp_host_caps_init(u32 rev_id)
{
	const struct lwp_rev *rev = lwp_rev_get(rev_id);
	struct lwp_caps *caps = &host_caps[rev_id];
	u32 id;

	lwp_caps_profile(caps, LWP_PROFILE_FULL, rev_id);
	for (id = 1; id <= rev->max_event_id; id++) {
		if (!svm_lwp_can_count(rev, id))
			caps->features &= ~LWP_BIT(id);
	}
	if (kvm_cpu_cap_has(X86_FEATURE_SVM))
		caps->ecx_features |= LWP_ECX_VMCB_AREA;
}

/*
 * At load, unless lwp=0 (43724-101, 2007-101). A wrong parameter must not keep kvm_amd from
 * loading: LWP is off then.
 */
void svm_lwp_hardware_setup(void)
{
	const char *wrong = svm_lwp_source_setup();
	u32 rev;

	BUILD_BUG_ON(offsetof(struct vmcb, save) + LWP_VMCB_SAVE_OFFSET != LWP_VMCB_OFFSET);
	BUILD_BUG_ON(sizeof(struct vmcb) > LWP_VMCB_OFFSET);
	BUILD_BUG_ON(LWP_VMCB_OFFSET + LWP_IMAGE_SIZE > PAGE_SIZE);

	if (!wrong && (!lwp_contexts || lwp_contexts > LWP_CONTEXTS_LIMIT))
		wrong = "lwp_contexts must be 1 to " __stringify(LWP_CONTEXTS_LIMIT);
	if (wrong) {
		pr_warn("LWP is off: %s\n", wrong);
		enable_lwp = false;
		return;
	}

	svm_lwp_ibs_setup();
	for (rev = 0; rev < LWP_REVS; rev++)
		svm_lwp_host_caps_init(rev);
}

/* The LWP that this host offers to a VM of this policy. */
static struct lwp_caps svm_lwp_offer(const struct kvm_lwp_policy *policy)
{
	struct lwp_caps caps = host_caps[policy->rev];

	/* They are estimates, and each sample is an exit: only for those who ask. */
	if (!(policy->flags & KVM_LWP_SAMPLE_MISSES))
		caps.features &= ~LWP_BIT(lwp_rev_get(caps.rev)->event_id[LWP_KIND_DME]);
	return caps;
}

/* Is LWP_CFG preset at RESET and INIT (43724-207)? */
static bool svm_lwp_presets(const struct kvm_lwp_policy *policy)
{
	return policy->context == KVM_LWP_CONTEXT_AUTO && !(policy->flags & KVM_LWP_NO_PRESET);
}

/*
 * Leaf 8000_001C of a new vCPU with all that is offered. ECX[24], state in VMCBs, is an option that
 * KVM_CAP_X86_LWP announces.
 */
void svm_lwp_leaf(const struct kvm_lwp_policy *policy, struct lwp_leaf *leaf)
{
	struct lwp_caps caps = svm_lwp_offer(policy);
	u64 cfg;

	caps.ecx_features &= ~LWP_ECX_VMCB_AREA;
	cfg = lwp_cfg_reset(&caps, svm_lwp_presets(policy), 0);
	lwp_leaf_encode(&caps, lwp_avail(&caps, cfg, true, true), leaf);
}

void svm_lwp_vm_init(struct kvm *kvm)
{
	struct kvm_svm_lwp *vm = &to_kvm_svm(kvm)->lwp;

	mutex_init(&vm->lock);
	svm_lwp_avic_init(kvm);
	svm_lwp_watch_init(vm);
	vm->policy.rev = LWP_REV_43724;
	vm->policy.context = KVM_LWP_CONTEXT_AUTO;
	vm->policy.delivery = svm_lwp_source_perf() ? LWP_DELIVERY_PROMPT : LWP_DELIVERY_EXACT;
	vm->policy.step_budget = LWP_STEP_BUDGET;
}

void svm_lwp_vm_destroy(struct kvm *kvm)
{
	svm_lwp_watch_end(&to_kvm_svm(kvm)->lwp);
	kvfree(to_kvm_svm(kvm)->lwp.table.entry);
}

/* The vCPU gets or loses LWP. Called with svm_lwp.lock held, if another thread may see the vCPU. */
static void svm_lwp_enable(struct kvm_vcpu *vcpu, bool on)
{
	struct kvm_svm_lwp *vm = &to_kvm_svm(vcpu->kvm)->lwp;
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	if (lwp->enabled == on)
		return;
	lwp->enabled = on;
	mutex_lock(&vm->lock);
	if (on)
		vm->vcpus++;
	else
		vm->vcpus--;
	mutex_unlock(&vm->lock);
	if (on)
		static_branch_inc(&svm_lwp_in_use.key);
	else
		static_branch_slow_dec_deferred(&svm_lwp_in_use);
}

void svm_lwp_vcpu_init(struct kvm_vcpu *vcpu)
{
	mutex_init(&to_svm(vcpu)->lwp.lock);
	to_svm(vcpu)->lwp.refusal = KVM_LWP_REFUSED_CPUID;
	svm_lwp_source_init(vcpu);
}

void svm_lwp_vcpu_free(struct kvm_vcpu *vcpu)
{
	svm_lwp_avic_stop(vcpu->kvm);
	svm_lwp_enable(vcpu, false);
	svm_lwp_source_free(vcpu);
}

/*
 * The first vCPU that has LWP allocates the VM's table of contexts. Contexts move between vCPUs, so
 * all vCPUs must announce the same LWP. A VM's only vCPU may change it. Its contexts are then
 * dropped.
 */
static u32 svm_lwp_join_vm(struct kvm_vcpu *vcpu, const struct lwp_caps *caps)
{
	struct kvm_svm_lwp *vm = &to_kvm_svm(vcpu->kvm)->lwp;
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	void *memory;
	bool same;

	guard(mutex)(&vm->lock);
	same = vm->table.entry && !memcmp(&vm->caps, caps, sizeof(*caps));
	if (!same && vm->vcpus > lwp->enabled)
		return KVM_LWP_REFUSED_LEAF;
	if (!vm->table.entry) {
		memory = kvzalloc(lwp_ctx_table_bytes(lwp_contexts), GFP_KERNEL_ACCOUNT);
		if (!memory)
			return KVM_LWP_REFUSED_HOST;
		lwp_ctx_table_init(&vm->table, memory, lwp_contexts, get_random_u64());
		svm_lwp_collect_init(vm);
	} else if (!same) {
		lwp_ctx_table_reset(&vm->table);
	}
	vm->caps = *caps;
	return KVM_LWP_REFUSED_NOT;
}

/* Has user space asked for LWP? Called with kvm->lock held. */
bool svm_lwp_asked(struct kvm *kvm)
{
	return to_kvm_svm(kvm)->lwp.asked;
}

bool svm_lwp_has(struct kvm_vcpu *vcpu)
{
	return to_svm(vcpu)->lwp.enabled;
}

/* RESET and INIT (43724-207, 43724-214). */
void svm_lwp_reset(struct kvm_vcpu *vcpu)
{
	const struct kvm_lwp_policy *policy = &to_kvm_svm(vcpu->kvm)->lwp.policy;
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	if (!lwp->enabled)
		return;
	mutex_lock(&lwp->lock);
	svm_lwp_source_drop(vcpu);
	lwp_engine_reset(&lwp->engine, svm_lwp_presets(policy), vcpu->vcpu_id);
	svm_lwp_ctx_changed(vcpu);
	svm_lwp_watch(vcpu, false);
	svm_lwp_disarm(vcpu);
	mutex_unlock(&lwp->lock);
	svm_lwp_update_avail(vcpu);
}

/*
 * Does this host offer all that caps announce? A VMM may announce fewer events, whose slots the
 * control block lacks then, and a larger least ring (43724-111, 43724-117, 2007-109).
 */
static bool svm_lwp_can(const struct kvm_lwp_policy *policy, const struct lwp_caps *caps)
{
	struct lwp_caps host = svm_lwp_offer(policy);

	if (caps->max_events < host.max_events && !lwp_caps_set_max_events(&host, caps->max_events))
		return false;
	return lwp_caps_covers(&host, caps) == LWP_CAPS_OK;
}

/* Does the guest's CPUID say that there is LWP? KVM's own capabilities do not name it. */
static bool svm_lwp_announced(struct kvm_vcpu *vcpu)
{
	struct kvm_cpuid_entry2 *entry = kvm_find_cpuid_entry(vcpu, 0x80000001);

	return entry && cpuid_entry_has(entry, X86_FEATURE_LWP);
}

/*
 * The bits of CR4 with which LWP works. FRED's ERETU is no IRET. LAM and LASS change which linear
 * addresses are valid, and so does Upper Address Ignore. INVLPGB flushes without an interrupt.
 */
#define LWP_CR4_KNOWN                                                                       \
	(X86_CR4_VME | X86_CR4_PVI | X86_CR4_TSD | X86_CR4_DE | X86_CR4_PSE | X86_CR4_PAE | \
	 X86_CR4_MCE | X86_CR4_PGE | X86_CR4_PCE | X86_CR4_OSFXSR | X86_CR4_OSXMMEXCPT |    \
	 X86_CR4_UMIP | X86_CR4_LA57 | X86_CR4_FSGSBASE | X86_CR4_PCIDE | X86_CR4_OSXSAVE | \
	 X86_CR4_SMEP | X86_CR4_SMAP | X86_CR4_PKE | X86_CR4_CET)
#define CPUID_80000008_EBX_INVLPGB BIT(3)
#define CPUID_80000021_EAX_UAI BIT(7)

/* May the guest use only what LWP works with? Its CPUID counts, whether KVM can do it or not. */
static bool svm_lwp_knows(struct kvm_vcpu *vcpu)
{
	struct kvm_cpuid_entry2 *invlpgb = kvm_find_cpuid_entry(vcpu, 0x80000008);
	struct kvm_cpuid_entry2 *uai = kvm_find_cpuid_entry(vcpu, 0x80000021);

	return !(~vcpu->arch.cr4_guest_rsvd_bits & ~LWP_CR4_KNOWN) &&
	       !(invlpgb && invlpgb->ebx & CPUID_80000008_EBX_INVLPGB) &&
	       !(uai && uai->eax & CPUID_80000021_EAX_UAI);
}

/*
 * Why the vCPU gets no LWP with its CPUID, KVM_LWP_REFUSED_*. For KVM_LWP_REFUSED_NOT, *caps is the
 * LWP that its CPUID announces (43724-116).
 */
static u32 svm_lwp_judge(struct kvm_vcpu *vcpu, struct lwp_caps *caps)
{
	const struct kvm_svm_lwp *vm = &to_kvm_svm(vcpu->kvm)->lwp;
	struct kvm_cpuid_entry2 *entry;
	struct lwp_leaf leaf;

	entry = kvm_find_cpuid_entry(vcpu, LWP_CPUID_LEAF);
	if (!entry || !svm_lwp_announced(vcpu))
		return KVM_LWP_REFUSED_CPUID;
	if (!vm->asked)
		return KVM_LWP_REFUSED_POLICY;
	if (lwp_encrypted(vcpu->kvm))
		return KVM_LWP_REFUSED_ENCRYPTED;
	if (!lapic_in_kernel(vcpu))
		return KVM_LWP_REFUSED_APIC;
	leaf.eax = entry->eax;
	leaf.ebx = entry->ebx;
	leaf.ecx = entry->ecx;
	leaf.edx = entry->edx;
	if (!lwp_leaf_decode(&leaf, vm->policy.rev, caps) || !svm_lwp_can(&vm->policy, caps))
		return KVM_LWP_REFUSED_LEAF;
	if (vm->policy.context == KVM_LWP_CONTEXT_AUTO && caps->ecx_features & LWP_ECX_VMCB_AREA)
		return KVM_LWP_REFUSED_LEAF;
	return svm_lwp_knows(vcpu) ? KVM_LWP_REFUSED_NOT : KVM_LWP_REFUSED_FEATURE;
}

static const char *const refusals[] = {
	[KVM_LWP_REFUSED_LEAF] =
		"CPUID leaf 8000_001C is not as in other vCPUs, or more than this host can do",
	[KVM_LWP_REFUSED_ENCRYPTED] = "an encrypted guest cannot be read",
	[KVM_LWP_REFUSED_APIC] = "there is no local APIC in the kernel",
	[KVM_LWP_REFUSED_HOST] = "no memory, or LWP of kvm_amd is off",
	[KVM_LWP_REFUSED_POLICY] = "user space has not asked for it",
	[KVM_LWP_REFUSED_FEATURE] = "CPUID has a feature with which LWP is not known to work",
};

/* The vCPU has no LWP. KVM_LWP_VCPU_STATUS tells user space why. */
static void svm_lwp_refuse(struct kvm_vcpu *vcpu, u32 refusal)
{
	const char *why = refusals[refusal];

	trace_kvm_lwp_refused(vcpu->vcpu_id, why ?: "CPUID does not announce it");
	if (why)
		pr_warn_once("vCPU %d announces LWP and has none: %s\n", vcpu->vcpu_id, why);
}

void svm_lwp_after_set_cpuid(struct kvm_vcpu *vcpu)
{
	const struct kvm_lwp_policy *policy = &to_kvm_svm(vcpu->kvm)->lwp.policy;
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct lwp_caps caps = {};

	mutex_lock(&lwp->lock);
	lwp->refusal = svm_lwp_judge(vcpu, &caps);
	/* User space may have restored a context for the old CPUID. Drop it. */
	if (lwp->live && (lwp->refusal || memcmp(&caps, &lwp->engine.caps, sizeof(caps))))
		svm_lwp_ctx_leave(vcpu, true);
	if (!lwp->refusal)
		lwp->refusal = svm_lwp_join_vm(vcpu, &caps);
	if (lwp->refusal) {
		svm_lwp_enable(vcpu, false);
		svm_lwp_refuse(vcpu, lwp->refusal);
	} else if (!lwp->enabled || memcmp(&caps, &lwp->engine.caps, sizeof(caps))) {
		lwp_engine_init(&lwp->engine, &caps, policy->context == KVM_LWP_CONTEXT_AUTO,
				policy->delivery, &svm_lwp_ops, vcpu);
		lwp->engine.xcr0_lwp = true;
		lwp_engine_reset(&lwp->engine, svm_lwp_presets(policy), vcpu->vcpu_id);
		memset(&lwp->seen, 0, sizeof(lwp->seen));
		svm_lwp_enable(vcpu, true);
	}
	mutex_unlock(&lwp->lock);
	svm_lwp_update_avail(vcpu);
}

/* The answer of KVM_LWP_VCPU_STATUS. SEV may have been switched on after CPUID was set. */
u32 svm_lwp_refusal(struct kvm_vcpu *vcpu)
{
	if (!enable_lwp)
		return KVM_LWP_REFUSED_HOST;
	return lwp_encrypted(vcpu->kvm) ? KVM_LWP_REFUSED_ENCRYPTED : to_svm(vcpu)->lwp.refusal;
}

/*
 * In the 2007 proposal WRMSR and RDMSR of LWP_CBADDR execute LLWPCB and SLWPCB (2007-206). False =
 * any exception; KVM's MSR exits know #GP(0) only, so svm_lwp_msr_raised() raises the others
 * (2007-207).
 */
static bool svm_lwp_execute_cbaddr(struct kvm_vcpu *vcpu, u64 *value, bool write)
{
	struct lwp_engine *e = &to_svm(vcpu)->lwp.engine;
	struct lwp_exc exc = { .kind = LWP_EXC_NONE };
	struct lwp_ds flat = {
		.limit = U64_MAX,
		.long_mode = true,
		.va_bits = vcpu_virt_addr_bits(vcpu),
	};
	u64 old;

	if (write)
		svm_lwp_ctx_before_insn(vcpu, true);
	svm_lwp_store_begin(vcpu);
	if (svm_lwp_memory_waits(vcpu))
		exc.kind = LWP_EXC_AGAIN;
	else if (write)
		lwp_llwpcb(e, *value, &flat, 0, &old, &exc);
	else
		lwp_slwpcb(e, &flat, value, &exc);
	svm_lwp_store_end(vcpu);
	svm_lwp_ctx_changed(vcpu);
	to_svm(vcpu)->lwp.msr_exc = exc;
	to_svm(vcpu)->lwp.msr_rip = kvm_rip_read(vcpu);
	return exc.kind == LWP_EXC_NONE;
}

/*
 * RDMSR or WRMSR ends with an exception. True: it was LWP_CBADDR of 2007, and the exception of its
 * LLWPCB or SLWPCB is queued (2007-209).
 */
bool svm_lwp_msr_raised(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct lwp_exc exc = lwp->msr_exc;

	lwp->msr_exc.kind = LWP_EXC_NONE;
	if (!lwp->enabled || exc.kind == LWP_EXC_NONE || kvm_rip_read(vcpu) != lwp->msr_rip)
		return false;
	svm_lwp_inject(vcpu, &exc);
	return true;
}

static bool svm_lwp_executes_cbaddr(const struct lwp_engine *e, bool host)
{
	return !host && e->auto_context && e->rev->cbaddr_executes;
}

/*
 * RDMSR, of a vCPU that has LWP. The read of a guest OS that switches LWP by MSR parks the state; a
 * host-initiated read does not (43724-204, 43724-210, 43724-315, 2007-208).
 */
int svm_lwp_get_msr(struct kvm_vcpu *vcpu, struct msr_data *msr)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	bool ok = true;

	do {
		svm_lwp_memory_lock(vcpu);
		if (msr->index == LWP_MSR_CFG) {
			msr->data = lwp->engine.st.cfg;
		} else if (svm_lwp_executes_cbaddr(&lwp->engine, msr->host_initiated)) {
			ok = svm_lwp_execute_cbaddr(vcpu, &msr->data, false);
		} else {
			msr->data = lwp->engine.st.cb_addr;
			if (!msr->host_initiated && !lwp->engine.auto_context && msr->data)
				svm_lwp_ctx_park(vcpu);
		}
	} while (svm_lwp_memory_unlock(vcpu) && !signal_pending(current));
	return !ok;
}

/* WRMSR LWP_CBADDR; false = #GP(0) (43724-216). */
static bool svm_lwp_write_cbaddr(struct kvm_vcpu *vcpu, u64 value, bool host)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct lwp_engine *e = &lwp->engine;

	if (svm_lwp_executes_cbaddr(e, host))
		return svm_lwp_execute_cbaddr(vcpu, &value, true);
	if (value && value == e->st.cb_addr && host)
		return true;
	if (!value || (e->auto_context && !host)) {
		if (!lwp_engine_write_cbaddr(e, value))
			return false;
		svm_lwp_ctx_changed(vcpu);
		return true;
	}
	if (is_noncanonical_address(value, vcpu, 0))
		return false;
	lwp_state_off(&e->st);
	svm_lwp_ctx_changed(vcpu);
	lwp_engine_defer(e, value);
	lwp->resume = !e->auto_context;
	return true;
}

/* WRMSR, of a vCPU that has LWP (43724-201, 2007-208). */
int svm_lwp_set_msr(struct kvm_vcpu *vcpu, struct msr_data *msr)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	bool ok = true;

	do {
		svm_lwp_memory_lock(vcpu);
		svm_lwp_source_stop(vcpu);
		if (msr->index == LWP_MSR_CBADDR)
			ok = svm_lwp_write_cbaddr(vcpu, msr->data, msr->host_initiated);
		else
			ok = lwp_engine_write_cfg(&lwp->engine, msr->data);
	} while (svm_lwp_memory_unlock(vcpu) && !signal_pending(current));
	svm_lwp_update_avail(vcpu);
	return !ok;
}
