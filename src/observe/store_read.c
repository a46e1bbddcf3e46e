// SPDX-License-Identifier: Apache-2.0
//
// The conversion of a store. Ids stay what they are: node id = frame index, slot id = thread index,
// module id = module index, each with its entry 0 for "none"; so rows need no translation, and a
// snapshot taken while the target ran still fits the image made at its end.
//
// Sums are unsigned: the bytes may be garbage, and garbage must not overflow.
#define _GNU_SOURCE
#include "observe/store_read.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "model/events.h"
#include "model/image_sums.h"
#include "model/stored_names.h"
#include "observe/before.h"
#include "observe/store_reading.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_PATH_BYTES 4096u
#define MAX_SCOPE_BYTES 64u
#define MAX_AGES_NS (1ull << 62) // of all blocks of a row; a sum beyond is not known
#define MAX_MODULES 0x8000u      // ids are 15 bits in a frame
#define BLOCK_NODES 1024u

// Rows of a store on the way into an image.
struct rows {
  struct tide_reading r;
  size_t cap_sites;
  uint64_t *age_sums; // per site, in ticks: until the end is known, of births
};

// Life bucket k holds 2^(k-1) .. 2^k - 1 ticks. It goes to the bucket of nanoseconds in which its
// geometric middle falls: one bucket stays one bucket, at most half a bucket off.
static void life_buckets_map(uint8_t *map, double ns_per_tick)
{
  double shift = log2(ns_per_tick);
  map[0] = 0;
  for (int k = 1; k < TIDE_LIFE_BUCKETS; k++) {
    double bits = floor(k - 0.5 + shift) + 1;
    map[k] = bits < 1 ? 1 : bits >= TIDE_LIFE_BUCKETS_N ? TIDE_LIFE_BUCKETS_N - 1 : (uint8_t)bits;
  }
}

static void read_modules(struct tide_reading *r)
{
  struct tide_store_view *view = r->view;
  uint32_t n = view->header.n_modules;
  n = n < 1 ? 1 : n > MAX_MODULES ? MAX_MODULES : n;
  struct tide_module *out = tide_alloc_array(n, sizeof *out);
  out[0].path = tide_strdup("");
  TIDE_CLEANUP_FREE struct tide_store_module *all = tide_alloc_array(n, sizeof *all);
  tide_store_view_items(view, &view->areas.modules, sizeof *all, 0, all, n);
  for (uint32_t i = 1; i < n; i++) {
    struct tide_store_module m = all[i];
    out[i] = (struct tide_module){
        .path = tide_store_view_text(view, m.path, MAX_PATH_BYTES),
        .start = m.start,
        .end = m.end,
        .bias = m.bias,
        .first_ns = tide_clock_time_ns(r->clock, m.t_seen),
        .generation = m.generation,
        .build_id_len = m.build_id_len <= sizeof m.build_id ? m.build_id_len : 0,
    };
    memcpy(out[i].build_id, m.build_id, out[i].build_id_len);
  }
  r->image->modules = out;
  r->image->n_modules = n;
}

static uint16_t frame_flags(const struct tide_node *node)
{
  uint32_t exact = node->frame & TIDE_FRAME_EXACT ? TIDE_FRAME_IS_EXACT : 0;
  uint32_t kept = (TIDE_FRAME_STORED | TIDE_FRAME_CALL) & ~TIDE_FRAME_IS_EXACT;
  return (uint16_t)((node->flags & kept) | exact);
}

struct tide_frame tide_reading_frame(const struct tide_reading *r, const struct tide_node *node)
{
  uint32_t module = TIDE_FRAME_MODULE(node->frame);
  return (struct tide_frame){
      .pc = TIDE_FRAME_PC(node->frame),
      .parent = node->parent,
      .module = module < r->image->n_modules ? (uint16_t)module : 0,
      .flags = frame_flags(node),
  };
}

