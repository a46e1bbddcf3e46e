// SPDX-License-Identifier: Apache-2.0
//
// Is a capture in memory consistent? The writer asks before it writes, so that no file is made
// which no reader would take; tests and the fuzzer ask after every read.
//
// Times are not judged here beyond their order: a clock read by another thread may be a little off,
// and that must never cost anybody a recording.
#include "model/pack.h"
#include "model/rows.h"
#include "model/stored_names.h"
#include "tide/format.h"

static enum tide_err breach(struct tide_diag *diag, size_t image_idx, const char *what, size_t row)
{
  return tide_fail(diag, TIDE_ERR_FORMAT, "the capture contradicts itself: image %zu, %s %zu",
                   image_idx, what, row);
}

static bool snapshot_is_valid(const struct tide_snapshot *snapshot, size_t n_frames)
{
  uint32_t before = 0;
  for (size_t i = 0; i < snapshot->n_rows; i++) {
    uint32_t stack = tide_snapshot_row_at(snapshot, i).stack;
    if (stack >= n_frames || (i > 0 && stack <= before))
      return false;
    before = stack;
  }
  return true;
}

static bool names_are_valid(const struct tide_stored_names *names, size_t n_modules)
{
  size_t n_frames = 0;
  if (names->n_places && (!names->text || names->text[0] || names->text[names->text_bytes - 1]))
    return false;
  for (size_t i = 0; i < names->n_places; i++) {
    const struct tide_stored_place *place = &names->places[i];
    if (place->module >= n_modules || place->n_frames == 0 || place->first_frame != n_frames ||
        (i > 0 && !tide_stored_place_is_before(&place[-1], place)))
      return false;
    n_frames += place->n_frames;
  }
  for (size_t i = 0; i < names->n_frames; i++)
    if (names->frames[i].function >= names->text_bytes ||
        names->frames[i].file >= names->text_bytes)
      return false;
  return n_frames == names->n_frames;
}

static bool late_frees_are_valid(const struct tide_image *image, size_t n_frames)
{
  for (size_t i = 0; i < image->n_late_frees && image->has_late_frees; i++) {
    const struct tide_late_free *row = &image->late_frees[i];
    if (row->freed >= image->n_snapshots || row->born >= row->freed || row->stack >= n_frames ||
        (i > 0 && !tide_late_free_is_before(row - 1, row)))
      return false;
  }
  return true;
}

static bool residences_are_valid(const struct tide_image *image, size_t n_frames)
{
  for (size_t i = 0; i < image->n_residences; i++) {
    const struct tide_residence *table = &image->residences[i];
    if (i >= TIDE_MAX_RESIDENCES || (i > 0 && table->time_ns < table[-1].time_ns))
      return false;
    for (size_t k = 0; k < table->n_sites; k++)
      if (table->sites[k].stack >= n_frames)
        return false;
  }
  return true;
}

static bool events_are_valid(const struct tide_image *image, size_t n_frames, size_t n_threads)
{
  const struct tide_event_row *rows = image->events;
  for (size_t i = 0; i < image->n_events; i++)
    if (rows[i].stack >= n_frames || rows[i].thread >= n_threads ||
        (i > 0 && !tide_event_row_is_before(&rows[i - 1], &rows[i])))
      return false;
  return true;
}

static enum tide_err check_image(const struct tide_capture *capture, size_t idx,
                                 struct tide_diag *diag)
{
  const struct tide_image *image = &capture->images[idx];
  // Row 0 of these three is always there, stored or not.
  size_t n_modules = image->n_modules ? image->n_modules : 1;
  size_t n_frames = tide_image_n_frames(image) ? tide_image_n_frames(image) : 1;
  size_t n_threads = image->n_threads_known ? image->n_threads_known : 1;
  if (image->parent_image > idx)
    return breach(diag, idx, "its parent comes later:", image->parent_image);
  if (n_modules > TIDE_MAX_MODULES)
    return breach(diag, idx, "too many modules:", image->n_modules);
  if (n_frames > UINT32_MAX || n_threads > UINT32_MAX)
    return breach(diag, idx, "too many frames:", image->n_frames);
  if (image->n_snapshots > TIDE_MAX_SNAPSHOTS)
    return breach(diag, idx, "too many snapshots:", image->n_snapshots);
  for (size_t i = 1; i < image->n_modules; i++)
    if (image->modules[i].build_id_len > sizeof image->modules[i].build_id)
      return breach(diag, idx, "build id of module", i);
  for (size_t i = 1; i < image->n_frames; i++) {
    const struct tide_frame *frame = &image->frames[i];
    if (frame->parent >= i)
      return breach(diag, idx, "parent of frame", i);
    if (frame->module >= n_modules)
      return breach(diag, idx, "module of frame", i);
  }
  for (size_t i = 0; i < image->n_sites; i++) {
    const struct tide_site site = tide_image_site(image, i);
    if (site.stack >= n_frames)
      return breach(diag, idx, "stack of site", i);
    if (site.thread >= n_threads)
      return breach(diag, idx, "thread of site", i);
  }
  for (size_t i = 0; i < image->n_snapshots; i++)
    if (!snapshot_is_valid(&image->snapshots[i], n_frames))
      return breach(diag, idx, "rows of snapshot", i);
  if (!late_frees_are_valid(image, n_frames))
    return breach(diag, idx, "late frees:", image->n_late_frees);
  if (!tide_held_is_valid(image, n_frames))
    return breach(diag, idx, "stacks at ticks:", image->n_held);
  if (!tide_rss_kinds_are_valid(image))
    return breach(diag, idx, "moments of RSS by kind:", image->n_rss_kinds);
  if (!events_are_valid(image, n_frames, n_threads))
    return breach(diag, idx, "events:", image->n_events);
  if (!residences_are_valid(image, n_frames))
    return breach(diag, idx, "tables of memory:", image->n_residences);
  if (!names_are_valid(&image->names, n_modules))
    return breach(diag, idx, "stored names of places:", image->names.n_places);
  return TIDE_ERR_OK;
}

enum tide_err tide_capture_check(const struct tide_capture *capture, struct tide_diag *diag)
{
  for (size_t i = 0; i < capture->n_images; i++) {
    enum tide_err err = check_image(capture, i, diag);
    if (err)
      return err;
  }
  return TIDE_ERR_OK;
}
