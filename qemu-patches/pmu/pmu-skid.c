/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The skid: how late the interrupt of an overflow comes.  pmu-skid=N is fixed;
 * the distributions give the same sequence in every run.
 *
 * zen2, zen3: published measurements of the overflow interrupts of guest-only
 * counters (retired conditional branches) on a Ryzen 3600 and on an EPYC of
 * the Milan class; here the numbers are instructions.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "pmu/x86-pmu.h"

/* A point of a distribution: this many of a million come no later. */
typedef struct PMUQuantile {
    uint32_t share;
    uint32_t insns;
} PMUQuantile;

/* mean 1496, maximum 5043 */
static const PMUQuantile zen2[] = {
    { 0, 800 }, { 500000, 1400 }, { 990000, 2200 }, { 999900, 3500 },
    { 1000000, 5043 },
};

/* minimum 1202, median 2915, 99% 3251, 99.9% 5371, 99.99% 7583, max 86738 */
static const PMUQuantile zen3[] = {
    { 0, 1202 }, { 500000, 2915 }, { 990000, 3251 }, { 999000, 5371 },
    { 999900, 7583 }, { 1000000, 86738 },
};

/* xorshift64*, by Marsaglia and Vigna */
uint32_t x86_pmu_random(uint64_t *seed, uint32_t below)
{
    uint64_t x = *seed ? *seed : 0x9e3779b97f4a7c15;

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *seed = x;
    return (x * 0x2545f4914f6cdd1d >> 32) % below;
}

static uint32_t pmu_draw(X86PMU *pmu, const PMUQuantile *q)
{
    uint32_t share = x86_pmu_random(&pmu->skid_seed, 1000001);

    while (share > q[1].share) {
        q++;
    }
    return q->insns + (uint64_t)(q[1].insns - q->insns) *
                      (share - q->share) / (q[1].share - q->share);
}

/*
 * In turn: on time; as zen3; far too late; a burst of four; held back until
 * the next #VMEXIT; lost.
 */
static uint64_t pmu_adversarial(X86PMU *pmu)
{
    switch (pmu->skid_number % 6) {
    case 0:
        return 0;
    case 2:
        return 20000;
    case 3:
        pmu->burst = 3;
        return 100;
    case 4:
        pmu->held = 1;
        return 0;
    case 5:
        return UINT64_MAX;
    default:
        return pmu_draw(pmu, zen3);
    }
}

uint64_t x86_pmu_next_skid(const X86PMUProps *props, X86PMU *pmu)
{
    uint64_t insns;

    switch (props->skid) {
    case X86_PMU_SKID_ZEN2:
        insns = pmu_draw(pmu, zen2);
        break;
    case X86_PMU_SKID_ZEN3:
        insns = pmu_draw(pmu, zen3);
        break;
    case X86_PMU_SKID_ADVERSARIAL:
        insns = pmu_adversarial(pmu);
        break;
    default:
        return props->skid_insns;
    }
    pmu->skid_number++;
    return insns == UINT64_MAX ? insns : insns / props->skid_divisor;
}
