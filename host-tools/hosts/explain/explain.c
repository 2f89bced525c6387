// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CPUID leaf 8000_001C and LWP_CFG, bit by bit. Sources: 43724-103 to 43724-106, 43724-201, 2007-102 to
 * 2007-105.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "lwp_cpuid.h"
#include "lwp_names.h"

#define FIELDS_MAX 40

struct field {
	uint8_t high, low;
	const char *name; /* the specification's */
	uint16_t times; /* of a number: one unit is that many, 0: a bit */
	const char *what; /* of a bit: what it means; of a number: its unit */
};

/* What is no event and no feature of lwp_names.h. */
static const struct field ebx_43724[] = {
	{ 7, 0, "LwpCbSize", 8, "bytes of control block" },
	{ 15, 8, "LwpEventSize", 1, "bytes of a record" },
	{ 23, 16, "LwpMaxEvents", 1, "is the highest EventId" },
	{ 31, 24, "LwpEventOffset", 1, "bytes to EventInterval1" },
	{ 0 },
};
static const struct field ecx_43724[] = {
	{ 4, 0, "LwpLatencyMax", 1, "bits of cache latency" },
	{ 8, 6, "LwpLatencyRnd", 1, "low bits of latency are rounded away" },
	{ 15, 9, "LwpVersion", 1, "is the version" },
	{ 23, 16, "LwpMinBufferSize", 32, "records, at least, in a ring" },
	{ 24, 24, "VmcbArea", 0, "VMLOAD and VMSAVE switch LWP (vlwp's own bit)" },
	{ 0 },
};
static const struct field available_43724[] = {
	{ 0, 0, "LwpAvail", 0, "LWP is available" },
	{ 0 },
};
static const struct field cfg_43724[] = {
	{ 0, 0, "(bit 0)", 0, "written and ignored" },
	{ 39, 32, "COREID", 1, "is the core's number in records" },
	{ 47, 40, "VECTOR", 1, "is the vector of the threshold interrupt" },
	{ 0 },
};

static const struct field ebx_2007[] = {
	{ 7, 0, "LWPCBSize", 1, "bytes of control block" },
	{ 15, 8, "LWPEventSize", 1, "bytes of a record" },
	{ 23, 16, "LWPMaxEvents", 1, "event slots" },
	{ 31, 24, "LWPVersion", 1, "is the version" },
	{ 0 },
};
static const struct field ecx_2007[] = {
	{ 4, 0, "LWPLatencyMax", 1, "bits of cache latency" },
	{ 24, 24, "VmcbArea", 0, "VMLOAD and VMSAVE switch LWP (vlwp's own bit)" },
	{ 0 },
};
static const struct field enabled_2007[] = {
	{ 0, 0, "LWPEnabled", 0, "LWP is enabled" },
	{ 0 },
};
static const struct field available_2007[] = {
	{ 0, 0, "LWPAvailable", 0, "LWP is available" },
	{ 0 },
};

/* What else a register has. */
enum content {
	NUMBERS,
	FEATURES, /* at their places in Flags */
	FEATURES_EDX, /* at their places in EDX */
	FILTERS,
};

static const struct {
	const char *name, *title;
	const struct field *fields[LWP_REVS];
	enum content content;
	uint8_t bits;
} registers[] = {
	{ "eax", "EAX, what is available now", { available_43724, enabled_2007 }, FEATURES, 32 },
	{ "ebx", "EBX, sizes", { ebx_43724, ebx_2007 }, NUMBERS, 32 },
	{ "ecx", "ECX, latency, ring and filters", { ecx_43724, ecx_2007 }, FILTERS, 32 },
	{ "edx",
	  "EDX, what the hardware has",
	  { available_43724, available_2007 },
	  FEATURES_EDX,
	  32 },
	{ "cfg", "LWP_CFG (MSR C0000105h)", { cfg_43724, enabled_2007 }, FEATURES, 64 },
};

/* The fields of a register, by ascending bits, with room for their texts. */
struct fields {
	struct field field[FIELDS_MAX];
	char name[FIELDS_MAX][24], what[FIELDS_MAX][64];
	size_t nr;
};

