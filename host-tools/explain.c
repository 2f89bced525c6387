// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CPUID leaf 8000_001C and LWP_CFG, bit by bit. Sources: 43724-103 to 43724-106, 43724-201, 2007-102 to
 * 2007-105.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "explain.h"
#include "lwp_cpuid.h"

struct field {
	uint8_t high, low;
	const char *name; /* the specification's */
	uint16_t times; /* of a number: one unit is that many, 0: a bit */
	const char *what; /* of a bit: what it means; of a number: its unit */
};

static const struct field flags_43724[] = {
	{ 0, 0, "LwpAvail", 0, "LWP is available" },
	{ 1, 1, "LwpVAL", 0, "LWPVAL records (EventId 1)" },
	{ 2, 2, "LwpIRE", 0, "instructions retired (EventId 2)" },
	{ 3, 3, "LwpBRE", 0, "branches retired (EventId 3)" },
	{ 4, 4, "LwpDME", 0, "data cache misses (EventId 4)" },
	{ 5, 5, "LwpCNH", 0, "core clocks not halted (EventId 5)" },
	{ 6, 6, "LwpRNH", 0, "reference clocks not halted (EventId 6)" },
	{ 29, 29, "LwpCont", 0, "continuous mode" },
	{ 30, 30, "LwpPTSC", 0, "time stamps in records" },
	{ 31, 31, "LwpInt", 0, "threshold interrupt" },
	{ 0 },
};
static const struct field ebx_43724[] = {
	{ 7, 0, "LwpCbSize", 8, "bytes of control block" },
	{ 15, 8, "LwpEventSize", 1, "bytes of a record" },
	{ 23, 16, "LwpMaxEvents", 1, "is the highest EventId" },
	{ 31, 24, "LwpEventOffset", 1, "bytes to EventInterval1" },
	{ 0 },
};
static const struct field ecx_43724[] = {
	{ 4, 0, "LwpLatencyMax", 1, "bits of cache latency" },
	{ 5, 5, "LwpDataAddress", 0, "cache miss records have the data address" },
	{ 8, 6, "LwpLatencyRnd", 1, "low bits of latency are rounded away" },
	{ 15, 9, "LwpVersion", 1, "is the version" },
	{ 23, 16, "LwpMinBufferSize", 32, "records, at least, in a ring" },
	{ 24, 24, "VmcbArea", 0, "VMLOAD and VMSAVE switch LWP (vlwp's own bit)" },
	{ 28, 28, "LwpBranchPrediction", 0, "branches can be filtered by prediction" },
	{ 29, 29, "LwpIpFiltering", 0, "records can be filtered by address" },
	{ 30, 30, "LwpCacheLevels", 0, "cache misses can be filtered by level" },
	{ 31, 31, "LwpCacheLatency", 0, "cache misses can be filtered by latency" },
	{ 0 },
};
static const struct field cfg_43724[] = {
	{ 0, 0, "(bit 0)", 0, "written and ignored" },
	{ 1, 1, "LwpVAL", 0, "LWPVAL records (EventId 1)" },
	{ 2, 2, "LwpIRE", 0, "instructions retired (EventId 2)" },
	{ 3, 3, "LwpBRE", 0, "branches retired (EventId 3)" },
	{ 4, 4, "LwpDME", 0, "data cache misses (EventId 4)" },
	{ 5, 5, "LwpCNH", 0, "core clocks not halted (EventId 5)" },
	{ 6, 6, "LwpRNH", 0, "reference clocks not halted (EventId 6)" },
	{ 29, 29, "LwpCont", 0, "continuous mode" },
	{ 30, 30, "LwpPTSC", 0, "time stamps in records" },
	{ 31, 31, "LwpInt", 0, "threshold interrupt" },
	{ 39, 32, "COREID", 1, "is the core's number in records" },
	{ 47, 40, "VECTOR", 1, "is the vector of the threshold interrupt" },
	{ 0 },
};

static const struct field eax_2007[] = {
	{ 0, 0, "LWPEnabled", 0, "LWP is enabled" },
	{ 1, 1, "LWPIRE", 0, "instructions retired (EventId 1)" },
	{ 2, 2, "LWPBRE", 0, "branches retired (EventId 2)" },
	{ 3, 3, "LWPDME", 0, "data cache misses (EventId 3)" },
	{ 31, 31, "LWPInt", 0, "threshold interrupt" },
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
	{ 5, 5, "LWPDataAddress", 0, "cache miss records have the data address" },
	{ 24, 24, "VmcbArea", 0, "VMLOAD and VMSAVE switch LWP (vlwp's own bit)" },
	{ 30, 30, "LWPCacheLevels", 0, "cache misses can be filtered by level" },
	{ 31, 31, "LWPCacheLatency", 0, "cache misses can be filtered by latency" },
	{ 0 },
};
static const struct field edx_2007[] = {
	{ 0, 0, "LWPAvailable", 0, "LWP is available" },
	{ 1, 1, "LWPInt", 0, "threshold interrupt" },
	{ 2, 2, "LWPIRE", 0, "instructions retired (EventId 1)" },
	{ 3, 3, "LWPBRE", 0, "branches retired (EventId 2)" },
	{ 4, 4, "LWPDME", 0, "data cache misses (EventId 3)" },
	{ 0 },
};

static const struct {
	const char *name, *title;
	const struct field *fields[LWP_REVS];
	uint8_t bits;
} registers[] = {
	{ "eax", "EAX, what is available now", { flags_43724, eax_2007 }, 32 },
	{ "ebx", "EBX, sizes", { ebx_43724, ebx_2007 }, 32 },
	{ "ecx", "ECX, latency, ring and filters", { ecx_43724, ecx_2007 }, 32 },
	{ "edx", "EDX, what the hardware has", { flags_43724, edx_2007 }, 32 },
	{ "cfg", "LWP_CFG (MSR C0000105h)", { cfg_43724, eax_2007 }, 64 },
};

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
	uint64_t known = 0;

	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
		if (strcmp(registers[i].name, name))
			continue;
		fprintf(to, "%s = 0x%0*" PRIx64 "\n", registers[i].title, registers[i].bits / 4,
			value);
		for (const struct field *f = registers[i].fields[rev]; f->name; f++) {
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
