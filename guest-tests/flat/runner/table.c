// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of runs. Adding a test: one file in ../tests (named in meson.build) and one row here. */
#include <string.h>
#include "table.h"

const char cpu_model[] = "EPYC";

const struct run runs[] = {
	/* The test kernel itself. */
	{ "self_user" },
	{ "self_smp", .cpus = 3 },
};
const size_t run_count = sizeof(runs) / sizeof(runs[0]);

unsigned int offers(const char *accel)
{
	if (!strcmp(accel, "tcg"))
		return NEED_TCG | NEED_OS_CONTEXT | NEED_CLOCKS;
	if (!strcmp(accel, "kvm"))
		return NEED_KVM;
	return 0;
}

const char *need_name(unsigned int needs)
{
	static const char *const names[] = {
		"tcg", "kvm", "os-context", "clocks", "dcache", "threshold-int", "vmcb-area",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (needs & 1u << i)
			return names[i];
	}
	return "nothing";
}
