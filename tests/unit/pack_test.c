// SPDX-License-Identifier: Apache-2.0
//
// A store that is read into a pack makes the same file, byte by byte, as one that is read into
// rows, and a pack that was unpacked does, too.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "fake_store.h"
#include "model/pack.h"
#include "observe/sample.h"
#include "observe/store_read.h"
#include "tide/file.h"
#include "tide/format.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MS UINT64_C(1000000)
#define END_TICKS (1000 + 500 * MS)
enum { CELLS = 300 };

struct fixture {
  struct fake_store store;
  struct tide_store_view view;
  struct tide_sampler sampler;
  struct tide_cell *cells[CELLS];
  size_t n_cells;
  uint32_t slots[3], left, right, pages;
  uint64_t random;
};

static int setup_sealed(void **state, int seals)
{
  struct fixture *f = calloc(1, sizeof *f);
  int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (ftruncate(fd, FAKE_STORE_BYTES) || (seals && fcntl(fd, F_ADD_SEALS, seals)))
    return -1;
  fake_store_map(&f->store, fd);
  fake_store_module(&f->store, "/bin/one", 0x1000, 0x9000);
  for (int i = 0; i < 3; i++)
    f->slots[i] = fake_store_slot(&f->store, (uint32_t)i + 1, "thread");
  f->left = fake_store_node(&f->store, 0x1000, 0, 0);
  f->right = fake_store_node(&f->store, 0x2000, f->left, 0);
  f->pages = fake_store_node(&f->store, 0x3000, 1, 0); // below the root of pages
  if (tide_store_view_open(&f->view, fd, NULL) || tide_store_view_refresh(&f->view, NULL))
    return -1;
  tide_sampler_init(&f->sampler, 0, 0);
  *state = f;
  return 0;
}

static int setup(void **state)
{
  return setup_sealed(state, F_SEAL_SHRINK);
}

// It may shrink, so it is read by copying.
static int setup_loose(void **state)
{
  return setup_sealed(state, 0);
}

static int teardown(void **state)
{
  struct fixture *f = *state;
  tide_sampler_done(&f->sampler);
  tide_store_view_close(&f->view);
  fake_store_unmap(&f->store);
  free(f);
  return 0;
}

static uint64_t next_random(struct fixture *f, uint64_t below)
{
  f->random ^= f->random << 13;
  f->random ^= f->random >> 7;
  f->random ^= f->random << 17;
  return f->random % below;
}

static void add_cell(struct fixture *f, uint64_t step)
{
  uint64_t kind = next_random(f, 6);
  uint32_t stack = kind == 0   ? f->right // several cells share it, of several threads
                   : kind == 1 ? f->pages
                   : kind == 2 ? (uint32_t)(f->right + next_random(f, 4)) // if it is a node
                               : fake_store_node(&f->store, 0x1000 + step, f->left, 0);
  f->cells[f->n_cells++] = fake_store_cell(&f->store, stack, f->slots[next_random(f, 3)]);
}

// Of a stack whose blocks other threads free.
static void exchange(struct fixture *f)
{
  struct tide_cell *cell = f->cells[next_random(f, f->n_cells)];
  f->store.pasts[cell - f->store.cells].n_foreign++;
  cell->birth_live_sum += next_random(f, 1 << 30) - (1 << 29);
}

static void live_through_so_far(struct fixture *f, uint64_t seed, uint64_t steps, bool falls)
{
  f->random = 88172645463325252u + seed;
  for (uint64_t step = 1; step <= steps; step++) {
    if (f->n_cells < CELLS && (step == 1 || next_random(f, 3) == 0))
      add_cell(f, step);
    for (int k = 0; k < 5; k++) {
      struct tide_cell *cell = f->cells[next_random(f, f->n_cells)];
      uint64_t bytes = UINT64_C(16) << next_random(f, next_random(f, 50) ? 12 : 40);
      fake_store_alloc(&f->store, cell, bytes);
      if (next_random(f, 4) && falls)
        fake_store_free(&f->store, cell, bytes);
    }
    if (next_random(f, 20) == 0)
      exchange(f);
    if (next_random(f, 30) == 0) {
      f->sampler.next_tick_ns = 0;
      f->sampler.pace.is_wanted = true;
      assert_int_equal(tide_store_view_refresh(&f->view, NULL), TIDE_ERR_OK);
      tide_sampler_look(&f->sampler, &f->view, step * MS, 1);
    }
    if (step == steps / 2)
      f->store.header->max_ticks = 1000 + step * MS;
  }
  assert_int_equal(tide_store_view_refresh(&f->view, NULL), TIDE_ERR_OK);
}

