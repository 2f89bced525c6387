// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that includes liblwp.h and lwp.h, for C and C++ compilers: what the headers declare compiles
 * without a warning, and without LWP lwp_open() says so.
 */
#include "liblwp.h"

static int use_all_inlines(struct lwp_features *features, struct lwp_block *block, void *ring)
{
	lwp_block_init(block, features, ring, 4096, 0);
	lwp_block_event(block, features, LWP_EVENT_BRANCH, 1, 1);
	lwp_llwpcb(block);
	lwp_lwpval(1, 2, 3);
	lwp_mark(1, 2);
	lwp_ring_pop(block);
	return lwp_lwpins(1, 2, 3) && lwp_slwpcb() == block && lwp_ring_peek(block);
}

int main(int argc, char **argv)
{
	struct lwp_choice choice = { LWP_EVENT_INSTRUCTION, 999 };
	struct lwp_session *session;
	struct lwp_features features;
	int error = lwp_open(&session, &choice, 1, 0, 0);

	if (lwp_query(&features))
		return argc > 1 ?
			       use_all_inlines(&features, (struct lwp_block *)(void *)argv, argv) :
			       lwp_close(session);
	return error != LWP_ERROR_NO_LWP || session || lwp_available() ||
	       lwp_strerror(error) == lwp_strerror(LWP_OK) || lwp_poll(session) >= 0;
}
