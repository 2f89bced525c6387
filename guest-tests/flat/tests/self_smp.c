// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The test kernel's own machinery, without LWP: every processor starts, runs user code of its own in
 * an address space of its own, and takes interrupts and NMIs from another.
 */
#include "apic.h"
#include "cpu.h"
#include "paging.h"
#include "report.h"
#include "smp.h"
#include "test.h"
#include "x86.h"

#define DATA_VA (USER_BASE + 0x10000)
#define IPI_VECTOR 0x40

extern char add_one[], spin[], spin_end[];

USER_CODE("add_one: incl (%rdi)\n"
	  "user_exit\n"
	  "spin: incl (%rdi)\n"
	  "jmp spin\n"
	  "spin_end:\n");

static volatile u32 taken[MAX_CPUS];
static struct job {
	struct user u;
	u64 cr3;
	u32 index;
} jobs[MAX_CPUS];

static void take_irq(struct regs *r)
{
	taken[cpu_index()]++;
	apic_eoi();
}

static void run_job(void *arg)
{
	struct job *job = arg;

	job->index = cpu_index();
	write_cr3(job->cr3);
	user_run(&job->u);
}

FLAT_TEST(self_smp)
{
	volatile u32 *memory[MAX_CPUS];

	smp_start();
	for (u32 i = 0; i < smp_count(); i++) {
		jobs[i].cr3 = as_new();
		memory[i] = as_alloc(jobs[i].cr3, DATA_VA, 1, PAGE_USER_RW);
		*memory[i] = 100 * i;
		user_init64(&jobs[i].u, (u64)add_one, 0);
		jobs[i].u.r.rdi = DATA_VA;
	}
	for (u32 i = 1; i < smp_count(); i++)
		smp_run(i, run_job, &jobs[i]);
	run_job(&jobs[0]);
	for (u32 i = 0; i < smp_count(); i++) {
		if (i)
			smp_wait(i);
		report_eq(jobs[i].index, i, "work given to processor %u runs there", i);
		report_eq(*memory[i], 100 * i + 1, "processor %u has its own address space", i);
	}

	irq_set_handler(IPI_VECTOR, take_irq);
	for (u32 i = 1; i < smp_count(); i++) {
		jobs[i].u.r.rip = (u64)spin;
		jobs[i].u.r.rflags |= RFLAGS_IF;
		smp_run(i, run_job, &jobs[i]);
		apic_send((u8)i, IPI_VECTOR);
		while (!taken[i])
			pause();
		/* After the handler again when the loop continues. */
		for (u32 turns = *memory[i]; *memory[i] - turns < 2;)
			pause();
		apic_send_nmi((u8)i);
		smp_wait(i);
		report_eq(taken[i], 1, "processor %u takes an interrupt at CPL 3 and continues", i);
		report_eq(jobs[i].u.r.vector, VEC_NMI, "processor %u is stopped by an NMI", i);
		report(jobs[i].u.r.rip >= (u64)spin && jobs[i].u.r.rip < (u64)spin_end,
		       "processor %u was in its loop", i);
	}

	jobs[0].u.r.rip = (u64)spin;
	user_init64(&jobs[0].u, (u64)add_one, 0);
	jobs[0].u.r.rdi = DATA_VA;
	jobs[0].u.r.rflags |= RFLAGS_IF;
	apic_send(0, IPI_VECTOR);
	run_job(&jobs[0]);
	report_eq(taken[0], 1, "an interrupt to the processor itself comes when CPL 3 allows it");
	report(user_exited(&jobs[0].u), "and the user code continues after it");
}
