/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPU properties of a model of the data caches: PREFIX-l1d, -l2, -l3, -ram.
 */
#ifndef X86_CACHE_PROPS_H
#define X86_CACHE_PROPS_H

#include "cpu.h"
#include "x86_cache.h"

/*
 * Adds them; the X86CPU has a pointer at @offset to the geometry, which is NULL
 * until one of them is set: that of x86_cache_epyc.
 */
void x86_cache_class_init(ObjectClass *oc, const char *prefix, size_t offset);

/* Can the property still be set?  If not, *@errp says so. */
bool x86_cnt_settable(Object *obj, const char *name, Error **errp);

/* Can there be such caches? */
bool x86_cache_check(const char *prefix, const struct x86_cache_geometry *g,
                     Error **errp);

/* Are they the same? */
bool x86_cache_alike(const struct x86_cache_geometry *a,
                     const struct x86_cache_geometry *b);

#endif
