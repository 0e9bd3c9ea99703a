/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <sys/stat.h>

#include "conf-file.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/string-util.h"

/* An empty file or /dev/null in a file's place: "not this one". */
static bool is_mask(int dir_fd, const char *name) {
        struct stat st;

        if (fstatat(dir_fd, name, &st, 0) < 0)
                return false;

        return S_ISCHR(st.st_mode) || (S_ISREG(st.st_mode) && st.st_size == 0);
}

/* Notes the files of one directory in names (file name -> path, empty path: masked). */
static void collect_names(const char *path, GHashTable *names) {
        _cleanup_closedir_ DIR *d = opendir(path);
        struct dirent *de;

        if (!d) {
                if (errno != ENOENT)
                        log_warning_errno(errno, "Cannot open directory '%s', ignoring: %m", path);
                return;
        }

        while ((de = readdir(d))) {
                if (de->d_name[0] == '.' || !endswith(de->d_name, ".conf") ||
                    g_hash_table_contains(names, de->d_name))
                        continue;

                if (!utf8_is_valid_n(de->d_name, strlen(de->d_name))) {
                        g_autofree char *shown = g_strescape(de->d_name, NULL);

                        log_warning("Ignoring '%s/%s': its name is not valid UTF-8.", path, shown);
                        continue;
                }

                if (g_hash_table_size(names) >= CONF_FILES_MAX) {
                        log_warning("More than %u files in '%s', ignoring the rest.", CONF_FILES_MAX, path);
                        break;
                }

                g_hash_table_insert(names, g_strdup(de->d_name),
                                    is_mask(dirfd(d), de->d_name) ? g_strdup("") :
                                    g_build_filename(path, de->d_name, NULL));
        }
}

static int compare_names(gconstpointer a, gconstpointer b) {
        return strcmp(*(const char *const *) a, *(const char *const *) b);
}

GPtrArray *conf_files_list(const char *const *dirs) {
        _cleanup_hash_table_ GHashTable *names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                                                       g_free);
        GPtrArray *paths = g_ptr_array_new_with_free_func(g_free);
        _cleanup_ptr_array_ GPtrArray *sorted = NULL;

        for (; *dirs; dirs++)
                collect_names(*dirs, names);

        sorted = g_hash_table_get_keys_as_ptr_array(names);
        g_ptr_array_sort(sorted, compare_names);

        for (guint i = 0; i < sorted->len; i++) {
                const char *path = g_hash_table_lookup(names, sorted->pdata[i]);

                if (!isempty(path))
                        g_ptr_array_add(paths, g_strdup(path));
        }

        return paths;
}
