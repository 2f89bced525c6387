// SPDX-License-Identifier: GPL-2.0-or-later
/* The grammar of a row (pmc_row.h). */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "pmc_row.h"

#define LATE "late=0/1/2/3/4/10000000,rate=16000"

static struct pmc_row row;
static char text[PMC_ROW_SIZE];

static void written(const char *in, const char *out)
{
	struct pmc_row_error err = { 0, "" };

	cr_assert(pmc_row_parse(in, strlen(in), &row, &err), "%s: %s", in, err.message);
	cr_expect(eq(sz, pmc_row_format(&row, text, sizeof(text)), strlen(out)));
	cr_expect(strcmp(text, out) == 0, "%s", text);
}

static void refused(const char *in, size_t at, const char *message)
{
	struct pmc_row_error err;

	cr_assert(pmc_row_parse(in, strlen(in), &row, &err) == false, "%s", in);
	cr_expect(err.at == at && !strcmp(err.message, message), "%s: %s", in, err.message);
}

static void inexact(const char *in, enum pmc_event event, const char *reason)
{
	const char *why = "";

	written(in, in);
	cr_expect(not(pmc_row_exact(&row, event, &why)));
	cr_expect(strcmp(why, reason) == 0, "%s", why);
}

Test(row, items_stand_in_any_order)
{
	written("freeze=1," LATE ",far.smi=?,lost=2,cpu=19/0/f,insns.pf=1/2,far.pf=0",
		"insns.pf=1/2,far.smi=?,cpu=19/0/f," LATE ",lost=2,freeze=1");
	cr_expect(eq(u32, row.cpu[0], 0x19));
	cr_expect(eq(u32, row.over[PMC_INSNS][PMC_PF].most, 2));
	cr_expect(eq(u32, row.over[PMC_FAR][PMC_SMI].most, PMC_UNKNOWN));
	cr_expect(eq(u32, row.late[PMC_MAX], 10000000));
	cr_expect(eq(u32, row.items, PMC_BIT(PMC_ITEMS) - 1));
	written("", "");
	cr_expect(eq(u32, row.items, 0));
}

Test(row, entry_is_all_eight_exits)
{
	written("far.cpuid=1,far.hlt=1,far.out=1,far.npf=1,far.intr=1,far.nmi=1,far.step=1,far.bp=1",
		"far.entry=1");
	written("far.bp=3,insns.entry=4/65535,branches.entry=?,branches.pf=1",
		"insns.entry=4/65535,branches.entry=?,branches.pf=1,far.bp=3");
	cr_expect(eq(u32, row.over[PMC_INSNS][PMC_BP].least, 4));
	cr_expect(eq(u32, row.over[PMC_INSNS][PMC_PF].most, 0));
}

Test(row, a_buffer_that_is_too_small_has_the_beginning)
{
	written("lost=12", "lost=12");
	cr_expect(eq(sz, pmc_row_format(&row, text, 5), 7));
	cr_expect(strcmp(text, "lost") == 0, "%s", text);
	cr_expect(eq(sz, pmc_row_format(&row, NULL, 0), 7));
}

Test(row, refusals)
{
	refused("insns.exit=1", 6, "no such place");
	refused("insn.hlt=1", 0, "no such item");
	refused("lost=2,", 7, "no such item");
	refused("insns=1", 5, "'.' is missing");
	refused("insns.hlt", 9, "'=' is missing");
	refused("lost/2", 4, "'=' is missing");
	refused("cpu=19/0", 8, "'/' is missing");
	refused("lost=2 ", 6, "',' is missing");
	refused("lost=", 5, "a number is missing");
	refused("far.pf=1,far.pf=1", 13, "the place is set twice");
	refused("far.entry=1,far.bp=1", 16, "the place is set twice");
	refused("far.cpuid=1,far.entry=1", 16, "the place is set twice");
	refused("freeze=1,freeze=1", 9, "the item is set twice");
	refused("far.pf=2/2", 9, "the numbers are not in order");
	refused("cpu=19/f/0", 9, "the numbers are not in order");
	refused("late=1/0", 7, "the numbers are not in order");
	refused("late=0/0/0/0/0/0", 16, "late needs rate");
	refused("rate=1", 6, "rate needs late");
}

Test(row, numbers_have_bounds)
{
	static const char *const beyond[] = { "far.pf=65536", "far.pf=4294967297",
					      "cpu=1000/0/0", "late=10000001",
					      "rate=0",	      "rate=16001",
					      "lost=1",	      "lost=1000001",
					      "freeze=2",     NULL };

	for (const char *const *in = beyond; *in; in++)
		refused(*in, strcspn(*in, "=") + 1, "the number is out of range");
}

Test(row, exact_needs_one_number_for_each_place_and_the_lateness)
{
	const char *why;

	inexact("branches.intr=1/2", PMC_BRANCHES, "branches.intr is not constant");
	inexact("far.smi=?", PMC_FAR, "far.smi is not constant");
	inexact("far.pf=1", PMC_FAR, "the lateness of interrupts is not known");
	written("insns.entry=1,far.pf=1/2," LATE, "insns.entry=1,far.pf=1/2," LATE);
	cr_expect(pmc_row_exact(&row, PMC_INSNS, &why));
}

Test(row, each_exit_has_a_place)
{
	static const struct {
		uint64_t code;
		bool step;
		enum pmc_place place;
	} exits[] = {
		{ 0x41, true, PMC_STEP },   { 0x41, false, PMC_BP },	{ 0x43, false, PMC_BP },
		{ 0x60, false, PMC_INTR },  { 0x61, false, PMC_NMI },	{ 0x78, false, PMC_HLT },
		{ 0x7b, false, PMC_OUT },   { 0x400, false, PMC_NPF },	{ 0x72, false, PMC_CPUID },
		{ 0x46, false, PMC_CPUID }, { 0x81, false, PMC_CPUID },
	};

	for (size_t i = 0; i < sizeof(exits) / sizeof(exits[0]); i++)
		cr_assert_eq(pmc_place_of_exit(exits[i].code, exits[i].step), exits[i].place, "%zu",
			     i);
}
