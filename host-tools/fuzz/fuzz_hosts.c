// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files that describe hosts and domains. Input: a host's JSON, a zero byte, a domain's XML. Nothing may crash or
 * leak; a host that is read can be written and read again; the baseline of it alone is one that it fits.
 */

#include "domain.h"
#include "fuzz.h"
#include "lwpctl.h"
#include "host_set.h"

static void check_host(const struct hostcaps *host)
{
	json_object *json = hostcaps_to_json(host);
	const char *text = json_object_to_json_string(json);
	struct hostcaps again;

	CHECK(hostcaps_parse(&again, text, strlen(text), "again"));
	CHECK(!memcmp(again.rev, host->rev, sizeof(host->rev)));
	hostcaps_free(&again);
	json_object_put(json);
	for (u32 rev = 0; rev < LWP_REVS; rev++) {
		const struct wish wish = { .rev = rev };
		struct settings settings;
		struct lwp_caps caps;
		char why[WHY_SIZE];

		if (!host_set_baseline(host, 1, &wish, &settings, &caps, why))
			continue;
		CHECK(lwp_caps_valid(&caps));
		CHECK(host_set_fits(&settings, host, 1, why));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memchr(data, 0, size) : NULL;
	size_t first = end ? (size_t)(end - data) : size;
	char *text = strndup((const char *)data, first);
	struct hostcaps host;
	struct domain domain;
	char why[WHY_SIZE];
	bool have_host;

	CHECK(text);
	complain_as = NULL;
	have_host = hostcaps_parse(&host, text, first, "host");
	if (have_host)
		check_host(&host);
	if (end && domain_parse(&domain, (const char *)end + 1, size - first - 1, "domain")) {
		for (unsigned int i = 0; domain_trap(&domain, managers, i, why); i++)
			;
		if (have_host)
			host_set_fits(&domain.settings, &host, 1, why);
	}
	if (end)
		domain_free(&domain);
	hostcaps_free(&host);
	free(text);
	return 0;
}
