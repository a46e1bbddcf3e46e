// SPDX-License-Identifier: Apache-2.0
//
// A store with random bytes changed, cut at random, or of nothing but noise: reading it may fail,
// but must not crash, hang, or give an image that contradicts itself. Meant for the sanitizers.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "fake_store.h"
#include "observe/sample.h"
#include "observe/store_read.h"
#include "tide/format.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ROUNDS 1500

static uint64_t seed;

static uint64_t next_random(void)
{
  seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return seed >> 20;
}

static int make_fd(void)
{
  int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  assert_int_equal(ftruncate(fd, FAKE_STORE_BYTES), 0);
  return fd;
}

// A small program's store: three threads, a few dozen stacks, both kinds of roots.
static void populate(struct fake_store *store)
{
  uint32_t module = fake_store_module(store, "/bin/fake", 0x400000, 0x500000);
  uint32_t stacks[40], slots[3];
  for (uint32_t i = 0; i < 3; i++)
    slots[i] = fake_store_slot(store, 100 + i, "worker");
  for (uint32_t i = 0; i < 40; i++)
    stacks[i] = fake_store_node(store, (uint64_t)module << 48 | (0x400000 + i * 16),
                                i < 3 ? i : stacks[i / 2], 0);
  for (uint32_t i = 0; i < 90; i++) {
    struct tide_cell *cell = fake_store_cell(store, stacks[i % 40], slots[i % 3]);
    for (uint32_t k = 0; k < 5; k++)
      fake_store_alloc(store, cell, 16 + next_random() % 1000);
    store->hists[cell - store->cells].size[3] = 5;
    store->owners[cell - store->cells].t_first = 1000 + i;
    cell->t_last = 2000 + i;
  }
}

static char *path_of(int fd, char *path, size_t n)
{
  snprintf(path, n, "/proc/self/fd/%d", fd);
  return path;
}

// Reads the store both ways there are: as a file, and as the supervisor does while it grows.
static void read_both_ways(int fd)
{
  char path[64];
  struct tide_capture *capture = NULL;
  struct tide_diag diag = {0};
  if (!tide_store_file_read(path_of(fd, path, sizeof path), &capture, &diag)) {
    if (tide_capture_check(capture, &diag))
      fail_msg("%s", diag.text);
    tide_capture_free(capture);
  } else {
    assert_true(diag.text[0]);
  }
  struct tide_store_view view;
  assert_int_equal(tide_store_view_open(&view, dup(fd), &diag), TIDE_ERR_OK);
  if (!tide_store_view_refresh(&view, &diag)) {
    struct tide_sampler sampler;
    tide_sampler_init(&sampler, 0, 0);
    tide_sampler_look(&sampler, &view, 1000000, 1);
    tide_sampler_look(&sampler, &view, UINT64_C(10000000000), 1);
    struct tide_clock clock = {1000, 0, 5.3};
    capture = tide_capture_new();
    capture->images = calloc(1, sizeof *capture->images);
    capture->n_images = 1;
    tide_store_read_image(&view, &clock, 0, capture->images);
    capture->images->end_ns = capture->images->start_ns + UINT64_C(20000000000);
    tide_sampler_finish(&sampler, &view);
    tide_sampler_fill_image(&sampler, capture->images, false);
    if (tide_capture_check(capture, &diag))
      fail_msg("%s", diag.text);
    tide_capture_free(capture);
    tide_sampler_done(&sampler);
  }
  tide_store_view_close(&view);
}

// Where damage hurts: mostly in the header and the tables in use, sometimes anywhere.
static uint64_t place_to_hit(const struct tide_store_header *h)
{
  switch (next_random() % 8) {
  case 0:
  case 1: return next_random() % sizeof *h;
  case 2: return h->areas.owners.offset + next_random() % (200 * sizeof(struct tide_owner));
  case 3: return h->areas.nodes.offset + next_random() % (60 * sizeof(struct tide_node));
  case 4: return h->areas.modules.offset + next_random() % (4 * sizeof(struct tide_store_module));
  case 5: return h->areas.cells.offset + next_random() % (200 * sizeof(struct tide_cell));
  case 6: return h->areas.ends.offset + next_random() % (200 * sizeof(struct tide_ends));
  default: return next_random() % FAKE_STORE_BYTES;
  }
}

