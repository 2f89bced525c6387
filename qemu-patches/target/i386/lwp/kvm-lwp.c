/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP under KVM: what the host offers, the VM's policy, and the state, which
 * travels as the same image and context array as TCG's.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "cpu.h"
#include "hw/i386/apic_internal.h"
#include "migration/vmstate.h"
#include "system/kvm.h"
#include "system/kvm_int.h"
#include "system/reset.h"
#include "lwp/kvm-lwp.h"
#include "lwp/lwp-agree.h"
#include "lwp_kvm.h"
#include "lwp_context.h"

/* The parked contexts while a vmstate is handled. */
static struct {
    bool registered;
    uint32_t size;
    uint8_t *data;
} contexts;

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

bool kvm_lwp_check(X86CPU *cpu, Error **errp)
{
    const X86LWPProps *p = &cpu->lwp_props;
    struct kvm_lwp_policy policy = {
        .rev = p->rev,
        .context = p->os_context ? KVM_LWP_CONTEXT_OS : KVM_LWP_CONTEXT_AUTO,
        .delivery = p->prompt ? LWP_DELIVERY_PROMPT : LWP_DELIVERY_EXACT,
    };
    int has = kvm_vm_check_extension(kvm_state, KVM_CAP_X86_LWP);
    int ret;

    if (has <= 0) {
        error_setg(errp, "lwp=on: KVM on this host has no LWP for this guest; "
                   "load a kvm_amd module that has it (it does not serve SEV "
                   "guests), or use accel=tcg");
        return false;
    }
    /* Not kvm_irqchip_in_kernel(): -machine none answers questions too. */
    if (!kvm_kernel_irqchip_allowed()) {
        error_setg(errp, "lwp=on needs the local APIC of KVM: leave out "
                   "kernel-irqchip=off");
        return false;
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
    ret = lwp_vm_attr(KVM_SET_DEVICE_ATTR, KVM_LWP_VM_POLICY, &policy);
    if (ret == -EBUSY) {
        error_setg(errp, "lwp-rev, lwp-context and lwp-delivery must be the "
                   "same for all CPUs");
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
        .cfg = lwp_cfg_reset(cpu->lwp_caps, !cpu->lwp_props.os_context,
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
    };
    uint32_t status = 0;

    if (lwp_vcpu_attr(cpu, KVM_GET_DEVICE_ATTR, KVM_LWP_VCPU_STATUS,
                      &status) ||
        status >= ARRAY_SIZE(why) || !why[status]) {
        return "KVM does not say why";
    }
    return why[status];
}

int kvm_lwp_put(X86CPU *cpu, int level, Error **errp)
{
    struct kvm_lwp_contexts none = { 0 };
    uint8_t image[LWP_IMAGE_SIZE];
    int ret;

    if (!cpu->lwp_caps || level < KVM_PUT_RESET_STATE) {
        return 0;
    }
    if (level == KVM_PUT_RESET_STATE) {
        cpu->lwp_image_loaded = false;
    }
    if (cpu->lwp_image_loaded) {
        memcpy(image, cpu->lwp_image, sizeof(image));
    } else {
        lwp_reset_image(cpu, image);
        if (CPU(cpu) == first_cpu) {
            lwp_vm_attr(KVM_SET_DEVICE_ATTR, KVM_LWP_VM_CONTEXTS, &none);
        }
    }
    ret = lwp_vcpu_attr(cpu, KVM_SET_DEVICE_ATTR, KVM_LWP_VCPU_IMAGE, image);
    if (ret) {
        error_setg(errp, "CPU %d has no LWP: %s", CPU(cpu)->cpu_index,
                   lwp_refusal(cpu));
    }
    return ret;
}

static bool lwp_needed(void *opaque)
{
    return kvm_enabled() && X86_CPU(opaque)->lwp_caps;
}

static int lwp_pre_save(void *opaque)
{
    X86CPU *cpu = opaque;

    return lwp_vcpu_attr(cpu, KVM_GET_DEVICE_ATTR, KVM_LWP_VCPU_IMAGE,
                         cpu->lwp_image);
}

static int lwp_post_load(void *opaque, int version_id)
{
    X86CPU *cpu = opaque;
    struct lwp_state st;
    const char *wrong = lwp_state_decode(cpu->lwp_image, cpu->lwp_caps, &st);

    if (wrong) {
        error_report("LWP state of CPU %d is not valid: %s",
                     CPU(cpu)->cpu_index, wrong);
        return -EINVAL;
    }
    cpu->lwp_image_loaded = true;
    return 0;
}

const VMStateDescription vmstate_kvm_lwp = {
    .name = "cpu/lwp-kvm",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = lwp_needed,
    .pre_save = lwp_pre_save,
    .post_load = lwp_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_BUFFER(lwp_image, X86CPU),
        VMSTATE_END_OF_LIST()
    }
};

/* Live contexts are parked by this; whoever runs them looks them up again. */
static int lwp_contexts_pre_save(void *opaque)
{
    struct kvm_lwp_contexts arg = { 0 };
    int ret;

    ret = lwp_vm_attr(KVM_GET_DEVICE_ATTR, KVM_LWP_VM_CONTEXTS, &arg);
    g_free(contexts.data);
    contexts.data = g_malloc0(arg.size);
    contexts.size = arg.size;
    if (ret == -ENOSPC) {
        arg.addr = (uintptr_t)contexts.data;
        ret = lwp_vm_attr(KVM_GET_DEVICE_ATTR, KVM_LWP_VM_CONTEXTS, &arg);
    }
    return ret;
}

static int lwp_contexts_post_load(void *opaque, int version_id)
{
    struct kvm_lwp_contexts arg = {
        .addr = (uintptr_t)contexts.data,
        .size = contexts.size,
    };

    if (lwp_vm_attr(KVM_SET_DEVICE_ATTR, KVM_LWP_VM_CONTEXTS, &arg)) {
        error_report("the LWP contexts are not valid for this host");
        return -EINVAL;
    }
    return 0;
}

static const VMStateDescription vmstate_kvm_lwp_contexts = {
    .name = "x86-lwp-contexts-kvm",
    .version_id = 1,
    .minimum_version_id = 1,
    .priority = MIG_PRI_MAX - 1, /* before the CPUs */
    .pre_save = lwp_contexts_pre_save,
    .post_load = lwp_contexts_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(size, typeof(contexts)),
        VMSTATE_VBUFFER_ALLOC_UINT32(data, typeof(contexts), 1, NULL, size),
        VMSTATE_END_OF_LIST()
    }
};

void kvm_lwp_realize(X86CPU *cpu)
{
    if (cpu->lwp_caps) {
        x86_lwp_agree_init(cpu);
    }
    if (cpu->lwp_caps && !contexts.registered) {
        contexts.registered = true;
        vmstate_register(NULL, 0, &vmstate_kvm_lwp_contexts, &contexts);
    }
}
