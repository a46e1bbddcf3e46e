// SPDX-License-Identifier: Apache-2.0
//
// One row for a stack and a thread.
#include "model/events.h"

#include "base/alloc.h"
#include "model/capture.h"
#include "model/columns.h"
#include "model/rows.h"

#include <stdlib.h>

static int by_stack_and_thread(const void *left, const void *right)
{
  const struct tide_event_row *a = left, *b = right;
  if (a->stack != b->stack)
    return a->stack < b->stack ? -1 : 1;
  return (a->thread > b->thread) - (a->thread < b->thread);
}

static void add_row(struct tide_event_row *sum, const struct tide_event_row *row)
{
  sum->n += row->n;
  sum->weight += row->weight;
  sum->first_ns = row->first_ns < sum->first_ns ? row->first_ns : sum->first_ns;
  sum->last_ns = row->last_ns > sum->last_ns ? row->last_ns : sum->last_ns;
}

void tide_image_set_events(struct tide_image *image, struct tide_event_row *rows, size_t n)
{
  size_t kept = 0;
  if (n)
    qsort(rows, n, sizeof *rows, by_stack_and_thread);
  for (size_t i = 0; i < n; i++) {
    if (kept && by_stack_and_thread(&rows[kept - 1], &rows[i]) == 0)
      add_row(&rows[kept - 1], &rows[i]);
    else
      rows[kept++] = rows[i];
  }
  free(image->events);
  image->events = rows;
  image->n_events = kept;
}

struct tide_event_sum tide_image_event_sum(const struct tide_image *image)
{
  struct tide_event_sum sum = {0};
  for (size_t i = 0; i < image->n_events; i++) {
    sum.n += image->events[i].n;
    sum.weight += image->events[i].weight;
  }
  return sum;
}

// ---- in place of the heap ----

static void drop_course(struct tide_image *image)
{
  for (size_t i = 0; i < image->n_snapshots; i++)
    tide_snapshot_done(&image->snapshots[i]);
  free(image->snapshots);
  free(image->late_frees);
  tide_image_drop_held(image);
  free(image->ticks);
  image->snapshots = NULL;
  image->late_frees = NULL;
  image->ticks = NULL;
  image->n_snapshots = image->n_late_frees = image->n_ticks = 0;
  image->has_late_frees = image->has_counts = image->has_tick_resizes = false;
}

static void drop_memory(struct tide_image *image)
{
  for (size_t i = 0; i < image->n_residences; i++)
    tide_residence_done(&image->residences[i]);
  free(image->residences);
  free(image->allocators);
  free(image->rss_kinds);
  image->rss_kinds = NULL;
  image->n_rss_kinds = 0;
  image->residences = NULL;
  image->allocators = NULL;
  image->n_residences = image->n_allocators = 0;
  image->has_allocators = image->has_resident = false;
  image->max_rss_bytes = image->rss_at_peak_bytes = image->recorder_rss_bytes = 0;
  image->untouched_bytes = image->swapped_bytes = 0;
  image->page_live_bytes = image->page_peak_bytes = 0;
  image->page_n_map = image->page_b_map = image->page_n_unmap = image->page_b_unmap = 0;
}

static void drop_heap(struct tide_image *image)
{
  free(image->sites);
  tide_columns_free(image->packed_sites);
  free(image->counts.items);
  image->sites = NULL;
  image->packed_sites = NULL;
  image->counts = (struct tide_counts){0};
  image->n_sites = 0;
  image->peak_bytes = image->peak_blocks = 0;
  image->peak_bound_bytes = 0;
  image->sampled_every_bytes = 0; // all events were counted
  image->is_resampled = false;
}

static void show_events(struct tide_image *image)
{
  drop_course(image);
  drop_memory(image);
  drop_heap(image);
  image->of_events = true;
  image->lacks |= TIDE_LACK_PEAK | TIDE_LACK_LIVE | TIDE_LACK_TEMP | TIDE_LACK_LIFETIMES |
                  TIDE_LACK_LIFE_HIST | TIDE_LACK_SIZE_HIST | TIDE_LACK_RESIZES;
  image->sites = tide_alloc_array(image->n_events, sizeof *image->sites);
  image->n_sites = image->n_events;
  for (size_t i = 0; i < image->n_events; i++) {
    const struct tide_event_row *row = &image->events[i];
    image->sites[i] = (struct tide_site){.stack = row->stack,
                                         .thread = row->thread,
                                         .n_alloc = row->n,
                                         .b_alloc = row->weight,
                                         .first_ns = row->first_ns,
                                         .last_ns = row->last_ns};
  }
}

bool tide_capture_show_events(struct tide_capture *capture)
{
  bool any = false;
  for (size_t i = 0; i < capture->n_images; i++)
    any |= capture->images[i].n_events > 0;
  for (size_t i = 0; any && i < capture->n_images; i++)
    show_events(&capture->images[i]);
  return any;
}
