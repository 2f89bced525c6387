/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tracepoints of LWP.
 */
#if !defined(_TRACE_KVM_LWP_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_KVM_LWP_H

#include <linux/tracepoint.h>

#undef TRACE_SYSTEM
#define TRACE_SYSTEM kvm_lwp

/* clang-format off */
TRACE_EVENT(kvm_lwp_mode,
	TP_PROTO(unsigned int vcpu_id, const char *event, const char *from, const char *to),
	TP_ARGS(vcpu_id, event, from, to),

	TP_STRUCT__entry(
		__field(unsigned int, vcpu_id)
		__array(char, event, 8)
		__array(char, from, 8)
		__array(char, to, 8)
	),

	TP_fast_assign(
		__entry->vcpu_id = vcpu_id;
		strscpy(__entry->event, event);
		strscpy(__entry->from, from);
		strscpy(__entry->to, to);
	),

	TP_printk("vcpu %u %s: %s, %s", __entry->vcpu_id, __entry->event, __entry->from,
		  __entry->to)
);

TRACE_EVENT(kvm_lwp_boundary,
	TP_PROTO(unsigned int vcpu_id, u64 address, unsigned int exception, u64 fault),
	TP_ARGS(vcpu_id, address, exception, fault),

	TP_STRUCT__entry(
		__field(unsigned int, vcpu_id)
		__field(u64, address)
		__field(unsigned int, exception)
		__field(u64, fault)
	),

	TP_fast_assign(
		__entry->vcpu_id = vcpu_id;
		__entry->address = address;
		__entry->exception = exception;
		__entry->fault = fault;
	),

	TP_printk("vcpu %u at 0x%llx exception %u address 0x%llx", __entry->vcpu_id,
		  __entry->address, __entry->exception, __entry->fault)
);

TRACE_EVENT(kvm_lwp_counted,
	TP_PROTO(unsigned int vcpu_id, u64 instructions, u64 branches, u64 late_branches),
	TP_ARGS(vcpu_id, instructions, branches, late_branches),

	TP_STRUCT__entry(
		__field(unsigned int, vcpu_id)
		__field(u64, instructions)
		__field(u64, branches)
		__field(u64, late_branches)
	),

	TP_fast_assign(
		__entry->vcpu_id = vcpu_id;
		__entry->instructions = instructions;
		__entry->branches = branches;
		__entry->late_branches = late_branches;
	),

	TP_printk("vcpu %u instructions %llu branches %llu late %llu", __entry->vcpu_id,
		  __entry->instructions, __entry->branches, __entry->late_branches)
);

TRACE_EVENT(kvm_lwp_overshoot,
	TP_PROTO(unsigned int vcpu_id, unsigned int event_id, u64 address, u64 late),
	TP_ARGS(vcpu_id, event_id, address, late),

	TP_STRUCT__entry(
		__field(unsigned int, vcpu_id)
		__field(unsigned int, event_id)
		__field(u64, address)
		__field(u64, late)
	),

	TP_fast_assign(
		__entry->vcpu_id = vcpu_id;
		__entry->event_id = event_id;
		__entry->address = address;
		__entry->late = late;
	),

	TP_printk("vcpu %u event %u names 0x%llx, late by %llu", __entry->vcpu_id,
		  __entry->event_id, __entry->address, __entry->late)
);

TRACE_EVENT(kvm_lwp_refused,
	TP_PROTO(unsigned int vcpu_id, const char *why),
	TP_ARGS(vcpu_id, why),

	TP_STRUCT__entry(
		__field(unsigned int, vcpu_id)
		__string(why, why)
	),

	TP_fast_assign(
		__entry->vcpu_id = vcpu_id;
		__assign_str(why);
	),

	TP_printk("vcpu %u: %s", __entry->vcpu_id, __get_str(why))
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH ../../arch/x86/kvm/svm
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE lwp_trace

#include <trace/define_trace.h>
