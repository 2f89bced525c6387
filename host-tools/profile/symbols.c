// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Symbols and source lines of one object, through elfutils. An address is covered by a symbol only if
 * it lies within the symbol's size; a symbol without a size reaches to the next symbol of its section.
 */
#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frames.h"
#include "memory.h"
#include "plt.h"
#include "ranges.h"
#include "symbols.h"

#define VERSION_HIDDEN 0x8000 /* of an entry of .gnu.version */
/* Where Debian and others keep detached debug files. */
#define DEBUG_DIR "/usr/lib/debug/.build-id"

struct symbol {
	char *name;
	uint64_t start, size;
	unsigned int section;
	uint8_t rank; /* the best name of one address is shown: higher is better */
};

/* A symbol of a version that is not the default: linkers no longer use it. */
struct hidden {
	const char *name;
	uint64_t start;
};

struct table {
	struct symbol *list;
	size_t nr, room;
	struct ranges ranges; /* items are indices of list */
};

struct symbols {
	struct table code;
	struct table variables; /* looked for when first asked for */
	struct ranges unnamed; /* functions by .eh_frame */
	bool has_variables;
	struct hidden *hidden;
	size_t nr_hidden, hidden_room;
	char *problem;
	bool is_elf;
	bool detached; /* a debug file: it has no code */
	Dwfl *dwfl;
	Dwfl_Module *module;
	GElf_Addr bias; /* dwfl's addresses minus the file's */
	Elf *elf;
};

static void add_symbol(struct table *t, char *name, uint64_t start, uint64_t size,
		       unsigned int section, uint8_t rank)
{
	*APPEND(t->list, t->nr, t->room) = (struct symbol){ name, start, size, section, rank };
}

static void add_stub(void *to, const char *name, uint64_t start, uint64_t size)
{
	add_symbol(to, copy_string(name, strlen(name)), start, size, UINT_MAX, 0);
}

/* ---- Which of several names ----------------------------------------------------------------- */

static int compare_hidden(const void *a, const void *b)
{
	const struct hidden *x = a, *y = b;

	return ORDER(x->start, y->start) ?: strcmp(x->name, y->name);
}

/* "name@VERSION" in some tables; in .dynsym a bit of .gnu.version says it. */
static bool is_hidden(const struct symbols *s, uint64_t start, const char *name)
{
	const struct hidden wanted = { name, start };
	const char *at = strchr(name, '@');

	if (at)
		return at[1] != '@';
	return s->nr_hidden &&
	       bsearch(&wanted, s->hidden, s->nr_hidden, sizeof(wanted), compare_hidden);
}

/*
 * Sized before unsized, functions before labels, global before local, default versions before others, few
 * underscores before many.
 */
static uint8_t rank_of(const GElf_Sym *sym, const char *name, bool hidden)
{
	size_t underscores = strspn(name, "_");
	uint8_t rank = 0;

	if (sym->st_size)
		rank |= 1 << 5;
	if (GELF_ST_TYPE(sym->st_info) != STT_NOTYPE)
		rank |= 1 << 4;
	if (GELF_ST_BIND(sym->st_info) != STB_LOCAL)
		rank |= 1 << 3;
	if (!hidden)
		rank |= 1 << 2;
	return rank | (uint8_t)(underscores < 3 ? 3 - underscores : 0);
}

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return ORDER(x->start, y->start) ?: ORDER(y->rank, x->rank) ?: strcmp(x->name, y->name);
}

/* Sorts, keeps the best name of each address and makes the ranges. */
static void build_ranges(struct table *t)
{
	size_t kept = 0;

	sort_list(t->list, t->nr, sizeof(*t->list), compare_symbols);
	for (size_t i = 0; i < t->nr; i++) {
		if (kept && t->list[kept - 1].start == t->list[i].start)
			free(t->list[i].name);
		else
			t->list[kept++] = t->list[i];
	}
	t->nr = kept;
	for (size_t i = 0; i < t->nr; i++) {
		struct symbol *symbol = &t->list[i];

		/* Without a size: up to the next one of the section, if there is one. */
		if (!symbol->size && i + 1 < t->nr && t->list[i + 1].section == symbol->section)
			symbol->size = t->list[i + 1].start - symbol->start;
		if (symbol->size)
			ranges_add(&t->ranges, symbol->start, symbol->start + symbol->size, i);
	}
	ranges_sort(&t->ranges);
}

