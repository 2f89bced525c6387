// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The host's perf events are held while a program is profiled, and some two seconds longer: with a mediated vPMU a host
 * starts no VM with counters while there is an event that counts guests. Probes of the kernel count the events.
 */
#include <unistd.h>
#include "counted.h"
#include "texts.h"
#include "tracing.h"

#define MADE "lwp_made"
#define GONE "lwp_gone"
#define TENTHS 100 /* how long to wait, in tenths of a second */

static unsigned int events(void)
{
	return probe_hits(MADE) - probe_hits(GONE);
}

static bool released(void)
{
	int i;

	for (i = 0; i < TENTHS && events(); i++)
		usleep(100000);
	diag("%d tenths of a second", i);
	return !events();
}

static void profile(void)
{
	vm_load(vm, profiled, profiled_end);
	vm_start(vm, v);
	block_init(vm, LWP_F_IRE | LWP_F_BRE, 128);
	event_each(2, 5000);
	event_each(3, 3000);
	run_to_end();
	/* A late interrupt may skip periods, and the last branch be due for a record when all ends. */
	is(block_head(vm) + missed() + (lwp_sext26(block_counter(vm, 3)) < 0), 18,
	   "12 and 6 records");
	ok(events() >= 3, "perf events count them: %u", events());
}

int main(void)
{
	need_source("perf");
	probe(MADE, "perf_event_create_kernel_counter");
	probe(GONE, "perf_event_release_kernel");
	begin_delivery(profiled, profiled_end, 1, LWP_F_IRE | LWP_F_BRE);
	is(events(), 0, "a VM that profiles nothing has no event");
	profile();
	ok(released(), "they are released after the profile has ended, while the vCPU exists");
	profile();
	vm_free(vm);
	is(events(), 0, "and when the vCPU goes");
	return done();
}
