// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pre-aggregated branches for perf2bolt -pa: B FROM TO COUNT MISPREDICTIONS, F FROM TO COUNT for a straight run, f if the
 * branch that led to it was in another function; addresses are hexadecimal.
 */
#include <inttypes.h>

#include "edges.h"

static uint64_t whole(double number)
{
	return number < 1 ? 1 : (uint64_t)(number + 0.5);
}

bool export_bolt(struct export *e)
{
	uint32_t object = export_object(e);
	struct edges edges = { 0 };
	bool good = object != LWPDATA_NONE && edges_make(&edges, e, object);
	const struct symbols *symbols = good ? resolver_object(&e->view->resolver, object) : NULL;

	for (size_t i = 0; good && i < edges.nr_taken; i++) {
		const struct edge *x = &edges.taken[i];

		fprintf(e->out, "B %" PRIx64 " %" PRIx64 " %" PRIu64 " %.0f\n", x->from, x->to,
			whole(x->number), x->wrong);
	}
	for (size_t i = 0; good && i < edges.nr_runs; i++) {
		const struct edge *x = &edges.runs[i];

		/* perf2bolt does not disassemble stubs, and would call these runs mismatching. */
		if (symbols_stub_at(symbols, x->from))
			continue;
		fprintf(e->out, "%c %" PRIx64 " %" PRIx64 " %" PRIu64 "\n", x->entered ? 'f' : 'F',
			x->from, x->to, whole(x->number));
	}
	edges_free(&edges);
	return good;
}
