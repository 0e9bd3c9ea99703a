/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "simulate-setup.h"

/* Print what a simulation has found out, and write its plot. Return EXIT_SUCCESS or a negative errno
 * (logged). */
int simulation_print(const Simulation *s, const char *path);
int simulation_print_json(const Simulation *s, const char *path);
int simulation_plot(const Simulation *s, const char *path, const char *plot_path);

/* Before what takes long: can a plot, if one is wanted, be written there? 0 or a negative errno (logged). */
int simulation_check_plot(const char *plot_path);

/* Draws other figures for the rows and sizes: names of rows, and row by row a ratio for each size (negative:
 * unknown). */
int simulation_draw(const Simulation *s, const char *title, const char *const *names, const double *ratios,
                    const char *path);
