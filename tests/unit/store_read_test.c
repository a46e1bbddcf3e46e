// SPDX-License-Identifier: Apache-2.0
//
// Known numbers in a store come out as the right image: sums, the peak rule, pages apart from the
// heap, threads, histograms, times.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "fake_store.h"
#include "model/image_sums.h"
#include "observe/store_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct fixture {
  int fd;
  struct fake_store store;
  uint32_t main_slot, libc, program;
  uint32_t outer, left, right, pages, lost; // stacks
};

// 2 ns per tick, time 0 at the store's start.
static const struct tide_clock CLOCK = {1000, 0, 2.0};

static int setup(void **state)
{
  struct fixture *f = calloc(1, sizeof *f);
  f->fd = memfd_create("test", MFD_CLOEXEC);
  if (ftruncate(f->fd, FAKE_STORE_BYTES))
    return -1;
  fake_store_map(&f->store, f->fd);
  f->libc = fake_store_module(&f->store, "/lib/libc.so.6", 0x1000, 0x9000);
  f->program = fake_store_module(&f->store, "/bin/fake", 0x400000, 0x500000);
  f->main_slot = fake_store_slot(&f->store, 77, "main");
  uint64_t program = (uint64_t)f->program << 48;
  f->outer = fake_store_node(&f->store, program | 0x400100, 0, 0);
  f->left = fake_store_node(&f->store, program | 0x400200, f->outer, TIDE_FRAME_GUESSED);
  f->right = fake_store_node(&f->store, program | TIDE_FRAME_EXACT | 0x400300, f->outer, 0);
  f->pages = fake_store_node(&f->store, program | 0x400400, 1, 0);
  f->lost = 2;
  *state = f;
  return 0;
}

static int teardown(void **state)
{
  struct fixture *f = *state;
  fake_store_unmap(&f->store);
  close(f->fd);
  free(f);
  return 0;
}

static struct tide_image read_image_by(struct fixture *f, const struct tide_clock *clock,
                                       uint64_t end_ticks)
{
  struct tide_store_view view;
  struct tide_image image;
  struct tide_diag diag = {0};
  assert_int_equal(tide_store_view_open(&view, dup(f->fd), &diag), TIDE_ERR_OK);
  if (tide_store_view_refresh(&view, &diag))
    fail_msg("%s", diag.text);
  tide_store_read_image(&view, clock, end_ticks, &image);
  tide_store_view_close(&view);
  return image;
}

static struct tide_image read_image(struct fixture *f, uint64_t end_ticks)
{
  return read_image_by(f, &CLOCK, end_ticks);
}

static const struct tide_site *site_of(const struct tide_image *image, uint32_t stack,
                                       uint32_t thread)
{
  for (size_t i = 0; i < image->n_sites; i++)
    if (image->sites[i].stack == stack && image->sites[i].thread == thread)
      return &image->sites[i];
  fail_msg("no site of stack %u and thread %u", stack, thread);
  return NULL;
}

static void facts_frames_and_modules(void **state)
{
  struct fixture *f = *state;
  fake_store_cell(&f->store, f->left, f->main_slot)->n_alloc = 1;
  f->store.modules[f->libc].t_seen = 1500;
  struct tide_image image = read_image(f, 0);
  assert_int_equal(image.pid, FAKE_PID);
  assert_string_equal(image.exe, "/bin/fake");
  assert_string_equal(image.allocator, "");
  assert_int_equal(image.cmdline_len, 9);
  assert_memory_equal(image.cmdline, "fake\0one", 9);
  assert_int_equal(image.start_ns, 0);
  assert_int_equal(image.n_modules, 3);
  assert_string_equal(image.modules[0].path, "");
  assert_string_equal(image.modules[f->libc].path, "/lib/libc.so.6");
  assert_int_equal(image.modules[f->libc].first_ns, 1000);
  assert_int_equal(image.modules[f->libc].build_id_len, 4);
  assert_int_equal(image.modules[f->libc].end, 0x9000);
  const struct tide_frame *left = &image.frames[f->left], *right = &image.frames[f->right];
  assert_int_equal(left->pc, 0x400200);
  assert_int_equal(left->parent, f->outer);
  assert_int_equal(left->module, f->program);
  assert_int_equal(left->flags, TIDE_FRAME_GUESSED);
  assert_int_equal(right->flags, TIDE_FRAME_IS_EXACT);
  assert_int_equal(image.frames[1].flags, TIDE_FRAME_PAGES);
  assert_int_equal(image.n_threads_known, 2);
  assert_int_equal(image.threads[1].tid, 77);
  assert_string_equal(image.threads[1].name, "main");
  tide_image_done(&image);
}

