/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/* For what is lost when something is changed: shadows that begin anew are cold for some time. So the change
 * has to be wanted in some windows, one after the other and in the same direction. That is one at first, and
 * twice as many after each change, or what swings around a threshold would be changed again and again. */

/* After so many windows in which nothing was wanted it is half as many. */
#define PATIENCE_CALM 64U
/* A power of two. It is more than those windows, or there were swings of which no window counts: the change
 * would come shortly before each turn. */
#define PATIENCE_MOST 7U

/* Begins as zeroes. */
typedef struct Patience {
        unsigned level;   /* 2 to the power of that are the windows that it takes */
        int direction;
        unsigned wanted;  /* windows, in that direction */
        unsigned calm;    /* windows without */
} Patience;

/* A window is over, and something is to be larger (1), smaller (-1), or nothing is wanted (0). Returns
 * whether that is to be done now. */
bool patience_ends(Patience *p, int direction);
/* In how many more windows it has to be wanted; 0: it is to be done. */
static inline unsigned patience_left(const Patience *p) {
        unsigned needed = 1U << p->level;

        return p->wanted < needed ? needed - p->wanted : 0;
}
/* It was done. Until then it ends with each window that wants the same. */
void patience_spend(Patience *p);
