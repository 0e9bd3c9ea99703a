/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

/* The manager's methods about classes of threads. */
int threads_bus_set_thread_class(sd_bus_message *msg, void *userdata, sd_bus_error *error);
int threads_bus_set_process_class(sd_bus_message *msg, void *userdata, sd_bus_error *error);
int threads_bus_list(sd_bus_message *msg, void *userdata, sd_bus_error *error);
