// SPDX-License-Identifier: GPL-2.0-or-later
/* The features of LWP and the names that users write for them. */
#include "lwp_cpuid.h"
#include "lwp_names.h"
#include "lwp_record.h"

const struct lwp_feature lwp_features[] = {
#define LWP_EVENT(name_, id_, event_, interval_, property_, records_, counted_) \
	{                                                                       \
		.property = (property_),                                        \
		.text = (records_),                                             \
		.kind = (id_),                                                  \
		.spec = #name_,                                                 \
		.meaning = (counted_),                                          \
		.event = (event_),                                              \
		.interval = (interval_),                                        \
	},
#include "lwp_events.h"
	{
		.property = "lwp-cont",
		.text = "continuous mode",
		.flag = { [LWP_REV_43724] = LWP_F_CONT },
		.spec = "Cont",
		.meaning = "continuous mode",
	},
	{
		.property = "lwp-ptsc",
		.text = "time stamps in records",
		.flag = { [LWP_REV_43724] = LWP_F_PTSC },
		.spec = "PTSC",
		.meaning = "time stamps in records",
	},
	{
		.property = "lwp-int",
		.text = "threshold interrupts",
		.flag = { [LWP_REV_43724] = LWP_F_INT, [LWP_REV_2007] = LWP07_F_INT },
		.spec = "Int",
		.meaning = "threshold interrupt",
	},
	{ .property = NULL },
};

const struct lwp_filter lwp_filters[] = {
	{ "data-address", LWP_ECX_DATA_ADDRESS, true, "DataAddress",
	  "cache miss records have the data address" },
	{ "branch-prediction", LWP_ECX_BRANCH_PREDICTION, false, "BranchPrediction",
	  "branches can be filtered by prediction" },
	{ "ip-filtering", LWP_ECX_IP_FILTERING, false, "IpFiltering",
	  "records can be filtered by address" },
	{ "cache-levels", LWP_ECX_CACHE_LEVELS, true, "CacheLevels",
	  "cache misses can be filtered by level" },
	{ "cache-latency", LWP_ECX_CACHE_LATENCY, true, "CacheLatency",
	  "cache misses can be filtered by latency" },
	{ .name = NULL },
};

u32 lwp_feature_flag(const struct lwp_feature *feature, u32 rev)
{
	u32 event_id = lwp_rev_get(rev)->event_id[feature->kind];

	if (feature->kind == LWP_KIND_NONE)
		return feature->flag[rev];
	return event_id ? LWP_BIT(event_id) : 0;
}

const struct lwp_feature *lwp_feature_by_property(const char *property)
{
	const struct lwp_feature *f;

	for (f = lwp_features; f->property; f++)
		if (!strcmp(f->property, property))
			return f;
	return NULL;
}

const struct lwp_feature *lwp_feature_by_flag(u32 rev, u32 flag)
{
	const struct lwp_feature *f;

	for (f = lwp_features; f->property; f++)
		if (flag && lwp_feature_flag(f, rev) == flag)
			return f;
	return NULL;
}

const struct lwp_filter *lwp_filter_by_name(const char *name)
{
	const struct lwp_filter *f;

	for (f = lwp_filters; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

const char *lwp_source_name(u32 source)
{
	switch (source) {
	case LWP_SRC_NONE:
		return "unknown";
	case LWP_SRC_LOCAL_L3:
		return "L3";
	case LWP_SRC_REMOTE:
		return "remote";
	case LWP_SRC_DRAM:
		return "DRAM";
	case LWP_SRC_OTHER:
		return "other";
	}
	return NULL;
}
