// SPDX-License-Identifier: GPL-2.0-or-later
/* Text of guests and of other people's files, made safe for a terminal. */
#include <stdbool.h>
#include <stdint.h>

#include "memory.h"
#include "printable.h"

#define ESCAPED 4 /* characters of \xNN */

static uint32_t decode(const unsigned char *text, size_t length)
{
	static const unsigned char first[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t code = text[0] & first[length];

	for (size_t i = 1; i < length; i++)
		code = code << 6 | (text[i] & 0x3f);
	return code;
}

/* How many bytes of valid UTF-8 begin here, 1..4; 0 if none do. `left` > 0. */
static size_t utf8_length(const unsigned char *text, size_t left)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length = text[0] < 0x80	   ? 1 :
			text[0] >> 5 == 6  ? 2 :
			text[0] >> 4 == 14 ? 3 :
			text[0] >> 3 == 30 ? 4 :
					     0;
	uint32_t code;

	if (!length || length > left)
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	code = decode(text, length);
	if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return length;
}

/* Marks of direction, separators of lines and noncharacters act on what stands around them. */
static bool is_plain(uint32_t code)
{
	if (code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c || code == 0xfeff)
		return false;
	if ((code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
	    (code >= 0x2066 && code <= 0x2069))
		return false;
	return (code & 0xfffe) != 0xfffe && !(code >= 0xfdd0 && code <= 0xfdef);
}

char *printable(const void *bytes, size_t size)
{
	const unsigned char *text = bytes;
	char *out = must(malloc(ESCAPED * size + 1)), *to = out;

	for (size_t i = 0; i < size;) {
		size_t length = utf8_length(text + i, size - i);

		if (length && is_plain(decode(text + i, length))) {
			memcpy(to, text + i, length);
			to += length;
			i += length;
			continue;
		}
		for (size_t end = i + (length ?: 1); i < end; i++)
			to += sprintf(to, "\\x%02x", text[i]);
	}
	*to = '\0';
	return must(realloc(out, (size_t)(to - out) + 1));
}

char *printable_string(const char *string)
{
	return printable(string, strlen(string));
}
