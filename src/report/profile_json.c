// SPDX-License-Identifier: Apache-2.0
//
// The facts of a profile, section by section in the order of tidemark-report-1.
#include "report/profile_json.h"

#include "report/exactness_json.h"
#include "report/image_json.h"
#include "report/lacking.h"
#include "report/numbers_json.h"

static void write_capture(struct tide_json *json, const struct tide_profile *profile,
                          const char *file)
{
  tide_json_key(json, "capture");
  tide_json_open_object(json);
  tide_capture_json_facts(json, profile->capture, file, tide_profile_is_complete(profile));
  tide_capture_json_cost(json, profile->capture);
  tide_json_close_object(json);
}

static void write_image(struct tide_json *json, const struct tide_profile *profile)
{
  const struct tide_image *image = profile->image;
  tide_json_key(json, "image");
  tide_json_open_object(json);
  tide_json_put_u64(json, "index", profile->image_idx);
  tide_image_json_identity(json, image);
  tide_json_put_text(json, "allocator", image->allocator ? image->allocator : "");
  tide_json_put_u64(json, "off_reason", image->off_reason);
  tide_json_put_u64(json, "threads", image->n_threads);
  tide_json_put_u64(json, "max_live_threads", image->max_live_threads);
  tide_json_put_u64(json, "inherited_bytes", image->inherited_bytes);
  tide_json_close_object(json);
}

void tide_capture_json_images(struct tide_json *json, const struct tide_capture *capture)
{
  bool (*is_absent)(uint32_t, const char *) = json->is_absent;
  uint32_t absent = json->absent;
  tide_json_key(json, "images");
  tide_json_open_array(json);
  for (size_t i = 0; i < capture->n_images; i++) {
    const struct tide_image *image = &capture->images[i];
    tide_lacking_leave_out(json, image); // each its own
    tide_json_open_object(json);
    tide_json_put_u64(json, "index", i);
    tide_image_json_identity(json, image);
    tide_json_put_i64(json, "peak_bytes", image->peak_bytes);
    tide_exactness_json_of(json, "peak_exactness", image, TIDE_FIGURE_PEAK);
    tide_json_put_u64(json, "allocations", tide_profile_allocations(image));
    tide_json_close_object(json);
  }
  tide_json_close_array(json);
  json->is_absent = is_absent;
  json->absent = absent;
}

// Another tool's format says nothing of these: 0 is not known then.
static void put_known(struct tide_json *json, const struct tide_image *image, const char *key,
                      uint64_t value)
{
  if (value || !image->origin)
    tide_json_put_u64(json, key, value);
}

static void write_totals(struct tide_json *json, const struct tide_profile *profile)
{
  const struct tide_image *image = profile->image;
  tide_json_key(json, "totals");
  tide_json_open_object(json);
  tide_totals_json(json, image, &profile->totals);
  tide_json_put_i64(json, "peak_bytes", image->peak_bytes);
  tide_json_put_i64(json, "peak_blocks", image->peak_blocks);
  tide_json_put_u64(json, "peak_ns", image->peak_ns);
  tide_json_put_u64(json, "peak_bound_bytes", image->peak_bound_bytes);
  tide_image_json_resident(json, image);
  put_known(json, image, "recorder_ns", image->recorder_ns);
  put_known(json, image, "cpu_ns", image->cpu_ns);
  tide_json_close_object(json);
}

void tide_json_mean_life(struct tide_json *json, uint64_t life_ns, uint64_t n_ended)
{
  if (n_ended)
    tide_json_put_u64(json, "mean_life_ns", life_ns / n_ended);
  else
    tide_json_put_text(json, "mean_life_ns", NULL);
}

void tide_json_mean_age(struct tide_json *json, int64_t age_ns, int64_t live_blocks)
{
  uint64_t mean_ns = tide_mean_age_ns(age_ns, live_blocks);
  if (mean_ns)
    tide_json_put_u64(json, "mean_age_ns", mean_ns);
  else
    tide_json_put_text(json, "mean_age_ns", NULL);
}

static void write_pages(struct tide_json *json, const struct tide_image *image)
{
  tide_json_key(json, "pages");
  tide_json_open_object(json);
  put_known(json, image, "maps", image->page_n_map);
  put_known(json, image, "mapped_bytes", image->page_b_map);
  put_known(json, image, "unmaps", image->page_n_unmap);
  put_known(json, image, "unmapped_bytes", image->page_b_unmap);
  if (!image->origin) {
    tide_json_put_i64(json, "live_bytes", image->page_live_bytes);
    tide_json_put_i64(json, "peak_bytes", image->page_peak_bytes);
  }
  tide_json_close_object(json);
}

static void write_completeness(struct tide_json *json, const struct tide_profile *profile)
{
  tide_json_key(json, "completeness");
  tide_json_open_object(json);
  tide_image_json_losses(json, profile->image);
  tide_json_put_u64(json, "stacks", profile->n_stacks);
  tide_json_put_u64(json, "unknown_frames", tide_profile_unknown_frames(profile->image));
  tide_json_close_object(json);
}

void tide_profile_json_facts(struct tide_json *json, const struct tide_profile *profile,
                             const char *file)
{
  write_capture(json, profile, file);
  write_image(json, profile);
  tide_capture_json_images(json, profile->capture);
  write_totals(json, profile);
  write_pages(json, profile->image);
  write_completeness(json, profile);
  tide_exactness_json(json, profile->image);
}
