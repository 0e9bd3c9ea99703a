// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's self-check (CONFIG_CACHEBPF_CHECK): lists, folio table and page cache agree. */
#include "selftest.h"

#define CHECK	"/sys/kernel/debug/cachebpf/check"

/* NULL, or what the kernel says that is wrong. */
const char *books_wrong(void)
{
	const char *text = read_text(CHECK);

	return text && strncmp(text, "ok\n", 3) ? text : NULL;
}

/* A number from the self-check; -1 without it. */
long long books_number(const char *key)
{
	char *value = flat_key(read_text(CHECK), key);

	return value ? strtoll(value, NULL, 10) : -1;
}
