// SPDX-License-Identifier: GPL-2.0-or-later
/* What the suite without the lab asks of CPUID, by the processors of its rows. */
#include <criterion/criterion.h>
#include <string.h>
#include "../manifest.h"

static const char *names(struct run r)
{
	static char text[400];
	const struct cpuid_need *found[MAX_ROW_NEEDS];
	unsigned int n = manifest_needs(&r, found), i;

	text[0] = '\0';
	for (i = 0; i < n; i++)
		sprintf(text + strlen(text), "%s%s", i ? "," : "", found[i]->name);
	return text;
}

Test(manifest, needs_follow_from_the_processor)
{
	cr_assert_str_eq(names((struct run){ .name = "a" }), "");
	cr_assert_str_eq(names((struct run){ .name = "a", .absence = true }), "no-lwp");
	cr_assert_str_eq(names((struct run){ .name = "a", .cpu = "+lwp,lwp-delivery=exact" }),
			 "lwp,lwp-43724,all-events,all-features,all-filters");
	cr_assert_str_eq(names((struct run){ .name = "a", .cpu = "+lwp,lwp-profile=fam15h" }),
			 "lwp,lwp-43724,fam15h-events,fam15h-features,fam15h-filters");
	cr_assert_str_eq(names((struct run){ .name = "a", .cpu = "+lwp,lwp-rev=2007" }),
			 "lwp,lwp-2007");
	cr_assert_str_eq(
		names((struct run){ .name = "a",
				    .cpu = "+lwp,lwp-context=os,lwp-vmcb=on,+svm,lwp-rev=2007" }),
		"lwp,xsave,vmcb,svm,lwp-2007");
	cr_assert_str_eq(names((struct run){ .name = "a", .cpu = "pmu=on,+perfctr-core" }),
			 "perfctr-core");
	cr_assert_str_eq(
		names((struct run){ .name = "a", .cpu = "+lwp,lwp-min-buffer=4,lwp-max-events=2" }),
		"lwp,lwp-43724,two-events,min-ring-4");
	cr_assert_str_eq(
		names((struct run){
			.name = "a", .cpu = "+lwp", .hidden = true, .needs = NEED_CLOCKS }),
		"lwp,lwp-43724,all-events,all-features,all-filters,no-xsave,clocks");
}

/* A property that is not known here would be a row that fails elsewhere for no fault. */
Test(manifest, every_property_of_the_rows_is_known)
{
	static const char *const are_known[] = {
		"+lwp",
		"+svm",
		"+npt",
		"+v-vmsave-vmload",
		"+perfctr-core",
		"+perfmon-v2",
		"+irperf",
		"+amd-lbr-v2",
		"+amd-lbr-pmc-freeze",
		"+lbrv",
		"+ibs",
		"+monitor",
		"+la57",
		"pmu=on",
		"lwp-delivery=exact",
		"lwp-context=os",
		"lwp-vmcb=on",
		"lwp-rev=2007",
		"lwp-profile=fam15h",
		"lwp-max-events=2",
		"lwp-max-events=1",
		"lwp-min-buffer=4",
	};
	size_t i, k;

	for (i = 0; i < run_count; i++) {
		char copy[400], *rest = copy, *word;

		if (runs[i].lab || !runs[i].cpu)
			continue;
		snprintf(copy, sizeof(copy), "%s", runs[i].cpu);
		while ((word = strsep(&rest, ","))) {
			for (k = 0; k < sizeof(are_known) / sizeof(are_known[0]); k++) {
				if (!strcmp(are_known[k], word))
					break;
			}
			cr_assert(k < sizeof(are_known) / sizeof(are_known[0]), "%s: %s",
				  runs[i].name, word);
		}
	}
}
