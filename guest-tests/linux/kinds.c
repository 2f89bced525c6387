// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kinds of code, each as large as it is asked to be: kinds NAME N. The difference of two sizes has no start-up in it.
 * kinds alone lists the names.
 */
#include <immintrin.h>
#include <math.h>
#include <search.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#define TIMES4(text) text text text text
#define SIZE 1536 // of 512 times "abc"
#define PAGE 4096

static unsigned char from[SIZE + 1] = TIMES4(TIMES4(TIMES4(TIMES4("abcabc"))));
static unsigned char to[SIZE + 64];
static volatile uint64_t sink;

// A kind is a function of the number of turns; in its body i is the turn, and x is what it has to compute.
#define KIND(name, ...)                            \
	static void kind_##name(uint64_t n)        \
	{                                          \
		uint64_t x = 1;                    \
		for (uint64_t i = 0; i < n; i++) { \
			__VA_ARGS__;               \
		}                                  \
		sink = x;                          \
	}
#define REAL(name, type, ...) KIND(name, type r = (type)i + 1; __VA_ARGS__; x += (uint64_t)r)

KIND(add, x += i ^ x)
KIND(multiply, x = x * 6364136223846793005u + i)
KIND(divide, x += 1234567890123u / (i + 3))
KIND(modulo, x += 987654321u % (uint32_t)(i + 7))
KIND(shift, x = (x << (i & 31)) | (x >> 7))
KIND(rotate, __asm__ volatile("rol %%cl, %0" : "+r"(x) : "c"(i)))
KIND(bits, x += __builtin_popcountll(i) + __builtin_clzll(i + 1) + __builtin_ctzll(i + 1))
KIND(andn, x += _andn_u64(x, i) + _bextr_u64(i, 3, 9))
KIND(crc, x = _mm_crc32_u64(x, i))
KIND(carry, unsigned long long s; x += _addcarry_u64(i & 1, x, i, &s) + s)
KIND(branches, if (i % 3) x += 2; else x ^= 5)
KIND(unforeseen, if ((i * 2654435761u >> 13) & 1) x++; else x += i)
KIND(conditional, __asm__ volatile("cmp %1, %0; cmovb %1, %0; seta %b0" : "+r"(x) : "r"(i)))

static uint64_t __attribute__((noinline)) shallow(uint64_t n)
{
	return n + 3;
}
static uint64_t __attribute__((noinline)) deep(uint64_t n)
{
	return n ? 1 + deep(n - 1) : 0;
}
static uint64_t __attribute__((noinline)) chosen(uint64_t x, unsigned n)
{
	switch (n) {
	case 0:
		return x + 1;
	case 1:
		return x * 3;
	case 2:
		return x ^ 7;
	case 3:
		return x - 9;
	case 4:
		return x | 64;
	default:
		return x << 1;
	}
}

static uint64_t (*volatile pointer)(uint64_t) = shallow;

KIND(calls, x += shallow(i))
KIND(pointers, x += pointer(i))
KIND(recursion, x += deep(i % 20))
KIND(choice, x = chosen(x, i % 7))
REAL(real_add, double, r += 0.5)
REAL(real_divide, double, r = 3.5 / r)
REAL(root, double, r = sqrt(r))
REAL(sine, double, r += sin(r))
REAL(power, double, r = pow(1.0001, r))
REAL(logarithm, double, r = log(r) + exp(1 / r))
REAL(single, float, r = r * 1.5f - 2)
REAL(extended, long double, r = r * 1.25L + 1)
KIND(sse, __m128i v = _mm_set1_epi32(i); v = _mm_mullo_epi32(v, v);
     x += _mm_cvtsi128_si64(_mm_shuffle_epi8(v, v)))
KIND(avx, __m256d v = _mm256_set1_pd(i); v = _mm256_sqrt_pd(_mm256_add_pd(v, v));
     x += _mm256_cvtsd_f64(v))
KIND(avx2, __m256i v = _mm256_set1_epi64x(i); x += _mm256_extract_epi64(_mm256_add_epi64(v, v), 2))
KIND(fma, __m128d v = _mm_set1_pd(i); x += _mm_cvtsd_f64(_mm_fmadd_pd(v, v, v)))
KIND(aes, __m128i v = _mm_set1_epi64x(i); x += _mm_cvtsi128_si64(_mm_aesenc_si128(v, v)))
KIND(sha, __m128i v = _mm_set1_epi64x(i); x += _mm_cvtsi128_si64(_mm_sha256rnds2_epu32(v, v, v)))
KIND(gather,
     x += _mm_cvtsi128_si32(_mm_i32gather_epi32((const int *)from, _mm_set1_epi32(i % 64), 4)))

KIND(memcpy_small, memcpy(to, from, i % 33); x += to[3])
KIND(memcpy_large, memcpy(to, from, SIZE - i % 64); x += to[3])
KIND(memmove_over, memmove(to + 1, to, 500 + i % 500))
KIND(memset_any, memset(to, (int)i, 1 + i % SIZE))
KIND(memcmp_any, x += memcmp(from, to, i % SIZE))
KIND(memchr_any, x += !memchr(from, 'z', 1 + i % SIZE))
KIND(strlen_any, x += strlen((char *)from + i % 900))
KIND(strcmp_any, x += strcmp((char *)from, (char *)from + i % 7))
KIND(strchr_any, x += !strchr((char *)from + i % 500, 'q'))
KIND(strstr_any, x += !strstr((char *)from + i % 500, "bca"))
KIND(strcpy_any, strcpy((char *)to, (char *)from + i % 900))
KIND(wide, static const wchar_t text[] = L"something wide"; x += wcslen(text + i % 9))
KIND(rep_movs, void *d = to; void *s = from; uint64_t c = i % 300;
     __asm__ volatile("rep movsb"
		      : "+D"(d), "+S"(s), "+c"(c)::"memory"))
