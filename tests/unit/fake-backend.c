/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "test-util.h"

#include "fake-backend.h"
#include "shared/cleanup.h"

static FakeCgroup *get(void *userdata, uint64_t id) {
        FakeKernel *k = userdata;

        for (size_t i = 1; i < FAKE_CGROUPS; i++)
                if (k->cgroups[i].inode == id)
                        return k->cgroups + i;

        assert_in_range(id, 1, FAKE_CGROUPS - 1);
        return k->cgroups + id;
}

static void hang_up(FakeCgroup *c) {
        c->policy[0] = 0;
        c->policy_id = c->updates = 0;
        if (c->pipe[1] >= 0)
                close(c->pipe[1]);
        if (c->pipe[0] >= 0)
                close(c->pipe[0]);
        c->pipe[0] = c->pipe[1] = -EBADF;
}

static void listen_if_asked(const FakeCgroup *c, PolicyLink *link) {
        if (link->say_fd >= 0)
                close(link->say_fd);
        link->say_fd = strcmp(c->policy, "acfs") == 0 ? fcntl(c->pipe[0], F_DUPFD_CLOEXEC, 3) : -EBADF;
}

/* A file is the map of the policy "lfu", if the test has one. */
static void learn_if_asked(const FakeKernel *k, const FakeCgroup *c, PolicyLink *link) {
        link->learned_fd = safe_close(link->learned_fd);
        g_set_str(&link->learned, NULL);
        link->restored = c->restored;
        if (k->learned_fd >= 0 && strcmp(c->policy, "lfu") == 0) {
                link->learned_fd = fcntl(k->learned_fd, F_DUPFD_CLOEXEC, 3);
                g_set_str(&link->learned, "lfu@0");
        }
}

static int link_to(FakeKernel *k, FakeCgroup *c, uint64_t id, PolicyLink **ret) {
        PolicyLink *link = policy_link_new(id, fcntl(c->pipe[0], F_DUPFD_CLOEXEC, 3));

        assert_non_null(link);
        assert_true(link->fd >= 0);
        link->incomplete = c->updating;
        link->config = strdup(c->config);
        listen_if_asked(c, link);
        learn_if_asked(k, c, link);
        *ret = link;
        return 0;
}

void fake_cgroup_attach(FakeKernel *k, uint64_t id, const char *policy, bool pinned) {
        FakeCgroup *c = get(k, id);

        assert_int_equal(pipe2(c->pipe, O_CLOEXEC), 0);
        policy_kernel_name(policy, c->policy);
        c->policy_id = ++k->last_policy_id;
        c->pinned = pinned;
}

static int fake_enumerate(void *userdata, GArray *ret_ids) {
        for (uint64_t id = 1; id < FAKE_CGROUPS; id++)
                if (get(userdata, id)->pinned)
                        g_array_append_val(ret_ids, id);

        return 0;
}

static int fake_open(void *userdata, uint64_t id, PolicyLink **ret) {
        FakeKernel *k = userdata;
        FakeCgroup *c = get(k, id);

        k->n_open++;
        if (k->open_error < 0)
                return k->open_error;
        return c->pinned && c->policy[0] ? link_to(k, c, id, ret) : -ENOENT;
}

static int fake_attach(void *userdata, const Policy *policy, const PolicyConfig *config, uint64_t id,
                       PolicyLink **ret, char **ret_reason) {
        FakeKernel *k = userdata;
        FakeCgroup *c = get(k, id);

        k->n_attach++;
        g_usleep(k->attach_usec);
        if (k->attach_error < 0) {
                *ret_reason = strdup("attach failed");
                return k->attach_error;
        }
        if (k->attach_refuses && streq(policy->name, k->attach_refuses))
                return -EINVAL;
        if (!c->exists)
                return -ENOENT;
        if (c->policy[0])
                return -EBUSY;

        fake_cgroup_attach(k, id, policy->name, true);
        memcpy(c->config, config->fingerprint, sizeof(c->config));
        if (k->attach_lies)
                c->policy[0] = 0;
        c->restored = false;
        (void) link_to(k, c, id, ret);
        if (k->attach_unwatchable)
                (*ret)->fd = safe_close((*ret)->fd);
        return 0;
}

