// SPDX-License-Identifier: GPL-2.0-or-later
/* Files that describe hosts: a file that was written is read back, and an error is named with its place. */
#include "hosts.h"

#define NUMBERS                                                                            \
	"\"vmcb\":false,\"contexts\":[\"auto\"],\"deliveries\":[\"exact\"],\"version\":1," \
	"\"min_buffer\":1,\"latency_max\":16,\"latency_rounding\":0,\"event_offset\":128," \
	"\"event_size\":32,\"filters\":[]"
#define HEAD "{\"lwp_capabilities\":1,\n\"host\":\"h\",\"source\":\"s\",\n\"revisions\":"
#define REV(more) HEAD "{\"43724\":{" NUMBERS "," more "}}}"
#define EVENTS "lwpctl: F: revisions.43724.max_events: "

static struct hostcaps host;

static void tear_down(void)
{
	hostcaps_free(&host);
}

TestSuite(hostcaps, .fini = tear_down);

static bool parse(const char *json)
{
	hostcaps_free(&host);
	return hostcaps_parse(&host, json, strlen(json), "F");
}

Test(hostcaps, what_is_written_is_read_back)
{
	struct hostcaps was = HOST("a", FULL);
	json_object *json;

	was.rev[1] = (struct host_rev){
		.offered = true,
		.contexts = 1,
		.deliveries = 2,
		.caps = { .rev = 1,
			  .version = 1,
			  .max_events = 3,
			  .cb_size = 64,
			  .event_size = 32,
			  .latency_max = 16,
			  .features = 0x80000006 },
	};
	json = hostcaps_to_json(&was);
	cr_assert(parse(json_object_to_json_string(json)));
	json_object_put(json);
	cr_expect(eq(str, host.name, text("a")));
	cr_expect(eq(int, memcmp(host.rev, was.rev, sizeof(was.rev)), 0));
}

Test(hostcaps, a_host_without_lwp_keeps_its_reason)
{
	cr_assert(parse("{\"lwp_capabilities\":1,\"host\":\"h\",\"source\":\"s\","
			"\"reason\":\"too old\",\"revisions\":{}}"));
	cr_expect(not(hostcaps_any(&host)));
	cr_expect(eq(str, host.reason, text("too old")));
}

Test(hostcaps, text_that_is_no_json_is_named_by_its_line)
{
	refuses(parse, "{\"lwp_capabilities\":1,\n\"host\":}",
		"lwpctl: F: line 2: expected JSON: unexpected character\n");
	refuses(parse, "{\"lwp_capabilities\":1,\n\n",
		"lwpctl: F: line 3: expected more JSON, the file ends\n");
}

Test(hostcaps, what_follows_the_object_is_refused)
{
	refuses(parse, HEAD "{}}\n}", "lwpctl: F: line 4: expected JSON: unexpected character\n");
}

Test(hostcaps, another_format_is_refused)
{
	refuses(parse, "{\"lwp_capabilities\":2}",
		"lwpctl: F: lwp_capabilities: expected 1, the format "
		"that this program knows, got 2\n");
}

Test(hostcaps, what_is_missing_or_wrong_is_named_by_its_path)
{
	refuses(parse, "[1]",
		"lwpctl: F: expected the JSON object that `lwpctl caps --json' prints\n");
	refuses(parse, HEAD "{\"2008\":{}}}",
		"lwpctl: F: revisions: expected '43724' and '2007', got '2008'\n");
	refuses(parse, REV("\"block_size\":176,\"features\":[]"),
		EVENTS "expected a number from 0 to 255, there is nothing\n");
	refuses(parse, REV("\"max_events\":\"6\",\"block_size\":176,\"features\":[]"),
		EVENTS "expected a number from 0 to 255, got string\n");
	refuses(parse, REV("\"max_events\":-1,\"block_size\":176,\"features\":[]"),
		EVENTS "expected a number from 0 to 255, got -1\n");
	refuses(parse, REV("\"max_events\":6,\"block_size\":176,\"features\":[\"lwp-frob\"]"),
		"lwpctl: F: revisions.43724.features: expected names that this program knows, got 'lwp-frob'\n");
	/* Six events end at 128 + 6 * 8 = 176. */
	refuses(parse, REV("\"max_events\":6,\"block_size\":168,\"features\":[]"),
		"lwpctl: F: revisions.43724: expected numbers that fit together as those of one LWP do\n");
}
