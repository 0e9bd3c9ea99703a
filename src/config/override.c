/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "override.h"
#include "shared/cleanup.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/string-util.h"
#include "unit-file.h"

#define SUFFIX ".conf"

const char *const unit_override_directories[_OVERRIDE_MAX] = {
        [OVERRIDE_PERSISTENT] = "/etc/cachebpf/units.d",
        [OVERRIDE_RUNTIME] = "/run/cachebpf/units.d",
};

static void setting_free(void *p) {
        policy_setting_done(p);
        free(p);
}

void unit_overrides_done(UnitOverrides *o) {
        for (OverrideKind k = 0; k < _OVERRIDE_MAX; k++)
                if (o->units[k])
                        g_hash_table_unref(o->units[k]);
        *o = (UnitOverrides) {};
}

const PolicySetting *unit_overrides_get(const UnitOverrides *o, OverrideKind kind, const char *unit) {
        return o->units[kind] ? g_hash_table_lookup(o->units[kind], unit) : NULL;
}

void unit_overrides_put(UnitOverrides *o, OverrideKind kind, const char *unit, PolicySetting *setting) {
        if (!policy_setting_is_set(setting)) {
                policy_setting_done(setting);
                if (o->units[kind])
                        g_hash_table_remove(o->units[kind], unit);
                return;
        }

        if (!o->units[kind])
                o->units[kind] = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, setting_free);
        g_hash_table_insert(o->units[kind], g_strdup(unit), g_memdup2(setting, sizeof(PolicySetting)));
        *setting = (PolicySetting) {};
}

/* ---- files */

static PolicyLayer layer_of(OverrideKind kind) {
        return kind == OVERRIDE_RUNTIME ? POLICY_LAYER_RUNTIME : POLICY_LAYER_PERSISTENT;
}

char *unit_override_path(const char *dir, const char *unit) {
        return g_strdup_printf("%s/%s" SUFFIX, dir, unit);
}

void unit_override_read(const char *dir, OverrideKind kind, const char *unit, PolicySetting *ret) {
        g_autofree char *path = unit_override_path(dir, unit);

        *ret = (PolicySetting) { .layer = layer_of(kind) };
        unit_file_read(unit, path, ret);
}

static void load_one(UnitOverrides *o, const char *dir, OverrideKind kind, const char *file) {
        _cleanup_policy_setting_ PolicySetting s = {};
        g_autofree char *unit = g_strndup(file, strlen(file) - STRLEN(SUFFIX));

        if (!unit_name_is_valid(unit)) {
                log_warning("Ignoring '%s/%s': '%s' is not the name of a slice, service or scope.", dir,
                            file, unit);
                return;
        }

        unit_override_read(dir, kind, unit, &s);
        unit_overrides_put(o, kind, unit, &s);
}

static void load_directory(UnitOverrides *o, const char *path, OverrideKind kind) {
        _cleanup_closedir_ DIR *d = opendir(path);
        struct dirent *de;

        if (!d) {
                if (errno != ENOENT)
                        log_warning_errno(errno, "Cannot open directory '%s', ignoring: %m", path);
                return;
        }

        while ((de = readdir(d))) {
                /* What an earlier instance had not finished when it was killed. */
                if (startswith(de->d_name, FILE_UPDATE_PREFIX))
                        (void) unlinkat(dirfd(d), de->d_name, 0);
                if (de->d_name[0] != '.' && endswith(de->d_name, SUFFIX))
                        load_one(o, path, kind, de->d_name);
        }
}

UnitOverrides unit_overrides_load(const char *const *dirs) {
        UnitOverrides o = {};

        for (OverrideKind k = 0; dirs && k < _OVERRIDE_MAX; k++)
                load_directory(&o, dirs[k], k);
        return o;
}

/* ---- text */

char *unit_override_format(const char *unit, OverrideKind kind, const PolicySetting *s) {
        GString *text = g_string_new(NULL);
        const char *key;

        g_string_append_printf(text,
                               "# Written by cachebpfd; "
                               "see cachebpf.conf(5). \"cachectl reset%s %s\" removes it.\n"
                               "[%s]\n",
                               kind == OVERRIDE_PERSISTENT ? " --persistent" : "", unit,
                               unit_name_to_section(unit));

        for (guint i = 0; (key = policy_setting_key_name(i)); i++) {
                g_autofree char *value = policy_setting_get_value(s, i);

                if (value)
                        g_string_append_printf(text, "%s=%s\n", key, value);
        }

        return g_string_free(text, FALSE);
}

void unit_override_parse(const char *dir, OverrideKind kind, const char *unit, const char *text,
                         PolicySetting *ret) {
        g_autofree char *path = unit_override_path(dir, unit), *copy = g_strdup(text);

        *ret = (PolicySetting) { .layer = layer_of(kind) };
        unit_file_parse(unit, path, copy, strlen(copy), ret);
}
