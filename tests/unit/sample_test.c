// SPDX-License-Identifier: Apache-2.0
//
// The timeline stays bounded, dense enough and in order; snapshots hold live bytes per stack; the
// exact peak and end are added; counts between two walks are in between.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "capture/sample.h"
#include "capture/store_read.h"
#include "fake_store.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

struct fixture {
  struct fake_store store;
  struct tide_store_view view;
  struct tide_sampler sampler;
  uint32_t slot, left, right;
};

static int setup(void **state)
{
  struct fixture *f = calloc(1, sizeof *f);
  int fd = memfd_create("test", MFD_CLOEXEC);
  if (ftruncate(fd, FAKE_STORE_BYTES))
    return -1;
  fake_store_map(&f->store, fd);
  f->slot = fake_store_slot(&f->store, 1, "main");
  f->left = fake_store_node(&f->store, 0x1000, 0, 0);
  f->right = fake_store_node(&f->store, 0x2000, f->left, 0);
  if (tide_store_view_open(&f->view, fd, NULL) || tide_store_view_refresh(&f->view, NULL))
    return -1;
  tide_sampler_init(&f->sampler, (uint32_t)getpid(), 0);
  *state = f;
  return 0;
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

static uint64_t look(struct fixture *f, uint64_t time_ns)
{
  assert_int_equal(tide_store_view_refresh(&f->view, NULL), TIDE_ERR_OK);
  return tide_sampler_look(&f->sampler, &f->view, time_ns, 1);
}

static struct tide_image image_at(struct fixture *f, uint64_t end_ns)
{
  struct tide_image image;
  struct tide_clock clock = {1000, 0, 1.0};
  assert_int_equal(tide_store_view_refresh(&f->view, NULL), TIDE_ERR_OK);
  tide_store_read_image(&f->view, &clock, 0, &image);
  image.end_ns = end_ns;
  return image;
}

// Pretends that a look costs nothing, whatever else this machine is doing.
static void forget_costs(struct tide_sampler *sampler, uint64_t time_ns)
{
  sampler->next_tick_ns = time_ns + sampler->tick_interval_ns;
  sampler->next_walk_ns = 0;
  if (sampler->next_snapshot_ns > time_ns)
    sampler->next_snapshot_ns = time_ns + sampler->snapshot_interval_ns;
}

static void an_hour_fits_where_a_second_does(void **state)
{
  struct fixture *f = *state;
  struct tide_cell *cell = fake_store_cell(&f->store, f->left, f->slot);
  uint64_t time_ns = 0, looks = 0;
  while (time_ns < 3600 * UINT64_C(1000) * MS) {
    fake_store_alloc(&f->store, cell, 8);
    look(f, time_ns);
    forget_costs(&f->sampler, time_ns);
    time_ns = f->sampler.next_tick_ns;
    looks++;
    assert_true(f->sampler.n_ticks <= TIDE_SAMPLE_MAX_TICKS);
    assert_true(f->sampler.n_snapshots <= TIDE_SAMPLE_MAX_SNAPSHOTS);
  }
  assert_true(looks < 20000);
  assert_true(f->sampler.n_ticks >= TIDE_SAMPLE_MAX_TICKS / 2);
  assert_true(f->sampler.n_snapshots >= TIDE_SAMPLE_MAX_SNAPSHOTS / 2 - 1);
  uint64_t widest_ns = 0;
  for (size_t i = 1; i < f->sampler.n_ticks; i++) {
    uint64_t gap_ns = f->sampler.ticks[i].tick.time_ns - f->sampler.ticks[i - 1].tick.time_ns;
    widest_ns = gap_ns > widest_ns ? gap_ns : widest_ns;
  }
  assert_true(widest_ns <= 2 * f->sampler.tick_interval_ns);
}

// Three hundred images may not take three hundred times as much.
static void many_images_share_the_time(void **state)
{
  struct fixture *f = *state;
  fake_store_alloc(&f->store, fake_store_cell(&f->store, f->left, f->slot), 8);
  assert_int_equal(tide_store_view_refresh(&f->view, NULL), TIDE_ERR_OK);
  uint64_t next_ns = tide_sampler_look(&f->sampler, &f->view, 0, 300);
  assert_true(next_ns > 100 * MS); // a look takes microseconds
  assert_true(f->sampler.next_walk_ns > 100 * MS);
}

static void snapshots_hold_what_is_live(void **state)
{
  struct fixture *f = *state;
  struct tide_cell *left = fake_store_cell(&f->store, f->left, f->slot);
  struct tide_cell *right = fake_store_cell(&f->store, f->right, f->slot);
  struct tide_cell *mmapped = fake_store_cell(&f->store, 1, f->slot);
  fake_store_alloc(&f->store, left, 100);
  fake_store_alloc(&f->store, right, 7);
  fake_store_free(&f->store, right, 7);
  mmapped->n_alloc = 1;
  mmapped->b_alloc = 4096;
  look(f, 6 * MS);
  assert_int_equal(f->sampler.n_snapshots, 1);
  const struct tide_snapshot *s = &f->sampler.snapshots[0];
  assert_int_equal(s->time_ns, 6 * MS);
  assert_int_equal(s->n_rows, 2); // nothing of right is left
  assert_int_equal(s->rows[0].stack, 1);
  assert_int_equal(s->rows[0].live_bytes, 4096);
  assert_int_equal(s->rows[1].stack, f->left);
  assert_int_equal(s->rows[1].live_bytes, 100);
  assert_int_equal(s->rows[1].live_blocks, 1);
  const struct tide_tick *t = &f->sampler.ticks[0].tick;
  assert_int_equal(t->n_alloc, 2); // the heap's
  assert_int_equal(t->live_bytes, 100);
  assert_true(t->rss_bytes > 100000); // this process's own
}

static void a_torn_walk_is_never_negative(void **state)
{
  struct fixture *f = *state;
  fake_store_cell(&f->store, f->left, f->slot)->n_free = 1;
  f->store.slots[f->slot].delta = -50;
  look(f, 6 * MS);
  assert_int_equal(f->sampler.snapshots[0].n_rows, 0);
  assert_int_equal(f->sampler.ticks[0].tick.live_bytes, 0);
  assert_int_equal(f->sampler.ticks[0].tick.live_blocks, 0);
}

static void thinning_keeps_every_other(void **state)
{
  struct fixture *f = *state;
  struct tide_cell *cell = fake_store_cell(&f->store, f->left, f->slot);
  for (uint64_t i = 1; i <= 10; i++) {
    fake_store_alloc(&f->store, cell, 1);
    f->sampler.next_tick_ns = f->sampler.next_snapshot_ns = 0;
    look(f, i * 10 * MS);
  }
  assert_int_equal(f->sampler.n_snapshots, 10);
  assert_int_equal(f->sampler.n_rows, 10);
  tide_sampler_thin_snapshots(&f->sampler);
  assert_int_equal(f->sampler.n_snapshots, 5);
  assert_int_equal(f->sampler.n_rows, 5);
  assert_int_equal(f->sampler.snapshots[0].time_ns, 20 * MS);
  assert_int_equal(f->sampler.snapshots[4].rows[0].live_bytes, 10);
  assert_int_equal(f->sampler.snapshot_interval_ns, 10 * MS);
}

static void peak_and_end_are_exact(void **state)
{
  struct fixture *f = *state;
  struct tide_cell *cell = fake_store_cell(&f->store, f->left, f->slot);
  fake_store_alloc(&f->store, cell, 1000);
  look(f, 2 * MS);
  fake_store_alloc(&f->store, cell, 9000); // nobody looks while 10000 are live
  fake_store_free(&f->store, cell, 9000);
  f->store.header->max_ticks = 1000 + 3 * MS;
  look(f, 8 * MS);
  struct tide_image image = image_at(f, 9 * MS);
  f->sampler.ticks[1].tick.live_bytes = 20000; // as a look in the middle of a flush may have it
  tide_sampler_fill_image(&f->sampler, &image, true);
  assert_int_equal(image.n_ticks, 4);
  assert_int_equal(image.ticks[1].time_ns, 3 * MS);
  assert_int_equal(image.ticks[1].live_bytes, 10000);
  assert_int_equal(image.ticks[1].live_blocks, 2);
  assert_int_equal(image.ticks[2].live_bytes, 10000); // never above the peak
  assert_int_equal(image.ticks[3].time_ns, 9 * MS);
  assert_int_equal(image.ticks[3].live_bytes, 1000);
  assert_int_equal(image.ticks[3].n_alloc, 2);
  assert_int_equal(image.n_snapshots, 3);
  assert_int_equal(image.snapshots[0].kind, TIDE_SNAPSHOT_PEAK);
  assert_int_equal(image.snapshots[0].rows[0].live_bytes, 10000);
  assert_int_equal(image.snapshots[1].kind, TIDE_SNAPSHOT_TIMED);
  assert_int_equal(image.snapshots[2].kind, TIDE_SNAPSHOT_END);
  assert_int_equal(image.snapshots[2].rows[0].live_bytes, 1000);
  assert_true(image.rss_at_peak_bytes > 0);
  assert_true(image.max_rss_bytes >= image.rss_at_peak_bytes);
  tide_image_done(&image);
}

static void counts_are_filled_in_between_walks(void **state)
{
  struct fixture *f = *state;
  struct tide_cell *cell = fake_store_cell(&f->store, f->left, f->slot);
  fake_store_alloc(&f->store, cell, 8);
  look(f, 1 * MS); // with a walk
  for (uint64_t t = 2; t <= 4; t++) {
    f->sampler.next_tick_ns = 0;
    f->sampler.next_walk_ns = f->sampler.next_snapshot_ns = UINT64_MAX;
    look(f, t * MS);
  }
  for (int i = 0; i < 8; i++)
    fake_store_alloc(&f->store, cell, 8);
  struct tide_image image = image_at(f, 5 * MS);
  image.peak_ns = 5 * MS;
  tide_sampler_fill_image(&f->sampler, &image, true);
  assert_int_equal(image.ticks[0].n_alloc, 1);
  assert_int_equal(image.ticks[1].n_alloc, 3);
  assert_int_equal(image.ticks[2].n_alloc, 5);
  assert_int_equal(image.ticks[3].n_alloc, 7);
  assert_int_equal(image.ticks[3].live_blocks, 7);
  assert_int_equal(image.ticks[image.n_ticks - 1].n_alloc, 9);
  assert_int_equal(image.ticks[image.n_ticks - 1].b_alloc, 72);
  for (size_t i = 1; i < image.n_ticks; i++)
    assert_true(image.ticks[i].time_ns >= image.ticks[i - 1].time_ns);
  tide_image_done(&image);
}

// A checkpoint borrows the rows and gives them back.
static void filling_twice_shares_the_rows(void **state)
{
  struct fixture *f = *state;
  fake_store_alloc(&f->store, fake_store_cell(&f->store, f->left, f->slot), 8);
  look(f, 6 * MS);
  struct tide_image checkpoint = image_at(f, 7 * MS), final = image_at(f, 8 * MS);
  tide_sampler_fill_image(&f->sampler, &checkpoint, false);
  assert_int_equal(checkpoint.n_snapshots, 3);
  tide_sampler_take_back(&checkpoint);
  tide_image_done(&checkpoint);
  tide_sampler_fill_image(&f->sampler, &final, true);
  assert_int_equal(final.n_snapshots, 3);
  tide_sampler_done(&f->sampler);
  size_t timed = final.snapshots[0].kind == TIDE_SNAPSHOT_TIMED ? 0 : 1;
  assert_int_equal(final.snapshots[timed].rows[0].live_bytes, 8);
  tide_image_done(&final);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(an_hour_fits_where_a_second_does),   TEST(many_images_share_the_time),
      TEST(snapshots_hold_what_is_live),        TEST(a_torn_walk_is_never_negative),
      TEST(thinning_keeps_every_other),         TEST(peak_and_end_are_exact),
      TEST(counts_are_filled_in_between_walks), TEST(filling_twice_shares_the_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
