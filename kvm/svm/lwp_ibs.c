// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Data cache misses (EventId 4; 2007: 3), sampled by AMD's instruction-based sampling, for VMs
 * whose policy asks for it.
 *
 * No performance counter says which load missed. IBS tags an op every ibs_period ops and says what
 * became of it. A tagged load of the guest at CPL 3 that missed L1D stands for the ops that
 * the guest has executed since its last sample: the counter of EventId 4 falls by their number, and
 * the record, if one is due, has the load's own address, data address, latency and source. So the
 * count is an estimate without a bias; its standard deviation is at most the period times the
 * square root of the samples.
 *
 * perf's PMU ibs_op has no way to leave out the host (it refuses exclude_host), so the host's ops
 * count too. After each sample come those of its NMI, of KVM and of VM-Entry, which are never
 * sampled as they begin the period. If a sample stood for a whole period, the estimate would be too
 * large by them. So KVM reads IBS's count right before VMRUN and right after #VMEXIT and adds up
 * what is the guest's; the few ops between these reads and the guest are in it. The reads lie where
 * the kernel may not trace, as what it does before (lockdep, context tracking) can be many ops.
 *
 * A sample is the guest's if its NMI came between VM-Entry and the end of #VMEXIT. It is one of
 * CPL 3 if the guest left at CPL 3 and the op's rIP is not in the upper half, where kernels are.
 * What is lost: a tagged load right before an exit or a system call, if its NMI comes after that;
 * what passes while perf throttles or others use IBS.
 *
 * The event counts between the first instruction at CPL 3 and svm_lwp_source_stop().
 */
#include <linux/jiffies.h>
#include <linux/perf_event.h>

#include "svm.h"
#include "lwp_compat.h"
#include "lwp_layers.h"

/* A file in debugfs: ops from sample to sample. */
u32 svm_lwp_ibs_period = 524288;

/* perf samples retired ops precisely with IBS. */
#define PMC_RETIRED_OPS 0xc1
#define PRECISE 2

#define PERIOD_UNIT 16u
#define PERIOD_LEAST 1024u
#define PERIOD_MOST 0xffff0u /* beyond it some processors need several rollovers */
#define CAPS_LEAF 0x8000001b

/* The registers of a sample, after IBS's capabilities. */
enum svm_lwp_ibs_reg { OP_CTL, OP_RIP, OP_DATA, OP_DATA2, OP_DATA3, DC_LIN, REGS };

static bool offered;

/* Does it count, and how far has it come? */
static bool svm_lwp_ibs_counts(u64 ctl)
{
	return (ctl & (IBS_OP_ENABLE | IBS_OP_VAL)) == IBS_OP_ENABLE;
}

static u64 svm_lwp_ibs_at(u64 ctl)
{
	return ((union ibs_op_ctl){ .val = ctl }).opcurcnt;
}

static u64 svm_lwp_ibs_max(u64 ctl)
{
	return (ctl & IBS_OP_MAX_CNT) << 4 | (ctl & IBS_OP_MAX_CNT_EXT_MASK);
}

/* Who had the data. A processor with few codes has 2 where others have 1. */
static u8 svm_lwp_ibs_source(const u64 reg[REGS])
{
	union ibs_op_data2 data2 = { .val = reg[OP_DATA2] };
	union ibs_op_data3 data3 = { .val = reg[OP_DATA3] };

	if (!data3.l2_miss)
		return LWP_SRC_NONE;
	switch (data2.data_src_hi << 3 | data2.data_src_lo) {
	case 0:
		return LWP_SRC_NONE;
	case IBS_DATA_SRC_EXT_LOC_CACHE:
	case IBS_DATA_SRC_LOC_CACHE:
		return LWP_SRC_LOCAL_L3;
	case IBS_DATA_SRC_DRAM:
		return LWP_SRC_DRAM;
	case IBS_DATA_SRC_REM_CACHE:
	case IBS_DATA_SRC_EXT_FAR_CCX_CACHE:
		return LWP_SRC_REMOTE;
	default:
		return LWP_SRC_OTHER;
	}
}

