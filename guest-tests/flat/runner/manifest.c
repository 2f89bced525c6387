// SPDX-License-Identifier: GPL-2.0-or-later
/* The suite without the lab: rows and what each needs. */
#include "manifest.h"
#include <stdbool.h>
#include <string.h>

#define MEMORY 64 /* MiB */

/* Literal numbers: tests/leaf.c has what CPUID says of each processor of the table. */
static const struct cpuid_need needs[] = {
	{ "no-lwp", 0x80000001, 0, "ecx", 0x8000, 0, "LWP is absent" },
	{ "lwp", 0x80000001, 0, "ecx", 0x8000, 0x8000, "LWP" },
	{ "lwp-43724", 0x8000001c, 0, "ebx", 0xff00ff00, 0x80002000,
	  "the control block of 43724: events from byte 128, records of 32 bytes" },
	{ "lwp-2007", 0x8000001c, 0, "ebx", 0xffffffff, 0x01032040,
	  "the control block of 2007, with 3 slots" },
	{ "one-slot", 0x8000001c, 0, "ebx", 0xffffffff, 0x01012030,
	  "the control block of 2007, with one slot" },
	{ "all-events", 0x8000001c, 0, "ebx", 0x00ff00ff, 0x00060016, "EventIds up to 6" },
	{ "all-features", 0x8000001c, 0, "edx", 0xe000000f, 0xe000000f,
	  "LWPVAL, instructions, branches, continuous mode, time stamp, interrupt" },
	{ "all-filters", 0x8000001c, 0, "ecx", 0x20fffe00, 0x20010200,
	  "IP filter, rings of 32 records and more, version 1" },
	{ "fam15h-events", 0x8000001c, 0, "ebx", 0x00ff00ff, 0x00030013, "EventIds up to 3" },
	{ "fam15h-features", 0x8000001c, 0, "edx", 0xe000007f, 0x8000000f,
	  "LWPVAL, instructions, branches, interrupt, and nothing else" },
	{ "fam15h-filters", 0x8000001c, 0, "ecx", 0xfffffe00, 0x00010200, "no filter, version 1" },
	{ "two-events", 0x8000001c, 0, "ebx", 0x00ff00ff, 0x00020012, "EventIds up to 2" },
	{ "min-ring-4", 0x8000001c, 0, "ecx", 0x20fffe00, 0x20040200,
	  "IP filter, rings of 128 records and more, version 1" },
	{ "clocks", 0x8000001c, 0, "edx", 0x60, 0x60, "clock events" },
	{ "xsave", 0xd, 0, "edx", 0x40000000, 0x40000000, "LWP is component 62 of XSAVE" },
	{ "no-xsave", 0xd, 0, "edx", 0x40000000, 0, "the hypervisor switches the state of LWP" },
	{ "vmcb", 0x8000001c, 0, "ecx", 0x01000000, 0x01000000, "LWP is in the VMCB" },
	{ "svm", 0x80000001, 0, "ecx", 0x4, 0x4, "SVM" },
	{ "npt", 0x8000000a, 0, "edx", 0x1, 0x1, "nested paging" },
	{ "vls", 0x8000000a, 0, "edx", 0x8000, 0x8000, "virtual VMLOAD and VMSAVE" },
	{ "perfctr-core", 0x80000001, 0, "ecx", 0x00800000, 0x00800000, "6 core counters" },
	{ "perfmon-v2", 0x80000022, 0, "eax", 0x1, 0x1, "PerfMonV2" },
	{ "irperf", 0x80000008, 0, "ebx", 0x2, 0x2, "the counter of retired instructions" },
	{ "lbr", 0x80000022, 0, "eax", 0x2, 0x2, "last branch records, version 2" },
	{ "lbr-freeze", 0x80000022, 0, "eax", 0x4, 0x4,
	  "they freeze with the counters' interrupts" },
	{ "lbrv", 0x8000000a, 0, "edx", 0x2, 0x2, "LBR virtualization" },
	{ "ibs", 0x80000001, 0, "ecx", 0x400, 0x400, "instruction-based sampling" },
	{ "monitor", 1, 0, "ecx", 0x8, 0x8, "MONITOR and MWAIT" },
	{ "la57", 7, 0, "ecx", 0x10000, 0x10000, "five-level paging" },
};
#define NEEDS (sizeof(needs) / sizeof(needs[0]))

/* What a property of QEMU's CPU means for CPUID. */
static const struct {
	const char *property, *need;
} means[] = {
	{ "+lwp", "lwp" },
	{ "lwp-context=os", "xsave" },
	{ "lwp-vmcb=on", "vmcb" },
	{ "+svm", "svm" },
	{ "+npt", "npt" },
	{ "+v-vmsave-vmload", "vls" },
	{ "+perfctr-core", "perfctr-core" },
	{ "+perfmon-v2", "perfmon-v2" },
	{ "+irperf", "irperf" },
	{ "+amd-lbr-v2", "lbr" },
	{ "+amd-lbr-pmc-freeze", "lbr-freeze" },
	{ "+lbrv", "lbrv" },
	{ "+ibs", "ibs" },
	{ "+monitor", "monitor" },
	{ "+la57", "la57" },
};

