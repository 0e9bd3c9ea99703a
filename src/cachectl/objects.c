/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "config/unit-file.h"
#include "objects.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/string-util.h"
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

const ObjectKind object_kind_policy = {
        .noun = "Policy",
        .method = CACHEBPF_VARLINK_INTERFACE ".ListPolicies",
        .parameter = "name",
        .key = "name",
        .hint = "\"cachectl policies\" shows the policies that are installed",
};

void object_list_done(ObjectList *l) {
        assert(l);

        for (size_t i = 0; i < l->n; i++)
                sd_json_variant_unref(l->items[i]);
        free(l->items);
        *l = (ObjectList) {};
}

static void object_list_remove(ObjectList *l, size_t i) {
        sd_json_variant_unref(l->items[i]);
        memmove(l->items + i, l->items + i + 1, (l->n - i - 1) * sizeof(*l->items));
        l->n--;
}

static int object_list_add(ObjectList *l, sd_json_variant *v) {
        /* Grow by doubling: a power of two is full. */
        if ((l->n & (l->n - 1)) == 0) {
                sd_json_variant **items;

                items = reallocarray(l->items, l->n > 0 ? l->n * 2 : 1, sizeof(*items));
                if (!items)
                        return -ENOMEM;
                l->items = items;
        }

        l->items[l->n++] = sd_json_variant_ref(v);
        return 0;
}

const char *object_name(const ObjectKind *kind, sd_json_variant *v) {
        sd_json_variant *name;

        assert(kind);

        name = sd_json_variant_by_key(v, kind->key);
        return name && sd_json_variant_is_string(name) ? sd_json_variant_string(name) : NULL;
}

typedef struct Fetch {
        const ObjectKind *kind;
        ObjectList list;
} Fetch;

static int on_object(sd_json_variant *parameters, void *userdata) {
        Fetch *fetch = ASSERT_PTR(userdata);
        sd_json_variant *object = parameters;
        int r;

        if (fetch->kind->wrapper)
                object = sd_json_variant_by_key(parameters, fetch->kind->wrapper);

        if (!object || !object_name(fetch->kind, object))
                return log_error_errno(EBADMSG, "cachebpfd answered %s without a \"%s\".",
                                       fetch->kind->method, fetch->kind->key);

        r = object_list_add(&fetch->list, object);
        if (r < 0)
                return log_oom();
        return 0;
}

static int compare_objects(const void *a, const void *b, void *userdata) {
        const ObjectKind *kind = ASSERT_PTR(userdata);
        sd_json_variant *const *x = a, *const *y = b;

        return strverscmp(object_name(kind, *x), object_name(kind, *y));
}

/* "name" is NULL for all objects. -ESRCH if the daemon knows none of that name, not logged. */
static int fetch_some(sd_varlink *link, const ObjectKind *kind, const char *name, ObjectList *ret) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *parameters = NULL;
        Fetch fetch = {
                .kind = kind,
        };
        int r;

        if (name) {
                r = sd_json_buildo(&parameters, SD_JSON_BUILD_PAIR_STRING(kind->parameter, name));
                if (r == -EINVAL)
                        return -ESRCH; /* not UTF-8: no object has such a name */
                if (r < 0)
                        return log_error_errno(r, "Cannot build the parameters of %s: %m", kind->method);
        }

        r = client_call_more(link, kind->method, parameters, on_object, &fetch);
        if (r < 0) {
                object_list_done(&fetch.list);

                /* Asked for everything, "there is none" is an answer. */
                if (r != -ESRCH || name)
                        return r;
        } else if (name && fetch.list.n == 0)
                return -ESRCH;

        if (fetch.list.n > 1)
                qsort_r(fetch.list.items, fetch.list.n, sizeof(*fetch.list.items),
                        compare_objects, (void *) kind);

        *ret = fetch.list;
        return 0;
}

static bool is_pattern(const char *s) {
        return strpbrk(s, "*?[");
}

static char *complete_name(const ObjectKind *kind, const char *name) {
        return kind->units ? unit_name_mangle(name) : strdup(name);
}

