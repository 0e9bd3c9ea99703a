/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "harness.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <systemd/sd-varlink.h>
#include <unistd.h>

char *cachectl_path;
char harness_directory[] = "/tmp/test-cachectl-XXXXXX";

static char *manager_path, *data_path, *address;
static pid_t manager_pid;

void stop_manager(void) {
        if (manager_pid > 0)
                stop_program(manager_pid);
        manager_pid = 0;
        (void) unlink(address);
}

void play_file(const char *path) {
        _cleanup_(sd_varlink_close_unrefp) sd_varlink *link = NULL;

        stop_manager();

        manager_pid = start_program((char *const[]) { manager_path, address, (char *) path, NULL });
        for (unsigned i = 0; sd_varlink_connect_address(&link, address) < 0; i++) {
                if (i > 1000)
                        errx(EXIT_FAILURE, "fake-manager does not come up with %s", path);
                (void) usleep(10 * USEC_PER_MSEC);
        }
}

void play(const char *document) {
        _cleanup_free_ char *path = NULL;

        assert_true(asprintf(&path, "%s/%s.json", data_path, document) > 0);
        play_file(path);
}

void run_with(RunFlags flags, Outcome *ret, const char *const *arguments) {
        char *argv[16] = { cachectl_path };

        for (size_t i = 0; arguments[i]; i++) {
                assert_true(i + 2 < ELEMENTSOF(argv));
                argv[i + 1] = (char *) arguments[i];
        }

        run_program(argv, flags, ret);
}

sd_json_variant *parse(const char *text) {
        sd_json_variant *v;

        assert_int_equal(sd_json_parse(text, 0, &v, NULL, NULL), 0);
        return v;
}

const char *string_at(sd_json_variant *array, size_t i, const char *key) {
        return sd_json_variant_string(sd_json_variant_by_key(sd_json_variant_by_index(array, i), key));
}

int harness_setup(void **state) {
        if (!mkdtemp(harness_directory) || asprintf(&address, "%s/socket", harness_directory) < 0)
                return -1;

        (void) unsetenv("SYSTEMD_COLORS");
        (void) unsetenv("NO_COLOR");
        (void) unsetenv("COLUMNS");
        return setenv("CACHEBPF_VARLINK", address, true);
}

int harness_teardown(void **state) {
        stop_manager();
        (void) rmdir(harness_directory);
        free(address);
        return 0;
}

void harness_init(int argc, char *argv[]) {
        if (argc != 4)
                errx(EXIT_FAILURE, "Usage: %s CACHECTL FAKE-MANAGER DATA-DIRECTORY", argv[0]);

        cachectl_path = argv[1];
        manager_path = argv[2];
        data_path = argv[3];
}
