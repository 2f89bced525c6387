// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * LBR virtualization: with bit 0 of the VMCB's B8h an SVM guest records its branches in a stack of its own, which lies
 * in the VMCB; the hypervisor's stack, LBR_SELECT, DBG_EXTN_CFG and DEBUGCTL are the same after the guest as before. Without
 * the bit both share one stack. The rules are those of APM volume 2, 15.23 and appendix B.
 */
#include "lwp_fixture.h"
#include "pmu.h"
#include "svm.h"
#include "test.h"

#define SVM_LBR_VIRTUAL (1u << 1) /* 8000_000A EDX */
#define LBR_VIRTUAL 1u
#define VMCB_DEBUGCTL 0x670
#define VMCB_DBG_EXTN_CFG 0x698
#define VMCB_LBR_FROM(n) (0xa70 + 16 * (n))
#define VMCB_LBR_TO(n) (0xa78 + 16 * (n))
#define VMCB_LBR_SELECT 0xb70

extern char lvs_user[], lvs_jmp[], lvs_call[], lvs_back[], lvs_f[], lvs_read[];

USER_CODE("lvs_user: nop\n"
	  "lvs_jmp: jmp lvs_call\n"
	  "nop\n"
	  "lvs_call: call lvs_f\n"
	  "lvs_back: vmmcall\n"
	  "lvs_f: ret\n"
	  /* At CPL 0: the registers as the guest sees them. */
	  "lvs_read: rdmsr\n"
	  "shl $32, %rdx\n"
	  "or %rax, %rdx\n"
	  "mov %rdx, %rbx\n"
	  "vmmcall\n"
	  "jmp lvs_read\n");

static void fill_host(void)
{
	for (u32 n = 0; n < LBR_ENTRIES; n++) {
		wrmsr(MSR_LBR_FROM(n), 100 + n);
		wrmsr(MSR_LBR_TO(n), 200 + n);
	}
}

static void fill_guest(struct guest *g)
{
	for (u32 n = 0; n < LBR_ENTRIES; n++) {
		lwp_put64(g->vmcb + VMCB_LBR_FROM(n), 300 + n);
		lwp_put64(g->vmcb + VMCB_LBR_TO(n), 400 + n);
	}
}

static void host_is_as_before(u64 select, u64 extn_cfg)
{
	for (u32 n = 0; n < LBR_ENTRIES; n++) {
		report_eq(rdmsr(MSR_LBR_FROM(n)), 100 + n, "the hypervisor's FROM%u", n);
		report_eq(rdmsr(MSR_LBR_TO(n)), 200 + n, "TO%u", n);
	}
	report_eq(rdmsr(MSR_LBR_SELECT), select, "its LBR_SELECT");
	report_eq(rdmsr(MSR_DBG_EXTN_CFG), extn_cfg, "its DBG_EXTN_CFG");
	report_eq(rdmsr(MSR_DEBUGCTL), FREEZE_PMC, "its DEBUGCTL");
}

/* The entries of lvs_user's branches, the youngest first, RET if it is recorded. */
static void guest_has(struct guest *g, bool ret)
{
	u32 n = 0;

	if (ret) {
		report_eq(lwp_get64(g->vmcb + VMCB_LBR_FROM(0)), (u64)lvs_f, "FROM0: RET");
		report_eq(lwp_get64(g->vmcb + VMCB_LBR_TO(0)), (u64)lvs_back | LBR_VALID, "TO0");
		n++;
	}
	report_eq(lwp_get64(g->vmcb + VMCB_LBR_FROM(n)), (u64)lvs_call, "FROM%u: CALL", n);
	report_eq(lwp_get64(g->vmcb + VMCB_LBR_TO(n)), (u64)lvs_f | LBR_VALID, "TO%u", n);
	n++;
	report_eq(lwp_get64(g->vmcb + VMCB_LBR_FROM(n)), (u64)lvs_jmp, "FROM%u: JMP", n);
	report_eq(lwp_get64(g->vmcb + VMCB_LBR_TO(n)), (u64)lvs_call | LBR_VALID, "TO%u", n);
	n++;
	report_eq(lwp_get64(g->vmcb + VMCB_LBR_FROM(n)), 300, "then what was there: FROM%u", n);
	report_eq(lwp_get64(g->vmcb + VMCB_LBR_TO(15)), 400 + 15 - n, "up to TO15");
}

