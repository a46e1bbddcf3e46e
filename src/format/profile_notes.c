// SPDX-License-Identifier: Apache-2.0
//
// Sentences about what is missing.
#include "format/profile_notes.h"

#include "base/alloc.h"
#include "format/image_text.h"

#include <string.h>

// Its malloc comes before ours for everybody. One that only wraps ours is seen all the same.
static bool has_own_allocator(const struct tide_profile *profile)
{
  const char *allocator = profile->image->allocator, *exe = profile->image->exe;
  return !profile->totals.n_alloc && allocator && exe && *exe && !strcmp(allocator, exe);
}

void tide_profile_notes(const struct tide_profile *profile, tide_note_teller *tell, void *context)
{
  const struct tide_capture *capture = profile->capture;
  const char *off = tide_image_off_words(profile->image);
  if (off) {
    TIDE_CLEANUP_FREE char *text =
        tide_sprintf("recording stopped when %s; what is above is until then", off);
    tell(context, text);
  }
  if (has_own_allocator(profile))
    tell(context, "the program has an allocator of its own linked in: what that hands out is not "
                  "recorded");
  if (capture->cut)
    tell(context, capture->cut_note ? capture->cut_note : "the file is damaged; this is a part");
  else if (!capture->finished)
    tell(context, "the recording was not ended properly; this is its last checkpoint");
}
