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
	return domain_parse(&d, xml, strlen(xml), "D");
}

static void refused(const char *xml, const char *line)
{
	cr_redirect_stderr();
	cr_expect(not(parse(xml)), "%s", line);
	fflush(stderr);
	cr_expect_stderr_eq_str(line);
	domain_free(&d);
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
		domain_free(&d);
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

/* EDX bits: val 1, ire 2, bre 3. libvirt drops a feature that is off. */
Test(domain, bits_are_features_where_the_cpu_map_knows_them)
{
	cr_assert(parse(DOMAIN("<cpu><feature policy='require' name='lwp-val'/>"
			       "<feature policy='force' name='lwp-ire'/>"
			       "<feature name='lwp-bre'/>"
			       "<feature policy='disable' name='lwp-cont'/>"
			       "<feature policy='forbid' name='lwp-ptsc'/>"
			       "<feature policy='optional' name='lwp-int'/></cpu>")));
	cr_expect(eq(u32, d.settings.on, 0x0000000e));
	cr_expect(eq(u32, d.settings.off, 0));
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

Test(domain, a_bit_that_there_is_not_is_refused)
{
	refused(DOMAIN("<cpu><feature name='lwp-frob'/></cpu>"),
		"lwpctl: D: line 1: there is no property 'lwp-frob'\n");
}

Test(domain, name_emulator_and_type_are_read)
{
	cr_assert(parse(DOMAIN("<devices><emulator>/q</emulator></devices>")));
	cr_expect(eq(str, d.name, text("g")));
	cr_expect(eq(str, d.emulator, text("/q")));
	cr_expect(eq(str, d.type, text("qemu")));
}

Test(domain, text_that_is_no_xml_is_named_by_its_line)
{
	refused("<domain>\n<name>g</domain>",
		"lwpctl: D: line 2: expected XML: Premature end of data in tag domain line 1\n");
}

Test(domain, another_document_is_refused)
{
	refused("<network/>", "lwpctl: D: line 1: expected the element <domain>\n");
}

Test(domain, a_domain_without_name_is_refused)
{
	refused("<domain>\n</domain>",
		"lwpctl: D: line 1: expected an element <name> in <domain>\n");
}

Test(domain, a_bad_property_is_named_by_its_line)
{
	refused(ARGS("<qemu:arg value='-global'/>\n"
		     "<qemu:arg value='x86_64-cpu.lwp-max-events=9'/>"),
		"lwpctl: D: line 3: lwp-max-events: expected a number from 1 to 6, got '9'\n");
}

Test(domain, a_global_without_value_is_refused)
{
	refused(ARGS(GLOBAL("x86_64-cpu.lwp-max-events")),
		"lwpctl: D: line 2: -global: expected DRIVER.PROPERTY=VALUE\n");
}

/* libvirt drops a commandline that is not in its name space, and says nothing. */
Test(domain, a_commandline_without_its_name_space_is_refused)
{
	refused("<domain><name>g</name>\n<commandline/></domain>",
		"lwpctl: D: line 2: expected "
		"xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0' on <domain>: without it "
		"libvirt drops this element\n");
}

/* ---- What will surprise --------------------------------------------------------------------- */

/* So many that name the word; "": at all. */
static void expect_traps(unsigned int number, const char *xml, const char *word)
{
	unsigned int nr = 0, found = 0;
	const char *trap;

	cr_assert(parse(xml));
	while ((trap = domain_trap(&d, nr))) {
		found += strstr(trap, word) != NULL;
		nr++;
	}
	domain_free(&d);
	cr_expect(eq(u32, *word ? found : nr, number), "%s", xml);
}

#define RECIPE_CPU(attributes, policy, more) \
	"<cpu" attributes "><feature policy='" policy "' name='lwp'/>" more "</cpu>"
#define ENFORCE "<qemu:commandline>" GLOBAL("x86_64-cpu.enforce=on") "</qemu:commandline>"

Test(domain, the_recipe_has_no_trap)
{
	expect_traps(0, DOMAIN(RECIPE_CPU(" check='partial'", "force", "") ENFORCE), "");
}

Test(domain, a_domain_without_lwp_has_no_trap)
{
	expect_traps(0, DOMAIN("<cpu check='none'/>"), "");
}

Test(domain, a_bit_that_libvirt_drops_is_a_trap)
{
	expect_traps(1,
		     DOMAIN(RECIPE_CPU(" check='partial'", "force",
				       "<feature policy='disable' name='lwp-ptsc'/>") ENFORCE),
		     "drops policy='disable'");
	expect_traps(0,
		     DOMAIN(RECIPE_CPU(" check='partial'", "force",
				       "<feature policy='optional' name='lwp-ptsc'/>") ENFORCE),
		     "");
}

Test(domain, policy_require_is_a_trap)
{
	expect_traps(1, DOMAIN(RECIPE_CPU(" check='partial'", "require", "") ENFORCE),
		     "policy='force'");
}

Test(domain, no_enforce_is_a_trap)
{
	expect_traps(1, DOMAIN(RECIPE_CPU(" check='partial'", "force", "")), "enforce=on");
}

Test(domain, check_none_is_a_trap)
{
	expect_traps(1, DOMAIN(RECIPE_CPU(" check='none'", "force", "") ENFORCE),
		     "check='partial'");
	expect_traps(1, DOMAIN(RECIPE_CPU("", "force", "") ENFORCE), "check='partial'");
}
