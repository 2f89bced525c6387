// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A counter source for tests. As a performance counter does, it interrupts some instructions after
 * the event for which it was armed; the tester gives the list of these lags, lwp_fake_skid. It
 * counts in software, while the vCPU steps. CONFIG_KVM_AMD_LWP_FAKE.
 */
#include <linux/moduleparam.h>

#include "svm.h"
#include "lwp_layers.h"

#define SKIDS_MAX 64

static unsigned int lwp_fake_skid[SKIDS_MAX];
static int skids;
module_param_array(lwp_fake_skid, uint, &skids, 0644);
MODULE_PARM_DESC(lwp_fake_skid,
		 "lwp_source=fake: list of lags of its interrupts, in instructions; used in turn");

/* The next lag of the list. Each vCPU has its own position in it. */
static u32 svm_lwp_fake_skid(struct svm_lwp_fake *f)
{
	int n = READ_ONCE(skids);

	return n ? READ_ONCE(lwp_fake_skid[f->turn++ % n]) : 0;
}

static bool svm_lwp_fake_arm(struct kvm_vcpu *vcpu, const u64 after[LWP_KINDS])
{
	struct svm_lwp_fake *f = &to_svm(vcpu)->lwp.fake;

	memset(f->count, 0, sizeof(f->count));
	memcpy(f->after, after, sizeof(f->after));
	f->overflow = false;
	return true;
}

static bool svm_lwp_fake_stop(struct kvm_vcpu *vcpu, u64 passed[LWP_KINDS])
{
	struct svm_lwp_fake *f = &to_svm(vcpu)->lwp.fake;
	int kind;

	for (kind = 0; kind < LWP_KINDS; kind++)
		passed[kind] = f->after[kind] ? f->count[kind] : 0;
	return true;
}

static bool svm_lwp_fake_pending(struct kvm_vcpu *vcpu)
{
	struct svm_lwp_fake *f = &to_svm(vcpu)->lwp.fake;

	return f->overflow && !f->skid;
}

static bool svm_lwp_fake_reached(struct svm_lwp_fake *f, enum lwp_kind kind)
{
	f->count[kind]++;
	return f->after[kind] && f->count[kind] >= f->after[kind];
}

static void svm_lwp_fake_retired(struct kvm_vcpu *vcpu, const struct lwp_retired *r)
{
	struct svm_lwp_fake *f = &to_svm(vcpu)->lwp.fake;
	bool reached = svm_lwp_fake_reached(f, LWP_KIND_IRE);

	if (r->branch != LWP_BRANCH_NONE && svm_lwp_fake_reached(f, LWP_KIND_BRE))
		reached = true;
	if (f->overflow) {
		f->skid -= !!f->skid;
	} else if (reached) {
		f->overflow = true;
		f->skid = svm_lwp_fake_skid(f);
	}
}

const struct svm_lwp_source svm_lwp_fake = {
	.name = "fake",
	.steps = true,
	.arm = svm_lwp_fake_arm,
	.stop = svm_lwp_fake_stop,
	.pending = svm_lwp_fake_pending,
	.retired = svm_lwp_fake_retired,
};
