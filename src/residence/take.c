// SPDX-License-Identifier: Apache-2.0
//
// The order matters: first what lies in heaps, then whatever else somebody is known to have, and
// what is left of each mapping is told by what the kernel says of that.
#include "residence/take.h"

#include "base/alloc.h"
#include "base/lookup.h"
#include "residence/glibc.h"
#include "residence/ledger.h"
#include "residence/recorded.h"
#include "residence/runs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct taking {
  struct tide_space *space;
  struct tide_residence *table;
  struct tide_recorded recorded;
  struct tide_claims claims;
  struct tide_ledger ledger;
  uint64_t in_heaps; // bytes of blocks in glibc's
  uint64_t between;  // of those whose allocator's memory is told by what lies between them
};

// ---- slabs ----

struct slabs {
  struct taking *taking;
  uint64_t kept; // pages before it were looked at
};

static void pass_slab(struct slabs *slabs, uint64_t lo, uint64_t hi)
{
  struct taking *t = slabs->taking;
  if (lo > slabs->kept)
    t->table->purge += tide_space_resident(t->space, slabs->kept, lo);
  slabs->kept = hi > slabs->kept ? hi : slabs->kept;
}

static void pass_block(struct slabs *slabs, const struct tide_recorded_block *block)
{
  if (block->hi <= slabs->kept)
    return; // in a slab that was found already
  struct tide_run_at at = tide_run_of(TIDE_RUNS_JEMALLOC, block->lo, block->hi - block->lo,
                                      slabs->taking->space->page_bytes);
  pass_slab(slabs, at.lo, at.hi);
}

// ---- anonymous memory ----

// What lies between live blocks of an allocator that is not known is that allocator's.
static bool tell_between_blocks(struct taking *t, uint64_t lo, uint64_t hi)
{
  struct tide_recorded *recorded = &t->recorded;
  const struct tide_recorded_block *block = tide_recorded_from(recorded, lo);
  if (!block || block->lo >= hi)
    return false;
  uint64_t at = lo;
  struct slabs slabs = {t, lo};
  struct tide_runs runs = {.layout = recorded->runs, .space = t->space, .to = t->table};
  tide_ledger_begin_heap(&t->ledger);
  for (; block && block->lo < hi; block = tide_recorded_next(recorded)) {
    uint64_t from = block->lo > at ? block->lo : at, to = block->hi < hi ? block->hi : hi;
    tide_ledger_span(&t->ledger, at, from, TIDE_RESIDENCE_FREE, TIDE_NO_SITE);
    tide_ledger_span(&t->ledger, from, to, TIDE_RESIDENCE_BLOCKS, block->site);
    t->between += to > from ? to - from : 0;
    at = to > at ? to : at;
    pass_block(&slabs, block);
    tide_runs_pass(&runs, block);
  }
  tide_runs_end(&runs);
  pass_slab(&slabs, hi, hi);
  tide_ledger_span(&t->ledger, at, hi, TIDE_RESIDENCE_FREE, TIDE_NO_SITE);
  tide_ledger_end_heap(&t->ledger);
  return true;
}

static bool is_recorder_file(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash && strncmp(slash, "/libtidemark", 12) == 0;
}

// Of what nobody claims: memory behind a file's data is its bss.
static enum tide_residence_kind kind_of_rest(const struct tide_space *space, size_t i)
{
  const struct tide_space_mapping *m = &space->mappings[i];
  const struct tide_space_mapping *before = i ? &space->mappings[i - 1] : NULL;
  if (strcmp(m->path, "[stack]") == 0)
    return TIDE_RESIDENCE_MAIN_STACK;
  if (strncmp(m->path, "[anon:tidemark", 14) == 0)
    return TIDE_RESIDENCE_RECORDER;
  if (before && before->hi == m->lo && *before->path == '/' && !before->shared && !*m->path)
    return is_recorder_file(before->path) ? TIDE_RESIDENCE_RECORDER : TIDE_RESIDENCE_DATA;
  return TIDE_RESIDENCE_OTHER;
}

