#include "CSQLiteSetup.h"

#include <sqlite3.h>

// As `ProcessSettings.countNoMemory()` does for `waymark`. Otherwise two tests at a time take as long as one after the
// other. A bundle of tests has no `main`, so this runs when it is loaded.
__attribute__((constructor)) static void count_no_memory(void) { sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
