// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Snapshots inside one process (savevm, loadvm): a machine is saved at a point of the program, runs on, goes
 * back, and ends as if nothing had been, although its engine was in use when the snapshot was loaded.
 */
#include "migrate.h"
#include "vm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IMAGE_BYTES (256 << 20)
#define LONGEST_RUN 2000 /* steps between saving and going back */

/* Wait for a job to be over; its error ends the test. */
static void job(struct vm *vm, const char *id)
{
	json_object *jobs, *error = NULL, *event, *data, *status;
	bool concluded = false;

	while (!concluded) {
		event = qmp_event(&vm->qmp, "JOB_STATUS_CHANGE", NULL);
		if (!event)
			broken("%s: %s", id, vm->qmp.error);
		json_object_object_get_ex(event, "data", &data);
		json_object_object_get_ex(data, "status", &status);
		concluded = !strcmp(json_object_get_string(status), "concluded");
		json_object_put(event);
	}
	jobs = qmp_call(&vm->qmp, "query-jobs", NULL);
	if (!jobs || json_object_object_get_ex(json_object_array_get_idx(jobs, 0), "error", &error))
		broken("%s: %s", id, error ? json_object_get_string(error) : vm->qmp.error);
	json_object_put(jobs);
	vm_do(vm, "job-dismiss", "{\"id\":\"%s\"}", id);
}

/* An image for the snapshots, which no device of the guest uses. */
static void add_image(struct vm *vm, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	if (fd < 0 || close(fd))
		broken("%s: %s", path, strerror(errno));
	vm_do(vm, "blockdev-add",
	      "{\"driver\":\"file\",\"node-name\":\"file\",\"filename\":\"%s\"}", path);
	vm_do(vm, "blockdev-create",
	      "{\"job-id\":\"create\",\"options\":{\"driver\":\"qcow2\",\"file\":\"file\",\"size\":%d}}",
	      IMAGE_BYTES);
	job(vm, "create");
	vm_do(vm, "blockdev-add",
	      "{\"driver\":\"qcow2\",\"node-name\":\"disk\",\"file\":\"file\"}");
}

static void snapshot(struct vm *vm, const char *command, unsigned int tag)
{
	vm_do(vm, command,
	      "{\"job-id\":\"job\",\"tag\":\"s%u\",\"vmstate\":\"disk\",\"devices\":[\"disk\"]}",
	      tag);
	job(vm, "job");
}

static void run_to(struct vm *vm, uint64_t step)
{
	vm_cpu_set(vm, "x-lwp-stop-at", step);
	qmp_drop_events(&vm->qmp);
	vm_do(vm, "cont", NULL);
	vm_event(vm, "STOP");
}

void test_snapshot(void)
{
	static const char *const extra[] = { "-S", NULL };
	const struct program *p = &programs[0];
	char output[512], log[512], image[512];
	/* Going back implies a reset, from which steps are counted: at step 0 the program is at `origin`. */
	uint64_t steps, origin = 0, saved_at;
	char *text, *wanted = program_output(p, &steps);
	unsigned int i;
	struct vm vm;
	int status;

	snprintf(output, sizeof(output), "%s/output", opt.work);
	snprintf(log, sizeof(log), "%s/log", opt.work);
	snprintf(image, sizeof(image), "%s/image", opt.work);
	if (!vm_start(&vm, "machine", flat_machine(opt.qemu, p->cpu, p->append, extra), output,
		      log))
		broken("QEMU does not start: %s", read_file(log, NULL));
	add_image(&vm, image);
	for (i = 0; i < opt.count; i++) {
		uint64_t part = (steps - LONGEST_RUN) / opt.count;

		run_to(&vm, 1 + i * part + part / 2 + draw(part / 2) - origin);
		saved_at = vm_cpu_number(&vm, "x-lwp-steps");
		snapshot(&vm, "snapshot-save", i);
		run_to(&vm, saved_at + 1 + draw(LONGEST_RUN));
		snapshot(&vm, "snapshot-load", i);
		origin += saved_at;
	}
	vm_do(&vm, "cont", NULL);
	status = vm_wait(&vm, VM_PATIENCE);
	text = read_file(output, NULL);
	ok(status == 1 && !strcmp(program_results(text), program_results(wanted)),
	   "saved, gone on and gone back %u times: ends as the undisturbed run", opt.count);
	free(text);
	free(wanted);
}
