// SPDX-License-Identifier: GPL-2.0-or-later
/* The names that users write for events. */
#include <string.h>

#include "lwp_rev.h"
#include "lwpdata.h"

static const struct {
	uint32_t event_id;
	const char *name;
} events[] = {
#define LWP_EVENT(name_, id_, event_, ...) { (id_), (event_) },
#include "lwp_events.h"
	{ LWP_EVENT_ID_INS, "inserted" },
};

#define NR_EVENTS (sizeof(events) / sizeof(events[0]))

const char *lwpdata_event_name(uint32_t event_id)
{
	for (size_t i = 0; i < NR_EVENTS; i++)
		if (events[i].event_id == event_id)
			return events[i].name;
	return NULL;
}

uint32_t lwpdata_event_by_name(const char *name, size_t length)
{
	for (size_t i = 0; i < NR_EVENTS; i++)
		if (strlen(events[i].name) == length && !memcmp(events[i].name, name, length))
			return events[i].event_id;
	return 0;
}
