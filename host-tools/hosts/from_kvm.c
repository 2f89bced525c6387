// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What KVM of this machine can give its guests, without QEMU: the capability of a VM, and the offered leaf 8000_001C.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kvm.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "hostcaps.h"
#include "lwp_kvm.h"
#include "lwpctl.h"
#include "memory.h"

static bool attribute(int vm, unsigned long request, u64 number, void *addr)
{
	struct kvm_device_attr attr = {
		.group = KVM_LWP_VM,
		.attr = number,
		.addr = (u64)(uintptr_t)addr,
	};

	return !ioctl(vm, request, &attr);
}

/*
 * Leaf 8000_001C as KVM offers it to a VM that asks for all that it can, in revision 43724. False: it does not
 * say.
 */
static bool read_leaf(int vm, u32 has, struct lwp_leaf *leaf)
{
	struct kvm_lwp_policy policy;
	struct kvm_lwp_leaf offered;

	if (!attribute(vm, KVM_GET_DEVICE_ATTR, KVM_LWP_VM_POLICY, &policy))
		return false;
	policy.flags = has & KVM_LWP_HAS_MISSES ? KVM_LWP_SAMPLE_MISSES : 0;
	if (!attribute(vm, KVM_SET_DEVICE_ATTR, KVM_LWP_VM_POLICY, &policy) ||
	    !attribute(vm, KVM_GET_DEVICE_ATTR, KVM_LWP_VM_LEAF, &offered))
		return false;
	*leaf = (struct lwp_leaf){ offered.eax, offered.ebx, offered.ecx, offered.edx };
	return true;
}

/* The numbers of 2007 are those of its full profile; what can be counted is the same as for 43724. */
static void caps_2007(const struct lwp_caps *now, struct lwp_caps *caps)
{
	const struct lwp_rev *rev = lwp_rev_get(LWP_REV_2007);

	lwp_caps_profile(caps, LWP_PROFILE_FULL, LWP_REV_2007);
	for (u32 kind = LWP_KIND_NONE + 1; kind < LWP_KINDS; kind++)
		if (rev->event_id[kind] && !lwp_caps_has(now, kind))
			caps->features &= ~LWP_BIT(rev->event_id[kind]);
	caps->ecx_features = lwp_caps_ecx_features(caps);
}

static void fill(struct hostcaps *host, const struct lwp_caps *caps, u32 has)
{
	for (u32 id = 0; id < LWP_REVS; id++) {
		struct host_rev *rev = &host->rev[id];

		rev->offered = has & (id == LWP_REV_2007 ? KVM_LWP_HAS_2007 : KVM_LWP_HAS_43724);
		if (!rev->offered)
			continue;
		rev->contexts =
			(u8)((has & KVM_LWP_HAS_AUTO ? 1 : 0) | (has & KVM_LWP_HAS_OS ? 2 : 0));
		rev->deliveries = (u8)((has & KVM_LWP_HAS_EXACT ? 1 : 0) |
				       (has & KVM_LWP_HAS_PROMPT ? 2 : 0));
		rev->vmcb = has & KVM_LWP_HAS_VMCB;
		if (id == LWP_REV_43724)
			rev->caps = *caps;
		else
			caps_2007(caps, &rev->caps);
	}
}

static bool ask(struct hostcaps *host, const char *path, int kvm)
{
	struct lwp_leaf leaf = { 0 };
	struct lwp_caps caps;
	bool known;
	int vm, has;

	vm = ioctl(kvm, KVM_CREATE_VM, 0);
	if (vm < 0)
		return refuse("%s: expected KVM, cannot create a VM: %s", path, strerror(errno));
	has = ioctl(vm, KVM_CHECK_EXTENSION, KVM_CAP_X86_LWP);
	known = has > 0 && read_leaf(vm, (u32)has, &leaf);
	close(vm);
	if (has <= 0) {
		host->reason = copy_string("this KVM has no LWP", strlen("this KVM has no LWP"));
		return true;
	}
	if (!known)
		return refuse(
			"%s: its LWP is not of this version: load the kvm_amd that belongs to lwpctl",
			path);
	if (!lwp_leaf_decode(&leaf, LWP_REV_43724, &caps))
		return refuse(
			"%s: its leaf 8000_001C makes no sense (`lwpctl explain %#x %#x %#x %#x')",
			path, leaf.eax, leaf.ebx, leaf.ecx, leaf.edx);
	caps.ecx_features &= ~(u32)LWP_ECX_VMCB_AREA;
	fill(host, &caps, (u32)has);
	return true;
}

bool hostcaps_from_kvm(struct hostcaps *host, const char *path)
{
	char name[HOST_NAME_MAX + 1] = "";
	int kvm = open(path, O_RDWR | O_CLOEXEC);
	bool good;

	memset(host, 0, sizeof(*host));
	if (kvm < 0)
		return refuse("%s: %s; `--qemu=PROGRAM' asks a QEMU instead", path,
			      strerror(errno));
	gethostname(name, sizeof(name) - 1);
	host->name = copy_string(name, strlen(name));
	host->source = copy_string(path, strlen(path));
	good = ask(host, path, kvm);
	close(kvm);
	return good;
}