// A scope is told as a function of nobody's, by a stored name. Whoever asks comes but once for each
// node.
void tide_reading_scope(struct tide_reading *r, const struct tide_frame *frame)
{
  if (!(frame->flags & TIDE_FRAME_SCOPE))
    return;
  TIDE_CLEANUP_FREE char *name =
      tide_store_view_text(r->view, TIDE_SCOPE_TEXT(frame->pc), MAX_SCOPE_BYTES);
  TIDE_CLEANUP_FREE char *clean = tide_utf8_clean(name, true);
  const struct tide_names_frame named = {.function = *clean ? clean : "[scope]"};
  if (!r->names)
    r->names = tide_names_builder_new();
  tide_names_builder_add(r->names, 0, frame->pc, &named, 1);
}

static void read_frames(struct tide_reading *r)
{
  struct tide_store_view *view = r->view;
  size_t n = view->n_nodes ? view->n_nodes : 1;
  struct tide_frame *out = tide_alloc_array(n, sizeof *out);
  struct tide_node nodes[BLOCK_NODES];
  for (size_t i = 1; i < n; i++) {
    size_t at = i % BLOCK_NODES;
    if (i == 1 || at == 0)
      tide_store_view_node_rows(view, i - at, nodes,
                                n - i + at < BLOCK_NODES ? n - i + at : BLOCK_NODES);
    out[i] = tide_reading_frame(r, &nodes[at]);
    tide_reading_scope(r, &out[i]);
  }
  r->image->frames = out;
  r->image->n_frames = n;
}

static void read_threads(struct tide_reading *r)
{
  struct tide_store_view *view = r->view;
  uint32_t n = view->header.n_slots > 1 ? view->header.n_slots : 1;
  struct tide_thread_row *out = tide_alloc_array(n, sizeof *out);
  for (uint32_t i = 1; i < n; i++) {
    struct tide_thread_slot slot;
    tide_store_view_items(view, &view->areas.slots, sizeof slot, i, &slot, 1);
    out[i] = (struct tide_thread_row){.tid = slot.tid, .n_owners = slot.n_owners};
    memcpy(out[i].name, slot.name, sizeof out[i].name - 1);
  }
  r->image->threads = out;
  r->image->n_threads_known = n;
}

static uint32_t size_bucket(struct tide_streak sizes)
{
  return tide_streak_bucket(sizes) % TIDE_SIZE_BUCKETS;
}

static uint32_t life_bucket(const struct tide_reading *r, struct tide_streak lives)
{
  uint32_t bucket = tide_streak_bucket(lives);
  return r->life_bucket[bucket < TIDE_LIFE_BUCKETS ? bucket : 0];
}

// Most cells have a streak of sizes and one of lifetimes, and no histogram.
static void take_streaks(const struct tide_reading *r, struct tide_streak sizes,
                         struct tide_streak lives, struct tide_site *site)
{
  uint32_t n_sizes = tide_streak_count(sizes), n_lives = tide_streak_count(lives);
  site->size_mask = n_sizes ? 1u << size_bucket(sizes) : 0;
  site->life_mask = n_lives ? UINT64_C(1) << life_bucket(r, lives) : 0;
  uint64_t *counts = tide_site_reserve_buckets(r->image, site);
  if (n_sizes)
    *counts++ = n_sizes;
  if (n_lives)
    *counts = n_lives;
}

// The buckets of a cell that had some before a reset. A broken store may have fewer now.
static void take_hists_since(const struct tide_reading *r, const struct tide_whole_cell *whole,
                             struct tide_site *site)
{
  const struct tide_before_cell *had = whole->before;
  struct tide_before_cell has = {0};
  tide_before_histograms(whole, &has);
  uint64_t sizes[TIDE_SIZE_BUCKETS_N] = {0}, lifetimes[TIDE_LIFE_BUCKETS_N] = {0};
  for (int k = 0; k < TIDE_SIZE_BUCKETS; k++)
    sizes[k] = tide_more_than(has.sizes[k], had->sizes[k]);
  for (int k = 0; k < TIDE_LIFE_BUCKETS; k++)
    lifetimes[r->life_bucket[k]] += tide_more_than(has.lives[k], had->lives[k]);
  tide_site_add_buckets(r->image, site, sizes, lifetimes);
}

