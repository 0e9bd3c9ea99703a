/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a policy object tells about itself, in BTF decl tags and by what is in it. */

#include <bpf/btf.h>

#include "catalog.h"
#include "object.h"
#include "shared/cleanup.h"
#include "shared/learned-file.h"
#include "shared/string-util.h"

#define TAG_PREFIX "cachebpf:"

/* The type of a variable as its programmer called it ("__u32"). */
static const char *type_name(const struct btf *btf, const struct btf_type *var) {
        const struct btf_type *t = btf__type_by_id(btf, var->type);

        while (t && btf_is_mod(t))
                t = btf__type_by_id(btf, t->type);

        return t ? btf__name_by_offset(btf, t->name_off) : NULL;
}

static int64_t read_integer(const void *p, size_t size, bool is_signed) {
        union {
                int8_t s8;
                int16_t s16;
                int32_t s32;
                int64_t s64;
                uint8_t u8;
                uint16_t u16;
                uint32_t u32;
                uint64_t u64;
        } v = {};

        memcpy(&v, p, MIN(size, sizeof(v)));

        switch (size) {
        case 1:
                return is_signed ? v.s8 : v.u8;
        case 2:
                return is_signed ? v.s16 : v.u16;
        case 4:
                return is_signed ? v.s32 : (int64_t) v.u32;
        default:
                return is_signed ? v.s64 : (int64_t) MIN(v.u64, (uint64_t) INT64_MAX);
        }
}

/* "MIN..MAX" */
static bool parse_range(const char *s, PolicyTunable *t) {
        const char *dots = strstr(s, "..");
        g_autofree char *min = dots ? g_strndup(s, dots - s) : NULL;

        t->has_range = min && safe_atoi64(min, &t->min) >= 0 && safe_atoi64(dots + 2, &t->max) >= 0;
        return t->has_range;
}

/* The tunable of that variable, made on first use; NULL if the variable cannot be one. */
static PolicyTunable *get_tunable(Policy *p, struct bpf_object *obj, int var_id, const char *name) {
        const struct btf *btf = bpf_object__btf(obj);
        const struct btf_type *var = btf__type_by_id(btf, var_id), *t;
        PolicyTunable tunable = {}, *known = policy_find_tunable(p, name);
        void *value;

        if (known)
                return known;

        if (policy_object_find_constant(obj, name, &t, &value, &tunable.size) < 0 || !btf_is_int(t))
                return NULL;

        tunable.is_signed = btf_int_encoding(t) & BTF_INT_SIGNED;
        tunable.default_value = read_integer(value, tunable.size, tunable.is_signed);
        tunable.name = g_strdup(name);
        tunable.type = g_utf8_make_valid(strna(type_name(btf, var)), -1);
        g_array_append_val(p->tunables, tunable);
        return &g_array_index(p->tunables, PolicyTunable, p->tunables->len - 1);
}

/* ---- counters */

/* What can be a part of a metric's name. */
static bool is_word(const char *s) {
        return *s >= 'a' && *s <= 'z' && strlen(s) <= POLICY_COUNTER_NAME_MAX &&
                !s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_")];
}

/* The first of what is wrong is told. */
static void bad_counter(Policy *p, const char *name, const char *why) {
        g_autofree char *escaped = g_strescape(name, NULL); /* a C compiler does not have to be its author */

        if (!p->problem)
                p->problem = g_strdup_printf("%s: the counter '%s' %s", p->path, escaped, why);
}

static bool is_u64(const struct btf *btf, const struct btf_type *var) {
        const struct btf_type *t = btf__type_by_id(btf, var->type);

        while (t && (btf_is_mod(t) || btf_is_typedef(t)))
                t = btf__type_by_id(btf, t->type);

        return t && btf_is_int(t) && t->size == sizeof(uint64_t) && !(btf_int_encoding(t) & BTF_INT_SIGNED);
}

