/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The real backend: everything that enters the kernel passes through here. */

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sys/stat.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "advice.h"
#include "backend.h"
#include "events.h"
#include "load.h"
#include "pin.h"
#include "shared/bpf-log.h"
#include "shared/log.h"
#include "thread-map.h"
#include "value.h"

typedef struct BpfContext {
        char *pin_root;
        char *cgroup_root;
        int threads_fd; /* opened, or made, when it is needed first */
        PolicyValueLayout *layout;
} BpfContext;

DEFINE_TRIVIAL_CLEANUP_FUNC_VOID(struct bpf_link *, bpf_link__destroy);

/* ---- adopting */

static bool link_hung_up(int fd) {
        struct pollfd p = { .fd = fd };

        return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR));
}

static int open_pin(const char *root, uint64_t cgroup_id, const char *name) {
        g_autofree char *path = pin_path(root, cgroup_id, name);

        return bpf_obj_get(path);
}

/* Opens a pinned link that is ours and alive.
 * -ENOENT: no link; -ENOLINK: not alive; -EMEDIUMTYPE: not ours. */
static int open_link(const char *root, uint64_t cgroup_id) {
        _cleanup_close_ int fd = open_pin(root, cgroup_id, PIN_LINK);
        struct bpf_link_info info = {};
        uint32_t size = sizeof(info);
        int r;

        if (fd < 0)
                return fd;

        r = bpf_link_get_info_by_fd(fd, &info, &size);
        if (r < 0 || info.type != BPF_LINK_TYPE_STRUCT_OPS)
                return -EMEDIUMTYPE;
        if (link_hung_up(fd))
                return -ENOLINK;

        return TAKE_FD(fd);
}

/* What the policy learns. */
static int open_learned(const char *root, PolicyLink *link) {
        link->learned_fd = safe_close(link->learned_fd);
        link->learned = mfree(link->learned);
        link->restored = false;

        if (pin_read_learned(root, link->cgroup_id, &link->learned) < 0 || !link->learned)
                return 0;

        link->learned_fd = open_pin(root, link->cgroup_id, PIN_MAP_PREFIX POLICY_LEARNED_MAP);
        if (link->learned_fd < 0)
                return link->learned_fd;

        link->restored = pin_is_restored(root, link->cgroup_id);
        return 0;
}

/* Opens what is pinned beside a link. Only policies that listen, or ask for something, have programs. */
static int open_companions(const char *root, PolicyLink *link) {
        int r;

        link->config = mfree(link->config);
        r = pin_read_config(root, link->cgroup_id, &link->config);
        if (r < 0)
                return r;

        link->program_fd = safe_close(link->program_fd);
        link->events_fd = safe_close(link->events_fd);
        link->counts_fd = safe_close(link->counts_fd);
        link->counters_fd = safe_close(link->counters_fd);
        link->say_fd = safe_close(link->say_fd);

        link->counters_fd = open_pin(root, link->cgroup_id, PIN_COUNTERS);
        if (link->counters_fd < 0 && link->counters_fd != -ENOENT)
                return link->counters_fd;

        link->say_fd = open_pin(root, link->cgroup_id, PIN_SAY);
        if (link->say_fd < 0 && link->say_fd != -ENOENT)
                return link->say_fd;

        r = open_learned(root, link);
        if (r < 0)
                return r;

        link->program_fd = open_pin(root, link->cgroup_id, PIN_PROGRAM);
        if (link->program_fd == -ENOENT)
                return 0;
        if (link->program_fd < 0)
                return link->program_fd;

        link->events_fd = open_pin(root, link->cgroup_id, PIN_MAP_PREFIX POLICY_EVENTS_MAP);
        if (link->events_fd < 0)
                return link->events_fd;

        link->counts_fd = open_pin(root, link->cgroup_id, PIN_COUNTS);
        return link->counts_fd < 0 ? link->counts_fd : 0;
}

static int backend_open(void *userdata, uint64_t cgroup_id, PolicyLink **ret) {
        BpfContext *c = ASSERT_PTR(userdata);
        g_autofree char *mark = pin_path(c->pin_root, cgroup_id, PIN_UPDATING);
        PolicyLink *link;
        int fd, r;

        fd = open_link(c->pin_root, cgroup_id);
        if (fd < 0)
                return fd == -ENOLINK ? -ENOENT : fd;

        link = policy_link_new(cgroup_id, fd);
        link->incomplete = access(mark, F_OK) >= 0;
        r = open_companions(c->pin_root, link);
        if (r < 0) {
                log_warning_errno(r, "Cannot open the pins in '%s/%" PRIu64 "', making them anew: %m",
                                  c->pin_root, cgroup_id);
                link->incomplete = true;
        }

        *ret = link;
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
                if (!IN_ERRNO(fd, -ENOENT, -ENOLINK)) {
                        log_warning_errno(fd, "Cannot open pin '%s/%s/" PIN_LINK "', leaving it alone: %m",
                                          c->pin_root, de->d_name);
                        continue;
                }

                log_debug("Removing left-over pins in '%s/%s': %s.", c->pin_root, de->d_name,
                          fd == -ENOENT ? "nothing was attached" : "the kernel detached the policy");
                r = pin_directory_remove(c->pin_root, id);
                if (r < 0)
                        log_warning_errno(r, "Cannot remove '%s/%s', ignoring: %m", c->pin_root, de->d_name);
        }

        return 0;
}

