/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The control groups right below that of a unit: which they are, their names, when they change. */

#include <dirent.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "internal.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/string-util.h"

/* To whom a unit is delegated makes as many as he likes: no more of them are looked at. */
#define CHILDREN_MAX 4096U

/* Not that of the root: NULL if there is none now. */
static char *cgroup_path(const Unit *u) {
        return u->cgroup ? g_strconcat(u->manager->paths.kernel.cgroup, u->cgroup, NULL) : NULL;
}

int unit_files_foreach_child(const UnitFiles *f, child_func_t func, void *userdata) {
        g_autofree char *path = cgroup_path(f->unit);
        _cleanup_closedir_ DIR *d = path ? opendir(path) : NULL;
        struct dirent *de;
        unsigned n = 0;

        if (!d)
                return path ? -errno : -ENOENT;

        while (n < CHILDREN_MAX && (de = readdir(d))) {
                struct stat st;

                if (de->d_type != DT_DIR || de->d_name[0] == '.')
                        continue;
                n++;
                /* The id of a control group is the inode number of its directory. */
                if (fstatat(dirfd(d), de->d_name, &st, AT_SYMLINK_NOFOLLOW) >= 0)
                        func(de->d_name, st.st_ino, userdata);
        }

        return 0;
}

char *name_to_utf8(char *name) {
        char *valid;

        if (!name || utf8_is_valid_n(name, strlen(name)))
                return name;

        valid = g_utf8_make_valid(name, -1);
        g_free(name);
        return valid;
}

static void add_name(const char *name, uint64_t id, void *userdata) {
        g_hash_table_insert(userdata, g_memdup2(&id, sizeof(id)), name_to_utf8(g_strdup(name)));
}

GHashTable *unit_files_names(const UnitFiles *f) {
        GHashTable *names = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);

        (void) unit_files_foreach_child(f, add_name, names);
        add_name(f->unit->name, f->unit->cgroup_id, names);
        return names;
}

static int on_child(sd_event_source *s, const struct inotify_event *event, void *userdata) {
        UnitFiles *f = ASSERT_PTR(userdata);

        if (event->mask & (IN_ISDIR | IN_Q_OVERFLOW))
                unit_files_mark_dirty(f);
        return 0;
}

void unit_files_watch_children(UnitFiles *f) {
        g_autofree char *path = cgroup_path(f->unit);
        int r;

        if (f->cgroup_id == f->unit->cgroup_id)
                return;

        f->cgroup_id = 0;
        f->watch = sd_event_source_disable_unref(f->watch);
        if (!path)
                return;

        r = sd_event_add_inotify(f->unit->manager->event, &f->watch, path,
                                 IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_ONLYDIR, on_child, f);
        if (r >= 0)
                r = sd_event_source_set_priority(f->watch, PRIORITY_USERS);
        if (r >= 0)
                f->cgroup_id = f->unit->cgroup_id;
        else
                log_debug_errno(r, "%s: Cannot watch its control group, trying again later: %m",
                                f->unit->name);
}
