/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <errno.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "shared/macro.h"
#include "shared/string-util.h"
#include "terminal.h"

static struct {
        bool initialized;
        bool interactive;
        bool colors;
        bool utf8;
        size_t columns;
} terminal;

static const char *const sequences[_COLOR_MAX] = {
        [COLOR_NONE]    = "",
        [COLOR_GOOD]    = "\x1b[0;1;32m",
        [COLOR_WARNING] = "\x1b[0;1;33m",
        [COLOR_BAD]     = "\x1b[0;1;31m",
        [COLOR_DIM]     = "\x1b[0;90m",
        [COLOR_BOLD]    = "\x1b[0;1;39m",
        [COLOR_HEADER]  = "\x1b[0;4m",
};

static bool terminal_is_dumb(void) {
        const char *e = getenv("TERM");

        return !e || streq(e, "dumb");
}

/* $SYSTEMD_COLORS is a boolean, or names a depth: 16, 256, 24bit, each possibly after "auto-" (only on a
 * terminal). */
static bool decide_colors(bool interactive) {
        const char *wanted = getenv("SYSTEMD_COLORS");
        bool able = interactive && !terminal_is_dumb();

        if (isempty(wanted))
                return able && isempty(getenv("NO_COLOR"));

        return startswith(wanted, "auto-") ? able : parse_boolean(wanted) != 0;
}

static size_t decide_columns(bool interactive) {
        struct winsize size = {};
        uint64_t n;

        if (!interactive)
                return SIZE_MAX;

        if (safe_atou64(getenv("COLUMNS"), &n) >= 0 && n > 0 && n <= USHRT_MAX)
                return n;

        if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) >= 0 && size.ws_col > 0)
                return size.ws_col;

        return 80; /* a serial line that does not know its size */
}

void terminal_init(void) {
        if (terminal.initialized)
                return;

        terminal.interactive = isatty(STDOUT_FILENO);
        terminal.colors = decide_colors(terminal.interactive);
        terminal.columns = decide_columns(terminal.interactive);

        (void) setlocale(LC_ALL, "");
        terminal.utf8 = streq(nl_langinfo(CODESET), "UTF-8");

        terminal.initialized = true;
}

bool terminal_interactive(void) {
        terminal_init();
        return terminal.interactive;
}

bool terminal_colors(void) {
        terminal_init();
        return terminal.colors;
}

bool terminal_utf8(void) {
        terminal_init();
        return terminal.utf8;
}

size_t terminal_columns(void) {
        terminal_init();
        return terminal.columns;
}

const char *color_on(TerminalColor color) {
        assert(color >= 0 && color < _COLOR_MAX);

        return terminal_colors() ? sequences[color] : "";
}

const char *color_off(TerminalColor color) {
        assert(color >= 0 && color < _COLOR_MAX);

        return terminal_colors() && color != COLOR_NONE ? "\x1b[0m" : "";
}
