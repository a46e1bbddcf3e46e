// SPDX-License-Identifier: Apache-2.0
//
// All that is known of that program: two places, and looks that are evenly spread over its run.
#include "leak_fixture.h"

#include "base/alloc.h"

#include <string.h>

static size_t lookup(void *context, uint32_t module, uint64_t addr, struct tide_symbol_frame *out,
                     size_t max)
{
  static const struct tide_symbol_frame names[] = {{"leaky", "/src/a.c", 11, false},
                                                   {"steady", "/src/a.c", 22, false}};
  if (addr < 1 || addr > 2)
    return 0;
  out[0] = names[addr - 1];
  return 1;
}
static const struct tide_symbol_object *object(void *context, uint32_t module)
{
  return NULL;
}
static const struct tide_name_source names = {.lookup = lookup, .object = object};

struct tide_capture *tide_leaking_capture(int64_t per_look)
{
  struct tide_capture *capture = tide_capture_new();
  capture->images = tide_alloc(sizeof *capture->images);
  capture->n_images = 1;
  capture->finished = true;
  struct tide_image *image = capture->images;
  image->exe = tide_strdup("/src/a");
  image->cmdline = tide_strdup("");
  image->allocator = tide_strdup("");
  image->end_ns = RUN_MS * MS;
  image->end_kind = TIDE_END_EXITED;
  image->has_temp_bytes = image->has_resized_bytes = image->has_counts = true;
  image->modules = tide_alloc_array(2, sizeof *image->modules);
  image->modules[0].path = tide_strdup("");
  image->modules[1] = (struct tide_module){.path = tide_strdup("/src/a"), .end = 4096};
  image->n_modules = 2;
  image->frames = tide_alloc_array(FRAMES, sizeof *image->frames);
  for (uint32_t i = 1; i < FRAMES; i++)
    image->frames[i] = (struct tide_frame){.pc = i + 1, .module = 1}; // a call ends there
  image->n_frames = FRAMES;
  image->threads = tide_alloc_array(2, sizeof *image->threads);
  image->n_threads_known = 2;
  image->threads[1].n_owners = 1;
  image->sites = tide_alloc_array(2, sizeof *image->sites);
  image->n_sites = 2;
  uint64_t n = (uint64_t)per_look * LOOKS;
  image->sites[0] = (struct tide_site){.stack = LEAKY, .thread = 1};
  image->sites[0].n_alloc = n;
  image->sites[0].b_alloc = n * BLOCK;
  image->sites[0].peak_blocks = (int64_t)n;
  image->sites[0].peak_bytes = (int64_t)n * BLOCK;
  image->sites[0].last_ns = RUN_MS * MS;
  image->sites[1] = (struct tide_site){.stack = STEADY, .thread = 1};
  image->sites[1].n_alloc = image->sites[1].n_free = 3 * n;
  image->sites[1].b_alloc = image->sites[1].b_free = 3 * n * BLOCK;
  image->peak_bytes = (int64_t)n * BLOCK;
  image->peak_blocks = (int64_t)n;
  image->snapshots = tide_alloc_array(LOOKS, sizeof *image->snapshots);
  image->ticks = tide_alloc_array(LOOKS, sizeof *image->ticks);
  image->n_snapshots = image->n_ticks = LOOKS;
  for (int i = 0; i < LOOKS; i++) {
    uint64_t at = RUN_MS * MS / LOOKS * (uint64_t)(i + 1);
    int64_t held = per_look * (i + 1);
    image->snapshots[i] =
        (struct tide_snapshot){.time_ns = at, .rows = tide_alloc(sizeof *image->snapshots->rows)};
    image->snapshots[i].rows[0] =
        (struct tide_snapshot_row){LEAKY, held * BLOCK, held, (uint64_t)per_look, BLOCK};
    image->snapshots[i].n_rows = held != 0;
    image->ticks[i] = (struct tide_tick){.time_ns = at,
                                         .live_bytes = held * BLOCK,
                                         .live_blocks = held,
                                         .n_alloc = (uint64_t)held * 4};
  }
  image->snapshots[LOOKS - 1].kind = TIDE_SNAPSHOT_END;
  return capture;
}

struct judged tide_judge(struct tide_capture *capture)
{
  struct judged j = {.capture = capture, .profile = tide_profile_new(capture, 0)};
  j.naming = tide_naming_new_from(capture->images, &names);
  j.findings = tide_findings_new(j.profile, j.naming);
  return j;
}

void tide_judged_done(struct judged *j)
{
  tide_findings_free(j->findings);
  tide_naming_free(j->naming);
  tide_profile_free(j->profile);
  tide_capture_free(j->capture);
}
