/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The real backend: everything that enters the kernel passes through here. */

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sys/stat.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf-log.h"
#include "kernel-features.h"
#include "log.h"
#include "policy-backend.h"
#include "policy-object.h"
#include "policy-pin.h"
#include "policy-value.h"

typedef struct BpfContext {
        char *pin_root;
        char *cgroup_root;
} BpfContext;

DEFINE_TRIVIAL_CLEANUP_FUNC_VOID(struct bpf_link *, bpf_link__destroy);

/* "lfu (/usr/lib/.../lfu.bpf.o): the kernel rejects its program: lfu_evict(): R1 invalid mem access" */
static int fail(const Policy *policy, PolicyStep step, int error, char **ret_reason) {
        _cleanup_free_ char *detail = step == POLICY_STEP_LOAD ? bpf_log_cause() : NULL;

        if (asprintf(ret_reason, "policy '%s' (%s): %s%s%s", policy->name, policy->path,
                     policy_step_error(step, error), detail ? ": " : "", strempty(detail)) < 0)
                *ret_reason = NULL;

        return error;
}

static int link_new(uint64_t cgroup_id, int fd, PolicyLink **ret) {
        PolicyLink *link = calloc(1, sizeof(PolicyLink));

        if (!link)
                return -ENOMEM;

        *link = (PolicyLink) {
                .cgroup_id = cgroup_id,
                .fd = fd,
        };
        *ret = link;
        return 0;
}

/* ---- adopting */

static bool link_hung_up(int fd) {
        struct pollfd p = { .fd = fd };

        return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR));
}

/* Opens a pinned link that is ours and alive. -ENOENT: no link; -ENOLINK: not alive; -EMEDIUMTYPE: not ours. */
static int open_link(const char *root, uint64_t cgroup_id) {
        _cleanup_free_ char *path = pin_path(root, cgroup_id, PIN_LINK);
        _cleanup_close_ int fd = -EBADF;
        struct bpf_link_info info = {};
        uint32_t size = sizeof(info);
        int r;

        if (!path)
                return -ENOMEM;

        fd = bpf_obj_get(path);
        if (fd < 0)
                return fd;

        r = bpf_link_get_info_by_fd(fd, &info, &size);
        if (r < 0 || info.type != BPF_LINK_TYPE_STRUCT_OPS)
                return -EMEDIUMTYPE;
        if (link_hung_up(fd))
                return -ENOLINK;

        return TAKE_FD(fd);
}

static int backend_open(void *userdata, uint64_t cgroup_id, PolicyLink **ret) {
        BpfContext *c = ASSERT_PTR(userdata);
        _cleanup_free_ char *mark = pin_path(c->pin_root, cgroup_id, PIN_UPDATING);
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (!mark)
                return -ENOMEM;

        fd = open_link(c->pin_root, cgroup_id);
        if (IN_ERRNO(fd, -ENOLINK, -ENOENT))
                return -ENOENT;
        if (fd < 0)
                return fd;

        r = link_new(cgroup_id, fd, ret);
        if (r < 0)
                return r;

        TAKE_FD(fd);
        (*ret)->incomplete = access(mark, F_OK) >= 0;
        return 0;
}

static int backend_enumerate(void *userdata, GArray *ret_ids) {
        BpfContext *c = ASSERT_PTR(userdata);
        _cleanup_closedir_ DIR *d = opendir(c->pin_root);
        struct dirent *de;
        int r;

        if (!d)
                return errno == ENOENT ? 0 : -errno;

        while ((de = readdir(d))) {
                _cleanup_close_ int fd = -EBADF;
                uint64_t id;

                if (safe_atou64(de->d_name, &id) < 0)
                        continue;

                fd = open_link(c->pin_root, id);
                if (fd >= 0) {
                        g_array_append_val(ret_ids, id);
                        continue;
                }
                if (fd == -EMEDIUMTYPE) {
                        log_warning("Pin '%s/%s/" PIN_LINK "' is not a link of ours, leaving it alone.",
                                    c->pin_root, de->d_name);
                        continue;
                }
                if (!IN_ERRNO(fd, -ENOENT, -ENOLINK))
                        return fd;

                log_debug("Removing left-over pins in '%s/%s': %s.", c->pin_root, de->d_name,
                          fd == -ENOENT ? "nothing was attached" : "the kernel detached the policy");
                r = pin_directory_remove(c->pin_root, id);
                if (r < 0)
                        log_warning_errno(r, "Cannot remove '%s/%s', ignoring: %m", c->pin_root, de->d_name);
        }

        return 0;
}

/* ---- attaching */

/* Takes the admission filter that comes with every policy (bpf/admission.bpf.h) out of it; a filter of the policy's
 * own stays. libbpf does not load a program that no map refers to. */
