/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP in the migration stream: the state of a vCPU, and the machine's contexts.
 * TCG and KVM use the same format; each can load what the other has saved.
 *
 * Contexts are sent before the vCPUs.  A live context stays live: its vCPU's
 * state names it.  lwp-agree.c has what the two sides must agree on.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "cpu.h"
#include "migration/vmstate.h"
#include "lwp/lwp-vmstate.h"
#include "lwp_context.h"

/* The maximum of KVM's module parameter; TCG refuses more than it can hold. */
#define LWP_CONTEXTS_MAX 65536

const X86LWPAccel *x86_lwp_accel;

/* The contexts while they are saved or loaded. */
static struct {
    bool registered;
    uint32_t size;
    uint8_t *data;
} contexts;

static bool lwp_needed(void *opaque)
{
    X86CPU *cpu = opaque;

    return cpu->lwp_caps && x86_lwp_accel;
}

/* A live context is sent with the others; the image then has LWP_CFG only. */
static int lwp_pre_save(void *opaque)
{
    X86CPU *cpu = opaque;
    X86LWPWire *wire = &cpu->lwp_wire;
    struct lwp_state st;
    const char *wrong;
    int ret;

    memset(wire, 0, sizeof(*wire));
    ret = x86_lwp_accel->wire_save(cpu);
    if (ret || !wire->live) {
        return ret;
    }
    wrong = lwp_state_decode(wire->image, cpu->lwp_caps, &st);
    if (wrong) {
        error_report("LWP state of CPU %d is not valid: %s",
                     CPU(cpu)->cpu_index, wrong);
        return -EINVAL;
    }
    lwp_state_off(&st);
    lwp_state_encode(&st, cpu->lwp_caps, wire->image);
    return 0;
}

static int lwp_pre_load(void *opaque)
{
    X86CPU *cpu = opaque;

    if (!lwp_needed(cpu)) {
        error_report("CPU %d comes with LWP and has none here; give this "
                     "machine the lwp and lwp-* properties of the source",
                     CPU(cpu)->cpu_index);
        return -EINVAL;
    }
    return 0;
}

/* Is the live context among the contexts that were loaded before? */
static bool lwp_context_came(const X86LWPWire *wire)
{
    const uint8_t *entry = contexts.data;
    uint32_t at;

    for (at = 0; at < contexts.size; at += LWP_CTX_ENTRY_SIZE) {
        if (lwp_get64(entry + at + LWP_CTX_ENTRY_CR3) == wire->cr3 &&
            lwp_get64(entry + at + LWP_CTX_ENTRY_THREAD) == wire->thread &&
            lwp_get64(entry + at + LWP_CTX_ENTRY_GS) == wire->gs &&
            lwp_get32(entry + at + LWP_CTX_ENTRY_FLAGS) == wire->key_flags) {
            return true;
        }
    }
    return false;
}

/*
 * KVM may have queued a #PF that is not delivered yet.  TCG does not load it.
 * If an instruction raised it, it is executed again and faults again.  A store
 * between two instructions is retried only if CPL 3 counts as just entered.
 */
static bool lwp_fault_was_queued(const CPUX86State *env)
{
    return env->exception_nr == EXCP0E_PAGE &&
           (env->hflags & HF_CPL_MASK) == HF_CPL_MASK;
}

static int lwp_post_load(void *opaque, int version_id)
{
    X86CPU *cpu = opaque;
    X86LWPWire *wire = &cpu->lwp_wire;
    bool in_contexts = x86_lwp_accel->os_has_contexts ||
                       !cpu->lwp_props.os_context;
    struct lwp_state st;
    const char *wrong;

    if (x86_lwp_accel->wire_load && lwp_fault_was_queued(&cpu->env)) {
        wire->entered = true;
    }
    wrong = lwp_state_decode(wire->image, cpu->lwp_caps, &st);
    if (!wrong && !cpu->lwp_props.os_context && lwp_state_on(&st)) {
        wrong = "a block outside any context";
    }
    if (!wrong && !in_contexts && (wire->live || wire->lookup)) {
        wrong = "a context, and lwp-context=os has none";
    }
    if (!wrong && wire->live && !lwp_context_came(wire)) {
        wrong = "its context is not among those that came with it";
    }
    if (!wrong && x86_lwp_accel->wire_load) {
        wrong = x86_lwp_accel->wire_load(cpu, &st);
    }
    if (wrong) {
        error_report("LWP state of CPU %d is not valid: %s",
                     CPU(cpu)->cpu_index, wrong);
        return -EINVAL;
    }
    wire->loaded = !x86_lwp_accel->wire_load;
    return 0;
}

