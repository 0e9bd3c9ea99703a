/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>

#include "conf-file.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/string-util.h"
#include "unit-file.h"

static const struct {
        const char *suffix;
        const char *section;
} unit_types[] = {
        { ".slice", "Slice" },
        { ".service", "Service" },
        { ".scope", "Scope" },
};

/* As systemd has them; none is a slash. */
#define UNIT_NAME_CHARACTERS "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ:-_.\\@"
#define UNIT_NAME_MAX 255U

typedef struct UnitFileContext {
        const char *section;
        PolicySetting *setting;
} UnitFileContext;

const char *unit_name_to_section(const char *unit) {
        for (size_t i = 0; i < ELEMENTSOF(unit_types); i++)
                if (endswith(unit, unit_types[i].suffix))
                        return unit_types[i].section;

        return NULL;
}

char *unit_name_mangle(const char *name) {
        static const char *const suffixes[] = {
                ".service", ".slice", ".scope", ".socket", ".mount", ".automount", ".swap", ".target",
                ".device", ".timer", ".path",
        };
        char *s;

        if (strpbrk(name, "*?["))
                return strdup(name);
        for (size_t i = 0; i < ELEMENTSOF(suffixes); i++)
                if (endswith(name, suffixes[i]))
                        return strdup(name);

        return asprintf(&s, "%s.service", name) < 0 ? NULL : s;
}

bool unit_name_is_valid(const char *unit) {
        size_t n = strlen(unit);
        const char *dot = strrchr(unit, '.');

        /* Of systemd's names those that a file of ours can have: as it does, we skip hidden files. */
        return n <= UNIT_NAME_MAX && unit[0] != '.' && unit[0] != '@' && dot && dot > unit &&
                unit_name_to_section(unit) && strspn(unit, UNIT_NAME_CHARACTERS) == n;
}

static int assignment(const ConfAssignment *a, void *userdata) {
        UnitFileContext *c = ASSERT_PTR(userdata);

        if (!policy_setting_is_key(a->key)) {
                /* systemd says nothing of keys with X-, and of others what it says of ours, too. */
                if (streq(a->section, c->section) && policy_setting_is_misspelt(a->key))
                        log_syntax(LOG_WARNING, a->file, a->line,
                                   "Unknown key %s= in section [%s], ignoring.", a->key, a->section);
                return 0;
        }

        if (!streq(a->section, c->section)) {
                log_syntax(LOG_WARNING, a->file, a->line,
                           "%s= belongs into section [%s], ignoring it in [%s].",
                           a->key, c->section, a->section);
                return 0;
        }

        return policy_setting_assign(c->setting, a->key, a->value, a->file, a->line);
}

static int parse_one(const char *path, char *text, size_t size, UnitFileContext *c) {
        /* Most files do not mention us: leave them, and complaints about them, to PID 1. */
        if (!policy_setting_is_mentioned(text, size))
                return 0;

        return conf_parse_text(path, text, size, LOG_WARNING, assignment, c);
}

static int read_one(const char *unit, const char *path, UnitFileContext *c) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        int r;

        r = read_full_file(path, CONF_FILE_MAX, &text, &size);
        if (r == -ENOENT) /* systemd still knows a file that was deleted since */
                return 0;
        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                log_full_fields(LOG_WARNING, r, LOG_FIELDS(.unit = unit, .config_file = path),
                                "%s: Cannot read '%s', ignoring the file: %m", unit, path);
                return 0;
        }

        return parse_one(path, text, size, c);
}

int unit_file_read_layer(const char *unit, PolicyLayer layer, const char *fragment, char **dropins,
                         PolicySetting *ret) {
        _cleanup_policy_setting_ PolicySetting setting = { .layer = layer };
        UnitFileContext c = {
                .section = unit_name_to_section(unit),
                .setting = &setting,
        };
        int r;

        assert(unit);
        assert(ret);

        if (!c.section)
                return -EINVAL;

        if (!isempty(fragment)) {
                r = read_one(unit, fragment, &c);
                if (r < 0)
                        return r;
        }

        for (char **i = dropins; i && *i; i++) {
                r = read_one(unit, *i, &c);
                if (r < 0)
                        return r;
        }

        *ret = setting;
        setting = (PolicySetting) {};
        return 0;
}

int unit_file_parse_layer(const char *unit, PolicyLayer layer, const char *path, char *text,
                          PolicySetting *ret) {
        _cleanup_policy_setting_ PolicySetting setting = { .layer = layer };
        UnitFileContext c = {
                .section = unit_name_to_section(unit),
                .setting = &setting,
        };
        int r;

        assert(c.section);

        r = parse_one(path, text, strlen(text), &c);
        if (r < 0)
                return r;

        *ret = setting;
        setting = (PolicySetting) {};
        return 0;
}
