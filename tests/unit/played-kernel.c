/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "played-kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "config/object.h"
#include "played-ring.h"
#include "shared/string-util.h"
#include "test-util.h"

PlayedKernel kernel;

static int maps_fd = -1;

void played_kernel_reset(void) {
        kernel = (PlayedKernel) { .link_type = BPF_LINK_TYPE_STRUCT_OPS };
        if (maps_fd < 0)
                maps_fd = memfd_create("maps", MFD_CLOEXEC);
        assert_true(maps_fd >= 0);
}

/* As libbpf gives errors. */
static int refuse(int r) {
        if (r < 0)
                errno = -r;
        return r;
}

/* ---- pins */

static int open_hung_up(void) {
        int fds[2];

        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        assert_int_equal(close(fds[1]), 0);
        return fds[0];
}

int bpf_obj_get(const char *path) {
        int fd;

        if (kernel.open_pin < 0)
                return refuse(kernel.open_pin);

        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        if (!kernel.hung_up)
                return fd;

        assert_int_equal(close(fd), 0);
        return open_hung_up();
}

int bpf_obj_pin(int fd, const char *path) {
        const char *name = strrchr(path, '/') + 1;
        int pin;

        assert_true(fd >= 0);
        assert_null(strchr(name, '.')); /* bpffs does not take it */
        if (kernel.unpinnable && strcmp(name, kernel.unpinnable) == 0)
                return refuse(-EACCES);

        pin = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (pin < 0)
                return -errno;
        assert_int_equal(close(pin), 0);
        return 0;
}

/* ---- objects */

int bpf_object__load(struct bpf_object *obj) {
        struct bpf_map *map;
        void *member;

        if (kernel.load < 0)
                return refuse(kernel.load);

        bpf_object__for_each_map(map, obj) {
                if (bpf_map__type(map) != BPF_MAP_TYPE_STRUCT_OPS)
                        continue;
                assert_int_equal(policy_object_find_member(obj, map, "cgroup_id", sizeof(kernel.cgroup_id),
                                                           &member), 0);
                memcpy(&kernel.cgroup_id, member, sizeof(kernel.cgroup_id));
                assert_int_equal(policy_object_find_member(obj, map, "name", POLICY_NAME_MAX + 1,
                                                           &member), 0);
                memcpy(kernel.name, member, POLICY_NAME_MAX + 1);
        }
        return 0;
}

int bpf_map__fd(const struct bpf_map *map) {
        return maps_fd;
}

int bpf_program__fd(const struct bpf_program *prog) {
        return PLAYED_PROGRAM_FD;
}

int bpf_map__reuse_fd(struct bpf_map *map, int fd) {
        assert_true(fd >= 0);
        return 0;
}

/* ---- links */

struct bpf_link {
        int fd;
};

struct bpf_link *bpf_map__attach_struct_ops(const struct bpf_map *map) {
        struct bpf_link *link;

        if (kernel.attach < 0) {
                errno = -kernel.attach;
                return NULL;
        }
        link = calloc(1, sizeof(*link));
        assert_non_null(link);
        link->fd = memfd_create("link", MFD_CLOEXEC);
        assert_true(link->fd >= 0);
        return link;
}

int bpf_link__fd(const struct bpf_link *link) {
        return link->fd;
}

int bpf_link__destroy(struct bpf_link *link) {
        if (!link)
                return 0;
        assert_int_equal(close(link->fd), 0);
        free(link);
        return 0;
}

int bpf_link_get_info_by_fd(int fd, struct bpf_link_info *info, __u32 *size) {
        info->type = kernel.link_type;
        return 0;
}

int bpf_link_update(int fd, int new_fd, const struct bpf_link_update_opts *opts) {
        if (kernel.update < 0)
                return refuse(kernel.update);
        assert_int_equal(new_fd, maps_fd);
        kernel.n_updates++;
        kernel.n_said_before = kernel.n_said;
        return 0;
}

