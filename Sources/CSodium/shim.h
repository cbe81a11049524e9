#pragma once
#include <sodium.h>

#ifdef __linux__
#include <sys/prctl.h>

// Swift can't call prctl: it takes a variable number of arguments.
static inline int waymark_hide_memory(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }
#else
static inline int waymark_hide_memory(void) { return 0; }
#endif
