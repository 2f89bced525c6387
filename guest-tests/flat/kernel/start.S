/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the loader to C. The image is an ELF with a PVH note and a Multiboot2 header, so a hypervisor or GRUB starts
 * it at start32 in 32-bit protected mode, paging off, EBX pointing to what the loader says; EAX is Multiboot2's magic
 * if it was that. The other processors come through the 16-bit trampoline at the end, which smp.c copies below 1 MiB.
 */
#include "layout.h"

#define BOOT_CS 0x08
#define BOOT_DS 0x10
#define BOOT_CS32 0x18
#define CR0_PE 0x1
#define CR0_MP 0x2
#define CR0_NE 0x20
#define CR0_WP 0x10000
#define CR0_PG 0x80000000
#define CR4_PAE 0x20
#define CR4_LA57 0x1000
#define MSR_EFER 0xc0000080
#define EFER_LME 0x100
#define PTE_PRESENT_WRITE 0x3
#define PTE_LARGE 0x80
#define MULTIBOOT2_HEADER 0xe85250d6
#define MULTIBOOT2_I386 0
#define XEN_ELFNOTE_PHYS32_ENTRY 18

	.section .note.pvh, "a", @note
	.balign 4
	.long 4, 8, XEN_ELFNOTE_PHYS32_ENTRY
	.asciz "Xen"
	.quad start32

	/* Enter long mode with the boot page tables, five levels where they exist and are wanted. Clobbers eax, ecx, edx, edi, esi. */
.macro enter_long_mode
	mov %ebx, %esi
	mov $7, %eax
	xor %ecx, %ecx
	cpuid
	mov %esi, %ebx
	mov $CR4_PAE, %eax
	mov $boot_pml4, %edi
	test boot_la57, %ecx
	jz 1f
	or $CR4_LA57, %eax
	mov $boot_pml5, %edi
1:	mov %eax, %cr4
	mov %edi, %cr3
	mov $MSR_EFER, %ecx
	rdmsr
	or $EFER_LME, %eax
	wrmsr
	mov $(CR0_PG | CR0_WP | CR0_NE | CR0_MP | CR0_PE), %eax
	mov %eax, %cr0
.endm

.macro load_data_segments
	mov $BOOT_DS, %eax
	mov %eax, %ds
	mov %eax, %es
	mov %eax, %ss
	xor %eax, %eax
	mov %eax, %fs
	mov %eax, %gs
.endm

	.section .multiboot, "a"
	.balign 8
multiboot:
	.long MULTIBOOT2_HEADER, MULTIBOOT2_I386, multiboot_end - multiboot
	.long -(MULTIBOOT2_HEADER + MULTIBOOT2_I386 + multiboot_end - multiboot)
	.short 5, 1	/* the screen, if there is one: 32 bits for a point */
	.long 20, 1024, 768, 32, 0
	.long 0, 8	/* the end of its tags */
multiboot_end:

	.text
	.code32
	.globl start32
start32:
	cli
	cld
	mov %eax, %ebp
	lgdt boot_gdt_pointer
	enter_long_mode
	ljmp $BOOT_CS, $start64
	.code64
start64:
	load_data_segments
	mov boot_stack_top, %rsp
	mov %ebx, %edi
	mov %ebp, %esi
	call kernel_main

ap_start64:
	load_data_segments
	mov boot_stack_top, %rsp
	call ap_main

	/*
	 * void suite_restart(u32 kept): put back the pages that are written, as they were loaded, from a copy; then as
	 * from the loader. The stack is in what is put back.
	 */
	.globl suite_restart
suite_restart:
	cli
	cld
	lgdt boot_gdt_pointer
	/* It may come from the handler of an NMI: IRETQ lets the next one in. */
	mov %rsp, %rax
	push $BOOT_DS
	push %rax
	pushfq
	push $BOOT_CS32
	push $leave_long_mode
	iretq
	.code32
leave_long_mode:
	mov $BOOT_DS, %eax
	mov %eax, %ds
	mov %eax, %es
	mov %eax, %ss
	mov $(CR0_NE | CR0_MP | CR0_PE), %eax
	mov %eax, %cr0
	xor %eax, %eax
	mov %eax, %cr4
	mov %edi, %esi
	xor %edx, %edx
	mov $MSR_EFER, %ecx
	wrmsr
	mov $user_text_start, %edi
	mov $image_loaded_end, %ecx
	sub %edi, %ecx
	rep movsb
	mov $image_end, %ecx
	sub %edi, %ecx
	rep stosb
	mov $SUITE_MAGIC, %eax
	jmp start32

	.data
	/* Where the processor that starts next finds its stack; smp.c changes it for each. */
	.globl boot_stack_top
boot_stack_top:
	.quad boot_cpu_area + CPU_AREA_SIZE

	/* The bit of CPUID that has five levels used; a suite clears it for rows that are not about them. */
	.globl boot_la57
boot_la57:
	.long BOOT_LA57

	.balign 8
boot_gdt:
	.quad 0
	.quad 0x00af9b000000ffff	/* BOOT_CS: 64-bit code */
	.quad 0x00cf93000000ffff	/* BOOT_DS */
	.quad 0x00cf9b000000ffff	/* BOOT_CS32: 32-bit code */
boot_gdt_pointer:
	.word . - boot_gdt - 1
	.quad boot_gdt

	/* The first 4 GiB, identity mapped for the kernel only; paging.c replaces it. */
	.balign 4096
boot_pml5:
	.quad boot_pml4 + PTE_PRESENT_WRITE
	.fill 511, 8, 0
boot_pml4:
	.quad boot_pdpt + PTE_PRESENT_WRITE
	.fill 511, 8, 0
boot_pdpt:
	.irp gib, 0, 1, 2, 3
	.quad boot_pd + \gib * 4096 + PTE_PRESENT_WRITE
	.endr
	.fill 508, 8, 0
boot_pd:
	.set address, 0
	.rept 2048
	.quad address + PTE_LARGE + PTE_PRESENT_WRITE
	.set address, address + 0x200000
	.endr

	/* Position: smp.c copies it to AP_TRAMPOLINE, the page that the SIPI vector names. */
	.section .rodata
	.globl ap_trampoline, ap_trampoline_end
	.code16
ap_trampoline:
	cli
	cld
	mov %cs, %ax
	mov %ax, %ds
	lgdtl (ap_gdt_pointer - ap_trampoline)
	mov $CR0_PE, %eax
	mov %eax, %cr0
	ljmpl $BOOT_CS32, $(AP_TRAMPOLINE + ap_start32 - ap_trampoline)
	.code32
ap_start32:
	mov $BOOT_DS, %eax
	mov %eax, %ds
	enter_long_mode
	ljmp $BOOT_CS, $ap_start64
	.balign 4
ap_gdt_pointer:
	.word 31
	.long boot_gdt
ap_trampoline_end:

	/* Where smp_park() sends a processor, instead of the trampoline: it tells that it is there, and halts. */
	.globl ap_park, ap_parked, ap_park_end
	.code16
ap_park:
	cli
	mov %cs, %ax
	mov %ax, %ds
	movb $1, (ap_parked - ap_park)
1:	hlt
	jmp 1b
ap_parked:
	.byte 0
ap_park_end:

	.section .note.GNU-stack, "", @progbits
