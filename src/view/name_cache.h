// SPDX-License-Identifier: Apache-2.0
//
// Answers of the symboliser kept on disk, one file per build id: reading the debug info of a large
// program takes seconds, and a capture is looked at more than once. What is kept is a capture that
// holds nothing but names, so it is compressed, checked and replaced like any other; whatever is
// wrong with a file, it is as if there were none. Several processes may use a directory at once: at
// worst one forgets what another has learnt.
#pragma once
#include "model/model.h"

struct tide_name_cache;

struct tide_name_key { // whose names; inputs as in struct tide_symbol_object
  const uint8_t *build_id;
  uint32_t build_id_len; // 1 to 32
  uint64_t inputs;
};

// Files go to dir, which is made when it is needed. Together they take at most max_bytes: those not
// used for the longest time go first. A directory of somebody else's is left alone.
struct tide_name_cache *tide_name_cache_new(const char *dir, uint64_t max_bytes);
void tide_name_cache_free(struct tide_name_cache *cache); // NULL is fine

// The names kept under a key, of module 1, with ELF addresses; none when nothing is. The caller
// frees them with tide_stored_names_done().
struct tide_stored_names tide_name_cache_load(struct tide_name_cache *cache,
                                              const struct tide_name_key *key);

// Adds names to what is kept under the key. That this fails is nobody's concern.
void tide_name_cache_add(struct tide_name_cache *cache, const struct tide_name_key *key,
                         const struct tide_stored_names *names);
