/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "pin.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"

char *pin_path(const char *root, uint64_t cgroup_id, const char *name) {
        return g_strdup_printf("%s/%" PRIu64 "%s%s", root, cgroup_id, name ? "/" : "", strempty(name));
}

static int unlink_ignore_missing(int dir_fd, const char *name, int flags) {
        return unlinkat(dir_fd, name, flags) < 0 && errno != ENOENT ? -errno : 0;
}

static int remove_entries(const char *root, uint64_t cgroup_id, bool keep_link) {
        g_autofree char *path = pin_path(root, cgroup_id, NULL);
        _cleanup_closedir_ DIR *d = opendir(path);
        struct dirent *de;
        int r, ret = 0;

        if (!d)
                return errno == ENOENT ? 0 : -errno;

        /* Without the link the rest is known to be left over, should we get no further. */
        if (!keep_link) {
                r = unlink_ignore_missing(dirfd(d), PIN_LINK, 0);
                if (r < 0)
                        return r;
        }

        while ((de = readdir(d))) {
                if (streq(de->d_name, ".") || streq(de->d_name, ".."))
                        continue;
                if (keep_link && (streq(de->d_name, PIN_LINK) || streq(de->d_name, PIN_UPDATING)))
                        continue;

                r = unlink_ignore_missing(dirfd(d), de->d_name, de->d_type == DT_DIR ? AT_REMOVEDIR : 0);
                if (r < 0 && ret == 0)
                        ret = r;
        }

        return ret;
}

int pin_directory_remove(const char *root, uint64_t cgroup_id) {
        g_autofree char *path = pin_path(root, cgroup_id, NULL);
        int r;

        r = remove_entries(root, cgroup_id, /* keep_link= */ false);
        if (r < 0)
                return r;

        return rmdir(path) < 0 && errno != ENOENT ? -errno : 0;
}

int pin_directory_clear(const char *root, uint64_t cgroup_id) {
        return remove_entries(root, cgroup_id, /* keep_link= */ true);
}

int pin_directory_make(const char *root, uint64_t cgroup_id) {
        g_autofree char *path = pin_path(root, cgroup_id, NULL);
        int r;

        r = pin_directory_remove(root, cgroup_id);
        if (r < 0)
                return r;

        if (mkdir(root, 0700) < 0 && errno != EEXIST)
                return -errno;

        return mkdir(path, 0700) < 0 ? -errno : 0;
}

static int make_mark(const char *root, uint64_t cgroup_id, const char *name) {
        g_autofree char *path = pin_path(root, cgroup_id, name);

        return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

int pin_mark_updating(const char *root, uint64_t cgroup_id, bool updating) {
        g_autofree char *path = pin_path(root, cgroup_id, PIN_UPDATING);

        if (updating)
                return make_mark(root, cgroup_id, PIN_UPDATING);

        return rmdir(path) < 0 && errno != ENOENT ? -errno : 0;
}

int pin_mark_config(const char *root, uint64_t cgroup_id, const char *fingerprint) {
        g_autofree char *name = g_strconcat(PIN_CONFIG_PREFIX, fingerprint, NULL);

        return isempty(fingerprint) ? 0 : make_mark(root, cgroup_id, name);
}

/* What is behind the prefix in the name of a mark; NULL: there is no such mark. */
static int read_mark(const char *root, uint64_t cgroup_id, const char *prefix, char **ret) {
        g_autofree char *path = pin_path(root, cgroup_id, NULL);
        _cleanup_closedir_ DIR *d = opendir(path);
        struct dirent *de;
        char *found = NULL;

        if (!d)
                return -errno;

        while (!found && (de = readdir(d)))
                found = startswith(de->d_name, prefix);

        *ret = g_strdup(found);
        return 0;
}

int pin_read_config(const char *root, uint64_t cgroup_id, char **ret) {
        char *found;
        int r;

        r = read_mark(root, cgroup_id, PIN_CONFIG_PREFIX, &found);
        if (r >= 0)
                *ret = found ?: g_strdup("");
        return r;
}

int pin_mark_learned(const char *root, uint64_t cgroup_id, const char *label) {
        g_autofree char *name = g_strconcat(PIN_LEARNED_PREFIX, label, NULL);

        return make_mark(root, cgroup_id, name);
}

int pin_read_learned(const char *root, uint64_t cgroup_id, char **ret) {
        return read_mark(root, cgroup_id, PIN_LEARNED_PREFIX, ret);
}

int pin_mark_restored(const char *root, uint64_t cgroup_id) {
        return make_mark(root, cgroup_id, PIN_RESTORED);
}

bool pin_is_restored(const char *root, uint64_t cgroup_id) {
        g_autofree char *path = pin_path(root, cgroup_id, PIN_RESTORED);

        return access(path, F_OK) >= 0;
}
