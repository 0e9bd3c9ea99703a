/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include <systemd/sd-daemon.h>

#include "daemon/control/hold.h"
#include "daemon/core/manager.h"
#include "daemon/core/reconcile.h"
#include "daemon/dbus/bus.h"
#include "daemon/dbus/manager.h"
#include "daemon/dbus/unit.h"
#include "daemon/varlink/manager.h"
#include "daemon/varlink/monitor.h"
#include "shared/log.h"

#include "config.h"

/* What libbpf takes, and gives back, to read the kernel's types for each policy that it loads, and more. */
#define LOAD_MEMORY_MAX (32 << 20)

static int help(void) {
        printf("%s [OPTIONS...]\n"
               "\n"
               "Attach page cache eviction policies to the slices, services and scopes of systemd.\n"
               "\n"
               "  -h --help     Show this help\n"
               "     --version  Show the version\n"
               "\n"
               "See the cachebpfd.service(8) man page for details.\n",
               program_invocation_short_name);
        return 0;
}

static int parse_argv(int argc, char *argv[]) {
        enum {
                ARG_VERSION = 0x100,
        };
        static const struct option options[] = {
                { "help", no_argument, NULL, 'h' },
                { "version", no_argument, NULL, ARG_VERSION },
                {},
        };
        int c;

        while ((c = getopt_long(argc, argv, "h", options, NULL)) >= 0)
                switch (c) {
                case 'h':
                        return help();
                case ARG_VERSION:
                        printf("cachebpfd %s\n", PROJECT_VERSION);
                        return 0;
                default:
                        return -EINVAL;
                }

        if (optind < argc) {
                log_error("This program takes no arguments.");
                return -EINVAL;
        }

        return 1;
}

static void notify_status(Manager *m, const char *prefix) {
        ManagerCounts c = manager_count(m);

        if (!m->kernel.supported)
                (void) sd_notifyf(0, "%sSTATUS=Read-only: %s", prefix, m->kernel.reason);
        else if (!m->bus)
                (void) sd_notifyf(0, "%sSTATUS=Waiting for the system bus", prefix);
        else
                (void) sd_notifyf(0, "%sSTATUS=%u units configured, %u attached, %u failed", prefix,
                                  c.configured, c.attached, c.failed);
}

/* After the reconcile that follows the start, or a reload; harmless at other times. */
static void became_ready(Manager *m) {
        /* Not earlier: who asks now gets the truth. */
        if (!m->varlink && manager_varlink_start(m) < 0) {
                (void) sd_event_exit(m->event, EXIT_FAILURE);
                return;
        }

        manager_bus_take_name(m);
        notify_status(m, !m->ready || m->reloading ? "READY=1\n" : "");
        if (m->reloading)
                manager_bus_policies_changed(m);
        m->ready = true;
        m->reloading = false;
}

static void unit_changed(Unit *u) {
        Manager *m = u->manager;

        unit_bus_changed(u);
        monitor_unit_changed(u);
        m->counts_changed = true;
}

static void unit_removed(Unit *u) {
        unit_bus_removed(u);
        monitor_unit_changed(u);
        u->manager->counts_changed = true;
}

/* Policies that are loaded one after the other use the same memory, which goes back to the kernel in
 * reconciled(): fresh pages for each took a fifth of the time. */
static void keep_load_memory(void) {
        (void) mallopt(M_MMAP_THRESHOLD, LOAD_MEMORY_MAX);
        (void) mallopt(M_TRIM_THRESHOLD, LOAD_MEMORY_MAX);
}

/* Once for all units that changed: counting takes a look at each. */
static void reconciled(Manager *m) {
        if (!m->counts_changed)
                return;

        (void) malloc_trim(0);
        m->counts_changed = false;
        manager_bus_counts_changed(m);
        if (m->ready)
                notify_status(m, "");
}

static int on_sighup(sd_event_source *s, const struct signalfd_siginfo *si, void *userdata) {
        Manager *m = ASSERT_PTR(userdata);
        struct timespec ts;

        assert(clock_gettime(CLOCK_MONOTONIC, &ts) == 0);
        (void) sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu\nSTATUS=Reading the configuration again",
                          (unsigned long long) ts.tv_sec * USEC_PER_SEC + ts.tv_nsec / 1000);

        m->reloading = true;
        if (manager_reload(m) < 0 || !m->bus)
                became_ready(m);

        return 0;
}

static int run(void) {
        _cleanup_(policy_bpf_backend_freep) PolicyBackend *backend = NULL;
        _cleanup_(sd_event_unrefp) sd_event *event = NULL;
        _cleanup_(manager_freep) Manager *m = NULL;
        int r;

        r = sd_event_default(&event);
        if (r >= 0)
                r = sd_event_set_signal_exit(event, true);
        if (r >= 0)
                r = sd_event_set_watchdog(event, true);
        if (r < 0)
                return log_error_errno(r, "Cannot make the event loop: %m");

        backend = policy_bpf_backend_new("/sys/fs/bpf/cachebpf", manager_default_paths.kernel.cgroup);
        if (!backend)
                return log_oom();

        r = manager_new(&manager_default_paths, event, backend, &m);
        if (r < 0)
                return log_error_errno(r, "Cannot make the manager: %m");

        r = sd_event_add_signal(event, NULL, SIGHUP | SD_EVENT_SIGNAL_PROCMASK, on_sighup, m);
        if (r < 0)
                return log_error_errno(r, "Cannot handle SIGHUP: %m");

        m->unit_changed = unit_changed;
        m->unit_removed = unit_removed;
        m->reconciled = reconciled;
        m->became_ready = became_ready;

        r = manager_load(m);
        if (r < 0)
                return r;

        r = manager_bus_connect(m);
        if (r < 0)
                return r;

        r = sd_event_loop(event);
        if (r < 0)
                log_error_errno(r, "The event loop failed: %m");

        (void) sd_notify(0, "STOPPING=1\nSTATUS=Stopping, attached policies go on");
        /* Holds end: those of varlink have already,
         * with their connections. The configuration counts again. */
        holds_end_all(m);
        manager_reconcile(m);
        manager_varlink_stop(m);
        manager_bus_disconnect(m);
        return r;
}

int main(int argc, char *argv[]) {
        int r;

        log_set_target(LOG_TARGET_AUTO);
        keep_load_memory();

        r = parse_argv(argc, argv);
        if (r <= 0)
                return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;

        r = run();
        return r != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