/* ---- attaching */

/* The map with the classes of threads, which belongs to no policy. */
static int threads_fd(BpfContext *c) {
        if (c->threads_fd < 0)
                c->threads_fd = thread_map_open(c->pin_root);

        return c->threads_fd;
}

static int load(BpfContext *c, const Policy *policy, const PolicyConfig *config, uint64_t cgroup_id,
                struct bpf_object **ret, struct bpf_map **ret_ops, char **ret_reason) {
        int fd = -EBADF;

        if (policy->knows_threads) {
                fd = threads_fd(c);
                if (fd < 0)
                        return policy_step_failed(policy, POLICY_STEP_PIN, fd, ret_reason);
        }

        return policy_load(policy, config, cgroup_id, fd, ret, ret_ops, ret_reason);
}

static int pin_at(const char *root, uint64_t cgroup_id, const char *name, int fd) {
        g_autofree char *path = pin_path(root, cgroup_id, name);

        return bpf_obj_pin(fd, path);
}

/* Pins the policy's writable maps. bpffs keeps names with dots to itself, so ".bss" becomes "_bss". */
static int pin_maps(const char *root, uint64_t cgroup_id, struct bpf_object *obj) {
        struct bpf_map *map;
        int r;

        bpf_object__for_each_map(map, obj) {
                g_autofree char *name = NULL;

                if (bpf_map__type(map) == BPF_MAP_TYPE_STRUCT_OPS ||
                    endswith(bpf_map__name(map), ".rodata") ||
                    streq(bpf_map__name(map), POLICY_THREADS_MAP) || !bpf_map__autocreate(map))
                        continue;

                name = g_strdelimit(g_strdup_printf(PIN_MAP_PREFIX "%s", bpf_map__name(map)), ".", '_');
                r = pin_at(root, cgroup_id, name, bpf_map__fd(map));
                if (r < 0)
                        return r;
        }

        return 0;
}

/* For a policy that asks for its program to be run: the program, and a map to count the runs. */
static int pin_program(const char *root, uint64_t cgroup_id, struct bpf_object *obj) {
        struct bpf_program *prog = policy_object_find_reconfigure(obj);
        _cleanup_close_ int counts = -EBADF;
        int r;

        if (!prog || !bpf_object__find_map_by_name(obj, POLICY_EVENTS_MAP))
                return 0;

        counts = policy_events_make_counts();
        if (counts < 0)
                return counts;

        r = pin_at(root, cgroup_id, PIN_COUNTS, counts);
        if (r < 0)
                return r;

        return pin_at(root, cgroup_id, PIN_PROGRAM, bpf_program__fd(prog));
}

/* For a policy that listens: the program to speak to. */
static int pin_say(const char *root, uint64_t cgroup_id, struct bpf_object *obj) {
        struct bpf_program *prog = policy_object_find_say(obj);

        return prog ? pin_at(root, cgroup_id, PIN_SAY, bpf_program__fd(prog)) : 0;
}

/* For a policy that learns: to whom its map means something. bpffs keeps dots to itself. */
static int pin_learned(const char *root, uint64_t cgroup_id, const Policy *policy) {
        g_autofree char *label = g_strdup_printf("%s@%" PRIu32, policy->name, policy->learned_version);

        return policy->learns ? pin_mark_learned(root, cgroup_id, label) : 0;
}

/* All but the link. */
static int pin_companions(const char *root, uint64_t cgroup_id, const Policy *policy, struct bpf_object *obj,
                          const PolicyConfig *config) {
        int r;

        r = pin_maps(root, cgroup_id, obj);
        if (r >= 0)
                r = pin_program(root, cgroup_id, obj);
        if (r >= 0)
                r = pin_say(root, cgroup_id, obj);
        if (r >= 0)
                r = pin_learned(root, cgroup_id, policy);
        if (r >= 0)
                r = pin_mark_config(root, cgroup_id, config->fingerprint);
        return r;
}

