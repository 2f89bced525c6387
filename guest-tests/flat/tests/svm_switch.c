// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * LWP in the VMCB (43724-912: the 128-byte image at F80h, 8000_001C ECX[24]): VMLOAD loads it, VMSAVE stores
 * it, VMRUN and #VMEXIT leave it alone. A hypervisor that switches two profiled guests: each profile is that
 * of the guest alone (43724-116, 43724-910, 43724-911, 2007-907).
 */
#include "lwp_fixture.h"
#include "svm.h"
#include "test.h"
#include "x86.h"

#define CFG_AT (VMCB_LWP + 96)
#define REVISION_AT (VMCB_LWP + 108)
#define FORMAT_AT (VMCB_LWP + 109)
#define GUESTS 2

extern char svm_a[], svm_b[], svm_ring_gone[], svm_ring_gone_0[], svm_ring_gone_1[], svm_time[],
	svm_vls[];

/* VMMCALL is a yield, with esi = 1 the end. */
USER_CODE(".macro yielding code, rounds, insn, mask\n"
	  "\\code: llwpcb %rax\n"
	  "mov $\\rounds, %ecx\n"
	  "1: \\insn\n"
	  "test $\\mask, %ecx\n"
	  "jnz 2f\n"
	  "vmmcall\n"
	  "2: dec %ecx\n"
	  "jnz 1b\n"
	  "slwpcb %rbx\n"
	  "mov $1, %esi\n"
	  "vmmcall\n"
	  ".endm\n"
	  /* 1 + 200 * 5 instructions before SLWPCB, 25 yields (ecx = 200, 192, ... 8). */
	  "yielding svm_a, 200, \"add $3, %edx\", 7\n"
	  /* 150 * 4 branches before SLWPCB, 37 yields (ecx = 148, 144, ... 4). */
	  "yielding svm_b, 150, \"call 3f\", 3\n"
	  "3: ret\n"
	  "svm_ring_gone: llwpcb %rax\n"
	  "svm_ring_gone_0: nop\n"
	  "svm_ring_gone_1: nop\n"
	  "mov $1, %esi\n"
	  "vmmcall\n"
	  "svm_time: rdtsc\n"
	  "mov %eax, %r8d\n"
	  "mov %edx, %r9d\n"
	  "llwpcb %rbx\n"
	  "lwpins $1, %ecx, %edx\n"
	  "rdtsc\n"
	  "mov %eax, %r10d\n"
	  "mov %edx, %r11d\n"
	  "mov $1, %esi\n"
	  "vmmcall\n"
	  /* At CPL 0 with nested paging: rdi = a page. */
	  "svm_vls: mov %rdi, %rax\n"
	  "vmsave %rax\n"
	  "mov %r8, %rax\n"
	  "vmload %rax\n"
	  "mov $1, %esi\n"
	  "vmmcall\n");

struct vm {
	struct lwp l;
	struct guest g;
	u32 exits;
	u8 ring[RING_PAGES * PAGE_SIZE], cb[CB_PAGES * PAGE_SIZE]; /* of the run alone */
};

static struct vm vm[GUESTS];

static const struct block profile[GUESTS] = {
	{ .event = { { EV_IRE, 29, 29 } } },
	{ .event = { { EV_BRE, 6, 6 } } },
};

static void start(struct vm *m, const struct block *b, const char *code)
{
	block_write(&m->l, b);
	memset(m->l.ring, RING_FILL, RING_PAGES * PAGE_SIZE);
	guest_init(&m->g, m->l.cr3, (u64)code, STACK_TOP, true);
	lwp_put64(m->g.vmcb + VMCB_RAX, CB_VA);
	m->g.r.rdi = DATA_VA;
	vmcb_lwp_off(m->g.vmcb);
	m->exits = 0;
}

static void start_both(void)
{
	start(&vm[0], &profile[0], svm_a);
	start(&vm[1], &profile[1], svm_b);
}

/* To the next yield; true at the end. */
static bool run(struct vm *m)
{
	u64 code = guest_run(&m->g);

	if (code != EXIT_VMMCALL)
		bail("guest exit %lx at %lx, info %lx %lx", code, lwp_get64(m->g.vmcb + VMCB_RIP),
		     lwp_get64(m->g.vmcb + VMCB_EXIT_INFO_1),
		     lwp_get64(m->g.vmcb + VMCB_EXIT_INFO_2));
	m->exits++;
	return m->g.r.rsi == 1;
}

