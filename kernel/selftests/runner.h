/* SPDX-License-Identifier: GPL-2.0-only */
/* Exit statuses of a test's process. */
#ifndef RUNNER_H
#define RUNNER_H

enum {
	EXIT_PASSED	= 0,
	EXIT_FAILED	= 1,
	EXIT_SKIPPED	= 77,
};

#endif /* RUNNER_H */
