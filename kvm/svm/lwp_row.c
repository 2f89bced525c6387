// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What was measured of this processor's counters, as a row (pmc_row.h): vlwp-probe prints it, and
 * lwp_row= says it. KVM measures nothing itself, least of all in a tenant's guest.
 *
 * A counter is ahead of the truth by fixed numbers at VM-Entry, by the reason of the exit before,
 * and at some events of the guest. KVM sees entries, injected events, and, while it intercepts
 * IRET, returns to CPL 3; it subtracts what they add. INT n is left to a stopped counter, with
 * `exact` SYSCALL to KVM's emulator. What KVM does not see it cannot subtract: a row with such a
 * number, like no row, has `exact` delivery step each instruction.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/moduleparam.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "svm.h"
#include "lwp_layers.h"

struct row {
	struct rcu_head rcu;
	struct pmc_row of;
};

static struct row __rcu *the_row;
static DEFINE_MUTEX(writers);
static u32 turn = 1; /* counts the rows */
static bool told; /* the module has been loaded */
static bool counting; /* performance counters are the source */

/* perf itself may delay an interrupt by one event, see lwp_perf.c. */
#define MARGIN_LEAST 2

/* Places that no exit shows, while a counter runs. */
static const enum pmc_place unseen[] = {
	PMC_PF, PMC_SYSRET, PMC_REP, PMC_LOCK, PMC_SMI,
};

/* Is this the processor of the row? */
static bool svm_lwp_row_fits(const struct pmc_row *row)
{
	const struct cpuinfo_x86 *c = &boot_cpu_data;

	return !(row->items & PMC_BIT(PMC_CPU)) ||
	       (c->x86 == row->cpu[0] && c->x86_model >= row->cpu[1] &&
		c->x86_model <= row->cpu[2]);
}

static int svm_lwp_row_set(const char *text, const struct kernel_param *param)
{
	struct row *row = kzalloc(sizeof(*row), GFP_KERNEL), *old;
	struct pmc_row_error err = { .message = "it is of another processor" };

	if (!row)
		return -ENOMEM;
	if (!pmc_row_parse(text, strcspn(text, "\n"), &row->of, &err) ||
	    !svm_lwp_row_fits(&row->of)) {
		kfree(row);
		pr_warn("LWP: lwp_row is not used: %s, at '%.16s'\n", err.message, text + err.at);
		/* A wrong one must not keep kvm_amd from loading. */
		return told ? -EINVAL : 0;
	}
	guard(mutex)(&writers);
	old = rcu_replace_pointer(the_row, row, lockdep_is_held(&writers));
	WRITE_ONCE(turn, turn + 1);
	if (old)
		kfree_rcu(old, rcu);
	return 0;
}

static int svm_lwp_row_get(char *to, const struct kernel_param *param)
{
	const struct row *row;
	size_t length = 0;

	guard(rcu)();
	row = rcu_dereference(the_row);
	if (row)
		length = pmc_row_format(&row->of, to, PAGE_SIZE - 1);
	to[length] = '\n';
	return length + 1;
}

static const struct kernel_param_ops row_ops = { .set = svm_lwp_row_set, .get = svm_lwp_row_get };
module_param_cb(lwp_row, &row_ops, NULL, 0644);
MODULE_PARM_DESC(lwp_row,
		 "what was measured of this processor's counters, as vlwp-probe prints it");

/* Why a row does not do for events of LWP; NULL: it does. */
static const char *svm_lwp_row_lacks(const struct pmc_row *row, enum pmc_event event)
{
	const char *why;
	int i;

	if (!pmc_row_exact(row, event, &why))
		return why;
	if (row->items & PMC_BIT(PMC_LOST))
		return "interrupts are lost";
	for (i = 0; i < ARRAY_SIZE(unseen); i++) {
		if (row->over[event][unseen[i]].most)
			return "KVM does not see where they count too much";
	}
	return NULL;
}

