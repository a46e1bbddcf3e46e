// SPDX-License-Identifier: Apache-2.0
//
// Both chains in one program, each linked whole: no name is of both (the linker refuses the
// second), and no tag means two things (tools/lint_layers.py compiles all headers as one). Events
// are booked by the recorder's half, and found in the same memory by the half that reads.
#include "observe/store_read.h"
#include "record/host.h"
#include "store/pairs.h"
#include "test_store.h"

#include <stdio.h>

const struct tide_host tide_host = {0}; // nobody boots here

enum { N_BLOCKS = 10, BLOCK_BYTES = 100, N_FREED = 4 };

static void record_some(void)
{
  static struct tide_writer w;
  test_writer_open(&w);
  tide_total_join(&w, 1, 0);
  tide_node_begin();
  uint32_t node = tide_node_get(TIDE_NODE_ROOT_NONE, 1, 0);
  tide_node_end();
  struct tide_cell *cell = tide_writer_cell_new(&w, tide_mix64(1), node);
  for (uint64_t i = 0, at = 0x10000000; i < N_BLOCKS; i++, at += 64)
    if (!tide_pairs_alloc(&w, cell, at, BLOCK_BYTES, 1 << 20))
      abort();
  for (uint64_t i = 0, at = 0x10000000; i < N_FREED; i++, at += 64)
    if (!tide_pairs_free_waiting(&w, at) && !tide_pairs_free_booked(&w, at, 2 << 20))
      abort();
  tide_pairs_settle(&w);
}

static bool is_found(int fd)
{
  struct tide_store_view view;
  struct tide_image image;
  struct tide_clock clock = {.ns_per_tick = 1};
  if (tide_store_view_open(&view, fd, NULL) || tide_store_view_refresh(&view, NULL))
    abort();
  tide_store_read_image(&view, &clock, 3 << 20, &image);
  bool is_good = image.n_sites == 1 && image.sites[0].n_alloc == N_BLOCKS &&
                 image.sites[0].b_alloc == N_BLOCKS * BLOCK_BYTES &&
                 image.sites[0].n_free == N_FREED;
  printf("%zu sites, %s\n", (size_t)image.n_sites, is_good ? "as recorded" : "not as recorded");
  tide_image_done(&image);
  tide_store_view_close(&view);
  return is_good;
}

int main(void)
{
  int fd = test_store_open_shared(0);
  test_live_init();
  record_some();
  return is_found(fd) ? 0 : 1;
}
