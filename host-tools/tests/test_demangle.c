// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of C++ and Rust as in the source. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"

static void expect(const char *mangled, const char *name)
{
	char *is = demangle(mangled);

	cr_expect(eq(str, is ?: (char *)"none", (char *)name));
	free(is);
}

Test(demangle, names_of_cxx_are_those_of_the_source)
{
	expect("_ZN4shop4sortEii", "shop::sort(int, int)");
	expect("_Z1fIiEvT_", "f<int>(int)");
	expect("_ZN1AC1Ev", "A::A()");
}

Test(demangle, names_of_rust_are_those_of_the_source)
{
	expect("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write");
	expect("_RNvCs1234_7mycrate3foo", "mycrate::foo");
}

Test(demangle, other_names_stay)
{
	expect("main", "none");
	expect("_start", "none");
	expect("_Znonsense", "none");
	expect("", "none");
}

/* Each parameter refers to the one before twice: the name is 2^n long. */
Test(demangle, a_name_that_would_be_endless_is_given_up, .timeout = 10)
{
	char mangled[4096];
	size_t at = (size_t)sprintf(mangled, "_Z1f1AIiiE");

	for (int i = 0; i < 30; i++) {
		char refer[16];

		/* S1_, S2_ ...: base 36 of the template before */
		if (!i)
			strcpy(refer, "S0_");
		else if (i < 10)
			sprintf(refer, "S%d_", i);
		else
			sprintf(refer, "S%c_", 'A' + i - 10);
		at += (size_t)sprintf(mangled + at, "1AI%s%sE", refer, refer);
	}
	free(demangle(mangled));
	/* S_ = A, S0_ = A<int, int>, S1_ = A<S0_, S0_> ... */
	at = (size_t)sprintf(mangled, "_Z1f1AIiiE");
	at += (size_t)sprintf(mangled + at, "S_IS0_S0_E");
	for (int i = 1; i < 30; i++) {
		char digit = (char)(i < 10 ? '0' + i : 'A' + i - 10);

		at += (size_t)sprintf(mangled + at, "S_IS%c_S%c_E", digit, digit);
	}
	expect(mangled, "none");
}
