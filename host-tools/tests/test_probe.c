// SPDX-License-Identifier: GPL-2.0-or-later
/* What the probe makes of its measurements: numbers, the row, verdicts, reports; its command line. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>

#include "probe.h"

static struct result r;
static struct pmc_row row;

static void all_places(s32 least, s32 most)
{
	for (int event = 0; event < PMC_EVENTS; event++)
		for (int place = 0; place < PMC_PLACES; place++)
			r.over[event][place] =
				(struct spread){ least, least, most, least, most, 64 };
	r.turns = 64;
	r.family = 0x19;
	r.model = 1;
}

static void late(struct lateness *l, s32 p99, u32 rate)
{
	s32 cycles[PMC_LATES] = { 900, 1000, p99, p99, p99, 4100 };

	*l = (struct lateness){ .interrupts = 60, .lost = 4, .rate = rate };
	for (int i = 0; i < PMC_LATES; i++)
		l->insns[i] = 2 * (l->cycles[i] = cycles[i]);
}

static void says(enum pmc_event event, const char *expected)
{
	char text[PMC_ROW_SIZE];

	row_of(&r, &row);
	verdict(&row, event, text, sizeof(text));
	cr_expect(strcmp(text, expected) == 0, "%s", text);
}

static void reports(void (*report)(const struct result *, FILE *), const char *line)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	report(&r, out);
	fclose(out);
	cr_expect(strstr(text, line) != NULL, "%s", text);
	free(text);
}

Test(probe, the_most_usual_of_values)
{
	s32 values[] = { 7, 1, 3, 3, 1, -2 }, sums[] = { 32, 33, 33, -1 };
	struct spread s = spread_of(values, 6, 1), each = spread_of(sums, 4, 16);

	cr_expect(s.least == -2 && s.usual == 1 && s.most == 7 && s.turns == 6);
	cr_expect(each.least == -1 && each.usual == 2 && each.most == 3);
}

Test(probe, a_rare_value_is_not_in_the_row)
{
	s32 values[200] = { [7] = -5, [99] = 3, [150] = 3 };
	struct spread s = spread_of(values, 200, 1);

	cr_expect(s.least == -5 && s.most == 3 && s.low == 0 && s.high == 0);
}

Test(probe, quantiles)
{
	static s32 values[10000];
	s32 q[PMC_LATES], one[] = { 5 };

	for (s32 i = 0; i < 10000; i++)
		values[i] = 9999 - i;
	quantiles(values, 10000, q);
	cr_expect(q[PMC_MIN] == 0 && q[PMC_MEDIAN] == 5000 && q[PMC_P99] == 9900 &&
		  q[PMC_P999] == 9990 && q[PMC_P9999] == 9999 && q[PMC_MAX] == 9999);
	quantiles(one, 1, q);
	cr_expect(q[PMC_MIN] == 5 && q[PMC_MAX] == 5);
}

Test(probe, verdicts)
{
	all_places(0, 0);
	says(PMC_INSNS, "exact");
	all_places(1, 1);
	for (int place = PMC_PF; place < PMC_SMI; place++)
		r.over[PMC_BRANCHES][place].turns = 0;
	r.over[PMC_BRANCHES][PMC_PF] = (struct spread){ 0, 1, 2, 0, 2, 64 };
	r.over[PMC_BRANCHES][PMC_IRET] =
		(struct spread){ -1, 0, 0, -1, 0, 64 }; /* a row has no such number */
	says(PMC_BRANCHES,
	     "+1 per entry, +0/2 per pf, intn not known, iret not known, syscall not known, sysret not known, "
	     "inject not known, rep not known, lock not known");
}

Test(probe, the_row_has_the_run_that_is_latest)
{
	all_places(0, 0);
	reports(report_text,
		"exact delivery of instructions: not possible: the lateness of interrupts is not known\n");
	late(&r.late[2], 3000, 1500);
	late(&r.late[5], 4000, 700);
	late(&r.late[7], 2000, 900);
	reports(report_text,
		"lateness: 900 to 4100 cycles, 999 of 1,000 at most 4000\n"
		"exact delivery of instructions: possible at periods above 17000 instructions\n"
		"exact delivery of branches: possible at periods above 17000 instructions\n"
		"row: cpu=19/1/1,late=900/1000/4000/4000/4000/4100,rate=700,lost=16\n");
	r.over[PMC_FAR][PMC_INTR].most = r.over[PMC_FAR][PMC_INTR].high = 1;
	reports(report_text, "exact delivery of branches: not possible: far.intr is not constant\n"
			     "row: far.intr=0/1,cpu=");
	reports(report_json,
		"\"far.intr\": {\"turns\": 64, \"least\": 0, \"usual\": 0, \"most\": 1}");
	reports(report_json,
		"\"pointer chase, loaded\": {\"interrupts\": 60, \"lost\": 4, \"rate\": 700, "
		"\"cycles\": [900, 1000, 4000, 4000, 4000, 4100]");
}

Test(probe, ibs_that_begins_a_period_at_an_entry)
{
	r.ibs_due = 16;
	r.ibs_samples = 9;
	reports(report_text, "\nIBS counts across VMRUN: 9 samples of the guest, 16 are due\n");
	r.ibs_samples = 3;
	reports(report_text, "\nIBS does not count across VMRUN: 3 samples");
	reports(report_json, "\"ibs\": {\"due\": 16, \"samples\": 3}");
}

/* The status of a command line with one word, or none. */
static int status(const char *word, const char **json, u32 *turns)
{
	static char name[] = "vlwp-probe";
	char *argv[] = { name, (char *)(uintptr_t)word, NULL };

	return options_read(word ? 2 : 1, argv, json, turns);
}

Test(probe, options)
{
	const char *json;
	u32 turns;

	cr_expect(status(NULL, &json, &turns) == -1 && turns == 4096 && !json);
	cr_expect(status("--quick", &json, &turns) == -1 && turns == 64);
	cr_expect(status("--json=x", &json, &turns) == -1 && strcmp(json, "x") == 0);
	cr_expect(status("--fast", &json, &turns) == 2);
	cr_expect(status("x", &json, &turns) == 2);
}
