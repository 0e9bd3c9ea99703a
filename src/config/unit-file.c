/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cache-files.h"
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

        if (strpbrk(name, "*?["))
                return g_strdup(name);
        for (size_t i = 0; i < ELEMENTSOF(suffixes); i++)
                if (endswith(name, suffixes[i]))
                        return g_strdup(name);

        return g_strdup_printf("%s.service", name);
}

bool unit_name_may_exist(const char *unit) {
        size_t n = strlen(unit);
        const char *dot = strrchr(unit, '.');

        /* of systemd's names not those of hidden files: as it does, we skip these */
        return n <= 255 && unit[0] != '.' && unit[0] != '@' && dot && dot > unit &&
                unit_name_to_section(unit) && strspn(unit, UNIT_NAME_CHARACTERS) == n;
}

bool unit_name_is_valid(const char *unit) {
        return strlen(unit) <= UNIT_NAME_MAX && unit_name_may_exist(unit);
}

static int assignment(const ConfAssignment *a, void *userdata) {
        _cleanup_free_ char *problem = NULL;
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

        if (cache_files_check(a->key, a->value, &problem) < 0) {
                log_syntax(LOG_WARNING, a->file, a->line, "%s=: %s, ignoring the line.", a->key, problem);
                return 0;
        }

        return policy_setting_assign(c->setting, a->key, a->value, a->file, a->line);
}

void unit_file_parse(const char *unit, const char *path, char *text, size_t size, PolicySetting *s) {
        UnitFileContext c = {
                .section = unit_name_to_section(unit),
                .setting = s,
        };

        /* Most files do not mention us: leave them, and complaints about them, to PID 1. */
        if (policy_setting_is_mentioned(text, size))
                (void) conf_parse_text(path, text, size, LOG_WARNING, assignment, &c);
}

void unit_file_read(const char *unit, const char *path, PolicySetting *s) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        int r;

        r = read_full_file(path, CONF_FILE_MAX, &text, &size);
        if (r == -ENOENT) /* systemd still knows a file that was deleted since */
                return;
        if (r < 0)
                log_full_fields(LOG_WARNING, r, LOG_FIELDS(.unit = unit, .config_file = path),
                                "%s: Cannot read '%s', ignoring the file: %m", unit, path);
        else
                unit_file_parse(unit, path, text, size, s);
}

int unit_file_read_setting(const char *unit, const char *fragment, char **dropins, PolicySetting *ret) {
        PolicySetting s = { .layer = POLICY_LAYER_UNIT };

        if (!unit_name_to_section(unit))
                return -EINVAL;

        if (!isempty(fragment))
                unit_file_read(unit, fragment, &s);
        for (char **i = dropins; i && *i; i++)
                unit_file_read(unit, *i, &s);

        *ret = s;
        return 0;
}
