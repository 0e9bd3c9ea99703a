/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs a policy on a small cache, for cachebpfd:
 *
 *      cachebpf-shadow POLICY PAGES SCALE [NAME=VALUE…]
 *
 * What it stands for is SCALE times as large. Standard input is a socket, see shadow-message.h. What is
 * wrong is said on standard error. */

#include <glib.h>
#include <stdio.h>
#include <unistd.h>

#include "pages.h"
#include "sandbox.h"
#include "shared/shadow-message.h"
#include "sim/host-state.h"
#include "sim/run.h"

static void fail(const char *message) {
        (void) dprintf(STDERR_FILENO, "cachebpf-shadow: %s\n", message);
        _exit(EXIT_FAILURE);
}

_printf_(1, 2) static void fail_with(const char *format, ...) {
        char message[256];
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(message, sizeof(message), format, ap);
        va_end(ap);
        fail(message);
}

/* ---- the command line */

static uint32_t parse_number(const char *text, uint32_t max) {
        guint64 n;

        if (!g_ascii_string_to_unsigned(text, 10, 1, max, &n, NULL))
                fail_with("'%s' is no number from 1 to %u", text, max);
        return (uint32_t) n;
}

static void set_option(const SimPolicy *policy, const char *option) {
        const char *equals = strchr(option, '=');
        g_autofree char *name = g_strndup(option, equals ? equals - option : 0);
        const SimTunable *t = sim_tunable_find(policy, name);
        gint64 value;

        if (!t || !g_ascii_string_to_signed(equals + 1, 10, INT64_MIN, INT64_MAX, &value, NULL) ||
            sim_tunable_set(t, value) < 0)
                fail_with("policy '%s' has no option '%s'", policy->name, option);
}

static void begin(char *argv[]) {
        const SimPolicy *policy = sim_policy_find(argv[1]);
        uint32_t capacity = parse_number(argv[2], SHADOW_CAPACITY_MAX);
        uint32_t scale = parse_number(argv[3], UINT32_MAX);
        int r;

        if (!policy)
                fail_with("there is no policy '%s'", argv[1]);
        for (char **option = argv + 4; *option; option++)
                set_option(policy, *option);

        r = pages_begin(policy, capacity, scale, sim_clamp_batch(CACHEBPF_BATCH, capacity));
        if (r < 0)
                fail_with("policy '%s' refuses to start: %s", policy->name, strerror(-r));
}

/* ---- messages */

static void take_events(const ShadowMessage *m, ShadowAnswer *answer) {
        for (uint32_t i = 0; i < m->n; i++) {
                if (m->events[i].gone) {
                        pages_remove(m->events[i].key);
                        continue;
                }
                answer->requests++;
                answer->misses += pages_use(m->events[i].key);
        }
}

static void end_window(const ShadowMessage *m, ShadowAnswer *answer) {
        answer->window = m->n;
        if (write(STDIN_FILENO, answer, sizeof(*answer)) != sizeof(*answer))
                fail("nobody wants the answer");
        *answer = (ShadowAnswer) {};
}

static void take_message(const ShadowMessage *m, size_t size, ShadowAnswer *answer) {
        const size_t head = offsetof(ShadowMessage, events);

        if (size >= head && m->kind == SHADOW_EVENTS && m->n <= SHADOW_EVENTS_MAX &&
            size == head + m->n * sizeof(m->events[0]))
                take_events(m, answer);
        else if (size == head && m->kind == SHADOW_END_WINDOW)
                end_window(m, answer);
        else
                fail("this message makes no sense");
}

int main(int argc, char *argv[]) {
        static ShadowMessage m;
        ShadowAnswer answer = {};
        ssize_t n;
        int r;

        if (argc < 4)
                fail("usage: cachebpf-shadow POLICY PAGES SCALE [NAME=VALUE...]");

        r = sandbox_enter();
        if (r < 0)
                fail_with("cannot give up what it may do: %s", strerror(-r));
        host_set_fail_handler(fail);
        begin(argv);

        while ((n = read(STDIN_FILENO, &m, sizeof(m))) > 0)
                take_message(&m, (size_t) n, &answer);
        if (n < 0)
                fail_with("cannot read: %s", strerror(errno));
        _exit(EXIT_SUCCESS); /* cachebpfd wants no more of it, or is gone */
}
