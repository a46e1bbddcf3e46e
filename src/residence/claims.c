// SPDX-License-Identifier: Apache-2.0
//
// Stacks are found by what describes them: at their upper end lies a struct that names where the
// mapping begins, its guard included, and how long it is, one word behind the other. glibc and musl
// both have that, wherever in the struct. The thread's number is near it, or 0 once it has ended.
#define _GNU_SOURCE
#include "residence/ledger.h"

#include "base/alloc.h"
#include "base/lookup.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAPPED_BIT = 2, NEAR_BYTES = 2048, PIECE_WORDS = 32768 };
#define MAX_SEARCHED (UINT64_C(64) << 20) // bytes of a mapping

static void add(struct tide_claims *claims, struct tide_claim claim)
{
  if (claim.lo >= claim.hi)
    return;
  TIDE_GROW(claims->items, claims->n, claims->cap);
  claim.order = claims->n;
  claims->items[claims->n++] = claim;
}

void tide_claims_add(struct tide_claims *claims, uint64_t lo, uint64_t hi,
                     enum tide_residence_kind kind, uint32_t site)
{
  add(claims, (struct tide_claim){lo, hi, kind, site, lo, hi, 0, false});
}

void tide_claims_add_told(struct tide_claims *claims, uint64_t lo, uint64_t hi)
{
  add(claims, (struct tide_claim){.lo = lo, .hi = hi, .site = TIDE_NO_SITE, .is_told = true});
  claims->n_told = claims->n;
}

// Of two that begin at one place the one that was added first is first.
static int claim_order(const void *a, const void *b)
{
  const struct tide_claim *x = a, *y = b;
  return x->lo != y->lo ? (x->lo < y->lo ? -1 : 1) : x->order < y->order ? -1 : 1;
}

void tide_claims_settle(struct tide_claims *claims)
{
  uint64_t behind = 0;
  size_t n = 0;
  if (claims->n)
    qsort(claims->items, claims->n, sizeof *claims->items, claim_order);
  for (size_t i = 0; i < claims->n; i++) {
    struct tide_claim claim = claims->items[i];
    claim.lo = claim.lo > behind ? claim.lo : behind;
    if (claim.lo >= claim.hi)
      continue;
    behind = claim.hi;
    claims->items[n++] = claim;
  }
  claims->n = n;
}

void tide_claims_done(struct tide_claims *claims)
{
  free(claims->items);
  *claims = (struct tide_claims){0};
}

// ---- blocks with a mapping of their own ----

// Those told elsewhere are the first that were added, by address.
static bool is_told(const struct tide_claims *claims, uint64_t address)
{
  size_t i = TIDE_FIRST_NOT_BELOW(claims->items, claims->n_told, hi, address + 1);
  return i < claims->n_told && claims->items[i].lo <= address;
}

// Where the mapping of a chunk ends, by the chunk's size. From 2.43 on that is without the header.
static uint64_t mapping_end(uint64_t chunk, uint64_t size, uint64_t page)
{
  uint64_t end = chunk + (size & ~7ull);
  return end % page == page - 16 ? end + 16 : end;
}

// glibc's: the size in front of the block says so, and the word before that how far the mapping
// begins before it; its lowest bit is for huge pages, from 2.43 on.
void tide_claims_add_mapped_block(struct tide_claims *claims, struct tide_space *space,
                                  const struct tide_recorded_block *block)
{
  uint64_t words[2], chunk = block->lo - 16, page = space->page_bytes;
  if (block->hi - block->lo < page || block->lo % 16 || is_told(claims, block->lo) ||
      !tide_space_read(space, chunk, words, sizeof words))
    return;
  uint64_t lo = chunk - (words[0] & ~1ull), hi = mapping_end(chunk, words[1], page);
  if (!(words[1] & MAPPED_BIT) || lo > chunk || lo % page || hi % page || hi < block->hi)
    return;
  add(claims,
      (struct tide_claim){lo, hi, TIDE_RESIDENCE_BLOCKS, block->site, block->lo, block->hi, false});
}

// A chunk at the beginning of a page, of whole pages, that says of itself that it is mapped; behind
// it may be the next one.
static uint64_t mapped_chunk_end(struct tide_space *space, uint64_t chunk, uint64_t end)
{
  uint64_t words[2], page = space->page_bytes;
  if (!tide_space_read(space, chunk, words, sizeof words) || words[0] & ~1ull ||
      (words[1] & 7) != MAPPED_BIT)
    return 0;
  uint64_t behind = mapping_end(chunk, words[1], page);
  return behind % page == 0 && behind > chunk && behind <= end ? behind : 0;
}

void tide_claims_add_unrecorded(struct tide_claims *claims, struct tide_space *space)
{
  for (size_t i = 0; i < space->n_mappings; i++) {
    const struct tide_space_mapping *m = &space->mappings[i];
    if (!tide_space_is_plain(m) || !m->writable)
      continue;
    for (uint64_t at = m->lo, end; (end = mapped_chunk_end(space, at, m->hi)); at = end)
      tide_claims_add(claims, at, end, TIDE_RESIDENCE_UNRECORDED, TIDE_NO_SITE);
  }
}

// ---- stacks ----

struct threads {
  uint32_t *ids;
  size_t n, cap;
};

static void read_threads(uint32_t pid, struct threads *ret_threads)
{
  char path[64];
  snprintf(path, sizeof path, "/proc/%u/task", pid);
  DIR *tasks = opendir(path);
  for (const struct dirent *task; tasks && (task = readdir(tasks));) {
    if (task->d_name[0] == '.')
      continue;
    TIDE_GROW(ret_threads->ids, ret_threads->n, ret_threads->cap);
    ret_threads->ids[ret_threads->n++] = (uint32_t)strtoul(task->d_name, NULL, 10);
  }
  if (tasks)
    closedir(tasks);
}

