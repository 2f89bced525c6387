// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The interface to user space: the capability, the attributes of the VM (policy, contexts) and of a
 * vCPU (image, live context, status), see <asm/kvm_lwp.h>; and files in debugfs.
 */
#include <linux/debugfs.h>
#include <linux/uaccess.h>

#include "svm.h"
#include "cpuid.h"
#include "lwp_compat.h"
#include "lwp_layers.h"

static_assert(LWP_REV_43724 == KVM_LWP_REV_43724 && LWP_REV_2007 == KVM_LWP_REV_2007);
static_assert((int)LWP_DELIVERY_EXACT == KVM_LWP_DELIVERY_EXACT);
static_assert((int)LWP_DELIVERY_PROMPT == KVM_LWP_DELIVERY_PROMPT);
static_assert(sizeof(struct kvm_lwp_policy) == 64 && sizeof(struct kvm_lwp_live) == 64);
static_assert(LWP_CTX_FORMAT_VERSION == KVM_LWP_CONTEXTS_FORMAT);
static_assert(LWP_CTX_ENTRY_SIZE == 240);
static_assert(LWP_IMAGE_FORMAT_VERSION == KVM_LWP_IMAGE_FORMAT);
static_assert(offsetof(struct kvm_lwp_image, format) == LWP_IMAGE_FORMAT);
static_assert(offsetof(struct kvm_lwp_image, retry_rip) == LWP_IMAGE_RETRY_RIP);
static_assert(sizeof(struct kvm_lwp_image) == LWP_IMAGE_SIZE);

/* KVM_CHECK_EXTENSION of what KVM itself does not know; kvm may be NULL. */
int svm_lwp_extension(struct kvm *kvm, long ext)
{
	int has = KVM_LWP_HAS_43724 | KVM_LWP_HAS_AUTO | KVM_LWP_HAS_NO_PRESET;

	if (ext != KVM_CAP_X86_LWP || !enable_lwp || (kvm && lwp_encrypted(kvm)))
		return 0;
	has |= KVM_LWP_HAS_EXACT;
	has |= svm_lwp_source_perf() ? KVM_LWP_HAS_PROMPT : 0;
	has |= KVM_LWP_HAS_OS;
	has |= kvm_cpu_cap_has(X86_FEATURE_SVM) ? KVM_LWP_HAS_VMCB : 0;
	has |= svm_lwp_ibs_offered() ? KVM_LWP_HAS_MISSES : 0;
	has |= KVM_LWP_HAS_2007;
	return has;
}

static int svm_lwp_get_policy(struct kvm *kvm, void __user *to)
{
	return copy_to_user(to, &to_kvm_svm(kvm)->lwp.policy, sizeof(struct kvm_lwp_policy)) ?
		       -EFAULT :
		       0;
}

/* Setting the policy asks for LWP. */
static int svm_lwp_set_policy(struct kvm *kvm, const void __user *from)
{
	struct kvm_svm_lwp *vm = &to_kvm_svm(kvm)->lwp;
	struct kvm_lwp_policy policy;
	u32 flags = KVM_LWP_NO_PRESET;

	flags |= KVM_LWP_NO_NET;
	flags |= svm_lwp_ibs_offered() ? KVM_LWP_SAMPLE_MISSES : 0;
	if (copy_from_user(&policy, from, sizeof(policy)))
		return -EFAULT;
	if (!lwp_rev_get(policy.rev) || policy.context > KVM_LWP_CONTEXT_OS ||
	    policy.delivery > (svm_lwp_source_perf() ? LWP_DELIVERY_PROMPT : LWP_DELIVERY_EXACT) ||
	    policy.flags & ~flags || memchr_inv(policy.reserved, 0, sizeof(policy.reserved)))
		return -EINVAL;

	guard(mutex)(&kvm->lock);
	/* The state of an encrypted VM may have moved here. */
	if (lwp_encrypted(kvm))
		return -ENXIO;
	if (kvm->created_vcpus)
		return vm->asked && !memcmp(&vm->policy, &policy, sizeof(policy)) ? 0 : -EBUSY;
	vm->policy = policy;
	vm->asked = true;
	return 0;
}

static int svm_lwp_get_leaf(struct kvm *kvm, void __user *to)
{
	struct kvm_lwp_policy policy;
	struct kvm_lwp_leaf user;
	struct lwp_leaf leaf;

	mutex_lock(&kvm->lock);
	policy = to_kvm_svm(kvm)->lwp.policy;
	mutex_unlock(&kvm->lock);
	svm_lwp_leaf(&policy, &leaf);
	user = (struct kvm_lwp_leaf){ leaf.eax, leaf.ebx, leaf.ecx, leaf.edx };
	return copy_to_user(to, &user, sizeof(user)) ? -EFAULT : 0;
}

/* Park all contexts. Each vCPU looks up that of its running thread again. */
static void svm_lwp_park_all(struct kvm *kvm)
{
	struct kvm_vcpu *vcpu;
	unsigned long i;

	kvm_for_each_vcpu(i, vcpu, kvm) {
		struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

		guard(mutex)(&lwp->lock);
		if (lwp->live)
			svm_lwp_ctx_leave(vcpu, false);
		lwp->lookup = true;
	}
	kvm_make_all_cpus_request(kvm, KVM_REQ_PREPARE_ENTRY);
}

