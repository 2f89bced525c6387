// SPDX-License-Identifier: GPL-2.0-or-later
/* What is read as a row and written is read as the same row. A text that is refused has a place and a message. */
#include "fuzz.h"
#include "pmc_row.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct pmc_row row, again;
	struct pmc_row_error err = { ~(size_t)0, NULL };
	char text[PMC_ROW_SIZE];

	if (pmc_row_parse((const char *)data, size, &row, &err)) {
		CHECK(pmc_row_format(&row, text, sizeof(text)) < sizeof(text));
		CHECK(pmc_row_parse(text, strlen(text), &again, &err));
		CHECK(!memcmp(&row, &again, sizeof(row)));
	} else {
		CHECK(err.at <= size && err.message);
	}
	return 0;
}
