// SPDX-License-Identifier: Apache-2.0
//
// The timeline stays bounded, dense enough and in order; snapshots hold live bytes per stack; the
// exact peak and end are added; counts between two walks are in between; and over all snapshots
// the allocations of a stack add up to what its sites say, whatever was thinned out. What is known
// of single blocks is grown_test's.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "observe/sample.h"
#include "observe/store_read.h"
#include "fake_store.h"

#include <fcntl.h>
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
  int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (ftruncate(fd, FAKE_STORE_BYTES) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
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
  sampler->pace.credit_ns = 1e9;
  sampler->pace.cost_ns = 0;
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

static bool has_snapshot_of(const struct tide_sampler *sampler, uint64_t time_ns)
{
  for (size_t i = 0; i < sampler->n_snapshots; i++)
    if (sampler->snapshots[i].time_ns == time_ns)
      return true;
  return false;
}

// What was held at a mark is known at the end of a long run, too; of very many, at the latest.
static void snapshots_of_marks_stay(void **state)
{
  struct fixture *f = *state;
  struct tide_cell *cell = fake_store_cell(&f->store, f->left, f->slot);
  enum { N = 3000, MARKS = 20 };
  for (uint64_t i = 1; i <= N; i++) {
    fake_store_alloc(&f->store, cell, 8);
    assert_int_equal(tide_store_view_refresh(&f->view, NULL), TIDE_ERR_OK);
    tide_store_view_nodes(&f->view);
    assert_true(tide_sampler_snapshot(&f->sampler, &f->view, i * MS));
    if (i <= MARKS)
      tide_sampler_mark_snapshot(&f->sampler);
  }
  for (uint64_t i = 1; i <= MARKS; i++)
    assert_true(has_snapshot_of(&f->sampler, i * MS));
  struct tide_image image = image_at(f, (N + 1) * MS);
  tide_sampler_finish(&f->sampler, &f->view);
  tide_sampler_fill_image(&f->sampler, &image, false);
  uint64_t n_alloc = 0, n_marks = 0;
  for (size_t i = 0; i < image.n_snapshots; i++) {
    const struct tide_snapshot *s = &image.snapshots[i];
    for (size_t k = 0; k < s->n_rows; k++)
      n_alloc += s->rows[k].n_alloc;
    if (s->kind == TIDE_SNAPSHOT_TIMED && s->time_ns <= MARKS * MS) {
      n_marks++;
      assert_int_equal(s->rows[0].live_blocks, s->time_ns / MS);
    }
  }
  assert_int_equal(n_alloc, N); // none is counted twice, none is left out
  assert_int_equal(n_marks, MARKS);
  tide_image_done(&image);
}

static void marks_without_end_leave_room(void **state)
{
  struct fixture *f = *state;
  fake_store_alloc(&f->store, fake_store_cell(&f->store, f->left, f->slot), 8);
  assert_int_equal(tide_store_view_refresh(&f->view, NULL), TIDE_ERR_OK);
  tide_store_view_nodes(&f->view);
  for (uint64_t i = 1; i <= 1000; i++) {
    assert_true(tide_sampler_snapshot(&f->sampler, &f->view, i * MS));
    tide_sampler_mark_snapshot(&f->sampler);
    assert_true(f->sampler.n_snapshots <= TIDE_SAMPLE_MAX_SNAPSHOTS);
  }
  assert_false(has_snapshot_of(&f->sampler, MS));
  for (uint64_t i = 961; i <= 1000; i++)
    assert_true(has_snapshot_of(&f->sampler, i * MS));
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
  struct tide_past *resized = &f->store.pasts[right - f->store.cells];
  resized->n_resize = f->store.pasts[mmapped - f->store.cells].n_resize = 1;
  resized->b_resize_old = 90;
  resized->b_resize_new = 7;
  mmapped->n_alloc = 1;
  mmapped->b_alloc = 4096;
  look(f, 6 * MS);
  assert_int_equal(f->sampler.n_snapshots, 1);
  struct tide_image image = image_at(f, 7 * MS);
  tide_sampler_fill_snapshots(&f->sampler, &image);
  const struct tide_snapshot *s = &image.snapshots[0];
  assert_int_equal(s->time_ns, 6 * MS);
  assert_int_equal(s->n_rows, 3);
  assert_int_equal(s->rows[0].stack, 1);
  assert_int_equal(s->rows[0].live_bytes, 4096);
  assert_int_equal(s->rows[1].stack, f->left);
  assert_int_equal(s->rows[1].live_bytes, 100);
  assert_int_equal(s->rows[1].live_blocks, 1);
  assert_int_equal(s->rows[2].stack, f->right); // nothing of it is left, but it was there
  assert_int_equal(s->rows[2].live_bytes, 0);
  assert_int_equal(s->rows[2].n_alloc, 1);
  assert_int_equal(s->rows[2].b_alloc, 7);
  const struct tide_tick *t = &f->sampler.ticks[0].tick;
  assert_int_equal(t->n_alloc, 2); // the heap's
  assert_int_equal(t->n_resize, 1);
  assert_int_equal(t->b_resized, 7 - 90);
  assert_int_equal(t->live_bytes, 100);
  assert_true(t->rss_bytes > 100000); // this process's own
  tide_image_done(&image);
}

static void a_torn_walk_is_never_negative(void **state)
{
  struct fixture *f = *state;
  fake_store_cell(&f->store, f->left, f->slot)->n_free = 1;
  f->store.slots[f->slot].held = -50;
  look(f, 6 * MS);
  struct tide_image image = image_at(f, 7 * MS);
  tide_sampler_fill_snapshots(&f->sampler, &image);
  assert_int_equal(image.snapshots[0].n_rows, 0);
  tide_image_done(&image);
  assert_int_equal(f->sampler.ticks[0].tick.live_bytes, 0);
  assert_int_equal(f->sampler.ticks[0].tick.live_blocks, 0);
}

static void look_with_snapshot(struct fixture *f, uint64_t time_ns)
{
  f->sampler.next_tick_ns = 0;
  f->sampler.pace.is_wanted = true;
  look(f, time_ns);
}

static void assert_row(const struct tide_snapshot *s, size_t i, uint32_t stack, int64_t live_bytes,
                       uint64_t n_alloc, uint64_t b_alloc)
{
  assert_true(i < s->n_rows);
  assert_int_equal(s->rows[i].stack, stack);
  assert_int_equal(s->rows[i].live_bytes, live_bytes);
  assert_int_equal(s->rows[i].n_alloc, n_alloc);
  assert_int_equal(s->rows[i].b_alloc, b_alloc);
}

static void snapshots_count_what_came_since(void **state)
{
  struct fixture *f = *state;
  struct tide_cell *left = fake_store_cell(&f->store, f->left, f->slot);
  struct tide_cell *left_too = fake_store_cell(&f->store, f->left, f->slot);
  struct tide_cell *right = fake_store_cell(&f->store, f->right, f->slot);
  fake_store_alloc(&f->store, left, 100);
  fake_store_alloc(&f->store, left_too, 50);
  look_with_snapshot(f, 10 * MS);
  fake_store_alloc(&f->store, right, 8); // allocated and freed between two looks
  fake_store_free(&f->store, right, 8);
  look_with_snapshot(f, 20 * MS);
  fake_store_free(&f->store, left, 100);
  fake_store_alloc(&f->store, left, 30);
  look_with_snapshot(f, 30 * MS);
  struct tide_image image = image_at(f, 40 * MS);
  tide_sampler_fill_snapshots(&f->sampler, &image);
  const struct tide_snapshot *s = image.snapshots;
  assert_int_equal(s[0].n_rows, 1);
  assert_row(&s[0], 0, f->left, 150, 2, 150);
  assert_int_equal(s[1].n_rows, 2);
  assert_row(&s[1], 0, f->left, 150, 0, 0);
  assert_row(&s[1], 1, f->right, 0, 1, 8);
  assert_int_equal(s[2].n_rows, 1);
  assert_row(&s[2], 0, f->left, 80, 1, 30);
  tide_image_done(&image);
  tide_sampler_thin_snapshots(&f->sampler); // the first goes, the last stays
  assert_int_equal(f->sampler.n_snapshots, 2);
  assert_int_equal(tide_sampler_rows(&f->sampler), 4);
  image = image_at(f, 40 * MS);
  tide_sampler_fill_snapshots(&f->sampler, &image);
  s = image.snapshots;
  assert_int_equal(s[0].time_ns, 20 * MS);
  assert_row(&s[0], 0, f->left, 150, 2, 150); // as of the one that is gone
  assert_row(&s[0], 1, f->right, 0, 1, 8);
  assert_row(&s[1], 0, f->left, 80, 1, 30);
  tide_image_done(&image);
}

// What only a broken store does: nothing is counted twice, and the end takes no less than nothing.
static void counts_that_fall_count_nothing(void **state)
{
  struct fixture *f = *state;
  struct tide_cell *cell = fake_store_cell(&f->store, f->left, f->slot);
  const uint64_t seen[] = {10, 4, 12, 3};
  const uint64_t since[] = {10, 0, 2, 0};
  for (size_t i = 0; i < 4; i++) {
    cell->stamp = f->store.header->stamp;
    cell->n_alloc = seen[i];
    cell->n_free = 0;
    look_with_snapshot(f, (i + 1) * 10 * MS);
  }
  struct tide_image image = image_at(f, 50 * MS);
  tide_sampler_fill_image(&f->sampler, &image, false);
  for (size_t i = 0, timed = 0; i < image.n_snapshots; i++)
    if (image.snapshots[i].kind == TIDE_SNAPSHOT_TIMED)
      assert_int_equal(image.snapshots[i].rows[0].n_alloc, since[timed++]);
  assert_int_equal(image.snapshots[image.n_snapshots - 1].rows[0].n_alloc, 0);
  tide_image_done(&image);
}

static uint64_t next_random(uint64_t *state) // xorshift
{
  *state ^= *state << 13;
  *state ^= *state >> 7;
  return *state ^= *state << 17;
}

static void assert_counts_add_up(const struct tide_image *image)
{
  assert_true(image->has_counts);
  assert_int_equal(image->snapshots[image->n_snapshots - 1].kind, TIDE_SNAPSHOT_END);
  struct tide_snapshot_row *sums = calloc(image->n_frames, sizeof *sums);
  for (size_t i = 0; i < image->n_snapshots; i++)
    for (size_t k = 0; k < image->snapshots[i].n_rows; k++) {
      const struct tide_snapshot_row *row = &image->snapshots[i].rows[k];
      assert_true(k == 0 || row->stack > row[-1].stack);
      assert_true(row->live_bytes || row->live_blocks || row->n_alloc || row->b_alloc);
      assert_true(image->snapshots[i].kind != TIDE_SNAPSHOT_PEAK || row->n_alloc == 0);
      sums[row->stack].n_alloc += row->n_alloc;
      sums[row->stack].b_alloc += row->b_alloc;
    }
  for (size_t i = 0; i < image->n_sites; i++) {
    sums[image->sites[i].stack].n_alloc -= image->sites[i].n_alloc;
    sums[image->sites[i].stack].b_alloc -= image->sites[i].b_alloc;
  }
  for (size_t i = 0; i < image->n_frames; i++) {
    assert_int_equal(sums[i].n_alloc, 0);
    assert_int_equal(sums[i].b_alloc, 0);
  }
  free(sums);
}

// New stacks appear, old ones churn, snapshots are thinned out again and again, checkpoints and an
// end before the last look come in between.
static void counts_add_up_to_the_sites(void **state)
{
  struct fixture *f = *state;
  uint64_t random = 88172645463325252u;
  struct tide_cell *cells[200];
  size_t n_cells = 0;
  for (uint64_t step = 1; step <= 3000; step++) {
    if (n_cells < 200 && next_random(&random) % 12 == 0) {
      uint32_t stack = next_random(&random) % 3 ? fake_store_node(&f->store, step, f->left, 0)
                                                : f->right; // several cells share a stack
      cells[n_cells++] = fake_store_cell(&f->store, stack, f->slot);
    }
    for (size_t k = 0; k < 5 && n_cells; k++) {
      struct tide_cell *cell = cells[next_random(&random) % n_cells];
      fake_store_alloc(&f->store, cell, 16);
      if (next_random(&random) % 4)
        fake_store_free(&f->store, cell, 16);
    }
    look_with_snapshot(f, step * MS);
    if (next_random(&random) % 100 == 0)
      tide_sampler_thin_snapshots(&f->sampler);
    if (next_random(&random) % 200 == 0) {
      uint64_t end_ms = step > 20 ? step - next_random(&random) % 20 : step;
      struct tide_image image = image_at(f, end_ms * MS);
      tide_sampler_fill_image(&f->sampler, &image, false);
      assert_false(image.has_late_frees); // it may not be over
      assert_counts_add_up(&image);
      tide_image_done(&image);
    }
  }
  struct tide_image image = image_at(f, 4000 * MS);
  tide_sampler_finish(&f->sampler, &f->view);
  tide_sampler_fill_image(&f->sampler, &image, false);
  assert_true(image.has_late_frees);
  assert_counts_add_up(&image);
  tide_image_done(&image);
}

static void thinning_keeps_every_other(void **state)
{
  struct fixture *f = *state;
  struct tide_cell *cell = fake_store_cell(&f->store, f->left, f->slot);
  for (uint64_t i = 1; i <= 10; i++) {
    fake_store_alloc(&f->store, cell, 1);
    f->sampler.next_tick_ns = 0;
    f->sampler.pace.is_wanted = true;
    look(f, i * 10 * MS);
  }
  assert_int_equal(f->sampler.n_snapshots, 10);
  assert_int_equal(tide_sampler_rows(&f->sampler), 10);
  tide_sampler_thin_snapshots(&f->sampler);
  assert_int_equal(f->sampler.n_snapshots, 5);
  assert_int_equal(tide_sampler_rows(&f->sampler), 5);
  assert_int_equal(f->sampler.pace.interval_ns, 32 * MS); // 20 ms, and what bytes add
  struct tide_image image = image_at(f, 200 * MS);
  tide_sampler_fill_snapshots(&f->sampler, &image);
  assert_int_equal(image.snapshots[0].time_ns, 20 * MS);
  assert_int_equal(image.snapshots[4].rows[0].live_bytes, 10);
  assert_int_equal(image.snapshots[4].rows[0].n_alloc, 2); // its own and that of the one gone
  tide_image_done(&image);
}

// Between two snapshots, too, it is known what the largest stacks hold: of all their threads at the
// snapshot, and of those that had something there since.
static void the_largest_are_known_at_every_tick(void **state)
{
  struct fixture *f = *state;
  uint32_t other = fake_store_slot(&f->store, 2, "other");
  struct tide_cell *left = fake_store_cell(&f->store, f->left, f->slot);
  struct tide_cell *left_too = fake_store_cell(&f->store, f->left, other);
  struct tide_cell *right = fake_store_cell(&f->store, f->right, f->slot);
  fake_store_alloc(&f->store, left, 1000000);
  fake_store_alloc(&f->store, left_too, 500000);
  fake_store_alloc(&f->store, right, 100);
  f->sampler.pace.is_over = true;
  look(f, 1 * MS); // before any snapshot
  f->sampler.pace.is_over = false;
  look_with_snapshot(f, 2 * MS);
  f->sampler.pace.is_over = true;
  fake_store_alloc(&f->store, left_too, 2000000);
  fake_store_free(&f->store, left, 1000000);
  fake_store_alloc(&f->store, right, 7);
  f->sampler.next_tick_ns = 0;
  look(f, 3 * MS);
  struct tide_image image = image_at(f, 4 * MS);
  image.peak_ns = 4 * MS;
  tide_sampler_fill_image(&f->sampler, &image, false);
  assert_int_equal(image.n_held, 2);
  const struct tide_held_bytes *held = &image.held[0];
  assert_int_equal(held->stack, f->left);
  assert_int_equal(held->shift, 12); // 2,500,000 bytes in units of 4,096
  assert_int_equal(held->bytes[0], -1);
  assert_int_equal(held->bytes[1], 1500000 / 4096 * 4096);
  assert_int_equal(held->bytes[2], 2500000 / 4096 * 4096);
  assert_int_equal(held->bytes[3], -1); // the peak, and the end: known otherwise
  assert_int_equal(image.held[1].stack, f->right);
  assert_int_equal(image.held[1].bytes[1], 100);
  assert_int_equal(image.held[1].bytes[2], 107);
  tide_image_done(&image);
}

// Of more cells than are looked at, the largest; and of these stacks those that ever held most.
static void of_many_the_largest_are_chosen(void **state)
{
  struct fixture *f = *state;
  enum { N = 400 };
  for (uint32_t i = 0; i < N; i++) {
    uint32_t stack = fake_store_node(&f->store, 0x9000 + i, f->left, 0);
    struct tide_cell *cell = fake_store_cell(&f->store, stack, f->slot);
    fake_store_alloc(&f->store, cell, 1 + i * 37 % N); // each size once
  }
  look_with_snapshot(f, 2 * MS);
  struct tide_image image = image_at(f, 3 * MS);
  image.peak_ns = 3 * MS;
  tide_sampler_fill_image(&f->sampler, &image, false);
  assert_int_equal(image.n_held, TIDE_TOP_STACKS);
  for (size_t i = 0; i < image.n_held; i++)
    assert_true(image.held[i].bytes[0] > N - (int64_t)TIDE_TOP_STACKS);
  tide_image_done(&image);
}

static void peak_and_end_are_exact(void **state)
{
  struct fixture *f = *state;
  struct tide_cell *cell = fake_store_cell(&f->store, f->left, f->slot);
  fake_store_alloc(&f->store, cell, 1000);
  look(f, 1 * MS);
  forget_costs(&f->sampler, 1 * MS);
  fake_store_alloc(&f->store, cell, 9000); // nobody looks while 10000 are live
  fake_store_free(&f->store, cell, 9000);
  f->store.header->max_ticks = 1000 + 3 * MS;
  look(f, 8 * MS);
  struct tide_image image = image_at(f, 9 * MS);
  f->sampler.ticks[1].tick.live_bytes = 20000; // as a look in the middle of a flush may have it
  tide_sampler_fill_image(&f->sampler, &image, false);
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
  assert_counts_add_up(&image);
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
    f->sampler.next_walk_ns = UINT64_MAX;
    f->sampler.pace.is_over = true;
    look(f, t * MS);
  }
  for (int i = 0; i < 8; i++)
    fake_store_alloc(&f->store, cell, 8);
  struct tide_past *past = &f->store.pasts[cell - f->store.cells];
  past->n_resize = 4;
  past->b_resize_old = 4 * 100;
  past->b_resize_new = 4 * 8;
  struct tide_image image = image_at(f, 5 * MS);
  image.peak_ns = 5 * MS;
  tide_sampler_fill_image(&f->sampler, &image, false);
  assert_int_equal(image.ticks[0].n_alloc, 1);
  assert_int_equal(image.ticks[1].n_alloc, 3);
  assert_int_equal(image.ticks[2].n_alloc, 5);
  assert_int_equal(image.ticks[3].n_alloc, 7);
  assert_int_equal(image.ticks[3].live_blocks, 7);
  assert_true(image.has_tick_resizes);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(image.ticks[i].n_resize, i);
    assert_int_equal(image.ticks[i].b_resized, i * (8 - 100));
  }
  assert_int_equal(image.ticks[image.n_ticks - 1].n_resize, 4);
  assert_int_equal(image.ticks[image.n_ticks - 1].b_resized, 4 * (8 - 100));
  assert_int_equal(image.ticks[image.n_ticks - 1].n_alloc, 9);
  assert_int_equal(image.ticks[image.n_ticks - 1].b_alloc, 72);
  for (size_t i = 1; i < image.n_ticks; i++)
    assert_true(image.ticks[i].time_ns >= image.ticks[i - 1].time_ns);
  tide_image_done(&image);
}

