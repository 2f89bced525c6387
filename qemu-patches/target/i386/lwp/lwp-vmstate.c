/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP on the wire: the state of a vCPU, and the machine's parked contexts.
 *
 * Live contexts are parked before the stream is written; whichever vCPU reaches
 * a context's thread next finds it again.
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

static int lwp_pre_save(void *opaque)
{
    X86CPU *cpu = opaque;
    CPUX86State *env = &cpu->env;
    X86LWP *lwp = env->lwp;

    x86_lwp_context_park(env);
    x86_lwp_settle(env);
    lwp_state_encode(&lwp->engine.st, &lwp->engine.caps, lwp->image);
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

    wrong = lwp_state_decode(lwp->image, &lwp->engine.caps, &st);
    if (wrong) {
        error_report("LWP state of CPU %d is not valid: %s; does the source "
                     "run the same lwp-* properties?",
                     CPU(cpu)->cpu_index, wrong);
        return -EINVAL;
    }
    if (x86_lwp_auto(lwp) && lwp_state_on(&st)) {
        error_report("LWP state of CPU %d was saved with lwp-context=os, not "
                     "auto", CPU(cpu)->cpu_index);
        return -EINVAL;
    }
    env->lwp_count.left = lwp->settled;
    lwp_engine_load(&lwp->engine, &st);
    lwp->engine.xcr0_lwp = (env->xcr0 & XSTATE_LWP_MASK) != 0;
    lwp->live = false;
    lwp->lookup = x86_lwp_auto(lwp);
    x86_lwp_update(env);
    return 0;
}

static const VMStateDescription vmstate_lwp_state = {
    .name = "cpu/lwp/state",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_BUFFER(image, X86LWP),
        VMSTATE_BOOL(entered, X86LWP),
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
    CPUX86State *env;
    size_t size;
    CPUState *cs;

    CPU_FOREACH(cs) {
        env = cpu_env(cs);
        x86_lwp_context_park(env);
        wire->caps = &env->lwp->engine.caps;
    }
    g_free(wire->data);
    wire->data = x86_lwp_context_save(wire->caps, &size);
    wire->size = size;
    return 0;
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
    .pre_save = lwp_contexts_pre_save,
    .post_load = lwp_contexts_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(size, X86LWPContextsWire),
        VMSTATE_VBUFFER_ALLOC_UINT32(data, X86LWPContextsWire, 1, NULL, size),
        VMSTATE_END_OF_LIST()
    }
};
