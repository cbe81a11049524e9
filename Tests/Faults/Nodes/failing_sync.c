/* Makes a node's disk fail: after so many syncs of the store's files further ones give EIO, as a disk does that has
 * lost what it was told to keep. FAIL_AFTER is that number, FAIL_TIMES how many fail then (all, unless it is given),
 * FAIL_FILE a part of the names it is about, or with = before it a whole name, as of a directory. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_long count;

static int fails(int file) {
  const char *after = getenv("FAIL_AFTER"), *times = getenv("FAIL_TIMES"), *part = getenv("FAIL_FILE");
  char link[64], path[PATH_MAX + 1];
  if (!after || !part) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, PATH_MAX);
  if (length < 0) return 0;
  path[length] = 0;
  if (part[0] == '=' ? strcmp(path, part + 1) : !strstr(path, part)) return 0;
  long number = atomic_fetch_add(&count, 1) - atol(after);
  return number >= 0 && (!times || number < atol(times));
}

static int call(const char *name, int file) {
  if (fails(file)) {
    errno = EIO;
    return -1;
  }
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  return real(file);
}

int fsync(int file) { return call("fsync", file); }
int fdatasync(int file) { return call("fdatasync", file); }
