/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What policies learned is forgotten; who waits for whom, and for how long. */

#include "learning-fixture.h"

#include <unistd.h>

#include "daemon/control/request.h"
#include "shared/kept-file.h"
#include "shared/learned-file.h"

/* ---- what is forgotten */

typedef struct Forgotten {
        unsigned n;
        int error;
        char *file;
        uint64_t learned;  /* what was in the map at that moment */
} Forgotten;

static void on_forgotten(int error, const char *file, void *userdata) {
        Forgotten *f = userdata;

        f->n++;
        f->error = error;
        g_set_str(&f->file, file);
        f->learned = learned();
}

static char *path_of_new(const char *unit) {
        g_autofree char *name = kept_file_name(unit), *new = g_strconcat(".new-", name, NULL);

        return g_build_filename(learning_dir, new, NULL);
}

static void test_forget(void **state) {
        _cleanup_free_ char *path = path_of("a.slice"), *new = path_of_new("a.slice");
        Forgotten f = {}, nobody = {};

        (void) start_unit(1);
        learn(6);
        save_now();
        free(test_file(learning_dir, ".new-a.slice", "half a file"));
        learning_minute(learning); /* is not to bring it back */
        learning_forget(learning, "a.slice", on_forgotten, &f);
        assert_int_equal(f.n, 0);
        settle();
        assert_int_equal(f.n, 1);
        assert_int_equal(f.error, 0);
        assert_string_equal(f.file, path);
        assert_int_equal(f.learned, 0);
        assert_int_equal(written("a.slice"), 0);
        assert_int_equal(access(new, F_OK), -1);

        learning_forget(learning, "a.slice", on_forgotten, &nobody);
        learning_disown(learning, &nobody);
        learning_forget(learning, "a.slice", on_forgotten, &f);
        settle();
        assert_int_equal(nobody.n, 0);
        assert_int_equal(f.n, 2);
        assert_null(f.file);

        /* each who asks has an answer, even if the first one is only being served then */
        learning_forget(learning, "a.slice", on_forgotten, &f);
        run();
        learning_forget(learning, "a.slice", on_forgotten, &nobody);
        settle();
        assert_int_equal(f.n, 3);
        assert_int_equal(nobody.n, 1);

        save_now();
        assert_true(written("a.slice") > 0);
        played->error = -EIO;
        played->write_error = -EIO;
        learning_forget(learning, "a.slice", on_forgotten, &f);
        settle();
        assert_int_equal(f.error, -EIO);
        assert_null(f.file);
        assert_int_equal(n_warnings, 0);
}

static unsigned n_replies;
static int last_error;
static uint64_t learned_then;

static int on_reply(Control *c, sd_bus_message *msg, sd_varlink *link, const ConfigReply *reply) {
        n_replies++;
        last_error = reply->outcome->error;
        learned_then = learned();
        return 0;
}

static void ask_to_forget(const char *unit) {
        unsigned before = n_replies;

        config_request(fixture->control,
                       &(const ConfigRequestArguments) {
                               .change.unit = unit,
                               .forget = true,
                               .subject = { .pidfd = -EBADF },
                               .reply = on_reply,
                       });
        settle();
        assert_int_equal(n_replies, before + 1);
}

/* A client has its answer when nothing is left. A name may be too long for a file of settings. */
static void test_request(void **state) {
        g_autofree char *name = g_strnfill(255 - STRLEN(".slice"), 'x'),
                        *longest = g_strconcat(name, ".slice", NULL),
                        *longer = g_strconcat("x", longest, NULL);

        (void) start_unit(1);
        learn(6);
        save_now();
        ask_to_forget("a.slice");
        assert_int_equal(last_error, 0);
        assert_int_equal(learned_then, 0);
        assert_int_equal(written("a.slice"), 0);

        (void) add_unit(longest, "lfu", 2);
        settle();
        save_now();
        assert_true(written(longest) > 0);
        ask_to_forget(longest);
        assert_int_equal(last_error, 0);
        assert_int_equal(written(longest), 0);

        ask_to_forget(longer);
        assert_int_equal(last_error, -EINVAL);
}

/* ---- a disk that does not answer */

/* A child reads the map, and does not return from that. */
static void hang(void) {
        played->n_hangs = 1;
        learning_minute(learning);
        while (played->n_hangs > 0)
                assert_true(sd_event_run(fixture->event, USEC_PER_MSEC) >= 0);
}

static void wait_until_restored(Unit *u) {
        for (unsigned i = 0; i < 100 && !(u->link && u->link->restored); i++)
                assert_true(sd_event_run(fixture->event, USEC_PER_SEC / 10) >= 0);
        assert_true(u->link && u->link->restored);
}

/* Who starts does not wait for what is saved of others; not even for its own save to come after theirs. */
static void test_order(void **state) {
        Unit *b;

        (void) start_unit(1);
        learn(1);
        hang();
        b = add_unit("b.slice", "lfu", 2);
        wait_until_restored(b);
        learn(7);
        fake_cgroup_remove(&fixture->kernel, 2);
        set_cgroup(b, 0);
        run();
        assert_int_equal(written("b.slice"), 0);
        new_map();
        set_cgroup(b, 3);
        run();
        wait_until_restored(b);
        assert_true(written("b.slice") > 0);
        assert_int_equal(learned(), 7);
}

/* What hangs for more than a minute is given up, with one message, and the next minute tries again. */
static void test_hang(void **state) {
        Unit *u = start_unit(1);

        learn(1);
        hang();
        learning_minute(learning);
        assert_int_equal(n_warnings, 0);
        learning_minute(learning);
        assert_int_equal(n_warnings, 1);
        assert_non_null(strstr(warning->str, "takes more than a minute"));
        settle();
        assert_int_equal(n_warnings, 1);
        save_now();
        assert_true(written("a.slice") > 0);
        assert_true(u->link->restored);
}

/* The policy is replaced, or what it learned forgotten, before that was restored. */
static void test_overtaken(void **state) {
        Forgotten f = {};
        Unit *u = start_unit(1);

        learn(6);
        fake_cgroup_remove(&fixture->kernel, 1);
        set_cgroup(u, 0);
        settle();

        /* the map of the policy that is replaced is filled, while that of the next is empty */
        new_map();
        played->holds_writes = true;
        set_cgroup(u, 2);
        run();
        new_map();
        set(u, "CachePolicyOptions", "nr_scan=64", 8);
        run();
        assert_false(u->link->restored);
        played->holds_writes = false;
        settle();
        assert_int_equal(fixture->kernel.n_update, 1);
        assert_true(u->link->restored);
        assert_int_equal(learned(), 6);

        fake_cgroup_remove(&fixture->kernel, 2);
        set_cgroup(u, 0);
        settle();
        new_map();
        set_cgroup(u, 3);
        run();
        learning_forget(learning, "a.slice", on_forgotten, &f);
        settle();
        assert_int_equal(f.n, 1);
        free(f.file);
        assert_true(u->link->restored);
        assert_int_equal(learned(), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                LEARNING_TEST(test_forget),
                LEARNING_TEST(test_request),
                LEARNING_TEST(test_order),
                LEARNING_TEST(test_hang),
                LEARNING_TEST(test_overtaken),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
