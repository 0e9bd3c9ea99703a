/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <glib.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <systemd/sd-bus.h>

#include "cgroup.h"
#include "config/unit-file.h"
#include "shared/log.h"
#include "shared/string-util.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
#define SYSTEMD "org.freedesktop.systemd1"

static_assert(sizeof(ino_t) == sizeof(uint64_t), "a control group's id is its 64-bit inode number");

void cgroup_done(Cgroup *c) {
        free(c->name);
        free(c->path);
        *c = (Cgroup) {};
}

bool cgroup_is_there(const Cgroup *c) {
        struct stat st;

        return stat(c->path, &st) >= 0 && st.st_ino == c->id;
}

char *cgroup_policy(const Cgroup *c) {
        g_autofree char *path = g_strconcat(c->path, "/memory.cachebpf.policy", NULL), *text = NULL;
        const char *name;

        if (!g_file_get_contents(path, &text, NULL, NULL))
                return NULL;
        name = startswith(text, "policy ");
        return !name || startswith(name, "none\n") ? NULL : g_strndup(name, strcspn(name, "\n"));
}

/* The D-Bus interface of that kind of unit, NULL if it can have no control group. */
static const char *unit_interface(const char *unit) {
        static const char *const kinds[][2] = {
                { ".slice",   SYSTEMD ".Slice" },
                { ".service", SYSTEMD ".Service" },
                { ".scope",   SYSTEMD ".Scope" },
                { ".socket",  SYSTEMD ".Socket" },
                { ".mount",   SYSTEMD ".Mount" },
                { ".swap",    SYSTEMD ".Swap" },
        };

        for (size_t i = 0; i < ELEMENTSOF(kinds); i++)
                if (endswith(unit, kinds[i][0]))
                        return kinds[i][1];

        return NULL;
}

/* Asks systemd for the control group of a unit: *ret is its path below the root. */
static int ask_systemd(const char *unit, char **ret) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        const char *interface = unit_interface(unit);
        _cleanup_free_ char *object = NULL, *path = NULL;
        int r;

        if (!interface) {
                log_error("\"%s\" is no unit that can have a control group; a path begins with \"/\".",
                          unit);
                return -ESRCH;
        }

        r = sd_bus_open_system(&bus);
        if (r < 0)
                return log_error_errno(r, "Cannot ask systemd for the control group of %s: %m", unit);

        r = sd_bus_path_encode("/org/freedesktop/systemd1/unit", unit, &object);
        if (r < 0)
                return log_oom();

        r = sd_bus_get_property_string(bus, SYSTEMD, object, interface, "ControlGroup", &error, &path);
        if (r < 0)
                return log_error_errno(r, "Cannot ask systemd for the control group of %s: %s", unit,
                                       error.message ?: strerror(-r));
        if (isempty(path)) {
                log_error("Unit %s is not active: it has no control group.", unit);
                return -ESRCH;
        }

        *ret = TAKE_PTR(path);
        return 0;
}

bool unit_needs_reload(const char *unit) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_free_ char *object = NULL;
        int needs = false;

        if (sd_bus_open_system(&bus) < 0 ||
            sd_bus_path_encode("/org/freedesktop/systemd1/unit", unit, &object) < 0 ||
            sd_bus_get_property_trivial(bus, SYSTEMD, object, SYSTEMD ".Unit", "NeedDaemonReload", NULL, 'b',
                                        &needs) < 0)
                return false;

        return needs;
}

/* Fills in what is known once the path below the root is. */
static int from_path(const char *path, Cgroup *c) {
        const char *last = strrchr(path, '/');
        struct statfs fs;
        struct stat st;

        for (const char *s = path; *s; s++)
                c->level += *s == '/' && s[1];

        c->name = g_strdup(last && last[1] ? last + 1 : "root");
        c->path = g_strconcat(CGROUP_ROOT, streq(path, "/") ? "" : path, NULL);

        if (statfs(CGROUP_ROOT, &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC)
                return log_error_errno(EOPNOTSUPP,
                                       "%s is no unified hierarchy of control groups (version 2).",
                                       CGROUP_ROOT);
        if (stat(c->path, &st) < 0 || !S_ISDIR(st.st_mode)) {
                log_error("There is no control group \"%s\".", c->path);
                return -ESRCH;
        }

        c->id = st.st_ino;
        return 0;
}

/* Without the root in front, and without superfluous slashes;
 * ".." and "." do not occur in control groups' names. */
static char *normalize(const char *path) {
        const char *below = startswith(path, CGROUP_ROOT);
        GString *copy = g_string_new(NULL);

        for (const char *s = below && (*below == '/' || !*below) ? below : path; *s; s++)
                if (*s != '/' || (s[1] && s[1] != '/'))
                        g_string_append_c(copy, *s);
        if (copy->len == 0)
                g_string_append_c(copy, '/');

        return g_string_free(copy, FALSE);
}

int cgroup_find(const char *name, Cgroup *ret) {
        _cleanup_free_ char *unit = NULL, *path = NULL;
        _cleanup_(cgroup_done) Cgroup c = {};
        int r;

        assert(name);
        assert(ret);

        if (*name == '/')
                path = normalize(name);
        else {
                unit = unit_name_mangle(name);
                r = ask_systemd(unit, &path);
                if (r < 0)
                        return r;
        }

        r = from_path(path, &c);
        if (r < 0)
                return r;

        *ret = c;
        c = (Cgroup) {};
        return 0;
}
