/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <glib.h>
#include <inttypes.h>

#include "format-time.h"
#include "model.h"
#include "output.h"
#include "replay.h"
#include "shared/cleanup.h"

#define MIB (1024.0 * 1024.0)

static void _printf_(2, 3) add_part(GString *text, const char *format, ...) {
        va_list ap;

        if (text->len > 0)
                g_string_append(text, "; ");
        va_start(ap, format);
        g_string_append_vprintf(text, format, ap);
        va_end(ap);
}

static void add_read(GString *text, const ReplayInfo *x, uint64_t now) {
        _cleanup_free_ char *when = format_relative(x->read_usec, now);

        add_part(text, "%.1f MiB in %" PRIu64 " ranges read ahead %s", (double) x->read_bytes / MIB,
                 x->read_ranges, when);
}

static void add_recorded(GString *text, const ReplayInfo *x, uint64_t now) {
        _cleanup_free_ char *when = format_relative(x->recorded_usec, now);

        add_part(text, "recorded %s, %.1f MiB in %" PRIu64 " ranges", when, (double) x->recorded_bytes / MIB,
                 x->recorded_ranges);
}

static void add_recording(GString *text, const ReplayInfo *x, uint64_t now) {
        uint64_t left = x->recording_until_usec > now ? x->recording_until_usec - now : 0;

        add_part(text, "recording, %" PRIu64 " s left", (left + USEC_PER_SEC - 1) / USEC_PER_SEC);
}

int replay_add_details(sd_json_variant *replay, Table *details) {
        _cleanup_gstring_ GString *text = g_string_new(NULL);
        uint64_t now = (uint64_t) g_get_real_time();
        ReplayInfo x;
        int r;

        r = replay_info_parse(replay, &x);
        if (r < 0)
                return r;

        if (x.read_usec != UINT64_MAX)
                add_read(text, &x, now);
        if (x.recording_until_usec != UINT64_MAX)
                add_recording(text, &x, now);
        else if (x.recorded_usec != UINT64_MAX)
                add_recorded(text, &x, now);
        if (x.reason)
                add_part(text, "%s", x.reason);

        details_add_colored(details, "Replay", x.reason ? COLOR_WARNING : COLOR_NONE,
                            text->len > 0 ? text->str : "nothing is recorded yet");
        return 0;
}
