/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Ghosts, the oldest first. They are counted in units, for 1/64 of the cache each, and a unit is
 * forgotten at once; a queue has no more than 512 units. In a cache of less than 128 pages a unit is one
 * ghost. There is room for each: what a full set of theirs drops is not in here. */

#include "reference.h"

#define MOST_UNITS 512
#define MOST_AT_ONCE 64 /* units, even if all of their ghosts were taken; the others next time */

typedef struct Ghost {
        uint32_t page, unit;
} Ghost;

struct Ghosts {
        GArray *row; /* of Ghost */
        uint32_t oldest, newest; /* units */
        uint32_t n_newest; /* that were made in the newest */
};

Ghosts *ghosts_new(void) {
        Ghosts *g = g_new0(Ghosts, 1);

        g->row = g_array_new(false, false, sizeof(Ghost));
        return g;
}

void ghosts_free(Ghosts *g) {
        g_array_unref(g->row);
        g_free(g);
}

uint32_t ghosts_len(const Ghosts *g) {
        return g->row->len;
}

static void forget_oldest(Ghosts *g) {
        while (g->row->len > 0 && g_array_index(g->row, Ghost, 0).unit == g->oldest)
                g_array_remove_index(g->row, 0);
        if (g->oldest == g->newest) {
                g->newest++;
                g->n_newest = 0;
        }
        g->oldest++;
}

void ghosts_make(Ghosts *g, uint32_t page, uint32_t n_cached) {
        Ghost ghost = { .page = page };

        if (g->n_newest >= n_cached / 64) {
                if (g->newest - g->oldest + 1 == MOST_UNITS)
                        forget_oldest(g);
                g->newest++;
                g->n_newest = 0;
        }
        g->n_newest++;
        ghost.unit = g->newest;
        g_array_append_val(g->row, ghost);
}

bool ghosts_take(Ghosts *g, uint32_t page) {
        for (uint32_t i = 0; i < g->row->len; i++)
                if (g_array_index(g->row, Ghost, i).page == page) {
                        g_array_remove_index(g->row, i);
                        return true;
                }
        return false;
}

void ghosts_limit(Ghosts *g, uint32_t max) {
        for (unsigned i = 0; g->row->len > max && i < MOST_AT_ONCE; i++)
                forget_oldest(g);
}
