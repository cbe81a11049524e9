#pragma once

// What Swift can't call: it takes a variable number of arguments.
#ifdef __linux__
#include <sys/prctl.h>

static inline int waymark_hide_memory(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }
#else
static inline int waymark_hide_memory(void) { return 0; }
#endif
