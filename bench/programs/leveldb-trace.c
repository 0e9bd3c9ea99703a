/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* leveldb-trace: which pages look-ups in a LevelDB read, as a trace for "cachectl simulate".  What a
 * policy could do for the reads of a database of the papers' size is known without one: whether a page is
 * found depends on the sequence alone. */

#include <inttypes.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "bench-util.h"
#include "options.h"
#include "zipf.h"

/* LevelDB without options: tables of 2 MiB, in levels of which each is ten times the one above.  A block, of
 * 4 KiB and some bytes, is in two pages.  Behind the blocks there is their index, of some 35 bytes for each,
 * and behind that the footer. */
#define DATA_PAGES  512
#define BLOCK_PAGES 2
#define INDEX_PAGES 5
#define TABLE_PAGES (DATA_PAGES + INDEX_PAGES + 1)

/* Papers: eight million look-ups of 536,870,912 records, whose tables need five levels.  LevelDB keeps 990
 * tables open, and to open one it reads footer and index. */
#define RECORD_SIZE  216
#define LEVELS       5
#define PAPERS_MIB   110592
#define PAPERS_OPEN  990
#define PAPERS_OPS   8000000

typedef struct Table {
        TAILQ_ENTRY(Table) recent;
        bool open;
} Table;

TAILQ_HEAD(OpenTables, Table);

typedef struct Level {
        uint64_t n_tables;
        uint64_t first;         /* of its tables in those of the tree */
        double below;           /* the part of all records that is in this level or above */
} Level;

typedef struct Tree {
        Level levels[LEVELS];
        Table *tables;          /* of all levels */
        struct OpenTables open; /* the one that was used last is the first */
        uint64_t n_open, max_open;
} Tree;

static int tree_init(Tree *tree, uint64_t mib, uint64_t max_open) {
        double parts[LEVELS], all = 0.0, above = 0.0, part = 1.0;
        uint64_t n = 0;

        for (int i = LEVELS - 1; i >= 0; i--, part /= 10.0) {
                parts[i] = part;
                all += part;
        }

        for (int i = 0; i < LEVELS; i++) {
                above += parts[i] / all;
                tree->levels[i].below = above;
                tree->levels[i].n_tables = (uint64_t) (parts[i] / all * (double) mib / 2.0 + 0.5);
                if (tree->levels[i].n_tables == 0)
                        tree->levels[i].n_tables = 1;
                tree->levels[i].first = n;
                n += tree->levels[i].n_tables;
        }

        tree->tables = calloc(n, sizeof(Table));
        if (!tree->tables)
                return log_error(-ENOMEM, "out of memory");

        TAILQ_INIT(&tree->open);
        tree->max_open = max_open;
        return 0;
}

static void tree_done(Tree *tree) {
        free(tree->tables);
}

/* Whether a table has to be opened; in its place the one is closed that was not used for longest. */
static bool open_table(Tree *tree, Table *table) {
        bool was_open = table->open;

        if (was_open)
                TAILQ_REMOVE(&tree->open, table, recent);
        else if (tree->n_open < tree->max_open)
                tree->n_open++;
        else {
                Table *oldest = TAILQ_LAST(&tree->open, OpenTables);

                TAILQ_REMOVE(&tree->open, oldest, recent);
                oldest->open = false;
        }

        TAILQ_INSERT_HEAD(&tree->open, table, recent);
        table->open = true;
        return !was_open;
}

/* Where records lie must not depend on how popular they are, and neither may their level. */
static int level_of(const Tree *tree, uint64_t record) {
        double draw = (double) ((record * UINT64_C(0x9e3779b97f4a7c15)) >> 11) * 0x1p-53;
        int level = 0;

        while (level < LEVELS - 1 && draw >= tree->levels[level].below)
                level++;
        return level;
}

/* From the uppermost level to that of the record, in each of which its key is between those of one table. */
static void look_up(Tree *tree, uint64_t record, uint64_t n_records) {
        int home = level_of(tree, record);

        for (int i = 0; i <= home; i++) {
                const Level *level = tree->levels + i;
                double where = ((double) record + 0.5) / (double) n_records * (double) level->n_tables;
                uint64_t table = (uint64_t) where;
                uint64_t page = (uint64_t) ((where - (double) table) * (DATA_PAGES - 1));

                if (open_table(tree, tree->tables + level->first + table)) {
                        printf("%d-%" PRIu64 " %d\n", i, table, TABLE_PAGES - 1);
                        printf("%d-%" PRIu64 " %d+%d\n", i, table, DATA_PAGES, INDEX_PAGES);
                }
                printf("%d-%" PRIu64 " %" PRIu64 "+%d\n", i, table, page, BLOCK_PAGES);
        }
}

static void help(void) {
        printf("%s [OPTIONS…]\n\n"
               "The pages that look-ups in a LevelDB read, as text that \"cachectl simulate\" understands.\n"
               "What is not said is as in the papers, in proportion to the size.\n\n"
               "  --size=MIB           of the database (2048; papers: %d)\n"
               "  --ops=N              look-ups (%d of %d MiB)\n"
               "  --open=N             tables that are kept open (%d of %d MiB)\n"
               "  --uniform            all records are equally likely\n"
               "  --zipf=THETA         skew of the scrambled Zipfian that they have otherwise (0.99)\n"
               "  --universe=N         items the ranks are drawn from (records; YCSB has 10000000000)\n"
               "  --seed=N             seed of the sequence (1)\n"
               "  --help               this text\n",
               program_invocation_short_name, PAPERS_MIB, PAPERS_OPS, PAPERS_MIB, PAPERS_OPEN, PAPERS_MIB);
}

static int trace(int argc, char *argv[]) {
        uint64_t mib = 2048, ops = 0, max_open = 0, universe = 0, seed = 1, n_records;
        __attribute__((cleanup(tree_done))) Tree tree = {};
        double theta = 0.99;
        bool uniform = false;
        const Option options[] = {
                { "size",     16, UINT64_C(1) << 24, &mib      },
                { "ops",      1,  UINT64_C(1) << 40, &ops      },
                { "open",     1,  UINT64_C(1) << 32, &max_open },
                { "universe", 2,  UINT64_C(1) << 40, &universe },
                { "seed",     0,  UINT64_MAX,        &seed     },
                { "zipf",     .parse = option_theta, .target = &theta },
                { "uniform",  .flag = &uniform },
        };
        Zipf zipf;
        int r;

        r = options_parse(argc, argv, options, ELEMENTSOF(options), help);
        if (r != 0)
                return r < 0 ? r : 0;
        if (optind < argc)
                return log_error(-EINVAL, "unexpected argument \"%s\", see --help", argv[optind]);

        n_records = mib * (UINT64_C(1) << 20) / RECORD_SIZE;
        r = tree_init(&tree, mib, max_open ?: 1 + PAPERS_OPEN * mib / PAPERS_MIB);
        if (r < 0)
                return r;

        zipf_init(&zipf, n_records, universe ?: n_records, theta, seed);
        if (ops == 0)
                ops = PAPERS_OPS * mib / PAPERS_MIB;
        for (; ops > 0 && !ferror(stdout); ops--)
                look_up(&tree,
                        uniform ? random_below(&zipf.random, n_records) : zipf_next(&zipf),
                        n_records);

        if (fflush(stdout) != 0 || ferror(stdout))
                return log_error(-EIO, "the trace cannot be written: %s", strerror(errno));
        return 0;
}

int main(int argc, char *argv[]) {
        return trace(argc, argv) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
