/* SPDX-License-Identifier: GPL-2.0-only */
/* What the programs on the tracepoints of the page cache ask of folios and files. */
#pragma once

#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "kernel-types.h"

#define PAGE_SHIFT	12
#define S_IFMT		0170000
#define S_IFREG		0100000
#define TMPFS_MAGIC	0x01021994

static __u64 folio_nr_pages(struct folio *folio)
{
	unsigned long flags = bpf_core_field_exists(folio->flags) ?
		folio->flags : ((struct folio___memdesc *)folio)->flags.f;

	if (!(flags & 1UL << bpf_core_enum_value(enum pageflags, PG_head)))
		return 1;
	return bpf_core_field_exists(folio->_folio_nr_pages) ?
		folio->_folio_nr_pages : ((struct folio___nr_pages *)folio)->_nr_pages;
}

/* File systems have the pages of their disk in the page cache, too. */
static bool is_regular(struct inode *inode)
{
	return (inode->i_mode & S_IFMT) == S_IFREG;
}
