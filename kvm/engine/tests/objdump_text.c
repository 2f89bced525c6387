// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reading lines of `objdump -d -w`: "  address:<tab>bytes <tab>prefixes mnemonic operands  # comment".
 */
#include "objdump_text.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct name {
	const char *name;
	u8 kind;
	u8 cond;
};

/* clang-format off */
static const struct name names[] = {
#define JCC(name, cond) { name, LWP_INSN_JCC, cond }
#define NAME(name, kind) { name, LWP_INSN_##kind, 0 }
	JCC("jo", 0x0), JCC("jno", 0x1), JCC("jb", 0x2), JCC("jae", 0x3),
	JCC("je", 0x4), JCC("jne", 0x5), JCC("jbe", 0x6), JCC("ja", 0x7),
	JCC("js", 0x8), JCC("jns", 0x9), JCC("jp", 0xa), JCC("jnp", 0xb),
	JCC("jl", 0xc), JCC("jge", 0xd), JCC("jle", 0xe), JCC("jg", 0xf),
	NAME("jcxz", JCXZ), NAME("jecxz", JCXZ), NAME("jrcxz", JCXZ), NAME("loop", LOOP),
	NAME("loope", LOOPE), NAME("loopne", LOOPNE), NAME("jmp", JMP_REL),
	NAME("call", CALL_REL), NAME("ret", RET), NAME("movsb", MOVS), NAME("movsw", MOVS),
	NAME("movsl", MOVS), NAME("movsq", MOVS), NAME("cmpsb", CMPS), NAME("cmpsw", CMPS),
	NAME("cmpsl", CMPS), NAME("cmpsq", CMPS), NAME("stos", STOS), NAME("lods", LODS),
	NAME("scas", SCAS), NAME("insb", INS), NAME("insw", INS), NAME("insl", INS),
	NAME("outsb", OUTS), NAME("outsw", OUTS), NAME("outsl", OUTS), NAME("ljmp", JMP_FAR),
	NAME("lcall", CALL_FAR), NAME("lret", RET_FAR), NAME("iret", IRET), NAME("int", INT),
	NAME("int3", INT3), NAME("into", INTO), NAME("int1", ICEBP), NAME("syscall", SYSCALL),
	NAME("sysret", SYSRET), NAME("sysenter", SYSENTER), NAME("sysexit", SYSEXIT),
	NAME("pushf", PUSHF), NAME("popf", POPF), NAME("cli", CLI), NAME("sti", STI),
	NAME("hlt", HLT), NAME("pause", PAUSE), NAME("monitor", MONITOR),
	NAME("monitorx", MONITOR), NAME("mwait", MWAIT), NAME("mwaitx", MWAIT),
	NAME("cpuid", CPUID), NAME("rdtsc", RDTSC), NAME("rdtscp", RDTSCP), NAME("rdpmc", RDPMC),
	NAME("rdfsbase", RDFSBASE), NAME("rdgsbase", RDGSBASE), NAME("wrfsbase", WRFSBASE),
	NAME("wrgsbase", WRGSBASE),
	NAME("rdpru", RDPRU), NAME("rdrand", RDRAND), NAME("rdseed", RDSEED), NAME("in", IN),
	NAME("out", OUT), NAME("vmmcall", VMMCALL), NAME("vmgexit", VMMCALL),
	NAME("llwpcb", LLWPCB), NAME("slwpcb", SLWPCB), NAME("lwpins", LWPINS),
	NAME("lwpval", LWPVAL),
#undef JCC
#undef NAME
};
/* clang-format on */

/* Names that objdump gives an operand-size suffix in some modes. */
static bool takes_suffix(u8 kind)
{
	switch (kind) {
	case LWP_INSN_LOOP:
	case LWP_INSN_LOOPE:
	case LWP_INSN_LOOPNE:
	case LWP_INSN_JMP_REL:
	case LWP_INSN_CALL_REL:
	case LWP_INSN_RET:
	case LWP_INSN_JMP_FAR:
	case LWP_INSN_CALL_FAR:
	case LWP_INSN_RET_FAR:
	case LWP_INSN_IRET:
	case LWP_INSN_SYSRET:
	case LWP_INSN_SYSEXIT:
	case LWP_INSN_PUSHF:
	case LWP_INSN_POPF:
		return true;
	default:
		return false;
	}
}

static const struct name *find_name(const char *word)
{
	size_t length = strcspn(word, ","); /* branch hints: "jne,pt" */

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t n = strlen(names[i].name);

		if (length >= n && !strncmp(word, names[i].name, n) &&
		    (length == n ||
		     (length == n + 1 && takes_suffix(names[i].kind) && strchr("wlq", word[n]))))
			return &names[i];
	}
	return NULL;
}

