/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <glib.h>
#include <limits.h>
#include <linux/bpf.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "file-util.h"
#include "learned-file.h"
#include "string-util.h"

#define MAGIC "cachebpf"
#define VERSION 1U
/* On a machine of the other byte order it reads as something else. */
#define ORDER 0x01020304U
/* A file that is being written has the name of the one it is to replace between these two. */
#define NEW_PREFIX ".new-"
#define NAME_LENGTH_MAX (NAME_MAX - STRLEN(NEW_PREFIX))

typedef struct Header {
        char magic[8];
        uint32_t order;
        uint32_t version;
        char label[LEARNED_LABEL_SIZE];
        LearnedShape shape;
        uint32_t n_entries;
        uint32_t unused;
        uint8_t sum[LEARNED_SUM_SIZE]; /* of header and entries, while this is 0 */
} Header;

static_assert(sizeof(Header) == 104, "the format has no gaps");

static bool shape_is_valid(const LearnedShape *s) {
        return s->key_size > 0 && s->value_size > 0 && s->max_entries > 0 &&
               learned_entry_size(s) <= LEARNED_SIZE_MAX &&
               s->max_entries <= LEARNED_SIZE_MAX / learned_entry_size(s);
}

int learned_init(Learned *l, const char *label, const LearnedShape *shape) {
        if (!shape_is_valid(shape))
                return -E2BIG;
        if (strlen(label) >= LEARNED_LABEL_SIZE)
                return -ENAMETOOLONG;

        *l = (Learned) {
                .shape = *shape,
                .entries = g_malloc(shape->max_entries * learned_entry_size(shape)),
        };
        memcpy(l->label, label, strlen(label));
        return 0;
}

void learned_done(Learned *l) {
        g_free(l->entries);
        *l = (Learned) {};
}

bool learned_shape_fits(const LearnedShape *a, const LearnedShape *b) {
        return a->type == b->type && a->key_size == b->key_size && a->value_size == b->value_size &&
               (a->type != BPF_MAP_TYPE_ARRAY || a->max_entries == b->max_entries);
}

/* ---- checksum */

static void sum_of(const Header *h, const void *entries, size_t size, uint8_t ret[static LEARNED_SUM_SIZE]) {
        g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
        Header blank = *h;
        gsize n = LEARNED_SUM_SIZE;

        memset(blank.sum, 0, sizeof(blank.sum));
        g_checksum_update(sum, (const guchar *) &blank, sizeof(blank));
        if (size > 0)
                g_checksum_update(sum, entries, (gssize) size);
        g_checksum_get_digest(sum, ret, &n);
}

static Header make_header(const Learned *l) {
        Header h = {
                .magic = MAGIC,
                .order = ORDER,
                .version = VERSION,
                .shape = l->shape,
                .n_entries = l->n_entries,
        };

        memcpy(h.label, l->label, sizeof(h.label));
        sum_of(&h, l->entries, l->n_entries * learned_entry_size(&l->shape), h.sum);
        return h;
}

void learned_sum(const Learned *l, uint8_t ret[static LEARNED_SUM_SIZE]) {
        Header h = make_header(l);

        memcpy(ret, h.sum, LEARNED_SUM_SIZE);
}

void learned_seal(void *data, size_t size) {
        Header h;

        if (size < sizeof(h))
                return;

        memcpy(&h, data, sizeof(h));
        sum_of(&h, (const uint8_t *) data + sizeof(h), size - sizeof(h), h.sum);
        memcpy(data, &h, sizeof(h));
}

/* ---- reading */

int learned_parse(const void *data, size_t size, const char *label, Learned *ret) {
        uint8_t sum[LEARNED_SUM_SIZE];
        Header h;
        int r;

        if (size < sizeof(h))
                return -EBADMSG;
        memcpy(&h, data, sizeof(h));
        if (memcmp(h.magic, MAGIC, sizeof(h.magic)) != 0)
                return -EBADMSG;
        if (h.order != ORDER || h.version != VERSION)
                return -EPROTONOSUPPORT;

        if (h.label[LEARNED_LABEL_SIZE - 1] || !shape_is_valid(&h.shape) ||
            h.n_entries > h.shape.max_entries ||
            size - sizeof(h) != h.n_entries * learned_entry_size(&h.shape))
                return -EBADMSG;
        sum_of(&h, (const uint8_t *) data + sizeof(h), size - sizeof(h), sum);
        if (memcmp(sum, h.sum, sizeof(sum)) != 0)
                return -EBADMSG;
        if (!streq(h.label, label))
                return -EMEDIUMTYPE;

        r = learned_init(ret, h.label, &h.shape);
        if (r < 0)
                return r;

        ret->n_entries = h.n_entries;
        memcpy(ret->entries, (const uint8_t *) data + sizeof(h), size - sizeof(h));
        return 0;
}

const char *learned_strerror(int error) {
        switch (error) {
        case -EBADMSG:
                return "is damaged";
        case -EPROTONOSUPPORT:
                return "has another version";
        case -EMEDIUMTYPE:
                return "is of another policy";
        default:
                return strerror(abs(error));
        }
}

