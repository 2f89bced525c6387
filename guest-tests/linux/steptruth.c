// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The truth about where a program spends its instructions: runs it one instruction at a time under ptrace
 * and counts each by function of the main program. A REP string instruction counts once. Nothing here is
 * shared with LWP or its tools.
 *
 *	steptruth PROGRAM [ARG...]
 *
 * prints "COUNT FUNCTION" lines, then "COUNT [elsewhere]" and "COUNT [total]", on descriptor 3 if
 * that is open, else on standard output. Its exit status is the program's.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

struct function {
	uint64_t start, end;
	uint64_t count;
	const char *name;
};

struct program {
	struct function *function;
	size_t functions;
	bool relocated; /* position independent: symbol values are relative to the load base */
};

static void die(const char *what, const char *which)
{
	fprintf(stderr, "steptruth: %s: %s: %s\n", which, what, errno ? strerror(errno) : "");
	exit(1);
}

static int by_start(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int by_count(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return x->count > y->count ? -1 : x->count < y->count;
}

static void read_functions(const char *path, struct program *p)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf_Scn *section = NULL;
	GElf_Ehdr ehdr;
	GElf_Shdr shdr;
	Elf *elf;

	if (fd < 0)
		die("cannot open", path);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || !gelf_getehdr(elf, &ehdr))
		die("not an ELF file", path);
	p->relocated = ehdr.e_type == ET_DYN;
	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *data;

		if (!gelf_getshdr(section, &shdr) || shdr.sh_type != SHT_SYMTAB)
			continue;
		data = elf_getdata(section, NULL);
		p->function = calloc(shdr.sh_size / shdr.sh_entsize, sizeof(*p->function));
		if (!data || !p->function)
			die("cannot read the symbols", path);
		for (size_t i = 0; i < shdr.sh_size / shdr.sh_entsize; i++) {
			GElf_Sym sym;

			if (!gelf_getsym(data, (int)i, &sym) ||
			    GELF_ST_TYPE(sym.st_info) != STT_FUNC || !sym.st_size)
				continue;
			p->function[p->functions++] = (struct function){
				.start = sym.st_value,
				.end = sym.st_value + sym.st_size,
				.name = strdup(elf_strptr(elf, shdr.sh_link, sym.st_name)),
			};
		}
	}
	if (!p->functions)
		die("no symbols", path);
	qsort(p->function, p->functions, sizeof(*p->function), by_start);
	elf_end(elf);
	close(fd);
}

/* Load address of the program: the lowest mapping of its file. */
static uint64_t load_base(pid_t pid, const char *path)
{
	char name[64], line[4096];
	uint64_t base = 0;
	FILE *maps;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	maps = fopen(name, "re");
	if (!maps)
		die("cannot open", name);
	while (!base && fgets(line, sizeof(line), maps)) {
		line[strcspn(line, "\n")] = 0;
		if (strstr(line, path))
			base = strtoull(line, NULL, 16);
	}
	fclose(maps);
	return base;
}

static struct function *find(struct program *p, uint64_t address)
{
	size_t low = 0, high = p->functions;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (address >= p->function[mid].end)
			low = mid + 1;
		else if (address < p->function[mid].start)
			high = mid;
		else
			return &p->function[mid];
	}
	return NULL;
}

/* F2/F3, possibly among other prefixes, before a string opcode. */
static bool is_rep_string(pid_t pid, uint64_t rip)
{
	uint64_t word;
	const uint8_t *byte = (const uint8_t *)&word;
	bool rep = false;

	errno = 0;
	word = (uint64_t)ptrace(PTRACE_PEEKTEXT, pid, rip, NULL);
	if (errno)
		return false;
	for (int i = 0; i < 8; i++) {
		uint8_t op = byte[i];

		if (op == 0xf2 || op == 0xf3)
			rep = true;
		else if (op != 0x66 && op != 0x67 && (op & 0xf0) != 0x40)
			return rep && ((op >= 0xa4 && op <= 0xa7) || (op >= 0xaa && op <= 0xaf) ||
				       (op >= 0x6c && op <= 0x6f));
	}
	return false;
}

static pid_t start(char **argv)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		die("cannot fork", argv[0]);
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execv(argv[0], argv);
		die("cannot execute", argv[0]);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		exit(1);
	return pid;
}

static int run(pid_t pid, struct program *p, uint64_t base, uint64_t *elsewhere)
{
	uint64_t before = 0;
	int signal = 0, status;

	for (;;) {
		struct user_regs_struct regs;

		if (ptrace(PTRACE_GETREGS, pid, NULL, &regs))
			die("cannot read the registers", "ptrace");
		if (regs.rip != before || !is_rep_string(pid, regs.rip)) {
			struct function *f = find(p, regs.rip - base);

			++*(f ? &f->count : elsewhere);
		}
		before = regs.rip;
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, signal) || waitpid(pid, &status, 0) != pid)
			die("cannot step", "ptrace");
		if (!WIFSTOPPED(status))
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
	}
}

int main(int argc, char **argv)
{
	struct program p = { 0 };
	uint64_t elsewhere = 0, total;
	char *path;
	pid_t pid;
	FILE *out;
	int status;

	if (argc < 2) {
		fprintf(stderr, "usage: steptruth PROGRAM [ARG...]\n");
		return 2;
	}
	path = realpath(argv[1], NULL);
	if (!path)
		die("cannot find", argv[1]);
	argv[1] = path;
	read_functions(path, &p);
	out = fdopen(3, "w");
	if (!out)
		out = stdout;
	pid = start(argv + 1);
	status = run(pid, &p, p.relocated ? load_base(pid, path) : 0, &elsewhere);
	total = elsewhere;
	qsort(p.function, p.functions, sizeof(*p.function), by_count);
	for (size_t i = 0; i < p.functions; i++) {
		total += p.function[i].count;
		if (p.function[i].count)
			fprintf(out, "%llu %s\n", (unsigned long long)p.function[i].count,
				p.function[i].name);
	}
	fprintf(out, "%llu [elsewhere]\n%llu [total]\n", (unsigned long long)elsewhere,
		(unsigned long long)total);
	if (fclose(out))
		die("cannot write", "result");
	return status;
}
