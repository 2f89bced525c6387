/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP under KVM: the host's offer, the VM's policy, which asks for LWP, and the
 * state.  It migrates as the same image and context array as with TCG.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "cpu.h"
#include "hw/i386/apic_internal.h"
#include "system/kvm.h"
#include "system/kvm_int.h"
#include "lwp/kvm-lwp.h"
#include "lwp/lwp-agree.h"
#include "lwp/lwp-vmstate.h"
#include "lwp_engine.h"
#include "lwp_kvm.h"

static int lwp_vm_attr(unsigned long request, uint64_t number, void *addr)
{
    struct kvm_device_attr attr = {
        .group = KVM_LWP_VM,
        .attr = number,
        .addr = (uintptr_t)addr,
    };

    return kvm_vm_ioctl(kvm_state, request, &attr);
}

static int lwp_vcpu_attr(X86CPU *cpu, unsigned long request, uint64_t number,
                         void *addr)
{
    struct kvm_device_attr attr = {
        .group = KVM_LWP_VCPU,
        .attr = number,
        .addr = (uintptr_t)addr,
    };

    return kvm_vcpu_ioctl(CPU(cpu), request, &attr);
}

bool kvm_lwp_offered(KVMState *s)
{
    return kvm_vm_check_extension(s, KVM_CAP_X86_LWP) > 0;
}

uint32_t kvm_lwp_features(void)
{
    struct kvm_lwp_leaf leaf = { 0 };

    return lwp_vm_attr(KVM_GET_DEVICE_ATTR, KVM_LWP_VM_LEAF, &leaf) ?
        0 : leaf.edx;
}

bool kvm_lwp_check(X86CPU *cpu, Error **errp)
{
    X86LWPProps *p = &cpu->lwp_props;
    struct kvm_lwp_policy policy = { 0 };
    int has = kvm_vm_check_extension(kvm_state, KVM_CAP_X86_LWP);
    int ret;

    if (has <= 0) {
        error_setg(errp, "lwp=on: KVM on this host has no LWP for this guest; "
                   "load a kvm_amd module that has it (it does not serve SEV "
                   "guests), or use accel=tcg");
        return false;
    }
    /* Not kvm_irqchip_in_kernel(), which is false with -machine none. */
    if (!kvm_kernel_irqchip_allowed()) {
        error_setg(errp, "lwp=on needs the local APIC of KVM: leave out "
                   "kernel-irqchip=off");
        return false;
    }
    if (!(p->given & LWP_HAS_DELIVERY)) {
        p->prompt = !!(has & KVM_LWP_HAS_PROMPT);
    }
    if (p->prompt && !(has & KVM_LWP_HAS_PROMPT)) {
        error_setg(errp, "lwp-delivery=prompt: KVM on this host delivers "
                   "exact records only");
        return false;
    }
    if (p->vmcb && !(has & KVM_LWP_HAS_VMCB)) {
        error_setg(errp, "lwp-vmcb=on: KVM on this host does not switch LWP "
                   "with VMLOAD and VMSAVE");
        return false;
    }
    if (p->no_preset && !(has & KVM_LWP_HAS_NO_PRESET)) {
        error_setg(errp, "lwp-preset=off: KVM on this host always presets "
                   "LWP_CFG; load a newer kvm_amd module");
        return false;
    }
    if ((p->on & LWP_F_DME) && !(has & KVM_LWP_HAS_MISSES)) {
        error_setg(errp, "lwp-dme=on: KVM on this host samples no data cache "
                   "misses; use a processor that has instruction-based "
                   "sampling, or accel=tcg");
        return false;
    }
    if (p->cache) {
        error_setg(errp, "lwp-cache-*: TCG alone models the caches; leave "
                   "them out, KVM samples the host's");
        return false;
    }
    /* What no property says is as KVM has it. */
    lwp_vm_attr(KVM_GET_DEVICE_ATTR, KVM_LWP_VM_POLICY, &policy);
    policy.rev = p->rev;
    policy.context = p->os_context ? KVM_LWP_CONTEXT_OS : KVM_LWP_CONTEXT_AUTO;
    policy.delivery = p->prompt ? LWP_DELIVERY_PROMPT : LWP_DELIVERY_EXACT;
    policy.flags = (p->no_preset ? KVM_LWP_NO_PRESET : 0) |
                   (p->on & LWP_F_DME ? KVM_LWP_SAMPLE_MISSES : 0);
    ret = lwp_vm_attr(KVM_SET_DEVICE_ATTR, KVM_LWP_VM_POLICY, &policy);
    if (ret == -EBUSY) {
        error_setg(errp, "lwp-rev, lwp-context, lwp-delivery, lwp-preset "
                   "and lwp-dme must be the same for all CPUs");
        return false;
    }
    if (ret) {
        error_setg_errno(errp, -ret, "lwp=on: KVM refuses lwp-rev, "
                         "lwp-context or lwp-delivery");
        return false;
    }
    return true;
}

/* The state after a machine reset. */
static void lwp_reset_image(X86CPU *cpu, uint8_t image[LWP_IMAGE_SIZE])
{
    struct lwp_state st = {
        .cfg = lwp_cfg_reset(cpu->lwp_caps, x86_lwp_presets(&cpu->lwp_props),
                             cpu->apic_id),
    };

    lwp_state_encode(&st, cpu->lwp_caps, image);
}

