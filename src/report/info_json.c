// SPDX-License-Identifier: Apache-2.0
//
// Schema tidemark-info-1.
#include "base/json.h"
#include "profile/completeness.h"
#include "report/info.h"
#include "report/profile_json.h"

static void write_module(struct tide_json *json, const struct tide_module *module,
                         struct tide_symboliser *symboliser)
{
  char id[65];
  const char *note, *state = tide_module_state(symboliser, module, &note);
  tide_module_build_id(module, id);
  tide_json_open_object(json);
  tide_json_put_text(json, "path", module->path);
  tide_json_put_text(json, "build_id", id);
  tide_json_put_text(json, "state", state);
  tide_json_put_text(json, "note", *note ? note : NULL);
  tide_json_key(json, "start");
  tide_json_hex(json, module->start);
  tide_json_key(json, "end");
  tide_json_hex(json, module->end);
  tide_json_key(json, "bias");
  tide_json_hex(json, module->bias);
  tide_json_put_u64(json, "generation", module->generation);
  tide_json_close_object(json);
}

static void write_image(struct tide_json *json, const struct tide_capture *capture, size_t i,
                        struct tide_symboliser *symboliser)
{
  const struct tide_image *image = &capture->images[i];
  struct tide_profile *profile = tide_profile_new(capture, i);
  tide_json_open_object(json);
  tide_lacking_leave_out(json, image);
  tide_json_put_u64(json, "index", i);
  tide_image_json_identity(json, image);
  tide_json_key(json, "parent_index");
  if (image->parent_image)
    tide_json_u64(json, image->parent_image - 1);
  else
    tide_json_text(json, NULL);
  tide_json_put_text(json, "allocator", image->allocator ? image->allocator : "");
  tide_image_json_allocators(json, image);
  tide_json_put_u64(json, "off_reason", image->off_reason);
  tide_image_json_moments(json, image);
  tide_json_put_i64(json, "peak_bytes", image->peak_bytes);
  tide_json_put_u64(json, "allocations", profile->totals.n_alloc);
  tide_image_json_resident(json, image);
  tide_json_put_u64(json, "stacks", profile->n_stacks);
  tide_json_put_u64(json, "frames", image->n_frames ? image->n_frames - 1 : 0);
  tide_json_put_u64(json, "rows", image->n_sites);
  tide_json_put_u64(json, "threads", image->n_threads);
  tide_json_put_u64(json, "max_live_threads", image->max_live_threads);
  tide_json_put_u64(json, "ticks", image->n_ticks);
  tide_json_put_u64(json, "snapshots", image->n_snapshots);
  tide_json_put_u64(json, "names_stored", image->names.n_places);
  tide_json_put_bool(json, "complete", tide_profile_is_complete(profile));
  tide_image_json_losses(json, image);
  tide_exactness_json(json, image);
  json->is_absent = NULL;
  tide_json_key(json, "modules");
  tide_json_open_array(json);
  for (size_t m = 1; m < image->n_modules; m++)
    write_module(json, &image->modules[m], symboliser);
  tide_json_close_array(json);
  tide_json_close_object(json);
  tide_profile_free(profile);
}

void tide_info_json_write(struct tide_sink *sink, const struct tide_capture *capture,
                          const char *file, uint64_t file_bytes,
                          const struct tide_symbol_sources *sources)
{
  struct tide_symboliser *symboliser = tide_symboliser_new();
  tide_symboliser_set_sources(symboliser, sources);
  struct tide_json json;
  tide_json_init(&json, sink);
  json.break_depth = 3;
  tide_json_open_object(&json);
  tide_json_put_text(&json, "schema", "tidemark-info-1");
  tide_json_key(&json, "capture");
  tide_json_open_object(&json);
  if (capture->n_images)
    tide_lacking_leave_out(&json, &capture->images[0]);
  tide_capture_json_facts(&json, capture, file, tide_capture_is_complete(capture));
  json.is_absent = NULL;
  tide_json_put_u64(&json, "file_bytes", file_bytes);
  tide_json_put_text(&json, "tool_version", capture->tool_version);
  tide_json_put_text(&json, "hostname", capture->hostname);
  tide_json_put_text(&json, "kernel", capture->kernel);
  tide_json_put_u64(&json, "start_realtime_ns", capture->start_realtime_ns);
  tide_json_put_u64(&json, "images_left_out", capture->n_images_left_out);
  tide_capture_json_cost(&json, capture);
  tide_json_close_object(&json);
  tide_json_key(&json, "images");
  tide_json_open_array(&json);
  for (size_t i = 0; i < capture->n_images; i++)
    write_image(&json, capture, i, symboliser);
  tide_json_close_array(&json);
  tide_json_close_object(&json);
  tide_json_done(&json);
  tide_symboliser_free(symboliser);
}