static void sums_times_and_histograms(void **state)
{
  struct fixture *f = *state;
  struct tide_cell *cell = fake_store_cell(&f->store, f->left, f->main_slot);
  uint32_t id = (uint32_t)(cell - f->store.cells);
  *cell = (struct tide_cell){.n_alloc = 10,
                             .b_alloc = 1000,
                             .n_free = 7,
                             .b_free = 600,
                             .stamp.epoch = 1,
                             .birth_live_sum = 3 * 1100,
                             .t_last = 22000,
                             .sizes = tide_streak_make(id, 3, 2)};
  f->store.ends[id] = (struct tide_ends){.life_sum = 500,
                                         .high_bytes = 300,
                                         .n_temp = 4,
                                         .lives = tide_streak_make(id, 5, 4),
                                         .past = id,
                                         .touches = id};
  f->store.touches[id] =
      (struct tide_touches){.n_looked = 3, .b_looked = 300000, .b_touched = 4096};
  f->store.pasts[id] = (struct tide_past){
      .n_resize = 2, .b_resize_old = 64, .b_resize_new = 40, .n_moved = 1, .n_foreign = 1};
  f->store.owners[id].t_first = 12050;
  f->store.hists[id].size[3] = 7;
  f->store.carries[id].size[3] = 1;
  f->store.hists[id].life[0] = 1;
  f->store.hists[id].life[5] = 2; // 16..31 ticks of 2 ns: 32..62 ns, bucket 6
  struct tide_image image = read_image(f, 22100);
  const struct tide_site *site = site_of(&image, f->left, 1);
  assert_int_equal(site->n_alloc, 10);
  assert_int_equal(site->b_free, 600);
  assert_int_equal(site->high_bytes, 400); // live now is above the mark
  assert_int_equal(site->life_ns, 1000);
  assert_int_equal(site->age_ns, 3 * (22100 - 1100) * 2);
  assert_int_equal(site->first_ns, 20000); // told to 10 µs
  assert_int_equal(site->last_ns, 40000);
  assert_int_equal(site->n_temp, 4);
  assert_int_equal(site->n_moved, 1);
  assert_true(image.has_resized_bytes);
  assert_int_equal(site->b_resize_old, 64);
  assert_int_equal(site->b_resize_new, 40);
  assert_true(image.has_touches);
  assert_int_equal(site->n_looked, 3);
  assert_int_equal(site->b_looked, 300000);
  assert_int_equal(site->b_touched, 4096);
  uint64_t sizes[TIDE_SIZE_BUCKETS_N] = {0}, lifetimes[TIDE_LIFE_BUCKETS_N] = {0};
  tide_site_sum_buckets(&image, site, sizes, lifetimes);
  assert_true(sizes[3] == (UINT64_C(1) << 32) + 9);
  assert_int_equal(lifetimes[0], 1);
  assert_int_equal(lifetimes[6], 6);
  tide_image_done(&image);
}

