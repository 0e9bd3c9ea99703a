/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

#include "shared/cleanup.h"
#include "shared/string-util.h"

#define POLICY_OBJECT_SUFFIX ".bpf.o"
#define POLICIES_MAX 256U
#define POLICY_DIGEST_LENGTH 16U

/* A documented constant of a policy: a "const volatile" integer with decl tags. */
typedef struct PolicyTunable {
        char *name;
        char *type;
        char *unit;
        char *doc;
        char *source;       /* where the default comes from, if not from where the policy does */
        size_t size;        /* in bytes */
        bool is_signed;
        int64_t default_value;
        bool has_range;
        int64_t min;
        int64_t max;
} PolicyTunable;

/* Counters of one policy; and how long the name of one can be, and its unit. */
#define POLICY_COUNTERS_MAX 32U
#define POLICY_COUNTER_NAME_MAX 48U
/* With this in front they are among those of the kernel, which has none of such names. */
#define POLICY_COUNTER_PREFIX "policy_"

/* What a policy counts: a variable in a section of its own, with decl tags. */
typedef struct PolicyCounter {
        char *name;
        char *unit;         /* NULL: none */
        char *doc;
        size_t offset;      /* in the section */
} PolicyCounter;

/* One policy object on disk. */
typedef struct Policy {
        char *name;         /* the file's name without its suffix: what CachePolicy= says */
        char *path;
        char *description;
        char *source;
        char *problem;      /* why it cannot be used, one sentence; NULL if it can */
        GBytes *object;     /* the file as it was read: what is described here is what gets loaded */
        char digest[POLICY_DIGEST_LENGTH + 1]; /* of that; empty if it could not be read */
        GArray *tunables;   /* of PolicyTunable */
        GArray *counters;   /* of PolicyCounter, as they are in the object; who runs it keeps a reference */
        bool reconfigures;  /* asks for its own program to be run now and then, see daemon/kernel/events.h */
        bool listens;       /* to what programs say of their files, see daemon/kernel/advice.h */
        bool learns;        /* something to be kept, see daemon/kernel/learned-map.h, */
        uint32_t learned_version; /* … for those to whom it means the same */
        bool knows_threads; /* can tell threads by their class */
        bool filters;       /* has the common admission filter, which can be left out, */
        bool plans;         /* … and the common plan_readahead(), too */
        unsigned n_globs;   /* CacheScanThreads=: so many patterns at most, */
        size_t glob_size;   /* each of so many bytes, with its NUL */
} Policy;

/* One that nothing is known of but name and file; see policy_read_object(). */
Policy *policy_new(const char *name, const char *path);
Policy *policy_free(Policy *p);
DEFINE_TRIVIAL_CLEANUP_FUNC(Policy *, policy_free);

/* Where policies are looked for, from highest to lowest priority. */
extern const char *const policy_directories[];

/* Finds the objects in the directories and reads what they tell about themselves; loads nothing into the
 * kernel. Returns an array of Policy sorted by name; a broken object is in it, with its problem. */
GPtrArray *policies_load(const char *const *dirs);
const Policy *policies_find(GPtrArray *policies, const char *name);
PolicyTunable *policy_find_tunable(const Policy *p, const char *name);
PolicyCounter *policy_find_counter(const Policy *p, const char *name);

/* describe.c: reads the object at p->path and fills in everything but name and path. */
void policy_read_object(Policy *p);
