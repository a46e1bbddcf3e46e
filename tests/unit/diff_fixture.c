// SPDX-License-Identifier: Apache-2.0
//
// The second recording is the first one moved: every address by MOVED, every line by SHIFTED.
#include "diff_fixture.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { MOVED = 0x7000, SHIFTED = 12, NEW_ADDR = 0x6000, PLUGIN = 3, MIB = 1 << 20 };

static const struct {
  const char *before, *after;
} moved_files[] = {
    {"/home/me/indexer/src/main.rs", "/build/1.1/indexer/src/main.rs"},
    {"/home/me/indexer/src/postings.rs", "/build/1.1/indexer/src/postings.rs"},
    {"/home/me/indexer/src/dict.rs", "/build/1.1/indexer/src/dict.rs"},
};

static size_t lookup(void *context, uint32_t module, uint64_t addr, struct tide_symbol_frame *out,
                     size_t max)
{
  static const struct tide_symbol_frame added = {"indexer::cache::Cache::fill",
                                                 "/build/1.1/indexer/src/cache.rs", 21, false};
  if (module == 1 && addr == NEW_ADDR) {
    out[0] = added;
    return 1;
  }
  size_t n = tide_indexer_names.lookup(context, module, addr, out, max);
  for (size_t i = 0; i < n; i++) {
    if (out[i].line)
      out[i].line += SHIFTED;
    for (size_t k = 0; k < sizeof moved_files / sizeof *moved_files; k++)
      if (out[i].file && strcmp(out[i].file, moved_files[k].before) == 0)
        out[i].file = moved_files[k].after;
  }
  return n;
}

static const struct tide_symbol_object *object(void *context, uint32_t module)
{
  return tide_indexer_names.object(context, module);
}

const struct tide_name_source tide_indexer_again_names = {.lookup = lookup, .object = object};

static void move(struct tide_image *image)
{
  for (size_t i = 1; i < image->n_modules; i++) {
    image->modules[i].start += MOVED;
    image->modules[i].end += MOVED;
    image->modules[i].bias += MOVED;
  }
  for (size_t i = 1; i < image->n_frames; i++)
    if (image->frames[i].module)
      image->frames[i].pc += MOVED;
  image->modules[1].build_id[0] ^= 0xff;
}

static struct tide_site *site_of(struct tide_image *image, uint32_t stack)
{
  for (size_t i = 0; i < image->n_sites; i++)
    if (image->sites[i].stack == stack)
      return &image->sites[i];
  abort();
}

static void add_bytes(struct tide_image *image, uint32_t stack, int64_t bytes, int64_t blocks)
{
  struct tide_site *site = site_of(image, stack);
  site->peak_bytes += bytes;
  site->peak_blocks += blocks;
  image->peak_bytes += bytes;
  image->peak_blocks += blocks;
}

static void drop(struct tide_image *image, uint32_t stack)
{
  struct tide_site *site = site_of(image, stack);
  add_bytes(image, stack, -site->peak_bytes, -site->peak_blocks);
  size_t after = (size_t)(image->sites + image->n_sites - site) - 1;
  memmove(site, site + 1, after * sizeof *site);
  image->n_sites--;
}

// A place of its own, called by the main function.
static void add_site(struct tide_image *image)
{
  size_t node = image->n_frames++;
  image->frames = tide_realloc_array(image->frames, image->n_frames, sizeof *image->frames);
  image->frames[node] =
      (struct tide_frame){image->modules[1].bias + NEW_ADDR + 1, .parent = 2, .module = 1};
  size_t n = image->n_sites++;
  image->sites = tide_realloc_array(image->sites, image->n_sites, sizeof *image->sites);
  image->sites[n] = (struct tide_site){.stack = (uint32_t)node,
                                       .thread = 1,
                                       .n_alloc = 7,
                                       .b_alloc = AGAIN_NEW_BYTES,
                                       .n_free = 7,
                                       .b_free = AGAIN_NEW_BYTES};
  add_bytes(image, (uint32_t)node, AGAIN_NEW_BYTES, 7);
}

struct tide_capture *tide_indexer_again(void)
{
  struct tide_capture *capture = tide_indexer_capture();
  struct tide_image *image = &capture->images[INDEXER_IMAGE];
  move(image);
  add_bytes(image, 3, AGAIN_PUSH_BYTES, 300);
  add_bytes(image, 4, -AGAIN_INTERN_BYTES, -200);
  drop(image, 5);
  add_site(image);
  return capture;
}
