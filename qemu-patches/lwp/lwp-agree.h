/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP: what the two sides of a migration must agree on.
 */
#ifndef LWP_AGREE_H
#define LWP_AGREE_H

/*
 * A CPU with LWP has been realized: from now on the machine's streams begin
 * with the description of its LWP.  All CPUs of a machine have the same.
 */
void x86_lwp_agree_init(X86CPU *cpu);

/*
 * After a CPU has been loaded: if it has LWP, has the source sent the same
 * description of LWP?  If not, prints on standard error what is wrong.
 */
bool x86_lwp_agreed(X86CPU *cpu);

#endif