static void expect_profiles(const char *how)
{
	report_push("%s", how);
	/* 1001 instructions, a period of 30. */
	report_eq(vm[0].exits, 26, "first guest: 25 yields and the end");
	report_eq(vm[0].g.r.rbx, CB_VA, "first guest: SLWPCB gives its block");
	report_eq(cb_head(&vm[0].l), 33 * RECORD_SIZE, "first guest: 33 records");
	report_eq(cb_counter(&vm[0].l, EV_IRE), 18, "first guest: 11 of the next 30");
	/* 600 branches, a period of 7: 85, of which 63 fit. */
	report_eq(vm[1].exits, 38, "second guest: 37 yields and the end");
	report_eq(cb_head(&vm[1].l), 63 * RECORD_SIZE, "second guest: 63 records");
	report_eq(cb_missed(&vm[1].l), 22, "second guest: 22 missed");
	report_eq(cb_counter(&vm[1].l, EV_BRE), 1, "second guest: 5 of the next 7");
	report_pop();
}

static bool as_alone(const struct vm *m)
{
	return !memcmp(m->ring, m->l.ring, sizeof(m->ring)) &&
	       !memcmp(m->cb, m->l.cb, sizeof(m->cb));
}

static void test_switch(void)
{
	bool done[GUESTS] = { false, false };
	u32 i;

	start_both();
	for (i = 0; i < GUESTS; i++) {
		while (!run(&vm[i]))
			;
		memcpy(vm[i].ring, vm[i].l.ring, sizeof(vm[i].ring));
		memcpy(vm[i].cb, vm[i].l.cb, sizeof(vm[i].cb));
	}
	expect_profiles("one after the other");
	report_eq(rdmsr(LWP_MSR_CBADDR), 0, "the hypervisor's own LWP is off as before");

	start_both();
	for (u32 turn = 0; !done[0] || !done[1]; turn++) {
		i = turn % GUESTS;
		if (!done[i])
			done[i] = run(&vm[i]);
	}
	expect_profiles("in turns");
	report(as_alone(&vm[0]),
	       "first guest: ring and block are byte for byte those of the run alone");
	report(as_alone(&vm[1]), "second guest: so are they");
}

/* VMRUN and #VMEXIT neither load nor store. */
static void test_vmrun(void)
{
	struct vm *m = &vm[0];
	u64 cfg = rdmsr(LWP_MSR_CFG);
	u8 before[128];

	start(m, &profile[0], svm_a);
	memset(m->g.vmcb + VMCB_LWP, 0xa7, 128);
	memcpy(before, m->g.vmcb + VMCB_LWP, 128);
	report_eq(guest_vmrun(&m->g), EXIT_VMMCALL, "VMRUN without VMLOAD and VMSAVE");
	report(!memcmp(before, m->g.vmcb + VMCB_LWP, 128), "#VMEXIT does not write the area");
	/* RDMSR LWP_CBADDR has to wait: where XSAVE does not switch LWP, it puts the state away. */
	report_eq(rdmsr(LWP_MSR_CFG), cfg, "and VMRUN has not loaded LWP_CFG");
	vmsave(m->g.vmcb);
	report_eq(lwp_get64(m->g.vmcb + VMCB_LWP), CB_VA,
		  "nor does it stop LWP, and VMSAVE writes the area: LWPCBAddress");
	report_eq(lwp_get32(m->g.vmcb + VMCB_LWP + 8), 1u << EV_IRE, "Flags");
	report_eq(lwp_get64(m->g.vmcb + VMCB_LWP + 16), RING_VA, "BufferBase");
	report_eq(lwp_get32(m->g.vmcb + VMCB_LWP + 24), DEFAULT_RECORDS * RECORD_SIZE,
		  "BufferSize");
	/* MOV, ADD, TEST, JNZ */
	report_eq(lwp_get32(m->g.vmcb + VMCB_LWP + 64 + 4), 25,
		  "EventCounter2: 29, four instructions");
	report_eq(lwp_get64(m->g.vmcb + CFG_AT), cfg, "LWP_CFG");
	report_eq(m->g.vmcb[REVISION_AT] | m->g.vmcb[FORMAT_AT] << 8, 0x100,
		  "revision 0, format 1");
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "VMSAVE does not stop LWP");
	lwp_stop();
}

