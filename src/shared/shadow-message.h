/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

/* What cachebpfd and cachebpf-shadow, which it starts, say to each other: packets of a socket
 * (SOCK_SEQPACKET), in the order of the machine's bytes. */

/* In one message, at most: with what the kernel adds it fits 8 KiB. */
#define SHADOW_EVENTS_MAX 480U

/* A cache of a shadow has no more pages. */
#define SHADOW_CAPACITY_MAX (UINT32_C(1) << 16)

/* A page of the sample was used; or its content is no more. */
typedef struct ShadowEvent {
        uint64_t key;
        uint64_t gone; /* boolean */
} ShadowEvent;

typedef enum ShadowMessageKind {
        SHADOW_EVENTS,
        SHADOW_END_WINDOW, /* is answered */
} ShadowMessageKind;

/* To the shadow. */
typedef struct ShadowMessage {
        uint32_t kind;
        uint32_t n;    /* events that follow; or the number of the window that ends */
        ShadowEvent events[SHADOW_EVENTS_MAX];
} ShadowMessage;

/* From it. */
typedef struct ShadowAnswer {
        uint32_t window; /* its number */
        uint32_t unused;
        uint64_t requests, misses; /* in it */
} ShadowAnswer;
