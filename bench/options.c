/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>

#include "bench-util.h"
#include "options.h"

int option_number(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *ret) {
        unsigned long long v;
        char *end;

        errno = 0;
        v = strtoull(text, &end, 10);
        if (errno != 0 || end == text || *end != '\0' || *text == '-' || v < min || v > max)
                return log_error(-EINVAL, "--%s=%s: not a number from %" PRIu64 " to %" PRIu64,
                                 option, text, min, max);

        *ret = v;
        return 0;
}

int option_theta(const char *text, double *ret) {
        char *end;
        double v;

        errno = 0;
        v = strtod(text, &end);
        if (errno != 0 || end == text || *end != '\0' || !(v > 0.0 && v < 1.0))
                return log_error(-EINVAL, "--zipf=%s: the skew is a number between 0 and 1", text);

        *ret = v;
        return 0;
}
