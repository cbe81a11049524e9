// Lists the trips of a store as `trip list` does, with nothing but SQL: the fields of each trip, and the count, the
// times and the costs of its items, summed by the database. Prints the median time in milliseconds.
//
//     lists STORE ROUNDS
//
// The store must not be written to meanwhile.
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *list =
    "SELECT t.id, t.name, t.notes, t.created, t.start_date, t.end_date, t.is_protected,"
    "       sum(i.items), min(i.first), max(i.last), group_concat(i.currency || i.cost)"
    "  FROM trip_rows t LEFT JOIN ("
    "    SELECT trip_id, coalesce(cost_currency, '') AS currency, count(*) AS items, min(starts) AS first,"
    "           max(ends) AS last, sum(cost_amount) AS cost FROM ("
    "      SELECT trip_id, starts, ends, cost_amount, cost_currency FROM lodging_rows WHERE life = 1"
    "      UNION ALL SELECT trip_id, starts, ends, cost_amount, cost_currency FROM transportation_rows WHERE life = 1"
    "      UNION ALL SELECT trip_id, starts, ends, cost_amount, cost_currency FROM activity_rows WHERE life = 1)"
    "    GROUP BY trip_id, currency) i ON i.trip_id = t.id"
    " WHERE t.life = 1 GROUP BY t.id ORDER BY t.start_date, t.id";

static void fail(sqlite3 *store) {
  fprintf(stderr, "lists: %s\n", sqlite3_errmsg(store));
  exit(1);
}

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static int ascending(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

int main(int count, char **words) {
  if (count != 3) return 2;
  int rounds = atoi(words[2]);
  if (rounds < 1 || rounds > 1000) return 2;
  double *times = malloc(rounds * sizeof *times);
  sqlite3 *store;
  if (sqlite3_open_v2(words[1], &store, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) fail(store);
  sqlite3_exec(store, "PRAGMA query_only = 1; PRAGMA cache_size = -16384", NULL, NULL, NULL);
  sqlite3_stmt *query;
  if (sqlite3_prepare_v2(store, list, -1, &query, NULL) != SQLITE_OK) fail(store);
  size_t trips = 0, bytes = 0;
  for (int round = 0; round < rounds; round++) {
    double begun = milliseconds();
    int step;
    trips = 0;
    while ((step = sqlite3_step(query)) == SQLITE_ROW) {
      trips++;
      for (int column = 0; column < sqlite3_column_count(query); column++) {
        // Every value is read, as a program that shows it would.
        const void *value = sqlite3_column_blob(query, column);
        if (value) bytes += *(const unsigned char *)value + sqlite3_column_bytes(query, column);
      }
    }
    if (step != SQLITE_DONE) fail(store);
    sqlite3_reset(query);
    times[round] = milliseconds() - begun;
  }
  qsort(times, rounds, sizeof *times, ascending);
  printf("%.3f ms for %zu trips (%zu)\n", times[rounds / 2], trips, bytes);
  sqlite3_finalize(query);
  sqlite3_close(store);
  free(times);
  return 0;
}