static bool has_property(const struct run *r, const char *property)
{
	size_t n = strlen(property);
	const char *p = r->cpu;

	for (; p && *p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
		if (!strncmp(p, property, n) && (!p[n] || p[n] == ','))
			return true;
	}
	return false;
}

struct found {
	const struct cpuid_need **list;
	unsigned int n;
};

static void add(struct found *f, const char *name)
{
	size_t i;

	for (i = 0; i < NEEDS; i++) {
		if (!strcmp(needs[i].name, name) && f->n < MAX_ROW_NEEDS)
			f->list[f->n++] = &needs[i];
	}
}

/* What the leaf says of LWP with these properties. */
static void add_leaf(struct found *f, const struct run *r)
{
	bool fam15h = has_property(r, "lwp-profile=fam15h");

	if (has_property(r, "lwp-rev=2007")) {
		add(f, has_property(r, "lwp-max-events=1") ? "one-slot" : "lwp-2007");
		return;
	}
	add(f, "lwp-43724");
	if (fam15h) {
		add(f, "fam15h-events");
		add(f, "fam15h-features");
		add(f, "fam15h-filters");
		return;
	}
	if (has_property(r, "lwp-max-events=2")) {
		add(f, "two-events");
	} else {
		add(f, "all-events");
		add(f, "all-features");
	}
	add(f, has_property(r, "lwp-min-buffer=4") ? "min-ring-4" : "all-filters");
}

unsigned int manifest_needs(const struct run *r, const struct cpuid_need *list[MAX_ROW_NEEDS])
{
	struct found f = { list, 0 };
	size_t i;

	if (r->absence)
		add(&f, "no-lwp");
	for (i = 0; i < sizeof(means) / sizeof(means[0]); i++) {
		if (has_property(r, means[i].property))
			add(&f, means[i].need);
	}
	if (has_property(r, "+lwp"))
		add_leaf(&f, r);
	if (r->hidden)
		add(&f, "no-xsave");
	if (r->needs & NEED_CLOCKS)
		add(&f, "clocks");
	return f.n;
}

static unsigned int cpus_of(const struct run *r)
{
	return r->cpus ? r->cpus : 1;
}

static const char *test_of(const struct run *r)
{
	return r->test ? r->test : r->name;
}

void manifest_rows(FILE *to)
{
	const struct cpuid_need *found[MAX_ROW_NEEDS];
	unsigned int n, k;
	size_t i;

	for (i = 0; i < NEEDS; i++)
		fprintf(to, "need %s %x %x %s %x %x\n", needs[i].name, needs[i].leaf,
			needs[i].subleaf, needs[i].reg, needs[i].mask, needs[i].value);
	for (i = 0; i < run_count; i++) {
		const struct run *r = &runs[i];

		if (r->lab)
			continue;
		n = manifest_needs(r, found);
		fprintf(to, "row %s %s", r->name, n ? "" : "-");
		for (k = 0; k < n; k++)
			fprintf(to, "%s%s", k ? "," : "", found[k]->name);
		fprintf(to, " test=%s cpus=%u%s%s\n", test_of(r), cpus_of(r), r->args ? " " : "",
			r->args ? r->args : "");
	}
}

static void json_needs(FILE *to, const struct run *r)
{
	const struct cpuid_need *found[MAX_ROW_NEEDS];
	unsigned int n = manifest_needs(r, found), k;

	for (k = 0; k < n; k++)
		fprintf(to,
			"%s\n      { \"name\": \"%s\", \"leaf\": \"0x%08x\", \"subleaf\": %u, \"register\": \"%s\", "
			"\"mask\": \"0x%08x\", \"value\": \"0x%08x\",\n        \"text\": \"%s\" }",
			k ? "," : "", found[k]->name, found[k]->leaf, found[k]->subleaf,
			found[k]->reg, found[k]->mask, found[k]->value, found[k]->text);
}

/* Names, words and texts of the tables have no character that JSON escapes. */
void manifest_json(FILE *to)
{
	bool first = true;
	size_t i;

	fprintf(to, "{\n  \"memory-MiB\": %u,\n  \"rows\": [", MEMORY);
	for (i = 0; i < run_count; i++) {
		const struct run *r = &runs[i];

		if (r->lab)
			continue;
		fprintf(to,
			"%s\n    { \"row\": \"%s\", \"words\": \"test=%s cpus=%u%s%s\",\n"
			"      \"processors\": %u, \"cpuid\": [",
			first ? "" : ",", r->name, test_of(r), cpus_of(r), r->args ? " " : "",
			r->args ? r->args : "", cpus_of(r));
		json_needs(to, r);
		fprintf(to, "] }");
		first = false;
	}
	fprintf(to, "\n  ],\n  \"lab-only\": {");
	for (first = true, i = 0; i < run_count; i++) {
		if (!runs[i].lab)
			continue;
		fprintf(to, "%s\n    \"%s\": \"%s\"", first ? "" : ",", runs[i].name, runs[i].lab);
		first = false;
	}
	fprintf(to, "\n  }\n}\n");
}
