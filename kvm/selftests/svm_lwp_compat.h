/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What svm_lwp_test.c calls by the names of newer kernels' selftests.
 */
#ifndef SVM_LWP_COMPAT_H
#define SVM_LWP_COMPAT_H

#include "kvm_util.h"
#include "svm_util.h"

#define gva_t vm_vaddr_t

static unsigned long l2_stack[512];

#define generic_svm_setup(svm, code) \
	generic_svm_setup(svm, code, &l2_stack[ARRAY_SIZE(l2_stack)])

#endif
