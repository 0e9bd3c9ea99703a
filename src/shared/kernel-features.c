/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <bpf/libbpf.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

#include "kernel-features.h"
#include "string-util.h"

#define SYSFS_FILE_MAX (64U * 1024U)

void kernel_features_done(KernelFeatures *f) {
        free(f->reason);
        strv_free(f->features);
        *f = (KernelFeatures) {};
}

static int read_at(const char *dir, const char *name, char **ret) {
        g_autofree char *path = g_build_filename(dir, name, NULL);

        return read_full_file(path, SYSFS_FILE_MAX, ret, NULL);
}

/* Why this kernel will not do; NULL if nothing is missing. */
static char *find_obstacle(const KernelPaths *paths, uint64_t abi, int abi_error) {
        struct utsname u = {};
        struct statfs sfs;

        (void) uname(&u);

        if (abi_error == -ENOENT)
                return g_strdup_printf("kernel %s has no cachebpf (no directory %s): "
                                       "boot a kernel with CONFIG_CACHEBPF=y", u.release, paths->sysfs);
        if (abi_error < 0)
                return g_strdup_printf("cannot read %s/abi: %s", paths->sysfs, strerror(-abi_error));
        if (abi != CACHEBPF_KERNEL_ABI)
                return g_strdup_printf("kernel %s has version %" PRIu64 " of the cachebpf "
                                       "interface, this daemon needs version %d",
                                       u.release, abi, CACHEBPF_KERNEL_ABI);
        if (statfs(paths->cgroup, &sfs) < 0 || sfs.f_type != CGROUP2_SUPER_MAGIC)
                return g_strdup_printf("no unified control group hierarchy (cgroup v2) is mounted on %s",
                                       paths->cgroup);
        if (paths->bpffs && (statfs(paths->bpffs, &sfs) < 0 || sfs.f_type != BPF_FS_MAGIC))
                return g_strdup_printf("no BPF file system is mounted on %s", paths->bpffs);

        return NULL;
}

int kernel_features_load(const KernelPaths *paths, KernelFeatures *ret) {
        _cleanup_(kernel_features_done) KernelFeatures f = {};
        _cleanup_free_ char *abi = NULL, *features = NULL;
        int r, abi_error;

        assert(paths);
        assert(ret);

        abi_error = read_at(paths->sysfs, "abi", &abi);
        if (abi_error >= 0)
                abi_error = safe_atou64(strstrip(abi), &f.abi);

        r = read_at(paths->sysfs, "features", &features);
        if (r == -ENOMEM)
                return r;

        f.features = strv_split(strempty(features));
        f.reason = find_obstacle(paths, f.abi, abi_error);
        f.supported = !f.reason;
        *ret = f;
        f = (KernelFeatures) {};
        return 0;
}

int kernel_stat_foreach(const KernelPaths *paths, flat_keyed_func_t func, void *userdata) {
        _cleanup_free_ char *text = NULL;
        int r;

        r = read_at(paths->sysfs, "stat", &text);
        if (r < 0)
                return r;

        return flat_keyed_foreach(text, func, userdata);
}

const char *policy_step_error(PolicyStep step, int error) {
        error = abs(error);

        /* libbpf passes this kernel-internal number on where an operation is not implemented. */
        if (error == 524)
                return "the kernel does not implement the operation";
        if (error == EPERM && step != POLICY_STEP_OPEN)
                return "permission denied (the daemon needs CAP_BPF and CAP_PERFMON)";
        if (error == ENOMEM)
                return "out of memory";

        switch (step) {

        case POLICY_STEP_OPEN:
                if (error == ENOENT)
                        return "the object file is gone";
                if (error == E2BIG)
                        return "it is larger than 16 MiB";
                if (IN_ERRNO(error, ENOEXEC, LIBBPF_ERRNO__LIBELF, LIBBPF_ERRNO__FORMAT))
                        return "it is not a BPF object file";
                if (error >= __LIBBPF_ERRNO__START || error == EINVAL)
                        return "the BPF object is damaged, or made for a newer libbpf";
                break;

        case POLICY_STEP_LOAD:
                /* EACCES, too, is the verifier's: the program touches what it may not. */
                if (IN_ERRNO(error, EINVAL, EACCES, LIBBPF_ERRNO__VERIFY))
                        return "the kernel rejects its program";
                if (error == E2BIG)
                        return "its program is too complex for the kernel's verifier";
                if (IN_ERRNO(error, ESRCH, ENOTSUP))
                        return "it uses something that this kernel does not have";
                break;

        case POLICY_STEP_ATTACH:
                switch (error) {
                case ENOENT:
                        return "the control group is gone";
                case EBUSY:
                        return "the control group already has a policy of its own";
                case EINVAL:
                        return "the policy lacks its name or a mandatory callback";
                case EOPNOTSUPP:
                        return "the memory controller is not enabled in the control group";
                case EAGAIN:
                        return "the policy's policy_init() refused";
                case ENOSPC:
                        return "the kernel cannot run more policies at the same time";
                }
                break;

        case POLICY_STEP_PIN:
                /* The unit sees /sys read-only but for the pins,
                 * if their directory is there when it starts. */
                if (error == EROFS)
                        return "the directory of the pins is missing: run 'systemd-tmpfiles --create "
                               "cachebpfd.conf', then 'systemctl restart cachebpfd.service'";
                break;

        default:
                break;
        }

        return strerror(error);
}

bool policy_error_is_transient(int error) {
        return IN_ERRNO(abs(error), EAGAIN, EBUSY, EINTR, ENOMEM, ENOSPC, ENOENT);
}
