/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/macro.h"

/* A sequence of requests for pages, in memory: what readers make of a file and what the simulator runs.
 * Objects (pages) are numbered from 0 in the order of their first request, so that a run needs arrays
 * only. */

#define TRACE_PAGE_SIZE 4096U

/* Files and their pages in one 64-bit number. */
#define TRACE_FILE_BITS 24U
#define TRACE_PAGE_BITS 40U

/* Requests and objects that a trace can have at most;
 * an object number also is a page frame number less 1. */
#define TRACE_MAX_REQUESTS UINT32_MAX
#define TRACE_MAX_OBJECTS (UINT32_MAX - 1)

/* What a request is; 0 is a read by a task without class. */
enum {
        TRACE_WRITE      = 1 << 0,
        TRACE_READAHEAD  = 1 << 1, /* brings the page in if it is not cached, but is no use of it */
        TRACE_REMOVE     = 1 << 2, /* the page is truncated or deleted: it leaves the cache, and is not a
                                    * request that hits or misses */
        /* The class of the task. */
        TRACE_CLASS_SHIFT = 4,
        TRACE_CLASS_MASK  = 3 << TRACE_CLASS_SHIFT,
};

/* Managers that a trace can have: control groups below that of the policy. Number 0 is that itself. */
#define TRACE_MAX_MANAGERS 255U

/* Classes of tasks, as policies know them. */
enum {
        TRACE_CLASS_NONE,
        TRACE_CLASS_SCAN,
        TRACE_CLASS_BACKGROUND, /* compaction and the like */
};

typedef struct Trace {
        size_t n_requests;
        uint32_t n_objects;
        uint32_t *objects; /* the object of each request */
        uint8_t *flags;    /* of each request; NULL: all 0 */
        uint8_t *managers; /* of each request: whose it is; NULL: all 0 */
        uint64_t *keys;    /* of each object: what bpf_cachebpf_key() returns, a hash of its identity */
        uint64_t *ids;     /* of each object: with has_files file << TRACE_PAGE_BITS | page */
        bool has_files;
        char **files;      /* their names; NULL: none, or they have none */
        size_t n_files;
        char *manager_names[TRACE_MAX_MANAGERS + 1]; /* NULL: there is none of that number */

        /* private, to trace_add() */
        uint8_t manager;
        struct TraceIndex *index;
        size_t n_allocated;
} Trace;

typedef enum TraceFormat {
        TRACE_FORMAT_AUTO,           /* by the content */
        TRACE_FORMAT_TEXT,
        TRACE_FORMAT_ORACLE_GENERAL, /* libCacheSim's, packed records of 24 bytes */
        TRACE_FORMAT_CSV,            /* libCacheSim's */
        TRACE_FORMAT_BLKPARSE,       /* the text of blkparse(1) */
        TRACE_FORMAT_RECORD,         /* what "cachectl record" writes */
        _TRACE_FORMAT_MAX,
        _TRACE_FORMAT_INVALID = -EINVAL,
} TraceFormat;

/* ---- for readers (trace.c) */

/* An empty trace, to be filled with trace_add(); -ENOMEM. */
int trace_new(Trace **ret);

/* The key of the object of that id. */
uint64_t trace_key(uint64_t id);

/* Appends a request for one page. "id" identifies the page within this trace: any number, or a hash where
 * the identity is more than 64 bits (device, inode, page index). The removal of a page that was not asked
 * for is left out. -E2BIG: more requests or objects than there are numbers; -ENOMEM. */
int trace_add(Trace *t, uint64_t id, uint8_t flags);

/* Whose the requests are that are added from now on, by name; NULL: nobody's in particular. -E2BIG: there
 * are too many; -ENOMEM. */
int trace_set_manager(Trace *t, const char *name);

/* Ends the filling: gives back what is only needed for that. A trace without requests is valid. */
void trace_seal(Trace *t);

/* ---- for users */

static inline uint8_t trace_flags(const Trace *t, size_t request) {
        return t->flags ? t->flags[request] : 0;
}

Trace *trace_free(Trace *t);
DEFINE_TRIVIAL_CLEANUP_FUNC(Trace *, trace_free);

const char *trace_format_to_string(TraceFormat format);
TraceFormat trace_format_from_string(const char *s);