static const struct symbol *find_in(const struct table *t, uint64_t address)
{
	size_t place = SIZE_MAX;
	const struct range *range = ranges_next(&t->ranges, address, &place);

	return range ? &t->list[range->item] : NULL;
}

static void table_free(struct table *t)
{
	for (size_t i = 0; i < t->nr; i++)
		free(t->list[i].name);
	free(t->list);
	ranges_free(&t->ranges);
}

/* ---- ELF ------------------------------------------------------------------------------------ */

static bool is_code(const GElf_Sym *sym)
{
	unsigned int type = GELF_ST_TYPE(sym->st_info);

	return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}

static bool is_variable(const GElf_Sym *sym)
{
	unsigned int type = GELF_ST_TYPE(sym->st_info);

	return sym->st_size && (type == STT_OBJECT || type == STT_COMMON);
}

/* The symbols of .dynsym whose version is marked as hidden. */
static void find_hidden(struct symbols *s)
{
	Elf_Scn *scn = NULL, *symbols_scn;
	GElf_Shdr sh, symbols_sh;

	while ((scn = elf_nextscn(s->elf, scn))) {
		Elf_Data *versions, *data;
		GElf_Versym version;
		GElf_Sym sym;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_GNU_versym)
			continue;
		symbols_scn = elf_getscn(s->elf, sh.sh_link);
		versions = elf_getdata(scn, NULL);
		data = symbols_scn ? elf_getdata(symbols_scn, NULL) : NULL;
		if (!versions || !data || !gelf_getshdr(symbols_scn, &symbols_sh))
			continue;
		for (int i = 0; gelf_getversym(versions, i, &version) && gelf_getsym(data, i, &sym);
		     i++) {
			const char *name = elf_strptr(s->elf, symbols_sh.sh_link, sym.st_name);

			if (!(version & VERSION_HIDDEN) || !name)
				continue;
			*APPEND(s->hidden, s->nr_hidden, s->hidden_room) =
				(struct hidden){ name, sym.st_value };
		}
	}
	sort_list(s->hidden, s->nr_hidden, sizeof(*s->hidden), compare_hidden);
}

static void add_frame(void *to, uint64_t start, uint64_t end)
{
	struct symbols *s = to;

	ranges_add(&s->unnamed, start, end, 0);
}

static void add_elf_symbols(struct symbols *s, struct table *t, bool (*wanted)(const GElf_Sym *sym))
{
	int nr = dwfl_module_getsymtab(s->module);

	for (int i = 1; i < nr; i++) {
		GElf_Sym sym;
		GElf_Addr address;
		GElf_Word section;
		const char *name =
			dwfl_module_getsym_info(s->module, i, &sym, &address, &section, NULL, NULL);

		if (sym.st_shndx == SHN_UNDEF || sym.st_shndx == SHN_ABS || !name || !*name ||
		    !wanted(&sym))
			continue;
		/* "name@@VERSION" in some tables. */
		add_symbol(t, copy_string(name, strcspn(name, "@")), address - s->bias, sym.st_size,
			   section, rank_of(&sym, name, is_hidden(s, address - s->bias, name)));
	}
}

/* What is looked for in the loaded segments: an offset in the file, or in memory of it, or an address. */
enum within { FILE_OFFSET, MEMORY_OFFSET, ADDRESS };

static bool find_segment(const struct symbols *s, enum within within, uint64_t value, GElf_Phdr *ph)
{
	size_t nr;

	if (!s->elf || elf_getphdrnum(s->elf, &nr) < 0)
		return false;
	for (size_t i = 0; i < nr; i++) {
		uint64_t start, size;

		if (!gelf_getphdr(s->elf, (int)i, ph) || ph->p_type != PT_LOAD)
			continue;
		start = within == ADDRESS ? ph->p_vaddr : ph->p_offset;
		size = within == MEMORY_OFFSET ? ph->p_memsz : ph->p_filesz;
		if (value >= start && value - start < size)
			return true;
	}
	return false;
}

static bool to_address(const struct symbols *s, enum within within, uint64_t offset,
		       uint64_t *address)
{
	GElf_Phdr ph;

	if (!find_segment(s, within, offset, &ph))
		return false;
	*address = offset - ph.p_offset + ph.p_vaddr;
	return true;
}

