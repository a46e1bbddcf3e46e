// SPDX-License-Identifier: Apache-2.0
//
// The tables the fixture is made of. Addresses are chosen so that return address - 1 - bias gives
// the ELF address in the table of names.
#include "indexer_fixture.h"

#include "base/alloc.h"
#include "model/image_sums.h"

#include <string.h>

enum { MIB = 1 << 20, MAIN_BIAS = 0x555555554000, LIBC_BIAS = 0x7ffff7c00000 };
#define SECONDS(s) ((uint64_t)((s)*1e9))

static const struct {
  uint32_t module;
  uint64_t addr;
  struct tide_symbol_frame frames[3];
} names[] = {
    {1, 0x1000, {{"indexer::main", "/home/me/indexer/src/main.rs", 31, false}}},
    {1,
     0x2000,
     {{"alloc::raw_vec::RawVec<T,A>::grow_one", "/rustc/59807/library/alloc/src/raw_vec.rs", 340,
       true},
      {"alloc::vec::Vec<T,A>::push", "/rustc/59807/library/alloc/src/vec/mod.rs", 2442, true},
      {"indexer::postings::Block::push", "/home/me/indexer/src/postings.rs", 88, false}}},
    {1, 0x3000, {{"indexer::dict::Builder::intern", "/home/me/indexer/src/dict.rs", 141, false}}},
    {1,
     0x4000,
     {{"<indexer::stream::Merge<core::iter::Map<std::io::Lines<std::io::BufReader<std::fs::File>>, "
       "indexer::parse::line>> as core::iter::Iterator>::next",
       "/home/me/.cargo/registry/src/index.example-1949cf8c/merge-iter-1.2.0/src/lib.rs", 77,
       false}}},
    {1, 0x5000, {{"plugin::\x1b[31m\"\xff\xfe\\load\n", "/odd/\"dir\"/\xe2\x82.c", 9, false}}},
    {2, 0x100, {{"__libc_start_main", NULL, 0, false}}},
};

static size_t lookup(void *context, uint32_t module, uint64_t addr, struct tide_symbol_frame *out,
                     size_t max)
{
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    size_t n = 0;
    if (names[i].module != module || names[i].addr != addr)
      continue;
    for (; n < 3 && n < max && names[i].frames[n].function; n++)
      out[n] = names[i].frames[n];
    return n;
  }
  return 0;
}

static const struct tide_symbol_object *object(void *context, uint32_t module)
{
  static const struct tide_symbol_object whole = {.opened = true,
                                                  .has_debug_info = true,
                                                  .main_is_made = true,
                                                  .part_note = "indexer lacks lines for some code"};
  static const struct tide_symbol_object bare = {
      .opened = true,
      .note = "libplugin.so has no debug info: names but no lines; build it with -g"};
  return module == 3 ? &bare : &whole;
}

const struct tide_name_source tide_indexer_names = {.lookup = lookup, .object = object};

static const struct tide_module modules[] = {
    {.path = ""},
    {.path = "/home/me/indexer/target/release/indexer",
     .build_id = {0xab, 0xcd, 0xef},
     .build_id_len = 3,
     .start = MAIN_BIAS,
     .end = MAIN_BIAS + 0x10000,
     .bias = MAIN_BIAS},
    {.path = "/lost/lib/libc.so.6",
     .start = LIBC_BIAS,
     .end = LIBC_BIAS + 0x1000,
     .bias = LIBC_BIAS},
    {.path = "/lost/opt/libplugin.so", .start = 0x10000, .end = 0x20000, .bias = 0x10000},
};