static void take_hists(const struct tide_reading *r, const struct tide_whole_cell *whole,
                       struct tide_site *site)
{
  struct tide_streak s = whole->cell.sizes, l = whole->ends.lives;
  if (whole->before) {
    take_hists_since(r, whole, site);
    return;
  }
  if (!whole->has_hist) {
    take_streaks(r, s, l, site);
    return;
  }
  const struct tide_hist *low = &whole->hist, *high = &whole->carry;
  uint64_t sizes[TIDE_SIZE_BUCKETS_N] = {0}, lifetimes[TIDE_LIFE_BUCKETS_N] = {0};
  for (int k = 0; k < TIDE_SIZE_BUCKETS; k++)
    sizes[k] = (uint64_t)high->size[k] << 32 | low->size[k];
  for (int k = 0; k < TIDE_LIFE_BUCKETS; k++)
    lifetimes[r->life_bucket[k]] += (uint64_t)high->life[k] << 32 | low->life[k];
  sizes[size_bucket(s)] += tide_streak_count(s);
  lifetimes[life_bucket(r, l)] += tide_streak_count(l);
  tide_site_add_buckets(r->image, site, sizes, lifetimes);
}

static uint64_t stamp_ns(const struct tide_reading *r, uint64_t ticks)
{
  return tide_clock_time_ns(r->clock, tide_store_ticks(&r->view->header, ticks));
}

// When a stack first and last allocated is told to 10 µs: a thread's clock is seldom better, and of
// many short processes these two would be half of the file.
static uint64_t coarse_ns(const struct tide_reading *r, uint64_t ticks)
{
  enum { UNIT_NS = 10000 };
  uint64_t time_ns = stamp_ns(r, ticks), start_ns = r->image->start_ns;
  return time_ns > start_ns ? time_ns - (time_ns - start_ns) % UNIT_NS : start_ns;
}

// The clock that the first allocations of a stack went by may be from before its cell was made.
static uint64_t last_ns(const struct tide_reading *r, const struct tide_owner *owner,
                        const struct tide_cell *cell)
{
  uint64_t first_ns = coarse_ns(r, owner->t_first), told_ns = coarse_ns(r, cell->t_last);
  return told_ns > first_ns ? told_ns : first_ns;
}

static int64_t difference(uint64_t a, uint64_t b)
{
  return (int64_t)(a - b);
}

static int64_t live_bytes_of(const struct tide_whole_cell *whole)
{
  return difference((uint64_t)whole->before_bytes + whole->cell.b_alloc, whole->cell.b_free);
}

static int64_t live_blocks_of(const struct tide_whole_cell *whole)
{
  return difference((uint64_t)whole->before_blocks + whole->cell.n_alloc, whole->cell.n_free);
}

// A cell whose epoch is the present one changed after the peak and kept its share before it did;
// any other has not changed since. A cell may be ahead of the header we hold: the target runs.
struct tide_share tide_reading_share(const struct tide_reading *r,
                                     const struct tide_whole_cell *whole)
{
  const struct tide_cell *cell = &whole->cell;
  if (!r->peak_is_now && (int32_t)(cell->stamp.epoch - r->view->header.stamp.epoch) >= 0)
    return (struct tide_share){whole->ends.peak_bytes, whole->ends.peak_blocks,
                               whole->peak_bytes_spread, whole->peak_blocks_spread};
  return (struct tide_share){live_bytes_of(whole), live_blocks_of(whole), whole->spreads.live_bytes,
                             whole->spreads.live_blocks};
}

