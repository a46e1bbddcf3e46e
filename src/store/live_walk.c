// SPDX-License-Identifier: Apache-2.0
//
// A table is read whole, and the region's word before and after: if that is the same, it was that
// region's all the time.
#include "store/live_walk.h"

#include "store/live_inside.h"

#include <string.h>

enum {
  WORDS = 512, // read at once, of the root and of a chunk
  CHUNKS = 1 << TIDE_LIVE_ROOT_BITS,
  PARTS = TIDE_LIVE_CHUNK_BYTES / sizeof(uint64_t) / TIDE_LIVE_REGIONS, // of a chunk
  ATTEMPTS = 16,
};

struct walking {
  const struct tide_live_walk *walk;
  struct tide_live_map map;
  struct tide_walk_result result;
  uint64_t copy[TIDE_TABLE_MAX_LINES * TIDE_TABLE_LINE / sizeof(uint64_t)];
};

static bool read_at(const struct walking *w, uint64_t addr, void *to, size_t bytes)
{
  return w->walk->read(w->walk->context, addr, to, bytes);
}

static uint64_t size_of(const struct walking *w, const struct tide_block *block, uint64_t addr)
{
  struct tide_live_large large;
  if (block->size != TIDE_LIVE_LARGE || !read_at(w, (uint64_t)w->map.large, &large, sizeof large))
    return block->size;
  for (int i = 0; i < TIDE_LIVE_MAX_LARGE; i++)
    if (large.blocks[i].addr == addr && large.blocks[i].size)
      return large.blocks[i].size;
  return block->size;
}

// Most of what is read of the root and of a chunk.
static bool is_all_zero(const uint64_t words[WORDS])
{
  return !words[0] && !memcmp(words, words + 1, (WORDS - 1) * sizeof *words);
}

// table: the copy, with the shape of what was copied.
static void list_blocks(struct walking *w, uint64_t table, uint64_t start)
{
  struct tide_entry e;
  for (uint32_t i = 0; tide_table_next(table, &i, &e);) {
    struct tide_block block = tide_live_block(e.what, e.when);
    if (!block.cell)
      continue;
    uint64_t addr = start + (e.key << 3);
    struct tide_walk_block found = {addr, size_of(w, &block, addr), block.cell,
                                    tide_when_interval(block.when)};
    w->result.n_blocks++;
    w->walk->each(w->walk->context, &found);
  }
}

// table: what the region's word was a moment ago.
static void walk_region(struct walking *w, uint64_t word_at, uint64_t table, uint64_t start)
{
  for (int i = 0; i < ATTEMPTS && table; i++) {
    uint64_t again, n = tide_table_n_lines(table);
    if (n > TIDE_TABLE_MAX_LINES)
      break;
    bool is_read =
        read_at(w, (uint64_t)TIDE_TABLE_ADDRESS(table), w->copy, (size_t)n * TIDE_TABLE_LINE);
    if (!read_at(w, word_at, &again, sizeof again))
      return;
    if (is_read && again == table) {
      list_blocks(w, (uint64_t)w->copy << 16 | (uint16_t)table, start);
      return;
    }
    table = again;
  }
  w->result.n_unread += table != 0;
}

static bool has_enough(struct walking *w, uint64_t region)
{
  if (!w->walk->enough || w->result.n_blocks < w->walk->enough)
    return false;
  w->result.end = region + (UINT64_C(1) << TIDE_LIVE_REGION_BITS);
  return true;
}

// False: there are enough.
static bool walk_chunk(struct walking *w, uint64_t chunk, uint64_t start)
{
  uint64_t words[PARTS][WORDS] = {0};
  const uint64_t n_parts = w->map.apart ? 1 : PARTS;
  const uint64_t part_bytes = TIDE_LIVE_REGIONS * sizeof(uint64_t);
  uint64_t first = w->walk->from > start ? (w->walk->from - start) >> TIDE_LIVE_REGION_BITS : 0;
  for (uint64_t i = first / WORDS * WORDS; i < TIDE_LIVE_REGIONS; i += WORDS) {
    uint64_t at = chunk + i * sizeof(uint64_t);
    for (uint64_t part = 0; part < n_parts; part++)
      if (!read_at(w, at + part * part_bytes, words[part], sizeof words[part]))
        memset(words[part], 0, sizeof words[part]);
    if (is_all_zero(words[0]) && is_all_zero(words[1]))
      continue;
    for (uint64_t k = i < first ? first - i : 0; k < WORDS; k++) {
      uint64_t region = start + ((i + k) << TIDE_LIVE_REGION_BITS);
      if (!words[0][k] && !words[1][k])
        continue;
      for (uint64_t part = 0; part < n_parts; part++)
        walk_region(w, at + k * sizeof(uint64_t) + part * part_bytes, words[part][k], region);
      if (has_enough(w, region))
        return false;
    }
  }
  return true;
}

// False: there is no map.
static bool walk_root(struct walking *w)
{
  uint64_t chunks[WORDS], first = w->walk->from >> TIDE_LIVE_CHUNK_BITS;
  for (uint64_t i = first / WORDS * WORDS; i < CHUNKS; i += WORDS) {
    if (!read_at(w, (uint64_t)w->map.root + i * sizeof *chunks, chunks, sizeof chunks))
      return false;
    if (is_all_zero(chunks))
      continue;
    for (uint64_t k = i < first ? first - i : 0; k < WORDS; k++)
      if (chunks[k] && !walk_chunk(w, chunks[k], (i + k) << TIDE_LIVE_CHUNK_BITS))
        return true;
  }
  return true;
}

bool tide_live_walk(const struct tide_live_walk *walk, struct tide_walk_result *ret_result)
{
  struct walking w = {.walk = walk, .result.end = UINT64_MAX};
  if (!read_at(&w, walk->map, &w.map, sizeof w.map) || !w.map.root || !walk_root(&w))
    return false;
  *ret_result = w.result;
  return true;
}
