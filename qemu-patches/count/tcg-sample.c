/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A machine whose virtual clock counts instructions says in its trace when a
 * sample is taken.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "count/qemu-compat.h"
#include "qemu/timer.h"
#include "trace/trace-target_i386.h"

void x86_cnt_sample(const char *what)
{
    if (trace_event_get_state_backends(TRACE_X86_CNT_SAMPLE)) {
        trace_x86_cnt_sample(what, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL));
    }
}
