// SPDX-License-Identifier: Apache-2.0
//
// The run so far: every image that has ended and every living one as it is now. See watch_inside.h.
#include "supervise/watch_inside.h"

#include "base/alloc.h"
#include "observe/host_facts.h"
#include "tide/file.h"

#include <stdlib.h>

struct tide_capture *tide_watch_new_capture(const struct tide_watch *watch, uint64_t now_ns)
{
  struct tide_capture *capture = tide_capture_new_here();
  capture->start_realtime_ns = watch->start_realtime_ns;
  capture->duration_ns = tide_watch_since_origin(watch, now_ns);
  tide_absents_fill(watch->absents, capture->duration_ns, &capture->roll);
  return capture;
}

uint64_t tide_watch_n_cells(const struct tide_watch *watch)
{
  uint64_t n = watch->kept_cells;
  for (size_t i = 0; i < watch->n_living; i++)
    n += watch->living[i]->view.header.n_cells;
  return n;
}

void tide_watch_checkpoint(struct tide_watch *watch)
{
  uint64_t before_ns = tide_monotonic_ns();
  struct tide_capture *capture = tide_watch_new_capture(watch, before_ns);
  struct tide_gallery_entry *more = tide_alloc_array(watch->n_living, sizeof *more);
  size_t n_more = 0;
  for (size_t i = 0; i < watch->n_living && n_more < TIDE_WATCH_MAX_IMAGES; i++) {
    struct tide_watched *w = watch->living[i];
    if (!tide_watched_is_ready(watch, w, before_ns))
      continue;
    more[n_more].number = w->number;
    tide_watched_read(watch, w, before_ns, false, &more[n_more++].image);
  }
  tide_gallery_hang(&watch->gallery, more, n_more, capture);
  bool written = capture->n_images && !tide_file_write(capture, watch->options.output_path, NULL);
  for (size_t i = 0; i < n_more; i++)
    tide_image_done(&more[i].image);
  free(more);
  capture->n_images = 0; // shared with the gallery, or gone
  tide_capture_free(capture);

  const struct tide_watch_options *options = &watch->options;
  tide_pace_note(&watch->pace, before_ns, tide_monotonic_ns(), tide_watch_n_cells(watch));
  if (written && options->checkpointed)
    options->checkpointed(options->context, options->output_path);
}
