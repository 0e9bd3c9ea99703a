/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One manager: its files are looked for, watched, and told to the policy. */

#include "internal.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "watch.h"

/* A manager whose directories are busy is not looked at more often. */
#define APPLY_USEC (200 * USEC_PER_MSEC)

/* What did not work is tried again so much later, then twice that, and so on. */
#define RETRY_USEC (2 * USEC_PER_SEC)
#define RETRY_USEC_MAX (300 * USEC_PER_SEC)

FileManager *file_manager_new(UnitFiles *owner, uint64_t id, const char *name) {
        FileManager *m = g_new0(FileManager, 1);

        m->owner = owner;
        m->id = id;
        m->name = g_strdup(name);
        m->said = found_files_new();
        m->not_before = g_get_monotonic_time();
        m->retry_at = UINT64_MAX;
        memset(m->mru, -1, sizeof(m->mru));
        return m;
}

void file_manager_free(void *p) {
        FileManager *m = p;

        file_finder_forget(m);
        file_watches_remove(m->owner->files->watches, m);
        g_hash_table_unref(m->said);
        file_search_done(&m->found);
        cache_files_done(&m->wanted);
        free(m->name);
        free(m);
}

/* ---- speaking */

static void complain(FileManager *m, bool *complained, int error, const char *what) {
        const Unit *u = m->owner->unit;

        if (!*complained)
                log_full_fields(LOG_WARNING, error,
                                LOG_FIELDS(.unit = u->name, .cgroup = u->cgroup, .policy = u->effective,
                                           .manager = m->name),
                                "%s: %s '%s'%s%s.", u->name, what, m->name, error < 0 ? ": " : "",
                                error < 0 ? strerror(-error) : "");
        *complained = true;
}

static void refused(FileManager *m, int error, const char *what) {
        if (error == -ENOENT) /* the control group has gone */
                return;

        m->failed = true;
        complain(m, &m->owner->complained, error, what);
}

/* Returns false if the policy does not take it. */
static bool say_level(FileManager *m, const PolicyFile *file, int level) {
        Unit *u = m->owner->unit;
        const PolicyBackend *b = u->manager->backend;
        int r;

        r = b->set_level(b->userdata, u->link, m->id, file, level);
        if (r < 0)
                refused(m, r, "Its cache policy does not take the priority of a file of");
        return r >= 0;
}

static void say_replacement(FileManager *m) {
        Unit *u = m->owner->unit;
        const PolicyBackend *b = u->manager->backend;

        for (int i = 0; i < (int) CACHE_LEVELS; i++) {
                /* what nothing is said of any more is LRU, as it was in the beginning */
                bool mru = m->wanted.mru[i] > 0;
                int r;

                if (m->wanted.mru[i] < 0 && m->mru[i] <= 0) { /* it is not MRU by what was said here */
                        m->mru[i] = -1;
                        continue;
                }
                if (m->wanted.mru[i] == m->mru[i] && !m->again)
                        continue;

                r = b->set_replacement(b->userdata, u->link, m->id, i + CACHE_LEVEL_MIN, mru);
                if (r >= 0)
                        m->mru[i] = m->wanted.mru[i];
                else
                        refused(m, r, "Its cache policy does not take a CacheLevel= of");
        }
}

/* As the policy has it: programs may have said something else. NULL: that is not known now. */
static GHashTable *read_levels(FileManager *m) {
        g_autoptr(GArray) levels = g_array_new(FALSE, FALSE, sizeof(PolicyFileLevel));
        const Unit *u = m->owner->unit;
        const PolicyBackend *b = u->manager->backend;
        GHashTable *ret;

        if (b->read_levels(b->userdata, u->link, levels) < 0) {
                m->failed = true;
                return NULL;
        }

        ret = found_files_new();
        for (guint i = 0; i < levels->len; i++) {
                const PolicyFileLevel *l = &g_array_index(levels, PolicyFileLevel, i);
                FoundFile *f;

                if (l->manager != m->id)
                        continue;
                f = g_new(FoundFile, 1);
                *f = (FoundFile) { .file = l->file, .level = l->level };
                g_hash_table_replace(ret, &f->file, f);
        }
        return ret;
}

static int level_now(GHashTable *levels, const PolicyFile *file) {
        const FoundFile *f = g_hash_table_lookup(levels, file);

        return f ? f->level : CACHE_LEVEL_DEFAULT;
}

/* With those of which something was said. */
static unsigned count_files(const FileManager *m) {
        unsigned n = g_hash_table_size(m->said);
        GHashTableIter it;
        gpointer p;

        g_hash_table_iter_init(&it, m->found.files);
        while (g_hash_table_iter_next(&it, NULL, &p))
                n += !g_hash_table_contains(m->said, &((FoundFile *) p)->file);
        return n;
}

