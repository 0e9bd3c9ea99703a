/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox.h"
#include "shared/cleanup.h"
#include "shared/file-util.h"

#define MEMORY_MAX (64U << 20)

/* Others come first. With SCHED_IDLE or 19 it would get nothing where all processors are busy, which is when
 * there is much to be simulated; that is little work, and bounded by the events that come. */
#define NICE 10

/* The numbers of system calls mean something else to programs of other architectures. */
#if defined(__x86_64__)
#  define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#  define ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#  define ARCHITECTURE AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#  define ARCHITECTURE AUDIT_ARCH_PPC64LE
#elif defined(__s390x__)
#  define ARCHITECTURE AUDIT_ARCH_S390X
#elif defined(__loongarch64)
#  define ARCHITECTURE AUDIT_ARCH_LOONGARCH64
#else
#  error "the AUDIT_ARCH_ of this architecture is missing here"
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), RETURN(SECCOMP_RET_ALLOW)

/* What malloc() calls, and what it takes to answer and to end. */
static struct sock_filter filter[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
        RETURN(SECCOMP_RET_KILL_PROCESS),
        LOAD(nr),
        ALLOW(SYS_read),
        ALLOW(SYS_write),
        ALLOW(SYS_brk),
        ALLOW(SYS_mmap),
        ALLOW(SYS_munmap),
        ALLOW(SYS_mremap),
        ALLOW(SYS_madvise),
        ALLOW(SYS_futex),
        ALLOW(SYS_rt_sigreturn),
        ALLOW(SYS_restart_syscall),
        ALLOW(SYS_exit_group),
#ifdef __SANITIZE_ADDRESS__
        ALLOW(SYS_sigaltstack), /* when it ends */
#endif
        RETURN(SECCOMP_RET_KILL_PROCESS),
};

static int go_first(void) {
        _cleanup_close_ int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

        return fd < 0 ? -errno : write_all(fd, "1000", STRLEN("1000"));
}

static int limit(int resource, rlim_t most) {
        return RET_NERRNO(setrlimit(resource, &(struct rlimit) { most, most }));
}

static int drop_capabilities(void) {
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};

        return RET_NERRNO((int) syscall(SYS_capset, &header, none));
}

static int enter_filter(void) {
        struct sock_fprog program = { .len = ELEMENTSOF(filter), .filter = filter };

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -errno;
        return RET_NERRNO(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0));
}

int sandbox_enter(void) {
        int r;

        r = RET_NERRNO(prctl(PR_SET_PDEATHSIG, SIGKILL));
        if (r >= 0)
                r = go_first();
        if (r >= 0)
                r = RET_NERRNO(setpriority(PRIO_PROCESS, 0, NICE));
#ifndef __SANITIZE_ADDRESS__ /* which takes terabytes of addresses */
        if (r >= 0)
                r = limit(RLIMIT_AS, MEMORY_MAX);
#endif
        if (r >= 0)
                r = limit(RLIMIT_CORE, 0);
        if (r >= 0)
                r = limit(RLIMIT_NOFILE, 0);
        if (r >= 0)
                r = drop_capabilities();
        return r < 0 ? r : enter_filter();
}
