/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What LWP has written to the memory of a guest that writes none itself (guest-tests/flat/tests/contained.c),
 * and whether it may have written it: to block and ring of its states, through pages that the guest's own
 * tables let user code write.
 */
#ifndef LAB_MIGRATE_CONTAIN_H
#define LAB_MIGRATE_CONTAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GUEST_MEMORY (16ull << 20)

enum rights { WRITABLE, READ_ONLY, KERNEL, ABSENT, RIGHTS };

/* Pages one behind the other with the same rights. */
struct place {
	enum rights rights;
	uint64_t at, size; /* linear */
};

/* What the program says of its memory, and that memory as it was saved. */
#define MAX_PLACES 16
struct territory {
	uint64_t tables; /* CR3 */
	uint64_t stack, stack_size; /* physical: the kernel's; the guest writes nothing else */
	uint32_t block_size; /* of an LWPCB */
	struct place place[MAX_PLACES];
	unsigned int places;
	uint8_t *memory;
};

/* Linear addresses that a state lets LWP write. */
struct span {
	uint64_t at, size;
};

struct written {
	unsigned int bytes; /* that are not as they were, stack excepted */
	unsigned int redirected; /* of these, in the places of the territory */
	bool stray; /* one of them is not in any span, or not for user code to write: */
	uint64_t stray_at; /* physical */
};

/* Memory for a guest, as a file descriptor that QEMU inherits; zero after memory_clear(). */
int memory_new(void);
void memory_clear(int fd);
/*
 * Arguments that give this memory to flat_machine(), and @extra (NULL: none) behind them. The result lasts
 * until the next call.
 */
const char *const *memory_arguments(int fd, const char *const *extra);

/* Fill *t from the program's output and from its machine's memory. */
void territory_read(struct territory *t, const char *output, int fd);
/* Physical address of a byte at CPL 3 for writing; false: there is none. */
bool territory_writable(const struct territory *t, uint64_t linear, uint64_t *physical);

/* What is different in this memory, and may all of it be? */
struct written territory_compare(const struct territory *t, int fd, const struct span *span,
				 unsigned int spans);

#endif