static const char *lwp_refusal(X86CPU *cpu)
{
    static const char *const why[] = {
        [KVM_LWP_REFUSED_CPUID] = "its CPUID does not announce LWP",
        [KVM_LWP_REFUSED_LEAF] = "its lwp-* properties ask for what this host "
                                 "cannot count",
        [KVM_LWP_REFUSED_ENCRYPTED] = "its registers or memory are encrypted",
        [KVM_LWP_REFUSED_APIC] = "its local APIC is not KVM's",
        [KVM_LWP_REFUSED_HOST] = "the host has no memory for it",
        [KVM_LWP_REFUSED_POLICY] = "KVM was not asked for it",
        [KVM_LWP_REFUSED_FEATURE] = "its CPUID has a feature with which LWP "
                                    "is not known to work",
    };
    uint32_t status = 0;

    if (lwp_vcpu_attr(cpu, KVM_GET_DEVICE_ATTR, KVM_LWP_VCPU_STATUS,
                      &status) ||
        status >= ARRAY_SIZE(why) || !why[status]) {
        return "KVM does not say why";
    }
    return why[status];
}

static int lwp_put_reset(X86CPU *cpu)
{
    struct kvm_lwp_contexts none = { .format = KVM_LWP_CONTEXTS_FORMAT };
    uint8_t image[LWP_IMAGE_SIZE];

    cpu->lwp_wire.loaded = false;
    lwp_reset_image(cpu, image);
    if (CPU(cpu) == first_cpu) {
        lwp_vm_attr(KVM_SET_DEVICE_ATTR, KVM_LWP_VM_CONTEXTS, &none);
    }
    return lwp_vcpu_attr(cpu, KVM_SET_DEVICE_ATTR, KVM_LWP_VCPU_IMAGE, image);
}

static int lwp_put_loaded(X86CPU *cpu)
{
    X86LWPWire *wire = &cpu->lwp_wire;
    struct kvm_lwp_live live = {
        .cr3 = wire->cr3,
        .thread = wire->thread,
        .gs = wire->gs,
        .key_flags = wire->key_flags,
        .flags = (wire->live ? KVM_LWP_LIVE : 0) |
                 (wire->lookup ? KVM_LWP_LOOKUP : 0) |
                 (wire->entered ? KVM_LWP_ENTERED : 0),
    };
    int ret;

    wire->loaded = false;
    ret = lwp_vcpu_attr(cpu, KVM_SET_DEVICE_ATTR, KVM_LWP_VCPU_IMAGE,
                        wire->image);
    if (!ret) {
        ret = lwp_vcpu_attr(cpu, KVM_SET_DEVICE_ATTR, KVM_LWP_VCPU_LIVE,
                            &live);
    }
    return ret;
}

int kvm_lwp_put(X86CPU *cpu, int level, Error **errp)
{
    int ret = 0;

    if (!cpu->lwp_caps) {
        return 0;
    }
    if (level == KVM_PUT_RESET_STATE) {
        ret = lwp_put_reset(cpu);
    } else if (level == KVM_PUT_FULL_STATE && cpu->lwp_wire.loaded) {
        ret = lwp_put_loaded(cpu);
    }
    if (ret) {
        error_setg(errp, "CPU %d has no LWP: %s", CPU(cpu)->cpu_index,
                   lwp_refusal(cpu));
    }
    return ret;
}

static int lwp_wire_save(X86CPU *cpu)
{
    X86LWPWire *wire = &cpu->lwp_wire;
    struct kvm_lwp_live live;
    int ret;

    ret = lwp_vcpu_attr(cpu, KVM_GET_DEVICE_ATTR, KVM_LWP_VCPU_IMAGE,
                        wire->image);
    if (!ret) {
        ret = lwp_vcpu_attr(cpu, KVM_GET_DEVICE_ATTR, KVM_LWP_VCPU_LIVE,
                            &live);
    }
    if (ret) {
        return ret;
    }
    wire->live = live.flags & KVM_LWP_LIVE;
    wire->lookup = live.flags & KVM_LWP_LOOKUP;
    wire->entered = live.flags & KVM_LWP_ENTERED;
    wire->cr3 = live.cr3;
    wire->thread = live.thread;
    wire->gs = live.gs;
    wire->key_flags = live.key_flags;
    return 0;
}

static uint8_t *lwp_context_save(const struct lwp_caps *caps, size_t *size)
{
    struct kvm_lwp_contexts arg = { .format = KVM_LWP_CONTEXTS_FORMAT };
    uint8_t *data;
    int ret;

    ret = lwp_vm_attr(KVM_GET_DEVICE_ATTR, KVM_LWP_VM_CONTEXTS, &arg);
    data = g_malloc0(arg.size + 1);
    if (ret == -ENOSPC) {
        arg.addr = (uintptr_t)data;
        ret = lwp_vm_attr(KVM_GET_DEVICE_ATTR, KVM_LWP_VM_CONTEXTS, &arg);
    }
    *size = arg.size;
    if (ret) {
        g_clear_pointer(&data, g_free);
    }
    return data;
}

static const char *lwp_context_load(const struct lwp_caps *caps,
                                    const uint8_t *from, size_t size,
                                    uint32_t *index)
{
    struct kvm_lwp_contexts arg = {
        .addr = (uintptr_t)from,
        .size = size,
        .format = KVM_LWP_CONTEXTS_FORMAT,
    };

    return lwp_vm_attr(KVM_SET_DEVICE_ATTR, KVM_LWP_VM_CONTEXTS, &arg) ?
        "KVM refuses it, or has no room for so many" : NULL;
}

/* The vCPU's part is loaded by kvm_lwp_put(). */
static const X86LWPAccel kvm_lwp_accel = {
    .wire_save = lwp_wire_save,
    .context_save = lwp_context_save,
    .context_load = lwp_context_load,
    .os_has_contexts = true,
};

void kvm_lwp_realize(X86CPU *cpu)
{
    if (cpu->lwp_caps) {
        x86_lwp_accel = &kvm_lwp_accel;
        x86_lwp_agree_init(cpu);
        x86_lwp_contexts_travel();
    }
}
