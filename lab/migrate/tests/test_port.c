// SPDX-License-Identifier: GPL-2.0-or-later
/* The lines of a serial port on which one machine follows another. */
#include "port.h"

#include <criterion/criterion.h>

/* Bytes that end no line, then one that may. */
static const char *take(struct port_lines *port, const char *bytes)
{
	for (; bytes[1]; bytes++)
		cr_assert_null(port_take(port, *bytes));
	return port_take(port, *bytes);
}

Test(port, a_line_ends_with_lf_and_loses_cr)
{
	struct port_lines port = { .length = 0 };

	cr_assert_str_eq(take(&port, "0.1 4 ok\r\n"), "0.1 4 ok");
	cr_assert_str_eq(take(&port, "1.1 1 ok\n"), "1.1 1 ok");
}

Test(port, a_migrated_machine_ends_its_line)
{
	struct port_lines port = { .length = 0 };

	cr_assert_null(take(&port, "0.1 4"));
	cr_assert_str_eq(take(&port, " ok\r\n"), "0.1 4 ok");
}

Test(port, what_a_machine_that_is_gone_has_begun_is_no_part_of_the_next_ones_line)
{
	struct port_lines port = { .length = 0 };

	cr_assert_null(take(&port, "0.1 4 ok"));
	port_begin(&port);
	cr_assert_str_eq(take(&port, "1.1 1 ok\r\n"), "1.1 1 ok");
}

/* Each host hears what is said there; what was begun goes with the machine. */
Test(port, a_line_that_is_begun_on_one_host_ends_on_the_other)
{
	struct port_lines here = { .length = 0 }, there = { .length = 0 };

	cr_assert_null(take(&here, "0.1 14"));
	there = here;
	cr_assert_str_eq(take(&there, " ok\r\n"), "0.1 14 ok");
	cr_assert_null(take(&there, "1.0 9 o"));
	here = there;
	cr_assert_str_eq(take(&here, "k\r\n"), "1.0 9 ok");
}

Test(port, a_line_that_is_too_long_is_cut)
{
	struct port_lines port = { .length = 0 };
	int i;

	for (i = 0; i < 2 * PORT_LINE; i++)
		cr_assert_null(port_take(&port, 'x'));
	cr_assert_eq(strlen(port_take(&port, '\n')), PORT_LINE - 1);
}
