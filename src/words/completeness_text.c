// SPDX-License-Identifier: Apache-2.0
//
// Of a recording of ours what is counted and what was lost; of another tool's file which it is, as
// that tool alone knows the rest.
#include "words/completeness_text.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "model/exactness.h"
#include "profile/completeness.h"
#include "words/image_text.h"
#include "words/roll_text.h"

static const char *plural(uint64_t n, const char *one, const char *many)
{
  return n == 1 ? one : many;
}

static void add_loss(struct tide_buf *out, uint64_t n, const char *one, const char *many)
{
  char text[TIDE_UNITS_MAX];
  if (n)
    tide_buf_printf(out, ", %s %s", tide_units_plain(text, n), plural(n, one, many));
}

static void add_stacks(struct tide_buf *out, const struct tide_profile *profile)
{
  char text[TIDE_UNITS_MAX];
  tide_buf_printf(out, ", %s %s", tide_units_plain(text, profile->n_stacks),
                  plural(profile->n_stacks, "stack", "stacks"));
}

// Of processes that did not run side by side the peaks add up to more than was ever held.
static void add_bound(struct tide_buf *out, const struct tide_image *image, struct tide_style style)
{
  char text[TIDE_UNITS_MAX];
  if (*tide_units_bound(text, tide_image_peak(image), style))
    tide_buf_printf(out, ", peak %s", text);
}

static char *take_text(struct tide_buf *out)
{
  char *text = tide_strdup(tide_buf_cstr(out));
  tide_buf_done(out);
  return text;
}

// "estimated from 1,204 samples"
static void add_samples(struct tide_buf *out, const struct tide_profile *profile)
{
  char text[TIDE_UNITS_MAX];
  const struct tide_image *image = profile->image;
  if (!image->sampled_every_bytes)
    return;
  tide_buf_text(out, ", estimated from ");
  if (profile->totals.n_samples)
    tide_buf_printf(out, "%s ", tide_units_plain(text, profile->totals.n_samples));
  tide_buf_text(out, plural(profile->totals.n_samples, "sample", "samples"));
}

static char *foreign_text(const struct tide_profile *profile, struct tide_style style)
{
  const struct tide_image *image = profile->image;
  struct tide_buf out = {0};
  tide_buf_text(&out, image->origin);
  add_stacks(&out, profile);
  add_bound(&out, image, style);
  add_samples(&out, profile);
  if (tide_image_meaning(image))
    tide_buf_printf(&out, "; %s", tide_image_meaning(image));
  return take_text(&out);
}

// Of a file that ended before all stacks of the image: the peak is known, the rest is not.
static char *part_text(const struct tide_profile *profile)
{
  char count[TIDE_UNITS_MAX];
  uint64_t n = profile->n_stacks;
  TIDE_CLEANUP_FREE char *left =
      n ? tide_sprintf("the numbers of %s %s are left", tide_units_plain(count, n),
                       plural(n, "stack", "stacks"))
        : tide_strdup("no stack is left");
  return tide_sprintf(
      "%s in the file: what was allocated in all, and what was never freed, is not known", left);
}

static void add_events(struct tide_buf *out, const struct tide_profile *profile)
{
  char a[TIDE_UNITS_MAX], b[TIDE_UNITS_MAX];
  uint64_t n = tide_profile_events(profile), n_lost = profile->image->loss.n_lost_busy;
  if (n_lost)
    tide_buf_printf(out, "%s of %s events not recorded", tide_units_plain(a, n_lost),
                    tide_units_plain(b, n + n_lost));
  else if (profile->capture->cut)
    tide_buf_printf(out, "%s %s in what is left of the file", tide_units_plain(a, n),
                    plural(n, "event", "events"));
  else
    tide_buf_printf(out, "every event%s (%s)",
                    profile->capture->roll.is_known ? "" : " of this process",
                    tide_units_plain(a, n));
}

static void add_losses(struct tide_buf *out, const struct tide_image *image)
{
  const struct tide_loss *loss = &image->loss;
  if (!loss->n_cut && !loss->n_broken)
    tide_buf_text(out, ", none cut");
  add_loss(out, loss->n_cut, "cut by the depth limit", "cut by the depth limit");
  add_loss(out, loss->n_broken, "ends early", "end early");
  add_loss(out, loss->n_guessed, "found by frame pointers", "found by frame pointers");
  add_loss(out, loss->n_lost_full, "event without a stack", "events without a stack");
  add_loss(out, tide_profile_unknown_frames(image), "frame in unknown code",
           "frames in unknown code");
  if (!image->by_fork)
    add_loss(out, loss->n_unknown_free, "free of a block from before",
             "frees of blocks from before");
  add_loss(out, loss->n_fork_lost, "child process not recorded", "child processes not recorded");
}

static char *own_text(const struct tide_profile *profile, struct tide_style style)
{
  TIDE_CLEANUP_FREE char *scope = tide_roll_scope(profile);
  struct tide_buf out = {0};
  if (tide_image_is_unrecorded(profile->image))
    return tide_strdup(scope ? scope : "nothing was recorded");
  if (profile->image->is_part)
    return part_text(profile);
  if (scope)
    tide_buf_printf(&out, "%s; here ", scope);
  add_events(&out, profile);
  add_stacks(&out, profile);
  add_losses(&out, profile->image);
  add_bound(&out, profile->image, style);
  if (tide_image_peak(profile->image).exactness == TIDE_EXACT && !profile->capture->cut)
    tide_buf_text(&out, ", peak exact");
  add_samples(&out, profile);
  return take_text(&out);
}

struct tide_completeness_text tide_completeness_text(const struct tide_profile *profile,
                                                     struct tide_style style)
{
  const struct tide_image *image = profile->image;
  if (image->origin)
    return (struct tide_completeness_text){"read from", foreign_text(profile, style), false};
  bool complete =
      tide_profile_is_complete(profile) && !image->is_part && !tide_image_is_unrecorded(image);
  return (struct tide_completeness_text){complete ? "complete" : "incomplete",
                                         own_text(profile, style), !complete};
}
