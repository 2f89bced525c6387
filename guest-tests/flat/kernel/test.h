/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a test makes itself known: FLAT_TEST(name) { ... } in a file of its own; see LWP_TEST(). */
#ifndef FLAT_TEST_H
#define FLAT_TEST_H

#include "lwp_types.h"

struct flat_test {
	const char *name;
	void (*run)(void);
};

#define FLAT_TEST(id)                                                              \
	static void run_##id(void);                                                \
	static const struct flat_test test_##id                                    \
		__attribute__((used, section(".flat_tests"))) = { #id, run_##id }; \
	static void run_##id(void)

/*
 * Code for CPL 3, in pages that every address space maps for user mode at the same address. Labels
 * that a test needs are made global in the text and declared extern char name[].
 */
#define USER_CODE(text) asm(".pushsection .utext, \"ax\"\n" text "\n.popsection\n")
/* In it, "user_exit\n" comes back to the kernel; "flush_exit\n" after SLWPCB into RBX, which writes the counters. */
asm(".macro user_exit\n"
    "int $0x80\n"
    ".endm\n"
    ".macro flush_exit\n"
    "slwpcb %rbx\n"
    "user_exit\n"
    ".endm\n");

/* NAME=number on the command line, whether there is NAME= at all, and whether NAME=word is on it. */
u32 option_number(const char *name, u32 otherwise);
bool option_given(const char *name);
bool option_is(const char *name, const char *word);

#endif
