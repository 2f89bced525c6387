/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP under TCG: stopping at a chosen step, and saying in which state the
 * engine is, for tests of migration.
 *
 * A step is an instruction that retires under LWP, a #PF raised by LWP's own
 * accesses, or an entry to CPL 3 with a store outstanding.  The machine stops
 * where it could have been stopped from outside, at the start of a TB: the
 * first after the step, or the one that would go beyond it.  Translated code
 * is the same as ever; only its budget runs out earlier.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qemu/main-loop.h"
#include "cpu.h"
#include "exec/cpu-common.h"
#include "lwp/tcg-lwp.h"
#include "system/cpus.h"
#include "system/runstate.h"

void x86_lwp_stop(CPUX86State *env)
{
    BQL_LOCK_GUARD();
    env->lwp->stop_at = 0;
    vm_stop(RUN_STATE_PAUSED);
}

void x86_lwp_step(CPUX86State *env)
{
    X86LWP *lwp = env->lwp;

    lwp->steps++;
    if (lwp->stop_at && lwp->steps >= lwp->stop_at) {
        x86_lwp_stop(env);
    }
}

static void lwp_get_steps(Object *obj, Visitor *v, const char *name,
                          void *opaque, Error **errp)
{
    X86LWP *lwp = X86_CPU(obj)->env.lwp;
    uint64_t value = lwp ? *(uint64_t *)((void *)lwp + (uintptr_t)opaque) : 0;

    visit_type_uint64(v, name, &value, errp);
}

static void lwp_set_stop(Object *obj, Visitor *v, const char *name,
                         void *opaque, Error **errp)
{
    CPUX86State *env = &X86_CPU(obj)->env;
    uint64_t value;

    if (!visit_type_uint64(v, name, &value, errp)) {
        return;
    }
    if (!env->lwp || runstate_is_running()) {
        error_setg(errp, "%s needs a CPU with LWP under TCG, and a machine "
                   "that is stopped", name);
        return;
    }
    env->lwp->stop_at = value;
    x86_lwp_update(env);
}

/* Head, tail and threshold as the block in memory has them now. */
typedef struct LWPRing {
    uint32_t size, head, tail, threshold;
} LWPRing;

static bool lwp_read_ring(X86CPU *cpu, LWPRing *ring)
{
    const struct lwp_engine *e = &cpu->env.lwp->engine;
    uint8_t block[LWP_CB_MAX_SIZE];
    uint32_t tail = e->caps.rev == LWP_REV_43724 ? LWP_CB_TAIL :
                    LWP07_CB_TAIL;

    if (lwp_state_deferred(&e->st) ||
        cpu_memory_rw_debug(CPU(cpu), e->st.cb_addr, block, e->caps.cb_size,
                            false)) {
        return false;
    }
    ring->size = e->st.size;
    ring->head = e->st.head;
    ring->tail = lwp_get32(block + tail);
    ring->threshold = lwp_get32(block + LWP_CB_THRESHOLD);
    return true;
}

static void lwp_append(GString *words, bool cond, const char *word)
{
    if (cond) {
        g_string_append_printf(words, "%s%s", words->len ? " " : "", word);
    }
}

/* Words that apply, with blanks between; none of them: idle, or off. */
static char *lwp_get_state(Object *obj, Error **errp)
{
    X86CPU *cpu = X86_CPU(obj);
    CPUX86State *env = &cpu->env;
    X86LWP *lwp = env->lwp;
    GString *words;
    bool user = (env->hflags & HF_CPL_MASK) == 3;
    uint64_t insns, branches;
    const struct lwp_state *st;
    uint32_t used;
    LWPRing ring;

    if (!lwp || runstate_is_running()) {
        error_setg(errp, "only a machine that is stopped, with LWP, has a "
                   "state");
        return NULL;
    }
    x86_lwp_settle(env);
    words = g_string_new("");
    st = &lwp->engine.st;
    lwp_append(words, lwp->llwpcb_faulted && !user, "llwpcb-fault");
    if (lwp_engine_on(&lwp->engine)) {
        x86_lwp_distance(lwp, &insns, &branches);
        if (!st->pending.event_id) {
            lwp_append(words, insns == 1 || branches == 1, "due");
        } else if (!(st->flags & LWP_STATE_FAULTED)) {
            lwp_append(words, true, "pending");
        } else {
            lwp_append(words, !user, "faulting");
            lwp_append(words, user && lwp->entered, "retrying");
        }
        if (lwp_read_ring(cpu, &ring) && ring.tail < ring.size) {
            used = (ring.head + ring.size - ring.tail) % ring.size;
            lwp_append(words, used + LWP_RECORD_SIZE == ring.size, "ring-full");
            lwp_append(words, ring.threshold && used >= ring.threshold,
                       "threshold");
        }
    }
    lwp_append(words, !words->len,
               lwp_engine_on(&lwp->engine) ? "idle" : "off");
    return g_string_free(words, false);
}

void x86_lwp_debug_class_init(ObjectClass *oc)
{
    object_class_property_add(oc, "x-lwp-steps", "uint64", lwp_get_steps, NULL,
                              NULL, (void *)offsetof(X86LWP, steps));
    object_class_property_set_description(oc, "x-lwp-steps",
        "steps under LWP since reset, for tests");
    object_class_property_add(oc, "x-lwp-stop-at", "uint64", lwp_get_steps,
                              lwp_set_stop, NULL,
                              (void *)offsetof(X86LWP, stop_at));
    object_class_property_set_description(oc, "x-lwp-stop-at",
        "step at which the machine stops, 0: never; for tests");
    object_class_property_add_str(oc, "x-lwp-state", lwp_get_state, NULL);
    object_class_property_set_description(oc, "x-lwp-state",
        "what the engine is doing, for tests");
}
