// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of events and features: each row against the specifications and the names that users know. */
#include "lwp_names.h"
#include "lwp_record.h"
#include "vmcb_test.h"

/* Flags of 43724 (1.2, EDX) and of 2007 (5.1, EAX), and the names, by hand. */
static const struct {
	const char *property, *event;
	u32 flag, flag_2007, interval;
} expected[] = {
	{ "lwp-val", "values", 0x00000002, 0, 0 },
	{ "lwp-ire", "instructions", 0x00000004, 0x00000002, 20011 },
	{ "lwp-bre", "branches", 0x00000008, 0x00000004, 4001 },
	{ "lwp-dme", "dcache-misses", 0x00000010, 0x00000008, 251 },
	{ "lwp-cnh", "cycles", 0x00000020, 0, 20011 },
	{ "lwp-rnh", "ref-cycles", 0x00000040, 0, 20011 },
	{ "lwp-cont", NULL, 0x20000000, 0, 0 },
	{ "lwp-ptsc", NULL, 0x40000000, 0, 0 },
	{ "lwp-int", NULL, 0x80000000, 0x80000000, 0 },
};
#define NR_EXPECTED (sizeof(expected) / sizeof(expected[0]))

Test(names, every_feature_has_its_row)
{
	for (u32 i = 0; i < NR_EXPECTED; i++) {
		const struct lwp_feature *f = &lwp_features[i];

		cr_assert(eq(str, text(f->property), text(expected[i].property)));
		cr_expect(eq(u32, lwp_feature_flag(f, LWP_REV_43724), expected[i].flag));
		cr_expect(eq(u32, lwp_feature_flag(f, LWP_REV_2007), expected[i].flag_2007));
		cr_expect(eq(u32, f->interval, expected[i].interval));
		cr_expect(eq(int, !f->event, !expected[i].event));
		if (f->event)
			cr_expect(eq(str, text(f->event), text(expected[i].event)));
	}
	cr_expect(lwp_features[NR_EXPECTED].property == NULL);
}

Test(names, a_feature_is_found_by_property_and_by_flag)
{
	cr_expect(lwp_feature_by_property("lwp-dme") == &lwp_features[3]);
	cr_expect(lwp_feature_by_property("lwp-vmcb") == NULL);
	cr_expect(lwp_feature_by_flag(LWP_REV_43724, 0x80000000) == &lwp_features[8]);
	cr_expect(lwp_feature_by_flag(LWP_REV_2007, 0x2) == &lwp_features[1]);
	cr_expect(lwp_feature_by_flag(LWP_REV_2007, 0x10) == NULL);
	cr_expect(lwp_feature_by_flag(LWP_REV_2007, 0) == NULL);
}

Test(names, filters_are_the_bits_of_ecx)
{
	static const struct {
		const char *name;
		u32 flag;
		bool in_2007;
	} filters[] = {
		{ "data-address", 0x00000020, true },  { "branch-prediction", 0x10000000, false },
		{ "ip-filtering", 0x20000000, false }, { "cache-levels", 0x40000000, true },
		{ "cache-latency", 0x80000000, true },
	};
	const struct lwp_filter *f = lwp_filters;
	u32 all = 0;

	for (u32 i = 0; i < sizeof(filters) / sizeof(filters[0]); i++, f++) {
		cr_assert(eq(str, text(f->name), text(filters[i].name)));
		cr_expect(eq(u32, f->flag, filters[i].flag));
		cr_expect(eq(int, f->in_2007, filters[i].in_2007));
		cr_expect(lwp_filter_by_name(filters[i].name) == f);
		all |= f->flag;
	}
	cr_expect(f->name == NULL);
	cr_expect(lwp_filter_by_name("vmcb-area") == NULL);
	cr_expect(eq(u32, all, LWP_ECX_FEATURES & ~LWP_ECX_VMCB_AREA));
}

Test(names, sources_of_data)
{
	cr_expect(zero(i32, strcmp(lwp_source_name(LWP_SRC_NONE), "unknown")));
	cr_expect(zero(i32, strcmp(lwp_source_name(LWP_SRC_LOCAL_L3), "L3")));
	cr_expect(zero(i32, strcmp(lwp_source_name(LWP_SRC_REMOTE), "remote")));
	cr_expect(zero(i32, strcmp(lwp_source_name(LWP_SRC_DRAM), "DRAM")));
	cr_expect(zero(i32, strcmp(lwp_source_name(LWP_SRC_OTHER), "other")));
	for (u32 reserved = 4; reserved < LWP_SRC_OTHER; reserved++)
		cr_expect(zero(ptr, (void *)lwp_source_name(reserved)));
	cr_expect(zero(ptr, (void *)lwp_source_name(LWP_SOURCES)));
}