static const struct tide_frame frames[] = {
    {0},
    {LIBC_BIAS + 0x101, 0, 2, 0},   // 1 __libc_start_main
    {MAIN_BIAS + 0x1001, 1, 1, 0},  // 2 indexer::main
    {MAIN_BIAS + 0x2001, 2, 1, 0},  // 3 postings::Block::push, two frames inlined
    {MAIN_BIAS + 0x3001, 2, 1, 0},  // 4 dict::Builder::intern
    {MAIN_BIAS + 0x4001, 2, 1, 0},  // 5 a dependency with a long generic name
    {MAIN_BIAS + 0x2001, 5, 1, 0},  // 6 postings::Block::push again, from 5
    {MAIN_BIAS + 0x5000, 2, 1, 1},  // 7 hostile name; an exact address
    {0x10042, 2, 3, 0},             // 8 no name at all, in libplugin.so
    {0, 0, 0, TIDE_FRAME_PAGES},    // 9
    {MAIN_BIAS + 0x1001, 9, 1, 0},  // 10 pages mapped by main
    {0, 0, 0, TIDE_FRAME_LOST},     // 11
    {0x31337, 2, 0, 0},             // 12 unknown code
    {0, 12, 0, TIDE_FRAME_CUT},     // 13 …cut below it
    {MAIN_BIAS + 0x3001, 13, 1, 2}, // 14 dict::Builder::intern, guessed
};

// Thread 1 is the main one; thread 3 frees what others allocated: its rows are negative.
static const struct tide_site sites[] = {
    {.stack = 3,
     .thread = 1,
     .n_alloc = 1000000,
     .b_alloc = 3000ull * MIB,
     .n_free = 960000,
     .b_free = 2870ull * MIB,
     .peak_blocks = 20000,
     .peak_bytes = 150 * MIB,
     .high_bytes = 160 * MIB,
     .life_ns = 960000 * 1000ull,
     .age_ns = SECONDS(40),
     .n_temp = 700000,
     .n_resize = 12000,
     .n_moved = 800,
     .first_ns = SECONDS(0.5),
     .last_ns = SECONDS(8.0)},
    {.stack = 3,
     .thread = 2,
     .n_alloc = 50000,
     .b_alloc = 60 * MIB,
     .peak_blocks = 5000,
     .peak_bytes = 50 * MIB,
     .high_bytes = 60 * MIB,
     .first_ns = SECONDS(0.25),
     .last_ns = SECONDS(7.0)},
    {.stack = 3,
     .thread = 3,
     .n_free = 89990,
     .b_free = 189 * MIB,
     .peak_blocks = -5000,
     .peak_bytes = -10 * MIB,
     .life_ns = 89990 * 2000ull,
     .n_foreign = 89990},
    {.stack = 4,
     .thread = 1,
     .n_alloc = 20000,
     .b_alloc = 200 * MIB,
     .n_free = 19810,
     .b_free = 198 * MIB,
     .peak_blocks = 20000,
     .peak_bytes = 86 * MIB,
     .high_bytes = 90 * MIB,
     .life_ns = SECONDS(10),
     .age_ns = SECONDS(1200),
     .first_ns = SECONDS(1),
     .last_ns = SECONDS(2)},
    {.stack = 5,
     .thread = 1,
     .n_alloc = 13129000,
     .b_alloc = 6500ull * MIB,
     .n_free = 13129000,
     .b_free = 6500ull * MIB,
     .peak_blocks = 1000,
     .peak_bytes = 60 * MIB,
     .high_bytes = 60 * MIB,
     .n_temp = 8000000,
     .first_ns = SECONDS(0.1),
     .last_ns = SECONDS(8.4)},
    {.stack = 6,
     .thread = 1,
     .n_alloc = 100,
     .b_alloc = 64 * MIB,
     .n_free = 100,
     .b_free = 64 * MIB,
     .peak_blocks = 100,
     .peak_bytes = 64 * MIB,
     .high_bytes = 64 * MIB},
    {.stack = 7,
     .thread = 1,
     .n_alloc = 50,
     .b_alloc = 2 * MIB,
     .n_free = 50,
     .b_free = 2 * MIB,
     .peak_blocks = 50,
     .peak_bytes = 2 * MIB,
     .high_bytes = 2 * MIB},
    {.stack = 8,
     .thread = 2,
     .n_alloc = 40,
     .b_alloc = 8 * MIB,
     .n_free = 36,
     .b_free = 8 * MIB - 4096,
     .peak_blocks = 40,
     .peak_bytes = 8 * MIB,
     .high_bytes = 8 * MIB},
    {.stack = 10,
     .thread = 1,
     .n_alloc = 4,
     .b_alloc = 128 * MIB,
     .n_free = 3,
     .b_free = 96 * MIB,
     .peak_bytes = 128 * MIB,
     .peak_blocks = 4,
     .high_bytes = 128 * MIB},
    {.stack = 11,
     .thread = 1,
     .n_alloc = 10,
     .b_alloc = 1 * MIB,
     .n_free = 0,
     .peak_blocks = 10,
     .peak_bytes = 1 * MIB,
     .high_bytes = 1 * MIB},
    {.stack = 14,
     .thread = 1,
     .n_alloc = 4,
     .b_alloc = 1 * MIB,
     .n_free = 4,
     .b_free = 1 * MIB,
     .peak_blocks = 4,
     .peak_bytes = 1 * MIB,
     .high_bytes = 1 * MIB},
};

