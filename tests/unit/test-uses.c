/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is told when the programs that watch uses cannot be loaded. */

#include "test-util.h"

#include <bpf/libbpf.h>

#include "daemon/replay/uses.h"

/* What the kernel, or libbpf, says. */
static int load_error;

int bpf_object__load_skeleton(struct bpf_object_skeleton *s) {
        errno = -load_error;
        return load_error;
}

static void assert_problem(const char *btf, int error, const char *part, const char *no_part) {
        g_autofree char *problem = NULL;
        UsesWatch *w = NULL;

        assert_int_equal(uses_watch_new(btf, &w, &problem), error);
        assert_null(w);
        if (!strstr(problem, part) || strstr(problem, no_part))
                fail_msg("no \"%s\", or a \"%s\", in \"%s\"", part, no_part, problem);
}

static void test_problems(void **state) {
        char *dir = test_dir_make(), *btf = test_file(dir, "vmlinux", "types");

        load_error = -ESRCH; /* also where there is no type information at all */
        assert_problem("/nowhere/btf", -ENOENT, "no type information (BTF) in '/nowhere/btf'", "6.12");
        assert_problem(btf, -ESRCH, "Linux 6.12 and later have them", "BTF");
        load_error = -EPERM;
        assert_problem(btf, -EPERM, "Operation not permitted", "6.12");
        load_error = -E2BIG;
        assert_problem(btf, -E2BIG, "Argument list too long", "6.12");

        free(btf);
        test_dir_remove(dir);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_problems),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
