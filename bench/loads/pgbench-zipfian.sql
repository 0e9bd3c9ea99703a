-- SPDX-License-Identifier: LGPL-2.1-or-later
-- As select-only, but some accounts are popular, and these lie anywhere in the table. A seed of its own for where they
-- lie: they are the same in each run.
\set aid permute(random_zipfian(1, :records, :zipf) - 1, :records, 1) + 1
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
