/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

#include "uses.h"

/* Which pages of which files a service used after its start, in the order in which they are to be read ahead
 * at its next start: files by their first use, and the pages of a file from its beginning. */

/* Of one unit. What it read is to be found in its cache again: more than this no start reads. */
#define RECORDING_FILES_MAX USES_UNIT_FILES_MAX
#define RECORDING_PAGES_MAX (1U << 18)

/* A gap of so many pages is read with what is around it: a disk takes longer for two requests. */
#define RECORDING_GAP_MAX 3U

/* Pages of a file. */
typedef struct RecordedRange {
        uint64_t first;
        uint64_t n;
} RecordedRange;

/* A file as it was then. One that is replaced, written or moved is another one. The number of its device
 * is not part of it: that may be another one after each boot. */
typedef struct RecordedFile {
        char *path;
        uint64_t ino;
        uint64_t size;       /* bytes */
        int64_t mtime_sec;
        uint32_t mtime_nsec;
        GArray *ranges;      /* of RecordedRange, from the beginning of the file, none touches another */

        uint32_t device;     /* as the kernel has it; known only while path is one in its file system */
} RecordedFile;

typedef struct Recording {
        uint64_t recorded_at; /* CLOCK_REALTIME, microseconds */
        GPtrArray *files;     /* of RecordedFile, owned; NULL: none */
} Recording;

/* What people are told of a recording. */
typedef struct RecordingSummary {
        uint64_t recorded_at; /* CLOCK_REALTIME, microseconds; 0: there is none */
        uint64_t n_pages;
        uint32_t n_files, n_ranges;
} RecordingSummary;

RecordingSummary recording_summarize(const Recording *r);

void recording_done(Recording *r);
#define _cleanup_recording_ _cleanup_(recording_done)

RecordedFile *recorded_file_new(void);
void recorded_file_free(void *p);
/* Adds pages behind all others of the file; joins ranges that are not further apart than gap pages. */
void recorded_file_add(RecordedFile *f, uint64_t first, uint64_t n, uint64_t gap);

/* How many pages a file of that many bytes has. */
uint64_t file_pages(uint64_t size);
uint64_t recorded_file_count_pages(const RecordedFile *f);

/* From what a unit used. Paths are those in the file systems; files without a whole path are left out,
 * and so is what would make the recording larger than its bounds, from the last file on. */
void recording_make(const Uses *uses, Recording *ret);

/* "leaf\0directory\0" is "/directory/leaf"; NULL: those are no names. */
char *recording_join_names(const char *names, size_t size);
