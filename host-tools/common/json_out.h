/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing JSON: objects and lists of text, flags, numbers and each other. Without memory the program ends. */
#ifndef LWPCTL_JSON_OUT_H
#define LWPCTL_JSON_OUT_H

#include <json-c/json.h>
#include <stdbool.h>

#include "memory.h"

static inline json_object *json_itself(json_object *value)
{
	return value;
}

/* Text (not NULL), a flag, a number with a fraction, a number of at most 64 bits without a sign, or JSON. */
#define json_of(value) \
	must(_Generic((value),                     \
		char *: json_object_new_string,    \
		const char *: json_object_new_string, \
		bool: json_object_new_boolean,     \
		double: json_object_new_double,    \
		json_object *: json_itself,        \
		default: json_object_new_uint64)(value))

#define json_new() ((json_object *)must(json_object_new_object()))
#define json_list() ((json_object *)must(json_object_new_array()))
#define json_add(object, name, value) json_object_object_add(object, name, json_of(value))
#define json_append(list, value) json_object_array_add(list, json_of(value))

#endif
