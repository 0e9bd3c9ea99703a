/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <getopt.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>

#include <systemd/sd-daemon.h>

#include "daemon/auto/auto.h"
#include "daemon/control/control.h"
#include "daemon/control/hold.h"
#include "daemon/core/manager.h"
#include "daemon/core/reconcile.h"
#include "daemon/core/registry.h"
#include "daemon/dbus/bus.h"
#include "daemon/files/files.h"
#include "daemon/learning/learning.h"
#include "daemon/replay/replay.h"
#include "daemon/varlink/server.h"
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

typedef struct Daemon {
        sd_event *event;
        PolicyBackend *backend;
        Manager *manager;
        Files *files;
        Learning *learning;
        Replay *replay;
        Auto *chooser;
        Control *control;
        Bus *bus;
        Varlink *varlink;    /* NULL: not before all is known */
        bool ready;          /* the first reconcile is over, PID 1 has heard of it */
        bool reloading;      /* SIGHUP came, its reconcile is not over */
        bool counts_changed; /* maybe: some unit did; a reconcile follows */
} Daemon;

static void notify_status(Daemon *d, const char *prefix) {
        const KernelFeatures *k = &d->manager->kernel;
        ManagerCounts c = manager_count(d->manager);

        if (!k->supported)
                (void) sd_notifyf(0, "%sSTATUS=Read-only: %s", prefix, k->reason);
        else if (!bus_is_connected(d->bus))
                (void) sd_notifyf(0, "%sSTATUS=Waiting for the system bus", prefix);
        else
                (void) sd_notifyf(0, "%sSTATUS=%u units configured, %u attached, %u failed", prefix,
                                  c.configured, c.attached, c.failed);
}

/* ---- what happens in the manager */

/* After the reconcile that follows the start, or a reload, or without a bus; harmless at other times. */
static void became_ready(void *userdata) {
        Daemon *d = ASSERT_PTR(userdata);

        /* Not earlier: who asks now gets the truth. */
        if (!d->varlink && varlink_new(d->control, &d->varlink) < 0) {
                (void) sd_event_exit(d->event, EXIT_FAILURE);
                return;
        }

        bus_take_name(d->bus);
        notify_status(d, !d->ready || d->reloading ? "READY=1\n" : "");
        d->ready = true;
        d->reloading = false;
}

static void unit_changed(void *userdata, Unit *u) {
        ((Daemon *) userdata)->counts_changed = true;
}

/* Policies that are loaded one after the other use the same memory, which goes back to the kernel in
 * reconciled(): fresh pages for each took a fifth of the time. */
static void keep_load_memory(void) {
        (void) mallopt(M_MMAP_THRESHOLD, LOAD_MEMORY_MAX);
        (void) mallopt(M_TRIM_THRESHOLD, LOAD_MEMORY_MAX);
}

static void reconciled(void *userdata) {
        Daemon *d = ASSERT_PTR(userdata);

        if (d->counts_changed) {
                (void) malloc_trim(0);
                d->counts_changed = false;
                if (d->ready)
                        notify_status(d, "");
        }

        if (d->manager->settled)
                became_ready(d);
}

static const ManagerObserver observer = {
        .unit_changed = unit_changed,
        .unit_removed = unit_changed,
        .reconciled = reconciled,
};

/* ---- what others want of us */

static int on_sighup(sd_event_source *s, const struct signalfd_siginfo *si, void *userdata) {
        Daemon *d = ASSERT_PTR(userdata);

        (void) sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIi64 "\n"
                          "STATUS=Reading the configuration again", g_get_monotonic_time());

        d->reloading = true;
        manager_reload(d->manager);
        if (!bus_is_connected(d->bus))
                became_ready(d);

        return 0;
}

/* While the event loop still works: holds end, and the configuration counts again, as far as it is known
 * here. systemd is not asked any more. */
static int on_exit_loop(sd_event_source *s, void *userdata) {
        Daemon *d = ASSERT_PTR(userdata);

        (void) sd_notify(0, "STOPPING=1\nSTATUS=Stopping, attached policies stay attached");
        d->bus = bus_free(d->bus);
        holds_end_all(d->control);
        (void) manager_reconcile(d->manager, UINT64_MAX);
        learning_finish(d->learning);
        return 0;
}

static int add_sources(Daemon *d) {
        sd_event_source *s;
        int r;

        r = sd_event_set_signal_exit(d->event, true);
        if (r >= 0)
                r = sd_event_set_watchdog(d->event, true);
        if (r >= 0)
                r = sd_event_add_signal(d->event, NULL, SIGHUP | SD_EVENT_SIGNAL_PROCMASK, on_sighup, d);
        if (r >= 0)
                r = sd_event_add_exit(d->event, &s, on_exit_loop, d);
        if (r >= 0)
                r = sd_event_source_set_priority(s, SD_EVENT_PRIORITY_IMPORTANT - 1);
        if (r >= 0)
                r = sd_event_source_set_floating(s, true);
        return r;
}

static void daemon_done(Daemon *d) {
        varlink_free(d->varlink);
        bus_free(d->bus);
        control_free(d->control);
        auto_free(d->chooser);
        replay_free(d->replay);
        learning_free(d->learning);
        files_free(d->files);
        manager_free(d->manager);
        sd_event_unref(d->event);
        policy_bpf_backend_free(d->backend);
}

static int run(void) {
        _cleanup_(daemon_done) Daemon d = {};
        ReplayBackend backend;
        int r;

        r = sd_event_default(&d.event);
        if (r >= 0)
                r = add_sources(&d);
        if (r < 0)
                return log_error_errno(r, "Cannot make the event loop: %m");

        d.backend = policy_bpf_backend_new("/sys/fs/bpf/cachebpf", manager_default_paths.kernel.cgroup);
        r = manager_new(&manager_default_paths, d.event, d.backend, &d.manager);
        if (r < 0)
                return log_error_errno(r, "Cannot make the manager: %m");
        manager_observe(d.manager, &observer, &d);

        r = files_new(d.manager, &d.files);
        if (r < 0)
                return log_error_errno(r, "Cannot make the timers for files: %m");

        r = learning_new(d.manager, &d.learning);
        if (r < 0)
                return log_error_errno(r, "Cannot make the timer for what policies learn: %m");

        backend = replay_kernel_backend(manager_default_paths.kernel.btf);
        d.replay = replay_new(d.manager, &backend);

        r = auto_new(d.manager, &auto_backend, &d.chooser);
        if (r < 0)
                return log_error_errno(r, "Cannot make the timer that chooses policies: %m");

        r = manager_load(d.manager);
        if (r < 0)
                return r;

        d.control = control_new(d.manager);
        d.control->learning = d.learning;
        d.control->replay = d.replay;
        r = bus_new(d.control, became_ready, &d, &d.bus);
        if (r < 0)
                return r;

        r = sd_event_loop(d.event);
        return r < 0 ? log_error_errno(r, "The event loop failed: %m") : r;
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