// Is the number of a thread that lives near this place?
static bool is_of_living(struct tide_space *space, const struct threads *threads, uint64_t at,
                         uint64_t lo)
{
  uint32_t near[2 * NEAR_BYTES / sizeof(uint32_t)];
  uint64_t from = at - lo > NEAR_BYTES ? at - NEAR_BYTES : lo;
  size_t n = (size_t)(at - from) / sizeof *near + 32;
  if (!tide_space_read(space, from, near, n * sizeof *near) &&
      !tide_space_read(space, from, near, (n -= 32) * sizeof *near))
    return true; // as far as anybody knows
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < threads->n; k++)
      if (near[i] == threads->ids[k])
        return true;
  return false;
}

struct stack {
  uint64_t guard, lo, hi; // hi: of the mapping, then of the stack
  uint64_t told_at;       // where that stands
};

static bool names_stack(struct stack *stack, const uint64_t words[2], uint64_t at, uint64_t page)
{
  uint64_t end = words[0] + words[1];
  if (words[0] != stack->guard || words[1] % page || end <= at || end > stack->hi)
    return false;
  stack->hi = end;
  stack->told_at = at;
  return true;
}

// From its end on: in frames of the stack may be copies of the two words.
static bool search_run(struct tide_space *space, uint64_t lo, uint64_t hi, struct stack *stack,
                       uint64_t *piece)
{
  for (uint64_t end = hi; end >= lo + 16;) {
    size_t n = (end - lo) / 8 < PIECE_WORDS ? (size_t)(end - lo) / 8 : PIECE_WORDS;
    uint64_t at = end - n * 8;
    if (!tide_space_read(space, at, piece, n * 8))
      return false;
    for (size_t i = n - 1; i-- > 0;)
      if (piece[i] == stack->guard && names_stack(stack, &piece[i], at + i * 8, space->page_bytes))
        return true;
    end = at > lo ? at + 8 : lo; // two words may lie across
  }
  return false;
}

static bool find_stack(struct tide_space *space, struct stack *stack, uint64_t *piece)
{
  uint64_t searched = 0;
  size_t i = tide_space_run_at(space, stack->hi - 1);
  for (i += i < space->n_runs && space->runs[i].lo<stack->hi; i> 0 &&
            space->runs[i - 1].hi > stack->lo && searched < MAX_SEARCHED;
       i--) {
    const struct tide_space_run *run = &space->runs[i - 1];
    uint64_t lo = run->lo > stack->lo ? run->lo : stack->lo;
    uint64_t hi = run->hi < stack->hi ? run->hi : stack->hi;
    searched += hi - lo;
    if (search_run(space, lo, hi, stack, piece))
      return true;
  }
  return false;
}

static bool is_guard(const struct tide_space_mapping *m)
{
  return !m->readable && !m->writable && !m->executable && tide_space_is_plain(m);
}

// Is the mapping of a kind that stacks are in, and does nobody else tell what is there?
static bool may_have_stack(const struct tide_claims *claims, const struct tide_space_mapping *m,
                           uint64_t at)
{
  return tide_space_is_anonymous(m) && m->writable && !is_told(claims, at);
}

static void add_stack(struct tide_claims *claims, struct tide_space *space,
                      const struct threads *threads, struct stack stack, uint64_t *piece)
{
  if (!find_stack(space, &stack, piece))
    return;
  bool lives = is_of_living(space, threads, stack.told_at, stack.lo);
  tide_claims_add(claims, stack.lo, stack.hi,
                  lives ? TIDE_RESIDENCE_THREAD_STACKS : TIDE_RESIDENCE_ENDED_STACKS, TIDE_NO_SITE);
}

// glibc 2.42 and later make guards by advice where the kernel can (Linux 6.13): then one mapping
// may have several stacks, one behind the other.
static void add_stacks_of_advice(struct tide_claims *claims, struct tide_space *space,
                                 const struct threads *threads, uint64_t *piece)
{
  const struct tide_space_absent *guards = &space->guards;
  const struct tide_space_mapping *m = space->mappings, *behind = m + space->n_mappings;
  for (size_t i = 0; i < guards->n; i++) {
    const struct tide_space_run *guard = &guards->items[i];
    while (m < behind && m->hi <= guard->lo)
      m++;
    if (m == behind)
      return;
    uint64_t hi = i + 1 < guards->n && guards->items[i + 1].lo < m->hi ? guard[1].lo : m->hi;
    if (may_have_stack(claims, m, guard->hi))
      add_stack(claims, space, threads, (struct stack){guard->lo, guard->hi, hi, 0}, piece);
  }
}

void tide_claims_add_stacks(struct tide_claims *claims, struct tide_space *space)
{
  struct threads threads = {0};
  TIDE_CLEANUP_FREE uint64_t *piece = tide_alloc_array(PIECE_WORDS, sizeof *piece);
  read_threads(space->pid, &threads);
  for (size_t i = 1; i < space->n_mappings; i++) {
    const struct tide_space_mapping *guard = &space->mappings[i - 1], *m = &space->mappings[i];
    if (guard->hi == m->lo && is_guard(guard) && may_have_stack(claims, m, m->lo))
      add_stack(claims, space, &threads, (struct stack){guard->lo, m->lo, m->hi, 0}, piece);
  }
  add_stacks_of_advice(claims, space, &threads, piece);
  free(threads.ids);
}