// What waits in a thread's slot is as good as booked; what cannot be true of it does no harm.
static void adds_what_waits(void **state)
{
  struct fixture *f = *state;
  struct tide_cell *cell = fake_store_cell(&f->store, f->left, f->main_slot);
  fake_store_alloc(&f->store, cell, 100);
  fake_store_alloc(&f->store, cell, 300);
  fake_store_free(&f->store, cell, 300);
  size_t id = (size_t)(cell - f->store.cells);
  f->store.hists[id].life[0] = UINT32_MAX;
  struct tide_pairs *pairs = &f->store.slots[f->main_slot].pairs;
  *pairs = (struct tide_pairs){.birth = 6500,
                               .cell = (uint32_t)id,
                               .interval = cell->stamp.interval,
                               .n_ended = 5,
                               .b_ended = 230,
                               .open = 40 + 1};
  struct tide_store_totals totals;
  struct tide_image image = read_image(f, 2100);
  const struct tide_site *site = site_of(&image, f->left, 1);
  assert_int_equal(site->n_alloc, 2 + 6);
  assert_int_equal(site->b_alloc, 400 + 230 + 40);
  assert_int_equal(site->n_free, 1 + 5);
  assert_int_equal(site->b_free, 300 + 230);
  assert_int_equal(site->n_temp, 5);
  assert_int_equal(site->b_temp, 230);
  assert_int_equal(site->last_ns, 10000);
  assert_int_equal(site->high_bytes, 400);
  assert_int_equal(image.peak_bytes, 400);
  assert_int_equal(site->peak_bytes, 400);
  uint64_t sizes[TIDE_SIZE_BUCKETS_N] = {0}, lifetimes[TIDE_LIFE_BUCKETS_N] = {0};
  tide_site_sum_buckets(&image, site, sizes, lifetimes);
  assert_true(lifetimes[0] == (uint64_t)UINT32_MAX + 5);
  tide_image_done(&image);
  struct tide_store_view view;
  assert_int_equal(tide_store_view_open(&view, dup(f->fd), NULL), TIDE_ERR_OK);
  assert_int_equal(tide_store_view_refresh(&view, NULL), TIDE_ERR_OK);
  tide_store_view_totals(&view, &totals);
  assert_int_equal(totals.live_bytes, 100 + 40);
  uint32_t late = fake_store_slot(&f->store, 77, "late"); // since the header was read
  f->store.slots[late].held = -90;
  tide_store_view_totals(&view, &totals);
  assert_int_equal(totals.live_bytes, 100 + 40 - 90);
  f->store.slots[late].held = 0;
  tide_store_view_close(&view);

  pairs->interval++; // of another time than the cell
  image = read_image(f, 2100);
  assert_int_equal(site_of(&image, f->left, 1)->n_alloc, 2);
  tide_image_done(&image);
  pairs->cell = UINT32_MAX;
  image = read_image(f, 2100);
  assert_int_equal(site_of(&image, f->left, 1)->n_alloc, 2);
  tide_image_done(&image);
}

// A machine that has been up for months: threads keep 52 bits of ticks, start and end have all.
static void times_of_an_old_machine(void **state)
{
  struct fixture *f = *state;
  uint64_t high = UINT64_C(5) << 52;
  struct tide_clock clock = CLOCK;
  clock.zero_ticks += high;
  f->store.header->start_ticks += high;
  struct tide_cell *cell = fake_store_cell(&f->store, f->left, f->main_slot);
  fake_store_alloc(&f->store, cell, 100);
  fake_store_alloc(&f->store, cell, 100);
  f->store.owners[cell - f->store.cells].t_first = high + 1050;
  cell->t_last = 1200;
  cell->birth_live_sum = 1100 + 1200;
  f->store.header->max_bytes = 200;
  f->store.header->max_ticks = 1150;
  f->store.header->stamp.epoch++;
  for (int given = 0; given < 2; given++) {
    struct tide_image image = read_image_by(f, &clock, given ? high + 1300 : 0);
    const struct tide_site *site = site_of(&image, f->left, 1);
    assert_int_equal(site->first_ns, 0); // 100 and 400, told to 10 µs
    assert_int_equal(site->last_ns, 0);
    assert_int_equal(image.peak_ns, 300);
    assert_int_equal(site->age_ns, given ? (200 + 100) * 2 : (100 + 0) * 2);
    tide_image_done(&image);
  }
}

