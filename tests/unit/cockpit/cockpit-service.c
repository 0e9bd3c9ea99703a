/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The daemon on a fake kernel and without systemd, on the system bus that $DBUS_SYSTEM_BUS_ADDRESS names:
 * its own objects, its reconciler, its checks of what is set. For the test of the page for Cockpit.
 *
 *      cockpit-service DIRECTORY [--no-kernel]
 *
 * DIRECTORY has "cgroup/1" to "cgroup/7", and in them what the kernel counts. Commands come on standard
 * input, a line each, and "ok" goes out when they were carried out:
 *
 *      unit NAME POLICY CGROUP       there is a unit, in that control group
 *      configure NAME POLICY         its file names another policy, "-" for none
 *      eject CGROUP REASON...        the kernel detaches its policy */

#include "../bus-fixture.h"

#include <stdio.h>
#include <sys/stat.h>

#include "shared/cleanup.h"
#include "shared/string-util.h"

static const char *directory;

/* ---- commands */

static void add(const char *name, const char *policy, unsigned cgroup) {
        g_autofree char *path = g_strdup_printf("%s/cgroup/%u", directory, cgroup);
        struct stat st;
        Unit *u;

        assert_int_equal(stat(path, &st), 0);
        u = add_unit(name, streq(policy, "-") ? NULL : policy, cgroup);
        fixture->kernel.cgroups[cgroup].inode = u->cgroup_id = st.st_ino;
}

static void eject(unsigned cgroup, const char *reason) {
        FakeCgroup *c = fixture->kernel.cgroups + cgroup;

        c->ejected = strdup(reason); /* until the end */
        c->ejected_id = c->policy_id;
        fake_cgroup_eject(&fixture->kernel, cgroup);
}

static bool carry_out(char *line) {
        g_auto(GStrv) words = g_strsplit(line, " ", 4);
        guint n = g_strv_length(words);
        Unit *u;

        if (n == 4 && streq(words[0], "unit"))
                add(words[1], words[2], (unsigned) atoi(words[3]));
        else if (n == 3 && streq(words[0], "configure") &&
                 (u = manager_find_unit(fixture->manager, words[1])))
                configure(u, streq(words[2], "-") ? NULL : words[2]);
        else if (n >= 3 && streq(words[0], "eject"))
                eject((unsigned) atoi(words[1]), strchr(line + STRLEN("eject "), ' ') + 1);
        else
                return false;

        return true;
}

static int on_input(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        static char buffer[4096];
        static size_t n;
        char *end;
        ssize_t l;

        l = read(fd, buffer + n, sizeof(buffer) - n - 1);
        if (l <= 0)
                return sd_event_exit(fixture->event, 0);

        n += (size_t) l;
        buffer[n] = 0;
        while ((end = strchr(buffer, '\n'))) {
                *end = 0;
                printf("%s\n", carry_out(buffer) ? "ok" : "what?");
                n -= (size_t) (end + 1 - buffer);
                memmove(buffer, end + 1, n + 1);
        }

        fflush(stdout);
        return 0;
}

/* ---- the daemon */

static void describe(const char *name, const char *description) {
        for (guint i = 0; i < fixture->manager->policies->len; i++) {
                Policy *p = fixture->manager->policies->pdata[i];

                if (streq(p->name, name))
                        g_set_str(&p->description, description);
        }
}

int main(int argc, char *argv[]) {
        g_autofree char *cgroup = NULL, *etc = NULL, *run_directory = NULL;
        const char *overrides[_OVERRIDE_MAX];
        Manager *m;

        if (argc < 2) {
                fprintf(stderr, "Usage: %s DIRECTORY [--no-kernel]\n", argv[0]);
                return EXIT_FAILURE;
        }

        directory = argv[1];
        cgroup = g_strdup_printf("%s/cgroup", directory);
        overrides[OVERRIDE_PERSISTENT] = etc = g_strdup_printf("%s/etc", directory);
        overrides[OVERRIDE_RUNTIME] = run_directory = g_strdup_printf("%s/run", directory);

        assert_int_equal(fixture_setup(NULL), 0);
        m = fixture->manager;
        m->kernel.supported = argc == 2; /* why it is not is known all the same */
        m->paths.kernel.cgroup = cgroup;
        m->paths.overrides = overrides;
        add_policy("noop", NULL); /* for a filter without a policy */
        describe("lfu", "Evicts what is used least often");
        describe("mru", "Evicts what was used last");

        connect_bus();
        assert_true(sd_event_add_io(fixture->event, NULL, STDIN_FILENO, EPOLLIN, on_input, NULL) >= 0);
        printf("ready\n");
        fflush(stdout);
        assert_true(sd_event_loop(fixture->event) >= 0);

        disconnect_bus();
        return fixture_teardown(NULL);
}