static uint32_t thread_of(const struct tide_reading *r, const struct tide_owner *owner)
{
  return owner->slot < r->image->n_threads_known ? owner->slot : 0;
}

// The most that a cell held. The recorder's maximum is of its whole life: if it has not risen since
// a reset, what was live then and all that came since is no less than the most since.
static int64_t high_of(const struct tide_whole_cell *whole)
{
  int64_t live = live_bytes_of(whole), high = whole->ends.high_bytes;
  int64_t most = (int64_t)((uint64_t)whole->before_bytes + whole->cell.b_alloc);
  if (whole->before && high == (int64_t)whole->before->high_bytes && most < high)
    high = most;
  return high > live ? high : live;
}

// Where a store keeps the numbers of model/numbers.def.
#define STORE_CELL(field) .field = cell->field,
#define STORE_ENDS(field) .field = ends->field,
#define STORE_PAST(field) .field = past->field,
#define STORE_TOUCHES(field) .field = touches->field,
#define STORE_READ(field) // made below
#define STORE_NONE(field)

void tide_reading_site(const struct tide_reading *r, const struct tide_whole_cell *whole,
                       const struct tide_owner *owner, struct tide_site *ret_site)
{
  const struct tide_cell *cell = &whole->cell;
  const struct tide_ends *ends = &whole->ends;
  const struct tide_past *past = &whole->past;
  const struct tide_touches *touches = &whole->touches;
  struct tide_share share = tide_reading_share(r, whole);
  *ret_site = (struct tide_site){
      .stack = owner->stack,
      .thread = thread_of(r, owner),
#define TIDE_NUMBER(field, type, rule, code, store, ...) STORE_##store(field)
#include "model/numbers.def"
      .peak_bytes = share.bytes,
      .peak_blocks = share.blocks,
      .high_bytes = high_of(whole),
      .life_ns = tide_clock_span_ns(r->clock, ends->life_sum),
      .before_blocks = whole->before_blocks,
      .before_bytes = whole->before_bytes,
      .first_ns = coarse_ns(r, owner->t_first),
      .last_ns = last_ns(r, owner, cell),
      .n_samples = whole->spreads.n_samples,
      .alloc_blocks_spread = whole->spreads.alloc_blocks,
      .alloc_bytes_spread = whole->spreads.alloc_bytes,
      .live_blocks_spread = whole->spreads.live_blocks,
      .live_bytes_spread = whole->spreads.live_bytes,
      .peak_blocks_spread = share.blocks_spread,
      .peak_bytes_spread = share.bytes_spread,
  };
  take_hists(r, whole, ret_site);
}

static void take_off_before(struct tide_whole_cell *w)
{
  const struct tide_before_cell *had = w->before;
#define SINCE(now, field) now.field = tide_more_than(now.field, had->field)
  w->before_blocks = difference(had->did.n_alloc, had->did.n_free);
  w->before_bytes = difference(had->did.b_alloc, had->did.b_free);
  w->cell.n_alloc = tide_more_than(w->cell.n_alloc, had->did.n_alloc);
  w->cell.b_alloc = tide_more_than(w->cell.b_alloc, had->did.b_alloc);
  w->cell.n_free = tide_more_than(w->cell.n_free, had->did.n_free);
  w->cell.b_free = tide_more_than(w->cell.b_free, had->did.b_free);
  SINCE(w->ends, life_sum);
  SINCE(w->ends, n_temp);
  SINCE(w->ends, b_temp);
  SINCE(w->past, n_foreign);
  SINCE(w->past, n_resize);
  SINCE(w->past, b_resize_old);
  SINCE(w->past, b_resize_new);
  SINCE(w->past, n_moved);
  SINCE(w->past, b_moved);
  SINCE(w->touches, n_looked);
  SINCE(w->touches, b_looked);
  SINCE(w->touches, b_touched);
  SINCE(w->spreads, n_samples);
  w->spreads.alloc_blocks = tide_more_than(w->spreads.alloc_blocks, had->alloc_blocks_spread);
  w->spreads.alloc_bytes = tide_more_than(w->spreads.alloc_bytes, had->alloc_bytes_spread);
#undef SINCE
}