/* NMI context. */
static void svm_lwp_ibs_overflow(struct perf_event *event, struct perf_sample_data *data,
				 struct pt_regs *regs)
{
	struct svm_lwp_ibs *ibs = event->overflow_handler_context;
	union ibs_op_data3 data3;
	u64 reg[REGS];

	if (!READ_ONCE(ibs->inside))
		return;
	WRITE_ONCE(ibs->sampled, true);
	if (READ_ONCE(ibs->missed) || !(data->sample_flags & PERF_SAMPLE_RAW) ||
	    data->raw->frag.size < sizeof(u32) + sizeof(reg))
		return;
	memcpy(reg, data->raw->frag.data + sizeof(u32), sizeof(reg));
	data3.val = reg[OP_DATA3];
	if (!data3.ld_op || !data3.dc_miss || !data3.dc_lin_addr_valid || (s64)reg[OP_RIP] < 0)
		return;
	ibs->address = reg[OP_RIP];
	ibs->miss = (struct lwp_miss){
		.address = reg[DC_LIN],
		.latency = data3.dc_miss_lat,
		.source = svm_lwp_ibs_source(reg),
	};
	WRITE_ONCE(ibs->missed, true);
}

/* Create the event, or keep it if it is this thread's. False: there is none. */
static bool svm_lwp_ibs_get(struct svm_lwp_ibs *ibs)
{
	u32 period = round_down(READ_ONCE(svm_lwp_ibs_period), PERIOD_UNIT);
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW,
		.size = sizeof(attr),
		.config = PMC_RETIRED_OPS,
		.precise_ip = PRECISE,
		.sample_period = clamp(period, PERIOD_LEAST, PERIOD_MOST),
		.sample_type = PERF_SAMPLE_RAW,
		.disabled = true,
		.pinned = true,
	};

	if (ibs->event && ibs->event->hw.target != current)
		svm_lwp_event_put(&ibs->event);
	if (ibs->event)
		return true;
	ibs->event =
		perf_event_create_kernel_counter(&attr, -1, current, svm_lwp_ibs_overflow, ibs);
	if (!IS_ERR(ibs->event))
		return true;
	ibs->event = NULL;
	return false;
}

void svm_lwp_ibs_free(struct kvm_vcpu *vcpu)
{
	svm_lwp_event_put(&to_svm(vcpu)->lwp.ibs.event);
}

/* At load, whether or not a VM will ask. */
void svm_lwp_ibs_setup(void)
{
	struct svm_lwp_ibs ibs = {};

	offered = boot_cpu_has(X86_FEATURE_IBS) && cpuid_eax(CAPS_LEAF) & IBS_CAPS_RDWROPCNT &&
		  svm_lwp_ibs_get(&ibs);
	svm_lwp_event_put(&ibs.event);
}

/* Can this host sample? */
bool svm_lwp_ibs_offered(void)
{
	return offered;
}

/* Does the state count data cache misses? */
bool svm_lwp_ibs_wanted(const struct lwp_engine *e)
{
	return svm_lwp_counts(e, LWP_KIND_DME);
}

/* Is the event counting? */
bool svm_lwp_ibs_running(struct kvm_vcpu *vcpu)
{
	return to_svm(vcpu)->lwp.ibs.running;
}

/* Give the engine the miss that has been sampled (43724-719, 2007-710). */
void svm_lwp_ibs_check(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct svm_lwp_ibs *ibs = &lwp->ibs;

	if (!READ_ONCE(ibs->missed))
		return;
	vcpu->stat.lwp_counter_irqs++;
	lwp_pass_miss(&lwp->engine, ibs->weight, ibs->address, &ibs->miss);
	WRITE_ONCE(ibs->missed, false);
}

/*
 * Bring the engine's counter up to date, wherever the vCPU is. Called by any thread. perf keeps the
 * rest of the period, so the ops since the last sample belong to the next.
 */
void svm_lwp_ibs_stop(struct kvm_vcpu *vcpu)
{
	struct svm_lwp_ibs *ibs = &to_svm(vcpu)->lwp.ibs;

	svm_lwp_ibs_check(vcpu);
	if (ibs->running)
		perf_event_disable(ibs->event);
	ibs->running = false;
}

