// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The unsymbolized profile of llvm-profgen: the number of ranges, FROM-TO:COUNT for each, the number of branches,
 * FROM->TO:COUNT for each. create_gcov's text has the addresses of samples, of which it needs none, between the two.
 */
#include <inttypes.h>

#include "edges.h"
#include "lwpctl.h"

static uint64_t whole(double number)
{
	return number < 1 ? 1 : (uint64_t)(number + 0.5);
}

static bool put(struct export *e, const char *between)
{
	uint32_t object = export_object(e);
	struct edges edges = { 0 };
	bool good = object != LWPDATA_NONE && edges_make(&edges, e, object);

	if (good && !edges.nr_runs) {
		complain("%s: single records of branches tell no ranges: record windows (lwprun "
			 "--windows)",
			 e->view->profile.path);
		good = false;
	}
	if (good) {
		edges_join_runs(&edges);
		fprintf(e->out, "%zu\n", edges.nr_runs);
		for (size_t i = 0; i < edges.nr_runs; i++)
			fprintf(e->out, "%" PRIx64 "-%" PRIx64 ":%" PRIu64 "\n", edges.runs[i].from,
				edges.runs[i].to, whole(edges.runs[i].number));
		fprintf(e->out, "%s%zu\n", between, edges.nr_taken);
		for (size_t i = 0; i < edges.nr_taken; i++)
			fprintf(e->out, "%" PRIx64 "->%" PRIx64 ":%" PRIu64 "\n",
				edges.taken[i].from, edges.taken[i].to,
				whole(edges.taken[i].number));
	}
	edges_free(&edges);
	return good;
}

bool export_llvm(struct export *e)
{
	return put(e, "");
}

bool export_afdo(struct export *e)
{
	return put(e, "0\n");
}