static void peak_is_the_past_maximum(void **state)
{
  struct fixture *f = *state;
  struct tide_cell *left = fake_store_cell(&f->store, f->left, f->main_slot);
  struct tide_cell *right = fake_store_cell(&f->store, f->right, f->main_slot);
  fake_store_alloc(&f->store, left, 100);
  fake_store_alloc(&f->store, right, 1000);
  fake_store_alloc(&f->store, right, 500); // 1600: the peak
  fake_store_free(&f->store, right, 1000);
  fake_store_free(&f->store, right, 500);
  f->store.header->max_ticks = 1600;
  fake_store_alloc(&f->store, right, 200);
  struct tide_image image = read_image(f, 0);
  assert_int_equal(image.peak_bytes, 1600);
  assert_int_equal(image.peak_blocks, 3);
  assert_int_equal(image.peak_ns, 1200);
  assert_int_equal(image.peak_bound_bytes, 0);
  assert_int_equal(site_of(&image, f->right, 1)->peak_bytes, 1500); // folded when it changed
  assert_int_equal(site_of(&image, f->right, 1)->peak_blocks, 2);
  assert_int_equal(site_of(&image, f->left, 1)->peak_bytes, 100); // never touched since
  tide_image_done(&image);
}

static void peak_is_now_while_it_rises(void **state)
{
  struct fixture *f = *state;
  struct tide_cell *left = fake_store_cell(&f->store, f->left, f->main_slot);
  struct tide_cell *right = fake_store_cell(&f->store, f->right, f->main_slot);
  fake_store_alloc(&f->store, left, 300);
  fake_store_free(&f->store, left, 300); // a maximum of 300 is left behind
  fake_store_alloc(&f->store, left, 100);
  fake_store_alloc(&f->store, right, 700);
  right->t_last = 1400;
  struct tide_image image = read_image(f, 0);
  assert_int_equal(image.peak_bytes, 800);
  assert_int_equal(image.peak_blocks, 2);
  assert_int_equal(image.peak_ns, 800);
  assert_int_equal(site_of(&image, f->left, 1)->peak_bytes, 100);
  assert_int_equal(site_of(&image, f->right, 1)->peak_bytes, 700);
  tide_image_done(&image);
}

// Random allocations and frees by three threads, one event at a time, against a replay that copies
// every stack's live bytes at each new maximum (the latest of equal ones does not count).
static void peak_shares_match_a_replay(void **state)
{
  struct fixture *f = *state;
  enum { THREADS = 3, STACKS = 5, EVENTS = 4000 };
  uint32_t slots[THREADS] = {f->main_slot, fake_store_slot(&f->store, 78, "b"),
                             fake_store_slot(&f->store, 79, "c")};
  uint32_t stacks[STACKS];
  struct tide_cell *cells[STACKS][THREADS];
  for (int s = 0; s < STACKS; s++) {
    stacks[s] = fake_store_node(&f->store, 0x400500u + (unsigned)s, f->outer, 0);
    for (int t = 0; t < THREADS; t++)
      cells[s][t] = fake_store_cell(&f->store, stacks[s], slots[t]);
  }
  struct {
    uint64_t bytes;
    int stack;
  } blocks[EVENTS];
  size_t n_blocks = 0;
  int64_t live = 0, peak = 0, now[STACKS] = {0}, at_peak[STACKS] = {0};
  srandom(7);
  for (int i = 0; i < EVENTS; i++) {
    int t = (int)(random() % THREADS);
    if (n_blocks && random() % 100 < (i < EVENTS / 2 ? 45 : 55)) {
      size_t b = (size_t)random() % n_blocks; // freed by whoever, not by who allocated it
      fake_store_free(&f->store, cells[blocks[b].stack][t], blocks[b].bytes);
      now[blocks[b].stack] -= (int64_t)blocks[b].bytes;
      live -= (int64_t)blocks[b].bytes;
      blocks[b] = blocks[--n_blocks];
    } else {
      int s = (int)(random() % STACKS);
      uint64_t bytes = 1 + (uint64_t)random() % 1000;
      fake_store_alloc(&f->store, cells[s][t], bytes);
      blocks[n_blocks].bytes = bytes;
      blocks[n_blocks++].stack = s;
      now[s] += (int64_t)bytes;
      live += (int64_t)bytes;
    }
    if (live > peak) {
      peak = live;
      memcpy(at_peak, now, sizeof now);
    }
  }
  struct tide_image image = read_image(f, 0);
  assert_int_equal(image.peak_bytes, peak);
  for (int s = 0; s < STACKS; s++) {
    int64_t share = 0;
    for (int t = 0; t < THREADS; t++)
      share += site_of(&image, stacks[s], slots[t])->peak_bytes;
    assert_int_equal(share, at_peak[s]);
  }
  tide_image_done(&image);
}

