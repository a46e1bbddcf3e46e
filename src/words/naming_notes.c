// SPDX-License-Identifier: Apache-2.0
//
// What is blamed on frames without a file, summed by module.
#include "words/naming_notes.h"

#include "base/alloc.h"
#include "view/blame.h"

#include <stdlib.h>

struct unnamed { // a module whose frames are blamed and have no file
  double share;  // of bytes at the peak, at the end or in all, whichever is most
  double peak, live, total;
  const struct tide_named_frame *frame;
};

static void blame(struct unnamed *modules, const struct tide_profile_site *site,
                  const struct tide_named_frame *frame)
{
  if (!frame || frame->file || tide_layer_is_folded(frame->layer))
    return;
  struct unnamed *module = &modules[frame->module];
  module->frame = module->frame ? module->frame : frame;
  module->peak += (double)site->peak_bytes;
  module->live += (double)site->live_bytes;
  module->total += (double)site->b_alloc;
}

static double part(double value, double whole)
{
  return whole > 0 ? value / whole : 0;
}

static void weigh(struct unnamed *module, const struct tide_profile *profile)
{
  double shares[] = {part(module->peak, (double)profile->image->peak_bytes),
                     part(module->live, (double)profile->totals.live_bytes),
                     part(module->total, (double)profile->totals.b_alloc)};
  for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
    module->share = shares[i] > module->share ? shares[i] : module->share;
}

static int by_falling_share(const void *left, const void *right)
{
  const struct unnamed *a = left, *b = right;
  return (a->share < b->share) - (a->share > b->share);
}

void tide_naming_notes(const struct tide_profile *profile, struct tide_naming *naming,
                       tide_note_teller *tell, void *context)
{
  enum { NOTES_MAX = 8 };
  const struct tide_image *image = profile->image;
  TIDE_CLEANUP_FREE struct unnamed *modules =
      tide_alloc_array(image->n_modules + 1, sizeof *modules);
  for (size_t i = 0; i < profile->n_sites; i++)
    if (profile->sites[i].kind == TIDE_SITE_HEAP)
      blame(modules, &profile->sites[i], tide_naming_culprit(naming, profile->sites[i].stack));
  for (size_t i = 0; i < image->n_modules; i++)
    weigh(&modules[i], profile);
  qsort(modules, image->n_modules, sizeof *modules, by_falling_share);
  for (size_t i = 0; i < image->n_modules && i < NOTES_MAX && modules[i].share >= 0.01; i++) {
    const char *note = tide_naming_note(naming, modules[i].frame);
    if (note)
      tell(context, note);
  }
}
