/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "cgroup.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"

#define CGROUP_FILE_MAX (64U * 1024U)

static_assert(sizeof(ino_t) == sizeof(uint64_t), "a control group's id is its 64-bit inode number");

void kernel_policy_done(KernelPolicy *p) {
        free(p->name);
        free(p->ejected);
        *p = (KernelPolicy) {};
}

/* Of a control group without a file of the memory controller: whether it never had one. While one is removed
 * the controllers' files go first, then those that each control group has, and the directory last. */
static bool lacks_memory_controller(int fd) {
        _cleanup_free_ char *text = NULL;
        g_auto(GStrv) controllers = NULL;

        if (read_full_file_at(fd, "cgroup.controllers", CGROUP_FILE_MAX, &text, NULL) < 0)
                return false;

        controllers = g_strsplit_set(text, " \n", -1);
        return !g_strv_contains((const char *const *) controllers, "memory");
}

/* The directory, if it is still that of the control group. */
static int open_directory(const char *root, const char *path, uint64_t id) {
        g_autofree char *dir = g_strconcat(root, path, NULL);
        _cleanup_close_ int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (id != 0 && st.st_ino != id)
                return -ENOENT;
        return TAKE_FD(fd);
}

static int cgroup_read_file(const char *root, const char *path, uint64_t id, const char *name, char **ret) {
        _cleanup_close_ int fd = open_directory(root, path, id);
        int r;

        if (fd < 0)
                return fd;

        r = read_full_file_at(fd, name, CGROUP_FILE_MAX, ret, NULL);
        if (r == -ENODEV) /* the directory was removed after we opened it */
                return -ENOENT;
        if (r == -ENOENT) /* O_PATH keeps a removed directory open: tell a missing file from that */
                return lacks_memory_controller(fd) ? -EOPNOTSUPP : -ENOENT;

        return r;
}

/* "NAME id N: REASON" */
static void parse_ejected(const char *value, KernelPolicy *p) {
        const char *id = strstr(value, " id "), *reason = id ? strstr(id, ": ") : NULL;
        g_autofree char *digits = NULL;

        if (!reason)
                return;

        id += strlen(" id ");
        digits = g_strndup(id, reason - id);
        if (safe_atou64(digits, &p->ejected_id) >= 0)
                g_set_str(&p->ejected, reason + strlen(": "));
}

static int parse_policy_line(const char *key, const char *value, void *userdata) {
        KernelPolicy *p = ASSERT_PTR(userdata);
        uint64_t u;

        if (streq(key, "policy"))
                g_set_str(&p->name, streq(value, "none") ? NULL : value);
        else if (streq(key, "ejected"))
                parse_ejected(value, p);
        else if (safe_atou64(value, &u) < 0) /* keys of a later kernel interface may hold anything */
                return 0;
        else if (streq(key, "id"))
                p->id = u;
        else if (streq(key, "cgroup"))
                p->cgroup_id = u;
        else if (streq(key, "inherited"))
                p->inherited = u > 0;
        else if (streq(key, "updates"))
                p->updates = u;

        return 0;
}

int cgroup_read_policy(const char *root, const char *path, uint64_t id, KernelPolicy *ret) {
        _cleanup_free_ char *text = NULL;
        int r;

        r = cgroup_read_file(root, path, id, "memory.cachebpf.policy", &text);
        if (r < 0)
                return r;

        *ret = (KernelPolicy) {};
        return flat_keyed_foreach(text, parse_policy_line, ret);
}

int cgroup_stat_foreach(const char *root, const char *path, uint64_t id, flat_keyed_func_t func,
                        void *userdata) {
        _cleanup_free_ char *text = NULL;
        int r;

        r = cgroup_read_file(root, path, id, "memory.cachebpf.stat", &text);
        if (r < 0)
                return r;

        return flat_keyed_foreach(text, func, userdata);
}

/* ---- sample */

#define SAMPLE_FILE "memory.cachebpf.sample"

int cgroup_read_sample(const char *root, const char *path, uint64_t id, uint64_t *ret) {
        _cleanup_free_ char *text = NULL;
        int r;

        r = cgroup_read_file(root, path, id, SAMPLE_FILE, &text);
        return r < 0 ? r : safe_atou64(strstrip(text), ret);
}

int cgroup_write_sample(const char *root, const char *path, uint64_t id, uint64_t one_in) {
        _cleanup_close_ int dir = open_directory(root, path, id), fd = -EBADF;
        char text[DECIMAL_STR_MAX(one_in)];
        int r;

        if (dir < 0)
                return dir;
        fd = openat(dir, SAMPLE_FILE, O_WRONLY | O_TRUNC | O_CLOEXEC);
        if (fd < 0)
                return -errno;

        (void) snprintf(text, sizeof(text), "%" PRIu64, one_in);
        r = write_all(fd, text, strlen(text));
        return r == -ENODEV ? -ENOENT : r; /* the directory was removed after we opened it */
}

