/* SPDX-License-Identifier: GPL-2.0-only */
/* A buffer of tracefs that only this test has. */
#ifndef TRACING_H
#define TRACING_H

#define TRACING		"/sys/kernel/tracing/instances/cachebpf-selftest"

/* @events: a group, or GROUP/NAME. */
void tracing_start(const char *events);
void tracing_stop(void);
/* Empty the buffer. */
void tracing_clear(void);

#endif /* TRACING_H */
