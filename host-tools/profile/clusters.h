/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How exact the shares of rows are. Samples of one window are neighbours: the windows are what was drawn. */
#ifndef LWPCTL_CLUSTERS_H
#define LWPCTL_CLUSTERS_H

#include "rows.h"

/* Sets what is known of each row's share. `row_of`: the number of the row of each of the samples' places. */
void rows_judge(struct rows *rows, const struct profile *profile, const struct samples *samples,
		const size_t *row_of, uint8_t event_id);

#endif