static int attach_and_pin(BpfContext *c, const Policy *policy, const PolicyConfig *config,
                          uint64_t cgroup_id,
                          struct bpf_object *obj, struct bpf_map *ops, PolicyLink **ret, char **ret_reason) {
        _cleanup_(policy_link_freep) PolicyLink *attached = NULL;
        _cleanup_(bpf_link__destroyp) struct bpf_link *link = NULL;
        int fd, r;

        r = pin_directory_make(c->pin_root, cgroup_id);
        if (r >= 0)
                r = pin_companions(c->pin_root, cgroup_id, policy, obj, config);
        if (r < 0)
                return policy_step_failed(policy, POLICY_STEP_PIN, r, ret_reason);

        link = bpf_map__attach_struct_ops(ops);
        if (!link)
                return policy_step_failed(policy, POLICY_STEP_ATTACH, -errno, ret_reason);

        /* Destroying the libbpf object closes its descriptor and nothing else: the kernel detaches when the
         * last one is closed and there is no pin, which is what we want if we fail from here on. */
        fd = fcntl(bpf_link__fd(link), F_DUPFD_CLOEXEC, 3);
        if (fd < 0)
                return policy_step_failed(policy, POLICY_STEP_PIN, -errno, ret_reason);

        attached = policy_link_new(cgroup_id, fd);
        r = open_companions(c->pin_root, attached);
        if (r >= 0)
                r = pin_at(c->pin_root, cgroup_id, PIN_LINK, attached->fd);
        if (r < 0)
                return policy_step_failed(policy, POLICY_STEP_PIN, r, ret_reason);

        *ret = TAKE_PTR(attached);
        return 0;
}

static int backend_attach(void *userdata, const Policy *policy, const PolicyConfig *config,
                          uint64_t cgroup_id, PolicyLink **ret, char **ret_reason) {
        _cleanup_(bpf_object__closep) struct bpf_object *obj = NULL;
        BpfContext *c = ASSERT_PTR(userdata);
        struct bpf_map *ops;
        int r;

        r = load(c, policy, config, cgroup_id, &obj, &ops, ret_reason);
        if (r < 0)
                return r;

        r = attach_and_pin(c, policy, config, cgroup_id, obj, ops, ret, ret_reason);
        if (r < 0)
                (void) pin_directory_remove(c->pin_root, cgroup_id);

        return r;
}

/* ---- what managers say */

static int read_managers(const char *root, uint64_t cgroup_id, GArray *ret) {
        _cleanup_close_ int managers = open_pin(root, cgroup_id, PIN_MAP_PREFIX ADVICE_MAP_MANAGERS),
                            pages = open_pin(root, cgroup_id, PIN_MAP_PREFIX ADVICE_MAP_PAGES);

        return managers < 0 ? managers : pages < 0 ? pages : advice_read_managers(managers, pages, ret);
}

static int read_levels(const char *root, uint64_t cgroup_id, GArray *ret) {
        _cleanup_close_ int fd = open_pin(root, cgroup_id, PIN_MAP_PREFIX ADVICE_MAP_PRIORITIES);

        return fd < 0 ? fd : advice_read_levels(fd, ret);
}

/* Before the new policy runs it knows what the old one was told. */
static void repeat_advice(BpfContext *c, const PolicyLink *link, struct bpf_object *obj) {
        g_autoptr(GArray) managers = g_array_new(FALSE, FALSE, sizeof(PolicyManager)),
                          levels = g_array_new(FALSE, FALSE, sizeof(PolicyFileLevel));
        struct bpf_program *prog = policy_object_find_say(obj);

        if (!prog || link->say_fd < 0)
                return;

        (void) read_managers(c->pin_root, link->cgroup_id, managers);
        (void) read_levels(c->pin_root, link->cgroup_id, levels);
        advice_repeat(managers, levels, bpf_program__fd(prog));
}

static int backend_set_level(void *userdata, PolicyLink *link, uint64_t manager, const PolicyFile *file,
                             int level) {
        return advice_set_level(link->say_fd, manager, file, level);
}

static int backend_set_replacement(void *userdata, PolicyLink *link, uint64_t manager, int level, bool mru) {
        return advice_set_replacement(link->say_fd, manager, level, mru);
}

static int backend_read_managers(void *userdata, const PolicyLink *link, GArray *ret) {
        return read_managers(((BpfContext *) userdata)->pin_root, link->cgroup_id, ret);
}

static int backend_read_levels(void *userdata, const PolicyLink *link, GArray *ret) {
        return read_levels(((BpfContext *) userdata)->pin_root, link->cgroup_id, ret);
}

/* ---- replacing and detaching */