bool symbols_address(const struct symbols *s, uint64_t offset, uint64_t *address)
{
	return to_address(s, FILE_OFFSET, offset, address);
}

bool symbols_data_address(const struct symbols *s, uint64_t offset, uint64_t *address)
{
	return symbols_address(s, offset, address) || to_address(s, MEMORY_OFFSET, offset, address);
}

static char *hex(struct lwpdata_bytes bytes)
{
	char *text = must(malloc(2 * bytes.size + 1));

	text[0] = '\0';
	for (size_t i = 0; i < bytes.size; i++)
		sprintf(text + 2 * i, "%02x", bytes.data[i]);
	return text;
}

static int open_debug_file(const char *sysroot, struct lwpdata_bytes build_id)
{
	char *id = hex(build_id), *path;
	int fd;

	path = formatted("%s" DEBUG_DIR "/%.2s/%s.debug", sysroot, id, id + 2);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	free(path);
	free(id);
	return fd;
}

static bool has_build_id(int fd, struct lwpdata_bytes wanted)
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	const void *id;
	ssize_t n = elf ? dwelf_elf_gnu_build_id(elf, &id) : 0;
	bool same = n > 0 && (size_t)n == wanted.size && !memcmp(id, wanted.data, wanted.size);

	elf_end(elf);
	return same;
}

static void set_problem(struct symbols *s, const char *what)
{
	s->problem = copy_string(what, strlen(what));
}

/* A descriptor of the file to use, or -1 with the problem set. */
static int choose_file(struct symbols *s, const char *sysroot, const char *path, uint64_t size,
		       struct lwpdata_bytes build_id)
{
	struct stat st;
	const char *problem = NULL;
	int fd, debug;
	char *full = formatted("%s%s", sysroot, path);

	/* The guest chose the path: a device may not even be opened. */
	fd = !stat(full, &st) && S_ISREG(st.st_mode) ?
		     open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK) :
		     -1;
	if (fd < 0)
		problem = stat(full, &st)     ? strerror(errno) :
			  S_ISREG(st.st_mode) ? "cannot be read" :
						"not a regular file";
	free(full);
	if (!problem && build_id.size && !has_build_id(fd, build_id))
		problem = "another build-id than the program that was profiled";
	else if (!build_id.size && size && !fstat(fd, &st) && (uint64_t)st.st_size != size)
		problem = "another size than the program that was profiled, which has no build-id";
	if (!problem)
		return fd;
	debug = build_id.size ? open_debug_file(sysroot, build_id) : -1;
	if (debug < 0)
		set_problem(s, problem);
	s->detached = true;
	if (fd >= 0)
		close(fd);
	return debug;
}

static int image_file(struct lwpdata_bytes image)
{
	int fd = memfd_create("image", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, image.data, image.size) != (ssize_t)image.size) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Takes the descriptor over. */
static bool open_elf(struct symbols *s, const char *path, int fd)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
	};

	s->dwfl = dwfl_begin(&callbacks);
	if (s->dwfl) {
		dwfl_report_begin(s->dwfl);
		s->module = dwfl_report_elf(s->dwfl, path, path, fd, 0, false);
		dwfl_report_end(s->dwfl, NULL, NULL);
	}
	if (s->module)
		s->elf = dwfl_module_getelf(s->module, &s->bias);
	else
		close(fd);
	return s->elf != NULL;
}

struct symbols *symbols_open(const char *sysroot, const char *path, uint64_t size,
			     struct lwpdata_bytes build_id, struct lwpdata_bytes image)
{
	struct symbols *s = must(calloc(1, sizeof(*s)));
	int fd;

	elf_version(EV_CURRENT);
	fd = image.size ? image_file(image) : choose_file(s, sysroot, path, size, build_id);
	s->is_elf = true;
	if (fd < 0 && !s->problem)
		set_problem(s, strerror(errno));
	if (s->problem)
		return s;
	if (!open_elf(s, path, fd)) {
		set_problem(s, dwfl_errmsg(-1) ?: "not an ELF file");
		return s;
	}
	find_hidden(s);
	add_elf_symbols(s, &s->code, is_code);
	plt_stubs(s->elf, add_stub, &s->code);
	frame_ranges(s->elf, add_frame, s);
	ranges_sort(&s->unnamed);
	build_ranges(&s->code);
	return s;
}

