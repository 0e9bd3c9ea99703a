/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>

#include "bench-util.h"
#include "counters.h"

static int take_io(const char *path, Counters *c) {
        _cleanup_fclose_ FILE *f = NULL;
        unsigned found = 0;
        char line[128];

        f = fopen(path, "re");
        if (!f)
                return log_error(-errno, "%s: %s (a kernel without CONFIG_TASK_IO_ACCOUNTING?)", path,
                                 strerror(errno));

        while (fgets(line, sizeof(line), f)) {
                found += sscanf(line, "rchar: %" SCNu64, &c->bytes_requested) == 1;
                found += sscanf(line, "syscr: %" SCNu64, &c->read_calls) == 1;
                found += sscanf(line, "read_bytes: %" SCNu64, &c->bytes_from_disk) == 1;
        }

        return found == 3 ? 0 : log_error(-EINVAL, "%s: a counter is missing", path);
}

static int take_disk(const char *disk, Counters *c) {
        _cleanup_fclose_ FILE *f = NULL;
        char path[128];
        uint64_t merges, sectors;

        (void) snprintf(path, sizeof(path), "/sys/class/block/%s/stat", disk);
        f = fopen(path, "re");
        if (!f)
                return log_error(-errno, "%s: %s", path, strerror(errno));

        if (fscanf(f, "%" SCNu64 " %" SCNu64 " %" SCNu64, &c->disk_reads, &merges, &sectors) != 3)
                return log_error(-EINVAL, "%s: cannot be understood", path);

        c->disk_bytes = sectors * 512;
        return 0;
}

int counters_take(const char *disk, Counters *ret) {
        struct rusage usage;
        Counters c = {};
        int r;

        assert(ret);

        (void) getrusage(RUSAGE_SELF, &usage);
        c.minor_faults = (uint64_t) usage.ru_minflt;
        c.major_faults = (uint64_t) usage.ru_majflt;
        r = take_io("/proc/self/io", &c);
        if (r >= 0 && disk)
                r = take_disk(disk, &c);
        if (r < 0)
                return r;

        *ret = c;
        return 0;
}

int counters_take_thread(Counters *ret) {
        Counters c = {};
        int r;

        assert(ret);

        r = take_io("/proc/thread-self/io", &c);
        if (r >= 0)
                *ret = c;
        return r;
}

Counters counters_difference(const Counters *after, const Counters *before) {
        assert(after);
        assert(before);

        return (Counters) {
                .read_calls = after->read_calls - before->read_calls,
                .bytes_requested = after->bytes_requested - before->bytes_requested,
                .bytes_from_disk = after->bytes_from_disk - before->bytes_from_disk,
                .minor_faults = after->minor_faults - before->minor_faults,
                .major_faults = after->major_faults - before->major_faults,
                .disk_reads = after->disk_reads - before->disk_reads,
                .disk_bytes = after->disk_bytes - before->disk_bytes,
        };
}
