#pragma once
#include <sqlite3.h>

// What Swift cannot call or see: variadic functions, a macro that casts, and a struct that begins with another.

static inline int waymark_sqlite3_db_config_flag(sqlite3 *database, int option, int on) {
  return sqlite3_db_config(database, option, on, (int *)0);
}

static inline int waymark_sqlite3_count_no_memory(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

static inline sqlite3_destructor_type waymark_sqlite3_transient(void) { return SQLITE_TRANSIENT; }

// What SQLite keeps of an open file of a file system of ours.
typedef struct waymark_file {
  sqlite3_file base;
  void *handle;
} waymark_file;