bool tide_reading_cell(struct tide_reading *r, const struct tide_cell_block *block, uint32_t i,
                       struct tide_whole_cell *ret)
{
  const struct tide_before *before = r->view->before;
  if (!block->owners[i].stack || !(block->cells[i].n_alloc || block->cells[i].n_free))
    return false;
  tide_whole_cell_read(r->view, block, i, r->has_carries, ret);
  if (!before || !tide_before_cell(before, block->first + i, &r->before))
    return true;
  ret->before = &r->before;
  take_off_before(ret);
  return ret->cell.n_alloc || ret->cell.n_free || ret->before_blocks || ret->before_bytes;
}

void tide_reading_count(struct tide_reading *r, const struct tide_whole_cell *whole,
                        const struct tide_owner *owner)
{
  const struct tide_cell *cell = &whole->cell;
  const struct tide_before_cell *had = whole->before;
  uint64_t *events = &r->slot_events[thread_of(r, owner)]; // cost is of its whole life
  *events += cell->n_alloc + cell->n_free - whole->past.n_resize;
  if (had)
    *events += had->did.n_alloc + had->did.n_free - had->n_resize;
  uint64_t last_ticks = tide_store_ticks(&r->view->header, cell->t_last);
  if (last_ticks > r->last_ticks)
    r->last_ticks = last_ticks;
  if (r->view->kinds[owner->stack] == TIDE_SITE_PAGES)
    return;
  if (r->view->kinds[owner->stack] == TIDE_SITE_LOST) // counted, but nobody knows where
    r->image->loss.n_lost_full += cell->n_alloc;
  struct tide_share share = tide_reading_share(r, whole);
  r->live_bytes += (uint64_t)live_bytes_of(whole);
  r->live_blocks += (uint64_t)live_blocks_of(whole);
  r->share_bytes += (uint64_t)share.bytes;
  r->share_blocks += (uint64_t)share.blocks;
  bool is_lost = r->image->by_agent && r->view->kinds[owner->stack] == TIDE_SITE_LOST;
  struct tide_allocator *family =
      &r->families[is_lost ? TIDE_FAMILY_UNKNOWN : owner->family % TIDE_READING_FAMILIES];
  family->n_alloc += cell->n_alloc;
  family->b_alloc += cell->b_alloc;
  family->live_bytes = (int64_t)((uint64_t)family->live_bytes + (uint64_t)live_bytes_of(whole));
  family->live_blocks = (int64_t)((uint64_t)family->live_blocks + (uint64_t)live_blocks_of(whole));
  family->peak_bytes = (int64_t)((uint64_t)family->peak_bytes + (uint64_t)share.bytes);
  family->peak_blocks = (int64_t)((uint64_t)family->peak_blocks + (uint64_t)share.blocks);
  if (last_ticks > r->heap_last_ticks)
    r->heap_last_ticks = last_ticks;
}

void tide_reading_event(struct tide_reading *r, const struct tide_cell_block *block, uint32_t i)
{
  const struct tide_cell *cell = &block->cells[i];
  const struct tide_owner *owner = &block->owners[i];
  struct tide_event_row row = {.stack = owner->stack, .thread = thread_of(r, owner)};
  if (owner->family != TIDE_FAMILY_EVENTS || !owner->stack ||
      !tide_events_read(r->view, cell, &row.n, &row.weight))
    return;
  row.first_ns = coarse_ns(r, owner->t_first);
  row.last_ns = last_ns(r, owner, cell);
  r->slot_events[row.thread] += row.n;
  const struct tide_before *before = r->view->before;
  if (before && tide_before_cell(before, block->first + i, &r->before)) {
    row.n = tide_more_than(row.n, r->before.n_events);
    row.weight -= r->before.events_weight;
    if (!row.n)
      return;
  }
  uint64_t last_ticks = tide_store_ticks(&r->view->header, cell->t_last);
  r->last_ticks = last_ticks > r->last_ticks ? last_ticks : r->last_ticks;
  TIDE_GROW(r->events, r->n_events, r->cap_events);
  r->events[r->n_events++] = row;
}

