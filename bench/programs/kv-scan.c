/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "bench-util.h"
#include "kv-rocksdb.h"
#include "kv-run.h"
#include "zipf.h"

/* A table of the database: its descriptor in the handle of the scans, and the keys that it holds. */
typedef struct Table {
        int fd;
        char smallest[KV_KEY_SIZE + 1], largest[KV_KEY_SIZE + 1];
} Table;

struct Scans {
        const RunOptions *options;
        Database database;
        Zipf zipf;              /* of where scans begin; never advanced, since threads share it */
        Table *tables;
        size_t n_tables;
};

/* The descriptor of the file of that name, as RocksDB tells it ("/000012.sst"), in this process. */
static int find_descriptor(const char *name) {
        DIR *dir = opendir("/proc/self/fd");
        struct dirent *entry;
        int found = -1;

        if (!dir)
                return log_error(-errno, "/proc/self/fd: %s", strerror(errno));

        while (found < 0 && (entry = readdir(dir))) {
                char path[4096];
                ssize_t n = readlinkat(dirfd(dir), entry->d_name, path, sizeof(path) - 1);

                if (n < (ssize_t) strlen(name))
                        continue;
                path[n] = '\0';
                if (strcmp(path + n - strlen(name), name) == 0)
                        found = atoi(entry->d_name);
        }

        (void) closedir(dir);
        return found >= 0 ? found : log_error(-ENOENT, "no descriptor of the table %s is open", name);
}

static void copy_key(char ret[static KV_KEY_SIZE + 1], const char *key, size_t size) {
        (void) snprintf(ret, KV_KEY_SIZE + 1, "%.*s", (int) size, key);
}

/* Called while the database is open here only: the descriptors are those of the scans.  Only RocksDB, which
 * alone can be open twice, comes here. */
static int find_tables(Scans *scans) {
        const rocksdb_livefiles_t *files = rocksdb_livefiles(rocks_engine(scans->database.engine)->db);
        int n = rocksdb_livefiles_count(files), r = 0;

        scans->tables = calloc((size_t) n, sizeof(Table));
        if (!scans->tables)
                r = log_error(-ENOMEM, "out of memory");

        for (int i = 0; i < n && r >= 0; i++) {
                Table *table = &scans->tables[i];
                const char *key;
                size_t size;

                r = table->fd = find_descriptor(rocksdb_livefiles_name(files, i));
                key = rocksdb_livefiles_smallestkey(files, i, &size);
                copy_key(table->smallest, key, size);
                key = rocksdb_livefiles_largestkey(files, i, &size);
                copy_key(table->largest, key, size);
                scans->n_tables++;
        }

        rocksdb_livefiles_destroy(files);
        return r < 0 ? r : 0;
}

/* To the kernel, about the tables that have keys from first to last. */
static int advise(const Scans *scans, const char *first, const char *last, int advice) {
        for (size_t i = 0; i < scans->n_tables; i++) {
                const Table *table = &scans->tables[i];
                int r;

                if (strcmp(table->largest, first) < 0 || strcmp(table->smallest, last) > 0)
                        continue;
                r = posix_fadvise(table->fd, 0, 0, advice);
                if (r != 0)
                        return log_error(-r, "posix_fadvise: %s", strerror(r));
        }

        return 0;
}

int scans_new(const RunOptions *options, Scans **ret) {
        static const int once[_ADVICE_MAX] = {
                [ADVICE_NOREUSE] = POSIX_FADV_NOREUSE,
                [ADVICE_SEQUENTIAL] = POSIX_FADV_SEQUENTIAL,
        };
        EngineOptions access = options->access;
        Scans *scans;
        int r;

        access.open_files = 0;  /* all tables are opened now, and stay so */
        access.readahead = true;
        scans = calloc(1, sizeof(Scans));
        if (!scans)
                return log_error(-ENOMEM, "out of memory");
        scans->options = options;
        r = database_open(options->engine, options->directory, &access, &scans->database);
        if (r < 0) {
                free(scans);
                return r;
        }

        if (options->scan_length > scans->database.records)
                r = log_error(-EINVAL, "--scan-length=%" PRIu64 ": the database has %" PRIu64 " records",
                              options->scan_length, scans->database.records);
        zipf_init(&scans->zipf, scans->database.records, options->universe ?: scans->database.records,
                  options->theta, options->seed);
        if (r >= 0 && options->scan_advice != ADVICE_NONE)
                r = find_tables(scans);
        if (r >= 0 && once[options->scan_advice] != 0)
                r = advise(scans, "", "\x7f", once[options->scan_advice]);
        if (r < 0) {
                scans_free(scans);
                return r;
        }

        *ret = scans;
        return 0;
}

void scans_free(Scans *scans) {
        database_close(&scans->database);
        free(scans->tables);
        free(scans);
}

/* Where the number-th scan begins: at a record that is as popular with the scans as with the reads. */
static uint64_t first_record(const Scans *scans, uint64_t number) {
        uint64_t last = scans->database.records - scans->options->scan_length, record;
        Zipf zipf = scans->zipf;

        zipf_seed(&zipf, random_numbered(scans->options->seed, number));
        record = zipf_next(&zipf);
        return record < last ? record : last;
}

bool scans_work(void *context, uint64_t number) {
        const Scans *scans = context;
        uint64_t first = first_record(scans, number), length = scans->options->scan_length;
        bool good = database_scan(&scans->database, first, length);

        if (scans->options->scan_advice == ADVICE_DONTNEED) {
                char first_key[KV_KEY_SIZE + 1], last_key[KV_KEY_SIZE + 1];

                kv_key(first_key, first);
                kv_key(last_key, first + length - 1);
                good = advise(scans, first_key, last_key, POSIX_FADV_DONTNEED) >= 0 && good;
        }
        return good;
}
