/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "client.h"
#include "config/unit-file.h"
#include "model.h"
#include "objects.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/varlink-org.cachebpf.Manager.h"

#define UNIT_HINT "\"systemctl list-units --type=slice,service,scope\" shows the units that are loaded"

const ObjectKind object_kind_unit = {
        .noun = "Unit",
        .method = CACHEBPF_VARLINK_INTERFACE ".ListUnits",
        .parameter = "unit",
        .wrapper = "unit",
        .key = "unit",
        .hint = UNIT_HINT,
        .units = true,
};

const ObjectKind object_kind_stats = {
        .noun = "Unit",
        .method = CACHEBPF_VARLINK_INTERFACE ".GetStats",
        .parameter = "unit",
        .key = "unit",
        .hint = UNIT_HINT,
        .units = true,
};

const ObjectKind object_kind_files = {
        .noun = "Unit",
        .method = CACHEBPF_VARLINK_INTERFACE ".ListFiles",
        .parameter = "unit",
        .key = "unit",
        .hint = UNIT_HINT,
        .units = true,
};

const ObjectKind object_kind_policy = {
        .noun = "Policy",
        .method = CACHEBPF_VARLINK_INTERFACE ".ListPolicies",
        .parameter = "name",
        .key = "name",
        .hint = "\"cachectl policies\" shows the policies that are installed",
};

const char *object_name(const ObjectKind *kind, sd_json_variant *v) {
        assert(kind);

        return json_string(v, kind->key);
}

typedef struct Fetch {
        const ObjectKind *kind;
        GPtrArray *objects;
} Fetch;

static int on_object(sd_json_variant *parameters, void *userdata) {
        Fetch *fetch = ASSERT_PTR(userdata);
        sd_json_variant *object = parameters;

        if (fetch->kind->wrapper)
                object = sd_json_variant_by_key(parameters, fetch->kind->wrapper);

        if (!object || !object_name(fetch->kind, object))
                return log_error_errno(EBADMSG, "cachebpfd answered %s without a \"%s\".",
                                       fetch->kind->method, fetch->kind->key);

        g_ptr_array_add(fetch->objects, sd_json_variant_ref(object));
        return 0;
}

static void object_unref(void *object) {
        sd_json_variant_unref(object);
}

GPtrArray *objects_new(void) {
        return g_ptr_array_new_with_free_func(object_unref);
}

static int compare_objects(const void *a, const void *b, void *userdata) {
        const ObjectKind *kind = ASSERT_PTR(userdata);
        sd_json_variant *const *x = a, *const *y = b;

        return strverscmp(object_name(kind, *x), object_name(kind, *y));
}

/* "name" is NULL for all objects. -ESRCH if the daemon knows none of that name, not logged. */
static int fetch_some(sd_varlink *link, const ObjectKind *kind, const char *name, GPtrArray **ret) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *parameters = NULL;
        _cleanup_ptr_array_ GPtrArray *objects = objects_new();
        int r;

        if (name) {
                r = sd_json_buildo(&parameters, SD_JSON_BUILD_PAIR_STRING(kind->parameter, name));
                if (r == -EINVAL)
                        return -ESRCH; /* not UTF-8: no object has such a name */
                if (r < 0)
                        return log_error_errno(r, "Cannot build the parameters of %s: %m", kind->method);
        }

        r = client_call_more(link, kind->method, parameters, on_object,
                             &(Fetch) { .kind = kind, .objects = objects });
        /* Asked for everything, "there is none" is an answer. */
        if (r < 0 && (r != -ESRCH || name))
                return r;
        if (name && objects->len == 0)
                return -ESRCH;

        g_ptr_array_sort_with_data(objects, compare_objects, (void *) kind);
        *ret = TAKE_PTR(objects);
        return 0;
}

static bool is_pattern(const char *s) {
        return strpbrk(s, "*?[");
}