static void pages_are_not_heap(void **state)
{
  struct fixture *f = *state;
  struct tide_cell *pages = fake_store_cell(&f->store, f->pages, f->main_slot);
  struct tide_cell *heap = fake_store_cell(&f->store, f->left, f->main_slot);
  struct tide_cell *lost = fake_store_cell(&f->store, f->lost, f->main_slot);
  pages->n_alloc = 1;
  pages->b_alloc = 1 << 20;
  f->store.header->page_live_bytes = 1 << 20;
  f->store.header->page_max_bytes = 1 << 19; // noted on falling edges only
  fake_store_alloc(&f->store, heap, 50);
  fake_store_alloc(&f->store, lost, 5);
  struct tide_image image = read_image(f, 0);
  assert_int_equal(image.peak_bytes, 55);
  assert_int_equal(image.page_peak_bytes, 1 << 20);
  struct tide_image_sums sums;
  tide_image_heap_sums(&image, &sums);
  assert_int_equal(sums.live_bytes, 55);
  assert_int_equal(sums.n_alloc, 2);
  image.end_ns = 5000;
  tide_image_add_exact_snapshots(&image);
  assert_int_equal(image.n_snapshots, 2);
  assert_int_equal(image.snapshots[1].kind, TIDE_SNAPSHOT_END);
  assert_int_equal(image.snapshots[1].n_rows, 3); // pages too, by rising stack
  assert_int_equal(image.snapshots[1].rows[0].stack, f->lost);
  assert_int_equal(image.snapshots[1].rows[2].stack, f->pages);
  assert_int_equal(image.snapshots[1].rows[2].live_bytes, 1 << 20);
  tide_image_done(&image);
}

static void a_freeing_thread_goes_negative(void **state)
{
  struct fixture *f = *state;
  uint32_t other = fake_store_slot(&f->store, 78, "other");
  struct tide_cell *mine = fake_store_cell(&f->store, f->left, f->main_slot);
  struct tide_cell *theirs = fake_store_cell(&f->store, f->left, other);
  fake_store_alloc(&f->store, mine, 100);
  fake_store_alloc(&f->store, mine, 100);
  mine->birth_live_sum = 2 * 1200;
  fake_store_free(&f->store, theirs, 100);
  theirs->birth_live_sum = (uint64_t)-1200;
  f->store.header->ceiling = 264;
  struct tide_image image = read_image(f, 1300);
  assert_int_equal(image.peak_bytes, 200);
  assert_int_equal(image.peak_bound_bytes, 64); // it may have been as much, and was this much
  const struct tide_site *a = site_of(&image, f->left, 1), *b = site_of(&image, f->left, 2);
  assert_int_equal(b->peak_bytes, 0);
  assert_int_equal(a->peak_bytes, 200);
  assert_int_equal(a->age_ns, 100 * 2); // all of it: alone, neither row says anything
  assert_int_equal(b->age_ns, 0);
  image.end_ns = 600;
  tide_image_add_exact_snapshots(&image);
  assert_int_equal(image.snapshots[1].rows[0].live_bytes, 100);
  assert_int_equal(image.snapshots[1].rows[0].live_blocks, 1);
  tide_image_done(&image);
}

