// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A small interpreter for a test of optimisers (lab/tests/linux/test_pgo.py): a profile tells them that two of its
 * eight operations are nearly all that is executed, and that its numbers are negative.
 */
#include <stdio.h>
#include <stdlib.h>

#define STACK 64

struct machine {
	long stack[STACK], counter, negative, positive;
	int top;
};

static void fail(const char *why)
{
	fprintf(stderr, "%s\n", why);
	exit(1);
}

static __attribute__((noinline)) void push(struct machine *m, long value)
{
	if (m->top == STACK)
		fail("the stack is full");
	/* Compilers guess that numbers are seldom negative. */
	if (value < 0) {
		m->negative += 3;
		m->stack[m->top++] = value ^ (m->negative & 4);
	} else {
		m->positive += 5;
		m->stack[m->top++] = value ^ (m->positive & 8);
	}
}

static __attribute__((noinline)) long pop(struct machine *m)
{
	if (!m->top)
		fail("the stack is empty");
	return m->stack[--m->top];
}

static __attribute__((noinline)) void execute(struct machine *m, int operation)
{
	switch (operation) {
	case 0:
		push(m, pop(m) / 3);
		break;
	case 1:
		push(m, pop(m) - pop(m));
		break;
	case 2:
		push(m, m->counter++);
		break;
	case 3:
		push(m, pop(m) * pop(m));
		break;
	case 4:
		push(m, pop(m) ^ 21);
		break;
	case 5:
		push(m, pop(m) + pop(m));
		break;
	case 6:
		printf("%ld\n", m->stack[m->top - 1]);
		break;
	default:
		fail("no such operation");
	}
}

int main(int argc, char **argv)
{
	long times = argc > 1 ? atol(argv[1]) : 1000;
	struct machine m = { .counter = -1000000000 };

	execute(&m, 2);
	for (long i = 0; i < times; i++) {
		execute(&m, 2);
		execute(&m, i % 1000 ? 5 : 1);
	}
	execute(&m, 6);
	return 0;
}
