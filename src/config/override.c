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

int unit_overrides_put(UnitOverrides *o, OverrideKind kind, const char *unit, PolicySetting *setting) {
        PolicySetting *copy;

        if (!policy_setting_is_set(setting)) {
                policy_setting_done(setting);
                if (o->units[kind])
                        g_hash_table_remove(o->units[kind], unit);
                return 0;
        }

        copy = malloc(sizeof(PolicySetting));
        if (!copy)
                return -ENOMEM;
        *copy = *setting;
        *setting = (PolicySetting) {};

        if (!o->units[kind])
                o->units[kind] = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, setting_free);
        g_hash_table_insert(o->units[kind], g_strdup(unit), copy);
        return 0;
}

/* ---- files */

static PolicyLayer layer_of(OverrideKind kind) {
        return kind == OVERRIDE_RUNTIME ? POLICY_LAYER_RUNTIME : POLICY_LAYER_PERSISTENT;
}

char *unit_override_path(const char *dir, const char *unit) {
        char *path;

        return asprintf(&path, "%s/%s" SUFFIX, dir, unit) < 0 ? NULL : path;
}

int unit_override_read(const char *dir, OverrideKind kind, const char *unit, PolicySetting *ret) {
        _cleanup_free_ char *path = unit_override_path(dir, unit);

        return path ? unit_file_read_layer(unit, layer_of(kind), path, NULL, ret) : -ENOMEM;
}

static int load_one(UnitOverrides *o, const char *dir, OverrideKind kind, const char *file) {
        _cleanup_policy_setting_ PolicySetting s = {};
        _cleanup_free_ char *unit = strndup(file, strlen(file) - STRLEN(SUFFIX));
        int r;

        if (!unit)
                return -ENOMEM;

        if (!unit_name_is_valid(unit)) {
                log_warning("Ignoring '%s/%s': '%s' is not the name of a slice, service or scope.", dir,
                            file, unit);
                return 0;
        }

        r = unit_override_read(dir, kind, unit, &s);
        return r < 0 ? r : unit_overrides_put(o, kind, unit, &s);
}

static int load_directory(UnitOverrides *o, const char *path, OverrideKind kind) {
        _cleanup_closedir_ DIR *d = opendir(path);
        struct dirent *de;
        int r;

        if (!d) {
                if (errno != ENOENT)
                        log_warning_errno(errno, "Cannot open directory '%s', ignoring: %m", path);
                return 0;
        }

        while ((de = readdir(d))) {
                /* What an earlier instance had not finished when it was killed. */
                if (startswith(de->d_name, FILE_UPDATE_PREFIX))
                        (void) unlinkat(dirfd(d), de->d_name, 0);
                if (de->d_name[0] == '.' || !endswith(de->d_name, SUFFIX))
                        continue;

                r = load_one(o, path, kind, de->d_name);
                if (r < 0)
                        return r;
        }

        return 0;
}

int unit_overrides_load(const char *const *dirs, UnitOverrides *ret) {
        UnitOverrides o = {};
        int r;

        for (OverrideKind k = 0; dirs && k < _OVERRIDE_MAX; k++) {
                r = load_directory(&o, dirs[k], k);
                if (r < 0) {
                        unit_overrides_done(&o);
                        return r;
                }
        }

        *ret = o;
        return 0;
}

/* ---- text */

static void append_words(GString *text, const char *key, const PolicyWords *words) {
        if (!words->set)
                return;

        g_string_append_printf(text, "%s=", key);
        for (guint i = 0; i < policy_words_count(words); i++)
                g_string_append_printf(text, "%s%s", i > 0 ? " " : "", policy_words_get(words, i)->text);
        g_string_append_c(text, '\n');
}

char *unit_override_format(const char *unit, OverrideKind kind, const PolicySetting *s) {
        g_autoptr(GString) text = g_string_new(NULL);

        g_string_append_printf(text,
                               "# Written by cachebpfd; "
                               "see cachebpf.conf(5). \"cachectl reset%s %s\" removes it.\n"
                               "[%s]\n",
                               kind == OVERRIDE_PERSISTENT ? " --persistent" : "", unit,
                               unit_name_to_section(unit));
        if (s->set)
                g_string_append_printf(text, "%s=%s\n", policy_setting_key_name(0), strempty(s->policy));
        for (PolicyKey k = 0; k < _POLICY_KEY_MAX; k++)
                append_words(text, policy_setting_key_name(k + 1), s->more + k);

        return strdup(text->str);
}

int unit_override_parse(const char *dir, OverrideKind kind, const char *unit, const char *text,
                        PolicySetting *ret) {
        _cleanup_free_ char *path = unit_override_path(dir, unit), *copy = strdup(text);

        return path && copy ? unit_file_parse_layer(unit, layer_of(kind), path, copy, ret) : -ENOMEM;
}
