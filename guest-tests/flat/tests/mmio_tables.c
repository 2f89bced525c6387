// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The page table of a block lies in a device: the HPET's main counter, which is a plain register while the HPET is
 * off. Walks then take QEMU's big lock, and marking an entry as accessed stops all processors. Contexts whose memory
 * is compared (two processors), and RDMSR of LWPMSR1, which writes the block (rev=2007), get along with that. The
 * other processor writes FS base, or (with SVM) CR3 by #VMEXIT, which QEMU does with its big lock held. A locked
 * access gets along with it, too; and so does the record of an instruction in the middle of translated code
 * (what=ring), which an emulator stores there.
 */
#include "lwp_fixture.h"
#include "smp.h"
#include "svm.h"
#include "test.h"
#include "x86.h"

#define HPET 0xfed00000ul
#define HPET_VA (USER_BASE + 0x10000000ul)
#define HPET_CONFIG 0x10
#define HPET_COUNTER 0xf0
/* Its table maps 2 MiB, of which the counter is one entry. */
#define TABLE_VA (USER_BASE + 0x800000ul)
#define FAR_VA (TABLE_VA + HPET_COUNTER / 8 * PAGE_SIZE)
#define ROUNDS 2000u
#define HERE_FS 0x1000ul
#define ELSEWHERE_FS 0x2000ul

extern char mmt_guest[], mmt_find[], mmt_loop[];

USER_CODE("mmt_guest: vmmcall\n"
	  "mmt_find: llwpcb %rax\n"
	  "mmt_loop: nop\n"
	  "nop\n"
	  "nop\n"
	  "dec %esi\n"
	  "jnz mmt_loop\n"
	  "flush_exit\n");

static volatile bool over;
static volatile u32 others_turns;

static volatile u64 *hpet(u32 offset)
{
	return (volatile u64 *)(HPET_VA + offset);
}

/* The block, or the ring, also has the address FAR_VA; its entry is in the counter. */
static void map_far(struct lwp *l)
{
	u64 *directory;

	as_map(l->cr3, HPET_VA, HPET, 1, PAGE_KERNEL_RW | PTE_PCD | PTE_PWT);
	*(volatile u32 *)hpet(HPET_CONFIG) = 0;
	as_map_large(l->cr3, TABLE_VA, 0, PAGE_USER_RW);
	directory = as_pte(l->cr3, TABLE_VA);
	*directory = HPET | PAGE_USER_RW;
}

/* Neither accessed nor dirty, and not in any TLB. */
static void forget_far(struct lwp *l, const u8 *page)
{
	*(volatile u32 *)hpet(HPET_COUNTER + 4) = 0;
	*(volatile u32 *)hpet(HPET_COUNTER) = (u32)(u64)page | (u32)PAGE_USER_RW;
	write_cr3(l->cr3);
}

static void load_far(struct lwp *l, u8 id, const char *code)
{
	lwp_prepare(l, EVENT(id, 1000000, 1000000), code);
	forget_far(l, l->cb);
	l->u.r.rax = FAR_VA;
	lwp_resume(l);
}

static void write_fs(void *arg)
{
	u64 fs = ELSEWHERE_FS;

	while (!over) {
		wrmsr(MSR_FS_BASE, fs);
		fs ^= HERE_FS;
		others_turns++;
	}
}

static void vmexits(void *arg)
{
	struct guest g;

	svm_init();
	guest_init(&g, kernel_cr3(), (u64)mmt_guest, STACK_TOP, false);
	while (!over) {
		lwp_put64(g.vmcb + VMCB_RIP, (u64)mmt_guest);
		guest_vmrun(&g);
		others_turns++;
	}
}

/* The other processor has not just been stopped: it is in its loop. */
static void let_it_run(void)
{
	u32 before = others_turns;

	while (others_turns - before < 20)
		pause();
}

static void test_contexts(struct lwp *l)
{
	u32 found = 0;

	wrmsr(MSR_FS_BASE, HERE_FS);
	load_far(l, EV_IRE, lwp_on);
	smp_run(1, svm_present() ? vmexits : write_fs, NULL);
	for (u32 i = 0; i < ROUNDS; i++) {
		wrmsr(MSR_FS_BASE, ELSEWHERE_FS);
		forget_far(l, l->cb);
		wrmsr(MSR_FS_BASE, HERE_FS);
		l->u.r.rip = (u64)lwp_nop_1;
		let_it_run();
		lwp_resume(l);
		found += rdmsr(LWP_MSR_CBADDR) == FAR_VA;
	}
	over = true;
	smp_wait(1);
	report_eq(found, ROUNDS, "the context is found each time");
	lwp_stop();
}

static void test_rdmsr(struct lwp *l)
{
	u64 first, second;

	load_far(l, EV07_IRE, lwp_on);
	lwp_run(l, lwp_nop_1);
	forget_far(l, l->cb);
	first = rdmsr(LWP_MSR_CBADDR);
	second = rdmsr(LWP_MSR_CBADDR);
	report_eq(first, FAR_VA, "RDMSR returns the block's address");
	report_eq(second, FAR_VA, "twice");
	report_eq(cb_counter(l, 1), 999998 & 0x3ffffff, "and has written the counter");
	wrmsr(LWP_MSR_CBADDR, 0);
}

/* QEMU executes a locked access that is not aligned while it stops the other processors; the walk stops them too. */
static void test_locked(struct lwp *l)
{
	u32 before = lwp_get32(l->cb + 1);

	forget_far(l, l->cb);
	asm volatile("lock incl (%0)" : : "r"(FAR_VA + 1) : "memory", "cc");
	report_eq(lwp_get32(l->cb + 1), before + 1, "a locked access through the table");
	report_eq(*hpet(HPET_COUNTER) & (PTE_A | PTE_D), PTE_A | PTE_D, "marks its entry");
}

/* Period 4 in a loop of 5 instructions, of which the last ends the translated code: each of them is due in turn. */
static void test_ring(struct lwp *l)
{
	static const struct block b = { .base = FAR_VA, .event = { { EV_IRE, 3, 3 } } };
	static const u8 offsets[] = { 3, 2, 1, 0, 5 };

	lwp_prepare(l, &b, mmt_find);
	l->u.r.rsi = 40;
	forget_far(l, l->ring);
	lwp_resume(l);
	expect_head(l, 50 * RECORD_SIZE, "200 instructions, each fourth has a record");
	for (u32 i = 0; i < 50; i++)
		expect_record(l, i, (struct rec)REC_IRE(mmt_loop + offsets[i % 5]), "record %u", i);
	report_eq(l->u.r.rbx, CB_VA, "LWP is still on");
}

LWP_TEST(mmio_tables)
{
	if (smp_count() > 1)
		smp_start();
	map_far(l);
	test_locked(l);
	if (option_is("what", "ring"))
		test_ring(l);
	else if (rev07())
		test_rdmsr(l);
	else
		test_contexts(l);
}
