/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What cachectl tells the program that called it; documented in cachectl(1). EXIT_SUCCESS (0) and
 * EXIT_FAILURE (1) are those of stdlib.h. */
enum {
        EXIT_USAGE         = 2, /* the command line is wrong, or the trace of "simulate"; nothing was done */
        /* "status UNIT", "set", "reset": the policy of one of the units is not in effect */
        EXIT_NOT_IN_EFFECT = 3,
        EXIT_UNKNOWN       = 4, /* a unit or policy that was named does not exist; wins over 3 */

        /* Of "hold" and "run", which else have the status of their command: as env(1) and others like it. */
        EXIT_NOT_STARTED    = 125, /* there is no hold, or no library: the command was not run */
        EXIT_CANNOT_EXECUTE = 126, /* the command is no program */
        EXIT_NO_COMMAND     = 127, /* there is no such command */
};
