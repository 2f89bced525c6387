// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The interface to user space: CPUID, MSRs, capability, attributes; bad input; refusals (43724-101,
 * 43724-103 to 43724-106, 43724-109, 43724-112, 43724-115, 43724-117 to 43724-202, 43724-204,
 * 43724-207, 43724-210, 43724-407, 2007-101, 2007-109).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "counted.h"
#include "lwp_state.h"
#include "tracing.h"

/* The machine of the test before ends. A new one, without a vCPU; returns LWP's leaf of its CPUID. */
static struct kvm_cpuid_entry2 *renew(void)
{
	vm_free(vm);
	vm = vm_new(true);
	return vm_leaf(vm, LWP_CPUID_LEAF);
}

/* With counters of the host KVM offers clocks, those that perf has, and `prompt` delivery. */
static u32 clocks, prompt, misses;

static void look_for_counters(void)
{
	struct kvm_cpuid_entry2 *e = renew();

	if (!access("/sys/bus/event_source/devices/cpu", F_OK) &&
	    !parameter_is("lwp_source", "step")) {
		clocks = e ? e->edx & (LWP_F_CNH | LWP_F_RNH) : 0;
		prompt = KVM_LWP_HAS_PROMPT;
	}
	misses = access("/sys/bus/event_source/devices/ibs_op", F_OK) ? 0 : KVM_LWP_HAS_MISSES;
}

TEST(cpuid_announces_what_can_be_counted)
{
	struct kvm_cpuid_entry2 *e = renew();

	ok(e != NULL, "leaf 8000_001C is there");
	if (!e)
		return;
	is(e->ebx, 0x80062016, "EBX: 16h quadwords, 32 bytes, 6 events, slots from 80h");
	is(e->ecx, 0x20010200, "ECX: version 1, 32 records at least, IP filter");
	is(e->edx, 0xe000000f | clocks, "EDX: INT, PTSC, CONT, BRE, IRE, VAL, available");
	is(e->eax, 0x6000000f | clocks, "EAX: the same but INT, as after RESET");
	is(vm_leaf(vm, LWP_CPUID_PRESENT_LEAF)->ecx & LWP_CPUID_PRESENT_ECX, LWP_CPUID_PRESENT_ECX,
	   "8000_0001 ECX[15]");
	is(vm_leaf(vm, 0xd)->edx >> 30 & 1, 0, "XCR0[62] is not offered");
}

/* KVM_GET_CPUID2 right after KVM_SET_CPUID2 has what KVM_LWP_VM_LEAF had, and follows LWP_CFG. */
TEST(cpuid_follows_cfg)
{
	struct kvm_cpuid_entry2 supported = *renew(), *e;

	v = vm_add_vcpu(vm);
	is(ioctl(v->fd, KVM_GET_CPUID2, vm->cpuid), 0, "KVM_GET_CPUID2");
	e = vm_leaf(vm, LWP_CPUID_LEAF);
	ok(e && !memcmp(e, &supported, sizeof(supported)),
	   "the leaf of a new vCPU is the offered one");
	vm_set_msr(v, LWP_MSR_CFG, LWP_F_INT | LWP_F_IRE);
	is(ioctl(v->fd, KVM_GET_CPUID2, vm->cpuid), 0, "KVM_GET_CPUID2");
	e = vm_leaf(vm, LWP_CPUID_LEAF);
	is(e ? e->eax : 0, LWP_F_INT | LWP_F_IRE | LWP_F_AVAIL, "EAX follows LWP_CFG");
	is(e ? e->edx : 0, supported.edx, "EDX does not");
}

