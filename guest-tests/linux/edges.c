// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * edges [X]: a program whose edges are known, for coverage. A loop of ten turns, then one way or, with an argument, the
 * other.
 */
#define TURNS 10

__asm__(".pushsection .text\n"
	".globl edges_known, edges_turn, edges_back, edges_branch, edges_right, edges_left, edges_join\n"
	".type edges_known, @function\n"
	"edges_known: nop\n"
	"edges_turn: dec %edi\n"
	"edges_back: jnz edges_turn\n"
	"test %esi, %esi\n"
	"edges_branch: jz edges_left\n"
	"nop\n"
	"edges_right: jmp edges_join\n"
	"edges_left: nop\n"
	"edges_join: ret\n"
	".size edges_known, . - edges_known\n"
	".popsection\n");
void edges_known(int turns, int right);

int main(int argc, char **argv)
{
	(void)argv;
	edges_known(TURNS, argc > 1);
	return 0;
}