// What recordings told that are older than the rule that the shares are the peak.
static void an_older_peak_becomes_the_sum_of_its_shares(void **state)
{
  struct fixture *f = *state;
  fake_store_alloc(&f->store, fake_store_cell(&f->store, f->left, f->main_slot), 100);
  fake_store_alloc(&f->store, fake_store_cell(&f->store, f->pages, f->main_slot), 4096);
  static const int64_t told[] = {70, 130, 100};
  for (int i = 0; i < 3; i++) {
    struct tide_image image = read_image(f, 1300);
    image.peak_bytes = told[i];
    image.peak_bound_bytes = 50;
    image.is_part = true;
    tide_image_settle_peak(&image);
    assert_int_equal(image.peak_bytes, told[i]); // rows are missing: who knows
    image.is_part = false;
    tide_image_settle_peak(&image);
    assert_int_equal(image.peak_bytes, 100);
    assert_int_equal(image.peak_bound_bytes, told[i] == 100 ? 50 : 80);
    tide_image_done(&image);
  }
}

static void the_cost_is_estimated_per_thread(void **state)
{
  struct fixture *f = *state;
  uint32_t silent = fake_store_slot(&f->store, 78, "silent");
  struct tide_thread_slot *slot = &f->store.slots[f->main_slot];
  slot->sampled_ticks = 300;
  slot->n_sampled = 10; // 30 ticks, 60 ns per call
  struct tide_cell *cell = fake_store_cell(&f->store, f->left, f->main_slot);
  cell->n_alloc = 100;
  cell->n_free = 90;
  f->store.pasts[cell - f->store.cells].n_resize = 40; // one call, though an allocation and a free
  fake_store_cell(&f->store, f->right, silent)->n_alloc = 5;
  // And what is timed as it comes: 50 ticks on stacks that were new and on 40 early calls; the
  // boot, with what comes before and after it.
  slot->n_early = 40;
  f->store.header->cold_ticks = 50;
  f->store.header->boot_ns = 200000;
  struct tide_image image = read_image(f, 0);
  assert_in_range(image.recorder_ns, 115 * 60 + 100 + 360000 - 1, 115 * 60 + 100 + 360000 + 1);
  tide_image_done(&image);
  // A process that counted its own time did so from the end of its boot on.
  f->store.header->cpu_ns = 123456789;
  image = read_image(f, 0);
  assert_in_range(image.recorder_ns, 115 * 60 + 100 - 1, 115 * 60 + 100 + 1);
  assert_int_equal(image.cpu_ns, 123456789);
  tide_image_done(&image);
}

static void unused_cells_and_unknown_indexes(void **state)
{
  struct fixture *f = *state;
  fake_store_cell(&f->store, f->left, f->main_slot);             // no event
  fake_store_cell(&f->store, 4000, f->main_slot)->n_alloc = 1;   // no such node
  fake_store_cell(&f->store, 0, f->main_slot)->n_alloc = 1;      // not published yet
  fake_store_cell(&f->store, f->right, 63)->n_alloc = 1;         // no such thread
  f->store.nodes[f->right].parent = f->right + 5;                // no ancestor
  f->store.nodes[f->right].frame = UINT64_C(0x7abc) << 48 | 0x1; // no such module
  struct tide_image image = read_image(f, 0);
  assert_int_equal(image.n_sites, 1);
  assert_int_equal(image.sites[0].stack, f->right);
  assert_int_equal(image.sites[0].thread, 0);
  assert_int_equal(image.frames[f->right].parent, 0);
  assert_int_equal(image.frames[f->right].module, 0);
  tide_image_done(&image);
}