static void add_counter(Policy *p, const struct btf *btf, const struct btf_var_secinfo *v, size_t size) {
        const struct btf_type *var = btf__type_by_id(btf, v->type);
        const char *name = strempty(btf__name_by_offset(btf, var->name_off));
        PolicyCounter counter = { .offset = v->offset };

        if (!btf_is_var(var))
                return bad_counter(p, name, "is no variable");
        if (!is_word(name))
                return bad_counter(p, name, "is not named by small letters, digits and '_', 48 at most");
        if (policy_find_counter(p, name))
                return bad_counter(p, name, "is declared twice");
        if (!is_u64(btf, var))
                return bad_counter(p, name, "is not a __u64");
        if (v->offset % sizeof(uint64_t) || (uint64_t) v->offset + sizeof(uint64_t) > size)
                return bad_counter(p, name, "is not where one can be");
        if (p->counters->len >= POLICY_COUNTERS_MAX)
                return bad_counter(p, name, "is one too many: a policy can have 32");

        counter.name = g_strdup(name);
        g_array_append_val(p->counters, counter);
}

/* All variables of the section, whether they have tags or not: who puts one there means to count. */
static void read_counters(Policy *p, struct bpf_object *obj) {
        const struct btf *btf = bpf_object__btf(obj);
        int id = btf__find_by_name_kind(btf, POLICY_COUNTERS_MAP, BTF_KIND_DATASEC);
        struct bpf_map *map = bpf_object__find_map_by_name(obj, POLICY_COUNTERS_MAP);
        const struct btf_type *section = id < 0 || !map ? NULL : btf__type_by_id(btf, id);

        for (uint32_t i = 0; section && i < btf_vlen(section); i++)
                add_counter(p, btf, btf_var_secinfos(section) + i, bpf_map__value_size(map));
}

/* "a" in "b_c" is not told from "a_b" in "c". */
static bool is_same_metric(const PolicyCounter *a, const PolicyCounter *b) {
        g_autofree char *x = g_strjoin("_", a->name, a->unit, NULL),
                        *y = g_strjoin("_", b->name, b->unit, NULL);

        return streq(x, y);
}

static void check_metrics(Policy *p) {
        for (guint i = 0; i < p->counters->len; i++)
                for (guint j = 0; j < i; j++)
                        if (is_same_metric(&g_array_index(p->counters, PolicyCounter, i),
                                           &g_array_index(p->counters, PolicyCounter, j)))
                                bad_counter(p, g_array_index(p->counters, PolicyCounter, i).name,
                                            "is, with its unit, the same metric as another one");
}

/* Known when the tags are. */
static void check_units(Policy *p) {
        for (guint i = 0; i < p->counters->len; i++) {
                PolicyCounter *c = &g_array_index(p->counters, PolicyCounter, i);

                if (isempty(c->unit))
                        c->unit = mfree(c->unit);
                else if (!is_word(c->unit))
                        bad_counter(p, c->name, "has a unit that is not of small letters, digits and '_'");
        }
        check_metrics(p);
}

/* ---- tags */

static void set_text(const char *tag, const char *key, char **text) {
        const char *value = startswith(tag, key);

        if (value)
                g_set_str(text, value);
}

static void apply_tag(Policy *p, struct bpf_object *obj, const char *ops_name, int var_id, const char *tag) {
        const struct btf *btf = bpf_object__btf(obj);
        const struct btf_type *var = btf__type_by_id(btf, var_id);
        const char *name, *range;
        PolicyCounter *c;
        PolicyTunable *t;

        if (!var || !btf_is_var(var))
                return;
        name = btf__name_by_offset(btf, var->name_off);
        if (!utf8_is_valid_n(name, strlen(name))) /* no C compiler wrote that */
                return;

        if (streq(name, ops_name)) {
                set_text(tag, "description=", &p->description);
                set_text(tag, "source=", &p->source);
                return;
        }
        if (startswith(tag, "description="))
                return;

        c = policy_find_counter(p, name);
        if (c) {
                set_text(tag, "unit=", &c->unit);
                set_text(tag, "doc=", &c->doc);
                return;
        }

        t = get_tunable(p, obj, var_id, name);
        if (!t)
                return;

        set_text(tag, "unit=", &t->unit);
        set_text(tag, "doc=", &t->doc);
        set_text(tag, "source=", &t->source);
        range = startswith(tag, "range=");
        if (range && !parse_range(range, t) && !p->problem)
                p->problem = g_strdup_printf("%s: the range '%s' of tunable %s is not MIN..MAX",
                                             p->path, range, name);
}