/*
 * Copy every live context into the table. They stay live: after parking, the lookup might not find
 * the block or the ring readable, and would leave the context parked.
 */
static void svm_lwp_refresh_all(struct kvm *kvm)
{
	struct kvm_vcpu *vcpu;
	unsigned long i;

	kvm_for_each_vcpu(i, vcpu, kvm) {
		guard(mutex)(&to_svm(vcpu)->lwp.lock);
		svm_lwp_ctx_refresh(vcpu);
	}
	/* Those that run have lost their counters. */
	kvm_make_all_cpus_request(kvm, KVM_REQ_PREPARE_ENTRY);
}

static int svm_lwp_contexts_arg(struct kvm_lwp_contexts *user,
				const struct kvm_lwp_contexts __user *arg)
{
	if (copy_from_user(user, arg, sizeof(*user)))
		return -EFAULT;
	return user->format != KVM_LWP_CONTEXTS_FORMAT || user->flags ? -EINVAL : 0;
}

static int svm_lwp_get_contexts(struct kvm *kvm, struct kvm_lwp_contexts __user *arg)
{
	struct kvm_svm_lwp *vm = &to_kvm_svm(kvm)->lwp;
	struct kvm_lwp_contexts user;
	size_t size;
	u8 *buf;
	int r;

	r = svm_lwp_contexts_arg(&user, arg);
	if (r)
		return r;
	svm_lwp_refresh_all(kvm);

	mutex_lock(&vm->lock);
	size = lwp_ctx_save(&vm->table, &vm->caps, NULL, 0);
	buf = user.size < size ? NULL : kvmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (buf)
		lwp_ctx_save(&vm->table, &vm->caps, buf, size);
	mutex_unlock(&vm->lock);

	r = put_user(size, &arg->size) ? -EFAULT : 0;
	if (!r && user.size < size)
		r = -ENOSPC;
	else if (!r && size && !buf)
		r = -ENOMEM;
	else if (!r && size && copy_to_user(u64_to_user_ptr(user.addr), buf, size))
		r = -EFAULT;
	kvfree(buf);
	return r;
}

/* 43724-905 */
static int svm_lwp_set_contexts(struct kvm *kvm, const struct kvm_lwp_contexts __user *arg)
{
	struct kvm_svm_lwp *vm = &to_kvm_svm(kvm)->lwp;
	struct kvm_lwp_contexts user;
	u32 index;
	u8 *buf;
	int r;

	r = svm_lwp_contexts_arg(&user, arg);
	if (r)
		return r;
	if (user.size % LWP_CTX_ENTRY_SIZE || user.size / LWP_CTX_ENTRY_SIZE > vm->table.size)
		return -EINVAL;
	buf = kvmalloc(user.size, GFP_KERNEL_ACCOUNT);
	if (!buf)
		return -ENOMEM;
	r = copy_from_user(buf, u64_to_user_ptr(user.addr), user.size) ? -EFAULT : 0;
	if (r)
		goto out;
	svm_lwp_park_all(kvm);
	mutex_lock(&vm->lock);
	if (!user.size)
		lwp_ctx_table_reset(&vm->table);
	else if (lwp_ctx_load(&vm->table, &vm->caps, buf, user.size, svm_lwp_now(), &index))
		r = -EINVAL;
	svm_lwp_watch_table(vm);
	mutex_unlock(&vm->lock);
	kvm_make_all_cpus_request(kvm, KVM_REQ_PREPARE_ENTRY);
out:
	kvfree(buf);
	return r;
}

/* KVM_{HAS,GET,SET}_DEVICE_ATTR on the VM. */
int svm_lwp_vm_attr(struct kvm *kvm, unsigned int ioctl, struct kvm_device_attr *attr)
{
	void __user *addr = u64_to_user_ptr(attr->addr);
	bool get = ioctl == KVM_GET_DEVICE_ATTR;

	if (attr->group != KVM_LWP_VM || !svm_lwp_extension(kvm, KVM_CAP_X86_LWP) || attr->flags ||
	    attr->attr > KVM_LWP_VM_LEAF ||
	    (attr->attr == KVM_LWP_VM_CONTEXTS && !to_kvm_svm(kvm)->lwp.table.entry))
		return -ENXIO;
	if (ioctl == KVM_HAS_DEVICE_ATTR)
		return 0;
	switch (attr->attr) {
	case KVM_LWP_VM_POLICY:
		return get ? svm_lwp_get_policy(kvm, addr) : svm_lwp_set_policy(kvm, addr);
	case KVM_LWP_VM_CONTEXTS:
		return get ? svm_lwp_get_contexts(kvm, addr) : svm_lwp_set_contexts(kvm, addr);
	default:
		return get ? svm_lwp_get_leaf(kvm, addr) : -ENXIO;
	}
}

