// SPDX-License-Identifier: Apache-2.0
//
// What a store says of its process as a whole: who it is, what was lost of it, when recording was
// switched, marked and reset.
#include "observe/store_read.h"

#include "base/alloc.h"
#include "observe/before.h"
#include "observe/store_reading.h"
#include "observe/switches.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PATH_BYTES 4096u

// What could not be hooked of libraries that were loaded while it ran, or that nobody looked: NULL
// where all was seen to.
static char *missed_later(const struct tide_store_header *h)
{
  char text[sizeof h->objects_missed + 1] = {0};
  if (!(h->flags & TIDE_STORE_AGENT))
    return NULL;
  memcpy(text, h->objects_missed, sizeof h->objects_missed);
  return text[0] || h->objects_changed != h->objects_answered ? tide_strdup(text) : NULL;
}

static char *optional_text(struct tide_store_view *view, uint64_t at)
{
  return at && at < view->areas.text.capacity
             ? tide_store_view_text(view, (uint32_t)at, MAX_PATH_BYTES)
             : NULL;
}

// A time of CLOCK_MONOTONIC on the capture's clock; before the image began, its beginning.
static uint64_t outside_ns(const struct tide_reading *r, uint64_t monotonic_ns)
{
  uint64_t start_ns = r->view->header.start_monotonic_ns;
  return r->image->start_ns + (monotonic_ns > start_ns ? monotonic_ns - start_ns : 0);
}

static void read_moments(struct tide_reading *r)
{
  struct tide_store_view *view = r->view;
  struct tide_image *image = r->image;
  uint64_t n = view->header.switches.n_moments, last_ns = 0;
  n = n < view->areas.moments.capacity ? n : view->areas.moments.capacity;
  n = n < TIDE_MOMENTS ? n : TIDE_MOMENTS;
  TIDE_CLEANUP_FREE struct tide_store_moment *rows = tide_alloc_array(n + 1, sizeof *rows);
  tide_store_view_items(view, &view->areas.moments, sizeof *rows, 0, rows, n);
  image->marks = tide_alloc_array(n + 1, sizeof *image->marks);
  for (uint64_t i = 0; i < n; i++) {
    uint64_t time_ns = outside_ns(r, rows[i].time_ns);
    if (!rows[i].name[0] || time_ns < last_ns)
      continue;
    image->marks[image->n_marks++] =
        (struct tide_mark){time_ns, tide_strndup(rows[i].name, sizeof rows[i].name)};
    last_ns = time_ns;
  }
}

// Of pauses, those since the reset. What was allocated in earlier ones may live yet: as of a
// process that was attached to, nobody knows.
static void begin_pauses_with_reset(struct tide_reading *r)
{
  const struct tide_before *before = r->view->before;
  const struct tide_store_switches *had = &before->header.switches, *s = &r->view->header.switches;
  struct tide_image *image = r->image;
  bool was_paused = before->header.paused;
  bool goes_on = was_paused && image->is_paused && s->n_pauses == had->n_pauses;
  uint32_t n_had = had->n_pauses ? had->n_pauses : was_paused;
  if (n_had)
    image->lacks |= TIDE_LACK_BEFORE;
  image->n_pauses = (uint32_t)tide_more_than(image->n_pauses, n_had) + was_paused;
  image->paused_ns = tide_more_than(image->paused_ns, had->paused_ns);
  if (was_paused && !goes_on) // its beginning
    image->paused_ns =
        tide_more_than(image->paused_ns, tide_more_than(before->time_ns, had->paused_since_ns));
  if (goes_on && image->paused_from_ns < image->start_ns)
    image->paused_from_ns = image->start_ns;
}

// The numbers begin with the reset, and so does the image. What was lost before makes doubtful what
// is live, and stays told; so does what recording cost.
static void begin_with_reset(struct tide_reading *r)
{
  const struct tide_before *before = r->view->before;
  struct tide_image *image = r->image;
  size_t n = 0;
  image->is_reset = before;
  if (!before)
    return;
  const struct tide_store_header *had = &before->header;
  uint64_t reset_ns = outside_ns(r, before->time_ns);
  image->start_ns = reset_ns > image->start_ns ? reset_ns : image->start_ns;
  begin_pauses_with_reset(r);
  for (size_t i = 0; i < image->n_marks; i++) {
    if (image->marks[i].time_ns >= image->start_ns)
      image->marks[n++] = image->marks[i];
    else
      free(image->marks[i].name);
  }
  image->n_marks = n;
  image->page_n_map = tide_more_than(image->page_n_map, had->page_n_map);
  image->page_b_map = tide_more_than(image->page_b_map, had->page_b_map);
  image->page_n_unmap = tide_more_than(image->page_n_unmap, had->page_n_unmap);
  image->page_b_unmap = tide_more_than(image->page_b_unmap, had->page_b_unmap);
  image->loss.n_unknown_free = tide_more_than(image->loss.n_unknown_free, had->n_unknown_free);
  image->loss.n_failed = tide_more_than(image->loss.n_failed, had->n_failed);
}

