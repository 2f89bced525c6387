// SPDX-License-Identifier: GPL-2.0-or-later
/* Names in the columns that a terminal has. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fit.h"
#include "memory.h"

#define DOTS "..."
#define DOTS_SIZE (sizeof(DOTS) - 1)
#define COLUMNS_MAX 100000

size_t terminal_columns(void)
{
	const char *text = getenv("COLUMNS");
	struct winsize size;
	unsigned long columns;

	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	columns = text ? strtoul(text, NULL, 10) : 0;
	return columns < COLUMNS_MAX ? columns : 0;
}

static bool begins_column(char byte)
{
	return ((unsigned char)byte & 0xc0) != 0x80;
}

size_t columns_of(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += begins_column(*text);
	return n;
}

/* Of what begins here and has brackets that are none: "operator<<", "operator()", "->"; 0: there is nothing such. */
static size_t no_brackets(const char *text)
{
	static const char word[] = "operator";
	size_t length = sizeof(word) - 1;

	if (!strncmp(text, "->", 2))
		return 2;
	if (strncmp(text, word, length) != 0)
		return 0;
	return length + (text[length] == '(' ? 2 : strspn(text + length, "<>=-!&|+*/%^~[],"));
}

/* The length of what begins with this bracket and ends with the one that closes it; 0: nothing does. */
static size_t bracketed(const char *text, char open, char close)
{
	size_t depth = 0;

	for (size_t i = 0; text[i];) {
		size_t none = no_brackets(text + i);

		if (!none) {
			depth += text[i] == open;
			depth -= text[i] == close;
		}
		i += none ?: 1;
		if (!depth)
			return i;
	}
	return 0;
}

/* Without what such brackets hold, unless a name begins with them, as "<T as Trait>::f" or "(anonymous namespace)::f". */
static char *without(const char *name, char open, char close)
{
	char *out = must(malloc(strlen(name) + 1)), *to = out;
	size_t length;

	for (size_t i = 0; name[i]; i += length) {
		const char *kept = name + i;

		length = no_brackets(kept) ?: 1;
		if (*kept == open && i && !strchr(" :(,<{&*", kept[-1])) {
			length = bracketed(kept, open, close) ?: 1;
			if (length > DOTS_SIZE + 2) {
				to += sprintf(to, "%c" DOTS "%c", open, close);
				continue;
			}
		}
		memcpy(to, kept, length);
		to += length;
	}
	*to = '\0';
	return out;
}

/* Without the middle. */
static char *cut(const char *name, size_t columns)
{
	size_t all = columns_of(name), left = columns > DOTS_SIZE ? columns - DOTS_SIZE : 0;
	size_t head = left / 2, tail = all - (left - head), at = 0;
	char *out = must(malloc(strlen(name) + DOTS_SIZE + 1)), *to = out;

	for (; *name; name++) {
		at += begins_column(*name);
		if (at <= head || at > tail)
			*to++ = *name;
		else if (begins_column(*name) && at == head + 1)
			to = stpcpy(to, DOTS);
	}
	*to = '\0';
	return out;
}

char *fitted(const char *name, size_t columns)
{
	char *text = must(strdup(name)), *shorter;

	for (size_t i = 0; i < 3 && columns_of(text) > columns; i++) {
		shorter = i == 2 ? cut(text, columns) : without(text, i ? '(' : '<', i ? ')' : '>');
		free(text);
		text = shorter;
	}
	return text;
}

char *fitted_symbol(const char *symbol, const char *object, size_t used, bool wide)
{
	size_t columns = terminal_columns(), most = NAME_MOST;
	char *name, *text;

	used += strlen("  ()") + columns_of(object);
	if (columns)
		most = columns < used + NAME_LEAST ? NAME_LEAST : columns - used;
	name = fitted(symbol, wide ? SIZE_MAX : most);
	text = formatted("%s  (%s)", name, object);
	free(name);
	return text;
}