/* One bit, which must not be 0; @spec is the specification's name without its prefix. */
static void add_bit(struct fields *fields, uint32_t bit, uint32_t rev, const char *spec,
		    const char *what, uint32_t event_id)
{
	size_t i = fields->nr++;
	uint8_t place = (uint8_t)__builtin_ctz(bit);

	snprintf(fields->name[i], sizeof(fields->name[i]), "%s%s",
		 rev == LWP_REV_2007 ? "LWP" : "Lwp", spec);
	if (event_id)
		snprintf(fields->what[i], sizeof(fields->what[i]), "%s (EventId %u)", what,
			 event_id);
	else
		snprintf(fields->what[i], sizeof(fields->what[i]), "%s", what);
	fields->field[i] = (struct field){ place, place, fields->name[i], 0, fields->what[i] };
}

/* A feature's bit in EDX: as CPUID of a processor that has no other shows it. */
static uint32_t edx_of(uint32_t flag, uint32_t rev)
{
	struct lwp_caps caps = { .rev = (uint8_t)rev, .features = flag };
	struct lwp_leaf leaf;

	lwp_leaf_encode(&caps, 0, &leaf);
	return leaf.edx & ~LWP_F_AVAIL;
}

static void add_features(struct fields *fields, uint32_t rev, bool edx)
{
	for (const struct lwp_feature *f = lwp_features; f->property; f++) {
		uint32_t flag = lwp_feature_flag(f, rev);

		if (flag)
			add_bit(fields, edx ? edx_of(flag, rev) : flag, rev, f->spec, f->meaning,
				lwp_rev_get(rev)->event_id[f->kind]);
	}
}

static void add_filters(struct fields *fields, uint32_t rev)
{
	for (const struct lwp_filter *f = lwp_filters; f->name; f++)
		if (rev == LWP_REV_43724 || f->in_2007)
			add_bit(fields, f->flag, rev, f->spec, f->meaning, 0);
}

static int by_place(const void *a, const void *b)
{
	return ((const struct field *)a)->low - ((const struct field *)b)->low;
}

static void collect(struct fields *fields, const struct field *own, enum content content,
		    uint32_t rev)
{
	fields->nr = 0;
	while (own->name)
		fields->field[fields->nr++] = *own++;
	if (content == FILTERS)
		add_filters(fields, rev);
	else if (content != NUMBERS)
		add_features(fields, rev, content == FEATURES_EDX);
	qsort(fields->field, fields->nr, sizeof(fields->field[0]), by_place);
}

static void print_field(const struct field *f, uint64_t value, FILE *to)
{
	uint64_t bits = value >> f->low & ((UINT64_C(2) << (f->high - f->low)) - 1);
	char place[16];

	if (f->high == f->low)
		snprintf(place, sizeof(place), "%u", f->low);
	else
		snprintf(place, sizeof(place), "%u:%u", f->high, f->low);
	fprintf(to, "  %-6s %-20s", place, f->name);
	if (!f->times)
		fprintf(to, "%s: %s\n", bits ? "1" : "0", f->what);
	else
		fprintf(to, "%" PRIu64 ": %" PRIu64 " %s\n", bits, bits * f->times, f->what);
}

bool explain_register(const char *name, uint64_t value, uint32_t rev, FILE *to)
{
	struct fields fields;
	uint64_t known = 0;

	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
		if (strcmp(registers[i].name, name))
			continue;
		fprintf(to, "%s = 0x%0*" PRIx64 "\n", registers[i].title, registers[i].bits / 4,
			value);
		collect(&fields, registers[i].fields[rev], registers[i].content, rev);
		for (size_t j = 0; j < fields.nr; j++) {
			const struct field *f = &fields.field[j];

			known |= ((UINT64_C(2) << (f->high - f->low)) - 1) << f->low;
			print_field(f, value, to);
		}
		for (unsigned int bit = 0; bit < registers[i].bits; bit++)
			if (value & ~known & UINT64_C(1) << bit)
				fprintf(to, "  %-6u %-20s1: must be 0\n", bit, "reserved");
		return true;
	}
	return false;
}
