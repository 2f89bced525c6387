/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP under TCG: the engine's access to guest memory, with user rights at any
 * CPL.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/cputlb.h"
#include "count/qemu-compat.h"
#include "exec/target_page.h"
#include "qemu/atomic.h"
#include "lwp/tcg-lwp.h"

/*
 * Look up one page of a span: its host address, 0 if there is none (43724-818).
 */
static enum lwp_mem_result lwp_map_page(CPUX86State *env, uint64_t gva,
                                        uint32_t len, bool write,
                                        uint64_t *host,
                                        struct lwp_fault *fault)
{
    MMUAccessType access = write ? MMU_DATA_STORE : MMU_DATA_LOAD;
    void *ptr = NULL;
    int flags = probe_access_flags(env, gva, len, access,
                                   x86_lwp_mmu_index(env), true, &ptr, 0);

    *host = (uintptr_t)ptr;
    if (flags & TLB_INVALID_MASK) {
        fault->addr = gva;
        /* set by the page walk that failed */
        fault->error_code = env->error_code;
        return LWP_MEM_FAULT;
    }
    /* No host address: not RAM, or ROM and a write. */
    return ptr ? LWP_MEM_OK : LWP_MEM_NOT_RAM;
}

static enum lwp_mem_result lwp_map(void *vcpu, struct lwp_span *span,
                                   bool write, struct lwp_fault *fault)
{
    CPUX86State *env = vcpu;
    uint32_t first = lwp_span_first(span);
    enum lwp_mem_result r;

    /* A page table may lie in a device, and there is no TB to start again. */
    assert(env_cpu(env)->neg.can_do_io);
    span->direct = x86_lwp_tlb_hit(env, span->gva, span->len, write);
    if (span->direct) {
        return LWP_MEM_OK;
    }
    r = lwp_map_page(env, span->gva, first, write, &span->page[0], fault);
    if (r == LWP_MEM_OK && first < span->len) {
        r = lwp_map_page(env, span->gva + first, span->len - first, write,
                         &span->page[1], fault);
    }
    return r;
}

static enum lwp_mem_result lwp_read(void *vcpu, const struct lwp_span *span,
                                    uint32_t offset, void *to, uint32_t len)
{
    uint32_t part;
    uint64_t host;

    for (; len; offset += part, to += part, len -= part) {
        part = lwp_span_part(span, offset, len, &host);
        memcpy(to, (void *)(uintptr_t)host, part);
    }
    return LWP_MEM_OK;
}

static void lwp_write(void *vcpu, const struct lwp_span *span, uint32_t offset,
                      const void *from, uint32_t len)
{
    uint32_t part;
    uint64_t host;

    for (; len; offset += part, from += part, len -= part) {
        part = lwp_span_part(span, offset, len, &host);
        lwp_write_direct((void *)(uintptr_t)host, from, part);
    }
}

const struct lwp_mem_ops x86_lwp_mem_ops = {
    .map = lwp_map,
    .read = lwp_read,
    .write = lwp_write,
};