static struct tide_site *site_add(struct rows *rows)
{
  struct tide_image *image = rows->r.image;
  if (image->n_sites == rows->cap_sites) {
    rows->cap_sites = rows->cap_sites ? rows->cap_sites * 2 : 64;
    image->sites = tide_realloc_array(image->sites, rows->cap_sites, sizeof *image->sites);
    rows->age_sums = tide_realloc_array(rows->age_sums, rows->cap_sites, sizeof *rows->age_sums);
  }
  return &image->sites[image->n_sites++];
}

static void take_block(void *context, const struct tide_cell_block *block)
{
  struct rows *rows = context;
  struct tide_whole_cell whole;
  for (uint32_t i = 0; i < block->n; i++) {
    const struct tide_cell *cell = &block->cells[i];
    if (!block->owners[i].stack || !(cell->n_alloc || cell->n_free)) {
      tide_reading_event(&rows->r, block, i);
      continue;
    }
    if (!tide_reading_cell(&rows->r, block, i, &whole))
      continue;
    tide_reading_count(&rows->r, &whole, &block->owners[i]);
    struct tide_site *site = site_add(rows);
    tide_reading_site(&rows->r, &whole, &block->owners[i], site);
    rows->age_sums[site - rows->r.image->sites] = whole.cell.birth_live_sum;
  }
}

static void peak_is_now(struct tide_image *image)
{
  for (size_t i = 0; i < image->n_sites; i++)
    tide_reading_share_is_live(&image->sites[i]);
}

// The peak is what was live at the moment that was taken for it: the sum of the shares. A lone
// thread's total was exactly that. Among several threads it may have been more at another moment,
// at most the ceiling. If there is more now, the peak was reached by the latest allocation.
static void find_peak(struct tide_reading *r)
{
  const struct tide_store_header *h = &r->view->header;
  struct tide_image *image = r->image;
  int64_t live = (int64_t)r->live_bytes;
  uint64_t bytes = r->share_bytes, blocks = r->share_blocks;
  image->peak_ns = stamp_ns(r, h->max_ticks);
  r->peak_is_now =
      live > h->max_bytes || live > (int64_t)bytes || h->switches.peaks_asked != h->peaks_restarted;
  if (r->peak_is_now) {
    image->peak_ns = tide_clock_time_ns(r->clock, r->heap_last_ticks);
    bytes = r->live_bytes;
    blocks = r->live_blocks;
  }
  if (image->peak_ns < image->start_ns) // it is what it was at the reset
    image->peak_ns = image->start_ns;
  image->peak_bytes = (int64_t)bytes;
  image->peak_blocks = (int64_t)blocks;
  image->peak_bound_bytes = h->ceiling > image->peak_bytes ? (uint64_t)h->ceiling - bytes : 0;
}

static bool is_named(const char *path, uint32_t family)
{
  const char *name = strrchr(path, '/');
  return strstr(name ? name + 1 : path, tide_family_words(family));
}

// A preloaded recorder has one allocator behind it, known by its library.
static uint32_t family_of(const struct tide_image *image)
{
  const char *path = image->allocator;
  if (!path || !*path)
    return TIDE_FAMILY_LIBC;
  for (uint32_t family = TIDE_FAMILY_JEMALLOC; family < TIDE_FAMILY_OWN; family++)
    if (is_named(path, family))
      return family;
  return image->exe && !strcmp(path, image->exe) ? TIDE_FAMILY_OWN : TIDE_FAMILY_UNKNOWN;
}

