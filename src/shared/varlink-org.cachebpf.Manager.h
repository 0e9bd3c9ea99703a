/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-varlink-idl.h>

#define CACHEBPF_RUNTIME_DIRECTORY "/run/cachebpf"
#define CACHEBPF_VARLINK_ADDRESS CACHEBPF_RUNTIME_DIRECTORY "/org.cachebpf.Manager"
#define CACHEBPF_VARLINK_INTERFACE "org.cachebpf.Manager"
#define CACHEBPF_VARLINK_ERROR_NO_SUCH_UNIT CACHEBPF_VARLINK_INTERFACE ".NoSuchUnit"
#define CACHEBPF_VARLINK_ERROR_NO_SUCH_POLICY CACHEBPF_VARLINK_INTERFACE ".NoSuchPolicy"

#define CACHEBPF_VARLINK_ERROR_NO_SUCH_THREAD CACHEBPF_VARLINK_INTERFACE ".NoSuchThread"
#define CACHEBPF_VARLINK_ERROR_NO_PROCESS CACHEBPF_VARLINK_INTERFACE ".NoProcess"
#define CACHEBPF_VARLINK_ERROR_KERNEL_UNSUPPORTED CACHEBPF_VARLINK_INTERFACE ".KernelUnsupported"

extern const sd_varlink_interface vl_interface_org_cachebpf_Manager;
