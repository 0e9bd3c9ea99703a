/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Memory for what a policy remembers, as mm/cachebpf/buckets.c has it; once it is used, the array grows as
 * soon as there are pages for more, where the kernel looks at that now and then, and leaves it to a
 * worker. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host-state.h"

#define BUCKET_SIZE 64U
#define FIRST_BUCKETS 128U
#define MOST_BUCKETS ((uint32_t) INT32_MAX / BUCKET_SIZE)

/* Rounded down, and at least one. */
static uint32_t buckets_for(uint32_t n_pages) {
        uint64_t n = (uint64_t) n_pages * host.buckets.bytes_per_page / BUCKET_SIZE;

        return n < 1 ? 1 : MIN(n, MOST_BUCKETS);
}

/* With how many pages in the cache there have to be more of them. */
static uint32_t grow_at(const Buckets *b) {
        if (b->n > buckets_for(host.capacity) / 2)
                return UINT32_MAX;
        return (((uint64_t) b->n + 1) * BUCKET_SIZE + b->bytes_per_page - 1) / b->bytes_per_page;
}

static void *new_array(uint32_t n) {
        void *array = aligned_alloc(BUCKET_SIZE, (size_t) n * BUCKET_SIZE);

        return array ? memset(array, 0, (size_t) n * BUCKET_SIZE) : NULL;
}

void buckets_grow(void) {
        Buckets *b = &host.buckets;
        uint8_t (*array)[64];
        uint32_t n = b->n;

        while (n <= buckets_for(host.capacity) / 2 && n < buckets_for(host.n_cached))
                n *= 2;

        array = new_array(n);
        if (!array)
                host_fail("no memory for %u buckets", n);
        for (uint32_t i = 0; i < n; i++)
                memcpy(array[i], b->array[(uint64_t) i * b->n / n], BUCKET_SIZE);
        free(b->array);
        b->array = array;
        b->n = n;
        b->grow_at = grow_at(b);
}

void buckets_done(void) {
        free(host.buckets.array);
        host.buckets = (Buckets) {};
}

int bpf_cachebpf_buckets_create(struct cachebpf_policy *policy, __u32 bytes_per_page) {
        Buckets *b = &host.buckets;

        host_check_callback(1 << CALLBACK_INIT, __func__);

        if (bytes_per_page == 0 || bytes_per_page > BUCKET_SIZE)
                return -EINVAL;
        if (b->array)
                return -EEXIST;

        b->bytes_per_page = bytes_per_page;
        /* a number whose doubles lead to what the limit allows */
        b->n = buckets_for(host.capacity);
        while (b->n > FIRST_BUCKETS)
                b->n /= 2;
        b->grow_at = UINT32_MAX;
        b->array = new_array(b->n);
        return b->array ? 0 : -ENOMEM;
}

__u8 *bpf_cachebpf_bucket(struct cachebpf_policy *policy, __u64 key, const __u64 rdwr_buf_size) {
        Buckets *b = &host.buckets;

        host_check_callback(1 << CALLBACK_EVICT | 1 << CALLBACK_ADDED | 1 << CALLBACK_ACCESSED |
                            1 << CALLBACK_REMOVED | 1 << CALLBACK_ADMIT, __func__);

        if (!b->array || rdwr_buf_size > BUCKET_SIZE)
                return NULL;
        if (!b->used) {
                b->used = true;
                b->grow_at = grow_at(b);
                buckets_check();
        }
        return b->array[(key >> 32) * b->n >> 32];
}
