// SPDX-License-Identifier: GPL-2.0-only
/*
 * GET-SCAN: what threads that scan have read goes first.
 *
 * For programs that look up single items in some threads (GET) and read long
 * ranges in others (SCAN), such as a database with a pool for reports.  Two
 * lists: what a thread of class "scan" brings in, see threads.bpf.h, joins the
 * list of scans, all else that of gets; a folio of the former that another
 * thread uses again moves to the latter.  Requests take from the scans while
 * these have more than a quota, which readahead needs in order to be of use,
 * then from the gets; from both the least often used of those next in line, as
 * LFU does.  The other list helps out where one has not enough.
 *
 * Source: cachebpf, section 5.1.5; there the quota is fixed, and a folio stays
 * where it came in.
 */
#include "cachebpf.bpf.h"
#include "lib/threads.bpf.h"

CACHEBPF_TUNABLE(__u32, nr_scan, "32..65536", "folios", "ranked per request") = 512;
CACHEBPF_TUNABLE(__u32, scan_pages, "0..1048576", "pages",
		 "that scans keep in any case: their readahead") = 256;
CACHEBPF_TUNABLE(__u32, scan_share, "1..65536", "",
		 "scans keep one page for so many pages of gets, if that is more") = 64;

static __u32 gets, scans;

__s32 CACHEBPF_SLEEPABLE_OP(get_scan_init, struct cachebpf_policy *policy)
{
	return list_create(policy, &gets, CACHEBPF_LIST_NEW_TAIL) ?:
	       list_create(policy, &scans, 0);
}

void CACHEBPF_OP(get_scan_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio,
		 __u32 why)
{
	if (thread_class() == CACHEBPF_THREAD_SCAN && !(why & CACHEBPF_ADDED_ADOPTED))
		bpf_cachebpf_list_move(policy, folio, scans, TAIL);
}

void CACHEBPF_OP(get_scan_accessed, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	if (folio->list == scans && thread_class() != CACHEBPF_THREAD_SCAN && is_user_known())
		bpf_cachebpf_list_move(policy, folio, gets, TAIL);
}

void CACHEBPF_OP(get_scan_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	__u64 quota = max(bpf_cachebpf_list_len(policy, gets) / scan_share, scan_pages);
	bool scans_first = bpf_cachebpf_list_len(policy, scans) > quota;

	bpf_cachebpf_rank_list(evict, scans_first ? scans : gets, nr_scan, CACHEBPF_BY_ACCESSES);
	if (evict->nr_proposed < evict->nr_wanted)
		bpf_cachebpf_rank_list(evict, scans_first ? gets : scans, nr_scan,
				       CACHEBPF_BY_ACCESSES);
}

CACHEBPF_POLICY(get_scan, "Evicts what scanning threads have read before all else",
		"cachebpf, section 5.1.5",
		.policy_init	= (void *)get_scan_init,
		.evict_folios	= (void *)get_scan_evict,
		.folio_added	= (void *)get_scan_added,
		.folio_accessed	= (void *)get_scan_accessed);
