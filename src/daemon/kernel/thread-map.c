/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <sys/stat.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "config/object.h"
#include "pin.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"
#include "thread-map.h"

DEFINE_TRIVIAL_CLEANUP_FUNC_VOID(struct btf *, btf__free);

/* Like the definition in bpf/lib/threads.bpf.h; the kernel wants to know the types of key and value. */
static int make_map(void) {
        _cleanup_(btf__freep) struct btf *btf = btf__new_empty();
        int key, value, r;

        if (!btf)
                return -errno;

        key = btf__add_int(btf, "int", sizeof(int), BTF_INT_SIGNED);
        value = btf__add_int(btf, "unsigned int", sizeof(uint32_t), 0);
        if (key < 0 || value < 0)
                return key < 0 ? key : value;

        r = btf__load_into_kernel(btf);
        if (r < 0)
                return r;

        return bpf_map_create(BPF_MAP_TYPE_TASK_STORAGE, POLICY_THREADS_MAP, sizeof(int),
                              sizeof(uint32_t), 0,
                              &(struct bpf_map_create_opts) {
                                      .sz = sizeof(struct bpf_map_create_opts),
                                      .map_flags = BPF_F_NO_PREALLOC,
                                      .btf_fd = btf__fd(btf),
                                      .btf_key_type_id = key,
                                      .btf_value_type_id = value,
                              });
}

int thread_map_open(const char *pin_root) {
        g_autofree char *path = g_strdup_printf("%s/" PIN_THREADS, pin_root);
        _cleanup_close_ int fd = bpf_obj_get(path);
        int r;

        if (fd != -ENOENT)
                return TAKE_FD(fd);

        fd = make_map();
        if (fd < 0)
                return fd;

        if (mkdir(pin_root, 0700) < 0 && errno != EEXIST)
                return -errno;
        r = bpf_obj_pin(fd, path);
        if (r < 0)
                return r;

        return TAKE_FD(fd);
}

int thread_map_set(int map_fd, int pidfd, ThreadClass class) {
        uint32_t value = class;
        int r;

        r = bpf_map_update_elem(map_fd, &pidfd, &value, BPF_ANY);
        return r == -ENOENT ? -ESRCH : r; /* so the kernel says that the task is gone */
}

int thread_map_get(int map_fd, int pidfd, ThreadClass *ret) {
        uint32_t value;
        int r;

        r = bpf_map_lookup_elem(map_fd, &pidfd, &value);
        if (r < 0)
                return r;

        *ret = value < _THREAD_CLASS_MAX ? (ThreadClass) value : THREAD_CLASS_NORMAL;
        return 0;
}