static void turn_admission_off(struct bpf_object *obj, struct bpf_map *ops) {
        struct bpf_program *filter = bpf_object__find_program_by_name(obj, "cachebpf_admit");
        void *member;

        if (filter && policy_object_find_member(obj, ops, "admit_folio", sizeof(filter), &member) >= 0 &&
            memcmp(member, &filter, sizeof(filter)) == 0)
                memset(member, 0, sizeof(filter));
}

/* Opens the object and loads it for the control group. */
static int load_for(const Policy *policy, uint64_t cgroup_id,
                    struct bpf_object **ret, struct bpf_map **ret_ops, char **ret_reason) {
        _cleanup_(bpf_object__closep) struct bpf_object *obj = NULL;
        _cleanup_free_ char *problem = NULL;
        struct bpf_map *ops;
        void *member;
        int r;

        r = policy_object_open(policy->path, &obj, &ops, &problem);
        if (r < 0) {
                if (asprintf(ret_reason, "policy '%s' cannot be used: %s", policy->name, strna(problem)) < 0)
                        return -ENOMEM;
                return r;
        }

        r = policy_object_find_member(obj, ops, "cgroup_id", sizeof(cgroup_id), &member);
        if (r >= 0) {
                memcpy(member, &cgroup_id, sizeof(cgroup_id));
                r = policy_object_find_member(obj, ops, "name", POLICY_NAME_MAX + 1, &member);
        }
        if (r < 0) {
                if (asprintf(ret_reason, "policy '%s' (%s): its struct " POLICY_OPS_TYPE
                                         " has no cgroup_id or name", policy->name, policy->path) < 0)
                        return -ENOMEM;
                return r;
        }
        /* A policy is called what its file is called, whatever it calls itself: one name everywhere. */
        memset(member, 0, POLICY_NAME_MAX + 1);
        policy_kernel_name(policy->name, member);

        turn_admission_off(obj, ops);

        bpf_log_reset();
        r = bpf_object__load(obj);
        if (r < 0)
                return fail(policy, POLICY_STEP_LOAD, r, ret_reason);

        *ret = TAKE_PTR(obj);
        *ret_ops = ops;
        return 0;
}

