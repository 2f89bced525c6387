/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CHECK_TABLE_H
#define CHECK_TABLE_H

#include "lwp_context_table.h"

/* Ends the program if lists, hashes, spaces and numbers of a table are not consistent. */
void check_table(const struct lwp_ctx_table *t);

#endif
