/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#define BUS_NAME "org.cachebpf1"
#define BUS_PATH "/org/cachebpf1"
#define BUS_INTERFACE_MANAGER "org.cachebpf1.Manager"
#define BUS_INTERFACE_UNIT "org.cachebpf1.Unit"
#define BUS_ERROR_NO_SUCH_UNIT "org.cachebpf1.NoSuchUnit"
#define BUS_ERROR_CANNOT_STORE "org.cachebpf1.CannotStore"
#define BUS_ERROR_NO_SUCH_HOLD "org.cachebpf1.NoSuchHold"
#define BUS_ERROR_NO_SUCH_THREAD "org.cachebpf1.NoSuchThread"
