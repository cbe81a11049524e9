// What `Synchronization.Mutex` does where two threads want it at once happens inside the Swift library and the kernel,
// which the thread sanitizer does not see: it takes every contended mutex for a race. These functions stand in front of
// the library's own and tell the sanitizer what they do. `mutex.swift` shows that it is so, with and without this file.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

extern void __tsan_acquire(void *);
extern void __tsan_release(void *);

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *self
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

SWIFT void lock(uint32_t thread, SELF) __asm__(LOCK);
SWIFT bool try_lock(SELF) __asm__(TRY_LOCK);
SWIFT void unlock(SELF) __asm__(UNLOCK);

static void *library(const char *name) {
  void *function = dlsym(RTLD_NEXT, name);
  if (function == NULL) abort();
  return function;
}

SWIFT void lock(uint32_t thread, SELF) {
  static SWIFT void (*own)(uint32_t, SELF);
  if (own == NULL) own = (SWIFT void (*)(uint32_t, SELF))library(LOCK);
  own(thread, self);
  __tsan_acquire(self);
}

SWIFT bool try_lock(SELF) {
  static SWIFT bool (*own)(SELF);
  if (own == NULL) own = (SWIFT bool (*)(SELF))library(TRY_LOCK);
  bool is_locked = own(self);
  if (is_locked) __tsan_acquire(self);
  return is_locked;
}

SWIFT void unlock(SELF) {
  static SWIFT void (*own)(SELF);
  if (own == NULL) own = (SWIFT void (*)(SELF))library(UNLOCK);
  __tsan_release(self);
  own(self);
}