/* The guest records, the hypervisor does not, and the other way round. */
static void test_own_stacks(struct guest *g)
{
	fill_host();
	wrmsr(MSR_LBR_SELECT, 0);
	wrmsr(MSR_DEBUGCTL, FREEZE_PMC);
	fill_guest(g);
	lwp_put64(g->vmcb + VMCB_VIRTUAL, LBR_VIRTUAL);
	lwp_put64(g->vmcb + VMCB_DBG_EXTN_CFG, LBRV2EN);
	lwp_put64(g->vmcb + VMCB_LBR_SELECT, 0);
	lwp_put64(g->vmcb + VMCB_DEBUGCTL, FREEZE_LBR);
	report_eq(guest_vmrun(g), EXIT_VMMCALL, "a guest with a stack of its own");
	guest_has(g, true);
	host_is_as_before(0, 0);
	report_eq(lwp_get64(g->vmcb + VMCB_DBG_EXTN_CFG), LBRV2EN, "the guest's DBG_EXTN_CFG");
	report_eq(lwp_get64(g->vmcb + VMCB_DEBUGCTL), FREEZE_LBR, "its DEBUGCTL");

	lwp_put64(g->vmcb + VMCB_RIP, (u64)lvs_user);
	lwp_put64(g->vmcb + VMCB_LBR_SELECT, NO_RET);
	fill_guest(g);
	guest_vmrun(g);
	guest_has(g, false);
	report_eq(lwp_get64(g->vmcb + VMCB_LBR_SELECT), NO_RET, "with its own filters");
	host_is_as_before(0, 0);

	lwp_put64(g->vmcb + VMCB_RIP, (u64)lvs_user);
	lwp_put64(g->vmcb + VMCB_DBG_EXTN_CFG, 0);
	fill_guest(g);
	wrmsr(MSR_LBR_SELECT, NO_KERNEL);
	wrmsr(MSR_DBG_EXTN_CFG, LBRV2EN);
	guest_vmrun(g);
	report_eq(lwp_get64(g->vmcb + VMCB_LBR_FROM(0)), 300, "only the hypervisor records");
	host_is_as_before(NO_KERNEL, LBRV2EN);
	wrmsr(MSR_DBG_EXTN_CFG, 0);
}

static void test_shared_stack(struct guest *g)
{
	fill_host();
	fill_guest(g);
	lwp_put64(g->vmcb + VMCB_RIP, (u64)lvs_user);
	lwp_put64(g->vmcb + VMCB_VIRTUAL, VIRTUAL_VMLOAD_VMSAVE);
	lwp_put64(g->vmcb + VMCB_DBG_EXTN_CFG, LBRV2EN);
	guest_vmrun(g);
	report_eq(rdmsr(MSR_LBR_FROM(0)), 100, "B8h bit 0 is 0: the VMCB switches nothing on");
	lwp_put64(g->vmcb + VMCB_RIP, (u64)lvs_user);
	wrmsr(MSR_LBR_SELECT, NO_KERNEL);
	wrmsr(MSR_DBG_EXTN_CFG, LBRV2EN);
	guest_vmrun(g);
	wrmsr(MSR_DBG_EXTN_CFG, 0);
	report_eq(rdmsr(MSR_LBR_FROM(0)), (u64)lvs_f, "the hypervisor's stack has the guest's RET");
	report_eq(rdmsr(MSR_LBR_FROM(2)), (u64)lvs_jmp, "and its JMP");
	report_eq(lwp_get64(g->vmcb + VMCB_LBR_FROM(0)), 300, "the VMCB is as before");
}

/* A VMRUN that is refused: #VMEXIT with -1, and nothing is exchanged. */
static void test_refused(struct guest *g)
{
	u32 asid = lwp_get32(g->vmcb + VMCB_ASID);

	fill_host();
	fill_guest(g);
	wrmsr(MSR_LBR_SELECT, 0);
	lwp_put64(g->vmcb + VMCB_VIRTUAL, LBR_VIRTUAL);
	lwp_put32(g->vmcb + VMCB_ASID, 0);
	report_eq(guest_vmrun(g), ~0ul, "ASID 0 is refused");
	host_is_as_before(0, 0);
	report_eq(lwp_get64(g->vmcb + VMCB_LBR_FROM(0)), 300, "the VMCB's stack, too");
	lwp_put32(g->vmcb + VMCB_ASID, asid);
}

static u64 read_in_guest(struct guest *g, u32 msr)
{
	g->r.rcx = msr;
	if (guest_vmrun(g) != EXIT_VMMCALL)
		bail("guest exit %lx", lwp_get64(g->vmcb + VMCB_EXIT_CODE));
	return g->r.rbx;
}

static void test_guest_reads(void)
{
	struct guest g;

	guest_init(&g, kernel_cr3(), (u64)lvs_read, 0, false);
	fill_host();
	fill_guest(&g);
	lwp_put64(g.vmcb + VMCB_VIRTUAL, LBR_VIRTUAL);
	lwp_put64(g.vmcb + VMCB_LBR_SELECT, NO_USER | 1ul << 40);
	lwp_put64(g.vmcb + VMCB_DEBUGCTL, FREEZE_LBR | 1ul << 40);
	report_eq(read_in_guest(&g, MSR_LBR_FROM(0)), 300, "the guest reads FROM0 of its stack");
	report_eq(read_in_guest(&g, MSR_LBR_TO(15)), 415, "and TO15");
	report_eq(read_in_guest(&g, MSR_LBR_SELECT), NO_USER, "LBR_SELECT, without reserved bits");
	report_eq(read_in_guest(&g, MSR_DEBUGCTL), FREEZE_LBR, "DEBUGCTL, too");
	host_is_as_before(0, 0);
}

USER_TEST(pmu_lbr_svm)
{
	struct guest g;

	svm_init();
	report(cpuid(0x8000000a, 0).d & SVM_LBR_VIRTUAL, "8000_000A EDX[1]");
	guest_init(&g, l->cr3, (u64)lvs_user, STACK_TOP, true);
	test_own_stacks(&g);
	test_shared_stack(&g);
	test_refused(&g);
	test_guest_reads();
	wrmsr(MSR_DEBUGCTL, 0);
}
