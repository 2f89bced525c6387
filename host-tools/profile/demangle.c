// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of C++ and Rust, through libiberty of the GNU binutils. */
#include "demangle.h"

#ifdef HAVE_LIBIBERTY
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* A short mangled name can stand for one that is exponentially longer, and take as long: longer ones are given up. */
#define NAME_MAX_SIZE (64 * 1024)

struct name {
	char *text;
	size_t size, room;
	jmp_buf too_long;
};

/* libiberty keeps what it needs on the stack here, so that nothing is lost by the jump. */
static void add(const char *piece, size_t size, void *opaque)
{
	struct name *name = opaque;

	if (name->size + size > NAME_MAX_SIZE)
		longjmp(name->too_long, 1);
	if (name->size + size + 1 > name->room) {
		name->room = 2 * (name->size + size) + 128;
		name->text = must(realloc(name->text, name->room));
	}
	memcpy(name->text + name->size, piece, size);
	name->size += size;
	name->text[name->size] = '\0';
}

char *demangle(const char *mangled)
{
	static const int options = DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP;
	struct name *name;
	char *text = NULL;

	if (mangled[0] != '_')
		return NULL;
	name = must(calloc(1, sizeof(*name)));
	if (!setjmp(name->too_long)) {
		bool done = rust_demangle_callback(mangled, options, add, name);

		if (!done) {
			name->size = 0;
			done = cplus_demangle_v3_callback(mangled, options, add, name);
		}
		if (done && name->size) {
			text = name->text;
			name->text = NULL;
		}
	}
	free(name->text);
	free(name);
	return text;
}
#else
#include <stddef.h>

char *demangle(const char *mangled)
{
	return NULL;
}
#endif
