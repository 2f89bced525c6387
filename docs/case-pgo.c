// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * optimized [ROUNDS]: counts words, numbers and signs of a text that it draws. What is rare stands first, as
 * in code that checks for errors: a compiler without a profile cannot know it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct counts {
	uint64_t controls, high, signs, digits, blanks, letters, words;
};

/* Mostly letters, a blank now and then, the rest seldom. */
static unsigned char next(uint64_t *random)
{
	unsigned int draw;

	*random = *random * 6364136223846793005u + 1442695040888963407u;
	draw = (unsigned int)(*random >> 33) % 1024;
	if (draw >= 1023)
		return 1;
	if (draw >= 1022)
		return 0x80;
	if (draw >= 1016)
		return '!';
	if (draw >= 1000)
		return '7';
	return draw >= 850 ? ' ' : (unsigned char)('a' + draw % 26);
}

static __attribute__((noinline)) void classify(struct counts *c, unsigned char byte, int *in_word)
{
	int was = *in_word;

	*in_word = 0;
	if (byte < ' ') {
		c->controls += byte;
		if (c->controls % 7 == 6)
			c->high ^= c->controls << 3;
	} else if (byte >= 0x80) {
		c->high = c->high * 31 + byte;
		if (c->high & 1)
			c->signs++;
	} else if (byte < '0' && byte != ' ') {
		c->signs += c->signs % 3 ? 1 : 2;
	} else if (byte <= '9' && byte != ' ') {
		c->digits = c->digits * 10 + byte - '0';
	} else if (byte == ' ') {
		c->blanks++;
	} else {
		c->letters++;
		*in_word = 1;
		c->words += !was;
	}
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000;
	struct counts c = { 0 };
	uint64_t random = 1;
	int in_word = 0;

	for (unsigned long i = 0; i < rounds; i++)
		classify(&c, next(&random), &in_word);
	printf("%llu words, %llu letters, %llu blanks, %llx\n", (unsigned long long)c.words,
	       (unsigned long long)c.letters, (unsigned long long)c.blanks,
	       (unsigned long long)(c.high ^ c.digits ^ c.signs));
	return 0;
}
