// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Performance counters while each branch leaves a record: they count what they count without records.
 */
#include "lwp_fixture.h"
#include "pmu.h"
#include "test.h"

extern char pmt_code[];

/* 15 instructions; 7 near branches, a far one. */
USER_CODE("pmt_code: llwpcb %rax\n"
	  "mov $5, %ecx\n"
	  "1: dec %ecx\n"
	  "jnz 1b\n"
	  "call 2f\n"
	  "user_exit\n"
	  "2: ret\n");

static void run(struct lwp *l, const struct block *b, u64 records, const char *what)
{
	report_push("%s", what);
	lwp_prepare(l, b, pmt_code);
	pmu_start(0, PERF_INSNS | PERF_USR, 0);
	pmu_start(1, PERF_BRANCHES | PERF_USR, 0);
	lwp_resume(l);
	report_eq(pmu_stop(0), 15, "instructions");
	report_eq(pmu_stop(1), 8, "branches");
	report_eq(cb_head(l) / RECORD_SIZE, records, "records");
	report_pop();
}

LWP_TEST(pmu_trace)
{
	run(l, NO_EVENT, 0, "no event");
	run(l, EVENT(EV_BRE, 0, 0), 7, "each branch");
}
