// SPDX-License-Identifier: Apache-2.0
//
// What the page is told of all process images of a capture together, before it asks for the data of
// one: which came from which, and what each held over the time of them all. The time is cut into
// steps of equal length, and what is told is the heap at the end of each, so that sums over images
// are what they held at one moment.
#include "page/page_data.h"

enum { STEPS = 120 };

struct span {
  uint64_t from_ns, to_ns;
};

static bool has_clock(const struct tide_image *image)
{
  return !(image->lacks & TIDE_LACK_CLOCK) && image->end_ns >= image->start_ns;
}

static struct span span_of(const struct tide_capture *capture)
{
  struct span span = {UINT64_MAX, 0};
  for (size_t i = 0; i < capture->n_images; i++) {
    const struct tide_image *image = &capture->images[i];
    if (!has_clock(image))
      continue;
    span.from_ns = image->start_ns < span.from_ns ? image->start_ns : span.from_ns;
    span.to_ns = image->end_ns > span.to_ns ? image->end_ns : span.to_ns;
  }
  return span;
}

static uint64_t step_end(const struct span *span, size_t step)
{
  return span->from_ns + (span->to_ns - span->from_ns) / STEPS * (step + 1);
}

// Its first step, and what it held at the end of each in which it still ran.
static void write_course(struct tide_json *json, const struct tide_image *image,
                         const struct span *span)
{
  size_t tick = 0, step = 0;
  tide_json_open_array(json);
  while (step < STEPS && step_end(span, step) < image->start_ns)
    step++;
  tide_json_u64(json, step);
  for (; step < STEPS && step_end(span, step) <= image->end_ns; step++) {
    while (tick < image->n_ticks && image->ticks[tick].time_ns <= step_end(span, step))
      tick++;
    tide_json_i64(json, tick ? image->ticks[tick - 1].live_bytes : 0);
  }
  tide_json_close_array(json);
}

void tide_page_processes_write(struct tide_json *json, const struct tide_capture *capture)
{
  const struct span span = span_of(capture);
  tide_json_key(json, "processes");
  tide_json_open_object(json);
  tide_json_put_u64(json, "steps", STEPS);
  tide_json_key(json, "parents");
  tide_json_open_array(json);
  for (size_t i = 0; i < capture->n_images; i++)
    tide_json_i64(json, (int64_t)capture->images[i].parent_image - 1);
  tide_json_close_array(json);
  tide_json_key(json, "courses");
  tide_json_open_array(json);
  for (size_t i = 0; i < capture->n_images; i++) {
    const struct tide_image *image = &capture->images[i];
    if (has_clock(image) && span.to_ns > span.from_ns)
      write_course(json, image, &span);
    else
      tide_json_text(json, NULL);
  }
  tide_json_close_array(json);
  tide_json_close_object(json);
}
