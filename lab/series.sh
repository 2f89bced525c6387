# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The two patch series as commits on the source that they are made against: new files first, one commit a
# topic, then the hooks. All of it comes from this tree as it is.

# series_author "NAME <EMAIL>": who the series is from and who signs it off; "": whoever the hooks are from
series_author()
{
	local from=${1:-$(sed -n 's/^From: //p' "$TOP"/kvm/patches/6.12/0001-*.patch)}

	[[ $from =~ ^([^\<\>]*[^\<\> ])\ *\<([^\<\>\ ]+@[^\<\>\ ]+)\>$ ]] ||
		usage "export: '$from' is not like 'Name <name@example.org>'"
	SERIES_NAME=${BASH_REMATCH[1]} SERIES_EMAIL=${BASH_REMATCH[2]}
}

# series_git TREE ARG...: git as the series' author, whatever the user's configuration says
series_git()
{
	local tree=$1
	shift

	GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=$SERIES_NAME \
		GIT_AUTHOR_EMAIL=$SERIES_EMAIL GIT_COMMITTER_NAME=$SERIES_NAME \
		GIT_COMMITTER_EMAIL=$SERIES_EMAIL git -C "$tree" "$@"
}

# series_begin TREE: what is in TREE now is the base
series_begin()
{
	series_git "$1" init -q -b series &&
		series_git "$1" add -A -f . &&
		series_git "$1" commit -q -m base &&
		series_git "$1" tag base
}

# series_commit TREE: commit all changes; the message is the standard input
series_commit()
{
	series_git "$1" add -A -f . && series_git "$1" commit -q -s -F -
}

# series_hook TREE PATCH: a patch of hooks. Offsets are allowed, fuzz is not.
series_hook()
{
	series_git "$1" am -q "$2" && series_git "$1" commit -q --amend --reset-author -s --no-edit
}

# series_write TREE COVER DIR: the patches since base with the cover letter COVER, whose first line is its subject
series_write()
{
	make_dir "$3"
	series_git "$1" config branch.series.description "$(<"$2")"
	series_git "$1" format-patch -q --cover-letter --cover-from-description=subject --no-signature \
		-o "$(readlink -f -- "$3")" base
}