static const struct tide_thread_row threads[] = {
    {0},
    {.tid = 41307, .n_owners = 1, .name = "indexer"},
    {.tid = 41312, .n_owners = 3, .name = "worker|=1"},
    {.tid = 41309, .n_owners = 1},
};

#define COPY(array, n)                                                                             \
  ((n) = sizeof(array) / sizeof *(array),                                                          \
   memcpy(tide_alloc_array((n), sizeof *(array)), (array), sizeof(array)))

// Sizes and lifetimes of the first three rows, which are those of stack 3.
static void make_buckets(struct tide_image *image)
{
  const uint64_t none[TIDE_LIFE_BUCKETS_N] = {0};
  const uint64_t main_sizes[TIDE_SIZE_BUCKETS_N] = {[8] = 1000000};
  const uint64_t main_lifetimes[TIDE_LIFE_BUCKETS_N] = {[10] = 960000};
  const uint64_t worker_sizes[TIDE_SIZE_BUCKETS_N] = {[8] = 49000, [9] = 1000};
  const uint64_t freed_lifetimes[TIDE_LIFE_BUCKETS_N] = {[11] = 89990};
  tide_site_add_buckets(image, &image->sites[0], main_sizes, main_lifetimes);
  tide_site_add_buckets(image, &image->sites[1], worker_sizes, none);
  tide_site_add_buckets(image, &image->sites[2], none, freed_lifetimes);
}

static void set_command(struct tide_image *image, const char *exe, const char *joined, size_t n)
{
  image->exe = tide_strdup(exe);
  image->cmdline = tide_alloc(n + 1);
  memcpy(image->cmdline, joined, n);
  image->cmdline_len = (uint32_t)n;
  image->allocator = tide_strdup("");
}

// A slow rise to the peak at 6.13 s, then a fall.
static void make_ticks(struct tide_image *image)
{
  image->n_ticks = 85;
  image->ticks = tide_alloc_array(image->n_ticks, sizeof *image->ticks);
  for (size_t i = 0; i < image->n_ticks; i++) {
    int64_t rise = (int64_t)i * 6, fall = i > 61 ? ((int64_t)i - 61) * 16 : 0;
    image->ticks[i] = (struct tide_tick){.time_ns = SECONDS(0.02) + i * 100000000ull,
                                         .live_bytes = (rise - fall) * MIB};
  }
}

static void make_indexer(struct tide_image *image)
{
  set_command(image, "/home/me/indexer/target/release/indexer", "./indexer\0--all\0it's here",
              sizeof "./indexer\0--all\0it's here" - 1);
  image->pid = 41307;
  image->ppid = 41306;
  image->start_ns = SECONDS(0.02);
  image->end_ns = SECONDS(8.44);
  image->end_kind = TIDE_END_EXITED;
  image->peak_bytes = INDEXER_PEAK_BYTES;
  image->peak_blocks = INDEXER_PEAK_BLOCKS;
  image->peak_ns = SECONDS(6.15);
  image->rss_at_peak_bytes = 468 * MIB;
  image->max_rss_bytes = 470 * MIB;
  image->has_resident = image->rss_is_own = true;
  image->max_rss_ns = SECONDS(7.15);
  image->max_rss_live_bytes = 390 * MIB;
  image->recorder_rss_bytes = 61 * MIB;
  image->rss_bound_bytes = 4096;
  image->page_peak_bytes = 128 * MIB;
  image->page_live_bytes = 32 * MIB;
  image->page_n_map = 4;
  image->page_b_map = 128 * MIB;
  image->page_n_unmap = 3;
  image->page_b_unmap = 96 * MIB;
  image->peak_bound_bytes = 206 << 10;
  image->recorder_ns = SECONDS(1.5);
  image->cpu_ns = SECONDS(9);
  image->n_threads = 4;
  image->max_live_threads = 3;
  image->loss.n_cut = 1;
  image->loss.n_lost_full = 10;
  image->loss.n_guessed = 1;
  image->modules = COPY(modules, image->n_modules);
  for (size_t i = 0; i < image->n_modules; i++)
    image->modules[i].path = tide_strdup(modules[i].path);
  image->frames = COPY(frames, image->n_frames);
  image->sites = COPY(sites, image->n_sites);
  make_buckets(image);
  image->threads = COPY(threads, image->n_threads_known);
  make_ticks(image);
}

