/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "identify.h"
#include "shared/cleanup.h"

/* What file systems call handles of theirs, in linux/exportfs.h. */
enum {
        HANDLE_INO32 = 0x01,
        HANDLE_BTRFS = 0x4d,
        HANDLE_INO64 = 0x81,
};

/* Of a file's handle, in words of 32 bits, the one that tells it from earlier files with the same inode
 * number. ioctl(FS_IOC_GETVERSION) says the same, but the file has to be open for that. */
static uint32_t generation_of(const struct file_handle *h) {
        size_t word, n = h->handle_bytes / sizeof(uint32_t);
        uint32_t generation;

        if (h->handle_type == HANDLE_INO32)
                word = 1;
        else if (h->handle_type == HANDLE_INO64)
                word = 2;
        else if (h->handle_type == HANDLE_BTRFS)
                word = 4;
        else
                return 0;
        if (word >= n)
                return 0;

        memcpy(&generation, h->f_handle + word * sizeof(generation), sizeof(generation));
        return generation;
}

/* As the kernel has it. */
static uint32_t encode_device(unsigned major, unsigned minor) {
        return (minor & 0xff) | major << 8 | (minor & ~0xffU) << 12;
}

/* The device of a mounted file system: on btrfs stat() has one for each subvolume instead. A mount that is
 * not below our root directory is not listed. */
static bool look_up_mount(int id, FileMount *m) {
        _cleanup_fclose_ FILE *f = NULL;
        _cleanup_free_ char *line = NULL;
        size_t size = 0;

        if (m->id == id)
                return true;

        f = fopen("/proc/self/mountinfo", "re");
        if (!f)
                return false;

        while (getline(&line, &size, f) >= 0) {
                unsigned major, minor;
                int found;

                if (sscanf(line, "%d %*d %u:%u", &found, &major, &minor) == 3 && found == id) {
                        *m = (FileMount) { .id = id, .device = encode_device(major, minor) };
                        return true;
                }
        }

        return false;
}

/* One that need not lead back to the file, as some file systems have no other. Linux has it since 6.5. */
static int get_handle(int fd, struct file_handle *h, int *ret_mount) {
        int r;

        r = name_to_handle_at(fd, "", h, ret_mount, AT_EMPTY_PATH | AT_HANDLE_FID);
        if (r < 0 && errno == EINVAL)
                r = name_to_handle_at(fd, "", h, ret_mount, AT_EMPTY_PATH);
        return r < 0 ? -errno : 0;
}

int file_identify(int fd, FileMount *mount, PolicyFile *ret) {
        union {
                struct file_handle h;
                char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
        } handle = { .h.handle_bytes = MAX_HANDLE_SZ };
        struct stat st;
        int id, r;

        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EBADF;

        *ret = (PolicyFile) {
                .ino = st.st_ino,
                .dev = encode_device(major(st.st_dev), minor(st.st_dev)),
        };
        /* A file system without handles has no generations, either. */
        r = get_handle(fd, &handle.h, &id);
        if (r < 0)
                return r == -EOPNOTSUPP ? 0 : r;

        ret->generation = generation_of(&handle.h);
        if (look_up_mount(id, mount))
                ret->dev = mount->device;
        return 0;
}