# with_headers FILE...: the files and the shared headers that they include, directly or not, each once
with_headers()
{
	local file header queue=("$@") seen=$'\n'

	while ((${#queue[@]})); do
		file=${queue[0]}
		queue=("${queue[@]:1}")
		[[ $seen != *$'\n'"$file"$'\n'* ]] || continue
		seen+=$file$'\n'
		echo "$file"
		while read -r header; do
			for file in "$TOP/vmcb/$header" "$TOP/kvm/engine/$header"; do
				[[ ! -f $file ]] || queue+=("$file")
			done
		done < <(sed -n 's/^#include "\(lwp_[a-z_]*\.h\)"$/\1/p' "$file")
	done
}

# decoder_sources: what kvm/engine/meson.build builds the decoders from
decoder_sources()
{
	sed -n "/^decoder_sources = /,/^)/s,^ *'\(.*\)'\,\$,$TOP/kvm/engine/\1,p" "$TOP/kvm/engine/meson.build"
}

# add_files PLACE FILE...: copy the files that PLACE lacks
add_files()
{
	local place=$1 file
	shift

	mkdir -p "$place"
	for file; do
		[[ -f $place/${file##*/} ]] || cp -- "$file" "$place/"
	done
}

# kvm_objects MAKEFILE SVM: name every file of svm/lwp/ in the Makefile
kvm_objects()
{
	local objects

	objects=$(cd "$2" && printf '%s\n' lwp/*.c | LC_ALL=C sort |
		sed 's,\.c$,.o,; s,^,svm/,' | paste -sd ' ' | fold -s -w 60 |
		sed -e '1s/^/kvm-amd-y		+= /; 2,$s/^/			   /; s/ *$//; $!s/$/ \\/')
	sed -i -e '/^kvm-amd-y.*svm\/lwp\/lwp_/,/[^\\]$/d' -e '/wildcard.*svm\/lwp/d' "$1"
	objects=$objects perl -0pi -e 's,(kvm-amd-\$\(CONFIG_KVM_HYPERV\)\s\+= svm/hyperv\.o\n),$1$ENV{objects}\n,' "$1"
}

# series_kvm TREE: the commits on a kernel tree (or the part of one that build-kvm unpacks)
series_kvm()
{
	local tree=$1 svm=$1/arch/x86/kvm/svm makefile=$1/arch/x86/kvm/Makefile patch glue
	local -a files

	mapfile -t files < <(with_headers "$TOP"/vmcb/lwp_*.c "$TOP"/vmcb/lwp_*.h)
	add_files "$svm/lwp" "${files[@]}"
	kvm_objects "$makefile" "$svm"
	series_commit "$tree" <<'EOF' || return 1
KVM: SVM: Add the data structures of Lightweight Profiling

Describe what AMD's Lightweight Profiling (LWP) looks like, in both of its
published revisions: CPUID leaf 8000_001C, the two MSRs, the control block
(LWPCB) and the event records in the memory of the profiled program, and
the volatile state, which is the XSAVE component, an image in the VMCB and
what userspace saves and restores.

All of it is layouts and functions without side effects.  They are not
kernel specific, i.e. include nothing but each other, as QEMU uses the same
files.
EOF
	mapfile -t files < <(decoder_sources)
	mapfile -t files < <(with_headers "${files[@]}")
	add_files "$svm/lwp" "${files[@]}"
	kvm_objects "$makefile" "$svm"
	series_commit "$tree" <<'EOF' || return 1
KVM: SVM: Add instruction decoders for Lightweight Profiling

Add a decoder of the four LWP instructions, which KVM's emulator does not
know, and one that finds the length and kind of any instruction, whether it
is a near branch, whether that is taken and to where.  The latter is for
counting branches, and for instructions that would let the guest see
RFLAGS.TF when KVM single-steps it.

Memory and registers are read by callbacks.
EOF
	mapfile -t files < <(with_headers "$TOP"/kvm/engine/lwp_*.c "$TOP"/kvm/engine/lwp_*.h)
	add_files "$svm/lwp" "${files[@]}"
	kvm_objects "$makefile" "$svm"
	series_commit "$tree" <<'EOF' || return 1
KVM: SVM: Add the state machine of Lightweight Profiling

Add what LWP does for one vCPU: the four instructions, counting, gathering
a record when an event is due, storing it in the program's ring buffer with
all the faults that this can have, and the table of the states of threads
that do not run.

Nothing is allocated, guest memory is reached by callbacks only, and every
value that comes from the guest is read once and bounded.
EOF
	for patch in "$TOP"/kvm/patches/6.12/*.patch; do
		glue=
		if grep -q 'svm/lwp\.o' "$patch"; then
			glue=1
			# The hook names the files of svm/lwp/ by a pattern, this series one by one.
			series_git "$tree" show base:arch/x86/kvm/Makefile >"$makefile"
			series_git "$tree" commit -q -a -m "Makefile as before"
		fi
		series_hook "$tree" "$patch" || return 1
		[[ $glue ]] || continue
		add_files "$svm" "$TOP"/kvm/svm/lwp*.[ch]
		kvm_objects "$makefile" "$svm"
		series_git "$tree" log -1 --format=%B >"$tree/.git/message"
		series_git "$tree" add -A -f .
		series_git "$tree" reset -q --soft HEAD~2
		series_git "$tree" commit -q -F "$tree/.git/message" || return 1
	done
}

# series_qemu TREE: the commits on a QEMU tree, or on the files of one that the hooks touch
series_qemu()
{
	local tree=$1 lwp=$1/target/i386/lwp own=$TOP/qemu-patches/target/i386/lwp patch
	local -a files compiled

	mapfile -t compiled < <(sed -n "s/^ *'\(lwp_.*\.c\)',\$/\1/p" "$own/meson.build")
	mapfile -t files < <(cd "$TOP/vmcb" && ls -- "${compiled[@]}" 2>/dev/null)
	mapfile -t files < <(with_headers "${files[@]/#/$TOP/vmcb/}")
	add_files "$lwp" "${files[@]}"
	series_commit "$tree" <<'EOF' || return 1
target/i386: add the data structures of LWP

Lightweight Profiling (LWP) is a feature of AMD processors of family 15h: a
program points the processor at a control block, and the processor writes
records of retired instructions, branches and clock ticks into a ring
buffer in the program's memory.

Describe what it looks like: CPUID leaf 8000_001C, MSRs, control block,
event records, volatile state.  Only layouts and functions without side
effects.  KVM uses the same files, so they follow the kernel's style.
EOF
	mapfile -t files < <(cd "$TOP/kvm/engine" && ls -- "${compiled[@]}" 2>/dev/null)
	mapfile -t files < <(with_headers "${files[@]/#/$TOP/kvm/engine/}")
	add_files "$lwp" "${files[@]}"
	series_commit "$tree" <<'EOF' || return 1
target/i386: add the state machine of LWP

What LWP does for one CPU: instructions, counting, gathering and storing
records with all the faults that this can have, and the table of the states
of threads that do not run.  Nothing is allocated, guest memory is reached
by callbacks only.  KVM uses the same files.
EOF
	add_files "$tree/target/i386/pmu" "$TOP"/qemu-patches/target/i386/pmu/*
	series_commit "$tree" <<'EOF' || return 1
target/i386/tcg: add what AMD's core performance counters do

The registers, what counts, overflow interrupts, and how late they come.
LWP and these counters share one way of counting instructions in
translated code.

Nothing is compiled yet: the following patches call it.
EOF
	add_files "$lwp" "$own"/*
	series_commit "$tree" <<'EOF' || return 1
target/i386: add what connects LWP to the CPU

CPU properties and migration; for TCG the callbacks of the state machine,
what the translator emits to count, and when it is left to do more; for KVM
what its capability and its device attributes bring.

Nothing is compiled yet: the following patches call it.
EOF
	for patch in "$TOP"/qemu-patches/patches/*.patch; do
		series_hook "$tree" "$patch" || return 1
	done
}
