// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The text of create_gcov: the number of ranges, FROM-TO:COUNT for each; the number of addresses of samples, of which it
 * needs none; the number of branches, FROM->TO:COUNT for each.
 */
#include <inttypes.h>

#include "edges.h"
#include "lwpctl.h"

static void put(FILE *out, const struct edge *list, size_t nr, const char *between)
{
	fprintf(out, "%zu\n", nr);
	for (size_t i = 0; i < nr; i++)
		fprintf(out, "%" PRIx64 "%s%" PRIx64 ":%.0f\n", list[i].from, between, list[i].to,
			list[i].number < 1 ? 1 : list[i].number);
}

bool export_afdo(struct export *e)
{
	uint32_t object = export_object(e);
	struct edges edges = { 0 };
	bool good = object != LWPDATA_NONE && edges_make(&edges, e, object);

	if (good && !edges.nr_runs)
		good = refuse(
			"%s: single records of branches tell no ranges: record windows (lwprun "
			"--windows)",
			e->view->profile.path);
	if (good) {
		put(e->out, edges.runs, edges.nr_runs, "-");
		fputs("0\n", e->out);
		put(e->out, edges.taken, edges.nr_taken, "->");
	}
	edges_free(&edges);
	return good;
}