const VMStateDescription vmstate_x86_lwp = {
    .name = "cpu/lwp",
    .version_id = 2,
    .minimum_version_id = 2,
    .needed = lwp_needed,
    .pre_save = lwp_pre_save,
    .pre_load = lwp_pre_load,
    .post_load = lwp_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_BUFFER(lwp_wire.image, X86CPU),
        VMSTATE_BOOL(lwp_wire.entered, X86CPU),
        VMSTATE_BOOL(lwp_wire.lookup, X86CPU),
        VMSTATE_BOOL(lwp_wire.live, X86CPU),
        VMSTATE_UINT64(lwp_wire.cr3, X86CPU),
        VMSTATE_UINT64(lwp_wire.thread, X86CPU),
        VMSTATE_UINT64(lwp_wire.gs, X86CPU),
        VMSTATE_UINT32(lwp_wire.key_flags, X86CPU),
        VMSTATE_END_OF_LIST()
    }
};

static const struct lwp_caps *lwp_caps(void)
{
    return X86_CPU(first_cpu)->lwp_caps;
}

static int lwp_contexts_pre_save(void *opaque)
{
    size_t size;

    g_clear_pointer(&contexts.data, g_free);
    contexts.data = x86_lwp_accel->context_save(lwp_caps(), &size);
    contexts.size = size;
    return contexts.data ? 0 : -EIO;
}

static int lwp_contexts_pre_load(void *opaque)
{
    g_clear_pointer(&contexts.data, g_free);
    return 0;
}

/* Checked before memory of that size is allocated */
static bool lwp_contexts_size_valid(void *opaque, int version_id)
{
    return contexts.size <= LWP_CONTEXTS_MAX * LWP_CTX_ENTRY_SIZE &&
           contexts.size % LWP_CTX_ENTRY_SIZE == 0;
}

static int lwp_contexts_post_load(void *opaque, int version_id)
{
    uint32_t count = contexts.size / LWP_CTX_ENTRY_SIZE, index = 0;
    const char *wrong = NULL;
    struct lwp_ctx_saved saved;

    while (!wrong && index < count) {
        wrong = lwp_ctx_decode(contexts.data + index * LWP_CTX_ENTRY_SIZE,
                               lwp_caps(), &saved);
        index += !wrong;
    }
    if (!wrong) {
        wrong = x86_lwp_accel->context_load(lwp_caps(), contexts.data,
                                            contexts.size, &index);
    }
    if (wrong) {
        error_report("LWP context %u is not valid: %s", index, wrong);
        return -EINVAL;
    }
    return 0;
}

static const VMStateDescription vmstate_x86_lwp_contexts = {
    .name = "x86-lwp-contexts",
    .version_id = LWP_CTX_FORMAT_VERSION,
    .minimum_version_id = LWP_CTX_FORMAT_VERSION,
    .priority = MIG_PRI_MAX - 1, /* before the CPUs */
    .pre_save = lwp_contexts_pre_save,
    .pre_load = lwp_contexts_pre_load,
    .post_load = lwp_contexts_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(size, typeof(contexts)),
        VMSTATE_VALIDATE("fits into the table", lwp_contexts_size_valid),
        VMSTATE_VBUFFER_ALLOC_UINT32(data, typeof(contexts), 1, NULL, size),
        VMSTATE_END_OF_LIST()
    }
};

void x86_lwp_contexts_travel(void)
{
    if (!contexts.registered) {
        contexts.registered = true;
        vmstate_register(NULL, 0, &vmstate_x86_lwp_contexts, &contexts);
    }
}