static int by_falling_peak(const void *left, const void *right)
{
  const struct tide_allocator *a = left, *b = right;
  if (a->peak_bytes != b->peak_bytes)
    return a->peak_bytes < b->peak_bytes ? 1 : -1;
  return (a->family > b->family) - (a->family < b->family);
}

static void list_allocators(struct tide_reading *r)
{
  struct tide_image *image = r->image;
  struct tide_allocator *out = tide_alloc_array(TIDE_READING_FAMILIES, sizeof *out);
  for (uint32_t i = 0; i < TIDE_READING_FAMILIES; i++) {
    struct tide_allocator *family = &r->families[i];
    if (!family->n_alloc && !family->live_blocks && !family->peak_blocks)
      continue;
    family->family = image->by_agent || i == TIDE_FAMILY_POOLS ? i : family_of(image);
    if (r->peak_is_now) {
      family->peak_bytes = family->live_bytes;
      family->peak_blocks = family->live_blocks;
    }
    out[image->n_allocators++] = *family;
  }
  qsort(out, image->n_allocators, sizeof *out, by_falling_peak);
  image->allocators = out;
  image->has_allocators = true;
}

static uint64_t age_of(const struct tide_reading *r, uint64_t n_live, uint64_t births,
                       uint64_t end_ticks)
{
  // Births are summed without their upper bits, which are the start's.
  return n_live * (end_ticks - (r->view->header.start_ticks & ~TIDE_STORE_TICK_MASK)) - births;
}

uint64_t tide_reading_age_ticks(const struct tide_reading *r, const struct tide_whole_cell *whole,
                                uint64_t end_ticks)
{
  return age_of(r, (uint64_t)live_blocks_of(whole), whole->cell.birth_live_sum, end_ticks);
}

uint64_t tide_reading_age_ns(const struct tide_reading *r, uint64_t age_ticks)
{
  uint64_t age_ns = tide_clock_span_ns(r->clock, age_ticks);
  return age_ns < MAX_AGES_NS ? age_ns : 0;
}

// The sum of a mixed stack's rows modulo 2^64 is exact, and the first row gets it.
static void gather_ages(struct rows *rows)
{
  const struct tide_image *image = rows->r.image;
  TIDE_CLEANUP_FREE uint8_t *is_mixed = tide_alloc_array(image->n_frames + 1, sizeof *is_mixed);
  TIDE_CLEANUP_FREE uint32_t *first = tide_alloc_array(image->n_frames + 1, sizeof *first);
  for (size_t i = 0; i < image->n_sites; i++)
    is_mixed[image->sites[i].stack] |=
        tide_reading_is_mixed(image->sites[i].n_foreign, rows->age_sums[i]);
  for (size_t i = 0; i < image->n_sites; i++) {
    uint32_t stack = image->sites[i].stack;
    if (!is_mixed[stack])
      continue;
    if (!first[stack]) {
      first[stack] = (uint32_t)i + 1;
      continue;
    }
    rows->age_sums[first[stack] - 1] += rows->age_sums[i];
    rows->age_sums[i] = 0;
  }
}

static void find_ages(struct rows *rows, uint64_t end_ticks)
{
  const struct tide_reading *r = &rows->r;
  if (!end_ticks)
    end_ticks = r->last_ticks;
  for (size_t i = 0; i < r->image->n_sites; i++) {
    const struct tide_site *site = &r->image->sites[i];
    uint64_t n_live = (uint64_t)tide_counters_live_blocks(&site->counters);
    rows->age_sums[i] = age_of(r, n_live, rows->age_sums[i], end_ticks);
  }
  gather_ages(rows);
  for (size_t i = 0; i < r->image->n_sites; i++) {
    struct tide_site *site = &r->image->sites[i];
    bool is_known = r->view->kinds[site->stack] != TIDE_SITE_PAGES; // nobody notes their births
    site->age_ns = is_known ? (int64_t)tide_reading_age_ns(r, rows->age_sums[i]) : 0;
  }
}

