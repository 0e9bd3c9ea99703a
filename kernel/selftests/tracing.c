// SPDX-License-Identifier: GPL-2.0-only
/* A buffer of tracefs that only this test has. */
#include <fcntl.h>
#include <sys/stat.h>

#include "selftest.h"
#include "tracing.h"

void tracing_start(const char *events)
{
	char *path;

	rmdir(TRACING);
	REQUIRE(mkdir(TRACING, 0755) == 0);
	REQUIRE_EQ(write_text(TRACING "/buffer_size_kb", "4096"), 0);
	REQUIRE(asprintf(&path, TRACING "/events/%s/enable", events) > 0);
	REQUIRE_EQ(write_text(path, "1"), 0);
	free(path);
}

void tracing_stop(void)
{
	rmdir(TRACING);
}

void tracing_clear(void)
{
	int fd = open(TRACING "/trace", O_WRONLY | O_TRUNC | O_CLOEXEC);

	REQUIRE(fd >= 0);
	close(fd);
}
