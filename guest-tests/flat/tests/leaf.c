// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CPUID: presence (8000_0001 ECX[15]), reach (8000_0000), the numbers of leaf 8000_001C for what the
 * run configured (want=NAME), and what an OS that knows nothing of LWP must not see (D.0)
 * (43724-101, 43724-103 to 43724-107, 43724-109, 43724-112, 43724-115, 2007-101).
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

static const struct {
	const char *name;
	struct cpuid leaf;
} wants[] = {
	/*
	 * All that is offered: VAL IRE BRE CNH RNH CONT PTSC INT, IP filter, ring of at least 32 records;
	 * 6 events from offset 128: (128 + 6 * 8) / 8 = 22 quadwords. INT is not in LWP_CFG, so not in EAX.
	 */
	{ "full", { 0x6000006f, 0x80062016, 0x20010200, 0xe000006f } },
	/* The same without CNH and RNH: lwp-cnh=off,lwp-rnh=off, or no counter for clocks. */
	{ "noclocks", { 0x6000000f, 0x80062016, 0x20010200, 0xe000000f } },
	/* A real Bulldozer: VAL IRE BRE INT. */
	{ "fam15h", { 0x0000000f, 0x80032013, 0x00010200, 0x8000000f } },
	/* lwp-max-events=2: (128 + 2 * 8) / 8 = 18 quadwords, events 3 and up are gone. */
	{ "events2", { 0x60000007, 0x80022012, 0x20010200, 0xe0000007 } },
	{ "minbuffer4", { 0x6000000f, 0x80062016, 0x20040200, 0xe000000f } },
	/* lwp-bre=off,lwp-cont=off,lwp-ptsc=off */
	{ "bits", { 0x00000007, 0x80062016, 0x20010200, 0x80000007 } },
	/*
	 * 2007: EAX Enabled IRE BRE = 0, 1, 2; EDX Available INT IRE BRE = 0..3. 3 slots after 40
	 * bytes: 64 bytes; version 1.
	 */
	/* lwp-dme=on, 12 bits of latency, 2 of them rounded; data address, levels, latency filter. */
	{ "dcache", { 0x6000007f, 0x80062016, 0xe00102ac, 0xe000007f } },
	{ "2007dcache", { 0x0000000f, 0x01032040, 0xc0000030, 0x0000001f } },
	/* lwp-max-events=1: one slot, 48 bytes; all events are there. */
	{ "2007slots", { 0x00000007, 0x01012030, 0x00000000, 0x0000000f } },
	{ "2007", { 0x00000007, 0x01032040, 0x00000000, 0x0000000f } },
};

FLAT_TEST(leaf)
{
	struct cpuid id = cpuid(LWP_CPUID_LEAF, 0), present = cpuid(0x80000001, 0);

	report(present.c & 1u << 15, "8000_0001 ECX[15] is set");
	report(cpuid(0x80000000, 0).a >= 0x8000001c, "8000_0000 EAX reaches 8000_001C");
	report(!(cpuid(0xd, 0).d & D0_EDX_LWP), "D.0 EDX[30] is clear with auto contexts");
	report_eq(cpuid(0xd, 62).a, 0, "D.62 is empty with auto contexts");
	for (size_t i = 0; i < sizeof(wants) / sizeof(wants[0]); i++) {
		if (!option_is("want", wants[i].name))
			continue;
		report_eq(id.a, wants[i].leaf.a, "8000_001C EAX");
		report_eq(id.b, wants[i].leaf.b, "8000_001C EBX");
		report_eq(id.c, wants[i].leaf.c, "8000_001C ECX");
		report_eq(id.d, wants[i].leaf.d, "8000_001C EDX");
		return;
	}
	bail("want= names no known leaf");
}
