// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The stepping budget. If no counter can be used, because the host's perf has them all or because
 * each instruction must be filtered, a program is stepped and runs a thousand times slower. With
 * `exact` delivery there is no limit. With `prompt` a vCPU steps as many instructions a second as
 * the VM's policy says; further instructions run uncounted, and the statistic lwp_uncounted_us has
 * for how long.
 */
#include <linux/jiffies.h>

#include "svm.h"
#include "lwp_layers.h"

#define WINDOWS 10 /* in a second */

static void svm_lwp_budget_resume(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	if (lwp->budget_out)
		vcpu->stat.lwp_uncounted_us += (ktime_get_ns() - lwp->budget_out) / NSEC_PER_USEC;
	lwp->budget_out = 0;
}

/*
 * May the next instruction at CPL 3 be stepped? If so, it is taken from the budget. Called with
 * svm_lwp.lock held.
 */
bool svm_lwp_budget_left(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	u64 budget = to_kvm_svm(vcpu->kvm)->lwp.policy.step_budget;

	/* A record that waits for the next branch: the steps up to that branch are free. */
	if (!budget || lwp->engine.delivery == LWP_DELIVERY_EXACT ||
	    lwp_awaits_branch(&lwp->engine))
		return true;
	if (!lwp->budget_since || time_after(jiffies, lwp->budget_since + HZ / WINDOWS)) {
		lwp->budget_since = jiffies;
		lwp->budget_left = DIV_ROUND_UP(budget, WINDOWS);
	}
	if (lwp->budget_left) {
		lwp->budget_left--;
		svm_lwp_budget_resume(vcpu);
		return true;
	}
	if (!lwp->budget_out)
		lwp->budget_out = ktime_get_ns();
	return false;
}
