/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "shared/file-util.h"
#include "shared/string-util.h"
#include "unit-cache.h"

#define MAX_STAT 65536

/* UINT64_MAX: there is no such file, or it says "max". */
static uint64_t read_number(const char *dir, const char *name) {
        g_autofree char *path = g_build_filename(dir, name, NULL), *text = NULL;
        uint64_t n;

        if (!g_file_get_contents(path, &text, NULL, NULL) || safe_atou64(g_strchomp(text), &n) < 0)
                return UINT64_MAX;
        return n;
}

/* The memory that a group may still take; 0: it is at its limit. */
static uint64_t room_below_limit(const char *dir) {
        uint64_t limit = MIN(read_number(dir, "memory.high"), read_number(dir, "memory.max"));
        uint64_t current = read_number(dir, "memory.current");

        if (limit == UINT64_MAX)
                return UINT64_MAX;
        return current < limit ? limit - current : 0;
}

typedef struct Stat {
        uint64_t file, shmem;
} Stat;

static int on_stat(const char *key, const char *value, void *userdata) {
        Stat *s = userdata;

        if (streq(key, "file"))
                (void) safe_atou64(value, &s->file);
        else if (streq(key, "shmem"))
                (void) safe_atou64(value, &s->shmem);
        return 0;
}

int unit_cache_read(const char *path, uint32_t level, uint64_t available, UnitCache *ret) {
        g_autofree char *stat = g_build_filename(path, "memory.stat", NULL), *text = NULL;
        g_autofree char *dir = g_strdup(path);
        uint64_t room = UINT64_MAX, current = read_number(path, "memory.current");
        bool limited;
        Stat s = {};
        int r;

        assert(path);
        assert(ret);

        r = read_full_file(stat, MAX_STAT, &text, NULL);
        if (r < 0)
                return r;

        (void) flat_keyed_foreach(text, on_stat, &s);
        s.file -= MIN(s.shmem, s.file); /* has no file that it could be read from again */

        for (; level > 0; level--) {
                char *above = g_path_get_dirname(dir);

                room = MIN(room, room_below_limit(dir));
                g_free(dir);
                dir = above;
        }

        /* what is cached can be had, too */
        limited = room <= available && s.file <= available - room;
        *ret = (UnitCache) {
                .bytes = s.file + (limited ? room : 0),
                .other = current != UINT64_MAX && current > s.file ? current - s.file : 0,
                .limited = limited,
        };
        return 0;
}