TEST(msrs_follow_the_rules)
{
	renew();
	v = vm_add_vcpu(vm);
	is(vm_get_msr(v, LWP_MSR_CFG), 0x6000000e | clocks,
	   "LWP_CFG at reset: all but INT, COREID 0");
	is(vm_get_msr(v, LWP_MSR_CBADDR), 0, "LWP_CBADDR at reset");
	is(vm_set_msr(v, LWP_MSR_CFG, 0x0000320500000004ull), 0, "IRE, COREID, VECTOR");
	is(vm_get_msr(v, LWP_MSR_CFG), 0x0000320500000004ull, "are stored");
	is(vm_set_msr(v, LWP_MSR_CFG, LWP_F_DME), -1, "a feature that is not offered is refused");
	is(vm_get_msr(v, LWP_MSR_CFG), 0x0000320500000004ull, "and changes nothing");
}

TEST(capability_and_attributes_reject_bad_input)
{
	struct kvm_lwp_policy p = { .rev = 7 };
	struct kvm_lwp_contexts c = { .format = KVM_LWP_CONTEXTS_FORMAT };
	struct kvm_lwp_live live;
	u8 image[LWP_IMAGE_SIZE];

	renew();
	is(ioctl(vm->fd, KVM_CHECK_EXTENSION, KVM_CAP_X86_LWP),
	   KVM_LWP_HAS_43724 | KVM_LWP_HAS_2007 | KVM_LWP_HAS_AUTO | KVM_LWP_HAS_OS |
		   KVM_LWP_HAS_EXACT | KVM_LWP_HAS_VMCB | KVM_LWP_HAS_NO_PRESET | prompt | misses,
	   "KVM_CAP_X86_LWP");
	is(vm_attr(vm->fd, KVM_HAS_DEVICE_ATTR, KVM_LWP_VM, 99, NULL), -ENXIO, "no such attribute");
	is(vm_attr(vm->fd, KVM_HAS_DEVICE_ATTR, 99, 0, NULL), -ENXIO, "no such group");
	is(vm_attr(vm->fd, KVM_HAS_DEVICE_ATTR, 0x4c570001, KVM_LWP_VM_POLICY, NULL), -ENXIO,
	   "nor that of smaller structs");
	is(lwp_set(vm, VM, POLICY, &p), -EINVAL, "no such revision");
	p = (struct kvm_lwp_policy){ .flags = KVM_LWP_NO_NET << 1 };
	is(lwp_set(vm, VM, POLICY, &p), -EINVAL, "an unknown flag");
	is(vm_ask_for_lwp(vm, (struct kvm_lwp_policy){ .reserved[10] = 1 }), -EINVAL,
	   "a bit for later");
	p.flags = KVM_LWP_SAMPLE_MISSES;
	is(lwp_set(vm, VM, POLICY, &p), misses ? 0 : -EINVAL, "cache misses only where IBS is");
	p.flags = 0;
	is(lwp_set(vm, VM, POLICY, &p), 0, "no flag");
	is(lwp_set(vm, VM, POLICY, NULL), -EFAULT, "bad address");
	is(lwp_get(vm, VM, CONTEXTS, &c), -ENXIO, "no contexts without a vCPU that has LWP");
	v = vm_add_vcpu(vm);
	p.rev = LWP_REV_2007;
	is(lwp_set(vm, VM, POLICY, &p), -EBUSY, "the policy is fixed once a vCPU exists");
	is(lwp_get(vm, VM, POLICY, &p), 0, "get policy");
	is(p.rev, LWP_REV_43724, "which is 43724");
	is(lwp_get(vm, VM, CONTEXTS, &c), 0, "no contexts: size 0");
	c.flags = 1;
	is(lwp_get(vm, VM, CONTEXTS, &c), -EINVAL, "contexts with an unknown flag");
	c.flags = 0;
	c.format++;
	is(lwp_set(vm, VM, CONTEXTS, &c), -EINVAL, "contexts of another format");
	c.format--;
	c.size = 1;
	is(lwp_set(vm, VM, CONTEXTS, &c), -EINVAL, "a size that is no array");
	c.size = LWP_CTX_ENTRY_SIZE;
	is(lwp_set(vm, VM, CONTEXTS, &c), -EFAULT, "an array that is not there");
	is(vm_lwp_status(v), KVM_LWP_REFUSED_NOT, "the vCPU has LWP");
	is(lwp_get(v, VCPU, IMAGE, image), 0, "get image");
	is(lwp_get64(image + LWP_IMAGE_CFG), 0x6000000e | clocks, "it has LWP_CFG");
	image[LWP_IMAGE_HEAD] = 1;
	is(lwp_set(v, VCPU, IMAGE, image), -EINVAL, "an unaligned head is refused");
	is(lwp_get(v, VCPU, LIVE, &live), 0, "get what is live");
	is(live.flags & KVM_LWP_LIVE, 0, "nothing is");
	live.flags = KVM_LWP_LIVE;
	live.cr3 = VM_CR3;
	is(lwp_set(v, VCPU, LIVE, &live), -ENOENT, "a context that is not there");
	live.flags = KVM_LWP_LIVE_FLAGS + 1;
	is(lwp_set(v, VCPU, LIVE, &live), -EINVAL, "unknown flags");
	live.flags = 0;
	live.reserved[3] = 1;
	is(lwp_set(v, VCPU, LIVE, &live), -EINVAL, "a word for later");
	is(lwp_set(v, VCPU, LIVE, NULL), -EFAULT, "nothing to read");
}