static void damaged_bytes(void **state)
{
  for (seed = 1; seed < ROUNDS; seed++) {
    uint64_t round = seed;
    int fd = make_fd();
    struct fake_store store;
    fake_store_map(&store, fd);
    populate(&store);
    struct tide_store_header good = *store.header;
    for (uint64_t hits = 1 + next_random() % 24; hits > 0; hits--) {
      uint64_t at = place_to_hit(&good);
      store.base[at] = next_random() % 3 ? (char)next_random() : (char)0xff;
    }
    // Half of the time the front door stays intact, so that the damage behind it is met.
    if (next_random() % 2) {
      memcpy(store.header->magic, good.magic,
             offsetof(struct tide_store_header, pid) - offsetof(struct tide_store_header, magic));
      store.header->areas = good.areas;
      store.header->state = good.state;
    }
    read_both_ways(fd);
    fake_store_unmap(&store);
    close(fd);
    seed = round;
  }
}

static void cut_anywhere(void **state)
{
  for (seed = 1; seed < 200; seed++) {
    uint64_t round = seed;
    int fd = make_fd();
    struct fake_store store;
    fake_store_map(&store, fd);
    populate(&store);
    fake_store_unmap(&store);
    assert_int_equal(ftruncate(fd, (off_t)(next_random() % FAKE_STORE_BYTES)), 0);
    read_both_ways(fd);
    close(fd);
    seed = round;
  }
}

// The file shrinks after its header was believed.
static void cut_while_it_is_read(void **state)
{
  int fd = make_fd();
  struct fake_store store;
  fake_store_map(&store, fd);
  populate(&store);
  fake_store_unmap(&store);
  struct tide_store_view view;
  struct tide_image image;
  assert_int_equal(tide_store_view_open(&view, fd, NULL), TIDE_ERR_OK);
  assert_int_equal(tide_store_view_refresh(&view, NULL), TIDE_ERR_OK);
  assert_int_equal(ftruncate(fd, 8192), 0);
  struct tide_clock clock = {1000, 0, 5.3};
  tide_store_read_image(&view, &clock, 0, &image);
  assert_int_equal(image.n_sites, 0);
  tide_image_done(&image);
  tide_store_view_close(&view);
}

static void counts_beyond_the_tables(void **state)
{
  int fd = make_fd();
  struct fake_store store;
  fake_store_map(&store, fd);
  populate(&store);
  store.header->n_cells = store.header->n_nodes = UINT32_MAX;
  store.header->n_slots = store.header->n_modules = UINT32_MAX;
  store.header->cmdline_bytes = UINT32_MAX;
  store.header->exe = UINT32_MAX;
  store.header->stamp.epoch = store.header->stamp.interval = UINT32_MAX;
  store.header->max_bytes = INT64_MIN;
  store.header->live_bytes = INT64_MAX;
  store.header->ceiling = INT64_MAX;
  store.slots[1].held = INT64_MAX;
  read_both_ways(fd);
  fake_store_unmap(&store);
  close(fd);
}

// Closings and late frees of all kinds, in a store that the supervisor writes as well.
static void broken_intervals_are_harmless(void **state)
{
  for (int round = 0; round < 60; round++) {
    int fd = make_fd();
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    struct fake_store store;
    fake_store_map(&store, fd);
    populate(&store);
    struct tide_store_header *h = store.header;
    h->late_end = round % 3 ? (uint32_t)h->areas.lates.capacity : UINT32_MAX;
    h->stamp.interval = round % 5 ? 1 + (uint32_t)next_random() % 4096 : (uint32_t)next_random();
    for (uint32_t i = 0; i < h->n_cells; i++) {
      store.cells[i].stamp.interval = (uint32_t)next_random() % 5;
      if (next_random() % 8 == 0) // a single, and what none could be
        store.cells[i].stamp.interval = (uint32_t)next_random() | TIDE_SINGLE;
      for (int k = 0; k < 2; k++)
        store.pasts[i].closings[k] = (struct tide_closing){
            next_random() % 8,           next_random(),
            next_random() % 8,           next_random() << (next_random() % 64),
            (uint32_t)next_random() % 5, 0};
    }
    for (uint64_t i = 0; i < h->areas.lates.capacity; i++) {
      struct tide_late_chunk *chunk = &store.lates[i];
      chunk->state = (uint32_t)next_random() % 4;
      chunk->interval = (uint32_t)next_random() % 6;
      chunk->n_rows = next_random() % 4 ? (uint32_t)next_random() % 200 : UINT32_MAX;
      for (int k = 0; k < TIDE_LATE_ROWS; k++)
        chunk->rows[k] = (struct tide_late_row){
            TIDE_LATE_KEY(next_random() % (h->n_cells + 9ull), next_random() % 5),
            next_random() % 9, next_random() << (next_random() % 64)};
    }
    read_both_ways(fd);
    fake_store_unmap(&store);
    close(fd);
  }
}

UNIT_TESTS(store_hostile_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(damaged_bytes),
      cmocka_unit_test(cut_anywhere),
      cmocka_unit_test(cut_while_it_is_read),
      cmocka_unit_test(counts_beyond_the_tables),
      cmocka_unit_test(broken_intervals_are_harmless),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
