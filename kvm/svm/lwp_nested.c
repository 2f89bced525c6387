// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * LWP state in VMCBs: the 128-byte image at F80h, after everything that published layouts of the
 * save area define. In the VMCBs of nested guests VMSAVE writes and VMLOAD reads the image, if the
 * leaf announces that (8000_001C ECX[24]). The guest's own VMCB has none: user space reads the
 * state of a vCPU by KVM_LWP_VCPU_IMAGE, in the same layout.
 *
 * A nested guest has LWP only if ECX[24] is announced. VMRUN and #VMEXIT do not change LWP state,
 * so the guest's hypervisor switches it with VMLOAD and VMSAVE, as it switches FS. With `auto`
 * contexts nested guests have no LWP, and a CPUID that announces ECX[24] is refused.
 */
#include "svm.h"
#include "cpuid.h"
#include "smm.h"
#include "x86.h"
#include "lwp_compat.h"
#include "lwp_layers.h"

static bool svm_lwp_range_reachable(u64 start, u64 size, u8 bits)
{
	return __is_canonical_address(start, bits) &&
	       __is_canonical_address(start + size - 1, bits);
}

/*
 * Are the addresses of a state canonical for this guest? It may turn on five-level paging later
 * (43724-913).
 */
static bool svm_lwp_reachable(struct kvm_vcpu *vcpu, const struct lwp_state *st)
{
	u32 cb_size = to_svm(vcpu)->lwp.engine.caps.cb_size;
	u8 bits = lwp_guest_has(vcpu, X86_FEATURE_LA57) ? 57 : 48;

	return !lwp_state_on(st) ||
	       (svm_lwp_range_reachable(st->cb_addr, cb_size, bits) &&
		(lwp_state_deferred(st) || svm_lwp_range_reachable(st->base, st->size, bits)));
}

/*
 * VMLOAD. The guest may have written any bytes: a bad image turns LWP off and clears LWP_CFG
 * (43724-912, 2007-907).
 */
void svm_lwp_vmload(struct kvm_vcpu *vcpu, const struct vmcb *from)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	u8 image[LWP_IMAGE_SIZE];
	struct lwp_state st;

	if (!svm_lwp_in_vmcb(vcpu))
		return;
	/* Other vCPUs can write to the image: read it once. */
	memcpy(image, svm_lwp_image((struct vmcb *)from), sizeof(image));
	mutex_lock(&lwp->lock);
	if (lwp->live)
		svm_lwp_ctx_leave(vcpu, true);
	svm_lwp_source_drop(vcpu);
	if (lwp_state_decode(image, &lwp->engine.caps, &st) || !svm_lwp_reachable(vcpu, &st))
		memset(&st, 0, sizeof(st));
	lwp_engine_load(&lwp->engine, &st);
	lwp->resume = false;
	lwp->in_user = false;
	mutex_unlock(&lwp->lock);
	svm_lwp_update_avail(vcpu);
}

/* VMSAVE (43724-912, 2007-907). */
void svm_lwp_vmsave(struct kvm_vcpu *vcpu, struct vmcb *to)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	if (!svm_lwp_in_vmcb(vcpu))
		return;
	mutex_lock(&lwp->lock);
	svm_lwp_source_stop(vcpu);
	lwp_state_encode(&lwp->engine.st, &lwp->engine.caps, svm_lwp_image(to));
	mutex_unlock(&lwp->lock);
}