/* The list of MSRs to be saved is the same for all VMs, so LWP is not in it. */
static bool msr_is_listed(u32 msr)
{
	struct kvm_msr_list *list = calloc(1, sizeof(*list) + 1000 * sizeof(u32));
	bool found = false;

	list->nmsrs = 1000;
	is(ioctl(vm->kvm, KVM_GET_MSR_INDEX_LIST, list), 0, "KVM_GET_MSR_INDEX_LIST");
	for (u32 i = 0; i < list->nmsrs; i++)
		found |= list->indices[i] == msr;
	free(list);
	return found;
}

/* A VMM that does not know LWP passes on what KVM_GET_SUPPORTED_CPUID says. */
TEST(supported_cpuid_passed_on_has_no_lwp)
{
	struct kvm_cpuid_entry2 *e;
	u8 image[LWP_IMAGE_SIZE];

	vm_free(vm);
	vm = vm_new_unasked(true);
	e = vm_leaf(vm, LWP_CPUID_LEAF);
	is(vm_leaf(vm, LWP_CPUID_PRESENT_LEAF)->ecx & LWP_CPUID_PRESENT_ECX, 0,
	   "no 8000_0001 ECX[15]");
	is(e ? e->eax | e->ebx | e->ecx | e->edx : 0, 0, "nothing in leaf 8000_001C");
	ok(!msr_is_listed(LWP_MSR_CFG) && !msr_is_listed(LWP_MSR_CBADDR), "no MSR to save");
	v = vm_add_vcpu(vm);
	is(vm_lwp_status(v), KVM_LWP_REFUSED_CPUID, "the vCPU has no LWP");
	is(vm_get_msr(v, LWP_MSR_CFG), ~(u64)0, "LWP_CFG does not exist");
	is(vm_set_msr(v, LWP_MSR_CBADDR, 0), -1, "nor does LWP_CBADDR");
	is(lwp_get(v, VCPU, IMAGE, image), -ENXIO, "nor a state");
}

/* The trace says so, too, where root reads it. */
static void is_traced(const char *why)
{
	FILE *trace = geteuid() ? NULL : trace_open("trace");
	bool found = !trace;
	char line[256];

	while (trace && fgets(line, sizeof(line), trace))
		found |= strstr(line, "kvm_lwp_refused") && strstr(line, why);
	if (trace)
		fclose(trace);
	ok(found, "trace: %s", why);
}

