/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "readahead.h"
#include "recorder.h"
#include "shared/bpf-log.h"
#include "shared/cleanup.h"
#include "sim/trace.h"
#include "tracepoints.h"

#include <linux/types.h>

#include "record-event.h"
#include "record.skel.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
#define FILEID_KERNFS 0xfe /* of the kernel's <linux/exportfs.h>: the handle is the id */

struct Recorder {
        struct record_bpf *bpf;
        struct ring_buffer *ring;
        Readahead *readahead; /* NULL: not wanted */
        GHashTable *managers; /* names by id */
        RecorderFunc func;
        void *userdata;
};

Recorder *recorder_free(Recorder *r) {
        if (!r)
                return NULL;

        ring_buffer__free(r->ring);
        record_bpf__destroy(r->bpf);
        readahead_free(r->readahead);
        g_hash_table_unref(r->managers);
        return mfree(r);
}

/* NULL: there is no control group of that id, any more. */
static char *cgroup_name(uint64_t id) {
        union {
                struct file_handle handle;
                uint8_t space[sizeof(struct file_handle) + sizeof(id)];
        } h = { .handle = { .handle_bytes = sizeof(id), .handle_type = FILEID_KERNFS } };
        _cleanup_close_ int root = open(CGROUP_ROOT, O_DIRECTORY | O_CLOEXEC), fd = -EBADF;
        g_autofree char *link = NULL, *path = NULL;

        memcpy(h.space + offsetof(struct file_handle, f_handle), &id, sizeof(id));
        fd = open_by_handle_at(root, &h.handle, O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return NULL;
        link = g_strdup_printf("/proc/self/fd/%i", fd);
        path = g_file_read_link(link, NULL);
        return path ? g_path_get_basename(path) : NULL;
}

/* The name, which stays as long as the recorder; the number of what has none. */
static const char *manager_name(Recorder *r, uint64_t id) {
        char *name;

        if (id == 0)
                return NULL;
        name = g_hash_table_lookup(r->managers, &id);
        if (name)
                return name;

        name = cgroup_name(id) ?: g_strdup_printf("%" PRIu64, id);
        g_hash_table_insert(r->managers, g_memdup2(&id, sizeof(id)), name);
        return name;
}

static uint8_t flags_of(enum record_kind kind) {
        return kind == RECORD_GONE ? TRACE_REMOVE : kind == RECORD_WRITE ? TRACE_WRITE : 0;
}

static int on_event(void *userdata, void *data, size_t size) {
        Recorder *r = userdata;
        const struct record_event *e = data;
        RecordAccess a;

        if (size < sizeof(*e) || e->n_pages == 0)
                return 0;

        a = (RecordAccess) {
                .device = e->device,
                .inode = e->inode,
                .generation = e->generation,
                .page = e->page,
                .n_pages = e->n_pages,
                .flags = flags_of(e->kind),
                .tid = e->tid,
                .thread = e->thread,
                .manager = manager_name(r, e->manager),
                .time = e->time,
        };

        if (!r->readahead)
                return r->func(&a, r->userdata);
        switch (e->kind) {
        case RECORD_ADDED:
                return readahead_added(r->readahead, &a);
        case RECORD_GONE:
                return readahead_gone(r->readahead, &a);
        default:
                return readahead_access(r->readahead, &a);
        }
}

/* ---- beginning */

static int load(Recorder *r, const struct btf *btf, const RecorderSettings *settings, char **ret_error) {
        int k;

        r->bpf = record_bpf__open();
        if (!r->bpf)
                return tracepoints_fail(errno, "the BPF programs are damaged", ret_error);

        r->bpf->rodata->cgroup_id = settings->cgroup_id;
        r->bpf->rodata->cgroup_level = settings->level;
        r->bpf->rodata->sample_mask = settings->sample - 1;
        bpf_program__set_autoload(r->bpf->progs.add_to_page_cache, r->readahead);
        bpf_program__set_autoload(r->bpf->progs.page_fault, tracepoint_exists(btf, "page_fault_user"));

        k = record_bpf__load(r->bpf);
        if (k < 0)
                return tracepoints_fail(k, "the kernel does not take the BPF programs", ret_error);

        r->ring = ring_buffer__new(bpf_map__fd(r->bpf->maps.events), on_event, r, NULL);
        if (!r->ring)
                return tracepoints_fail(errno, "the ring buffer cannot be mapped", ret_error);

        k = record_bpf__attach(r->bpf);
        if (k < 0)
                return tracepoints_fail(k, "the BPF programs cannot be attached to the tracepoints", ret_error);

        return 0;
}

int recorder_new(const RecorderSettings *settings, Recorder **ret, char **ret_error) {
        _cleanup_(recorder_freep) Recorder *r = NULL;
        struct btf *btf;
        int k;

        assert(settings);
        assert(settings->func);
        assert(settings->sample > 0 && (settings->sample & (settings->sample - 1)) == 0);
        assert(ret);
        assert(ret_error);

        *ret_error = NULL;
        bpf_log_setup();
        bpf_log_reset();

        r = g_new0(Recorder, 1);
        r->managers = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
        r->func = settings->func;
        r->userdata = settings->userdata;
        if (settings->readahead)
                r->readahead = readahead_new(r->func, r->userdata);

        btf = btf__load_vmlinux_btf();
        k = load(r, btf, settings, ret_error);
        if (k < 0)
                k = tracepoints_explain(k, btf, ret_error);
        btf__free(btf);
        if (k < 0)
                return k;

        *ret = TAKE_PTR(r);
        return 0;
}

/* ---- going on */

int recorder_fd(const Recorder *r) {
        return ring_buffer__epoll_fd(r->ring);
}

int recorder_process(Recorder *r) {
        int k = ring_buffer__consume(r->ring);

        return MIN(k, 0);
}

int recorder_stop(Recorder *r) {
        int k;

        record_bpf__detach(r->bpf);
        k = recorder_process(r);
        return k >= 0 && r->readahead ? readahead_flush(r->readahead) : k;
}

uint64_t recorder_accesses(const Recorder *r) {
        g_autofree uint64_t *counts = g_new0(uint64_t, libbpf_num_possible_cpus());
        uint32_t key = 0;
        uint64_t n = 0;

        if (bpf_map_lookup_elem(bpf_map__fd(r->bpf->maps.accesses), &key, counts) < 0)
                return 0;
        for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++)
                n += counts[cpu];
        return n;
}

uint64_t recorder_lost(const Recorder *r) {
        return __atomic_load_n(&r->bpf->bss->n_lost, __ATOMIC_RELAXED);
}