static void what_is_no_store_is_refused(void **state)
{
  struct fixture *f = *state;
  struct tide_store_header *h = f->store.header, good = *h;
  struct tide_store_view view;
  struct tide_diag diag;
  assert_int_equal(tide_store_view_open(&view, dup(f->fd), &diag), TIDE_ERR_OK);
  h->version++;
  assert_int_equal(tide_store_view_refresh(&view, &diag), TIDE_ERR_VERSION);
  *h = good;
  h->magic[0] = 'X';
  assert_int_equal(tide_store_view_refresh(&view, &diag), TIDE_ERR_FORMAT);
  *h = good;
  h->state = TIDE_STATE_EMPTY;
  assert_int_equal(tide_store_view_refresh(&view, &diag), TIDE_ERR_EMPTY);
  *h = good;
  h->areas.cells.capacity = FAKE_STORE_BYTES / sizeof(struct tide_cell);
  assert_int_equal(tide_store_view_refresh(&view, &diag), TIDE_ERR_DAMAGED);
  *h = good;
  h->areas.hists.offset = UINT64_MAX - 7;
  assert_int_equal(tide_store_view_refresh(&view, &diag), TIDE_ERR_DAMAGED);
  *h = good;
  assert_int_equal(tide_store_view_refresh(&view, &diag), TIDE_ERR_OK);
  h->areas.cells.offset = 8; // too late: what was checked is kept
  h->n_cells = UINT32_MAX;
  assert_int_equal(tide_store_view_refresh(&view, &diag), TIDE_ERR_OK);
  assert_int_equal(view.areas.cells.offset, good.areas.cells.offset);
  assert_int_equal(view.header.n_cells, view.areas.cells.capacity);
  tide_store_view_close(&view);
}

static void a_store_file_is_a_capture(void **state)
{
  struct fixture *f = *state;
  struct tide_cell *cell = fake_store_cell(&f->store, f->left, f->main_slot);
  fake_store_alloc(&f->store, cell, 64);
  f->store.header->ticks_per_second = 100000000; // 10 ns per tick
  f->store.owners[cell - f->store.cells].t_first = 2000;
  cell->t_last = 2000;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", f->fd);
  struct tide_capture *capture = NULL;
  struct tide_diag diag = {0};
  assert_true(tide_store_file_is(path));
  assert_false(tide_store_file_is("/proc/self/exe"));
  if (tide_store_file_read(path, &capture, &diag))
    fail_msg("%s", diag.text);
  assert_int_equal(capture->n_images, 1);
  assert_true(capture->finished);
  assert_int_equal(capture->duration_ns, 10000);
  assert_int_equal(capture->images[0].peak_bytes, 64);
  assert_int_equal(capture->images[0].sites[0].first_ns, 10000);
  assert_int_equal(capture->images[0].n_snapshots, 2);
  assert_int_equal(capture->images[0].end_kind, TIDE_END_UNKNOWN);
  tide_capture_free(capture);
  fake_store_free(&f->store, cell, 64); // the latest that is known: that it ended the peak
  f->store.header->max_ticks = 5000;
  if (tide_store_file_read(path, &capture, &diag))
    fail_msg("%s", diag.text);
  assert_int_equal(capture->images[0].peak_ns, 40000);
  assert_int_equal(capture->images[0].end_ns, 40000);
  assert_int_equal(capture->images[0].snapshots[0].kind, TIDE_SNAPSHOT_PEAK);
  assert_int_equal(capture->images[0].snapshots[1].kind, TIDE_SNAPSHOT_END);
  tide_capture_free(capture);
  assert_int_equal(tide_store_file_read("/proc/self/exe", &capture, &diag), TIDE_ERR_FORMAT);
  assert_non_null(strstr(diag.text, "/proc/self/exe"));
}

UNIT_TESTS(store_read_test)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(facts_frames_and_modules),
      TEST(sums_times_and_histograms),
      TEST(adds_what_waits),
      TEST(times_of_an_old_machine),
      TEST(peak_is_the_past_maximum),
      TEST(peak_is_now_while_it_rises),
      TEST(peak_shares_match_a_replay),
      TEST(pages_are_not_heap),
      TEST(a_freeing_thread_goes_negative),
      TEST(an_older_peak_becomes_the_sum_of_its_shares),
      TEST(the_cost_is_estimated_per_thread),
      TEST(unused_cells_and_unknown_indexes),
      TEST(what_is_no_store_is_refused),
      TEST(a_store_file_is_a_capture),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
