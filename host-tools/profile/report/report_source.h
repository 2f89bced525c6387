/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The hottest lines of source with their text. */
#ifndef LWPCTL_REPORT_SOURCE_H
#define LWPCTL_REPORT_SOURCE_H

#include <json-c/json.h>

#include "lwpctl_report.h"

/* For people: file by file, with the lines around. */
void source_print(const struct report *report, uint32_t event_id);

/* Adds a row's share, and its interval. */
void json_share(struct json_object *item, const struct row *row);

/* An array, the hottest line first. */
struct json_object *source_json(const struct report *report, uint32_t event_id);

#endif
