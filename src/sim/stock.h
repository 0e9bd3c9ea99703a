/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/macro.h"
#include "trace.h"

struct cachebpf_folio;

/* A model of the kernel's own reclaim of file pages: the active and the inactive list, and refault
 * distances. It decides for a policy that leaves that to the kernel, gives what a policy did not propose,
 * and tells folio_added() what is a refault.
 *
 * Sources: mm/vmscan.c, mm/swap.c and mm/workingset.c of Linux 6.12. Left out is what takes other memory,
 * mapped files or time: the balance with anon memory, reclaim priorities, page table references, batches on
 * their way to a list. */

/* "scale": what is simulated is a sample of a cache so many times as large. */
int stock_start(const Trace *trace, uint32_t capacity, uint32_t scale);
void stock_stop(void);

typedef enum Refault {
        REFAULT_NONE,
        REFAULT_OLD,        /* was evicted, so long ago that it is like any new folio */
        REFAULT_WORKINGSET, /* would still be cached if the active list had made way for it */
} Refault;

/* A folio comes in; says whether it was evicted before. */
Refault stock_add(struct cachebpf_folio *f);

/* A folio was used: folio_mark_accessed(). */
void stock_use(struct cachebpf_folio *f);

/* A folio goes; reclaimed: leaves its traces, as it was evicted. */
void stock_remove(struct cachebpf_folio *f, bool reclaimed);

/* A folio that is gone leaves no traces any more. */
void stock_forget(const struct cachebpf_folio *f);

/* The folio that the kernel would reclaim next; NULL if there is none. */
struct cachebpf_folio *stock_victim(void);
