/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP under TCG: stopping at a chosen step, for tests of migration, and after a
 * chosen instruction, for ./vlwp goto.
 *
 * A step is an instruction that retires under LWP, a #PF raised by LWP's own
 * accesses, or an entry to CPL 3 with a store outstanding.  The machine stops
 * after the step.  Translated code does not change; only its budget is
 * smaller, so that helper_cnt_retire() counts the step.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "cpu.h"
#include "count/qemu-compat.h"
#include "exec/cpu-common.h"
#include "lwp/tcg-lwp.h"
#include "system/cpus.h"
#include "system/runstate.h"

static void lwp_stop(CPUX86State *env)
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
        lwp_stop(env);
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
    x86_cnt_update(env);
}

static void lwp_get_clock(Object *obj, Visitor *v, const char *name,
                          void *opaque, Error **errp)
{
    int64_t value = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);

    visit_type_int64(v, name, &value, errp);
}

static void lwp_stop_now(void *opaque)
{
    vm_stop(RUN_STATE_PAUSED);
}

/*
 * With -icount the budget of the vCPU ends where a timer of the virtual clock
 * is due, and the timer runs before the next instruction.
 */
static void lwp_set_clock(Object *obj, Visitor *v, const char *name,
                          void *opaque, Error **errp)
{
    X86LWP *lwp = X86_CPU(obj)->env.lwp;
    int64_t value;

    if (!visit_type_int64(v, name, &value, errp)) {
        return;
    }
    if (!lwp || !icount_enabled() || runstate_is_running()) {
        error_setg(errp, "%s needs a CPU with LWP, -icount, and a machine "
                   "that is stopped", name);
        return;
    }
    if (!lwp->stop_timer) {
        lwp->stop_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, lwp_stop_now, NULL);
    }
    timer_mod(lwp->stop_timer, value);
}

void x86_lwp_tcg_debug_class_init(ObjectClass *oc)
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
    object_class_property_add(oc, "x-lwp-clock", "int64", lwp_get_clock,
                              lwp_set_clock, NULL, NULL);
    object_class_property_set_description(oc, "x-lwp-clock",
        "ns of the virtual clock; set: the machine stops then, once");
}