static void tell_claim(struct taking *t, const struct tide_claim *claim, uint64_t lo, uint64_t hi)
{
  if (claim->is_told)
    return;
  if (claim->kind != TIDE_RESIDENCE_BLOCKS) {
    tide_ledger_span(&t->ledger, lo, hi, claim->kind, claim->site);
    return;
  }
  uint64_t from = claim->block_lo > lo ? claim->block_lo : lo;
  uint64_t to = claim->block_hi < hi ? claim->block_hi : hi;
  tide_ledger_span(&t->ledger, lo, from, TIDE_RESIDENCE_ROUNDING, claim->site);
  tide_ledger_span(&t->ledger, from, to, TIDE_RESIDENCE_BLOCKS, claim->site);
  tide_ledger_span(&t->ledger, to, hi, TIDE_RESIDENCE_ROUNDING, claim->site);
  tide_ledger_end_heap(&t->ledger);
}

static void tell_rest(struct taking *t, uint64_t lo, uint64_t hi, enum tide_residence_kind kind)
{
  bool may_be_heap = kind == TIDE_RESIDENCE_OTHER || kind == TIDE_RESIDENCE_DATA;
  if (lo < hi && !(may_be_heap && tell_between_blocks(t, lo, hi)))
    tide_ledger_span(&t->ledger, lo, hi, kind, TIDE_NO_SITE);
}

// `claim` is the first that ends behind the mapping's start; gives that of the next.
static size_t tell_anonymous(struct taking *t, size_t i, size_t claim)
{
  const struct tide_space_mapping *m = &t->space->mappings[i];
  const struct tide_claims *claims = &t->claims;
  enum tide_residence_kind kind = kind_of_rest(t->space, i);
  uint64_t at = m->lo;
  while (claim < claims->n && claims->items[claim].hi <= m->lo)
    claim++;
  for (size_t k = claim; k < claims->n && claims->items[k].lo < m->hi; k++) {
    const struct tide_claim *c = &claims->items[k];
    uint64_t lo = c->lo > m->lo ? c->lo : m->lo, hi = c->hi < m->hi ? c->hi : m->hi;
    tell_rest(t, at, lo, kind);
    tell_claim(t, c, lo, hi);
    at = hi;
  }
  tell_rest(t, at, m->hi, kind);
  return claim;
}

// ---- files ----

static bool is_shared_memory(const struct tide_space_mapping *m)
{
  return (m->shared && !*m->path) || strncmp(m->path, "[anon_shmem:", 12) == 0 ||
         strncmp(m->path, "/memfd:", 7) == 0 || strncmp(m->path, "/dev/shm/", 9) == 0 ||
         strncmp(m->path, "/SYSV", 5) == 0 || strncmp(m->path, "/dev/zero", 9) == 0;
}

static uint32_t stack_that_mapped(const struct taking *t, const struct tide_space_mapping *m)
{
  const struct tide_recorded *recorded = &t->recorded;
  size_t i = TIDE_FIRST_NOT_BELOW(recorded->mapped, recorded->n_mapped, hi, m->lo + 1);
  bool is_there = i < recorded->n_mapped && recorded->mapped[i].lo < m->hi;
  return is_there ? t->table->sites[recorded->mapped[i].site].stack : 0;
}

static void add_file(struct taking *t, const struct tide_space_mapping *m)
{
  struct tide_residence *table = t->table;
  uint64_t copied = m->shared || *m->path == '[' ? 0 : m->resident - m->cached;
  struct tide_residence_file *file = table->files;
  while (file < table->files + table->n_files && strcmp(file->path, m->path) != 0)
    file++;
  if (file == table->files + table->n_files) {
    TIDE_GROW(table->files, table->n_files, table->cap_files);
    file = &table->files[table->n_files++];
    *file = (struct tide_residence_file){.path = tide_strdup(m->path)};
  }
  file->resident += m->resident;
  file->copied += copied;
  if (!file->stack)
    file->stack = stack_that_mapped(t, m);
}

