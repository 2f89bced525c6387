// SPDX-License-Identifier: GPL-2.0-or-later
/* Text of guests on the terminal and in files of the host. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>

#include "printable.h"

static void expect(const char *text, const char *shown)
{
	char *is = printable_string(text);

	cr_expect(eq(str, is, (char *)shown));
	free(is);
}

Test(printable, plain_text_stays)
{
	expect("", "");
	expect("a name, with \\ and \"quotes\"", "a name, with \\ and \"quotes\"");
	expect("Gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\xa7",
	       "Gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\xa7");
}

Test(printable, control_characters_are_escaped)
{
	expect("a\nb\tc\x1b[2J\x7f", "a\\x0ab\\x09c\\x1b[2J\\x7f");
	/* U+009B, which terminals take for ESC [ */
	expect("\xc2\x9b"
	       "2J",
	       "\\xc2\\x9b2J");
}

Test(printable, marks_of_direction_and_line_separators_are_escaped)
{
	expect("a\xe2\x80\xae"
	       "b",
	       "a\\xe2\\x80\\xaeb"); /* U+202E */
	expect("\xe2\x81\xa6", "\\xe2\\x81\\xa6"); /* U+2066 */
	expect("\xe2\x80\xa8", "\\xe2\\x80\\xa8"); /* U+2028 */
}

Test(printable, what_is_not_utf8_is_escaped)
{
	expect("\xff\xfe", "\\xff\\xfe");
	expect("\xc3", "\\xc3"); /* cut off */
	expect("\xc0\x80", "\\xc0\\x80"); /* longer than needed */
	expect("\xed\xa0\x80", "\\xed\\xa0\\x80"); /* a surrogate */
	expect("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* beyond U+10FFFF */
}

Test(printable, a_zero_byte_is_escaped)
{
	char *is = printable("a\0b", 3);

	cr_expect(eq(str, is, (char *)"a\\x00b"));
	free(is);
}
