/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of advice share. */
#ifndef ADVICE_H
#define ADVICE_H

#include <fcntl.h>
#include <sys/syscall.h>

#include "selftest.h"
#include "states.h"

/* as in bpf/cachebpf.bpf.h */
#define OWN		0x43420000
#define WALK		(1 << 30)
#define BATCH		31

#define NEW_TAIL	2
#define USED_TAIL	8
#define STAMPED		16
#define ELSEWHERE	32
#define USED_TO(list)	(USED_TAIL | ELSEWHERE | (list) << 16)

/* @policy, loaded and not attached yet: its state is to be set */
static inline struct advice_state *advice_load(const char *cg, struct policy **policy)
{
	*policy = policy_open("advice", NULL, cg);
	if (!EXPECT_EQ(policy_load(*policy), 0)) {
		policy_log_show();
		give_up();
	}
	return policy_state(*policy);
}

/* Say @advice about a part of @file; the answer, or a negative errno. */
static inline int fadvise(const struct file *file, long long from, long long len, int advice)
{
	int fd = open(file->path, O_RDONLY | O_CLOEXEC), ret;

	REQUIRE(fd >= 0);
	ret = syscall(SYS_fadvise64, fd, from, len, advice);
	if (ret < 0)
		ret = -errno;
	close(fd);
	return ret;
}

/* What a process says, in memory that it shares. */
struct speech {
	const struct file	*file;
	long long		from, len;
	int			advice;
	int			answer;
};

/* In a process of @cg. */
struct speech *speech_new(const struct file *file, long long from, long long len, int advice);
int speak(void *speech);
int say(const char *cg, const struct file *file, long long from, long long len, int advice);

#endif /* ADVICE_H */
