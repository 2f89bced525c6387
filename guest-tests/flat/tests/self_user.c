// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The test kernel's own machinery, without LWP: code at CPL 3 in 64-bit and 32-bit mode comes back
 * with the vector, error code, CR2 and rIP of what ended it, and can be resumed.
 */
#include "cpu.h"
#include "paging.h"
#include "report.h"
#include "test.h"
#include "x86.h"

#define DATA_VA (USER_BASE + 0x10000)
#define STACK_VA (USER_BASE + 0x20000)
#define STACK_TOP (STACK_VA + PAGE_SIZE)

extern char exit64[], exit64_gate[], exit32[], exit32_gate[], store64[], store64_insn[], ud64[];
extern char sysc[], sysc_insn[], cli64[], stack64[], lock32[];

USER_CODE("exit64: mov $0x1122334455667788, %rax\n"
	  "mov %rsp, %rbx\n"
	  "exit64_gate: user_exit\n"
	  "store64: mov $7, %eax\n"
	  "store64_insn: mov %eax, (%rdi)\n"
	  "user_exit\n"
	  "ud64: ud2\n"
	  "cli64: cli\n"
	  "sysc: mov $5, %eax\n"
	  "sysc_insn: syscall\n"
	  "stack64: push $42\n"
	  "pop %rax\n"
	  "user_exit\n"
	  ".code32\n"
	  "exit32: mov $0x55667788, %eax\n"
	  "dec %ecx\n" /* one byte 49h: a REX prefix if this ran as 64-bit code */
	  "exit32_gate: user_exit\n"
	  "lock32: .byte 0xf0, 0x90\n" /* LOCK NOP */
	  ".code64\n");

static struct user u;

static void start(const char *code)
{
	user_init64(&u, (u64)code, STACK_TOP);
}

static void test_exit(void)
{
	start(exit64);
	user_run(&u);
	report(user_exited(&u), "64-bit code leaves by the exit gate");
	report_eq(u.r.rax, 0x1122334455667788, "registers come back");
	report_eq(u.r.rbx, STACK_TOP, "the stack pointer is as given");
	report_eq(u.r.rip, (u64)exit64_gate + 2, "rIP is after the gate");
	report_eq(u.r.cs, USER_CS64, "CS has RPL 3");

	user_init32(&u, (u32)(u64)exit32, STACK_TOP);
	u.r.rcx = 10;
	user_run(&u);
	report(user_exited(&u), "32-bit code leaves by the exit gate");
	report_eq(u.r.rax, 0x55667788, "mov in 32-bit code");
	report_eq(u.r.rcx, 9, "the byte 49h is DEC ECX in 32-bit code");
	report_eq(u.r.rip, (u64)exit32_gate + 2, "rIP in 32-bit code");
}

static void test_faults(void)
{
	start(ud64);
	user_run(&u);
	report_eq(u.r.vector, VEC_UD, "UD2 gives #UD");
	report_eq(u.r.rip, (u64)ud64, "a fault has the rIP of its instruction");

	start(cli64);
	user_run(&u);
	report_eq(FAULT(u.r.vector, u.r.error), FAULT(VEC_GP, 0), "CLI at CPL 3 gives #GP(0)");

	user_init32(&u, (u32)(u64)lock32, STACK_TOP);
	user_run(&u);
	report_eq(u.r.vector, VEC_UD, "LOCK NOP gives #UD in 32-bit code");

	start(store64);
	u.r.rdi = DATA_VA + 0x123;
	user_run(&u);
	report_eq(FAULT(u.r.vector, u.r.error), FAULT(VEC_PF, PF_WRITE | PF_USER),
		  "a store to a page that is not there gives #PF with W and U");
	report_eq(u.cr2, DATA_VA + 0x123, "CR2 is the address");
	report_eq(u.r.rip, (u64)store64_insn, "rIP is the store");

	as_alloc(kernel_cr3(), DATA_VA, 1, PAGE_USER_RO);
	user_run(&u);
	report_eq(FAULT(u.r.vector, u.r.error), FAULT(VEC_PF, PF_PRESENT | PF_WRITE | PF_USER),
		  "resumed, with the page read-only: P is set too");

	as_protect(kernel_cr3(), DATA_VA, PAGE_KERNEL_RW);
	user_run(&u);
	report_eq(FAULT(u.r.vector, u.r.error), FAULT(VEC_PF, PF_PRESENT | PF_WRITE | PF_USER),
		  "resumed, with a kernel page: the same");

	as_protect(kernel_cr3(), DATA_VA, PAGE_USER_RW);
	user_run(&u);
	report(user_exited(&u), "resumed, with the page writable: it continues to the gate");
	report_eq(*(u32 *)((*as_pte(kernel_cr3(), DATA_VA) & PTE_ADDRESS) + 0x123), 7,
		  "the store is in memory");
	report_eq(*as_pte(kernel_cr3(), DATA_VA) & (PTE_A | PTE_D), PTE_A | PTE_D,
		  "the page is accessed and dirty");
}

static void test_large_page(void)
{
	u64 pa = phys_alloc(512, LARGE_PAGE_SIZE);

	as_map_large(kernel_cr3(), USER_BASE + LARGE_PAGE_SIZE, pa, PAGE_USER_RW);
	start(store64);
	u.r.rdi = USER_BASE + LARGE_PAGE_SIZE + 0x12345c;
	user_run(&u);
	report(user_exited(&u), "a 2 MiB page can be written");
	report_eq(*(u32 *)(pa + 0x12345c), 7, "the store is in its memory");
}

static void test_syscall(void)
{
	start(sysc);
	user_run(&u);
	report_eq(u.r.vector, VEC_SYSCALL, "SYSCALL comes back as SYSCALL");
	report_eq(u.r.rip, (u64)sysc_insn + 2, "rIP is after SYSCALL");
	report_eq(u.r.rsp, STACK_TOP, "SYSCALL keeps the user stack pointer");
	u.r.rip = (u64)stack64;
	u.enter_by_sysret = true;
	user_run(&u);
	report(user_exited(&u) && u.r.rax == 42, "entered by SYSRET, user code has its stack");
}

FLAT_TEST(self_user)
{
	as_alloc(kernel_cr3(), STACK_VA, 1, PAGE_USER_RW);
	as_map(kernel_cr3(), DATA_VA, 0, 1, PAGE_NONE);
	test_exit();
	test_faults();
	test_large_page();
	test_syscall();
}