static void live_through(struct fixture *f, uint64_t seed, uint64_t steps, bool falls)
{
  live_through_so_far(f, seed, steps, falls);
  tide_sampler_finish(&f->sampler, &f->view);
}

static void finish(struct fixture *f, struct tide_image *image, uint64_t end_ms)
{
  image->end_ns = end_ms * MS;
  image->end_kind = TIDE_END_EXITED;
  tide_sampler_fill_image(&f->sampler, image, false);
}

static struct tide_buf file_of(struct tide_image *image)
{
  struct tide_buf bytes = {0};
  struct tide_capture capture = {.images = image, .n_images = 1, .finished = true};
  assert_int_equal(tide_file_encode(&capture, &bytes, NULL), TIDE_ERR_OK);
  return bytes;
}

static void assert_same_file(struct tide_image *image, const struct tide_buf *expected)
{
  struct tide_buf bytes = file_of(image);
  assert_int_equal(bytes.n, expected->n);
  assert_memory_equal(bytes.data, expected->data, bytes.n);
  tide_buf_done(&bytes);
}

static void compare(struct fixture *f, uint64_t end_ms)
{
  struct tide_clock clock = {1000, 0, 1.0};
  struct tide_image rows, packed;
  tide_store_read_image(&f->view, &clock, END_TICKS, &rows);
  finish(f, &rows, end_ms);
  assert_true(rows.n_sites > 50);
  assert_true(rows.n_snapshots > 3);
  tide_store_pack_image(&f->view, &clock, END_TICKS, &packed);
  finish(f, &packed, end_ms);
  assert_non_null(packed.pack);
  assert_int_equal(packed.n_sites + packed.n_frames, 0);
  assert_int_equal(tide_image_n_sites(&packed), rows.n_sites);
  assert_int_equal(tide_image_n_frames(&packed), rows.n_frames);
  struct tide_buf expected = file_of(&rows);
  assert_same_file(&packed, &expected);
  assert_int_equal(tide_image_unpack(&packed, NULL), TIDE_ERR_OK);
  assert_null(packed.pack);
  assert_int_equal(packed.n_sites, rows.n_sites);
  assert_same_file(&packed, &expected);
  tide_buf_done(&expected);
  tide_image_done(&rows);
  tide_image_done(&packed);
}

static void the_file_is_the_same(void **state)
{
  live_through(*state, 1, 900, true);
  compare(*state, 1000);
}

static void the_peak_may_be_now(void **state)
{
  struct fixture *f = *state;
  live_through(f, 2, 400, false);
  compare(f, 400);
}

static void an_end_before_the_last_snapshot(void **state)
{
  live_through(*state, 3, 900, true);
  compare(*state, 700);
}

static void any_seed(void **state)
{
  struct fixture *f = *state;
  for (uint64_t seed = 4; seed < 24; seed++) {
    live_through(f, seed, 300, seed % 3);
    compare(f, 290 + seed);
    teardown(state);
    assert_int_equal(setup(state), 0);
    f = *state;
  }
}

// Snapshots that are too large for a part, of whatever size that is.
static void in_pieces(void **state)
{
  size_t rows = tide_snapshot_rows;
  for (uint64_t seed = 30; seed < 40; seed++) {
    tide_snapshot_rows = (seed - 29) * (seed - 29);
    live_through(*state, seed, 300, seed % 3);
    compare(*state, 290 + seed);
    teardown(state);
    assert_int_equal(setup(state), 0);
  }
  tide_snapshot_rows = rows;
}

// What was read is given back when nobody reads it again.
static void the_store_is_used_up(void **state)
{
  struct fixture *f = *state;
  struct tide_clock clock = {1000, 0, 1.0};
  struct tide_image packed;
  live_through(f, 1, 300, true);
  tide_store_view_use_up(&f->view);
  tide_store_pack_image(&f->view, &clock, END_TICKS, &packed);
  finish(f, &packed, 300);
  assert_null(packed.pack->stacks.items);
  tide_image_done(&packed);
}

// A draft, and another: the store is as it was, and the sampler goes on.
static void the_target_lives_on(void **state)
{
  struct fixture *f = *state;
  live_through_so_far(f, 1, 300, true);
  compare(f, 300);
  live_through_so_far(f, 2, 600, true);
  compare(f, 600);
  tide_sampler_finish(&f->sampler, &f->view);
  compare(f, 600);
}

UNIT_TESTS(pack_test)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(the_file_is_the_same),
      TEST(the_peak_may_be_now),
      TEST(an_end_before_the_last_snapshot),
      TEST(any_seed),
      TEST(in_pieces),
      TEST(the_store_is_used_up),
      TEST(the_target_lives_on),
      cmocka_unit_test_setup_teardown(the_file_is_the_same, setup_loose, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