static bool is_prefix(const char *word)
{
	static const char *const prefixes[] = {
		"data16", "data32", "addr16", "addr32",	 "rep",	     "repz",
		"repnz",  "lock",   "bnd",    "cs",	 "ds",	     "es",
		"fs",	  "gs",	    "ss",     "notrack", "xacquire", "xrelease",
	};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (!strcmp(word, prefixes[i]))
			return true;
	return !strncmp(word, "rex", 3);
}

static void cut(char *text, size_t length)
{
	memmove(text, text + length, strlen(text + length) + 1);
}

/* Remove text without effect: a segment prefix that is the default, a displacement of 0. */
static void normalise(char *operand)
{
	const char *base = strstr(operand, "(%");
	bool stack = base && (!strncmp(base + 2, "bp", 2) || !strncmp(base + 3, "bp", 2) ||
			      !strncmp(base + 3, "sp", 2));
	char *zero;

	if (!strncmp(operand, stack ? "%ss:" : "%ds:", 4))
		cut(operand, 4);
	zero = strstr(operand, "0x0(");
	if (zero && (zero == operand || zero[-1] == ':'))
		cut(zero, 3);
}

static void parse_operands(struct objdump_line *line, const char *name, const char *operands)
{
	size_t length = strlen(operands);

	if (operands[0] == '*') {
		if (line->kind == LWP_INSN_JMP_REL)
			line->kind = LWP_INSN_JMP_IND;
		else if (line->kind == LWP_INSN_CALL_REL)
			line->kind = LWP_INSN_CALL_IND;
		snprintf(line->operand, sizeof(line->operand), "%s", operands + 1);
		line->operand[strcspn(line->operand, " ")] = '\0';
		normalise(line->operand);
	} else if (line->kind >= LWP_INSN_JCC && line->kind <= LWP_INSN_CALL_REL) {
		line->target = strtoull(operands, NULL, 16);
	} else if (!strncmp(name, "mov", 3) && length > 4 &&
		   !strcmp(operands + length - 4, ",%ss")) {
		line->kind = LWP_INSN_MOV_SS;
	} else if (!strncmp(name, "pop", 3) && !strcmp(operands, "%ss")) {
		line->kind = LWP_INSN_POP_SS;
	}
}

/* The place of the opcode: after legacy prefixes and, in 64-bit code, REX. */
static unsigned int opcode_at(const struct objdump_line *line, enum lwp_code_bits bits)
{
	static const char legacy[] = "\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3";
	unsigned int at = 0;

	while (at + 1 < line->length && memchr(legacy, line->bytes[at], sizeof(legacy) - 1))
		at++;
	if (bits == LWP_CODE64 && at + 1 < line->length && (line->bytes[at] & 0xf0) == 0x40)
		at++;
	return at;
}

/* VEX, EVEX or XOP: in legacy code C4, C5 and 62 with a memory operand are LES, LDS and BOUND. */
static bool is_vector_prefix(u8 byte, u8 next, enum lwp_code_bits bits)
{
	switch (byte) {
	case 0xc4:
	case 0xc5:
	case 0x62:
		return bits == LWP_CODE64 || next >= 0xc0;
	case 0x8f:
		return (next & 0x1f) >= 8;
	default:
		return false;
	}
}

/* 66, LOCK, F2, F3 and REX are #UD before VEX, EVEX and XOP. */
static bool has_barred_prefix(const struct objdump_line *line, unsigned int opcode)
{
	for (unsigned int i = 0; i < opcode; i++)
		if (memchr("\x66\xf0\xf2\xf3", line->bytes[i], 4) ||
		    (line->bytes[i] & 0xf0) == 0x40)
			return true;
	return false;
}

/*
 * What objdump shows although our processors do not have it: PadLock's 0F A6 and 0F A7, JMPE; a prefix that
 * bars VEX, LOCK on what has a kind of its own; MOV to CS, to a segment register or from and to a test
 * register that does not exist.
 */
static bool is_undefined(const struct objdump_line *line, enum lwp_code_bits bits, const char *name,
			 const char *operands, bool locked)
{
	unsigned int at = opcode_at(line, bits);
	u8 opcode = line->bytes[at], next = line->bytes[at + 1];
	size_t length = strlen(operands);

	if ((opcode == 0x0f && (next == 0xa6 || next == 0xa7)) || !strcmp(name, "jmpe"))
		return true;
	if (is_vector_prefix(opcode, next, bits) && has_barred_prefix(line, at))
		return true;
	if (locked)
		return line->kind != LWP_INSN_OTHER;
	if (strncmp(name, "mov", 3))
		return false;
	return strstr(operands, "%?") || strstr(operands, "%tr") ||
	       (length > 4 && !strcmp(operands + length - 4, ",%cs"));
}

