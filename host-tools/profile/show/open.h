/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile in the Firefox Profiler, which a browser shows. */
#ifndef LWPCTL_OPEN_H
#define LWPCTL_OPEN_H

#include <stdbool.h>
#include <stdint.h>

#include "view.h"

#define PROFILER "https://profiler.firefox.com"

/*
 * Serves the event's profile to a browser on this machine, and starts $BROWSER, or xdg-open, with the address of the
 * Firefox Profiler at `profiler` that fetches it. Who knows neither that origin nor a random name does not get it. Returns
 * true when SIGINT or SIGTERM has come; false after one line.
 */
bool open_profile(const char *profiler, struct view *view, const struct view_options *options,
		  uint32_t event_id);

#endif
