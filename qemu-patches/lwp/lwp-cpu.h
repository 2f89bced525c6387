/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP: what the files of CPU properties share.
 */
#ifndef LWP_CPU_H
#define LWP_CPU_H

#include "lwp/x86-lwp.h"
#include "lwp_cpuid.h"

/* Can the property still be set?  If not, *@errp says so. */
bool x86_lwp_settable(Object *obj, const char *name, Error **errp);

/* lwp-cpu-cache.c: lwp-cache-l1d, -l2, -l3, -ram, ibs-cache */
void x86_lwp_cache_class_init(ObjectClass *oc);

/* Can a CPU with these numbers in the leaf have the caches that were asked for? */
bool x86_lwp_cache_check(const X86LWPProps *p, const struct lwp_caps *caps,
                         Error **errp);

/* The same of a CPU with ibs-cache, which LWP has no part in. */
bool x86_lwp_ibs_cache_check(X86CPU *cpu, Error **errp);

/* Are the caches of two CPUs the same? */
bool x86_lwp_cache_alike(const X86LWPProps *p, const X86LWPProps *q);

#endif
