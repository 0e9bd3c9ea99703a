/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What managers say, and the daemon for them, on its way into the kernel, which is played. The first
 * argument is the directory of the policies as built. */

#include "test-util.h"

#include <stdio.h>

#include "config/catalog.h"
#include "daemon/kernel/backend.h"
#include "played-kernel.h"
#include "shared/cleanup.h"
#include "shared/log.h"

static const char *objects;
static char *dir;
static GPtrArray *policies;
static PolicyBackend *backend;

static int setup(void **state) {
        const char *dirs[] = { objects, NULL };

        log_set_target(LOG_TARGET_NULL);
        dir = test_dir_make();
        policies = policies_load(dirs);
        return 0;
}

static int teardown(void **state) {
        g_ptr_array_unref(policies);
        test_dir_remove(dir);
        return 0;
}

/* Each test has pins of its own. */
static int begin(void **state) {
        g_autofree char *root = g_build_filename(dir, "pins-XXXXXX", NULL);

        assert_non_null(mkdtemp(root));
        played_kernel_reset();
        backend = policy_bpf_backend_new(root, "/nonexistent");
        *state = g_steal_pointer(&root);
        return 0;
}

static int end(void **state) {
        backend = policy_bpf_backend_free(backend);
        g_free(*state);
        return 0;
}

static const Policy *policy(const char *name) {
        const Policy *p = policies_find(policies, name);

        assert_non_null(p);
        assert_null(p->problem);
        return p;
}

static PolicyLink *attach(const char *name) {
        _cleanup_free_ char *reason = NULL;
        PolicyConfig c = {};
        PolicyLink *link = NULL;

        assert_int_equal(backend->attach(backend->userdata, policy(name), &c, 42, &link, &reason), 0);
        return link;
}

static int update(PolicyLink *link, const char *name, char **ret_reason) {
        PolicyConfig c = {};

        return backend->update(backend->userdata, link, policy(name), &c, ret_reason);
}

static int open_link(PolicyLink **ret) {
        return backend->open(backend->userdata, 42, ret);
}

static bool exists(const char *root, const char *name) {
        g_autofree char *path = g_build_filename(root, name, NULL);

        return access(path, F_OK) >= 0;
}

static const PolicyFile file = { .ino = 7, .dev = 2049, .generation = 11 };

static void assert_said(unsigned i, uint64_t manager, uint64_t ino, int32_t advice) {
        assert_true(i < kernel.n_said);
        assert_int_equal(kernel.said[i].manager, manager);
        assert_int_equal(kernel.said[i].ino, ino);
        assert_int_equal(kernel.said[i].generation, ino ? 11 : 0);
        assert_int_equal(kernel.said[i].advice, advice);
        assert_int_equal(kernel.said[i].unused, 0);
}

static void test_say(void **state) {
        _cleanup_(policy_link_freep) PolicyLink *link = attach("acfs"), *adopted = NULL;
        _cleanup_(policy_link_freep) PolicyLink *deaf = NULL;

        assert_true(policy_link_listens(link));
        assert_true(exists(*state, "42/say"));
        assert_int_equal(open_link(&adopted), 0);
        assert_true(policy_link_listens(adopted));

        assert_int_equal(backend->set_level(backend->userdata, link, 5, &file, -1), 0);
        assert_int_equal(backend->set_level(backend->userdata, adopted, 5, &file, 3), 0);
        assert_int_equal(backend->set_replacement(backend->userdata, link, 6, 0, true), 0);
        assert_int_equal(backend->set_replacement(backend->userdata, link, 6, 3, false), 0);
        assert_said(0, 5, 7, 0x43420100);
        assert_said(1, 5, 7, 0x43420140);
        assert_said(2, 6, 0, 0x43420311);
        assert_said(3, 6, 0, 0x43420340);

        kernel.n_busy = 2;
        assert_int_equal(backend->set_level(backend->userdata, link, 5, &file, 1), 0);
        kernel.n_busy = 1000;
        assert_int_equal(backend->set_level(backend->userdata, link, 5, &file, 1), -EAGAIN);
        kernel.n_busy = 0;
        kernel.answer = -ENOSPC;
        assert_int_equal(backend->set_level(backend->userdata, link, 5, &file, 1), -ENOSPC);

        assert_int_equal(backend->detach(backend->userdata, link), 0);
        deaf = attach("lfu");
        assert_false(policy_link_listens(deaf));
        assert_false(exists(*state, "42/say"));
}

