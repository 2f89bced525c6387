// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * perf events of a vCPU's thread that count the guest at CPL 3.
 *
 * They are pinned: the host's perf cannot take their counters while they run. A vCPU that does not
 * use its events for SVM_LWP_PERF_IDLE releases them.
 */
#include <linux/jiffies.h>
#include <linux/perf_event.h>
#include <linux/workqueue.h>

#include "svm.h"
#include "lwp_layers.h"

/* Release the event, if there is one. */
void svm_lwp_event_put(struct perf_event **event)
{
	if (*event)
		perf_event_release_kernel(*event);
	*event = NULL;
}

/*
 * Create an event of this thread that counts the guest at CPL 3, or keep *event if it is one. It is
 * stopped. An event without an overflow handler has no period. False: there is none, *event is
 * NULL (2007-715).
 */
bool svm_lwp_event_get(struct perf_event **event, const struct svm_lwp_counter *c, void *context)
{
	struct perf_event_attr attr = {
		.type = c->type,
		.size = sizeof(attr),
		.config = c->config,
		.sample_period = c->overflow ? S32_MAX : 0,
		.disabled = true,
		.pinned = true,
		.exclude_kernel = true,
		.exclude_hv = true,
		.exclude_host = true,
	};

	/* Another thread runs the vCPU now. */
	if (*event && (*event)->hw.target != current)
		svm_lwp_event_put(event);
	if (*event)
		return true;
	*event = perf_event_create_kernel_counter(&attr, -1, current, c->overflow, context);
	if (!IS_ERR(*event))
		return true;
	*event = NULL;
	return false;
}

/* Start an event from 0. It interrupts after `after` counts; 0 = never. */
bool svm_lwp_event_run(struct perf_event *event, u64 after)
{
	if (after && perf_event_period(event, after))
		return false;
	perf_event_enable(event);
	return READ_ONCE(event->state) == PERF_EVENT_STATE_ACTIVE;
}

/*
 * Get the count of an event of the current thread, without stopping it. False: it does not count
 * now, because it has lost its counter. perf_event_read_local() does this, but modules cannot call
 * it. An event that perf has throttled is active and counts nothing; it is one that has
 * interrupted, and LWP stops those and starts them again before the guest runs at CPL 3.
 */
bool svm_lwp_event_count(struct perf_event *event, u64 *count)
{
	guard(irqsave)();
	if (event->state != PERF_EVENT_STATE_ACTIVE || event->oncpu != smp_processor_id())
		return false;
	event->pmu->read(event);
	*count = local64_read(&event->count);
	return true;
}

/*
 * Has the event counted `after`, or has it stopped counting? It stops when it loses its counter,
 * and when another thread runs the vCPU.
 */
bool svm_lwp_event_reached(struct perf_event *event, u64 after)
{
	u64 count;

	return event->hw.target != current || !svm_lwp_event_count(event, &count) || count >= after;
}

/* Events are about to be used. Called with svm_lwp.lock held. */
void svm_lwp_event_use(struct kvm_vcpu *vcpu)
{
	struct svm_lwp_perf *p = &to_svm(vcpu)->lwp.perf;

	p->used = jiffies;
	if (!delayed_work_pending(&p->release_idle))
		schedule_delayed_work(&p->release_idle, SVM_LWP_PERF_IDLE);
}