static int backend_update(void *userdata, PolicyLink *link, const Policy *policy, const PolicyConfig *config,
                          char **ret_reason) {
        _cleanup_(bpf_object__closep) struct bpf_object *obj = NULL;
        BpfContext *c = ASSERT_PTR(userdata);
        struct bpf_map *ops;
        int r;

        r = load(c, policy, config, link->cgroup_id, &obj, &ops, ret_reason);
        if (r < 0)
                return r;

        r = policy_value_commit(&c->layout, obj, ops);
        if (r < 0)
                return policy_step_failed(policy, POLICY_STEP_LOAD, r, ret_reason);

        r = pin_mark_updating(c->pin_root, link->cgroup_id, true);
        if (r < 0)
                return policy_step_failed(policy, POLICY_STEP_PIN, r, ret_reason);

        repeat_advice(c, link, obj);
        r = bpf_link_update(link->fd, bpf_map__fd(ops), NULL);
        if (r < 0) {
                if (!link->incomplete)
                        (void) pin_mark_updating(c->pin_root, link->cgroup_id, false);
                return policy_step_failed(policy, POLICY_STEP_ATTACH, r, ret_reason);
        }

        /* The new policy runs. Should the rest not get pinned, the mark stays, and the next start makes an
         * update again. Not this one: each event would throw away what the policy learned. */
        link->incomplete = false;
        g_set_str(&link->config, config->fingerprint);
        r = pin_directory_clear(c->pin_root, link->cgroup_id);
        if (r >= 0)
                r = pin_companions(c->pin_root, link->cgroup_id, policy, obj, config);
        if (r >= 0)
                r = open_companions(c->pin_root, link);
        if (r >= 0)
                r = pin_mark_updating(c->pin_root, link->cgroup_id, false);
        if (r < 0)
                log_warning_errno(r, "Cannot pin what belongs to policy '%s' in '%s/%" PRIu64 "', "
                                  "ignoring: %m", policy->name, c->pin_root, link->cgroup_id);
        return 0;
}

static int backend_mark_restored(void *userdata, PolicyLink *link) {
        BpfContext *c = ASSERT_PTR(userdata);

        return pin_mark_restored(c->pin_root, link->cgroup_id);
}

static int backend_detach(void *userdata, PolicyLink *link) {
        BpfContext *c = ASSERT_PTR(userdata);
        int r;

        /* Detach by hand first, so that it has happened when we return; removing the last pin would do it
         * some time later. -ENOLINK: the kernel was faster. */
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

/* Where the object has them the map has them, too: it was loaded from that object. */
static int backend_read_counters(void *userdata, const PolicyLink *link, uint64_t *ret) {
        g_autofree char *values = NULL;
        struct bpf_map_info info = {};
        uint32_t size = sizeof(info), zero = 0;
        int r;

        if (link->counters_fd < 0)
                return -ENOENT;

        r = bpf_map_get_info_by_fd(link->counters_fd, &info, &size);
        if (r < 0)
                return r;

        values = g_malloc0(info.value_size);
        r = bpf_map_lookup_elem(link->counters_fd, &zero, values);
        if (r < 0)
                return r;

        for (guint i = 0; i < link->counters->len; i++) {
                size_t offset = g_array_index(link->counters, PolicyCounter, i).offset;

                if (offset + sizeof(*ret) > info.value_size)
                        return -EINVAL;
                memcpy(ret + i, values + offset, sizeof(*ret));
        }

        return 0;
}

/* ---- threads */

static int backend_set_class(void *userdata, int pidfd, ThreadClass class) {
        int fd = threads_fd(ASSERT_PTR(userdata));

        return fd < 0 ? fd : thread_map_set(fd, pidfd, class);
}

static int backend_get_class(void *userdata, int pidfd, ThreadClass *ret) {
        int fd = threads_fd(ASSERT_PTR(userdata));

        return fd < 0 ? fd : thread_map_get(fd, pidfd, ret);
}

PolicyBackend *policy_bpf_backend_free(PolicyBackend *b) {
        BpfContext *c;

        if (!b)
                return NULL;

        c = b->userdata;
        free(c->pin_root);
        free(c->cgroup_root);
        safe_close(c->threads_fd);
        policy_value_layout_free(c->layout);
        free(c);
        return mfree(b);
}

PolicyBackend *policy_bpf_backend_new(const char *pin_root, const char *cgroup_root) {
        PolicyBackend *b = g_new(PolicyBackend, 1);
        BpfContext *c = g_new(BpfContext, 1);

        *c = (BpfContext) {
                .pin_root = g_strdup(pin_root),
                .cgroup_root = g_strdup(cgroup_root),
                .threads_fd = -EBADF,
        };
        *b = (PolicyBackend) {
                .enumerate = backend_enumerate,
                .open = backend_open,
                .attach = backend_attach,
                .update = backend_update,
                .detach = backend_detach,
                .read_policy = backend_read_policy,
                .read_counters = backend_read_counters,
                .set_class = backend_set_class,
                .get_class = backend_get_class,
                .set_level = backend_set_level,
                .set_replacement = backend_set_replacement,
                .read_managers = backend_read_managers,
                .read_levels = backend_read_levels,
                .mark_restored = backend_mark_restored,
                .userdata = c,
        };

        bpf_log_setup();
        return b;
}
