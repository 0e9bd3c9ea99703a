/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "processes.h"
#include "shared/bpf-log.h"
#include "shared/cleanup.h"
#include "tracepoints.h"

#include <linux/types.h>

#include "process-table.h"
#include "processes.skel.h"

typedef struct Counts {
        uint64_t accesses, misses, brought;
} Counts;

struct Processes {
        struct processes_bpf *bpf;
        Counts taken[THREADS_MAX]; /* of each thread, at the last time */
};

ProcessCounts *process_counts_free(ProcessCounts *c) {
        if (!c)
                return NULL;

        free(c->name);
        return mfree(c);
}

Processes *processes_free(Processes *p) {
        if (!p)
                return NULL;

        processes_bpf__destroy(p->bpf);
        return mfree(p);
}

/* What is told by the counters of a policy, or else by the tracepoints that reads and faults pass. */
static void choose_programs(struct processes_bpf *bpf, bool policy) {
        bpf_program__set_autoload(bpf->progs.sched_switch, policy);
        bpf_program__set_autoload(bpf->progs.look, policy);
        bpf_program__set_autoload(bpf->progs.exit_under_policy, policy);
        bpf_program__set_autoload(bpf->progs.get_pages, !policy);
        bpf_program__set_autoload(bpf->progs.filemap_fault, !policy);
        bpf_program__set_autoload(bpf->progs.map_pages, !policy);
        bpf_program__set_autoload(bpf->progs.process_exit, !policy);
}

/* Has each processor count what it runs just now. */
static void look(const Processes *p) {
        int fd = bpf_program__fd(p->bpf->progs.look), n = libbpf_num_possible_cpus();

        for (int cpu = 0; fd >= 0 && cpu < n; cpu++) {
                LIBBPF_OPTS(bpf_test_run_opts, opts, .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = (__u32) cpu);

                (void) bpf_prog_test_run_opts(fd, &opts); /* fails if it is off */
        }
}

static int load(Processes *p, uint64_t cgroup_id, uint32_t level, bool policy, char **ret_error) {
        int k;

        p->bpf = processes_bpf__open();
        if (!p->bpf)
                return tracepoints_fail(errno, "the BPF programs are damaged", ret_error);

        p->bpf->rodata->cgroup_id = cgroup_id;
        p->bpf->rodata->cgroup_level = level;
        choose_programs(p->bpf, policy);
        k = processes_bpf__load(p->bpf);
        if (k < 0)
                return tracepoints_fail(k, "the kernel does not take the BPF programs", ret_error);

        k = processes_bpf__attach(p->bpf);
        if (k < 0)
                return tracepoints_fail(k, "the BPF programs cannot be attached to the tracepoints",
                                        ret_error);

        look(p);
        return 0;
}

int processes_new(uint64_t cgroup_id, uint32_t level, bool policy, Processes **ret, char **ret_error) {
        _cleanup_(processes_freep) Processes *p = NULL;
        int k;

        assert(ret);
        assert(ret_error);

        *ret_error = NULL;
        bpf_log_setup();
        bpf_log_reset();

        p = g_new0(Processes, 1);
        k = load(p, cgroup_id, level, policy, ret_error);
        if (k < 0) {
                struct btf *btf = btf__load_vmlinux_btf();

                k = tracepoints_explain(k, btf, ret_error);
                btf__free(btf);
                return k;
        }

        *ret = TAKE_PTR(p);
        return 0;
}

/* ---- taking */

/* The kernel's side knows the name that the process had when it was first seen, or when it ended. */
static char *process_name(const struct thread_counts *t, bool ended) {
        g_autofree char *path = g_strdup_printf("/proc/%u/comm", t->process);
        char *name = NULL;

        if (!ended && g_file_get_contents(path, &name, NULL, NULL)) {
                name[strcspn(name, "\n")] = 0;
                return name;
        }

        return g_strndup(t->name, sizeof(t->name));
}

static ProcessCounts *find_process(GHashTable *processes, const struct thread_counts *t, bool ended) {
        gpointer key = GUINT_TO_POINTER(t->process);
        ProcessCounts *c = g_hash_table_lookup(processes, key);

        if (!c) {
                c = g_new0(ProcessCounts, 1);
                c->pid = (pid_t) t->process;
                g_hash_table_insert(processes, key, c);
        }

        free(c->name);
        c->name = process_name(t, ended);
        return c;
}

/* Adds what the thread did since it was taken last. */
static void take(GHashTable *processes, const struct thread_counts *t, Counts *taken, bool ended) {
        Counts now = {
                .accesses = __atomic_load_n(&t->accesses, __ATOMIC_RELAXED),
                .misses = __atomic_load_n(&t->misses, __ATOMIC_RELAXED),
                .brought = __atomic_load_n(&t->brought, __ATOMIC_RELAXED),
        };
        ProcessCounts *c;

        if (memcmp(&now, taken, sizeof(now)) == 0)
                return;

        c = find_process(processes, t, ended);
        c->accesses += now.accesses - taken->accesses;
        c->misses += now.misses - taken->misses;
        c->bytes += (now.brought - taken->brought) * (uint64_t) sysconf(_SC_PAGESIZE);
        *taken = now;
}

void processes_take(Processes *p, GHashTable *processes) {
        look(p);
        for (size_t i = 0; i < THREADS_MAX; i++) {
                struct thread_counts *t = p->bpf->bss->threads + i;
                bool ended;

                if (__atomic_load_n(&t->process, __ATOMIC_ACQUIRE) == 0)
                        continue;

                ended = __atomic_load_n(&t->pid, __ATOMIC_ACQUIRE) == 0;
                take(processes, t, p->taken + i, ended);
                if (ended) {
                        __u32 process = t->process;

                        /* another thread may have the room as soon as "process" is 0 */
                        *t = (struct thread_counts) { .process = process };
                        p->taken[i] = (Counts) {};
                        __atomic_store_n(&t->process, 0, __ATOMIC_RELEASE);
                }
        }
}

uint64_t processes_lost(const Processes *p) {
        return __atomic_load_n(&p->bpf->bss->n_lost, __ATOMIC_RELAXED);
}