static int fake_update(void *userdata, PolicyLink *link, const Policy *policy, const PolicyConfig *config,
                       char **ret_reason) {
        FakeKernel *k = userdata;
        FakeCgroup *c = get(k, link->cgroup_id);

        k->n_update++;
        if (k->update_ejects) {
                c->ejected_id = c->policy_id;
                c->ejected = k->update_ejects;
                k->update_ejects = NULL;
                hang_up(c);
                return -ENOLINK;
        }
        if (k->update_error < 0) {
                *ret_reason = strdup("update failed");
                return k->update_error;
        }

        policy_kernel_name(policy->name, c->policy);
        memcpy(c->config, config->fingerprint, sizeof(c->config));
        g_set_str(&link->config, config->fingerprint);
        c->updates++;
        c->policy_id = ++k->last_policy_id;
        c->updating = link->incomplete = false;
        c->restored = false;
        listen_if_asked(c, link);
        learn_if_asked(k, c, link);
        if (k->update_lies)
                c->policy[0] = 0;
        k->update_lies = false;
        return 0;
}

static int fake_detach(void *userdata, PolicyLink *link) {
        FakeKernel *k = userdata;
        FakeCgroup *c = get(k, link->cgroup_id);

        k->n_detach++;
        hang_up(c);
        c->pinned = false;
        return 0;
}

static int fake_read_counters(void *userdata, const PolicyLink *link, uint64_t *ret) {
        for (guint i = 0; i < link->counters->len; i++)
                ret[i] = 100 + i;

        return 0;
}

static int fake_read_policy(void *userdata, const char *cgroup, uint64_t id, KernelPolicy *ret) {
        FakeKernel *k = userdata;
        FakeCgroup *c = get(k, id);
        char path[8];

        (void) snprintf(path, sizeof(path), "/%u", (unsigned) (c - k->cgroups));
        assert_string_equal(cgroup, c->path ?: path);
        if (!c->exists)
                return -ENOENT;
        if (k->read_error < 0)
                return k->read_error;

        *ret = (KernelPolicy) {
                .name = c->policy[0] ? strdup(c->policy) : NULL,
                .id = c->policy_id,
                .cgroup_id = id,
                .updates = c->updates,
                .ejected_id = c->ejected_id,
                .ejected = c->ejected ? strdup(c->ejected) : NULL,
        };
        return 0;
}

static int fake_set_class(void *userdata, int pidfd, ThreadClass class) {
        FakeKernel *k = userdata;

        if (k->set_class_error < 0)
                return k->set_class_error;

        k->n_set_class++;
        k->last_class = class;
        return 0;
}

static int fake_get_class(void *userdata, int pidfd, ThreadClass *ret) {
        FakeKernel *k = userdata;

        if (k->n_set_class == 0)
                return -ENOENT;

        *ret = k->last_class;
        return 0;
}

PolicyManager *fake_manager(FakeKernel *k, uint64_t id) {
        for (guint i = 0; i < k->managers->len; i++)
                if (g_array_index(k->managers, PolicyManager, i).id == id)
                        return &g_array_index(k->managers, PolicyManager, i);

        g_array_append_val(k->managers, (PolicyManager) { .id = id });
        return &g_array_index(k->managers, PolicyManager, k->managers->len - 1);
}

int *fake_level(FakeKernel *k, uint64_t manager, const PolicyFile *file) {
        for (guint i = 0; i < k->levels->len; i++) {
                PolicyFileLevel *l = &g_array_index(k->levels, PolicyFileLevel, i);

                if (l->manager == manager && memcmp(&l->file, file, sizeof(*file)) == 0)
                        return &l->level;
        }

        g_array_append_val(k->levels, ((PolicyFileLevel) { .manager = manager, .file = *file }));
        return &g_array_index(k->levels, PolicyFileLevel, k->levels->len - 1).level;
}