static void tell_file(struct taking *t, const struct tide_space_mapping *m)
{
  uint64_t *rows = t->table->rows;
  bool is_store = m->lo >= t->recorded.store_lo && m->hi <= t->recorded.store_hi;
  if (!m->resident)
    return;
  if (is_store || is_recorder_file(m->path)) {
    rows[TIDE_RESIDENCE_RECORDER] += m->resident;
  } else if (is_shared_memory(m)) {
    rows[TIDE_RESIDENCE_SHARED] += m->resident;
    if (*m->path)
      add_file(t, m);
  } else if (*m->path == '[') {
    rows[TIDE_RESIDENCE_KERNEL] += m->resident;
  } else {
    uint64_t copied = m->shared ? 0 : m->resident - m->cached;
    rows[TIDE_RESIDENCE_FILES] += m->resident - copied;
    rows[TIDE_RESIDENCE_COPIES] += copied;
    add_file(t, m);
  }
}

// ---- the table ----

// By the program, or by its libraries.
static bool has_name(const struct tide_space_mapping *m)
{
  return m->resident && strncmp(m->path, "[anon:", 6) == 0 &&
         strncmp(m->path, "[anon:tidemark", 14) != 0;
}

static void tell_heaps(struct taking *t)
{
  struct tide_glibc glibc;
  struct tide_recorded *recorded = &t->recorded;
  if (tide_glibc_find(t->space, t->table, &glibc)) {
    t->table->heap = TIDE_HEAP_GLIBC;
    tide_glibc_walk(&glibc, &t->ledger, recorded);
  }
  for (size_t i = 0; i < glibc.n_heaps; i++)
    tide_claims_add_told(&t->claims, glibc.heaps[i].lo, glibc.heaps[i].hi);
  t->in_heaps = t->table->rows[TIDE_RESIDENCE_BLOCKS];
  tide_glibc_done(&glibc);
}

static void pass_block_anywhere(void *context, const struct tide_recorded_block *block)
{
  struct taking *t = context;
  struct tide_residence_site *site = &t->table->sites[block->site];
  uint64_t bytes = block->hi - block->lo;
  uint64_t swapped = tide_space_swapped(t->space, block->lo, block->hi);
  t->table->asked += bytes;
  t->table->swapped_blocks += swapped;
  site->swapped += swapped;
  site->n_blocks++;
  site->asked += bytes;
  if (bytes >= TIDE_RESIDENCE_LARGE) {
    site->n_large++;
    site->large_asked += bytes;
    site->large_touched += tide_space_resident(t->space, block->lo, block->hi) + swapped;
  }
  tide_claims_add_mapped_block(&t->claims, t->space, block);
}

static void add_claims(struct taking *t)
{
  struct tide_recorded *recorded = &t->recorded;
  t->table->n_unread = tide_recorded_each(recorded, t, pass_block_anywhere);
  tide_claims_add_stacks(&t->claims, t->space);
  for (size_t i = 0; i < recorded->n_own; i++)
    tide_claims_add(&t->claims, recorded->own[i].lo, recorded->own[i].hi, TIDE_RESIDENCE_RECORDER,
                    TIDE_NO_SITE);
  for (size_t i = 0; i < recorded->n_mapped; i++)
    tide_claims_add(&t->claims, recorded->mapped[i].lo, recorded->mapped[i].hi,
                    TIDE_RESIDENCE_MAPPED, recorded->mapped[i].site);
  if (t->table->heap == TIDE_HEAP_GLIBC)
    tide_claims_add_unrecorded(&t->claims, t->space);
  tide_claims_settle(&t->claims);
}

static int site_order(const void *a, const void *b)
{
  const struct tide_residence_site *x = a, *y = b;
  return x->resident > y->resident ? -1 : x->resident < y->resident;
}

static int file_order(const void *a, const void *b)
{
  const struct tide_residence_file *x = a, *y = b;
  return x->resident > y->resident ? -1 : x->resident < y->resident;
}

