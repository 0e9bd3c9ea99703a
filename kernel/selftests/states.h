/* SPDX-License-Identifier: GPL-2.0-only */
/* What the test policies and the tests share: the variable in .bss.state. */
#ifndef STATES_H
#define STATES_H

#include <linux/types.h>

#ifndef __bpf__
/* enum cachebpf_removed, of those reasons that a policy is told */
enum { RECLAIM, TRUNCATE, INVALIDATE, MIGRATE };
#endif

#define LISTS_MAX_FOLIOS	1024
#define LISTS_MAX_LISTS		1100
#define LISTS_NR_WALKS		3
#define LISTS_NR_FLAGS		4

enum walk_action {
	WALK_LOOK,
	/* to the end @tail of list @to */
	WALK_MOVE,
	WALK_ADD,
	WALK_DEL,
	WALK_EVICT,
	WALK_RANK,
	/* no walk: bpf_cachebpf_rank_list() with the key @to */
	WALK_RANK_LIST,
};

/* one walk of an armed request, and what it met */
struct walk {
	__u32 list;
	__u32 nr_max;
	__u32 flags;
	__u32 action;
	__u32 to;
	__u32 tail;
	__s32 last_error;
	__u32 nr_visited;
	__u32 visited[LISTS_MAX_FOLIOS];
};

/* lists.bpf.c; folios are known by the order in which they were added, from 0 */
struct lists_state {
	/* settings; flags are those of the first lists */
	__u32 want_lists;
	__u32 list_flags[LISTS_NR_FLAGS];
	/* folio n goes to list 1 + n % add_to */
	__u32 add_to;
	__u32 add_to_head;
	__u32 del_accessed;
	/* in folio_added(): 8 bytes of the policy's are the score of the folio */
	__u32 data_is_score;
	/* requests left to be served; the others get no proposal */
	__u32 armed;
	__u32 nr_walks;
	struct walk walks[LISTS_NR_WALKS];
	__s64 scores[LISTS_MAX_FOLIOS];

	/* results */
	__u32 numbers[LISTS_MAX_LISTS];
	__u32 nr_lists;
	__s32 create_error;
	__u32 nr_added;
	__u32 nr_wanted;
	__u32 nr_proposed;
	/* of lists 1 to 128 when the request came, and after the walks */
	__u64 len_before[128];
	__u64 len_after[128];
	__u32 nr_reclaimed;
	__u32 reclaimed[LISTS_MAX_FOLIOS];
	__s32 error_add;
	__s32 error_add_huge;
	__s32 error_move;
	__s32 error_iter;
	__s32 error_iter_flags;
	__u64 len_of_none;
};

/* one more than there may be */
/* how it finds what is next in order */
enum readahead_walk {
	READAHEAD_WALKS,
	READAHEAD_WALKS_AND_ROTATES,
	READAHEAD_RANKS,
	/* three times, before it proposes */
	READAHEAD_WALKS_AGAIN,
};

#define READAHEAD_MAX_RANGES	5

enum { READAHEAD_MISS, READAHEAD_MARKER, READAHEAD_FAULT, READAHEAD_REASONS };

/* readahead.bpf.c */
struct readahead_state {
	/* settings, for each reason */
	struct readahead_answer {
		__u32 declines;
		/* leave the window as it is */
		__u32 keeps;
		/* start is a page of the file, else so many pages from the index */
		__u32 absolute;
		__u32 size;
		__u32 async_size;
		__s64 start;
	} answers[READAHEAD_REASONS];

	/* the same for all reasons; nr is 0: none */
	struct {
		__u64 index;
		__u32 nr;
		/* the result */
		__s32 error;
	} ranges[READAHEAD_MAX_RANGES];

	/* of the policies that evict in order */
	__u32 walk;
	/* they set the uses of all that they walk over to 0, of all that comes in to this */
	__u32 forgets;
	__u32 new_accesses;
	/* they take so long where they find one folio at most */
	__u32 slow_us;
	__u32 evict_calls;

	/* results: calls by reason, and what was told in the last one */
	__u64 asked[READAHEAD_REASONS];
	__u64 ino;
	__u64 stream;
	__u64 index;
	__u64 file_pages;
	__u64 prev_end;
	__u64 room;
	__u64 limit;
	__u32 dev;
	__u32 wanted;
	__u32 last_window;
	__u32 stock_window;
	__u32 mmap_miss;
	__u32 marked;
	__u32 size;
};

#define EVENTS_MAX_FOLIOS	32768

/* events.bpf.c */
struct events_state {
	/* folio_accessed() writes this to the access counter, unless it is 0 */
	__u32 write_accesses;

	__u32 nr_added;
	/* pages, by why */
	__u64 added[4];
	__u64 added_written;
	__u64 accessed;
	__u64 removed[8];
	/* adopted folios, by their access counter */
	__u64 adopted_accesses[8];
	/* of the last call */
	__u32 accesses_seen;
	__u32 accesses_at_end;
	/* removed folios whose 16 bytes were as they had been left, and were not */
	__u64 intact;
	__u64 damaged;
	/* how often was folio n removed? */
	__u8 ends[EVENTS_MAX_FOLIOS];
};

