// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A processor is taken away while a profiled program runs on it (ACPI hot plug): the program's context is parked
 * and continues on another processor (43724-902). Nothing is lost, and the machine can do it with LWP on, whatever that
 * processor executes meanwhile.
 */
#include "lwp_fixture.h"
#include "smp.h"
#include "test.h"
#include "x86.h"

/* QEMU's registers for CPU hot plug on q35 (docs/specs/acpi_cpu_hotplug.rst). */
#define PLUG_SELECT 0xcd8
#define PLUG_FLAGS (PLUG_SELECT + 4)
#define PLUG_EJECT 0x08

#define COUNT 0x1ffffffu
#define TURNS 100u

extern char cup_start[], cup_spin[], cup_store[];

USER_CODE("cup_start: llwpcb %rax\n"
	  "user_exit\n"
	  /* Not aligned: QEMU executes it while all others wait. */
	  "cup_spin: lock incl 6(%rdi)\n"
	  "incl (%rdi)\n"
	  "pause\n"
	  "jmp cup_spin\n"
	  "cup_store: slwpcb %rbx\n"
	  "user_exit\n");

static void spin(void *arg)
{
	struct lwp *l = arg;

	write_cr3(l->cr3);
	lwp_run(l, cup_spin);
}

static void eject(u32 cpu)
{
	outl(PLUG_SELECT, 0); /* from the bitmap to registers */
	outl(PLUG_SELECT, cpu);
	outb(PLUG_FLAGS, PLUG_EJECT);
}

FLAT_TEST(cpu_unplug)
{
	volatile u32 *flag;
	u64 elsewhere;
	struct lwp l;

	smp_start();
	lwp_enable();
	elsewhere = kernel_cr3();
	lwp_map(&l, as_new());
	flag = (volatile u32 *)l.data;
	write_cr3(l.cr3);
	lwp_go(&l, EVENT(EV_BRE, COUNT, COUNT), cup_start);
	write_cr3(elsewhere);
	*flag = 0;
	smp_run(1, spin, &l);
	while (*flag < TURNS)
		pause();
	eject(1);
	write_cr3(l.cr3);
	report_eq(lwp_touch(), CB_VA, "the context outlives the processor on which it was live");
	user_init64(&l.u, (u64)cup_store, STACK_TOP);
	lwp_resume(&l);
	report_eq(l.u.r.rbx, CB_VA, "SLWPCB returns its block");
	report(cb_counter(&l, EV_BRE) < COUNT,
	       "the branches that it has counted there are not lost");
	lwp_stop();
}