/* A record that cannot be stored waits in the VMCB while the other guest runs. */
static void test_pending(void)
{
	struct vm *m = &vm[0];

	start(m, EVENT(EV_IRE, 100, 0), svm_ring_gone);
	start(&vm[1], &profile[1], svm_b);
	as_protect(m->l.cr3, RING_VA, PAGE_NONE);
	report_eq(guest_run(&m->g), EXIT_EXCEPTION + VEC_PF, "ring not there: #PF of the guest");
	report_eq(lwp_get64(m->g.vmcb + VMCB_EXIT_INFO_1), PF_WRITE | PF_USER, "a user's write");
	report_eq(lwp_get64(m->g.vmcb + VMCB_EXIT_INFO_2), RING_VA, "to the ring");
	report_eq(lwp_get64(m->g.vmcb + VMCB_RIP), (u64)svm_ring_gone_1, "before the second NOP");
	report_eq(m->g.vmcb[VMCB_LWP + 32], EV_IRE, "the record is in the area");
	report_eq(lwp_get64(m->g.vmcb + VMCB_LWP + 32 + 8), (u64)svm_ring_gone_0,
		  "with its address");
	while (!run(&vm[1]))
		;
	report_eq(cb_head(&vm[1].l), 63 * RECORD_SIZE, "the other guest's profile is its own");
	as_protect(m->l.cr3, RING_VA, PAGE_USER_RW);
	report(run(m), "the ring is there again: the guest continues");
	EXPECT_IRE(&m->l, "and the record is in it", svm_ring_gone_0);
}

/* The time stamp is that of the guest, as RDTSC reads it there (43724-217). */
static void test_time(void)
{
	static const struct block b = { .flags = LWP_F_PTSC };
	struct vm *m = &vm[0];
	struct guest_regs *r = &m->g.r;
	u64 stamp;

	start(m, &b, svm_time);
	r->rbx = CB_VA;
	lwp_put64(m->g.vmcb + VMCB_TSC_OFFSET, 0x0123456789abcdef);
	report(run(m), "a guest with an offset of its TSC");
	stamp = ring_record(&m->l, 0).timestamp;
	report(stamp >= (r->r9 << 32 | r->r8) && stamp <= (r->r11 << 32 | r->r10),
	       "its record's time stamp lies between what RDTSC reads in it");
}

/* A kernel guest with nested paging executes both instructions itself. */
static void test_virtual(void)
{
	struct guest g;
	u8 *to = (u8 *)phys_alloc(1, PAGE_SIZE), *from = (u8 *)phys_alloc(1, PAGE_SIZE);
	u32 need = SVM_VIRTUAL_VMLOAD_VMSAVE | SVM_NESTED_PAGING;

	if (report_lacks((cpuid(0x8000000a, 0).d & need) != need,
			 "8000_000A EDX[15] or EDX[0] is clear", "virtual VMLOAD and VMSAVE"))
		return;
	guest_init(&g, kernel_cr3(), (u64)svm_vls, 0, false);
	guest_nested(&g);
	vmcb_lwp_off(g.vmcb);
	lwp_put64(g.vmcb + CFG_AT, 1u << EV_BRE);
	lwp_put64(g.vmcb + VMCB_KERNEL_GS_BASE, 0x123456789a);
	lwp_put32(g.vmcb + VMCB_VIRTUAL, VIRTUAL_VMLOAD_VMSAVE);
	vmcb_lwp_off(from);
	lwp_put64(from + CFG_AT, 1u << EV_IRE);
	lwp_put64(from + VMCB_KERNEL_GS_BASE, 0x6789abcdef);
	g.r.rdi = (u64)to;
	g.r.r8 = (u64)from;
	report_eq(guest_run(&g), EXIT_VMMCALL, "virtual VMSAVE and VMLOAD do not exit");
	report_eq(lwp_get64(to + VMCB_KERNEL_GS_BASE), 0x123456789a,
		  "VMSAVE has stored KernelGSBase");
	report_eq(lwp_get64(to + CFG_AT), 1u << EV_BRE, "and LWP_CFG");
	report_eq(to[FORMAT_AT], 1, "the image is whole");
	report_eq(lwp_get64(g.vmcb + VMCB_KERNEL_GS_BASE), 0x6789abcdef,
		  "VMLOAD has loaded KernelGSBase");
	report_eq(lwp_get64(g.vmcb + CFG_AT), 1u << EV_IRE, "and LWP_CFG");
}

FLAT_TEST(svm_switch)
{
	rule("43724-912 43724-913", CHOICE);
	if (svm_lacks_lwp("LWP in the VMCB"))
		return;
	lwp_enable();
	svm_init();
	for (u32 i = 0; i < GUESTS; i++)
		lwp_map(&vm[i].l, as_new());
	lwp_map(&(struct lwp){ 0 }, kernel_cr3());
	test_switch();
	test_vmrun();
	test_pending();
	test_time();
	test_virtual();
}
