#include "selftest.h"
static const struct test tests[] = { };
SUBJECT(misbehave);