int bpf_link_detach(int fd) {
        return refuse(kernel.detach);
}

/* ---- types */

static void add_member(struct btf *btf, const char *name, int type, size_t offset) {
        assert_int_equal(btf__add_field(btf, name, type, offset * 8, 0), 0);
}

/* The members are in other places than in objects, and there is one more. */
struct btf *btf__load_vmlinux_btf(void) {
        struct btf *btf = btf__new_empty();
        int u64, callback, data;

        kernel.n_layouts++;
        assert_non_null(btf);
        u64 = btf__add_int(btf, "u64", 8, 0);
        callback = btf__add_ptr(btf, btf__add_func_proto(btf, 0));
        data = btf__add_struct(btf, "cachebpf_ops", 32);
        add_member(btf, "newer", u64, 0);
        add_member(btf, "evict_folios", callback, 8);
        add_member(btf, "cgroup_id", u64, 16);
        add_member(btf, "admit_folio", callback, 24);
        assert_int_equal(btf__add_struct(btf, "bpf_struct_ops_cachebpf_ops", 40), data + 1);
        add_member(btf, "common", u64, 0);
        add_member(btf, kernel.btf_broken ? "other" : "data", data, 8);
        return btf;
}

/* ---- maps of what managers said; a pin has the name of its map */

static bool is_map(int fd, const char *name) {
        char link[64], path[4096];
        ssize_t n;

        (void) snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        n = readlink(link, path, sizeof(path) - 1);
        assert_true(n > 0);
        path[n] = 0;
        return strcmp(strrchr(path, '/') + 1, name) == 0;
}

#define is_managers(fd) is_map(fd, "map-cachebpf_managers")
#define is_priorities(fd) is_map(fd, "map-cachebpf_priorities")
#define is_pages(fd) is_map(fd, "map-cachebpf_pages")

static int advice_map_info(int fd, struct bpf_map_info *info) {
        info->type = is_pages(fd) ? BPF_MAP_TYPE_ARRAY : BPF_MAP_TYPE_HASH;
        info->key_size = is_managers(fd) ? 8 : is_priorities(fd) ? 24 : 4;
        info->value_size = is_managers(fd) ? 64 : is_priorities(fd) ? 4 : 8;
        if (kernel.map_differs)
                info->key_size += 8;
        return 0;
}

int bpf_map_get_next_key(int fd, const void *key, void *next) {
        bool managers = is_managers(fd);
        size_t size = managers ? 8 : 24;
        unsigned n = managers ? kernel.n_managers : kernel.n_priorities, i = 0;

        if (key)
                while (i < n && memcmp(managers ? (void *) (kernel.managers + i) :
                                                  (void *) (kernel.priorities + i), key, size) != 0)
                        i++;
        if (key)
                i = i < n ? i + 1 : 0; /* one that is gone: from the beginning */
        if (i >= n)
                return refuse(-ENOENT);
        memcpy(next, managers ? (void *) (kernel.managers + i) : (void *) (kernel.priorities + i), size);
        return 0;
}

static int advice_map_lookup(int fd, const void *key, void *value) {
        if (is_pages(fd)) {
                int64_t i = *(const uint32_t *) key;

                i = i % 5 == 3 ? -1 : 100 + i;
                memcpy(value, &i, sizeof(i));
                return 0;
        }

        for (unsigned i = 0; i < ELEMENTSOF(kernel.managers); i++)
                if (is_managers(fd) && memcmp(kernel.managers + i, key, 8) == 0) {
                        memcpy(value, &kernel.managers[i].slot, 64);
                        return 0;
                } else if (is_priorities(fd) && memcmp(kernel.priorities + i, key, 24) == 0) {
                        memcpy(value, &kernel.priorities[i].level, 4);
                        return 0;
                }

        return refuse(-ENOENT);
}

static bool is_of_advice(int fd) {
        return is_managers(fd) || is_priorities(fd) || is_pages(fd);
}