/* What is in other maps, or in larger ones, nobody keeps. */
static void read_learning(Policy *p, struct bpf_object *obj) {
        struct bpf_map *map = bpf_object__find_map_by_name(obj, POLICY_LEARNED_MAP);
        enum bpf_map_type type = map ? bpf_map__type(map) : BPF_MAP_TYPE_UNSPEC;
        uint64_t size = map ? (uint64_t) bpf_map__key_size(map) + bpf_map__value_size(map) : 0;
        const struct btf_type *t;
        size_t constant_size;
        void *version;

        if (!map)
                return;

        p->learns = (type == BPF_MAP_TYPE_ARRAY || type == BPF_MAP_TYPE_HASH ||
                     type == BPF_MAP_TYPE_LRU_HASH) && size > 0 && bpf_map__max_entries(map) > 0 &&
                bpf_map__max_entries(map) <= LEARNED_SIZE_MAX / size;
        if (!p->learns && !p->problem)
                p->problem = g_strdup_printf("%s: its map " POLICY_LEARNED_MAP " is neither an array nor a "
                                             "hash of at most %u MiB", p->path, LEARNED_SIZE_MAX >> 20);

        if (policy_object_find_constant(obj, POLICY_LEARNED_VERSION, &t, &version, &constant_size) >= 0 &&
            constant_size == sizeof(p->learned_version))
                memcpy(&p->learned_version, version, sizeof(p->learned_version));
}

/* What it can do besides evicting. */
static void read_abilities(Policy *p, struct bpf_object *obj, struct bpf_map *ops) {
        struct bpf_map *threads = bpf_object__find_map_by_name(obj, POLICY_THREADS_MAP);
        const struct btf_type *t;
        size_t size;
        void *globs;

        p->listens = policy_object_find_say(obj);
        p->filters = policy_object_find_filter(obj, ops, NULL);
        p->plans = policy_object_find_plan(obj, ops, NULL);
        /* What only has the name is the object's own affair. */
        p->knows_threads = threads && bpf_map__type(threads) == BPF_MAP_TYPE_TASK_STORAGE &&
                bpf_map__value_size(threads) == sizeof(uint32_t);

        read_learning(p, obj);

        if (policy_object_find_constant(obj, POLICY_SCAN_THREADS, &t, &globs, &size) >= 0 &&
            btf_is_array(t) &&
            btf_array(t)->nelems > 0) {
                p->n_globs = btf_array(t)->nelems;
                p->glob_size = size / p->n_globs;
        }

        if (!bpf_object__find_map_by_name(obj, POLICY_EVENTS_MAP))
                return;

        p->reconfigures = policy_object_find_reconfigure(obj);
        if (!p->reconfigures && !p->problem)
                p->problem = g_strdup_printf("%s: it has a map " POLICY_EVENTS_MAP " and not one "
                                             "SEC(\"syscall\") program NAME" POLICY_RECONFIGURE_SUFFIX,
                                             p->path);
}

static void set_digest(Policy *p) {
        g_autofree char *sum = g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, p->object);

        memcpy(p->digest, sum, POLICY_DIGEST_LENGTH);
}

void policy_read_object(Policy *p) {
        _cleanup_(bpf_object__closep) struct bpf_object *obj = NULL;
        struct bpf_map *ops;
        const struct btf *btf;
        int r;

        assert(p);

        r = policy_object_read(p->path, &p->object, &p->problem);
        if (r >= 0) {
                set_digest(p);
                r = policy_object_open(p->path, p->object, &obj, &ops, &p->problem);
        }
        if (r < 0)
                return;

        read_counters(p, obj);
        btf = bpf_object__btf(obj);
        for (uint32_t id = 1; id < btf__type_cnt(btf); id++) {
                const struct btf_type *t = btf__type_by_id(btf, id);
                g_autofree char *text = NULL;
                const char *tag;

                if (!btf_is_decl_tag(t) || btf_decl_tag(t)->component_idx != -1)
                        continue;

                /* Whoever wrote the object chose the bytes; where they are shown, text is UTF-8. */
                text = g_utf8_make_valid(btf__name_by_offset(btf, t->name_off), -1);
                tag = startswith(text, TAG_PREFIX);
                if (tag)
                        apply_tag(p, obj, bpf_map__name(ops), t->type, tag);
        }

        check_units(p);
        read_abilities(p, obj, ops);
}
