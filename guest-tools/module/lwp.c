// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * LWP's threshold interrupt as an eventfd, and nothing else. A thread opens /dev/lwp and writes the number of an
 * eventfd, an int, there. Until it does so with another file, or this one is closed, that eventfd counts the threshold
 * interrupts that come while this thread runs. Who reads it may be another thread or process.
 *
 * LWP_CFG has one vector, which a module can have on one CPU only: so each CPU has an interrupt of its own, from the
 * domain of x86's vectors. LWP_CFG also gets all features that the processor offers, and COREID the CPU's number.
 */
#include <linux/cpuhotplug.h>
#include <linux/eventfd.h>
#include <linux/fs.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <linux/xarray.h>
#include <asm/hw_irq.h>
#include <asm/irqdomain.h>
#include <asm/msr.h>
#include <asm/processor.h>
#if __has_include(<asm/cpuid/api.h>)
#include <asm/cpuid/api.h>
#endif

#define CPUID_LWP 0x8000001c
#define MSR_LWP_CFG 0xc0000105
#define LWP_INT BIT(31) /* in EDX and in LWP_CFG */

/* What a file stands for once an eventfd was written to it. */
struct watch {
	struct pid *thread;
	struct eventfd_ctx *event;
};

struct cpu_irq {
	int irq;
	u32 low, high; /* LWP_CFG as it was */
};

/* By the address of struct pid. */
static DEFINE_XARRAY_FLAGS(watches, XA_FLAGS_LOCK_IRQ | XA_FLAGS_ACCOUNT);
static DEFINE_PER_CPU(struct cpu_irq, cpu_irqs);
static enum cpuhp_state hotplug;

/*
 * A record is stored while its thread runs in user mode, and interrupts are enabled before Linux switches from there to
 * another thread: so it is the current one.
 */
static irqreturn_t threshold(int irq, void *unused)
{
	struct watch *w;

	xa_lock(&watches);
	w = xa_load(&watches, (unsigned long)task_pid(current));
	if (w)
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
		eventfd_signal(w->event, 1);
#else
		eventfd_signal(w->event);
#endif
	xa_unlock(&watches);
	return IRQ_HANDLED;
}

static int device_open(struct inode *inode, struct file *file)
{
	file->private_data = kzalloc(sizeof(struct watch), GFP_KERNEL_ACCOUNT);
	return file->private_data ? 0 : -ENOMEM;
}

static ssize_t device_write(struct file *file, const char __user *from, size_t size, loff_t *pos)
{
	struct watch *w = file->private_data;
	struct eventfd_ctx *event;
	int fd;

	if (size != sizeof(fd))
		return -EINVAL;
	if (copy_from_user(&fd, from, sizeof(fd)))
		return -EFAULT;
	event = eventfd_ctx_fdget(fd);
	if (IS_ERR(event))
		return PTR_ERR(event);
	if (cmpxchg(&w->event, NULL, event)) {
		eventfd_ctx_put(event);
		return -EBUSY;
	}
	w->thread = get_pid(task_pid(current));
	return xa_err(xa_store_irq(&watches, (unsigned long)w->thread, w, GFP_KERNEL)) ?: size;
}

static int device_release(struct inode *inode, struct file *file)
{
	struct watch *w = file->private_data;

	if (w->event) {
		xa_cmpxchg_irq(&watches, (unsigned long)w->thread, w, NULL, GFP_KERNEL);
		eventfd_ctx_put(w->event);
		put_pid(w->thread);
	}
	kfree(w);
	return 0;
}

static int cpu_online_lwp(unsigned int cpu)
{
	struct irq_alloc_info info = { .mask = cpumask_of(cpu) };
	struct cpu_irq *own = this_cpu_ptr(&cpu_irqs);
	int err;

	own->irq = __irq_domain_alloc_irqs(x86_vector_domain, -1, 1, cpu_to_node(cpu), &info, false,
					   NULL);
	if (own->irq < 0)
		return own->irq;
	irq_set_affinity(own->irq, cpumask_of(cpu));
	irq_set_handler(own->irq, handle_edge_irq);
	err = request_irq(own->irq, threshold, IRQF_PERCPU | IRQF_NO_THREAD, "lwp", NULL);
	if (err) {
		irq_dispose_mapping(own->irq);
		return err;
	}
	rdmsr(MSR_LWP_CFG, own->low, own->high);
	wrmsr(MSR_LWP_CFG, cpuid_edx(CPUID_LWP),
	      irqd_cfg(irq_get_irq_data(own->irq))->vector << 8 | (u8)cpu);
	return 0;
}

static int cpu_offline_lwp(unsigned int cpu)
{
	struct cpu_irq *own = this_cpu_ptr(&cpu_irqs);

	wrmsr(MSR_LWP_CFG, own->low, own->high);
	free_irq(own->irq, NULL);
	irq_dispose_mapping(own->irq);
	return 0;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = device_open,
	.write = device_write,
	.release = device_release,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "lwp",
	.mode = 0666,
	.fops = &operations,
};

static int __init lwp_init(void)
{
	int err;

	if (IS_ENABLED(CONFIG_PREEMPT_RT) || !boot_cpu_has(X86_FEATURE_LWP) ||
	    !(cpuid_edx(CPUID_LWP) & LWP_INT))
		return -ENODEV;
	err = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "lwp:online", cpu_online_lwp, cpu_offline_lwp);
	if (err < 0)
		return err;
	hotplug = err;
	err = misc_register(&device);
	if (err)
		cpuhp_remove_state(hotplug);
	return err;
}
module_init(lwp_init);

static void __exit lwp_exit(void)
{
	misc_deregister(&device);
	cpuhp_remove_state(hotplug);
}
module_exit(lwp_exit);

MODULE_DESCRIPTION("AMD Lightweight Profiling: the threshold interrupt as an eventfd");
MODULE_LICENSE("GPL");