static void play_managers(void) {
        kernel.managers[0] = (struct PlayedManager) {
                .id = 5, .slot = 3, .mru = 1 | 1 << 4, .nr_files = 1, .revoked = 1,
                .nr_decisions = 300, .nr_wrong = 80,
        };
        kernel.managers[1] = (struct PlayedManager) { .id = 6, .slot = 64 }; /* not yet */
        kernel.n_managers = 2;
        kernel.priorities[0] = (struct PlayedPriority) {
                .ino = 7, .dev = 2049, .generation = 11, .manager = 5, .level = 4,
        };
        /* of a later policy, which has more levels */
        kernel.priorities[1] = (struct PlayedPriority) { .ino = 8, .manager = 5, .level = 5 };
        kernel.n_priorities = 2;
}

static void test_read_managers(void **state) {
        _cleanup_(policy_link_freep) PolicyLink *link = attach("acfs");
        g_autoptr(GArray) managers = g_array_new(FALSE, FALSE, sizeof(PolicyManager)),
                          levels = g_array_new(FALSE, FALSE, sizeof(PolicyFileLevel));
        const PolicyManager *m;
        const PolicyFileLevel *l;

        play_managers();
        assert_int_equal(backend->read_managers(backend->userdata, link, managers), 0);
        assert_int_equal(managers->len, 1);
        m = &g_array_index(managers, PolicyManager, 0);
        assert_int_equal(m->id, 5);
        assert_int_equal(m->mru, 1 | 1 << 4);
        assert_true(m->revoked);
        assert_int_equal(m->n_files, 1);
        assert_int_equal(m->n_decisions, 300);
        assert_int_equal(m->n_wrong, 80);
        assert_int_equal(m->pages[0], 115);
        assert_int_equal(m->pages[3], 0); /* -1 */
        assert_int_equal(m->pages[4], 119);

        assert_int_equal(backend->read_levels(backend->userdata, link, levels), 0);
        assert_int_equal(levels->len, 1);
        l = &g_array_index(levels, PolicyFileLevel, 0);
        assert_int_equal(l->manager, 5);
        assert_memory_equal(&l->file, &file, sizeof(file));
        assert_int_equal(l->level, 3);

        /* Somebody else's maps. */
        kernel.map_differs = true;
        assert_int_equal(backend->read_managers(backend->userdata, link, managers), -EMEDIUMTYPE);
        assert_int_equal(backend->read_levels(backend->userdata, link, levels), -EMEDIUMTYPE);
        assert_int_equal(managers->len, 1);
}

/* The policy that takes the place of another one knows what that was told before it runs. */
static void test_update_keeps_advice(void **state) {
        _cleanup_(policy_link_freep) PolicyLink *link = attach("acfs");
        _cleanup_free_ char *reason = NULL;

        play_managers();
        assert_int_equal(update(link, "acfs", &reason), 0);
        assert_int_equal(kernel.n_said_before, 3);
        assert_int_equal(kernel.n_said, 3);
        assert_said(0, 5, 0, 0x43420301);
        assert_said(1, 5, 0, 0x43420341);
        assert_said(2, 5, 7, 0x43420140);
        assert_true(policy_link_listens(link));

        /* Others do not listen. */
        assert_int_equal(update(link, "lfu", &reason), 0);
        assert_int_equal(kernel.n_said, 3);
        assert_false(policy_link_listens(link));
        assert_false(exists(*state, "42/say"));
        assert_int_equal(update(link, "acfs", &reason), 0);
        assert_int_equal(kernel.n_said, 3);
        assert_true(policy_link_listens(link));
}

int main(int argc, char *argv[]) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        const struct CMUnitTest tests[] = {
                TEST(test_say),
                TEST(test_read_managers),
                TEST(test_update_keeps_advice),
        };

        if (argc != 2) {
                fprintf(stderr, "Usage: %s OBJECTS\n", argv[0]);
                return 2;
        }
        objects = argv[1];

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, setup, teardown);
}