static void read_switches(struct tide_reading *r)
{
  const struct tide_store_header *h = &r->view->header;
  const struct tide_store_switches *s = &h->switches;
  struct tide_image *image = r->image;
  image->is_paused = h->paused;
  image->n_pauses = h->paused && !s->n_pauses ? 1 : s->n_pauses;
  image->paused_ns = s->paused_ns;
  image->paused_from_ns = h->paused ? outside_ns(r, s->paused_since_ns) : 0;
  read_moments(r);
}

void tide_reading_facts(struct tide_reading *r)
{
  struct tide_store_view *view = r->view;
  const struct tide_store_header *h = &view->header;
  struct tide_image *image = r->image;
  image->pid = h->pid;
  image->ppid = h->ppid;
  image->exe = tide_store_view_text(view, h->exe, MAX_PATH_BYTES);
  image->allocator =
      h->allocator ? tide_store_view_text(view, h->allocator, MAX_PATH_BYTES) : tide_strdup("");
  uint64_t text_left =
      h->cmdline < view->areas.text.capacity ? view->areas.text.capacity - h->cmdline : 0;
  uint32_t n = h->cmdline_bytes < text_left ? h->cmdline_bytes : (uint32_t)text_left;
  n = n < (1u << 20) ? n : 1u << 20;
  image->cmdline = tide_alloc(n + 1);
  tide_store_view_items(view, &view->areas.text, 1, h->cmdline, image->cmdline, n);
  image->cmdline_len = n;
  image->start_ns = tide_clock_time_ns(r->clock, h->start_ticks);
  image->inherited_bytes = h->inherited_bytes;
  image->by_fork = h->flags & TIDE_STORE_FORKED;
  image->by_agent = h->flags & TIDE_STORE_AGENT;
  image->missed_later = missed_later(h);
  image->unhooked = optional_text(view, h->unhooked);
  image->refused = optional_text(view, h->refused);
  image->lacks |= h->flags & TIDE_STORE_PARTLY ? TIDE_LACK_UNHOOKED : 0;
  image->off_reason = h->state == TIDE_STATE_OFF ? h->off_reason : TIDE_OFF_NONE;
  read_switches(r);
  image->page_live_bytes = h->page_live_bytes;
  image->page_peak_bytes =
      h->page_max_bytes > h->page_live_bytes ? h->page_max_bytes : h->page_live_bytes;
  image->page_n_map = h->page_n_map;
  image->page_b_map = h->page_b_map;
  image->page_n_unmap = h->page_n_unmap;
  image->page_b_unmap = h->page_b_unmap;
  image->cpu_ns = h->cpu_ns;
  image->n_threads = h->n_threads;
  image->max_live_threads = h->max_live_threads;
  image->depth_limit = h->depth_limit;
#define TIDE_NUMBER_SINCE(flag, ...) image->flag = true;
#define TIDE_NUMBER_WHERE(flag, ...) image->flag = h->sample_bits;
#include "model/numbers.def"
  if (h->sample_bits) {
    const struct tide_store_switches *s = &h->switches;
    uint32_t bits = s->sample_most_bits > h->sample_bits ? s->sample_most_bits : h->sample_bits;
    image->sampled_every_bytes = 1ull << (bits % 64);
    image->is_resampled = s->sample_most_bits != 0;
    image->sampled_now_bytes = image->is_resampled ? 1ull << (tide_switch_sample_bits(h) % 64) : 0;
    image->has_samples = image->has_spreads = image->sampled_every_bytes > TIDE_SAMPLED_SOMEHOW;
    image->has_touches = false;
    image->lacks |= TIDE_LACK_TEMP | TIDE_LACK_RESIZES | TIDE_LACK_THREADS;
  }

  _Static_assert(TIDE_SIZE_BUCKETS == TIDE_SIZE_BUCKETS_N, "sizes are copied class by class");
  _Static_assert(TIDE_LIFE_BUCKETS <= TIDE_LIFE_BUCKETS_N, "lifetimes find a class");
  struct tide_store_children children;
  tide_store_view_items(view, &view->areas.children, sizeof children, 0, &children, 1);
  image->loss = (struct tide_loss){
      .n_unknown_free = h->n_unknown_free,
      .n_lost_busy = h->n_lost_busy,
      .n_lost_full = h->n_lost_full,
      .n_cut = h->n_cut,
      .n_broken = h->n_broken,
      .n_guessed = h->n_guessed,
      .n_fork_lost = children.n_lost,
      .n_failed = h->n_failed,
  };
  begin_with_reset(r);
}

void tide_image_end_pause(struct tide_image *image)
{
  uint64_t all_ns = image->end_ns > image->start_ns ? image->end_ns - image->start_ns : 0;
  if (image->is_paused && image->end_ns > image->paused_from_ns)
    image->paused_ns += image->end_ns - image->paused_from_ns;
  image->paused_from_ns = image->end_ns;
  if (image->paused_ns > all_ns)
    image->paused_ns = all_ns;
}