/* misbehave.bpf.c */
struct misbehave_state {
	__u32 requests;
	__u32 proposals;
	__u64 visits;
};

enum admission_mode {
	ADMIT_ALL,
	ADMIT_NONE,
	/* what is used again */
	ADMIT_REUSED,
	/* only the file admitted_ino */
	ADMIT_FILE,
	/* all but the threads of class rejected_class */
	ADMIT_CLASS,
};

#define ADMISSION_NR_FLAGS	32

/* admission.bpf.c */
struct admission_state {
	/* settings */
	__u32 mode;
	__u32 rejected_class;
	__u64 admitted_ino;

	/* pages, by cachebpf_admission.flags */
	__u64 asked[ADMISSION_NR_FLAGS];
	/* of the last question */
	__u64 ino;
	__u64 pos;
	__u32 dev;
	__u32 nr_pages;
	__u32 pid;
	/* pages, by why; and the access counter of the last one */
	__u64 added[8];
	__u32 accesses;
	__u64 accessed;
	__u64 removed;
	/* folios whose 16 bytes were not empty when they were added */
	__u64 damaged;
};

#define KEYS_MAX_FOLIOS		4096
#define KEYS_NR_LISTS		3

/* keys.bpf.c; folio n is the one that was added as the nth, from 0 */
struct keys_state {
	__u32 nr_added;
	/* by folio */
	__u64 added[KEYS_MAX_FOLIOS];
	__u64 accessed[KEYS_MAX_FOLIOS];
	__u64 removed[KEYS_MAX_FOLIOS];
	/* the list it was said to be on; it was put on 1 + n % KEYS_NR_LISTS */
	__u8 list_accessed[KEYS_MAX_FOLIOS];
	__u8 list_removed[KEYS_MAX_FOLIOS];
	/* nodes that were reclaimed, a bit each */
	__u64 nodes;
};

#define BUCKETS_MAX_CREATES	8

/* buckets.bpf.c; a bucket has 16 places for lower halves of keys */
struct buckets_state {
	/* settings; the calls that ask for buckets */
	__u32 nr_creates;
	__u32 bytes_per_page[BUCKETS_MAX_CREATES];
	/* remember what is added; look for what is used again */
	__u32 remember;
	__u32 look;
	/* use none */
	__u32 idle;

	/* results */
	__s32 errors[BUCKETS_MAX_CREATES];
	__u64 remembered;
	/* no place for it */
	__u64 overflown;
	__u64 found;
	__u64 missing;
	/* calls that got no bucket */
	__u64 none;
	/* of 65 bytes, which is too much */
	__u64 too_large;
};

/* reports.bpf.c: what it sends through its ring buffer */
enum report_kind { REPORT_ADDED, REPORT_ACCESSED, REPORT_REMOVED, REPORT_EVICT, REPORT_KINDS };

struct report {
	__u32 kind;
	/* of this kind, from 0 */
	__u32 nr;
};

struct reports_state {
	__u64 sent[REPORT_KINDS];
	/* there was no room */
	__u64 lost;
	/* list 1 goes first if it is 0, else list 2; the program report_flip changes it */
	__u32 other_first;
	__u32 flips;
};

/* watchdog.bpf.c */
struct watchdog_state {
	/* settings */
	__u32 one_in;
	__u32 slow_us;
	/* serve one request with folios that are gone when it ends, as soon as they are */
	__u32 armed;
	__u32 gone;
	/* memory that policy_init() reads */
	__u64 pages;
	__u32 nr_pages;

	/* results */
	__u32 requests;
	__u32 proposed;
	__u32 errors;
	__u64 visits;
	/* of one request */
	__u64 most_visits;
};

#define ADVICE_MAX_FOLIOS	4096
#define ADVICE_NR_FLAGS		4
#define ADVICE_NR_LOOKS		4
#define ADVICE_NR_DUMPS		2

enum advice_action {
	ADVICE_LOOK,
	/* to the tail of the list @to */
	ADVICE_MOVE,
	/* there, too, with the first of @keys left */
	ADVICE_INSERT,
	/* in each call, with the next ones, as long as they are on the list @from: the first, */
	ADVICE_MOVE_NEXT,
	/* or sorted in by their stamps */
	ADVICE_INSERT_NEXT,
};

/* a folio as a policy saw it */
struct advice_folio {
	__u32 number;
	__u32 list;
	/* which page of its file; not in @dumps */
	__u64 index;
	__u64 owner;
	__s64 key;
	__u64 stamp;
};

