/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cleanup.h"
#include "file-util.h"

/* The version of the kernel interface this daemon speaks. */
#define CACHEBPF_KERNEL_ABI 1

/* What the running kernel can do, read once at start: it does not change until the next boot. */
typedef struct KernelFeatures {
        bool supported;
        char *reason;       /* why not, one sentence */
        uint64_t abi;       /* 0: not there */
        char **features;    /* words */
} KernelFeatures;

/* Where to look; tests look somewhere else. */
typedef struct KernelPaths {
        const char *sysfs;  /* /sys/kernel/cachebpf */
        const char *cgroup; /* /sys/fs/cgroup */
        const char *bpffs;  /* /sys/fs/bpf; not looked at if NULL */
        const char *btf;    /* /sys/kernel/btf/vmlinux; nor is this */
} KernelPaths;

int kernel_features_load(const KernelPaths *paths, KernelFeatures *ret);
void kernel_features_done(KernelFeatures *f);

/* Calls func for each system-wide counter. */
int kernel_stat_foreach(const KernelPaths *paths, flat_keyed_func_t func, void *userdata);

/* The steps from a policy object to a running policy. */
typedef enum PolicyStep {
        POLICY_STEP_OPEN,   /* read the object file */
        POLICY_STEP_LOAD,   /* the verifier */
        POLICY_STEP_ATTACH, /* create or update the link */
        POLICY_STEP_PIN,    /* make it survive us */
        _POLICY_STEP_MAX,
} PolicyStep;

/* Translates an errno of a step; the result is the end of a sentence ("the control group is gone"). */
const char *policy_step_error(PolicyStep step, int error);

/* Whether trying again later, with nothing changed by the user, makes sense. */
bool policy_error_is_transient(int error);