/* ---- perf maps ------------------------------------------------------------------------------ */

/* "START SIZE NAME" in hexadecimal; what does not look like that is skipped. */
static void add_perf_line(struct table *t, const char *line)
{
	uint64_t start, size;
	int name_at = 0;

	if (sscanf(line, "%" SCNx64 " %" SCNx64 " %n", &start, &size, &name_at) == 2 && name_at &&
	    line[name_at] && size && start + size > start)
		add_symbol(t, copy_string(line + name_at, strlen(line + name_at)), start, size, 0,
			   0);
}

struct symbols *symbols_open_perf_map(struct lwpdata_bytes text)
{
	struct symbols *s = must(calloc(1, sizeof(*s)));
	struct table *t = &s->code;
	char *copy = copy_string(text.data, text.size), *next = copy, *line;

	while ((line = strsep(&next, "\n")))
		add_perf_line(t, line);
	free(copy);
	/* Code moves and memory is used again: the latest line counts, so all are kept. */
	for (size_t i = 0; i < t->nr; i++)
		ranges_add(&t->ranges, t->list[i].start, t->list[i].start + t->list[i].size, i);
	ranges_sort(&t->ranges);
	return s;
}

/* ---- Questions ------------------------------------------------------------------------------ */

const char *symbols_problem(const struct symbols *s)
{
	return s->problem;
}

static const struct symbol *find_in_perf_map(const struct table *t, uint64_t address)
{
	const struct range *range;
	size_t place = SIZE_MAX, latest = SIZE_MAX;

	while ((range = ranges_next(&t->ranges, address, &place)))
		if (latest == SIZE_MAX || range->item > latest)
			latest = range->item;
	return latest == SIZE_MAX ? NULL : &t->list[latest];
}

void symbols_each(const struct symbols *s,
		  void (*see)(void *to, const char *name, uint64_t start, uint64_t size), void *to)
{
	for (size_t i = 0; i < s->code.nr; i++) {
		const struct symbol *symbol = &s->code.list[i];

		if (find_in_perf_map(&s->code, symbol->start) == symbol)
			see(to, symbol->name, symbol->start, symbol->size);
	}
}

static const struct symbol *find_symbol(const struct symbols *s, uint64_t offset)
{
	uint64_t address;

	if (!s->is_elf)
		return find_in_perf_map(&s->code, offset);
	return symbols_address(s, offset, &address) ? find_in(&s->code, address) : NULL;
}

const char *symbols_name(const struct symbols *s, uint64_t offset)
{
	const struct symbol *symbol = find_symbol(s, offset);

	return symbol ? symbol->name : NULL;
}

static bool in_ranges(const struct ranges *ranges, uint64_t address, uint64_t *start, uint64_t *end)
{
	size_t place = SIZE_MAX;
	const struct range *range = ranges_next(ranges, address, &place);

	if (!range)
		return false;
	*start = range->start;
	*end = range->end;
	return true;
}

bool symbols_range_at(const struct symbols *s, uint64_t address, uint64_t *start, uint64_t *end)
{
	return s->elf && (in_ranges(&s->code.ranges, address, start, end) ||
			  in_ranges(&s->unnamed, address, start, end));
}

bool symbols_unnamed(const struct symbols *s, uint64_t offset, uint64_t *start, uint64_t *end)
{
	uint64_t address;

	return symbols_address(s, offset, &address) && in_ranges(&s->unnamed, address, start, end);
}

const uint8_t *symbols_code(const struct symbols *s, uint64_t address, uint64_t *size)
{
	size_t raw_size;
	const char *raw = s->elf && !s->detached ? elf_rawfile(s->elf, &raw_size) : NULL;
	uint64_t skip, left;
	GElf_Phdr ph;

	if (!raw || !find_segment(s, ADDRESS, address, &ph))
		return NULL;
	skip = address - ph.p_vaddr;
	if (ph.p_offset > raw_size || skip >= raw_size - ph.p_offset)
		return NULL;
	left = ph.p_filesz - skip;
	if (left > raw_size - ph.p_offset - skip)
		left = raw_size - ph.p_offset - skip;
	if (*size > left)
		*size = left;
	return (const uint8_t *)raw + ph.p_offset + skip;
}