// What a process costs beside its events is its boot, and four fifths of that for the loader before
// and for taking all mappings down after it: so it was in processes of 0.3 to 2 ms, made by exec
// and by fork. A process without a supervisor counts its time from the end of its boot on.
#define BOOT_LOAD_AND_END 1.8

// Each thread times its first calls, and later one in a while; their mean, times the later calls it
// made, is what recording cost it. Threads that never timed one are taken at the mean of all. What
// is done once for each new stack, rule or thread is timed always, and is not in the mean. Timing
// keeps the processor from working ahead, as it does else: about as much as the recorder's memory
// costs the program in caches, so neither is taken into account.
static void find_cost(struct tide_reading *r)
{
  struct tide_store_view *view = r->view;
  double ticks = 0, all_sampled_ticks = 0, all_samples = 0, unsampled_events = 0;
  for (uint32_t i = 0; i < r->image->n_threads_known; i++) {
    struct tide_thread_slot slot = {0};
    if (i)
      tide_store_view_items(view, &view->areas.slots, sizeof slot, i, &slot, 1);
    uint64_t events = r->slot_events[i] > slot.n_early ? r->slot_events[i] - slot.n_early : 0;
    if (slot.n_sampled)
      ticks += (double)slot.sampled_ticks / (double)slot.n_sampled * (double)events;
    else
      unsampled_events += (double)events;
    all_sampled_ticks += (double)slot.sampled_ticks;
    all_samples += (double)slot.n_sampled;
  }
  if (all_samples > 0)
    ticks += all_sampled_ticks / all_samples * unsampled_events;
  const struct tide_store_header *h = &view->header;
  double ns = (ticks + (double)h->cold_ticks) * r->clock->ns_per_tick +
              (h->cpu_ns ? 0 : (double)h->boot_ns * BOOT_LOAD_AND_END);
  r->image->recorder_ns = ns >= 0 && ns < 0x1p62 ? (uint64_t)ns : 0;
}

static bool area_has_data(const struct tide_store_view *view, struct tide_area area,
                          size_t bytes_each)
{
  off_t data = lseek(view->fd, (off_t)area.offset, SEEK_DATA);
  return data >= 0 && (uint64_t)data < area.offset + area.capacity * bytes_each;
}

void tide_reading_begin(struct tide_reading *r, struct tide_store_view *view,
                        const struct tide_clock *clock, struct tide_image *ret_image)
{
  *ret_image = (struct tide_image){0};
  *r = (struct tide_reading){
      .view = view,
      .clock = clock,
      .image = ret_image,
      .has_carries = area_has_data(view, view->areas.carries, sizeof(struct tide_hist)),
  };
  life_buckets_map(r->life_bucket, clock->ns_per_tick);
  tide_store_view_nodes(view);
  tide_reading_facts(r);
  read_modules(r);
  read_threads(r);
  r->slot_events = tide_alloc_array(ret_image->n_threads_known, sizeof *r->slot_events);
}

void tide_reading_end(struct tide_reading *r)
{
  find_peak(r);
  list_allocators(r);
  find_cost(r);
  tide_image_set_events(r->image, r->events, r->n_events);
  if (r->names)
    tide_names_builder_finish(r->names, r->image);
  tide_names_builder_free(r->names);
  free(r->slot_events);
}

void tide_store_read_image(struct tide_store_view *view, const struct tide_clock *clock,
                           uint64_t end_ticks, struct tide_image *ret_image)
{
  struct rows rows = {0};
  tide_reading_begin(&rows.r, view, clock, ret_image);
  read_frames(&rows.r);
  tide_store_view_cells(view, take_block, &rows);
  tide_reading_end(&rows.r);
  if (rows.r.peak_is_now)
    peak_is_now(ret_image);
  find_ages(&rows, end_ticks);
  free(rows.age_sums);
}
