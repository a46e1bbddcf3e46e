// SPDX-License-Identifier: Apache-2.0
//
// Names for the addresses of many images: what the cache on disk holds or else the symboliser says,
// each file opened once however many processes had it loaded. One thread at a time.
#pragma once
#include "base/lookup.h"
#include "model/model.h"
#include "symbol/symbol.h"

// ---- the cache ----
//
// Answers of the symboliser kept on disk, one file per build id: reading the debug info of a large
// program takes seconds, and a capture is looked at more than once. What is kept is a capture that
// holds nothing but names, so it is compressed, checked and replaced like any other; whatever is
// wrong with a file, it is as if there were none. Several processes may use a directory at once: at
// worst one forgets what another has learnt.

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

// ---- names for addresses ----

struct tide_resolver;

struct tide_resolver *tide_resolver_new(void);
void tide_resolver_free(struct tide_resolver *resolver); // NULL is fine

// As tide_symboliser_set_sources(), and when that is.
void tide_resolver_set_sources(struct tide_resolver *resolver,
                               const struct tide_symbol_sources *sources);

// Answers are taken from a cache, and new ones put into it when the resolver is freed. The resolver
// takes the cache over; NULL: none.
void tide_resolver_set_cache(struct tide_resolver *resolver, struct tide_name_cache *own_cache);

// Announces a module as tide_symboliser_add() does; the same file gives the same id.
uint32_t tide_resolver_add(struct tide_resolver *resolver, const char *path,
                           const uint8_t *build_id, uint32_t build_id_len);

// As tide_symboliser_lookup() and tide_symboliser_object().
size_t tide_resolver_lookup(struct tide_resolver *resolver, uint32_t id, uint64_t addr,
                            struct tide_symbol_frame *out, size_t max);
const struct tide_symbol_object *tide_resolver_object(struct tide_resolver *resolver, uint32_t id);

// Called before each question that may take long, with the file it is about and how many such
// questions were asked before: for somebody who shows progress.
typedef void tide_resolver_watcher(void *context, const char *path, size_t n_asked);
void tide_resolver_watch(struct tide_resolver *resolver, tide_resolver_watcher *watcher,
                         void *context);

// ---- what a capture says itself ----
//
// The names a capture carries, readable: what another tool wrote down mangled is demangled, once
// per text.

struct tide_told_name {
  uint32_t offset; // of the text as it is stored
  char *text;      // owned; NULL: it is fine as it is
};

struct tide_told_names { // all zero: none yet
  struct tide_told_name *items;
  size_t n, cap;
  struct tide_id_index by_offset;
};

// The function's name at an offset of the stored text; NULL for 0. Lives as long as both.
const char *tide_told_names_function(struct tide_told_names *told,
                                     const struct tide_stored_names *names, uint32_t offset);
void tide_told_names_done(struct tide_told_names *told);
