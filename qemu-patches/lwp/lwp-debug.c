/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP: the state of the engine of a stopped machine, in words, for tests of
 * migration.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "cpu.h"
#include "exec/cpu-common.h"
#include "system/hw_accel.h"
#include "system/runstate.h"
#include "lwp/lwp-vmstate.h"
#include "lwp/tcg-lwp.h"

/* Head, tail and threshold from the block in memory. */
typedef struct LWPRing {
    uint32_t size, head, tail, threshold;
} LWPRing;

static bool lwp_read_ring(X86CPU *cpu, const struct lwp_engine *e,
                          LWPRing *ring)
{
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

/* Is an event due with the next instruction, or with the next branch? */
static bool lwp_due(const struct lwp_engine *e)
{
    return lwp_budget(e, LWP_KIND_IRE) == 1 ||
           lwp_budget(e, LWP_KIND_BRE) == 1 || lwp_budget(e, LWP_KIND_CNH) == 1;
}

/* Has KVM stopped with a #PF queued for the guest? */
static bool lwp_fault_queued(const CPUX86State *env)
{
    return env->exception_nr == EXCP0E_PAGE &&
           (env->exception_pending || env->exception_injected);
}

/* LLWPCB at rIP: XOP map 9, opcode 12 /0 with a register, in 64-bit code */
static bool lwp_at_llwpcb(X86CPU *cpu)
{
    uint8_t bytes[5];

    return !cpu_memory_rw_debug(CPU(cpu), cpu->env.eip, bytes, sizeof(bytes),
                                false) &&
           bytes[0] == 0x8f && (bytes[1] & 0x1f) == 9 && bytes[3] == 0x12 &&
           (bytes[4] & 0xf8) == 0xc0;
}

/* The accelerator's engine; cpu->lwp_wire has the rest of the state. */
static bool lwp_get_engine(X86CPU *cpu, struct lwp_engine *e)
{
    static const struct lwp_vcpu_ops none;
    X86LWPWire *wire = &cpu->lwp_wire;
    struct lwp_state st;

    cpu_synchronize_state(CPU(cpu));
    if (!x86_lwp_accel || x86_lwp_accel->wire_save(cpu)) {
        return false;
    }
    if (lwp_state_decode(wire->image, cpu->lwp_caps, &st)) {
        return false;
    }
    lwp_engine_init(e, cpu->lwp_caps, !cpu->lwp_props.os_context,
                    LWP_DELIVERY_EXACT, &none, NULL);
    lwp_engine_load(e, &st);
    e->xcr0_lwp = true;
    return true;
}

static void lwp_append(GString *words, bool cond, const char *word)
{
    if (cond) {
        g_string_append_printf(words, "%s%s", words->len ? " " : "", word);
    }
}

static void lwp_append_ring(GString *words, const LWPRing *ring)
{
    uint32_t used = (ring->head + ring->size - ring->tail) % ring->size;

    lwp_append(words, used + LWP_RECORD_SIZE == ring->size, "ring-full");
    lwp_append(words, ring->threshold && used >= ring->threshold, "threshold");
}

/* The words that apply, separated by blanks; if none does: idle or off. */
static char *lwp_get_state(Object *obj, Error **errp)
{
    X86CPU *cpu = X86_CPU(obj);
    CPUX86State *env = &cpu->env;
    bool faulted, llwpcb, user, queued;
    struct lwp_engine e;
    GString *words;
    LWPRing ring;

    if (!cpu->lwp_caps || runstate_is_running() || !lwp_get_engine(cpu, &e)) {
        error_setg(errp, "only a machine that is stopped, with LWP, has a "
                   "state");
        return NULL;
    }
    words = g_string_new("");
    faulted = e.st.flags & LWP_STATE_FAULTED;
    queued = lwp_fault_queued(env);
    user = (env->hflags & HF_CPL_MASK) == 3;
    llwpcb = env->lwp ? env->lwp->llwpcb_faulted && !user :
             queued && !faulted && lwp_at_llwpcb(cpu);
    lwp_append(words, llwpcb, "llwpcb-fault");
    if (lwp_engine_on(&e)) {
        if (!e.st.pending.event_id) {
            lwp_append(words, lwp_due(&e), "due");
        } else if (!faulted) {
            lwp_append(words, true, "pending");
        } else {
            lwp_append(words, !user || queued, "faulting");
            lwp_append(words, user && !queued && cpu->lwp_wire.entered,
                       "retrying");
        }
        if (lwp_read_ring(cpu, &e, &ring) && ring.tail < ring.size) {
            lwp_append_ring(words, &ring);
        }
    }
    lwp_append(words, !words->len, lwp_engine_on(&e) ? "idle" : "off");
    return g_string_free(words, false);
}

void x86_lwp_debug_class_init(ObjectClass *oc)
{
    object_class_property_add_str(oc, "x-lwp-state", lwp_get_state, NULL);
    object_class_property_set_description(oc, "x-lwp-state",
        "what the engine is doing, for tests");
}
