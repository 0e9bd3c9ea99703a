/* SPDX-License-Identifier: GPL-2.0-only */
/* What BPF calls, and nobody else: compilers and checkers want to see it declared. */
#ifndef _MM_CACHEBPF_KFUNC_H
#define _MM_CACHEBPF_KFUNC_H

#include "internal.h"

struct bpf_iter_cachebpf_advice;
struct bpf_iter_cachebpf_folio;
struct bpf_iter_cachebpf_list;

/* kfunc.c: lists and folios */
int bpf_cachebpf_list_create(struct cachebpf_policy *policy, u32 flags);
int bpf_cachebpf_list_add(struct cachebpf_policy *policy, struct cachebpf_folio *folio,
			  u32 list, bool tail);
int bpf_cachebpf_list_move(struct cachebpf_policy *policy, struct cachebpf_folio *folio,
			   u32 list, bool tail);
int bpf_cachebpf_list_insert(struct cachebpf_policy *policy, struct cachebpf_folio *folio,
			     u32 list_id, u32 nr_max);
int bpf_cachebpf_list_del(struct cachebpf_policy *policy, struct cachebpf_folio *folio);
u64 bpf_cachebpf_list_len(struct cachebpf_policy *policy, u32 list);
u8 *bpf_cachebpf_data(struct cachebpf_folio *folio, const size_t rdwr_buf_size);
u64 bpf_cachebpf_key(struct cachebpf_held_folio *f);
int bpf_cachebpf_file(struct cachebpf_held_folio *f, struct cachebpf_file *file);
u32 bpf_cachebpf_number(struct cachebpf_folio *f);
int bpf_iter_cachebpf_folio_new(struct bpf_iter_cachebpf_folio *it,
				struct cachebpf_policy *policy, u32 number);
struct cachebpf_folio *bpf_iter_cachebpf_folio_next(struct bpf_iter_cachebpf_folio *it);
void bpf_iter_cachebpf_folio_destroy(struct bpf_iter_cachebpf_folio *it);

/* buckets.c: memory */
int bpf_cachebpf_buckets_create(struct cachebpf_policy *policy, u32 bytes_per_page);
u8 *bpf_cachebpf_bucket(struct cachebpf_policy *policy, u64 key, const size_t rdwr_buf_size);

/* iter.c: walks */
int bpf_iter_cachebpf_list_new(struct bpf_iter_cachebpf_list *it, struct cachebpf_evict *evict,
			       u32 list, u32 nr_max, u32 flags);
struct cachebpf_folio *bpf_iter_cachebpf_list_next(struct bpf_iter_cachebpf_list *it);
void bpf_iter_cachebpf_list_destroy(struct bpf_iter_cachebpf_list *it);

int bpf_cachebpf_first(struct cachebpf_evict *evict, u32 list_id, u32 flags,
		       struct cachebpf_seen *seen);

/* advise.c: advice, and who gives it */
u64 bpf_cachebpf_owner(struct cachebpf_policy *policy, struct cachebpf_folio *f);
int bpf_iter_cachebpf_advice_new(struct bpf_iter_cachebpf_advice *it,
				 struct cachebpf_advice *advice);
struct cachebpf_held_folio *bpf_iter_cachebpf_advice_next(struct bpf_iter_cachebpf_advice *it);
void bpf_iter_cachebpf_advice_destroy(struct bpf_iter_cachebpf_advice *it);
int bpf_cachebpf_advice_move(struct cachebpf_advice *advice, u32 from, u32 to, u64 data);
int bpf_cachebpf_advice_insert(struct cachebpf_advice *advice, u32 from, u32 to);

/* readahead.c: more to read */
int bpf_cachebpf_prefetch(struct cachebpf_readahead *ra, u64 index, u32 nr);

/* propose.c: proposals */
int bpf_cachebpf_evict(struct cachebpf_evict *evict, struct cachebpf_folio *folio);
void bpf_cachebpf_rank(struct cachebpf_evict *evict, struct cachebpf_folio *folio, s64 score);
int bpf_cachebpf_rank_list(struct cachebpf_evict *evict, u32 list_id, u32 nr_scan, u32 key);

#endif /* _MM_CACHEBPF_KFUNC_H */