static int fake_set_level(void *userdata, PolicyLink *link, uint64_t manager, const PolicyFile *file,
                          int level) {
        FakeKernel *k = userdata;

        assert_true(policy_link_listens(link));
        k->n_said++;
        if (k->say_error < 0)
                return k->say_error;

        (void) fake_manager(k, manager);
        *fake_level(k, manager, file) = level;
        return 0;
}

static int fake_set_replacement(void *userdata, PolicyLink *link, uint64_t manager, int level, bool mru) {
        FakeKernel *k = userdata;
        uint32_t bit = 1U << (level - CACHE_LEVEL_MIN);

        assert_true(policy_link_listens(link));
        k->n_said++;
        if (k->say_error < 0)
                return k->say_error;

        if (mru)
                fake_manager(k, manager)->mru |= bit;
        else
                fake_manager(k, manager)->mru &= ~bit;
        return 0;
}

static int fake_read_managers(void *userdata, const PolicyLink *link, GArray *ret) {
        FakeKernel *k = userdata;

        g_array_append_vals(ret, k->managers->data, k->managers->len);
        return 0;
}

/* As policies do, only of those with another level than 0. */
static int fake_read_levels(void *userdata, const PolicyLink *link, GArray *ret) {
        FakeKernel *k = userdata;

        if (k->read_levels_error < 0)
                return k->read_levels_error;

        for (guint i = 0; i < k->levels->len; i++)
                if (g_array_index(k->levels, PolicyFileLevel, i).level != 0)
                        g_array_append_val(ret, g_array_index(k->levels, PolicyFileLevel, i));
        return 0;
}

static int fake_mark_restored(void *userdata, PolicyLink *link) {
        FakeKernel *k = userdata;

        if (k->mark_error < 0)
                return k->mark_error;

        get(userdata, link->cgroup_id)->restored = true;
        return 0;
}

void fake_kernel_init(FakeKernel *k) {
        *k = (FakeKernel) {
                .backend = {
                        .enumerate = fake_enumerate,
                        .open = fake_open,
                        .attach = fake_attach,
                        .update = fake_update,
                        .detach = fake_detach,
                        .read_counters = fake_read_counters,
                        .read_policy = fake_read_policy,
                        .set_class = fake_set_class,
                        .get_class = fake_get_class,
                        .set_level = fake_set_level,
                        .set_replacement = fake_set_replacement,
                        .read_managers = fake_read_managers,
                        .read_levels = fake_read_levels,
                        .mark_restored = fake_mark_restored,
                        .userdata = k,
                },
                .learned_fd = -EBADF,
                .managers = g_array_new(FALSE, FALSE, sizeof(PolicyManager)),
                .levels = g_array_new(FALSE, FALSE, sizeof(PolicyFileLevel)),
        };

        for (size_t i = 0; i < FAKE_CGROUPS; i++)
                k->cgroups[i].pipe[0] = k->cgroups[i].pipe[1] = -EBADF;
}

void fake_kernel_done(FakeKernel *k) {
        for (size_t i = 0; i < FAKE_CGROUPS; i++)
                hang_up(k->cgroups + i);
        g_array_unref(k->managers);
        g_array_unref(k->levels);
}

FakeCgroup *fake_cgroup_make(FakeKernel *k, uint64_t id) {
        FakeCgroup *c = get(k, id);

        c->exists = true;
        return c;
}

void fake_cgroup_remove(FakeKernel *k, uint64_t id) {
        get(k, id)->exists = false;
        hang_up(get(k, id));
}

void fake_cgroup_eject(FakeKernel *k, uint64_t id) {
        hang_up(get(k, id));
}
