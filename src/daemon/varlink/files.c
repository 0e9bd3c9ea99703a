/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Files of managers on varlink: conversion only. */

#include "daemon/files/files.h"
#include "unit.h"

static int build_levels(const PolicyManager *m, sd_json_variant **ret) {
        int r;

        r = sd_json_variant_new_array(ret, NULL, 0);
        for (unsigned i = 0; r >= 0 && i < CACHE_LEVELS; i++)
                if (policy_manager_has_level(m, i))
                        r = sd_json_variant_append_arraybo(
                                ret,
                                SD_JSON_BUILD_PAIR_INTEGER("level", (int) i + CACHE_LEVEL_MIN),
                                SD_JSON_BUILD_PAIR_STRING("replacement", policy_manager_replacement(m, i)),
                                SD_JSON_BUILD_PAIR_UNSIGNED("pages", m->pages[i]));
        return r;
}

static int build_files(const ListedManager *m, sd_json_variant **ret) {
        int r;

        r = sd_json_variant_new_array(ret, NULL, 0);
        for (guint i = 0; r >= 0 && i < m->files->len; i++) {
                const ListedFile *f = &g_array_index(m->files, ListedFile, i);
                g_autofree char *device = policy_file_device(&f->file);

                r = sd_json_variant_append_arraybo(
                        ret,
                        SD_JSON_BUILD_PAIR_INTEGER("priority", f->level),
                        VARLINK_PAIR_NULLABLE("path", f->path),
                        SD_JSON_BUILD_PAIR_STRING("device", device),
                        SD_JSON_BUILD_PAIR_UNSIGNED("inode", f->file.ino),
                        SD_JSON_BUILD_PAIR_UNSIGNED("generation", f->file.generation),
                        SD_JSON_BUILD_PAIR_CONDITION(f->cached != UINT64_MAX, "cached",
                                                     SD_JSON_BUILD_UNSIGNED(f->cached)));
        }
        return r;
}

static int append_manager(const ListedManager *m, sd_json_variant **array) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *levels = NULL, *files = NULL;
        int r;

        r = build_levels(&m->kernel, &levels);
        if (r >= 0)
                r = build_files(m, &files);
        if (r < 0)
                return r;

        return sd_json_variant_append_arraybo(
                array,
                VARLINK_PAIR_NULLABLE("name", m->name),
                SD_JSON_BUILD_PAIR_UNSIGNED("cgroupId", m->kernel.id),
                SD_JSON_BUILD_PAIR_BOOLEAN("revoked", m->kernel.revoked),
                SD_JSON_BUILD_PAIR_UNSIGNED("decisions", m->kernel.n_decisions),
                SD_JSON_BUILD_PAIR_UNSIGNED("wrong", m->kernel.n_wrong),
                SD_JSON_BUILD_PAIR_VARIANT("levels", levels),
                SD_JSON_BUILD_PAIR_VARIANT("files", files));
}

int files_varlink_build(Unit *u, bool files, sd_json_variant **ret) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *array = NULL;
        _cleanup_ptr_array_ GPtrArray *managers = files_list(u, files);
        int r;

        r = sd_json_variant_new_array(&array, NULL, 0);
        for (guint i = 0; r >= 0 && i < managers->len; i++)
                r = append_manager(managers->pdata[i], &array);
        if (r < 0)
                return r;

        return sd_json_buildo(ret,
                              SD_JSON_BUILD_PAIR_STRING("unit", u->name),
                              SD_JSON_BUILD_PAIR_VARIANT("managers", array));
}
