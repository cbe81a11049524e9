// Gives the C pipeline of the benchmark the hashing of change sets, version 2 (Protocol/change-set.md, "Values").
//
// The pipeline hashes the records of a set as one byte string. Our sets are hashed in two parts: the plan, and one
// commitment for each record's values. So its one hash is replaced by the same work:
//
//     record:  kind, mask, stamp, id | field values        →  the plan: the part before the bar
//                                                             commitment = BLAKE2b-256(prefix, salt, field values)
//     salts:   BLAKE2b-512(prefix, seed, number), one for every four records
//     result:  BLAKE2b-256 over the plan and all commitments
//
// This file is included before the pipeline's source (gcc -include). Both the author and the receiver hash this way. The
// pipeline's sets contain no seed, so the seed is constant, which costs the same.

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { head_bytes = 26, seed_bytes = 16, salt_bytes = 16, commitment_bytes = 32, salts_in_block = 4 };

static const char commitment_prefix[] = "waymark/commitment/v1";
static const char salts_prefix[] = "waymark/salts/v1";

// Returns the end of the field values of the record at `record`.
static const unsigned char *values_end(const unsigned char *record) {
  int is_log = record[0] == 'L', mask = record[1];
  const unsigned char *next = record + head_bytes;
  for (int field = 0; field < (is_log ? 4 : 6); field++) {
    if (!(mask & 1 << field)) continue;
    int fixed = is_log ? (field == 0 ? 16 : field == 2 ? 8 : 0) : (field == 3 || field == 4 ? 8 : 0);
    next += fixed ? fixed : 1 + *next;
  }
  return next;
}

// Computes the block of salts with a number. The prefix includes its final zero byte.
static void salts(unsigned number, unsigned char *block) {
  unsigned char message[sizeof salts_prefix + seed_bytes + 4] = {0};
  memcpy(message, salts_prefix, sizeof salts_prefix);
  for (int byte = 0; byte < 4; byte++) message[sizeof message - 1 - byte] = number >> 8 * byte;
  crypto_generichash(block, salts_in_block * salt_bytes, message, sizeof message, 0, 0);
}

static int committed_hash(unsigned char *out, size_t out_bytes, const unsigned char *body, unsigned long long bytes) {
  static unsigned char *plan, message[sizeof commitment_prefix + salt_bytes + (1 << 16)];
  static size_t capacity;
  unsigned char block[salts_in_block * salt_bytes];
  size_t used = 0;
  unsigned count = 0;
  for (const unsigned char *record = body, *end; record < body + bytes; record = end, count++) {
    end = values_end(record);
    if (used + head_bytes + commitment_bytes > capacity) plan = realloc(plan, capacity = 2 * capacity + 4096);
    if (count % salts_in_block == 0) salts(count / salts_in_block, block);
    size_t values = end - record - head_bytes;
    unsigned char *next = message;
    memcpy(next, commitment_prefix, sizeof commitment_prefix);
    memcpy(next += sizeof commitment_prefix, block + count % salts_in_block * salt_bytes, salt_bytes);
    memcpy(next += salt_bytes, record + head_bytes, values);
    memcpy(plan + used, record, head_bytes);
    crypto_generichash(
      plan + used + head_bytes, commitment_bytes, message, sizeof commitment_prefix + salt_bytes + values, 0, 0);
    used += head_bytes + commitment_bytes;
  }
  return crypto_generichash(out, out_bytes, plan, used, 0, 0);
}

#define crypto_generichash(out, out_bytes, body, bytes, key, key_bytes) committed_hash(out, out_bytes, body, bytes)
