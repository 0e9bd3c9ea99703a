/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "methods.h"
#include "objects.h"
#include "shared/log.h"

BUS_GETTER(get_level, sd_bus_message_append(reply, "s", log_level_to_string(log_get_max_level())));
BUS_GETTER(get_target, sd_bus_message_append(reply, "s", log_target_to_string(log_get_target())));
BUS_GETTER(get_identifier, sd_bus_message_append(reply, "s", program_invocation_short_name));

static int set_level(sd_bus *bus, const char *path, const char *interface, const char *property,
                     sd_bus_message *value, void *userdata, sd_bus_error *error) {
        const char *s;
        int r, level;

        r = sd_bus_message_read(value, "s", &s);
        if (r < 0)
                return r;

        level = log_level_from_string(s);
        if (level < 0)
                return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS, "There is no log level '%s'", s);

        log_set_max_level(level);
        return 0;
}

static int set_target(sd_bus *bus, const char *path, const char *interface, const char *property,
                      sd_bus_message *value, void *userdata, sd_bus_error *error) {
        LogTarget target;
        const char *s;
        int r;

        r = sd_bus_message_read(value, "s", &s);
        if (r < 0)
                return r;

        target = log_target_from_string(s);
        if (target < 0)
                return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS, "There is no log target '%s'", s);

        log_set_target(target);
        return 0;
}

static const sd_bus_vtable log_control_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_WRITABLE_PROPERTY("LogLevel", "s", get_level, set_level, 0, 0),
        SD_BUS_WRITABLE_PROPERTY("LogTarget", "s", get_target, set_target, 0, 0),
        SD_BUS_PROPERTY("SyslogIdentifier", "s", get_identifier, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_VTABLE_END,
};

int log_control_bus_add(sd_bus *bus) {
        return sd_bus_add_object_vtable(bus, NULL, "/org/freedesktop/LogControl1",
                                        "org.freedesktop.LogControl1",
                                        log_control_vtable, NULL);
}
