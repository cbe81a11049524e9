#pragma once
#include <sqlite3.h>

// What Swift cannot call or see: a variadic function and a macro that casts.

static inline int waymark_sqlite3_db_config_flag(sqlite3 *database, int option, int on) {
  return sqlite3_db_config(database, option, on, (int *)0);
}

static inline sqlite3_destructor_type waymark_sqlite3_transient(void) { return SQLITE_TRANSIENT; }
