// SPDX-License-Identifier: GPL-2.0-or-later
/* The other processors: start-up, and a mailbox for each. */
#include "apic.h"
#include "cpu.h"
#include "paging.h"
#include "report.h"
#include "smp.h"
#include "x86.h"

/* Far beyond what a loaded host needs, still finite. */
#define START_SPINS 2000000000ull
#define PARK_SPINS 1000000ull

static u32 count = 1;
static volatile u32 running = 1;
static struct {
	void (*volatile fn)(void *arg);
	void *arg;
} mailbox[MAX_CPUS];

extern char ap_trampoline[], ap_trampoline_end[];
extern char ap_park[], ap_parked[], ap_park_end[];
extern char *boot_stack_top;
_Noreturn void ap_main(void);

u32 smp_count(void)
{
	return count;
}

void smp_set_count(u32 n)
{
	if (n < 1 || n > MAX_CPUS)
		bail("cpus=%u is not in 1..%d", n, MAX_CPUS);
	count = n;
}

void ap_main(void)
{
	u32 me = running;

	write_cr3(kernel_cr3());
	cpu_init(me);
	running = me + 1;
	for (;;) {
		while (!mailbox[me].fn)
			pause();
		mailbox[me].fn(mailbox[me].arg);
		__atomic_thread_fence(__ATOMIC_RELEASE);
		mailbox[me].fn = NULL;
	}
}

static void start(u32 i)
{
	boot_stack_top = boot_cpu_area[i] + CPU_AREA_SIZE;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	apic_start((u8)i, AP_TRAMPOLINE / PAGE_SIZE);
	for (u64 spins = 0; running == i; spins++) {
		if (spins == START_SPINS)
			bail("processor %u did not start", i);
		pause();
	}
}

void smp_start(void)
{
	memcpy((void *)AP_TRAMPOLINE, ap_trampoline, (size_t)(ap_trampoline_end - ap_trampoline));
	for (u32 i = running; i < count; i++)
		start(i);
}

void smp_init_others(void)
{
	for (u32 i = 1; i < running; i++) {
		apic_init_cpu((u8)i);
		mailbox[i].fn = NULL;
	}
	running = 1;
}

bool smp_park(void)
{
	volatile u8 *parked = (u8 *)AP_TRAMPOLINE + (ap_parked - ap_park);

	memcpy((void *)AP_TRAMPOLINE, ap_park, (size_t)(ap_park_end - ap_park));
	for (u32 i = 1; i < count; i++) {
		*parked = 0;
		for (u64 spins = 0; !*parked; spins++) {
			/* The first may come while INIT is still under way. */
			if (!(spins % PARK_SPINS))
				apic_start((u8)i, AP_TRAMPOLINE / PAGE_SIZE);
			if (spins == START_SPINS)
				return false;
			pause();
		}
	}
	return true;
}

void smp_run(u32 cpu, void (*fn)(void *arg), void *arg)
{
	if (cpu >= running || mailbox[cpu].fn)
		bail("processor %u is not there or busy", cpu);
	mailbox[cpu].arg = arg;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	mailbox[cpu].fn = fn;
}

void smp_wait(u32 cpu)
{
	while (mailbox[cpu].fn)
		pause();
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}
