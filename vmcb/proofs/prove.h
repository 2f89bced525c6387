/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One property, three engines. A property is PROPERTY(name) { ... }; its inputs are ANY(type, name).
 *	CBMC: ANY is every value there is, so check() is proved, and cover() shows that it is
 *		reached: an input for which its condition holds exists.
 *	libFuzzer: ANY comes from the input, whose first byte chooses the property.
 *	replay: the same program on one file, which `./vlwp test prove` has written of a
 *		counterexample; PROPERTY in the environment names the property.
 * An input for which an assume() does not hold is dropped.
 */
#ifndef PROVE_H
#define PROVE_H

#include "lwp_types.h"

/* Of any bytes, a bool. */
#define ANY_BOOL(b) ((void)(*(u8 *)&(b) &= 1))

#ifdef __CPROVER__

/* Its end must be reached, or nothing would be proved. */
#define PROPERTY(name)               \
	static void name##_is(void); \
	void name(void)              \
	{                            \
		name##_is();         \
		cover("its end");    \
	}                            \
	static void name##_is(void)
#define ANY(type, name) \
	type name;      \
	__CPROVER_input(#name, name)
#define ANY_AGAIN(name)                          \
	do {                                     \
		__CPROVER_havoc_object(&(name)); \
		__CPROVER_input(#name, name);    \
	} while (0)
#define assume(cond) __CPROVER_assume(cond)
#define check(rule, cond) __CPROVER_assert(cond, rule ": " #cond)
#define cover(cond) __CPROVER_assert(!(cond), "cover: " #cond)
/* n bytes: the end of an array of most bytes, as sizes that are not constant make CBMC slow. */
#define ANY_BYTES(name, n, most)            \
	u8 name##_all[most];                \
	__CPROVER_input(#name, name##_all); \
	u8 *name = name##_all + ((most) - (n))

#else

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

struct property {
	const char *name;
	void (*run)(void);
	struct property *next;
};

static struct property *properties;
static const u8 *input;
static size_t input_left;
static jmp_buf dropped;

static inline void any_bytes(void *to, size_t len)
{
	size_t n = len < input_left ? len : input_left;

	memset(to, 0, len);
	memcpy(to, input, n);
	input += n;
	input_left -= n;
}

#define PROPERTY(id)                                               \
	static void id(void);                                      \
	static __attribute__((constructor)) void id##_is_one(void) \
	{                                                          \
		static struct property it = { #id, id, NULL };     \
                                                                   \
		it.next = properties;                              \
		properties = &it;                                  \
	}                                                          \
	static void id(void)
#define ANY(type, name) \
	type name;      \
	any_bytes(&(name), sizeof(name))
#define ANY_AGAIN(name) any_bytes(&(name), sizeof(name))
#define assume(cond)                         \
	do {                                 \
		if (!(cond))                 \
			longjmp(dropped, 1); \
	} while (0)
#define check(rule, cond)                                                                    \
	do {                                                                                 \
		if (!(cond)) {                                                               \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, rule, #cond); \
			abort();                                                             \
		}                                                                            \
	} while (0)
#define cover(cond) ((void)0)
#define ANY_BYTES(name, n, most)     \
	u8 name##_all[most];         \
	any_bytes(name##_all, most); \
	u8 *name = name##_all + ((most) - (n))

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	const char *wanted = getenv("PROPERTY");
	struct property *it = properties;
	u8 skip = 0;

	input = data;
	input_left = size;
	if (!wanted)
		any_bytes(&skip, 1);
	while (wanted ? strcmp(it->name, wanted) : skip--) {
		it = it->next;
		if (!it && wanted) {
			fprintf(stderr, "there is no property %s\n", wanted);
			exit(2);
		}
		it = it ? it : properties;
	}
	if (!setjmp(dropped))
		it->run();
	return 0;
}

#endif
#endif