static const char *svm_lwp_row_why(enum lwp_kind kind)
{
	const struct row *row;
	const char *why;

	if (!counting)
		return "lwp_source is not perf";
	guard(rcu)();
	row = rcu_dereference(the_row);
	if (!row)
		return "lwp_row does not say what this processor's counters do";
	if (kind == LWP_KIND_IRE)
		return svm_lwp_row_lacks(&row->of, PMC_INSNS);
	why = svm_lwp_row_lacks(&row->of, PMC_BRANCHES);
	return why ?: svm_lwp_row_lacks(&row->of, PMC_FAR);
}

/* Another number for each row. */
u32 svm_lwp_row_turn(void)
{
	return READ_ONCE(turn);
}

/* Can the counts of a kind be corrected, as `exact` delivery needs it? */
bool svm_lwp_row_exact(enum lwp_kind kind)
{
	return !svm_lwp_row_why(kind);
}

/* When the module is loaded. counters: they are the source; say what they cannot count exactly. */
void svm_lwp_row_tell(bool counters)
{
	const char *insns, *branches;

	counting = counters;
	insns = svm_lwp_row_why(LWP_KIND_IRE);
	branches = svm_lwp_row_why(LWP_KIND_BRE);
	if (counters && (insns || branches))
		pr_info("LWP: exact delivery of %s steps each instruction: %s\n",
			insns ? "instructions" : "branches", insns ?: branches);
	told = true;
}

static void svm_lwp_row_show_kind(struct seq_file *m, const char *name, enum lwp_kind kind)
{
	const char *why = svm_lwp_row_why(kind);

	seq_printf(m, "%s: %s%s\n", name, why ? "stepped: " : "counted", why ?: "");
}

/*
 * The file row in debugfs: the corrections in force, where they come from, and what `exact`
 * delivery does with each event. The row does not change meanwhile.
 */
static int svm_lwp_row_show(struct seq_file *m, void *unused)
{
	const struct row *row;
	size_t size, length;
	char *buf;

	guard(mutex)(&writers);
	row = rcu_dereference_protected(the_row, lockdep_is_held(&writers));
	seq_puts(m, "row: ");
	size = seq_get_buf(m, &buf);
	length = row && size ? pmc_row_format(&row->of, buf, size) : 0;
	seq_commit(m, length < size ? (int)length : -1);
	seq_printf(m, "\norigin: %s\n", length ? "lwp_row=" : "none");
	svm_lwp_row_show_kind(m, "instructions", LWP_KIND_IRE);
	svm_lwp_row_show_kind(m, "branches", LWP_KIND_BRE);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(svm_lwp_row);

void svm_lwp_row_file(struct dentry *folder)
{
	debugfs_create_file("row", 0444, folder, NULL, &svm_lwp_row_fops);
}

/* Counts too many, of each event and place; the least where it is not constant. */
void svm_lwp_row_over(u16 over[PMC_EVENTS][PMC_PLACES])
{
	const struct row *row;
	int event, place;

	memset(over, 0, PMC_EVENTS * sizeof(*over));
	guard(rcu)();
	row = rcu_dereference(the_row);
	for (event = 0; row && event < PMC_EVENTS; event++) {
		for (place = 0; place < PMC_PLACES; place++)
			over[event][place] = row->of.over[event][place].least;
	}
}

/*
 * The margin of a vCPU. Lateness is a time: the row's rate makes events of its cycles. If it is
 * always the same, so is the margin.
 */
void svm_lwp_row_margin(struct lwp_margin *margin)
{
	u32 late[PMC_LATES], least;
	const struct row *row;
	int i;

	guard(rcu)();
	row = rcu_dereference(the_row);
	for (i = 0; i < PMC_LATES; i++)
		late[i] = MARGIN_LEAST +
			  (row ? DIV_ROUND_UP((u64)row->of.late[i] * row->of.rate, 1000) : 0);
	least = late[PMC_MIN] == late[PMC_MAX] ? late[PMC_MAX] : MARGIN_LEAST;
	lwp_margin_init(margin, late[PMC_P99], least, late[PMC_MAX]);
}