static char *complete_name(const ObjectKind *kind, const char *name) {
        return kind->units ? unit_name_mangle(name) : g_strdup(name);
}

static bool contains(const ObjectKind *kind, const GPtrArray *objects, sd_json_variant *v) {
        for (guint i = 0; i < objects->len; i++)
                if (streq(object_name(kind, objects->pdata[i]), object_name(kind, v)))
                        return true;

        return false;
}

/* Adds what matches to "to", each object once. Returns -ESRCH if nothing does. */
static int merge_matching(
                const ObjectKind *kind,
                const GPtrArray *from,
                const char *pattern,
                GPtrArray *to) {

        int r = -ESRCH;

        for (guint i = 0; i < from->len; i++) {
                sd_json_variant *v = from->pdata[i];

                if (pattern && fnmatch(pattern, object_name(kind, v), FNM_NOESCAPE) != 0)
                        continue;

                r = 0;
                if (!contains(kind, to, v))
                        g_ptr_array_add(to, sd_json_variant_ref(v));
        }

        return r;
}

int objects_fetch(
                sd_varlink *link,
                const ObjectKind *kind,
                char **names,
                size_t n_names,
                GPtrArray **ret,
                size_t *ret_unknown) {

        _cleanup_ptr_array_ GPtrArray *objects = objects_new(), *all = NULL;
        int r;

        assert(link);
        assert(kind);
        assert(ret);
        assert(ret_unknown);

        *ret_unknown = 0;
        if (n_names == 0)
                return fetch_some(link, kind, /* name= */ NULL, ret);

        for (size_t i = 0; i < n_names; i++) {
                _cleanup_free_ char *name = complete_name(kind, names[i]);
                _cleanup_ptr_array_ GPtrArray *one = NULL;
                bool pattern = is_pattern(name);

                r = 0;
                if (!pattern)
                        r = fetch_some(link, kind, name, &one);
                else if (!all)
                        r = fetch_some(link, kind, /* name= */ NULL, &all);
                if (r >= 0)
                        r = merge_matching(kind, pattern ? all : one, pattern ? name : NULL, objects);
                if (r < 0 && r != -ESRCH)
                        return r;
                if (r >= 0)
                        continue;

                ++*ret_unknown;
                if (pattern)
                        log_error("Nothing matches the pattern \"%s\".", name);
                else
                        log_error("%s \"%s\" is not known to cachebpfd; %s.", kind->noun, name, kind->hint);
        }

        *ret = TAKE_PTR(objects);
        return 0;
}

bool objects_name_matches(const ObjectKind *kind, const char *name, char **names, size_t n_names) {
        for (size_t i = 0; i < n_names; i++) {
                _cleanup_free_ char *pattern = complete_name(kind, names[i]);

                if (fnmatch(pattern, name, FNM_NOESCAPE) == 0)
                        return true;
        }

        return n_names == 0;
}

int objects_fetch_matching(
                sd_varlink *link,
                const ObjectKind *kind,
                char **names,
                size_t n_names,
                GPtrArray **ret) {

        int r;

        r = fetch_some(link, kind, /* name= */ NULL, ret);
        if (r < 0)
                return r;

        /* From the end: removing moves only what was looked at already. */
        for (guint i = (*ret)->len; i-- > 0;)
                if (!objects_name_matches(kind, object_name(kind, (*ret)->pdata[i]), names, n_names))
                        g_ptr_array_remove_index(*ret, i);

        return 0;
}

void objects_keep(const ObjectKind *kind, GPtrArray *objects, const GPtrArray *others) {
        assert(kind);

        for (guint i = objects->len; i-- > 0;)
                if (!contains(kind, others, objects->pdata[i]))
                        g_ptr_array_remove_index(objects, i);
}

int objects_to_json(const GPtrArray *objects, sd_json_variant **ret) {
        assert(ret);

        return sd_json_variant_new_array(ret, (sd_json_variant **) objects->pdata, objects->len);
}
