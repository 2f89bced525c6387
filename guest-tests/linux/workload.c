// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The bundled workload: ten hot functions in a mix that is drawn from a seed, so that nobody can know the
 * profile beforehand. What the mix really is, callgrind counts.
 *
 *	workload [SEED [THOUSANDS [FILE]]]
 *
 * runs about THOUSANDS thousand instructions (default 6000), then waits until there is a FILE. The hot functions call no library function:
 * the instruction count depends on the seed alone, not on the processor.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#ifdef __clang__
#define HOT static __attribute__((noinline))
#else
#define HOT static __attribute__((noinline, noclone, optimize("no-tree-loop-distribute-patterns")))
#endif

static uint64_t rng_state;

/* splitmix64 */
static uint64_t rng(void)
{
	uint64_t z = rng_state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static uint8_t bytes[4096], copy[4096];
static uint32_t words[256];
static double a[12][12], b[12][12], c[12][12];

/* A line each, and eight times as many as a data cache of 32 KiB has: a chase misses nearly always, all else nearly never. */
#define NODES 4096
static struct node {
	struct node *next;
	uint64_t value;
} __attribute__((aligned(64))) nodes[NODES];

HOT uint64_t hot_crc(uint64_t x)
{
	uint32_t crc = (uint32_t)x;

	for (int i = 0; i < 64; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (0xedb88320u & -(crc & 1));
	}
	return crc;
}

HOT uint64_t hot_sort(uint64_t x)
{
	uint32_t v[48];

	for (int i = 0; i < 48; i++)
		v[i] = words[i] ^ (uint32_t)(x * 2654435761u >> (i & 7));
	for (int i = 1; i < 48; i++) {
		uint32_t key = v[i];
		int j = i - 1;

		for (; j >= 0 && v[j] > key; j--)
			v[j + 1] = v[j];
		v[j + 1] = key;
	}
	return v[x % 48];
}

HOT uint64_t hot_matrix(uint64_t x)
{
	for (int i = 0; i < 12; i++)
		for (int j = 0; j < 12; j++) {
			double sum = (double)(x & 3);

			for (int k = 0; k < 12; k++)
				sum += a[i][k] * b[k][j];
			c[i][j] = sum;
		}
	return (uint64_t)c[x % 12][x % 11];
}

HOT uint64_t hot_sieve(uint64_t x)
{
	uint64_t primes = 0;

	for (int i = 0; i < 512; i++)
		copy[i] = 1;
	for (int i = 2; i < 512; i++) {
		if (!copy[i])
			continue;
		primes++;
		for (int j = i + i; j < 512; j += i)
			copy[j] = 0;
	}
	return primes + x;
}

HOT uint64_t hot_chase(uint64_t x)
{
	const struct node *n = &nodes[x % NODES];
	uint64_t sum = 0;

	for (int i = 0; i < 512; i++) {
		sum += n->value;
		n = n->next;
	}
	return sum;
}

HOT uint64_t hot_recurse(uint64_t x)
{
	return x < 2 ? x : hot_recurse(x - 1) + hot_recurse(x - 2);
}

HOT uint64_t hot_search(uint64_t x)
{
	uint64_t found = 0;

	for (int i = 0; i < 500; i++) {
		int j = 0;

		while (j < 8 && (bytes[i + j] & 3) == (bytes[(x + j) & 2047] & 3))
			j++;
		found += j == 8;
	}
	return found;
}

/* REP MOVSB: one instruction, however long the block. */
HOT uint64_t hot_copy(uint64_t x)
{
	for (int i = 0; i < 128; i++) {
		const void *from = bytes + (i * 16 & 2047);
		void *to = copy + (i * 8 & 1023);
		size_t n = 16 + (x + i) % 64;

		__asm__ volatile("rep movsb" : "+S"(from), "+D"(to), "+c"(n) : : "memory");
	}
	return copy[x & 1023];
}

HOT uint64_t hot_collatz(uint64_t x)
{
	uint64_t steps = 0;

	for (uint64_t n = 27 + x % 64; n != 1; steps++)
		n = n & 1 ? 3 * n + 1 : n / 2;
	return steps;
}

/* A small bytecode interpreter: indirect jumps. */
HOT uint64_t hot_interpret(uint64_t x)
{
	uint64_t acc = x;

	for (int pc = 0; pc < 256; pc++) {
		switch (bytes[pc] & 7) {
		case 0:
			acc += words[pc & 255];
			break;
		case 1:
			acc ^= acc << 13;
			break;
		case 2:
			acc ^= acc >> 7;
			break;
		case 3:
			acc -= pc;
			break;
		case 4:
			acc *= 5;
			break;
		case 5:
			acc = ~acc;
			break;
		case 6:
			acc += bytes[acc & 1023];
			break;
		default:
			acc = acc << 1 | acc >> 63;
		}
	}
	return acc;
}

static uint64_t recurse_round(uint64_t x)
{
	return hot_recurse(9 + x % 3);
}

/* Rounds are chosen so that a round of each costs about `cost` instructions; the truth is measured. */
static const struct {
	uint64_t (*run)(uint64_t x);
	unsigned int cost;
} hot[] = {
	{ hot_crc, 2800 },    { hot_sort, 4200 },      { hot_matrix, 9500 }, { hot_sieve, 6300 },
	{ hot_chase, 2050 },  { recurse_round, 900 },  { hot_search, 5600 }, { hot_copy, 1500 },
	{ hot_collatz, 400 }, { hot_interpret, 2300 },
};
#define HOTS (sizeof(hot) / sizeof(hot[0]))

static void say(const char *text)
{
	size_t n = 0;

	while (text[n])
		n++;
	if (write(STDOUT_FILENO, text, n) < 0)
		_exit(1);
}

static void say_number(uint64_t value)
{
	char text[21] = { 0 };
	int i = 20;

	do
		text[--i] = (char)('0' + value % 10);
	while (value /= 10);
	say(text + i);
}

static void prepare(void)
{
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)rng();
	for (int i = 0; i < 256; i++)
		words[i] = (uint32_t)rng();
	for (int i = 0; i < 144; i++) {
		a[i / 12][i % 12] = (double)(i % 7);
		b[i / 12][i % 12] = (double)(i % 5);
	}
	for (int i = 0; i < NODES; i++) {
		nodes[i].next = &nodes[(i * 197 + 31) % NODES];
		nodes[i].value = words[i % 256];
	}
}

static bool number(const char *text, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	return !errno && *text >= '0' && *text <= '9' && !*end;
}

int main(int argc, char **argv)
{
	uint64_t seed, thousands = 6000, sum = 0, weight[HOTS], total = 0;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		return 1;
	seed %= 1000000000;
	if (argc > 4 || (argc > 1 && !number(argv[1], &seed)) ||
	    (argc > 2 && !number(argv[2], &thousands))) {
		say("usage: workload [SEED [THOUSANDS OF INSTRUCTIONS [FILE]]]\n");
		return 2;
	}
	say("workload: seed ");
	say_number(seed);
	say("\n");

	rng_state = seed;
	prepare();
	for (size_t i = 0; i < HOTS; i++)
		total += weight[i] = 1 + rng() % 20 * (rng() % 4);
	for (size_t i = 0; i < HOTS; i++) {
		uint64_t rounds = thousands * 1000 * weight[i] / (total * hot[i].cost);

		while (rounds--)
			sum += hot[i].run(rounds);
	}
	while (argc > 3 && access(argv[3], F_OK))
		usleep(200000);
	say("workload: result ");
	say_number(sum);
	say("\n");
	return 0;
}