int cgroup_join(const char *root, const char *path, uint64_t id) {
        _cleanup_close_ int dir = open_directory(root, path, id), fd = -EBADF;

        if (dir < 0)
                return dir;
        fd = openat(dir, "cgroup.procs", O_WRONLY | O_CLOEXEC);
        return fd < 0 ? -errno : write_all(fd, "0", 1);
}

bool cgroup_is_delegated(const char *root, const char *path, uint64_t id) {
        _cleanup_close_ int dir = open_directory(root, path, id);
        g_autofree char *link = g_strdup_printf("/proc/self/fd/%i", dir);
        char value[8]; /* "1" */

        return dir >= 0 && getxattr(link, "user.delegate", value, sizeof(value)) > 0 && value[0] == '1';
}

bool cgroup_has_others(const char *root, const char *path, uint64_t id) {
        _cleanup_free_ char *text = NULL;

        return cgroup_read_file(root, path, id, "cgroup.procs", &text) < 0 || strchr(strstrip(text), '\n');
}

/* ---- limits */

/* UINT64_MAX for "max", and for a file that is not there, as in the root. */
static uint64_t read_number(const char *root, const char *path, const char *name) {
        _cleanup_free_ char *text = NULL;
        uint64_t n;

        if (cgroup_read_file(root, path, /* id= */ 0, name, &text) < 0 ||
            safe_atou64(strstrip(text), &n) < 0)
                return UINT64_MAX;
        return n;
}

static uint64_t read_rest(const char *root, const char *path, const char *name, uint64_t limit) {
        uint64_t current;

        if (limit == UINT64_MAX)
                return UINT64_MAX;

        current = read_number(root, path, name);
        return current >= limit ? 0 : limit - current;
}

static uint64_t read_own_limit(const char *root, const char *path) {
        return MIN(read_number(root, path, "memory.max"), read_number(root, path, "memory.high"));
}

static uint64_t read_own_room(const char *root, const char *path) {
        return read_rest(root, path, "memory.current", read_own_limit(root, path));
}

static int parse_inactive(const char *key, const char *value, void *userdata) {
        if (streq(key, "inactive_file"))
                (void) safe_atou64(value, userdata);
        return 0;
}

static uint64_t read_own_cache_room(const char *root, const char *path) {
        uint64_t limit = read_own_limit(root, path), room = read_own_room(root, path), inactive = 0;
        _cleanup_free_ char *text = NULL;

        if (limit != UINT64_MAX && cgroup_read_file(root, path, /* id= */ 0, "memory.stat", &text) >= 0)
                (void) flat_keyed_foreach(text, parse_inactive, &inactive);
        return inactive < limit - room ? room + inactive : limit;
}

static uint64_t read_own_tasks_room(const char *root, const char *path) {
        return read_rest(root, path, "pids.current", read_number(root, path, "pids.max"));
}

static bool has_limit(const char *text, const char *key) {
        for (const char *s = text; (s = strstr(s, key)); s += strlen(key))
                if (!startswith(s + strlen(key), "max"))
                        return true;

        return false;
}

/* "8:0 rbps=1000 wbps=max riops=max wiops=max", a line a disk. 0: there is a limit. */
static uint64_t read_own_reads(const char *root, const char *path) {
        _cleanup_free_ char *text = NULL;

        return cgroup_read_file(root, path, /* id= */ 0, "io.max", &text) >= 0 &&
                        (has_limit(text, " rbps=") || has_limit(text, " riops=")) ? 0 : UINT64_MAX;
}

/* The least of the control group and those above it. */
static uint64_t read_least(const char *root, const char *path,
                           uint64_t (*read_own)(const char *root, const char *path)) {
        g_autofree char *p = g_strdup(path);
        uint64_t least = UINT64_MAX;
        char *slash;

        while ((slash = strrchr(p, '/')) && slash[1]) {
                least = MIN(least, read_own(root, p));
                *slash = 0;
        }

        return least;
}

uint64_t cgroup_read_room(const char *root, const char *path) {
        return read_least(root, path, read_own_room);
}

uint64_t cgroup_read_cache_room(const char *root, const char *path) {
        return read_least(root, path, read_own_cache_room);
}

uint64_t cgroup_read_tasks_room(const char *root, const char *path) {
        return read_least(root, path, read_own_tasks_room);
}

bool cgroup_limits_reads(const char *root, const char *path) {
        return read_least(root, path, read_own_reads) == 0;
}
