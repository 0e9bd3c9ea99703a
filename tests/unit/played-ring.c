/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "played-ring.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "test-util.h"

struct ring_buffer *played_ring;

struct ring_buffer *ring_buffer__new(int fd, ring_buffer_sample_fn on_sample, void *ctx,
                                     const struct ring_buffer_opts *opts) {
        assert_null(played_ring);
        played_ring = calloc(1, sizeof(*played_ring));
        assert_non_null(played_ring);
        /* Something may be in it from the start; to look once in vain is harmless. */
        *played_ring = (struct ring_buffer) { eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK), on_sample, ctx };
        assert_true(played_ring->fd >= 0);
        return played_ring;
}

void ring_buffer__free(struct ring_buffer *ring) {
        if (!ring)
                return;
        assert_int_equal(close(ring->fd), 0);
        free(ring);
        played_ring = NULL;
}

int ring_buffer__epoll_fd(const struct ring_buffer *ring) {
        return ring->fd;
}