static bool object_list_contains(const ObjectKind *kind, const ObjectList *l, sd_json_variant *v) {
        for (size_t i = 0; i < l->n; i++)
                if (streq(object_name(kind, l->items[i]), object_name(kind, v)))
                        return true;

        return false;
}

/* Adds what matches to "ret", each object once. Returns how many matched. */
static int merge_matching(
                const ObjectKind *kind,
                const ObjectList *from,
                const char *pattern,
                ObjectList *ret) {

        int n = 0, r;

        for (size_t i = 0; i < from->n; i++) {
                if (pattern && fnmatch(pattern, object_name(kind, from->items[i]), FNM_NOESCAPE) != 0)
                        continue;

                n++;
                if (object_list_contains(kind, ret, from->items[i]))
                        continue;

                r = object_list_add(ret, from->items[i]);
                if (r < 0)
                        return log_oom();
        }

        return n;
}

int objects_fetch(
                sd_varlink *link,
                const ObjectKind *kind,
                char **names,
                size_t n_names,
                ObjectList *ret,
                size_t *ret_unknown) {

        _cleanup_(object_list_done) ObjectList result = {}, all = {};
        size_t unknown = 0;
        bool have_all = false;
        int r;

        assert(link);
        assert(kind);
        assert(ret);

        if (n_names == 0) {
                r = fetch_some(link, kind, /* name= */ NULL, &result);
                if (r < 0)
                        return r;
        }

        for (size_t i = 0; i < n_names; i++) {
                _cleanup_(object_list_done) ObjectList one = {};
                _cleanup_free_ char *name = NULL;
                bool pattern;

                name = complete_name(kind, names[i]);
                if (!name)
                        return log_oom();

                pattern = is_pattern(name);
                if (!pattern)
                        r = fetch_some(link, kind, name, &one);
                else if (!have_all) {
                        r = fetch_some(link, kind, /* name= */ NULL, &all);
                        have_all = r >= 0;
                }
                if (r < 0 && r != -ESRCH)
                        return r;

                if (r >= 0) {
                        r = merge_matching(kind, pattern ? &all : &one, pattern ? name : NULL, &result);
                        if (r < 0)
                                return r;
                        if (r == 0)
                                r = -ESRCH;
                }
                if (r == -ESRCH) {
                        unknown++;
                        if (pattern)
                                log_error("Nothing matches the pattern \"%s\".", name);
                        else
                                log_error("%s \"%s\" is not known to cachebpfd; %s.",
                                          kind->noun, name, kind->hint);
                }
        }

        *ret = result;
        result = (ObjectList) {};
        if (ret_unknown)
                *ret_unknown = unknown;
        return 0;
}

int objects_name_matches(const ObjectKind *kind, const char *name, char **names, size_t n_names) {
        for (size_t i = 0; i < n_names; i++) {
                _cleanup_free_ char *pattern = complete_name(kind, names[i]);

                if (!pattern)
                        return -ENOMEM;
                if (fnmatch(pattern, name, FNM_NOESCAPE) == 0)
                        return true;
        }

        return n_names == 0;
}

int objects_filter(const ObjectKind *kind, ObjectList *l, char **names, size_t n_names) {
        int r;

        assert(kind);
        assert(l);

        /* From the end: removing moves only what was looked at already. */
        for (size_t i = l->n; i-- > 0;) {
                r = objects_name_matches(kind, object_name(kind, l->items[i]), names, n_names);
                if (r < 0)
                        return r;
                if (r == 0)
                        object_list_remove(l, i);
        }

        return 0;
}

void objects_keep(const ObjectKind *kind, ObjectList *l, char **names, size_t n_names) {
        assert(kind);
        assert(l);

        for (size_t i = l->n; i-- > 0;) {
                bool found = false;

                for (size_t j = 0; j < n_names; j++)
                        found = found || streq(object_name(kind, l->items[i]), names[j]);
                if (!found)
                        object_list_remove(l, i);
        }
}

int objects_to_json(const ObjectList *l, sd_json_variant **ret) {
        assert(l);
        assert(ret);

        return sd_json_variant_new_array(ret, l->items, l->n);
}