/* Stop, and discard a sample. */
void svm_lwp_ibs_drop(struct kvm_vcpu *vcpu)
{
	struct svm_lwp_ibs *ibs = &to_svm(vcpu)->lwp.ibs;

	WRITE_ONCE(ibs->missed, false);
	svm_lwp_ibs_stop(vcpu);
}

/* Others have IBS: try again later. */
static void svm_lwp_ibs_fail(struct kvm_vcpu *vcpu)
{
	struct svm_lwp_ibs *ibs = &to_svm(vcpu)->lwp.ibs;

	svm_lwp_ibs_drop(vcpu);
	ibs->failed = true;
	ibs->retry = jiffies + SVM_LWP_PERF_RETRY;
	vcpu->stat.lwp_no_counter++;
}

static void svm_lwp_ibs_start(struct kvm_vcpu *vcpu)
{
	struct svm_lwp_ibs *ibs = &to_svm(vcpu)->lwp.ibs;

	if (ibs->failed && time_before(jiffies, ibs->retry))
		return;
	ibs->failed = false;
	svm_lwp_event_use(vcpu);
	ibs->running = svm_lwp_ibs_get(ibs);
	if (!ibs->running || !svm_lwp_event_run(ibs->event, 0))
		svm_lwp_ibs_fail(vcpu);
}

/* Before the next instruction at CPL 3: start the event or stop it. */
void svm_lwp_ibs_run(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct svm_lwp_ibs *ibs = &lwp->ibs;

	if (!svm_lwp_ibs_wanted(&lwp->engine)) {
		if (ibs->running)
			svm_lwp_ibs_stop(vcpu);
		return;
	}
	if (ibs->running && ibs->event->hw.target != current)
		svm_lwp_ibs_stop(vcpu);
	if (!ibs->running)
		svm_lwp_ibs_start(vcpu);
	else if (READ_ONCE(ibs->event->state) == PERF_EVENT_STATE_ERROR)
		svm_lwp_ibs_fail(vcpu);
}

/* Around VMRUN, GIF clear and without the lock. */
void svm_lwp_ibs_entering(struct vcpu_svm *svm)
{
	struct svm_lwp_ibs *ibs = &svm->lwp.ibs;

	if (READ_ONCE(ibs->running))
		WRITE_ONCE(ibs->inside, svm_lwp_ibs_counts(__rdmsr(MSR_AMD64_IBSOPCTL)));
}

noinstr void svm_lwp_enter_noinstr(struct vcpu_svm *svm)
{
	struct svm_lwp_ibs *ibs = &svm->lwp.ibs;

	if (READ_ONCE(ibs->inside))
		ibs->entered = __rdmsr(MSR_AMD64_IBSOPCTL);
}

noinstr void svm_lwp_leave_noinstr(struct vcpu_svm *svm)
{
	struct svm_lwp_ibs *ibs = &svm->lwp.ibs;

	if (READ_ONCE(ibs->inside))
		ibs->left = __rdmsr(MSR_AMD64_IBSOPCTL);
}

/* An NMI of the guest has been handled. A sample that came after #VMEXIT was the host's. */
void svm_lwp_ibs_exited(struct vcpu_svm *svm)
{
	struct svm_lwp_ibs *ibs = &svm->lwp.ibs;

	if (!READ_ONCE(ibs->inside))
		return;
	WRITE_ONCE(ibs->inside, false);
	if (svm_lwp_ibs_counts(ibs->left)) {
		if (svm_lwp_ibs_at(ibs->left) > svm_lwp_ibs_at(ibs->entered))
			ibs->ops += svm_lwp_ibs_at(ibs->left) - svm_lwp_ibs_at(ibs->entered);
	} else if (READ_ONCE(ibs->sampled)) {
		ibs->weight =
			ibs->ops + svm_lwp_ibs_max(ibs->entered) - svm_lwp_ibs_at(ibs->entered);
		ibs->ops = 0;
		if (!svm_lwp_user_mode(svm))
			WRITE_ONCE(ibs->missed, false);
	}
	WRITE_ONCE(ibs->sampled, false);
}