/* What is no longer found, first: there is not room for any number of files. What may be there nevertheless
 * stays if there is room. */
static void take_back(FileManager *m) {
        g_autoptr(GHashTable) levels = NULL;
        unsigned n = count_files(m);
        GHashTableIter it;
        gpointer p;

        g_hash_table_iter_init(&it, m->said);
        while (g_hash_table_iter_next(&it, NULL, &p)) {
                const FoundFile *said = p;

                if (g_hash_table_contains(m->found.files, &said->file) ||
                    (n <= MANAGER_FILES_MAX && file_search_may_lack(&m->found, said)))
                        continue;
                if (!levels && said->level != CACHE_LEVEL_DEFAULT) {
                        levels = read_levels(m);
                        if (!levels)
                                return;
                }
                if (said->level != CACHE_LEVEL_DEFAULT &&
                    level_now(levels, &said->file) == said->level &&
                    !say_level(m, &said->file, CACHE_LEVEL_DEFAULT) && m->failed)
                        continue;
                g_hash_table_iter_remove(&it);
                n--;
        }
}

/* The default level as well: a program, or a daemon before this one, may have said another one. */
static bool has_to_be_said(FileManager *m, const FoundFile *f, const FoundFile *said, GHashTable **levels) {
        if (said && !m->again)
                return f->level != said->level;
        if (f->level != CACHE_LEVEL_DEFAULT)
                return true;

        if (!*levels)
                *levels = read_levels(m);
        return !*levels || level_now(*levels, &f->file) != CACHE_LEVEL_DEFAULT;
}

static void say_files(FileManager *m) {
        g_autoptr(GHashTable) levels = NULL;
        GHashTableIter it;
        gpointer p;

        take_back(m);
        g_hash_table_iter_init(&it, m->found.files);
        while (g_hash_table_iter_next(&it, NULL, &p)) {
                const FoundFile *f = p;
                FoundFile *said = g_hash_table_lookup(m->said, &f->file);

                if (has_to_be_said(m, f, said, &levels) && !say_level(m, &f->file, f->level))
                        continue;
                if (!said) {
                        said = g_memdup2(f, sizeof(FoundFile));
                        said->path = NULL;
                        g_hash_table_insert(m->said, &said->file, said);
                }
                said->level = f->level;
                g_set_str(&said->path, f->path); /* it may have been renamed */
        }
}

static void schedule_retry(FileManager *m) {
        if (!m->failed && m->found.partial->len == 0 && !m->found.unwatched && !m->found.remote) {
                m->retry_at = UINT64_MAX;
                m->retry_usec = 0;
                return;
        }

        m->retry_usec = m->retry_usec == 0 ? RETRY_USEC : MIN(2 * m->retry_usec, RETRY_USEC_MAX);
        m->retry_at = MAX(g_get_monotonic_time() + m->retry_usec, m->not_before);
}

void file_manager_begin(FileManager *m) {
        uint64_t begin = g_get_monotonic_time();
        int r;

        m->dirty = m->failed = false;
        m->retry_at = UINT64_MAX;
        r = file_finder_start(m);
        if (r < 0)
                file_manager_not_found(m, r, begin);
}

static void complain_of_search(FileManager *m) {
        if (m->found.error < 0)
                complain(m, &m->complained, m->found.error,
                         "Cannot look for all of the files of CacheFiles= of");
        else if (m->found.full)
                complain(m, &m->complained, 0,
                         "There are too many files, or there is too much to search, for CacheFiles= of");
        else if (m->found.unwatched)
                complain(m, &m->complained, 0,
                         "Not all directories can be watched, for CacheFiles= of");
        else if (m->found.overlay)
                complain(m, &m->complained, 0,
                         "Policies do not see files on overlayfs, but those below it: name these, in "
                         "CacheFiles= of");
        else
                m->complained = false;
}

void file_manager_found(FileManager *m, FileSearch *found, uint64_t begin) {
        file_watches_replace(m->owner->files->watches, m, found);
        file_search_done(&m->found);
        m->found = *found;

        complain_of_search(m);
        say_replacement(m);
        say_files(m);
        g_clear_pointer(&m->found.files, g_hash_table_unref); /* what was said of them is kept */
        m->again = m->again && m->failed;
        m->not_before = files_not_before(begin, APPLY_USEC);
        schedule_retry(m);
}

void file_manager_not_found(FileManager *m, int error, uint64_t begin) {
        complain(m, &m->complained, error, error == -ETIMEDOUT ?
                 "A file system does not answer, for CacheFiles= of" :
                 "Cannot look for the files of CacheFiles= of");
        say_replacement(m); /* that needs none */
        m->failed = true;
        m->not_before = files_not_before(begin, APPLY_USEC); /* what fails takes no more of the time */
        schedule_retry(m);
}
