/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page of lwpctl html without its data: page.html, with @DATA@ where they go. */
#ifndef LWPCTL_PAGE_H
#define LWPCTL_PAGE_H

extern const char page[];

#endif
