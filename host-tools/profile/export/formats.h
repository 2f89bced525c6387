/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The formats of lwpctl export. A format is a row here, a file export_NAME.c with bool export_NAME(struct export *),
 * and that file's name in meson.build. A file that includes this one defines EXPORT_FORMAT(name, text) before.
 */
/* clang-format off */
EXPORT_FORMAT(perf, "perf.data of Linux perf, for perf report, script and annotate, hotspot, perf2bolt, llvm\\-profgen, create_gcov")
EXPORT_FORMAT(perfcalls, "the same with the call stacks of windows in place of their branches, for perf report \\-g and hotspot")
EXPORT_FORMAT(callgrind, "the profile of callgrind, for KCachegrind and callgrind_annotate")
EXPORT_FORMAT(pprof, "profile.proto, gzipped, for pprof and go build \\-pgo")
EXPORT_FORMAT(collapsed, "a line for each stack, for FlameGraph and speedscope")
EXPORT_FORMAT(firefox, "the processed format of the Firefox Profiler")
EXPORT_FORMAT(csv, "a line for each address, or each branch and its target")
/* clang-format on */
#undef EXPORT_FORMAT
