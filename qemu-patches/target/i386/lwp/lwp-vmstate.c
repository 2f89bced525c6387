/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP on the wire: the state of a vCPU, and the machine's parked contexts.
 *
 * Contexts travel before the vCPUs.  One that is live stays so: its vCPU says
 * which it is.  What the two sides must agree on is in lwp-agree.c.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "cpu.h"
#include "migration/vmstate.h"
#include "lwp/tcg-lwp.h"

static bool lwp_needed(void *opaque)
{
    X86CPU *cpu = opaque;

    return cpu->env.lwp != NULL;
}

/* A live context travels with the others; the image then has LWP_CFG only. */
static int lwp_pre_save(void *opaque)
{
    X86CPU *cpu = opaque;
    X86LWP *lwp = cpu->env.lwp;
    struct lwp_state st;

    x86_lwp_settle(&cpu->env);
    st = lwp->engine.st;
    memset(&lwp->wire.key, 0, sizeof(lwp->wire.key));
    if (lwp->live) {
        lwp->wire.key = x86_lwp_context_key(&cpu->env);
        lwp_state_off(&st);
    }
    lwp_state_encode(&st, &lwp->engine.caps, lwp->wire.image);
    return 0;
}

static int lwp_pre_load(void *opaque)
{
    X86CPU *cpu = opaque;

    if (!cpu->env.lwp) {
        error_report("CPU %d comes with LWP and has none here; give this "
                     "machine the lwp and lwp-* properties of the source",
                     CPU(cpu)->cpu_index);
        return -EINVAL;
    }
    return 0;
}

static int lwp_post_load(void *opaque, int version_id)
{
    X86CPU *cpu = opaque;
    CPUX86State *env = &cpu->env;
    X86LWP *lwp = env->lwp;
    struct lwp_state st;
    const char *wrong;

    wrong = lwp_state_decode(lwp->wire.image, &lwp->engine.caps, &st);
    if (!wrong && x86_lwp_auto(lwp) && lwp_state_on(&st)) {
        wrong = "a block outside any context";
    }
    if (!wrong && !x86_lwp_auto(lwp) && (lwp->live || lwp->lookup)) {
        wrong = "a context, and lwp-context=os has none";
    }
    if (wrong) {
        lwp->live = false;
        error_report("LWP state of CPU %d is not valid: %s",
                     CPU(cpu)->cpu_index, wrong);
        return -EINVAL;
    }
    env->lwp_count.left = env->lwp_count.settled;
    lwp_engine_load(&lwp->engine, &st);
    lwp->engine.xcr0_lwp = (env->xcr0 & XSTATE_LWP_MASK) != 0;
    if (lwp->live && !x86_lwp_context_resume(env, &lwp->wire.key)) {
        error_report("LWP state of CPU %d is not valid: its context is not "
                     "among those that came with it", CPU(cpu)->cpu_index);
        return -EINVAL;
    }
    x86_lwp_update(env);
    return 0;
}

static const VMStateDescription vmstate_lwp_state = {
    .name = "cpu/lwp/state",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_BUFFER(wire.image, X86LWP),
        VMSTATE_BOOL(entered, X86LWP),
        VMSTATE_BOOL(lookup, X86LWP),
        VMSTATE_BOOL(live, X86LWP),
        VMSTATE_UINT64(wire.key.cr3, X86LWP),
        VMSTATE_UINT64(wire.key.thread, X86LWP),
        VMSTATE_UINT32(wire.key.flags, X86LWP),
        VMSTATE_END_OF_LIST()
    }
};

const VMStateDescription vmstate_x86_lwp = {
    .name = "cpu/lwp",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = lwp_needed,
    .pre_save = lwp_pre_save,
    .pre_load = lwp_pre_load,
    .post_load = lwp_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_POINTER(env.lwp, X86CPU, vmstate_lwp_state, X86LWP),
        VMSTATE_END_OF_LIST()
    }
};

static int lwp_contexts_pre_save(void *opaque)
{
    X86LWPContextsWire *wire = opaque;
    size_t size;

    g_free(wire->data);
    wire->caps = &cpu_env(first_cpu)->lwp->engine.caps;
    wire->data = x86_lwp_context_save(wire->caps, &size);
    wire->size = size;
    return 0;
}

static int lwp_contexts_pre_load(void *opaque)
{
    X86LWPContextsWire *wire = opaque;

    g_clear_pointer(&wire->data, g_free);
    return 0;
}

/* Before that much memory is allocated */
static bool lwp_contexts_size_valid(void *opaque, int version_id)
{
    X86LWPContextsWire *wire = opaque;

    return wire->size <= LWP_CTX_TABLE_DEFAULT * LWP_CTX_ENTRY_SIZE;
}

static int lwp_contexts_post_load(void *opaque, int version_id)
{
    X86LWPContextsWire *wire = opaque;
    const char *wrong;
    uint32_t index;

    wire->caps = &cpu_env(first_cpu)->lwp->engine.caps;
    wrong = x86_lwp_context_load(wire->caps, wire->data, wire->size, &index);
    if (wrong) {
        error_report("LWP context %u is not valid: %s", index, wrong);
        return -EINVAL;
    }
    return 0;
}

const VMStateDescription vmstate_x86_lwp_contexts = {
    .name = "x86-lwp-contexts",
    .version_id = 1,
    .minimum_version_id = 1,
    .priority = MIG_PRI_MAX - 1, /* before the CPUs */
    .pre_save = lwp_contexts_pre_save,
    .pre_load = lwp_contexts_pre_load,
    .post_load = lwp_contexts_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(size, X86LWPContextsWire),
        VMSTATE_VALIDATE("fits into the table", lwp_contexts_size_valid),
        VMSTATE_VBUFFER_ALLOC_UINT32(data, X86LWPContextsWire, 1, NULL, size),
        VMSTATE_END_OF_LIST()
    }
};
