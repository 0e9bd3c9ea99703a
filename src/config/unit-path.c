/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <unistd.h>

#include "conf-file.h"
#include "shared/cleanup.h"
#include "unit-path.h"

const char *const unit_directories[] = {
        "/etc/systemd/system.control",
        "/run/systemd/system.control",
        "/run/systemd/transient",
        "/run/systemd/generator.early",
        "/etc/systemd/system",
        "/etc/systemd/system.attached", /* of portable services */
        "/run/systemd/system",
        "/run/systemd/system.attached",
        "/run/systemd/generator",
        "/usr/local/lib/systemd/system",
        "/usr/lib/systemd/system",
        "/run/systemd/generator.late",
        NULL,
};

/* "a@.service" for "a@b.service", NULL for a unit without instance. */
static char *template_of(const char *unit) {
        const char *at = strchr(unit, '@'), *dot = strrchr(unit, '.');

        return at && dot > at + 1 ? g_strdup_printf("%.*s%s", (int) (at + 1 - unit), unit, dot) : NULL;
}

/* The names whose NAME.d is for the unit, the most special first: its own, its template's, those of what its
 * name begins with ("a-.slice" for "a-b.slice"), and that of its type. */
static GPtrArray *names_of(const char *unit) {
        GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
        const char *dot = strrchr(unit, '.');
        char *template = template_of(unit);

        g_ptr_array_add(names, g_strdup(unit));
        if (template)
                g_ptr_array_add(names, template);

        for (const char *s = dot - 1; s > unit; s--)
                if (*s == '-' && s + 1 < dot)
                        g_ptr_array_add(names, g_strdup_printf("%.*s%s", (int) (s + 1 - unit), unit, dot));

        g_ptr_array_add(names, g_strdup(dot + 1));
        return names;
}

static char *find_fragment(const char *root, const char *name) {
        for (const char *const *dir = unit_directories; *dir; dir++) {
                char *path = g_strdup_printf("%s%s/%s", root, *dir, name);

                if (access(path, F_OK) >= 0)
                        return path;
                g_free(path);
        }

        return NULL;
}

void unit_path_find(const char *root, const char *unit, char **ret_fragment, GPtrArray **ret_dropins) {
        _cleanup_ptr_array_ GPtrArray *names = names_of(unit),
                        *dirs = g_ptr_array_new_with_free_func(g_free);
        g_autofree char *template = template_of(unit);

        *ret_fragment = find_fragment(root, unit);
        if (!*ret_fragment && template)
                *ret_fragment = find_fragment(root, template);

        for (guint i = 0; i < names->len; i++)
                for (const char *const *dir = unit_directories; *dir; dir++)
                        g_ptr_array_add(dirs,
                                        g_strdup_printf("%s%s/%s.d", root, *dir, (char *) names->pdata[i]));
        g_ptr_array_add(dirs, NULL);

        *ret_dropins = conf_files_list((const char *const *) dirs->pdata);
        g_ptr_array_add(*ret_dropins, NULL);
}
