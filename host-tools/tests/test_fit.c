// SPDX-License-Identifier: GPL-2.0-or-later
/* Names in the columns that a terminal has. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>

#include "fit.h"

static void expect_fitted(const char *name, size_t columns, const char *wanted)
{
	char *text = fitted(name, columns);

	cr_expect(eq(str, text, (char *)wanted));
	free(text);
}

Test(fit, a_name_that_has_room_is_as_it_is)
{
	expect_fitted("vector<int>::size(int)", 22, "vector<int>::size(int)");
	expect_fitted("", 0, "");
}

Test(fit, template_arguments_are_left_out_first_and_then_parameters)
{
	static const char name[] =
		"std::basic_string<char, std::allocator<char> >::_M_construct<char*>(char*, char*)";

	expect_fitted(name, 80, "std::basic_string<...>::_M_construct<...>(char*, char*)");
	expect_fitted(name, 54, "std::basic_string<...>::_M_construct<...>(...)");
}

Test(fit, then_the_middle_is_left_out)
{
	expect_fitted("_dl_relocate_object", 10, "_dl...ject");
	expect_fitted("_dl_relocate_object", 11, "_dl_...ject");
	expect_fitted("a_file_with_a_long_name.cpp:1234", 16, "a_file...pp:1234");
	expect_fitted("x\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9y", 7, "x\u00e9...\u00e9y");
}

Test(fit, brackets_that_are_no_arguments_stay)
{
	expect_fitted("<alloc::vec::Vec<u8, A> as core::fmt::Write>::write_str_and_more", 63,
		      "<alloc::vec::Vec<...> as core::fmt::Write>::write_str_and_more");
	expect_fitted("(anonymous namespace)::parse(char const*, unsigned long)", 40,
		      "(anonymous namespace)::parse(...)");
	expect_fitted("a::operator<<(a::stream&, std::pair<int, int> const&)", 52,
		      "a::operator<<(a::stream&, std::pair<...> const&)");
	expect_fitted("std::function<int (int)>::operator()(int, int) const", 41,
		      "std::function<...>::operator()(...) const");
	expect_fitted("f(fn(u8) -> u8, u64)::unclosed<abcdef", 36, "f(...)::unclosed<abcdef");
}

static void expect_symbol(const char *name, size_t used, bool wide, const char *wanted)
{
	char *text = fitted_symbol(name, "lib", used, wide);

	cr_expect(eq(str, text, (char *)wanted));
	free(text);
}

Test(fit, a_symbol_has_what_the_line_leaves_it)
{
	static const char name[] = "a_function_with_a_long_name_indeed(int)";

	setenv("COLUMNS", "60", 1);
	expect_symbol(name, 20, false, "a_function_with...ame_indeed(int)  (lib)");
	expect_symbol(name, 58, false, "a_function...indeed(int)  (lib)");
	expect_symbol(name, 58, true, "a_function_with_a_long_name_indeed(int)  (lib)");
	setenv("COLUMNS", "wide", 1);
	cr_expect(eq(sz, terminal_columns(), 0));
}
