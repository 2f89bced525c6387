// SPDX-License-Identifier: GPL-2.0-or-later
/* libvirt domains: where their LWP is configured, errors in them, and warnings. */
#include "domain.h"
#include "hosts.h"

#define QEMU_NS " xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'"
#define DOMAIN(more) "<domain type='qemu'" QEMU_NS "><name>g</name>" more "</domain>"
#define ARGS(more) DOMAIN("<qemu:commandline>\n" more "</qemu:commandline>")
#define GLOBAL(text) "<qemu:arg value='-global'/><qemu:arg value='" text "'/>"

static struct domain d;

static bool parse(const char *xml)
{
	domain_free(&d);
	return domain_parse(&d, xml, strlen(xml), "D");
}

static void tear_down(void)
{
	domain_free(&d);
}

TestSuite(domain, .fini = tear_down);

Test(domain, lwp_is_a_feature_of_the_cpu)
{
	static const struct {
		const char *xml;
		bool lwp;
	} cases[] = {
		{ DOMAIN("<cpu><feature policy='require' name='lwp'/></cpu>"), true },
		{ DOMAIN("<cpu><feature policy='force' name='lwp'/></cpu>"), true },
		{ DOMAIN("<cpu><feature name='lwp'/></cpu>"), true },
		{ DOMAIN("<cpu><feature policy='optional' name='lwp'/></cpu>"), false },
		{ DOMAIN("<cpu><feature policy='disable' name='lwp'/></cpu>"), false },
		{ DOMAIN("<cpu/>"), false },
		{ DOMAIN(""), false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_assert(parse(cases[i].xml));
		cr_expect(eq(int, d.settings.lwp, cases[i].lwp), "%s", cases[i].xml);
	}
}

Test(domain, properties_come_from_all_forms_of_global)
{
	cr_assert(parse(ARGS(GLOBAL("x86_64-cpu.lwp-max-events=3")
				     GLOBAL("EPYC-x86_64-cpu.lwp-min-buffer=4")
					     GLOBAL("driver=x86_64-cpu,property=lwp-ptsc,value=off")
						     GLOBAL("virtio-net.lwp-max-events=9"))));
	cr_expect(eq(int, d.settings.max_events, 3));
	cr_expect(eq(int, d.settings.min_buffer, 4));
	cr_expect(eq(u32, d.settings.off, 0x40000000));
}

Test(domain, properties_come_from_the_last_cpu_option)
{
	cr_assert(parse(ARGS("<qemu:arg value='-cpu'/>"
			     "<qemu:arg value='EPYC,+lwp,lwp-rev=2007,lwp-bre=off'/>")));
	cr_expect(d.settings.lwp);
	cr_expect(eq(int, d.settings.rev, LWP_REV_2007));
	cr_expect(eq(u32, d.settings.off, 0x00000008));
}

/* EDX bits: val 1, ire 2, bre 3, cont 29, ptsc 30. */
Test(domain, bits_are_features_of_the_patched_libvirt)
{
	cr_assert(parse(DOMAIN("<cpu><feature policy='require' name='lwp-val'/>"
			       "<feature policy='force' name='lwp-ire'/>"
			       "<feature name='lwp-bre'/>"
			       "<feature policy='disable' name='lwp-cont'/>"
			       "<feature policy='forbid' name='lwp-ptsc'/>"
			       "<feature policy='optional' name='lwp-int'/></cpu>")));
	cr_expect(eq(u32, d.settings.on, 0x0000000e));
	cr_expect(eq(u32, d.settings.off, 0x60000000));
}

Test(domain, bits_of_the_cpu_win_over_global)
{
	cr_assert(parse(DOMAIN(
		"<cpu><feature policy='require' name='lwp-val'/></cpu>"
		"<qemu:commandline>" GLOBAL("x86_64-cpu.lwp-val=off") "</qemu:commandline>")));
	cr_expect(eq(u32, d.settings.on, 0x00000002));
	cr_expect(eq(u32, d.settings.off, 0));
}

Test(domain, a_second_cpu_takes_the_place_of_bits)
{
	cr_assert(parse(DOMAIN("<cpu><feature policy='require' name='lwp-val'/></cpu>"
			       "<qemu:commandline><qemu:arg value='-cpu'/>"
			       "<qemu:arg value='EPYC,+lwp'/></qemu:commandline>")));
	cr_expect(eq(u32, d.settings.on | d.settings.off, 0));
}

Test(domain, the_name_is_read)
{
	cr_assert(parse(DOMAIN("")));
	cr_expect(eq(str, d.name, text("g")));
}

Test(domain, what_is_wrong_is_named_by_its_line)
{
	refuses(parse, "<domain>\n<name>g</domain>",
		"lwpctl: D: line 2: expected XML: Premature end of data in tag domain line 1\n");
	refuses(parse, "<network/>", "lwpctl: D: line 1: expected the element <domain>\n");
	refuses(parse, "<domain>\n</domain>",
		"lwpctl: D: line 1: expected an element <name> in <domain>\n");
	refuses(parse, DOMAIN("<cpu><feature name='lwp-frob'/></cpu>"),
		"lwpctl: D: line 1: there is no property 'lwp-frob'\n");
	refuses(parse,
		ARGS("<qemu:arg value='-global'/>\n"
		     "<qemu:arg value='x86_64-cpu.lwp-max-events=9'/>"),
		"lwpctl: D: line 3: lwp-max-events: expected a number from 1 to 6, got '9'\n");
	/* libvirt drops a commandline that is not in its name space, and says nothing. */
	refuses(parse, "<domain><name>g</name>\n<commandline/></domain>",
		"lwpctl: D: line 2: expected xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0' on "
		"<domain>: without it libvirt drops this element\n");
}

Test(domain, a_global_without_value_is_refused)
{
	refuses(parse, ARGS(GLOBAL("x86_64-cpu.lwp-max-events")),
		"lwpctl: D: line 2: -global: expected DRIVER.PROPERTY=VALUE\n");
}

/* ---- What will surprise --------------------------------------------------------------------- */

/* So many that name the word; "": at all. */
static void expect_traps(unsigned int number, const char *xml, const char *word)
{
	unsigned int nr = 0, found = 0;
	char trap[WHY_SIZE];

	cr_assert(parse(xml));
	while (domain_trap(&d, managers, nr, trap)) {
		found += strstr(trap, word) != NULL;
		nr++;
	}
	cr_expect(eq(u32, *word ? found : nr, number), "%s", xml);
}

#define RECIPE_CPU(attributes, policy, more) \
	"<cpu" attributes "><feature policy='" policy "' name='lwp'/>" more "</cpu>"
#define PARTIAL " check='partial'"
#define ENFORCE "<qemu:commandline>" GLOBAL("x86_64-cpu.enforce=on") "</qemu:commandline>"

Test(domain, the_recipe_and_a_domain_without_lwp_have_no_trap)
{
	expect_traps(0, DOMAIN(RECIPE_CPU(PARTIAL, "force", "") ENFORCE), "");
	expect_traps(0, DOMAIN("<cpu check='none'/>"), "");
}

Test(domain, policy_require_and_no_check_are_traps)
{
	expect_traps(1, DOMAIN(RECIPE_CPU(PARTIAL, "require", "") ENFORCE), "announce=on");
	expect_traps(1, DOMAIN(RECIPE_CPU(" check='none'", "force", "") ENFORCE),
		     "check='partial'");
	expect_traps(1, DOMAIN(RECIPE_CPU("", "force", "") ENFORCE), "check='partial'");
}

Test(domain, no_enforce_is_a_trap)
{
	expect_traps(1, DOMAIN(RECIPE_CPU(PARTIAL, "force", "")), "enforce=on");
	expect_traps(0, DOMAIN(RECIPE_CPU(PARTIAL, "require", "")), "enforce=on");
}
