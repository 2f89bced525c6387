// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The instruction decoder beside objdump: length, kind, condition, target and the operand of indirect
 * branches must be what objdump prints.
 */
#include "objdump_compare.h"
#include "objdump_text.h"
#include <stdio.h>
#include <stdlib.h>

#define MAX_SHOWN 40

static void complain(struct comparison *c, const char *text, const char *what, long long have)
{
	if (c->wrong++ < MAX_SHOWN)
		printf("%d-bit: %s is %lld: %s", (int)c->bits, what, have, text);
}

/* objdump prints all 64 bits of a target that wraps at 16 or 32. */
static bool same_target(const struct objdump_line *line, const struct lwp_insn *insn)
{
	u64 target;

	lwp_insn_target(insn, line->address, NULL, &target);
	return target == lwp_truncate(line->target, insn->op_bits);
}

static void compare(struct comparison *c, const char *text, const struct objdump_line *line)
{
	char operand[OBJDUMP_OPERAND_MAX];
	struct lwp_insn insn;
	enum lwp_decode result = lwp_insn_decode(line->bytes, line->length, c->bits, &insn);

	c->compared++;
	if (line->undefined) {
		if (result != LWP_DECODE_UD)
			complain(c, text, "result", result);
		return;
	}
	if (result != LWP_DECODE_OK) {
		complain(c, text, "result", result);
		return;
	}
	if (insn.length != line->length) {
		complain(c, text, "length", insn.length);
		return;
	}
	if (insn.kind != line->kind) {
		complain(c, text, "kind", insn.kind);
		return;
	}
	if (lwp_insn_is_string(&insn) && lwp_insn_is_repeated(&insn) != line->repeated)
		complain(c, text, "rep", insn.rep);
	if (!lwp_insn_is_branch(&insn))
		return;
	c->branches++;
	if (insn.kind == LWP_INSN_JCC && insn.cond != line->cond)
		complain(c, text, "condition", insn.cond);
	if (lwp_insn_is_relative(&insn) && !same_target(line, &insn))
		complain(c, text, "displacement", insn.rel);
	if (insn.kind == LWP_INSN_JMP_IND || insn.kind == LWP_INSN_CALL_IND) {
		objdump_operand(&insn.rm, insn.op_bits, operand);
		if (strcmp(operand, line->operand)) {
			complain(c, text, "operand", insn.rm.mem.disp);
			printf("\thave %s\n", operand);
		}
	}
}

/* FWAIT is an instruction of its own; objdump joins it with the FPU instruction that follows. */
static void split_fwait(struct objdump_line *line)
{
	if (line->bytes[0] != 0x9b || line->length == 1)
		return;
	line->length--;
	memmove(line->bytes, line->bytes + 1, line->length);
}

bool objdump_is_there(void)
{
	return !system("objdump --version >/dev/null 2>&1");
}

bool objdump_compare(struct comparison *c, const char *options, const char *file)
{
	char command[512], text[512];
	struct objdump_line line;
	FILE *pipe;

	snprintf(command, sizeof(command), "LC_ALL=C objdump -w --insn-width=15 %s '%s'", options,
		 file);
	pipe = popen(command, "r");
	if (!pipe) {
		perror(command);
		return false;
	}
	while (fgets(text, sizeof(text), pipe)) {
		if (strtoull(text, NULL, 16) % c->every || !objdump_parse(text, c->bits, &line))
			continue;
		split_fwait(&line);
		if (line.valid)
			compare(c, text, &line);
		else
			c->skipped++;
	}
	if (pclose(pipe)) {
		fprintf(stderr, "%s: failed; is it an x86 ELF file that objdump can read?\n",
			command);
		return false;
	}
	return true;
}

bool objdump_report(const struct comparison *c, const char *what)
{
	printf("%s as %d-bit code: %lu instructions compared, %lu branches, %lu differ, "
	       "%lu lines are none\n",
	       what, (int)c->bits, c->compared, c->branches, c->wrong, c->skipped);
	return !c->wrong;
}
