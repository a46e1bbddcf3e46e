// SPDX-License-Identifier: Apache-2.0
//
// Sentences about what is missing.
#include "words/profile_notes.h"

#include "base/alloc.h"
#include "model/why_words.h"
#include "words/image_text.h"
#include "profile/completeness.h"

#include <inttypes.h>
#include <stdlib.h>

void tide_profile_hollow_note(const struct tide_profile *profile, tide_note_teller *tell,
                              void *context)
{
  const struct tide_unrecorded *row = tide_image_on_roll(profile->capture, profile->image);
  struct tide_completeness c;
  tide_completeness_judge(profile, &c);
  if (!c.image_is_hollow)
    return;
  TIDE_CLEANUP_FREE char *what =
      row ? tide_why_sentence(row->why, row->detail)
          : tide_strdup("has an allocator of its own linked in: what that hands out is not "
                        "recorded");
  TIDE_CLEANUP_FREE char *way_out = row ? tide_why_way_out(row->why, row->detail) : NULL;
  TIDE_CLEANUP_FREE char *text =
      tide_sprintf("the program %s%s%s", what, way_out ? "; " : "", way_out ? way_out : "");
  tell(context, text);
}

static void tell_refused(const struct tide_capture *capture, tide_note_teller *tell, void *context)
{
  uint64_t n = capture->roll.n_refused;
  if (!n)
    return;
  TIDE_CLEANUP_FREE char *text =
      tide_sprintf("%" PRIu64 " other %s knocked and %s refused: not known to be of this run", n,
                   n == 1 ? "process" : "processes", n == 1 ? "was" : "were");
  tell(context, text);
}

static void tell_end(const struct tide_capture *capture, tide_note_teller *tell, void *context)
{
  if (capture->cut)
    tell(context, capture->cut_note ? capture->cut_note : "the file is damaged; this is a part");
  else if (!capture->finished)
    tell(context, "the recording was not ended properly; this is its last checkpoint");
}

void tide_profile_notes(const struct tide_profile *profile, bool is_running, tide_note_teller *tell,
                        void *context)
{
  const char *off = tide_image_off_words(profile->image);
  if (off) {
    TIDE_CLEANUP_FREE char *text =
        tide_sprintf("recording stopped when %s; what is above is until then", off);
    tell(context, text);
  }
  if (!is_running)
    tell_end(profile->capture, tell, context);
  tell_refused(profile->capture, tell, context);
}
