/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What record.bpf.c sends to recorder.c. Both include their own definitions of __u64 and so on before. */

enum record_kind {
        RECORD_READ,  /* by a system call, or a fault of a mapped page */
        RECORD_WRITE, /* a page that was clean became dirty */
        RECORD_ADDED, /* a page came into the page cache, for an access or ahead of one */
        RECORD_GONE,  /* a page left it with its file, or with the end of it */
};

struct record_event {
        __u64 time; /* ns of CLOCK_MONOTONIC */
        __u64 inode;
        __u64 page;
        __u64 n_pages;
        __u64 manager; /* id of the control group right below the recorded one; 0: in none */
        __u32 device; /* major << 20 | minor */
        __u32 generation;
        __u32 tid;
        __u32 kind;
        char thread[16]; /* ends with NUL */
};
