// SPDX-License-Identifier: GPL-2.0-or-later
/* What was measured: as a row, for people, as JSON. */
#include "probe.h"

static const char *const codes[] = { "NOPs", "dependent chain", "pointer chase", "branchy code" };
static const char *const loads[] = { "idle", "loaded" };
static const char *const events[PMC_EVENTS] = { "instructions", "branches", "far transfers" };

static u32 limited(u64 value, u32 least, u32 most)
{
	return value < least ? least : value > most ? most : (u32)value;
}

/* Its lateness is that of the run whose 99% are the most cycles. */
void row_of(const struct result *r, struct pmc_row *row)
{
	const struct lateness *l, *worst = NULL;
	u64 lost = 0, due = 0;

	memset(row, 0, sizeof(*row));
	row->items = LWP_BIT(PMC_CPU);
	row->cpu[0] = r->family;
	row->cpu[1] = row->cpu[2] = r->model;
	for (u32 event = 0; event < PMC_EVENTS; event++) {
		for (u32 place = 0; place < PMC_SMI; place++) {
			const struct spread *s = &r->over[event][place];
			bool known = s->turns && s->low >= 0 && s->high <= (s32)PMC_OVER_MAX;

			row->over[event][place].least = known ? (u32)s->low : 0;
			row->over[event][place].most = known ? (u32)s->high : PMC_UNKNOWN;
		}
	}
	for (l = r->late; l < r->late + RUNS; l++) {
		lost += l->rate ? l->lost : 0;
		due += l->rate ? l->lost + l->interrupts : 0;
		if (l->rate && (!worst || l->cycles[PMC_P99] > worst->cycles[PMC_P99]))
			worst = l;
	}
	if (!worst)
		return;
	row->items |= LWP_BIT(PMC_LATE) | LWP_BIT(PMC_RATE) | (lost ? LWP_BIT(PMC_LOST) : 0);
	for (u32 place = 0; place < PMC_LATES; place++)
		row->late[place] = limited((u64)worst->cycles[place], 0, PMC_LATE_MAX);
	row->rate = limited(worst->rate, 1, 16000);
	row->lost = lost ? limited((due + lost / 2) / lost, 2, 1000000) : 0;
}

void verdict(const struct pmc_row *row, enum pmc_event event, char *buf, size_t size)
{
	char text[PMC_ROW_SIZE], *next = text, *item, *value, *end = buf + size;
	static struct pmc_row one;

	memset(&one, 0, sizeof(one));
	memcpy(one.over[event], row->over[event], sizeof(one.over[event]));
	snprintf(buf, size, "exact");
	if (!pmc_row_format(&one, text, sizeof(text)))
		return;
	while ((item = strsep(&next, ",")) && buf < end) {
		value = strchr(item, '=') + 1;
		item = strsep(&item, "=") + strlen(pmc_event_name(event)) + 1;
		buf += snprintf(buf, (size_t)(end - buf), "%s%s%s%s%s", *value == '?' ? item : "+",
				*value == '?' ? " not known" : value, *value == '?' ? "" : " per ",
				*value == '?' ? "" : item, next ? ", " : "");
	}
}

/* The instructions of a period that a margin for 999 of 1,000 interrupts does not fill. */
static u32 least_period(const struct result *r)
{
	u32 most = 0;

	for (const struct lateness *l = r->late; l < r->late + RUNS; l++)
		if (l->rate && (u32)l->insns[PMC_P999] > most)
			most = (u32)l->insns[PMC_P999];
	return (2 * most / 1000 + 1) * 1000;
}

static void print_places(const struct result *r, FILE *out)
{
	char text[40];

	fprintf(out, "\nCounts too many each time: the most usual, least to most\n%10s", "");
	for (u32 event = 0; event < PMC_EVENTS; event++)
		fprintf(out, "%-20s", events[event]);
	for (u32 place = 0; place < PMC_SMI; place++) {
		fprintf(out, "\n  %-8s", pmc_place_name(place));
		for (u32 event = 0; event < PMC_EVENTS; event++) {
			const struct spread *s = &r->over[event][place];

			snprintf(text, sizeof(text), "%d, %d to %d", s->usual, s->least, s->most);
			if (s->least == s->most)
				*strchr(text, ',') = 0;
			fprintf(out, "%-20s", s->turns ? text : "not measured");
		}
	}
}

static void print_quantiles(const s32 *q, FILE *out)
{
	for (u32 i = 0; i < PMC_LATES; i++)
		fprintf(out, "%9d", q[i]);
}