/* CPUID alone gives no LWP. */
TEST(lwp_is_for_those_who_ask)
{
	struct vm *asked = vm_new(true);
	struct kvm_lwp_policy p = { .delivery = 0 };
	struct kvm_lwp_leaf l = { 0 };

	vm_free(vm);
	vm = vm_new_unasked(true);
	is(ioctl(vm->fd, KVM_CHECK_EXTENSION, KVM_CAP_VM_ATTRIBUTES), 1, "KVM_CAP_VM_ATTRIBUTES");
	is(lwp_get(vm, VM, LEAF, &l), 0, "what the host offers can be read without asking");
	is(l.edx, vm_leaf(asked, LWP_CPUID_LEAF)->edx, "and is the same");
	memcpy(vm->cpuid, asked->cpuid,
	       sizeof(*vm->cpuid) + asked->cpuid->nent * sizeof(vm->cpuid->entries[0]));
	v = vm_add_vcpu(vm);
	is(vm_lwp_status(v), KVM_LWP_REFUSED_POLICY, "CPUID announces LWP, nobody has asked");
	is_traced("user space has not asked for it");
	is(vm_get_msr(v, LWP_MSR_CFG), ~(u64)0, "LWP_CFG does not exist");
	is(lwp_set(vm, VM, POLICY, &p), -EBUSY, "it is too late to ask once there is a vCPU");
	is(lwp_set(vm, VM, LEAF, &l), -ENXIO, "what the host offers cannot be set");
	vm_free(asked);
}

TEST(shadow_stacks_are_no_reason_to_refuse)
{
	renew();
	vm_leaf(vm, 7)->ecx |= 1 << 7;
	is(vm_lwp_status(vm_add_vcpu(vm)), KVM_LWP_REFUSED_NOT, "CPUID has shadow stacks");
}

static u32 set_cpuid(int vcpu)
{
	is(ioctl(vcpu, KVM_SET_CPUID2, vm->cpuid), 0, "KVM_SET_CPUID2");
	return vm_lwp_status(&(struct vcpu){ .fd = vcpu });
}

TEST(unknown_features_are_refused)
{
	struct utsname kernel;
	int vcpu;

	renew();
	vcpu = ioctl(vm->fd, KVM_CREATE_VCPU, 0);
	vm_leaf(vm, 0x80000008)->ebx ^= 1 << 3;
	is(set_cpuid(vcpu), KVM_LWP_REFUSED_FEATURE, "INVLPGB");
	is_traced("CPUID has a feature with which LWP is not known to work");
	vm_leaf(vm, 0x80000008)->ebx ^= 1 << 3;
	is(set_cpuid(vcpu), KVM_LWP_REFUSED_NOT, "none");
	vm_leaf(vm, 0x80000021)->eax ^= 1 << 7;
	is(set_cpuid(vcpu), KVM_LWP_REFUSED_FEATURE, "Upper Address Ignore");
	vm_leaf(vm, 0x80000021)->eax ^= 1 << 7;
	vm_leaf(vm, 1)->ecx ^= 1 << 5;
	uname(&kernel);
	/* Later kernels leave the guest no bit of CR4 that KVM does not have. */
	is(set_cpuid(vcpu),
	   kernel.release[0] == '6' ? KVM_LWP_REFUSED_FEATURE : KVM_LWP_REFUSED_NOT,
	   "VMX, which has a bit in CR4");
	close(vcpu);
}

/* Contexts move between vCPUs, so all announce the same; the only one may change it. */
TEST(the_only_vcpu_may_change_its_leaf)
{
	int first, second;

	renew();
	first = ioctl(vm->fd, KVM_CREATE_VCPU, 0);
	is(set_cpuid(first), KVM_LWP_REFUSED_NOT, "a first leaf");
	vm_leaf(vm, LWP_CPUID_LEAF)->edx &= ~LWP_F_BRE;
	is(set_cpuid(first), KVM_LWP_REFUSED_NOT, "another one for the only vCPU");
	second = ioctl(vm->fd, KVM_CREATE_VCPU, 1);
	is(set_cpuid(second), KVM_LWP_REFUSED_NOT, "a second vCPU with the same");
	vm_leaf(vm, LWP_CPUID_LEAF)->edx |= LWP_F_BRE;
	is(set_cpuid(second), KVM_LWP_REFUSED_LEAF, "the second alone cannot change it");
	is(set_cpuid(first), KVM_LWP_REFUSED_NOT, "the first can, now that the second has none");
	is(set_cpuid(second), KVM_LWP_REFUSED_NOT, "and the second follows");
	close(second);
	close(first);
}