static int class_order(const void *a, const void *b)
{
  const struct tide_residence_class *x = a, *y = b;
  if (x->sparse != y->sparse)
    return x->sparse > y->sparse ? -1 : 1;
  return x->block_bytes > y->block_bytes ? -1 : x->block_bytes < y->block_bytes;
}

// Libc has a heap in every program; it is the program's if that uses it.
static void name_heap(struct taking *t)
{
  if (t->between > t->in_heaps)
    t->table->heap =
        t->recorded.runs == TIDE_RUNS_JEMALLOC ? TIDE_HEAP_JEMALLOC : TIDE_HEAP_RECORDED;
}

static void add_up(struct taking *t)
{
  struct tide_residence *table = t->table;
  const struct tide_space *space = t->space;
  table->sum = tide_residence_sum(table);
  uint64_t told = table->trim + table->pinned;
  table->edges =
      table->rows[TIDE_RESIDENCE_FREE] > told ? table->rows[TIDE_RESIDENCE_FREE] - told : 0;
  table->rss_before = space->rss_before;
  table->rss_after = space->rss_after;
  table->is_bounded = !space->knows_zeros;
  table->swapped = space->swapped;
  table->zeros = space->zeros;
  table->huge = space->huge;
  table->huge_pool = space->huge_pool;
  table->has_recorder = t->recorded.is_there;
  if (table->n_sites)
    qsort(table->sites, table->n_sites, sizeof *table->sites, site_order);
  if (table->n_files)
    qsort(table->files, table->n_files, sizeof *table->files, file_order);
  if (table->n_classes)
    qsort(table->classes, table->n_classes, sizeof *table->classes, class_order);
}

static void take_table(struct taking *t)
{
  size_t claim = 0;
  tell_heaps(t);
  add_claims(t);
  for (size_t i = 0; i < t->space->n_mappings; i++)
    if (tide_space_is_anonymous(&t->space->mappings[i])) {
      claim = tell_anonymous(t, i, claim);
      if (has_name(&t->space->mappings[i]))
        add_file(t, &t->space->mappings[i]);
    } else {
      tell_file(t, &t->space->mappings[i]);
    }
  name_heap(t);
  add_up(t);
}

enum tide_err tide_residence_take(uint32_t pid, int store_fd, struct tide_residence *ret_residence,
                                  int *ret_store_fd, struct tide_diag *diag)
{
  struct tide_residence table = {0};
  struct taking t = {.table = &table};
  int copy_fd = -1;
  enum tide_err err = tide_space_take(pid, &t.space, diag);
  if (err)
    return err;
  t.ledger = (struct tide_ledger){.space = t.space, .to = t.table, .page.start = UINT64_MAX};
  tide_recorded_open(t.space, store_fd, &table, &t.recorded, &copy_fd);
  if (store_fd >= 0 && !t.recorded.is_there)
    err = tide_fail(diag, TIDE_ERR_NOT_FOUND, "process %u has become another one", pid);
  else
    take_table(&t);
  if (!err && t.space->has_ended)
    err = tide_fail(diag, TIDE_ERR_NOT_FOUND, "process %u ended while it was looked at", pid);
  tide_recorded_done(&t.recorded);
  tide_claims_done(&t.claims);
  tide_space_close(t.space);
  if (err) {
    if (copy_fd >= 0)
      close(copy_fd);
    tide_residence_done(&table);
    return err;
  }
  *ret_residence = table;
  if (ret_store_fd)
    *ret_store_fd = copy_fd;
  return TIDE_ERR_OK;
}

enum tide_err tide_residence_store(uint32_t pid, int *ret_store_fd, struct tide_diag *diag)
{
  struct tide_space *space = NULL;
  enum tide_err err = tide_space_take(pid, &space, diag);
  if (!err)
    *ret_store_fd = tide_recorded_copy(space);
  tide_space_close(space);
  return err;
}