static int hear(struct bpf_test_run_opts *opts) {
        assert_int_equal(opts->ctx_size_in, sizeof(struct PlayedSpeech));
        if (kernel.n_busy > 0) {
                kernel.n_busy--;
                opts->retval = -EAGAIN;
                return 0;
        }

        assert_true(kernel.n_said < ELEMENTSOF(kernel.said));
        memcpy(kernel.said + kernel.n_said++, opts->ctx_in, sizeof(struct PlayedSpeech));
        opts->retval = kernel.answer;
        return 0;
}

int bpf_map_get_info_by_fd(int fd, struct bpf_map_info *info, __u32 *size) {
        struct btf *btf;

        if (is_of_advice(fd))
                return advice_map_info(fd, info);

        btf = btf__load_vmlinux_btf();
        kernel.n_layouts--;
        assert_int_equal(fd, maps_fd);
        info->value_size = sizeof(kernel.value);
        info->btf_vmlinux_value_type_id = btf__type_cnt(btf) - 1;
        btf__free(btf);
        return 0;
}

int btf__load_into_kernel(struct btf *btf) {
        return 0;
}

/* ---- maps */

int bpf_map_create(enum bpf_map_type type, const char *name, __u32 key_size, __u32 value_size,
                   __u32 max_entries, const struct bpf_map_create_opts *opts) {
        int fd = memfd_create(name, MFD_CLOEXEC);

        assert_true(fd >= 0);
        assert_int_equal(ftruncate(fd, value_size), 0);
        if (type == BPF_MAP_TYPE_TASK_STORAGE)
                kernel.n_thread_maps++;
        return fd;
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags) {
        if (fd == maps_fd)
                memcpy(&kernel.value, value, sizeof(kernel.value));
        else if (kernel.thread_error < 0)
                return refuse(kernel.thread_error);
        else
                memcpy(&kernel.thread_class, value, sizeof(kernel.thread_class));
        return 0;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value) {
        if (is_of_advice(fd))
                return advice_map_lookup(fd, key, value);
        if (kernel.thread_error < 0)
                return refuse(kernel.thread_error);
        memcpy(value, &kernel.thread_class, sizeof(kernel.thread_class));
        return 0;
}

/* ---- the ring, and the program it is for */

struct ring *ring_buffer__ring(struct ring_buffer *rb, unsigned int index) {
        return (struct ring *) rb;
}

unsigned long ring__consumer_pos(const struct ring *r) {
        return kernel.n_taken;
}

unsigned long ring__producer_pos(const struct ring *r) {
        return kernel.n_posted;
}

int ring_buffer__consume_n(struct ring_buffer *rb, size_t n) {
        uint64_t counter;
        size_t i;

        assert_int_equal(read(rb->fd, &counter, sizeof(counter)), sizeof(counter));
        for (i = 0; i < n && kernel.n_taken != kernel.n_posted; i++) {
                assert_int_equal(rb->on_sample(rb->ctx, NULL, 0), 0);
                kernel.n_taken++;
        }
        if (kernel.n_taken != kernel.n_posted)
                assert_int_equal(eventfd_write(rb->fd, 1), 0);
        return i;
}

void played_kernel_post(unsigned n) {
        kernel.n_posted += n;
        if (played_ring)
                assert_int_equal(eventfd_write(played_ring->fd, n), 0);
}

int bpf_prog_test_run_opts(int fd, struct bpf_test_run_opts *opts) {
        if (opts->ctx_in)
                return hear(opts);

        assert_int_equal(fd, PLAYED_PROGRAM_FD);
        kernel.n_runs++;
        if (kernel.n_posted_in_run > 0) {
                kernel.n_posted += kernel.n_posted_in_run;
                kernel.n_posted_in_run = 0;
        }
        if (kernel.run < 0)
                return refuse(kernel.run);
        opts->retval = kernel.retval;
        return 0;
}
