// SPDX-License-Identifier: GPL-2.0-or-later
/* Asking the processor for LWP. */
#include <cpuid.h>

#include "processor.h"

bool leaf_query(struct leaf *leaf, const char **why)
{
	uint32_t eax, ebx, ecx, edx;

	*why = "this processor has no LWP (CPUID 80000001h ECX[15] is 0)";
	if ((unsigned int)__get_cpuid_max(0x80000000u, NULL) < LWP_CPUID_LEAF)
		return false;
	__cpuid(LWP_CPUID_PRESENT_LEAF, eax, ebx, ecx, edx);
	if (!(ecx & LWP_CPUID_PRESENT_ECX))
		return false;
	__cpuid_count(LWP_CPUID_LEAF, 0, eax, ebx, ecx, edx);
	*why = "LWP is not available to programs here (CPUID 8000001Ch EAX[0] is 0)";
	if (!(eax & LWP_F_AVAIL))
		return false;
	*why = "this processor's LWP is of an unknown kind (CPUID 8000001Ch)";
	leaf->regs = (struct lwp_leaf){ .eax = eax, .ebx = ebx, .ecx = ecx, .edx = edx };
	return leaf_decode(leaf);
}