static void parse_text(struct objdump_line *line, enum lwp_code_bits bits, char *text)
{
	char *word = strtok(text, " \n");
	const struct name *name;
	bool locked = false;
	char *operands;

	while (word && is_prefix(word)) {
		if (!strncmp(word, "rep", 3))
			line->repeated = true;
		if (!strcmp(word, "lock"))
			locked = true;
		word = strtok(NULL, " \n");
	}
	/* Prefixes alone, "(bad)", ".byte", "{rex2 ...}" of a newer instruction set. */
	if (!word || strchr("(.{", word[0]))
		return;
	operands = strtok(NULL, "\n");
	if (!operands)
		operands = word + strlen(word);
	while (*operands == ' ')
		operands++;
	line->valid = !strstr(operands, "(bad)");
	name = find_name(word);
	if (name) {
		line->kind = name->kind;
		line->cond = name->cond;
	}
	/* The cut at a blank takes " # comment" and " <symbol>" away. */
	if (line->kind == LWP_INSN_OTHER)
		operands[strcspn(operands, " ")] = '\0';
	parse_operands(line, word, operands);
	line->undefined = is_undefined(line, bits, word, operands, locked);
}

bool objdump_parse(const char *text, enum lwp_code_bits bits, struct objdump_line *line)
{
	char copy[512];
	char *p, *end;
	unsigned long byte;

	*line = (struct objdump_line){ .valid = false };
	snprintf(copy, sizeof(copy), "%s", text);
	line->address = strtoull(copy, &p, 16);
	if (p == copy || p[0] != ':' || p[1] != '\t')
		return false;
	for (p += 2; line->length < sizeof(line->bytes); p = end) {
		byte = strtoul(p, &end, 16);
		if (end != p + 2 || !isxdigit((unsigned char)*p))
			break;
		line->bytes[line->length++] = (u8)byte;
		end += strspn(end, " ");
	}
	if (!line->length)
		return false;
	if (*p == '\t')
		parse_text(line, bits, p + 1);
	return true;
}

static const char *gpr_name(unsigned int reg, unsigned int bits)
{
	static const char *const names16[] = { "ax",   "cx",   "dx",   "bx",  "sp",   "bp",
					       "si",   "di",   "r8w",  "r9w", "r10w", "r11w",
					       "r12w", "r13w", "r14w", "r15w" };
	static const char *const names32[] = { "eax",  "ecx",  "edx",  "ebx", "esp",  "ebp",
					       "esi",  "edi",  "r8d",  "r9d", "r10d", "r11d",
					       "r12d", "r13d", "r14d", "r15d" };
	static const char *const names64[] = { "rax", "rcx", "rdx", "rbx", "rsp", "rbp",
					       "rsi", "rdi", "r8",  "r9",  "r10", "r11",
					       "r12", "r13", "r14", "r15" };

	return bits == 64 ? names64[reg & 15] : bits == 32 ? names32[reg & 15] : names16[reg & 15];
}

void objdump_operand(const struct lwp_operand *operand, unsigned int bits,
		     char text[OBJDUMP_OPERAND_MAX])
{
	static const char *const seg[] = { "%es:", "%cs:", "%ss:", "%ds:", "%fs:", "%gs:" };
	const struct lwp_mem *mem = &operand->mem;
	bool stack = mem->base == LWP_GPR_RSP || mem->base == LWP_GPR_RBP;
	char disp[32] = "", base[16] = "", index[24] = "";
	bool brackets = mem->base != LWP_GPR_NONE || mem->index != LWP_GPR_NONE;

	if (!operand->is_mem) {
		snprintf(text, OBJDUMP_OPERAND_MAX, "%%%s", gpr_name(operand->reg, bits));
		return;
	}
	if (mem->base == LWP_GPR_IP)
		snprintf(base, sizeof(base), "%%%s", mem->addr_bits == 64 ? "rip" : "eip");
	else if (mem->base != LWP_GPR_NONE)
		snprintf(base, sizeof(base), "%%%s", gpr_name(mem->base, mem->addr_bits));
	if (mem->index != LWP_GPR_NONE && mem->addr_bits == 16)
		snprintf(index, sizeof(index), ",%%%s", gpr_name(mem->index, 16));
	else if (mem->index != LWP_GPR_NONE)
		snprintf(index, sizeof(index), ",%%%s,%d", gpr_name(mem->index, mem->addr_bits),
			 1 << mem->scale);
	/* An absolute address is unsigned, but not in 16 bits. */
	if (!brackets && mem->addr_bits != 16)
		snprintf(disp, sizeof(disp), "0x%llx",
			 (unsigned long long)lwp_truncate((u64)(s64)mem->disp, mem->addr_bits));
	else if (mem->disp || !brackets)
		snprintf(disp, sizeof(disp), "%s0x%x", mem->disp < 0 ? "-" : "",
			 mem->disp < 0 ? -(u32)mem->disp : (u32)mem->disp);
	snprintf(text, OBJDUMP_OPERAND_MAX, "%s%s%s%s%s%s",
		 mem->seg == (stack ? LWP_SEG_SS : LWP_SEG_DS) ? "" : seg[mem->seg], disp,
		 brackets ? "(" : "", base, index, brackets ? ")" : "");
}
