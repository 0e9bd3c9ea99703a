/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Runs cachectl against fake-manager, which plays the documents in data/. Test programs take all three:
 *
 *      test-cachectl-... CACHECTL FAKE-MANAGER DATA-DIRECTORY */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <systemd/sd-json.h>

#include "cachectl/exit-codes.h"
#include "run-program.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/string-util.h"

extern char *cachectl_path;
extern char harness_directory[];

int harness_setup(void **state);
int harness_teardown(void **state);

/* Takes the arguments of the test program. */
void harness_init(int argc, char *argv[]);

/* Plays a document of data/, or any, until the next is asked for. */
void play(const char *document);
void play_file(const char *path);

/* Nobody listens any more. */
void stop_manager(void);

void run_with(RunFlags flags, Outcome *ret, const char *const *arguments);

#define run(ret, ...) run_with(0, ret, (const char *const[]) { __VA_ARGS__, NULL })
#define run_terminal(ret, ...) run_with(RUN_TERMINAL, ret, (const char *const[]) { __VA_ARGS__, NULL })

sd_json_variant *parse(const char *text);

/* The string at [i].key of an array of objects. */
const char *string_at(sd_json_variant *array, size_t i, const char *key);

#define assert_contains(text, part)                                     \
        do {                                                            \
                if (!strstr(text, part))                                \
                        fail_msg("no \"%s\" in:\n%s", part, text);      \
        } while (false)

#define assert_lacks(text, part)                                        \
        do {                                                            \
                if (strstr(text, part))                                 \
                        fail_msg("\"%s\" in:\n%s", part, text);         \
        } while (false)

/* It is one line, and ends like one. */
#define assert_one_line(text) assert_ptr_equal(strchr(text, '\n'), (text) + strlen(text) - 1)
