/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What all libFuzzer targets here share. */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)                                                                        \
        do {                                                                                    \
                if (!(condition)) {                                                             \
                        fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
                        abort();                                                                \
                }                                                                               \
        } while (0)