/* Nobody else has anything to do with the directory; what is no ordinary file there is damage, too. */
static int read_file(int dir_fd, const char *name, char **ret, size_t *ret_size) {
        _cleanup_close_ int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK |
                                        O_NOFOLLOW);
        g_autofree char *data = NULL;
        struct stat st;
        size_t n = 0;

        if (fd < 0)
                return errno == ELOOP ? -EBADMSG : -errno;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) || st.st_size > (off_t) (LEARNED_SIZE_MAX + sizeof(Header)))
                return -EBADMSG;

        data = g_malloc((size_t) st.st_size + 1);
        while (n < (size_t) st.st_size) {
                ssize_t l = read(fd, data + n, (size_t) st.st_size - n);

                if (l < 0 && errno == EINTR)
                        continue;
                if (l < 0)
                        return -errno;
                if (l == 0)
                        break;
                n += (size_t) l;
        }

        *ret = TAKE_PTR(data);
        *ret_size = n;
        return 0;
}

int learned_load(int dir_fd, const char *name, const char *label, Learned *ret) {
        g_autofree char *data = NULL;
        size_t size = 0;
        int r;

        r = read_file(dir_fd, name, &data, &size);
        return r < 0 ? r : learned_parse(data, size, label, ret);
}

/* ---- writing */

char *learned_file_name(const char *unit) {
        char *name = g_uri_escape_string(unit, ":@\\", /* allow_utf8= */ FALSE);

        /* "." and "..", which are no units, and what looks like a file that is being written */
        if (name[0] == '.') {
                g_autofree char *old = name;

                name = g_strconcat("%2E", old + 1, NULL);
        }
        if (isempty(name) || strlen(name) > NAME_LENGTH_MAX) {
                g_free(name);
                name = g_compute_checksum_for_string(G_CHECKSUM_SHA256, unit, -1);
        }
        return name;
}

static int write_file(int fd, const Learned *l) {
        Header h = make_header(l);
        int r;

        r = write_all(fd, &h, sizeof(h));
        if (r >= 0)
                r = write_all(fd, l->entries, l->n_entries * learned_entry_size(&l->shape));
        return r >= 0 && fsync(fd) < 0 ? -errno : r;
}

int learned_save(int dir_fd, const char *name, const Learned *l) {
        g_autofree char *new = g_strconcat(NEW_PREFIX, name, NULL);
        _cleanup_close_ int fd = -EBADF;
        int r;

        /* one that a killed writer left, maybe not by a name only */
        r = learned_remove(dir_fd, new);
        if (r < 0)
                return r;

        fd = openat(dir_fd, new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return -errno;

        r = write_file(fd, l);
        if (r >= 0 && renameat(dir_fd, new, dir_fd, name) < 0)
                r = -errno;
        if (r < 0) {
                (void) unlinkat(dir_fd, new, 0);
                return r;
        }

        return fsync(dir_fd) < 0 ? -errno : 0;
}

int learned_remove(int dir_fd, const char *name) {
        return unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

int learned_forget(int dir_fd, const char *name, bool *ret_existed) {
        g_autofree char *new = g_strconcat(NEW_PREFIX, name, NULL);
        int r;

        *ret_existed = unlinkat(dir_fd, name, 0) >= 0;
        if (!*ret_existed && errno != ENOENT)
                return -errno;

        r = learned_remove(dir_fd, new);
        if (r < 0)
                return r;
        return fsync(dir_fd) < 0 ? -errno : 0;
}

static int open_entries(int dir_fd, DIR **ret) {
        /* not dup(): that would share the position in the directory */
        int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;

        *ret = fd < 0 ? NULL : fdopendir(fd);
        if (*ret)
                return 0;
        r = -errno;
        safe_close(fd);
        return r;
}

int learned_clean(int dir_fd) {
        _cleanup_closedir_ DIR *d = NULL;
        struct dirent *de;
        int r, ret;

        ret = open_entries(dir_fd, &d);
        if (ret < 0)
                return ret;

        while ((de = readdir(d)))
                if (startswith(de->d_name, NEW_PREFIX)) {
                        r = learned_remove(dir_fd, de->d_name);
                        if (r < 0 && ret == 0)
                                ret = r;
                }
        return ret;
}

typedef struct Entry {
        char *name;
        uint64_t size;
        struct timespec written;
} Entry;

static void entry_clear(void *p) {
        g_free(((Entry *) p)->name);
}

static int compare_newest_first(const void *a, const void *b) {
        const struct timespec *x = &((const Entry *) a)->written, *y = &((const Entry *) b)->written;

        if (x->tv_sec != y->tv_sec)
                return x->tv_sec > y->tv_sec ? -1 : 1;
        return x->tv_nsec > y->tv_nsec ? -1 : x->tv_nsec < y->tv_nsec;
}

int learned_limit(int dir_fd, uint64_t size) {
        g_autoptr(GArray) entries = g_array_new(FALSE, FALSE, sizeof(Entry));
        _cleanup_closedir_ DIR *d = NULL;
        struct dirent *de;
        uint64_t sum = 0;
        int r, ret;

        g_array_set_clear_func(entries, entry_clear);
        ret = open_entries(dir_fd, &d);
        if (ret < 0)
                return ret;

        while ((de = readdir(d))) {
                struct stat st;

                if (fstatat(dir_fd, de->d_name, &st, AT_SYMLINK_NOFOLLOW) >= 0 && S_ISREG(st.st_mode))
                        g_array_append_val(entries, ((const Entry) {
                                .name = g_strdup(de->d_name),
                                .size = (uint64_t) st.st_size,
                                .written = st.st_mtim,
                        }));
        }

        g_array_sort(entries, compare_newest_first);
        for (guint i = 0; i < entries->len; i++) {
                const Entry *e = &g_array_index(entries, Entry, i);

                sum += e->size;
                if (sum <= size)
                        continue;
                r = learned_remove(dir_fd, e->name);
                if (r < 0 && ret == 0)
                        ret = r;
        }
        return ret;
}
