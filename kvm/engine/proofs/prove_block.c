// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Taking a block over, flushing into it, and reading its address range again keep the invariant.
 * Split: block_take block_flush
 */
#include "any_engine.h"

PROPERTY(block_take)
{
	struct lwp_ds ds = any_ds();
	ANY(u8, flat);
	ANY(u64, linear);
	enum lwp_block_verdict verdict;
	enum lwp_mem_result result;
	struct lwp_fault fault;

	any_engine();
	assume(linear && range_ok(linear, e.caps.cb_size) && lwp_engine_avail(&e));
	result = lwp_block_take(&e, linear, flat & 1 ? NULL : &ds, &verdict, &fault);
	check("43724-613", !records && !misses);
	if (result == LWP_MEM_OK && verdict == LWP_BLOCK_ON) {
		check("43724-617", e.st.size && e.st.cb_addr == linear);
		check("43724-616", !e.st.pending.event_id && !lwp_owes(&e));
	}
	check("43724-420", engine_ok());
	cover(result == LWP_MEM_OK && verdict == LWP_BLOCK_ON);
	cover(result == LWP_MEM_OK && verdict != LWP_BLOCK_ON);
}

PROPERTY(block_flush)
{
	struct lwp_fault fault;
	enum lwp_mem_result result;

	any_engine();
	assume(e.st.size);
	result = lwp_block_flush(&e, &fault);
	check("43724-621", !records && !misses && heads <= 1);
	check("43724-621", result != LWP_MEM_OK || heads == 1);
	check("43724-420", engine_ok());
	cover(result == LWP_MEM_OK);
}

PROPERTY(block_read_ip)
{
	struct lwp_fault fault;
	enum lwp_mem_result result;
	bool valid;

	any_engine();
	assume(e.st.cb_addr);
	valid = e.ip_valid;
	result = lwp_block_read_ip(&e, &fault);
	check("43724-310", e.ip_valid == (valid || result == LWP_MEM_OK));
	check("43724-310", !records && !misses && !heads);
	check("43724-420", engine_ok());
}
