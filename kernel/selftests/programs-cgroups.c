// SPDX-License-Identifier: GPL-2.0-only
/* Operations on cgroups. */
#include <sys/stat.h>

#include "programs.h"

/* room for the processes themselves; with less somebody would be killed, and rightly */
#define LEAST_MAX	8
#define LEAST_HIGH	6

int op_mkdir(const struct op *op)
{
	return mkdir(cg_dir(op->args[0]), 0755) ? -errno : 0;
}

int op_rmdir(const struct op *op)
{
	if (rmdir(cg_dir(op->args[0])))
		return -errno;
	shared->max[op->args[0]] = 0;
	return 0;
}

/* The worker moves; what it has cached stays where it is. */
int op_enter(const struct op *op)
{
	return cgroup_enter(cg_dir(op->args[0]));
}

static int set_limit(unsigned int cg, const char *file, unsigned int mib)
{
	char text[32];

	if (mib)
		snprintf(text, sizeof(text), "%uM", mib);
	else
		snprintf(text, sizeof(text), "max");
	return cg_write(cg_dir(cg), file, text);
}

int op_reclaim(const struct op *op)
{
	char text[32];

	snprintf(text, sizeof(text), "%uM", op->args[1] / 8 + 1);
	return cg_write(cg_dir(op->args[0]), "memory.reclaim", text);
}

/*
 * A lower limit kills at once if what is there cannot be had quickly.  The one
 * that makes processes reclaim, and kills nobody, comes before it.
 */
int op_max(const struct op *op)
{
	unsigned int cg = op->args[0], mib = op->args[1];
	int err;

	if (mib && mib < LEAST_MAX)
		mib = LEAST_MAX;
	if (mib && cg == CG_TOP)
		mib += LEAST_MAX;
	lock_machine();
	err = set_limit(cg, "memory.high", mib);
	if (!err) {
		if (!mib || cg_number(cg_dir(cg), "memory.current") <= (long long)(mib * MiB)) {
			err = set_limit(cg, "memory.max", mib);
			if (!err)
				shared->max[cg] = mib;
		} else {
			err = -EAGAIN;
		}
		set_limit(cg, "memory.high", 0);
	}
	unlock_machine();
	return err;
}

int op_high(const struct op *op)
{
	unsigned int mib = op->args[1];
	int err;

	if (mib && mib < LEAST_HIGH)
		mib = LEAST_HIGH;
	if (mib && op->args[0] == CG_TOP)
		mib += LEAST_HIGH;
	lock_machine();
	err = set_limit(op->args[0], "memory.high", mib);
	unlock_machine();
	return err;
}

static int protect(const struct op *op, const char *file)
{
	char text[32];

	if (without & WITHOUT_PROTECTION)
		return -EOPNOTSUPP;
	snprintf(text, sizeof(text), "%uM", op->args[1] / 2);
	return cg_write(cg_dir(op->args[0]), file, text);
}

int op_min(const struct op *op)
{
	return protect(op, "memory.min");
}

int op_low(const struct op *op)
{
	return protect(op, "memory.low");
}