// A checkpoint takes nothing away.
static void filling_twice_gives_the_same(void **state)
{
  struct fixture *f = *state;
  fake_store_alloc(&f->store, fake_store_cell(&f->store, f->left, f->slot), 8);
  look(f, 6 * MS);
  struct tide_image checkpoint = image_at(f, 7 * MS), final = image_at(f, 8 * MS);
  tide_sampler_fill_image(&f->sampler, &checkpoint, false);
  assert_int_equal(checkpoint.n_snapshots, 3);
  tide_image_done(&checkpoint);
  tide_sampler_fill_image(&f->sampler, &final, false);
  assert_int_equal(final.n_snapshots, 3);
  tide_sampler_done(&f->sampler);
  size_t timed = final.snapshots[0].kind == TIDE_SNAPSHOT_TIMED ? 0 : 1;
  assert_int_equal(final.snapshots[timed].rows[0].live_bytes, 8);
  tide_image_done(&final);
}

UNIT_TESTS(sample_test)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(an_hour_fits_where_a_second_does),    TEST(many_images_share_the_time),
      TEST(snapshots_hold_what_is_live),         TEST(a_torn_walk_is_never_negative),
      TEST(thinning_keeps_every_other),          TEST(peak_and_end_are_exact),
      TEST(the_largest_are_known_at_every_tick), TEST(of_many_the_largest_are_chosen),
      TEST(counts_are_filled_in_between_walks),  TEST(filling_twice_gives_the_same),
      TEST(snapshots_count_what_came_since),     TEST(counts_that_fall_count_nothing),
      TEST(counts_add_up_to_the_sites),          TEST(snapshots_of_marks_stay),
      TEST(marks_without_end_leave_room),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