static int svm_lwp_get_image(struct kvm_vcpu *vcpu, void __user *to)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	u8 image[LWP_IMAGE_SIZE];

	mutex_lock(&lwp->lock);
	svm_lwp_source_stop(vcpu);
	lwp_state_encode(&lwp->engine.st, &lwp->engine.caps, image);
	mutex_unlock(&lwp->lock);
	return copy_to_user(to, image, sizeof(image)) ? -EFAULT : 0;
}

static int svm_lwp_set_image(struct kvm_vcpu *vcpu, const void __user *from)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	u8 image[LWP_IMAGE_SIZE];
	struct lwp_state st;

	if (copy_from_user(image, from, sizeof(image)))
		return -EFAULT;
	if (lwp_state_decode(image, &lwp->engine.caps, &st))
		return -EINVAL;
	mutex_lock(&lwp->lock);
	if (lwp->live)
		svm_lwp_ctx_leave(vcpu, true);
	svm_lwp_source_drop(vcpu);
	lwp_engine_load(&lwp->engine, &st);
	/* os: if the block has not been read yet, look for a parked state with its pointer. */
	lwp->resume = !lwp->engine.auto_context && lwp_state_deferred(&st);
	lwp->lookup = true;
	lwp->in_user = false;
	mutex_unlock(&lwp->lock);
	svm_lwp_update_avail(vcpu);
	return 0;
}

static int svm_lwp_get_live(struct kvm_vcpu *vcpu, void __user *to)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct kvm_lwp_live live = {};

	mutex_lock(&lwp->lock);
	if (lwp->live) {
		live.flags = KVM_LWP_LIVE;
		live.cr3 = lwp->live_key.cr3;
		live.thread = lwp->live_key.thread;
		live.gs = lwp->live_key.gs;
		live.key_flags = lwp->live_key.flags;
	}
	if (lwp->lookup)
		live.flags |= KVM_LWP_LOOKUP;
	if (svm_lwp_user_mode(to_svm(vcpu)) && !lwp->in_user)
		live.flags |= KVM_LWP_ENTERED;
	mutex_unlock(&lwp->lock);
	return copy_to_user(to, &live, sizeof(live)) ? -EFAULT : 0;
}

static int svm_lwp_set_live(struct kvm_vcpu *vcpu, const void __user *from)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct kvm_lwp_live live;
	struct lwp_ctx_key key;
	int r = 0;

	if (copy_from_user(&live, from, sizeof(live)))
		return -EFAULT;
	if (live.flags & ~KVM_LWP_LIVE_FLAGS || memchr_inv(live.reserved, 0, sizeof(live.reserved)))
		return -EINVAL;
	key.cr3 = live.cr3;
	key.thread = live.thread;
	key.gs = live.gs;
	key.flags = live.key_flags;

	mutex_lock(&lwp->lock);
	if (live.flags & KVM_LWP_LIVE && !svm_lwp_ctx_resume(vcpu, &key))
		r = -ENOENT;
	else
		svm_lwp_ctx_restored(vcpu, live.flags);
	mutex_unlock(&lwp->lock);
	svm_lwp_update_avail(vcpu);
	return r;
}

/* KVM_{HAS,GET,SET}_DEVICE_ATTR on a vCPU. */
int svm_lwp_vcpu_attr(struct kvm_vcpu *vcpu, unsigned int ioctl, struct kvm_device_attr *attr)
{
	bool has_state = to_svm(vcpu)->lwp.enabled && !lwp_encrypted(vcpu->kvm);
	void __user *addr = u64_to_user_ptr(attr->addr);
	bool get = ioctl == KVM_GET_DEVICE_ATTR;

	if (attr->group != KVM_LWP_VCPU || attr->flags || attr->attr > KVM_LWP_VCPU_LIVE ||
	    (attr->attr != KVM_LWP_VCPU_STATUS && !has_state))
		return -ENXIO;
	if (ioctl == KVM_HAS_DEVICE_ATTR)
		return 0;
	switch (attr->attr) {
	case KVM_LWP_VCPU_IMAGE:
		return get ? svm_lwp_get_image(vcpu, addr) : svm_lwp_set_image(vcpu, addr);
	case KVM_LWP_VCPU_LIVE:
		return get ? svm_lwp_get_live(vcpu, addr) : svm_lwp_set_live(vcpu, addr);
	default:
		if (!get)
			return -ENXIO;
		return put_user(svm_lwp_refusal(vcpu), (u32 __user *)addr) ? -EFAULT : 0;
	}
}

/*
 * At load, when KVM has its directory in debugfs. kvm_exit() removes that with all that is in it,
 * and waits for those who use a file.
 */
void svm_lwp_debugfs_init(void)
{
	struct dentry *kvm = debugfs_lookup("kvm", NULL), *lwp;

	if (IS_ERR_OR_NULL(kvm))
		return;
	lwp = debugfs_create_dir("lwp", kvm);
	debugfs_create_u32("context_age", 0644, lwp, &svm_lwp_context_age);
	debugfs_create_u32("ibs_period", 0644, lwp, &svm_lwp_ibs_period);
	svm_lwp_row_file(lwp);
	dput(kvm);
}