/* 43724-207 */
TEST(lwp_is_off_without_the_preset)
{
	struct kvm_lwp_policy p = { .flags = KVM_LWP_NO_PRESET };
	struct kvm_lwp_leaf l = { 0 };

	renew();
	is(lwp_set(vm, VM, POLICY, &p), 0, "no preset");
	lwp_get(vm, VM, LEAF, &l);
	is(l.eax, 0, "EAX of a new vCPU is 0");
	v = vm_add_vcpu(vm);
	is(vm_lwp_status(v), KVM_LWP_REFUSED_NOT, "the vCPU has LWP");
	is(vm_get_msr(v, LWP_MSR_CFG), 0, "LWP_CFG is 0");
	is(vm_set_msr(v, LWP_MSR_CFG, LWP_F_IRE), 0, "and can be written");
}

TEST(refusals_say_why)
{
	renew()->edx |= LWP_F_DME;
	v = vm_add_vcpu(vm);
	is(vm_lwp_status(v), KVM_LWP_REFUSED_LEAF, "a leaf with cache misses");
	is(vm_set_msr(v, LWP_MSR_CFG, LWP_F_IRE), -1, "LWP_CFG does not exist then");

	renew()->ecx |= LWP_ECX_VMCB_AREA;
	is(vm_lwp_status(vm_add_vcpu(vm)), KVM_LWP_REFUSED_LEAF,
	   "state in VMCBs with contexts that KVM switches");

	vm_free(vm);
	vm = vm_new(false);
	is(vm_lwp_status(vm_add_vcpu(vm)), KVM_LWP_REFUSED_APIC, "no in-kernel APIC");
}

PROGRAM(loop, "	mov $100, %ecx\n"
	      "1:	loop 1b\n");

/* A leaf with events 1 and 2 of `events`, rings of `units` times 32 records at least. */
static u32 status_with(u32 events, u32 units)
{
	struct kvm_cpuid_entry2 *e = renew();

	e->ebx = 0x80002000 | events << 16 | (0x10 + events);
	e->ecx = 0x20000200 | units << 16;
	e->edx &= ~(LWP_F_BRE | LWP_F_CNH | LWP_F_RNH);
	v = vm_add_vcpu(vm);
	return vm_lwp_status(v);
}

/* 43724-117, 43724-407 */
TEST(a_vmm_may_announce_fewer_events_and_larger_rings)
{
	is(status_with(2, 2), KVM_LWP_REFUSED_NOT, "two events, 64 records at least");
	is(vm_set_msr(v, LWP_MSR_CFG, LWP_F_BRE), -1, "the third event is reserved in LWP_CFG");
	vm_load(vm, loop, loop_end);
	block_init(vm, LWP_F_BRE, 63);
	block_event(vm, 3, 0, 0);
	is(vm_run(vm, v), 13, "LLWPCB with 63 records raises #GP");
	block_init(vm, LWP_F_IRE | LWP_F_BRE, 64);
	count_only(2);
	block_event(vm, 3, 0, 0);
	vm_start(vm, v);
	ok(vm_finish(vm, v), "with 64 it does not");
	is(count_of(2), 101, "the second event counts");
	is(block_head(vm), 0, "the third is ignored");
	is(status_with(7, 1), KVM_LWP_REFUSED_LEAF, "seven events");
	is(status_with(2, 0), KVM_LWP_REFUSED_LEAF, "rings of any size");
}

int main(void)
{
	if (!geteuid())
		trace_write("events/kvm_lwp/kvm_lwp_refused/enable", "1");
	look_for_counters();
	run_tests();
	return done();
}
