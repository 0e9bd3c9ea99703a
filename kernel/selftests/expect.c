// SPDX-License-Identifier: GPL-2.0-only
/* Expectations, and how a test's process tells the runner how it went. */
#include <stdarg.h>
#include <time.h>

#include "runner.h"
#include "selftest.h"

/* more of them say nothing new */
#define MAX_DIAGS	20

/* at something that may become true: two seconds of them */
#define MIN_LOOKS	40

static unsigned int nr_failed;

static void vdiag(const char *format, va_list args)
{
	fputs("# ", stdout);
	vprintf(format, args);
	putchar('\n');
	fflush(stdout);
}

void diag(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vdiag(format, args);
	va_end(args);
}

bool expect(bool holds, const char *file, int line, const char *format, ...)
{
	const char *base = strrchr(file, '/');
	va_list args;

	if (holds)
		return true;
	if (++nr_failed > MAX_DIAGS)
		return false;
	printf("# %s:%d: ", base ? base + 1 : file, line);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
	return false;
}

bool expect_str(const char *got, const char *wanted, const char *file, int line,
		const char *what)
{
	return expect(got && wanted && !strcmp(got, wanted), file, line,
		      "%s is \"%s\", not \"%s\"", what, got ?: "(nothing)",
		      wanted ?: "(nothing)");
}

void give_up(void)
{
	_exit(EXIT_FAILED);
}

void skip(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vdiag(format, args);
	va_end(args);
	_exit(nr_failed ? EXIT_FAILED : EXIT_SKIPPED);
}

/* Whatever is attached still is, so it is the time to have the kernel check itself. */
void conclude(void)
{
	EXPECT_BOOKS();
	_exit(nr_failed ? EXIT_FAILED : EXIT_PASSED);
}

static long long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

struct wait wait_begin(unsigned int seconds)
{
	return (struct wait) { .until_ms = now_ms() + seconds * 1000LL };
}

/* On a machine that has much else to do, the time alone says little. */
bool wait_more(struct wait *wait)
{
	if (++wait->nr_looks >= MIN_LOOKS && now_ms() >= wait->until_ms)
		return false;
	usleep(50000);
	return true;
}
