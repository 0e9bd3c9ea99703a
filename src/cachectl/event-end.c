/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <signal.h>
#include <time.h>

#include "event-end.h"
#include "shared/macro.h"

int event_new_with_end(uint64_t duration, sd_event **ret) {
        _cleanup_(sd_event_unrefp) sd_event *event = NULL;
        int r;

        /* without a handler, a source ends the loop with 0 */
        r = sd_event_new(&event);
        if (r >= 0)
                r = sd_event_add_signal(event, NULL, SIGINT | SD_EVENT_SIGNAL_PROCMASK, NULL, NULL);
        if (r >= 0)
                r = sd_event_add_signal(event, NULL, SIGTERM | SD_EVENT_SIGNAL_PROCMASK, NULL, NULL);
        if (r >= 0 && duration != UINT64_MAX)
                r = sd_event_add_time_relative(event, NULL, CLOCK_MONOTONIC, duration, 0, NULL, NULL);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(event);
        return 0;
}