KIND(rep_stos, void *d = to; uint64_t c = i % 100; __asm__ volatile("rep stosq"
								    : "+D"(d), "+c"(c)
								    : "a"(i)
								    : "memory"))
KIND(repne_scas, void *d = from; uint64_t c = i % 400; __asm__ volatile("repne scasb"
									: "+D"(d), "+c"(c)
									: "a"(0)
									: "cc", "memory"))
KIND(print, x += snprintf((char *)to, SIZE, "%lu %s %x", (unsigned long)i, "text", (unsigned)i))
KIND(print_real, x += snprintf((char *)to, SIZE, "%.6g", i * 1.7))
KIND(read_number, char text[24]; sprintf(text, "%lu", (unsigned long)(i * 977));
     x += strtoul(text, NULL, 10))
KIND(read_real, x += (uint64_t)strtod(i & 1 ? "3.14159e5" : "0.1", NULL))

static int compare(const void *a, const void *b)
{
	int one = *(const int *)a, two = *(const int *)b;

	return (one > two) - (one < two);
}

KIND(sort, int many[64]; for (int k = 0; k < 64; k++) many[k] = (int)((i + k) * 7919 % 101);
     qsort(many, 64, sizeof(many[0]), compare); x += many[9])
KIND(allocate, void *p = malloc(16 + i % 700); memset(p, 1, 16); free(p))
KIND(reallocate, char *p = malloc(20); p = realloc(p, 200 + i % 100); *(volatile char *)p = 1;
     free(p))
KIND(
	tree, void *root = NULL; static int keys[20]; for (int k = 0; k < 20; k++) {
		keys[k] = (int)((i + k) * 31 % 23);
		tsearch(&keys[k], &root, compare);
	} while (root) tdelete(*(void **)root, &root, compare))
static uint64_t __attribute__((noinline)) jumps(void)
{
	jmp_buf place;

	if (!setjmp(place))
		longjmp(place, 1);
	return 1;
}

KIND(exchange, __atomic_fetch_add(&sink, i, __ATOMIC_SEQ_CST);
     __sync_bool_compare_and_swap(&sink, x, i))
KIND(system_call, x += syscall(SYS_getppid))
KIND(clock_read, struct timespec t; clock_getres(CLOCK_MONOTONIC, &t); x += t.tv_nsec)
KIND(jump, x += jumps())
KIND(fresh_pages,
     char *p = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
     for (int k = 0; k < 8; k++) p[k * PAGE] = 1; munmap(p, 8 * PAGE))
KIND(signals, raise(SIGUSR1))
KIND(
	pipe_io, int ends[2]; if (!pipe(ends)) {
		x += write(ends[1], from, 100);
		x += read(ends[0], to, 100);
		close(ends[0]);
		close(ends[1]);
	})

#define NAMED(name)                \
	{                          \
#name, kind_##name \
	}
static const struct {
	const char *name;
	void (*run)(uint64_t n);
} kinds[] = {
	NAMED(add),	     NAMED(multiply),	  NAMED(divide),       NAMED(modulo),
	NAMED(shift),	     NAMED(rotate),	  NAMED(bits),	       NAMED(andn),
	NAMED(crc),	     NAMED(carry),	  NAMED(branches),     NAMED(unforeseen),
	NAMED(conditional),  NAMED(calls),	  NAMED(pointers),     NAMED(recursion),
	NAMED(choice),	     NAMED(real_add),	  NAMED(real_divide),  NAMED(root),
	NAMED(sine),	     NAMED(power),	  NAMED(logarithm),    NAMED(single),
	NAMED(extended),     NAMED(sse),	  NAMED(avx),	       NAMED(avx2),
	NAMED(fma),	     NAMED(aes),	  NAMED(sha),	       NAMED(gather),
	NAMED(memcpy_small), NAMED(memcpy_large), NAMED(memmove_over), NAMED(memset_any),
	NAMED(memcmp_any),   NAMED(memchr_any),	  NAMED(strlen_any),   NAMED(strcmp_any),
	NAMED(strchr_any),   NAMED(strstr_any),	  NAMED(strcpy_any),   NAMED(wide),
	NAMED(rep_movs),     NAMED(rep_stos),	  NAMED(repne_scas),   NAMED(print),
	NAMED(print_real),   NAMED(read_number),  NAMED(read_real),    NAMED(sort),
	NAMED(allocate),     NAMED(reallocate),	  NAMED(tree),	       NAMED(exchange),
	NAMED(system_call),  NAMED(clock_read),	  NAMED(jump),	       NAMED(fresh_pages),
	NAMED(signals),	     NAMED(pipe_io),
};

static void on_signal(int number)
{
	sink += (uint64_t)number;
}

int main(int argc, char **argv)
{
	signal(SIGUSR1, on_signal);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (argc == 1)
			puts(kinds[i].name);
		else if (!strcmp(argv[1], kinds[i].name) && argc == 3) {
			kinds[i].run(strtoull(argv[2], NULL, 10));
			return 0;
		}
	}
	return argc != 1;
}
