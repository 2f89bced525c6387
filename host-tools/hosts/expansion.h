/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the answers of QEMU's query-cpu-model-expansion to what a host can give. */
#ifndef LWPCTL_EXPANSION_H
#define LWPCTL_EXPANSION_H

#include "hostcaps.h"
#include "qmp.h"

/*
 * Asks a QEMU for each revision, context and delivery, and for the class. @host->reason is set when there is no LWP, or
 * none whose numbers make sense.
 */
void hostcaps_ask(struct hostcaps *host, struct qmp *qmp);

#endif
