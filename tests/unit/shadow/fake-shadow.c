/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Stands for cachebpf-shadow, and does what that should not: the name of the policy says what. */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/macro.h"
#include "shared/shadow-message.h"

static void answer(const char *how, uint32_t window) {
        ShadowAnswer a[2] = { { .window = window } };
        size_t size = sizeof(a[0]);

        if (streq(how, "short"))
                size = 3;
        else if (streq(how, "long"))
                size = sizeof(a);
        else if (streq(how, "liar"))
                a[0].misses = 1; /* of no requests */
        else if (streq(how, "other"))
                a[0].window += 7;
        else if (streq(how, "more"))
                a[0].requests = 100000;
        else if (streq(how, "leaves"))
                exit(3);
        if (write(STDIN_FILENO, a, size) < 0)
                exit(1);
        if (streq(how, "twice") && write(STDIN_FILENO, a, size) < 0)
                exit(1);
}

int main(int argc, char *argv[]) {
        ShadowMessage m;

        if (argc < 2 || streq(argv[1], "ends"))
                return 0;
        if (streq(argv[1], "chatter")) /* nobody asked */
                answer("", 0);
        while (streq(argv[1], "flood")) /* without end */
                answer("", 0);
        while (read(STDIN_FILENO, &m, sizeof(m)) > 0)
                if (m.kind == SHADOW_END_WINDOW && !streq(argv[1], "silent"))
                        answer(argv[1], m.n);
        return 0;
}
