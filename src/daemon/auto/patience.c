/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "patience.h"
#include "shared/macro.h"

static void be_calm(Patience *p) {
        if (++p->calm < PATIENCE_CALM)
                return;
        p->calm = 0;
        p->level -= p->level > 0;
}

bool patience_ends(Patience *p, int direction) {
        if (direction != p->direction)
                p->wanted = 0;
        p->direction = direction;
        if (direction == 0) {
                be_calm(p);
                return false;
        }

        p->calm = 0;
        return ++p->wanted >= 1U << p->level;
}

void patience_spend(Patience *p) {
        p->wanted = 0;
        p->level = MIN(p->level + 1, PATIENCE_MOST);
}
