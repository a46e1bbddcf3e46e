// SPDX-License-Identifier: Apache-2.0
//
// Life and death of a capture.
#include "model/model.h"

#include "base/alloc.h"
#include "model/pack.h"
#include "model/roll.h"
#include "model/stored_names.h"

#include <stdlib.h>

struct tide_capture *tide_capture_new(void)
{
  return tide_alloc(sizeof(struct tide_capture));
}

void tide_image_done(struct tide_image *image)
{
  for (size_t i = 0; i < image->n_modules; i++)
    free(image->modules[i].path);
  for (size_t i = 0; i < image->n_snapshots; i++)
    free(image->snapshots[i].rows);
  for (size_t i = 0; i < image->n_marks; i++)
    free(image->marks[i].name);
  free(image->exe);
  free(image->cmdline);
  free(image->allocator);
  free(image->origin);
  free(image->file);
  free(image->modules);
  free(image->frames);
  free(image->sites);
  free(image->counts.items);
  free(image->threads);
  free(image->ticks);
  free(image->snapshots);
  free(image->late_frees);
  tide_pack_free(image->pack);
  free(image->marks);
  tide_stored_names_done(&image->names);
}

void tide_capture_free(struct tide_capture *capture)
{
  if (!capture)
    return;
  for (size_t i = 0; i < capture->n_images; i++)
    tide_image_done(&capture->images[i]);
  tide_roll_done(&capture->roll);
  free(capture->images);
  free(capture->tool_version);
  free(capture->hostname);
  free(capture->kernel);
  free(capture->cut_note);
  free(capture);
}
