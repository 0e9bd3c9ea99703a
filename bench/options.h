/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

/* Values of options on the command line: 0, or -EINVAL with a message that names the option. */
int option_number(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *ret);

/* The skew of a Zipfian, --zipf=. */
int option_theta(const char *text, double *ret);