static void print_lateness(const struct result *r, FILE *out)
{
	fprintf(out,
		"\n\nLateness of a counter's interrupt, in cycles and in instructions\n%35s%9s%9s%9s%9s%9s\n",
		"min", "median", "99%", "99.9%", "99.99%", "max");
	for (u32 i = 0; i < RUNS; i++) {
		const struct lateness *l = &r->late[i];

		if (!l->rate)
			continue;
		fprintf(out, "  %-17s%-7s", codes[i / 2], loads[i % 2]);
		print_quantiles(l->cycles, out);
		fprintf(out, "  %u.%03u instructions a cycle\n%26s", l->rate / 1000, l->rate % 1000,
			"");
		print_quantiles(l->insns, out);
		fprintf(out, "  %u of %u lost\n", l->lost, l->lost + l->interrupts);
	}
}

void report_text(const struct result *r, FILE *out)
{
	static struct pmc_row row;
	char text[PMC_ROW_SIZE];
	const char *why;

	fprintf(out,
		"%s, family %xh, model %xh, stepping %u, microcode %s\nLinux %s, load %.2f, %u turns%s\n",
		r->brand, r->family, r->model, r->stepping, r->microcode, r->kernel, r->load,
		r->turns, r->hypervisor ? ", in a virtual machine" : "");
	print_places(r, out);
	print_lateness(r, out);
	if (r->ibs_due)
		fprintf(out, "\nIBS %s across VMRUN: %u samples of the guest, %u are due\n",
			2 * r->ibs_samples > r->ibs_due ? "counts" : "does not count",
			r->ibs_samples, r->ibs_due);
	fprintf(out,
		"\nNot measured: SMIs, and freezing at the interrupt, which this processor %s.\n\n",
		r->freezes ? "has" : "does not have");
	row_of(r, &row);
	for (u32 event = 0; event < PMC_EVENTS; event++) {
		verdict(&row, event, text, sizeof(text));
		fprintf(out, "%s: %s\n", events[event], text);
	}
	if (row.rate)
		fprintf(out, "lateness: %u to %u cycles, 999 of 1,000 at most %u\n",
			row.late[PMC_MIN], row.late[PMC_MAX], row.late[PMC_P999]);
	for (u32 event = PMC_INSNS; event <= PMC_BRANCHES; event++) {
		/* The branches of LWP are those without far transfers. */
		if (pmc_row_exact(&row, event, &why) &&
		    (event == PMC_INSNS || pmc_row_exact(&row, PMC_FAR, &why)))
			fprintf(out,
				"exact delivery of %s: possible at periods above %u instructions\n",
				events[event], least_period(r));
		else
			fprintf(out, "exact delivery of %s: not possible: %s\n", events[event],
				why);
	}
	pmc_row_format(&row, text, sizeof(text));
	fprintf(out, "row: %s\n", text);
}

void report_json(const struct result *r, FILE *out)
{
	static struct pmc_row row;
	char text[PMC_ROW_SIZE];

	row_of(r, &row);
	pmc_row_format(&row, text, sizeof(text));
	fprintf(out,
		"{\"vendor\": \"%s\", \"brand\": \"%s\", \"family\": %u, \"model\": %u, \"stepping\": %u,\n"
		"\"microcode\": \"%s\", \"kernel\": \"%s\", \"hypervisor\": %d, \"freezes\": %d, \"load\": %.2f,\n"
		"\"turns\": %u, \"row\": \"%s\"",
		r->vendor, r->brand, r->family, r->model, r->stepping, r->microcode, r->kernel,
		r->hypervisor, r->freezes, r->load, r->turns, text);
	fprintf(out, ",\n\"ibs\": {\"due\": %u, \"samples\": %u}", r->ibs_due, r->ibs_samples);
	for (u32 i = 0; i < PMC_EVENTS; i++) {
		for (u32 j = 0; j < PMC_SMI; j++) {
			const struct spread *s = &r->over[i][j];

			fprintf(out,
				",\n\"%s.%s\": {\"turns\": %u, \"least\": %d, \"usual\": %d, \"most\": %d}",
				pmc_event_name(i), pmc_place_name(j), s->turns, s->least, s->usual,
				s->most);
		}
	}
	for (u32 i = 0; i < RUNS; i++) {
		const struct lateness *l = &r->late[i];

		fprintf(out, ",\n\"%s, %s\": {\"interrupts\": %u, \"lost\": %u, \"rate\": %u",
			codes[i / 2], loads[i % 2], l->interrupts, l->lost, l->rate);
		for (u32 j = 0; j < PMC_LATES; j++)
			fprintf(out, "%s%d", j ? ", " : ", \"cycles\": [", l->cycles[j]);
		for (u32 j = 0; j < PMC_LATES; j++)
			fprintf(out, "%s%d", j ? ", " : "], \"instructions\": [", l->insns[j]);
		fprintf(out, "]}");
	}
	fprintf(out, "\n}\n");
}
