/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The formats of lwpctl report. A format is a row here, a file report_NAME.c with void report_NAME(const struct report
 * *), and that file's name in meson.build. A file that includes this one defines REPORT_FORMAT(name, text) before.
 */
/* clang-format off */
REPORT_FORMAT(text, "tables for people")
REPORT_FORMAT(json, "JSON, with all that the file says of threads, programs and losses")
/* clang-format on */
#undef REPORT_FORMAT
