// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * paths [ROUNDS]: a program of few instructions that has all that a window of branches can go through: loops, recursion,
 * calls by address, a table of jumps, branches that go either way, and a signal's handler. A round is some 85
 * instructions. Its paths are drawn, the same in each run. For guests that are stepped: 60 rounds without an argument.
 */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>

#define OWN __attribute__((noinline)) static
#define ROUNDS 60

static volatile uint32_t sink;
static uint32_t state = 1;

/* xorshift32 */
OWN uint32_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state;
}

OWN uint32_t recurse(uint32_t n)
{
	return n < 2 ? n : recurse(n - 1) + recurse(n - 2);
}

OWN void turn(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		sink += i & 2 ? n : i;
}

OWN void choose(uint32_t n)
{
	switch (n) {
	case 0:
		sink += 5;
		break;
	case 1:
		sink ^= 3;
		break;
	case 2:
		turn(3);
		break;
	case 3:
		sink = sink >> 1;
		break;
	default:
		recurse(2);
		break;
	}
}

static void handler(int number)
{
	turn((uint32_t)number & 3);
}

int main(int argc, char **argv)
{
	static void (*const ways[])(uint32_t) = { turn, choose };
	uint32_t rounds = argc > 1 ? (uint32_t)atoi(argv[1]) : ROUNDS;

	signal(SIGUSR1, handler);
	for (uint32_t i = 0; i < rounds; i++) {
		uint32_t n = draw();

		ways[n & 1](n >> 1 & 7);
		sink += recurse(n >> 4 & 3);
		if (!(i & 7))
			raise(SIGUSR1);
	}
	return 0;
}