static void make_shell(struct tide_image *image)
{
  set_command(image, "/usr/bin/dash", "sh\0-c\0./indexer --all",
              sizeof "sh\0-c\0./indexer --all" - 1);
  image->pid = 41306;
  image->ppid = 41200;
  image->end_ns = SECONDS(8.45);
  image->end_kind = TIDE_END_EXITED;
  image->peak_bytes = 3000;
  image->n_modules = 1;
  image->modules = tide_alloc_array(1, sizeof *image->modules);
  image->modules[0].path = tide_strdup("");
  image->n_frames = 1;
  image->frames = tide_alloc_array(1, sizeof *image->frames);
}

struct tide_capture *tide_indexer_capture(void)
{
  struct tide_capture *capture = tide_capture_new();
  capture->tool_version = tide_strdup("0.1.0");
  capture->arch = 1;
  capture->hostname = tide_strdup("here");
  capture->kernel = tide_strdup("Linux 6.1.0");
  capture->duration_ns = SECONDS(8.45);
  capture->finished = true;
  capture->n_images = 2;
  capture->images = tide_alloc_array(2, sizeof *capture->images);
  make_shell(&capture->images[0]);
  make_indexer(&capture->images[INDEXER_IMAGE]);
  capture->roll = (struct tide_roll){.is_known = true, .n_recorded = 2};
  capture->roll.command_pid = capture->images[0].pid;
  return capture;
}

// Live bytes in MiB and blocks of stacks 3, 4, 8, at five moments and at the peak.
static const struct {
  double at_s;
  enum tide_snapshot_kind kind;
  int64_t mib[3], blocks[3];
} moments[] = {
    {1.0, TIDE_SNAPSHOT_TIMED, {20, 2, 0}, {2000, 190, 0}},
    {3.0, TIDE_SNAPSHOT_TIMED, {90, 2, 1}, {9000, 190, 5}},
    {6.15, TIDE_SNAPSHOT_PEAK, {190, 86, 8}, {20000, 20000, 40}},
    {7.0, TIDE_SNAPSHOT_TIMED, {60, 2, 2}, {5000, 190, 10}},
    {8.0, TIDE_SNAPSHOT_TIMED, {30, 2, 2}, {3000, 190, 10}},
    {8.44, TIDE_SNAPSHOT_END, {1, 2, 3}, {10, 190, 15}},
};

void tide_indexer_add_snapshots(struct tide_capture *capture)
{
  static const uint32_t stacks[] = {3, 4, 8};
  struct tide_image *image = &capture->images[INDEXER_IMAGE];
  image->n_snapshots = sizeof moments / sizeof *moments;
  image->snapshots = tide_alloc_array(image->n_snapshots, sizeof *image->snapshots);
  for (size_t i = 0; i < image->n_snapshots; i++) {
    struct tide_snapshot *snapshot = &image->snapshots[i];
    *snapshot = (struct tide_snapshot){SECONDS(moments[i].at_s), moments[i].kind,
                                       tide_alloc_array(3, sizeof *snapshot->rows), 3};
    for (size_t k = 0; k < 3; k++)
      snapshot->rows[k] = (struct tide_snapshot_row){stacks[k], moments[i].mib[k] * MIB,
                                                     moments[i].blocks[k], 0, 0};
  }
}