/* advice.bpf.c */
struct advice_state {
	/* settings; those of the first lists */
	__u32 want_lists;
	__u32 list_flags[ADVICE_NR_FLAGS];
	/* what advise() returns in the first call, and in the others, which last at least so long */
	__s32 answer;
	__s32 walk_answer;
	__u32 wait_us;
	/* what the others do with each folio, or all do with the next ones */
	__u32 action;
	__u32 from;
	__u32 to;
	__u32 nr_max;
	__s64 keys[ADVICE_MAX_FOLIOS];
	/* a folio that is added has a number, from 0, as its key */
	__u32 number_as_key;
	/* propose whatever is on the lists @propose and below */
	__u32 propose;
	/* in the next request: look for the first folio of lists, for a number, and at all of lists */
	__u32 armed;
	struct advice_look {
		__u32 list;
		__u32 flags;
		__s32 error;
		__u32 number;
		__u32 order;
		/* as the folio says itself */
		__u32 own_order;
		__u32 visits;
	} looks[ADVICE_NR_LOOKS];
	__u32 number_wanted;
	__u32 dump[ADVICE_NR_DUMPS];

	/* results: the last first call; how many there were, and how many others */
	struct {
		__u64 manager;
		__u64 ino;
		__u64 index;
		__u32 dev;
		__u32 generation;
		__u64 first;
		__u64 last;
		__s32 advice;
	} said;
	__u32 nr_said;
	__u32 nr_calls;
	/* folios that were added, and those of the other calls since nr_seen was set */
	__u32 nr_added;
	struct advice_folio added[ADVICE_MAX_FOLIOS];
	__u32 nr_seen;
	struct advice_folio seen[ADVICE_MAX_FOLIOS];
	__s32 action_error;
	/* pages that ADVICE_MOVE_NEXT and ADVICE_INSERT_NEXT have moved */
	__u32 nr_moved;
	__u32 nr_lists;
	__s32 create_error;
	__u32 nr_found;
	__u32 nr_dumped[ADVICE_NR_DUMPS];
	struct advice_folio dumps[ADVICE_NR_DUMPS][ADVICE_MAX_FOLIOS];
};

/* parts.bpf.c: policies of random programs */
#define PARTS_MAX_LISTS		4
#define PARTS_NR_STEPS		3
#define PARTS_COPIES		2
#define PARTS_WAIT_US		2000
#define PARTS_MARK		0x6d61726b6d61726bULL

/* what folio_added(), _accessed() and _removed() do with a folio */
enum parts_put_how {
	PUT_NOWHERE,
	PUT_ADD,
	PUT_MOVE,
	/* to any list, list 0 included */
	PUT_SPREAD,
	PUT_DEL,
	/* where the policy's bytes have it */
	PUT_SORTED,
	PUT_HOWS,
};

enum parts_writes {
	PARTS_WRITE_DATA	= 1 << 0,
	PARTS_WRITE_ACCESSES	= 1 << 1,
	PARTS_WRITE_BUCKET	= 1 << 2,
	/* the first of the bytes are the file's number and the page's */
	PARTS_WRITE_FILE	= 1 << 3,
};

struct parts_put {
	__u32 how;
	__u32 list;
	__u32 tail;
	__u32 writes;
};

/* what evict_folios() does, three of them one after the other */
enum parts_step_how {
	STEP_NOTHING,
	STEP_EVICT,
	STEP_RANK,
	STEP_RANK_LIST,
	/* the first folios of a list, found again by their numbers */
	STEP_FIRST,
	STEP_MOVE,
	/* all lists, all folios */
	STEP_SWEEP,
	/* nobody who behaves does these */
	STEP_TOO_MANY,
	STEP_REPEAT,
	STEP_NESTED,
	STEP_GONE,
	STEP_HOWS,
};

enum parts_key { PARTS_BY_ACCESSES, PARTS_BY_DATA, PARTS_BY_CHANCE };

struct parts_step {
	__u32 how;
	__u32 list;
	__u32 nr_max;
	__u32 flags;
	__u32 to;
	__u32 tail;
	__u32 key;
};

enum parts_admit {
	PARTS_ADMIT_ALL,
	PARTS_ADMIT_NONE,
	PARTS_ADMIT_REUSED,
	PARTS_ADMIT_SOME,
	/* threads that are in no class but 0 */
	PARTS_ADMIT_CLASS,
	PARTS_ADMITS,
};

/* what plan_readahead() says */
enum parts_plan {
	PARTS_PLAN_DECLINES,
	/* nothing is read ahead */
	PARTS_PLAN_WANTED,
	/* some pages around what is wanted */
	PARTS_PLAN_NEAR,
	/* any numbers */
	PARTS_PLAN_ANY,
	PARTS_PLANS,
};

struct parts_state {
	/* settings */
	__u32 nr_lists;
	__u32 list_flags[PARTS_MAX_LISTS];
	__u32 bucket_bytes;
	__u32 admit;
	__u32 plan;
	struct parts_put when_added;
	struct parts_put when_accessed;
	struct parts_put when_removed;
	struct parts_put when_advised;
	struct parts_step steps[PARTS_NR_STEPS];
	/* lists are stamped: half of the bytes are the kernel's */
	__u32 stamped;

	/* results: calls, and folios whose bytes were not what they must be */
	__u64 exits;
	__u64 added;
	__u64 accessed;
	__u64 removed;
	__u64 asked;
	__u64 advised;
	__u64 planned;
	__u64 requests;
	__u64 not_empty;
	__u64 not_intact;
};

#endif /* STATES_H */