const char *symbols_variable(struct symbols *s, uint64_t address, uint64_t *start)
{
	const struct symbol *symbol;

	if (!s->has_variables && s->elf) {
		add_elf_symbols(s, &s->variables, is_variable);
		build_ranges(&s->variables);
	}
	s->has_variables = true;
	symbol = find_in(&s->variables, address);
	if (!symbol)
		return NULL;
	*start = symbol->start;
	return symbol->name;
}

const char *symbols_section(const struct symbols *s, uint64_t address)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t names;

	if (!s->elf || elf_getshdrstrndx(s->elf, &names) < 0)
		return NULL;
	while ((scn = elf_nextscn(s->elf, scn))) {
		bool tls_bss = gelf_getshdr(scn, &sh) && sh.sh_flags & SHF_TLS &&
			       sh.sh_type == SHT_NOBITS;

		/* .tbss takes no memory of the file's own. */
		if (sh.sh_flags & SHF_ALLOC && !tls_bss && address >= sh.sh_addr &&
		    address - sh.sh_addr < sh.sh_size)
			return elf_strptr(s->elf, names, sh.sh_name);
	}
	return NULL;
}

/* ---- Inlined functions ---------------------------------------------------------------------- */

static const char *name_of_die(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	if (!dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) &&
	    !dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute) &&
	    !dwarf_attr_integrate(die, DW_AT_name, &attribute))
		return NULL;
	return dwarf_formstring(&attribute);
}

/* The scopes of `address` within its unit: those that really contain it, not where an inlined function was written. */
static int find_scopes(Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die **scopes)
{
	Dwarf_Die *written;
	int nr = dwarf_getscopes(unit, address, &written);

	*scopes = NULL;
	if (nr <= 0)
		return 0;
	nr = dwarf_getscopes_die(&written[0], scopes);
	free(written);
	return nr;
}

/* The unit of an address. elfutils before 0.191 finds none where .debug_aranges is missing, as clang leaves it out. */
static Dwarf_Die *unit_at(const struct symbols *s, Dwarf_Addr *address)
{
	Dwarf_Addr bias = 0;
	Dwarf_Die *unit = dwfl_module_addrdie(s->module, *address + s->bias, &bias);

	if (!unit)
		while ((unit = dwfl_module_nextcu(s->module, unit, &bias)))
			if (dwarf_haspc(unit, *address + s->bias - bias) > 0)
				break;
	*address += s->bias - bias;
	return unit;
}

unsigned int symbols_inlined(const struct symbols *s, uint64_t offset, const char *names[],
			     unsigned int max)
{
	Dwarf_Die *unit, *scopes;
	unsigned int n = 0;
	uint64_t address;
	int nr;

	if (!symbols_address(s, offset, &address))
		return 0;
	unit = unit_at(s, &address);
	nr = unit ? find_scopes(unit, address, &scopes) : 0;
	for (int i = 0; i < nr && n < max; i++) {
		const char *name;

		if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine)
			continue;
		name = name_of_die(&scopes[i]);
		if (name)
			names[n++] = name;
	}
	if (nr > 0)
		free(scopes);
	return n;
}

bool symbols_line(const struct symbols *s, uint64_t offset, const char **folder, const char **file,
		  int *line)
{
	Dwarf_Attribute attribute;
	Dwarf_Line *found;
	Dwarf_Die *unit;
	uint64_t address;

	if (!symbols_address(s, offset, &address))
		return false;
	unit = unit_at(s, &address);
	found = dwarf_getsrc_die(unit, address);
	if (!found || dwarf_lineno(found, line))
		return false;
	*file = dwarf_linesrc(found, NULL, NULL);
	*folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
	return *file && *line > 0;
}

bool symbols_first_line(const struct symbols *s, uint64_t address, int *line)
{
	const struct symbol *symbol = s->module ? find_in(&s->code, address) : NULL;
	Dwarf_Addr start = symbol ? symbol->start : 0;
	Dwarf_Line *found = symbol ? dwarf_getsrc_die(unit_at(s, &start), start) : NULL;

	return found && !dwarf_lineno(found, line);
}

void symbols_free(struct symbols *s)
{
	table_free(&s->code);
	table_free(&s->variables);
	ranges_free(&s->unnamed);
	free(s->hidden);
	if (s->dwfl)
		dwfl_end(s->dwfl);
	free(s->problem);
	free(s);
}
