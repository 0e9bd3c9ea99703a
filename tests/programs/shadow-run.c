/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs the shadows of a control group that has a policy:
 *
 *      shadow-run CGROUP PAGES POLICY…
 *
 * A line of input ends a window. The answer is a line: one page in how many is in the sample, requests, what
 * was lost, and for each policy its misses, with a '?' if they do not count; or "reseeded".
 * It ends with its input. */

#include <error.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/auto/shadows.h"
#include "shared/log.h"

static const KernelPaths paths = { .sysfs = "/sys/kernel/cachebpf", .cgroup = "/sys/fs/cgroup" };

static size_t n_candidates;

static void on_window(Shadows *s, const ShadowsWindow *w, void *userdata) {
        printf("%" PRIu32 " %" PRIu64 " %" PRIu64, w->one_in, w->sampled, w->lost);
        for (size_t i = 0; i < n_candidates; i++)
                printf(" %" PRIu64 "%s", w->candidates[i].misses, w->candidates[i].valid ? "" : "?");
        printf("\n");
        (void) fflush(stdout);
}

static void on_reseeded(Shadows *s, void *userdata) {
        printf("reseeded\n");
        (void) fflush(stdout);
}

static int on_input(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        char line[64];

        if (read(fd, line, sizeof(line)) <= 0)
                return sd_event_exit(sd_event_source_get_event(source), 0);
        return shadows_end_window(userdata);
}

int main(int argc, char *argv[]) {
        static const ShadowsHandlers handlers = { .window = on_window, .reseeded = on_reseeded };
        ShadowCandidate candidates[SHADOWS_CANDIDATES_MAX] = {};
        g_autofree char *directory = NULL;
        sd_event *event = NULL;
        ShadowHost *host = NULL;
        Shadows *shadows = NULL;
        struct stat st;
        int r;

        if (argc < 4 || argc > 3 + (int) SHADOWS_CANDIDATES_MAX)
                error(2, 0, "usage: shadow-run CGROUP PAGES POLICY...");
        n_candidates = (size_t) argc - 3;
        for (size_t i = 0; i < n_candidates; i++)
                candidates[i].policy = argv[3 + i];

        log_set_target(LOG_TARGET_CONSOLE);
        directory = g_strconcat(paths.cgroup, argv[1], NULL);
        if (stat(directory, &st) < 0)
                error(EXIT_FAILURE, errno, "%s", directory);

        r = sd_event_new(&event);
        if (r >= 0)
                r = shadow_host_new(event, &paths, &host);
        if (r >= 0)
                r = shadows_new(host, argv[1], argv[1], st.st_ino, strtoul(argv[2], NULL, 10), candidates,
                                n_candidates, &handlers, NULL, &shadows);
        if (r >= 0)
                r = sd_event_add_io(event, NULL, STDIN_FILENO, EPOLLIN, on_input, shadows);
        if (r < 0)
                error(EXIT_FAILURE, -r, "cannot begin");

        printf("begun\n");
        (void) fflush(stdout);
        r = sd_event_loop(event);
        shadows_free(shadows);
        shadow_host_free(host);
        sd_event_unref(event);
        return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
