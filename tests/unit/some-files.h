/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Files for patterns to match. */

/* In the directory: f/a, f/b, f/.c, f/d e, f/sub/a, g/a, and links and a FIFO beside them. */
void make_files(const char *dir);
/* many/FROM and so on, up to the one before TO. */
void make_many(const char *dir, unsigned from, unsigned to);