/* Pins the policy's writable maps. bpffs keeps names with dots to itself, so ".bss" becomes "_bss". */
static int pin_maps(const char *root, uint64_t cgroup_id, struct bpf_object *obj) {
        struct bpf_map *map;
        int r;

        bpf_object__for_each_map(map, obj) {
                _cleanup_free_ char *name = NULL, *path = NULL;

                if (bpf_map__type(map) == BPF_MAP_TYPE_STRUCT_OPS || endswith(bpf_map__name(map), ".rodata") ||
                    bpf_map__fd(map) < 0)
                        continue;

                if (asprintf(&name, PIN_MAP_PREFIX "%s", bpf_map__name(map)) < 0)
                        return -ENOMEM;
                for (char *p = name; *p; p++)
                        if (*p == '.')
                                *p = '_';

                path = pin_path(root, cgroup_id, name);
                if (!path)
                        return -ENOMEM;

                r = bpf_obj_pin(bpf_map__fd(map), path);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int pin_link(const char *root, uint64_t cgroup_id, int fd) {
        _cleanup_free_ char *path = pin_path(root, cgroup_id, PIN_LINK);

        return path ? bpf_obj_pin(fd, path) : -ENOMEM;
}

static int attach_and_pin(BpfContext *c, const Policy *policy, uint64_t cgroup_id,
                          struct bpf_object *obj, struct bpf_map *ops, int *ret_fd, char **ret_reason) {
        _cleanup_(bpf_link__destroyp) struct bpf_link *link = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r;

        r = pin_directory_make(c->pin_root, cgroup_id);
        if (r >= 0)
                r = pin_maps(c->pin_root, cgroup_id, obj);
        if (r < 0)
                return fail(policy, POLICY_STEP_PIN, r, ret_reason);

        link = bpf_map__attach_struct_ops(ops);
        if (!link)
                return fail(policy, POLICY_STEP_ATTACH, -errno, ret_reason);

        /* Destroying the libbpf object closes its descriptor and nothing else: the kernel detaches when the
         * last one is closed and there is no pin, which is what we want if we fail from here on. */
        fd = fcntl(bpf_link__fd(link), F_DUPFD_CLOEXEC, 3);
        if (fd < 0)
                return fail(policy, POLICY_STEP_PIN, -errno, ret_reason);

        r = pin_link(c->pin_root, cgroup_id, fd);
        if (r < 0)
                return fail(policy, POLICY_STEP_PIN, r, ret_reason);

        *ret_fd = TAKE_FD(fd);
        return 0;
}

static int backend_attach(void *userdata, const Policy *policy, uint64_t cgroup_id,
                          PolicyLink **ret, char **ret_reason) {
        _cleanup_(bpf_object__closep) struct bpf_object *obj = NULL;
        BpfContext *c = ASSERT_PTR(userdata);
        _cleanup_close_ int fd = -EBADF;
        struct bpf_map *ops;
        int r;

        r = load_for(policy, cgroup_id, &obj, &ops, ret_reason);
        if (r < 0)
                return r;

        r = attach_and_pin(c, policy, cgroup_id, obj, ops, &fd, ret_reason);
        if (r >= 0)
                r = link_new(cgroup_id, fd, ret);
        if (r < 0) {
                (void) pin_directory_remove(c->pin_root, cgroup_id);
                return r;
        }

        TAKE_FD(fd);
        return 0;
}

static int backend_update(void *userdata, PolicyLink *link, const Policy *policy, char **ret_reason) {
        _cleanup_(bpf_object__closep) struct bpf_object *obj = NULL;
        BpfContext *c = ASSERT_PTR(userdata);
        struct bpf_map *ops;
        int r;

        r = load_for(policy, link->cgroup_id, &obj, &ops, ret_reason);
        if (r < 0)
                return r;

        r = policy_value_commit(obj, ops);
        if (r < 0)
                return fail(policy, POLICY_STEP_LOAD, r, ret_reason);

        r = pin_mark_updating(c->pin_root, link->cgroup_id, true);
        if (r < 0)
                return fail(policy, POLICY_STEP_PIN, r, ret_reason);

        r = bpf_link_update(link->fd, bpf_map__fd(ops), NULL);
        if (r < 0) {
                if (!link->incomplete)
                        (void) pin_mark_updating(c->pin_root, link->cgroup_id, false);
                return fail(policy, POLICY_STEP_ATTACH, r, ret_reason);
        }

        /* The new policy runs. Should its maps not get pinned, the mark stays and the next start tries again. */
        link->incomplete = true;
        r = pin_directory_remove_maps(c->pin_root, link->cgroup_id);
        if (r >= 0)
                r = pin_maps(c->pin_root, link->cgroup_id, obj);
        if (r >= 0)
                r = pin_mark_updating(c->pin_root, link->cgroup_id, false);
        if (r < 0)
                return log_warning_errno(r, "Cannot pin the maps of policy '%s' in '%s/%" PRIu64 "', ignoring: %m",
                                         policy->name, c->pin_root, link->cgroup_id), 0;

        link->incomplete = false;
        return 0;
}

static int backend_detach(void *userdata, PolicyLink *link) {
        BpfContext *c = ASSERT_PTR(userdata);
        int r;

        /* Detach by hand first, so that it has happened when we return; removing the last pin would do it some
         * time later. -ENOLINK: the kernel was faster. */
        r = bpf_link_detach(link->fd);
        if (r < 0 && r != -ENOLINK)
                log_debug_errno(r, "Cannot detach the policy of control group %" PRIu64 ", unpinning it: %m",
                                link->cgroup_id);

        return pin_directory_remove(c->pin_root, link->cgroup_id);
}

static int backend_read_policy(void *userdata, const char *cgroup, uint64_t cgroup_id, KernelPolicy *ret) {
        BpfContext *c = ASSERT_PTR(userdata);

        return cgroup_read_policy(c->cgroup_root, cgroup, cgroup_id, ret);
}

PolicyBackend *policy_bpf_backend_free(PolicyBackend *b) {
        BpfContext *c;

        if (!b)
                return NULL;

        c = b->userdata;
        if (c) {
                free(c->pin_root);
                free(c->cgroup_root);
                free(c);
        }

        return mfree(b);
}

PolicyBackend *policy_bpf_backend_new(const char *pin_root, const char *cgroup_root) {
        _cleanup_(policy_bpf_backend_freep) PolicyBackend *b = calloc(1, sizeof(PolicyBackend));
        BpfContext *c = calloc(1, sizeof(BpfContext));

        if (!b || !c) {
                free(c);
                return NULL;
        }

        *b = (PolicyBackend) {
                .enumerate = backend_enumerate,
                .open = backend_open,
                .attach = backend_attach,
                .update = backend_update,
                .detach = backend_detach,
                .read_policy = backend_read_policy,
                .userdata = c,
        };

        c->pin_root = strdup(pin_root);
        c->cgroup_root = strdup(cgroup_root);
        if (!c->pin_root || !c->cgroup_root)
                return NULL;

        bpf_log_setup();
        return TAKE_PTR(b);
}
