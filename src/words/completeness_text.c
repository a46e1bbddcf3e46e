// SPDX-License-Identifier: Apache-2.0
//
// What is missing, and of what: programs, events, numbers, names.
#include "words/completeness_text.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "model/capture.h"
#include "model/image_sums.h"
#include "profile/completeness.h"
#include "view/blame.h"
#include "words/image_text.h"

#include <inttypes.h>
#include <stdlib.h>

// ---- programs of the run ----
//
// Sentences about the roll.

enum { SUMMARY_ROWS = 4 };
#define TELLING_BYTES (UINT64_C(16) << 20) // below, RSS is libraries for the most part

static const char *program_of(const struct tide_unrecorded *row)
{
  const char *name = strrchr(row->exe, '/');
  name = name ? name + 1 : row->exe;
  return *name ? name : "other programs";
}

char *tide_roll_name(const struct tide_unrecorded *row, struct tide_style style)
{
  if (row->n_processes == 1)
    return tide_strdup(program_of(row));
  return tide_sprintf("%" PRIu64 " %s %s", row->n_processes, style.utf8 ? "×" : "x",
                      program_of(row));
}

char *tide_roll_reason(const struct tide_unrecorded *row, struct tide_style style)
{
  char rss[TIDE_UNITS_MAX], heap[TIDE_UNITS_MAX];
  struct tide_buf out = {0};
  TIDE_CLEANUP_FREE char *what = tide_why_sentence(row->why, row->detail);
  tide_buf_text(&out, what);
  if (row->max_rss_bytes)
    tide_buf_printf(&out, "; %s%s RSS", row->n_processes > 1 ? "up to " : "",
                    tide_units_bytes(rss, tide_exact((int64_t)row->max_rss_bytes), style));
  if (tide_why_is_partial(row->why))
    tide_buf_printf(&out, ", %s%s%s %s recorded",
                    row->why == TIDE_WHY_PAGES_ONLY ? "" : "of which ",
                    tide_units_bytes(heap, tide_exact((int64_t)row->recorded_bytes), style),
                    row->why == TIDE_WHY_PAGES_ONLY      ? " of pages"
                    : row->why == TIDE_WHY_UNSEEN_MEMORY ? ""
                    : row->why == TIDE_WHY_INLINED || row->why == TIDE_WHY_UNHOOKED ||
                            row->why == TIDE_WHY_UNTOLD
                        ? " in blocks"
                        : " on libc's heap",
                    row->recorded_bytes == 1 ? "was" : "were");
  char *text = tide_strdup(tide_buf_cstr(&out));
  tide_buf_done(&out);
  return text;
}

char *tide_roll_summary(const struct tide_roll *roll, struct tide_style style)
{
  struct tide_buf out = {0};
  if (!roll->n_rows)
    return NULL;
  for (size_t i = 0; i < roll->n_rows && i < SUMMARY_ROWS; i++) {
    const struct tide_unrecorded *row = &roll->rows[i];
    char rss[TIDE_UNITS_MAX];
    TIDE_CLEANUP_FREE char *name = tide_roll_name(row, style);
    TIDE_CLEANUP_FREE char *why = tide_why_brief(row->why, row->detail);
    tide_buf_printf(&out, "%s%s (%s", i ? ", " : "", name, why);
    if (row->max_rss_bytes)
      tide_buf_printf(&out, ", %s RSS",
                      tide_units_bytes(rss, tide_exact((int64_t)row->max_rss_bytes), style));
    tide_buf_text(&out, ")");
  }
  if (roll->n_rows > SUMMARY_ROWS)
    tide_buf_printf(&out, ", %zu more programs", roll->n_rows - SUMMARY_ROWS);
  char *text = tide_strdup(tide_buf_cstr(&out));
  tide_buf_done(&out);
  return text;
}

char *tide_roll_count(const struct tide_roll *roll)
{
  char a[TIDE_UNITS_MAX], b[TIDE_UNITS_MAX];
  uint64_t all = roll->n_recorded + tide_roll_processes(roll);
  return tide_sprintf("%s of %s%s %s recorded", tide_units_digits(a, roll->n_recorded),
                      roll->at_least ? "at least " : "", tide_units_digits(b, all),
                      all == 1 ? "process" : "processes");
}

char *tide_roll_lead(const struct tide_profile *profile, struct tide_style style,
                     const struct tide_unrecorded **ret_row)
{
  struct tide_lead lead;
  tide_lead_find(profile->capture, &lead);
  const struct tide_unrecorded *row = lead.image_idx == profile->image_idx ? lead.unrecorded : NULL;
  if (ret_row)
    *ret_row = row;
  if (!row)
    return NULL;
  TIDE_CLEANUP_FREE char *name = tide_roll_name(row, style);
  TIDE_CLEANUP_FREE char *reason = tide_roll_reason(row, style);
  // Of a small program that has an allocator linked in nobody can tell whether it uses it.
  const char *how = row->why == TIDE_WHY_PAGES_ONLY       ? "recorded by its pages alone"
                    : !tide_why_is_partial(row->why)      ? "not recorded"
                    : row->max_rss_bytes >= TELLING_BYTES ? "hardly recorded"
                                                          : "perhaps not recorded as a whole";
  return tide_sprintf("%s was %s: %s %s", name, how, row->n_processes == 1 ? "it" : "each", reason);
}

char *tide_roll_scope(const struct tide_profile *profile)
{
  struct tide_completeness c;
  tide_completeness_judge(profile, &c);
  if (!c.run_is_whole)
    return tide_roll_count(&profile->capture->roll);
  if (!c.n_partial)
    return NULL;
  return tide_sprintf("%zu other %s recorded in part", c.n_partial,
                      c.n_partial == 1 ? "process" : "processes");
}

// ---- the whole ----
//
// Of a recording of ours what is counted and what was lost; of another tool's file which it is, as
// that tool alone knows the rest.

static void add_loss(struct tide_buf *out, uint64_t n, const char *one, const char *many)
{
  char text[TIDE_UNITS_MAX];
  if (n)
    tide_buf_printf(out, ", %s %s", tide_units_plain(text, n), tide_units_plural(n, one, many));
}

static void add_stacks(struct tide_buf *out, const struct tide_profile *profile)
{
  char text[TIDE_UNITS_MAX];
  tide_buf_printf(out, ", %s %s", tide_units_plain(text, profile->n_stacks),
                  tide_units_plural(profile->n_stacks, "stack", "stacks"));
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
  tide_buf_text(out, tide_units_plural(profile->totals.n_samples, "sample", "samples"));
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
                       tide_units_plural(n, "stack", "stacks"))
        : tide_strdup("no stack is left");
  return tide_sprintf(
      "%s in the file: what was allocated in all, and what was never freed, is not known", left);
}

static void add_unhooked(struct tide_buf *out, const struct tide_image *image, uint64_t n)
{
  char text[TIDE_UNITS_MAX];
  tide_buf_printf(out, "%s %s seen, functions of its allocator could not be hooked",
                  tide_units_plain(text, n), tide_units_plural(n, "event", "events"));
  if (image->refused)
    tide_buf_printf(out, " (%s)", image->refused);
}

static void add_events(struct tide_buf *out, const struct tide_profile *profile)
{
  char a[TIDE_UNITS_MAX], b[TIDE_UNITS_MAX];
  uint64_t n = tide_profile_events(profile), n_lost = profile->image->loss.n_lost_busy;
  if (n_lost)
    tide_buf_printf(out, "%s of %s events not recorded", tide_units_plain(a, n_lost),
                    tide_units_plain(b, n + n_lost));
  else if (tide_image_unseen(profile->image))
    tide_buf_printf(out, "%s %s seen, and %s %s of blocks not seen allocated",
                    tide_units_plain(a, n), tide_units_plural(n, "event", "events"),
                    tide_units_plain(b, tide_image_unseen(profile->image)),
                    tide_units_plural(tide_image_unseen(profile->image), "free", "frees"));
  else if (profile->image->lacks & TIDE_LACK_UNHOOKED)
    add_unhooked(out, profile->image, n);
  else if (profile->image->lacks & TIDE_LACK_LATER)
    tide_buf_printf(out, "%s %s seen, a library that it loaded later could not be hooked",
                    tide_units_plain(a, n), tide_units_plural(n, "event", "events"));
  else if (profile->capture->cut)
    tide_buf_printf(out, "%s %s in what is left of the file", tide_units_plain(a, n),
                    tide_units_plural(n, "event", "events"));
  else if (profile->image->n_pauses)
    tide_buf_printf(out, "%s %s while it was on", tide_units_plain(a, n),
                    tide_units_plural(n, "event", "events"));
  else if (profile->image->off_reason)
    tide_buf_printf(out, "%s %s until recording stopped", tide_units_plain(a, n),
                    tide_units_plural(n, "event", "events"));
  else
    tide_buf_printf(out, "every event%s (%s)",
                    profile->capture->roll.is_known ? "" : " of this process",
                    tide_units_plain(a, n));
}

// Of several processes the times add up.
static void add_pauses(struct tide_buf *out, const struct tide_image *image,
                       struct tide_style style)
{
  char off[TIDE_UNITS_MAX], all[TIDE_UNITS_MAX];
  if (!image->n_pauses)
    return;
  tide_buf_printf(out, "recording was off for %s",
                  tide_units_time(off, image->paused_ns, style.utf8));
  if (!tide_image_is_merged(image) && !(image->lacks & TIDE_LACK_CLOCK))
    tide_buf_printf(out, " of %s",
                    tide_units_time(all, image->end_ns - image->start_ns, style.utf8));
  if (image->n_pauses > 1)
    tide_buf_printf(out, ", in %u parts", image->n_pauses);
  tide_buf_text(out, "; ");
}

// All that is counted begins there, and with it the image.
static void add_reset(struct tide_buf *out, const struct tide_profile *profile,
                      struct tide_style style)
{
  char when[TIDE_UNITS_MAX], bytes[TIDE_UNITS_MAX], blocks[TIDE_UNITS_MAX];
  const struct tide_image *image = profile->image;
  const struct tide_numbers *totals = &profile->totals;
  if (!image->is_reset)
    return;
  tide_buf_printf(
      out, "numbers are since a reset %s%s%s, with %s in %s %s live from before; ",
      tide_image_is_merged(image) ? "" : "at ",
      tide_image_is_merged(image) ? "" : tide_units_time(when, image->start_ns, style.utf8),
      tide_image_is_merged(image) ? "of some processes" : " of the recording",
      tide_units_bytes(bytes, tide_image_bytes(image, TIDE_FIGURE_LIVE, totals->before_bytes),
                       style),
      tide_units_count(blocks, tide_image_blocks(image, TIDE_FIGURE_LIVE, totals->before_blocks),
                       style),
      totals->before_blocks == 1 ? "block" : "blocks");
}

// Of what tidemark sampled itself.
static void add_sampling(struct tide_buf *out, const struct tide_profile *profile,
                         struct tide_style style)
{
  char count[TIDE_UNITS_MAX], size[TIDE_UNITS_MAX];
  uint64_t n = profile->totals.n_samples;
  tide_buf_printf(
      out,
      "%s %s, one for %s in the mean%s; %s is a standard error (two of three numbers are "
      "that near the truth, 19 of 20 twice that; a peak is the highest of many estimates, too high "
      "by two to four where the heap stays level)",
      tide_units_plain(count, n), tide_units_plural(n, "sample", "samples"),
      tide_units_bytes(size, tide_exact((int64_t)profile->image->sampled_every_bytes), style),
      profile->image->is_resampled ? " or more often, as it was changed meanwhile" : "",
      style.utf8 ? "±" : "+/-");
  if (profile->image->loss.n_lost_busy)
    tide_buf_printf(out, "; %s not recorded",
                    tide_units_plain(count, profile->image->loss.n_lost_busy));
}

static void add_before(struct tide_buf *out, uint64_t n_freed)
{
  char text[TIDE_UNITS_MAX];
  tide_buf_text(out, ", blocks from before not counted");
  if (n_freed)
    tide_buf_printf(out, " (%s of them freed)", tide_units_plain(text, n_freed));
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
  if (image->lacks & TIDE_LACK_BEFORE)
    add_before(out, loss->n_unknown_free);
  else if (image->n_pauses)
    add_loss(out, loss->n_unknown_free, "free of a block that was not recorded",
             "frees of blocks that were not recorded");
  else if (!image->by_fork && !tide_image_unseen(image))
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
  if (tide_profile_is_pages_alone(profile))
    return tide_sprintf("%s%sblocks were not seen, only pages", scope ? scope : "",
                        scope ? "; here " : "");
  if (scope)
    tide_buf_printf(&out, "%s; here ", scope);
  add_reset(&out, profile, style);
  add_pauses(&out, profile->image, style);
  if (profile->image->has_spreads)
    add_sampling(&out, profile, style);
  else
    add_events(&out, profile);
  add_stacks(&out, profile);
  add_losses(&out, profile->image);
  add_bound(&out, profile->image, style);
  if (tide_image_peak(profile->image).exactness == TIDE_EXACT && !profile->capture->cut)
    tide_buf_text(&out, ", peak exact");
  if (!profile->image->has_spreads)
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
  const char *label = image->has_spreads ? "sampled" : "complete";
  return (struct tide_completeness_text){complete ? label : "incomplete", own_text(profile, style),
                                         !complete};
}

static bool is_exact(const struct tide_profile *profile)
{
  static const enum tide_figure figures[] = {TIDE_FIGURE_ALLOCATED, TIDE_FIGURE_LIVE,
                                             TIDE_FIGURE_PEAK};
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
    enum tide_exactness how = tide_image_bytes(profile->image, figures[i], 1).exactness;
    if (how != TIDE_EXACT && how != TIDE_UNKNOWN)
      return false;
  }
  return !profile->capture->cut;
}

char *tide_inexact_words(const struct tide_profile *profile, struct tide_style style)
{
  struct tide_completeness_text how = tide_completeness_text(profile, style);
  char *words =
      is_exact(profile) && !how.is_warning ? NULL : tide_sprintf("%s: %s", how.label, how.text);
  free(how.text);
  return words;
}

// ---- numbers ----
//
// Sentences about what is missing.

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
  if (capture->taken) {
    char when[TIDE_UNITS_MAX];
    TIDE_CLEANUP_FREE char *text =
        tide_sprintf("this is a dump of a run that went on, taken at %s: %s",
                     tide_units_time(when, capture->duration_ns, false), capture->taken);
    tell(context, text);
  }
  if (capture->cut || capture->taken)
    return;
  if (!capture->finished)
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

// ---- names ----
//
// What is blamed on frames without a file, summed by module.

struct unnamed { // a module whose frames are blamed and have no file
  double share;  // of bytes at the peak, at the end or in all, whichever is most
  double peak, live, total;
  const char *note; // of its frames
};

static void blame(struct unnamed *modules, const struct tide_profile_site *site,
                  struct tide_naming *naming)
{
  const struct tide_named_frame *frame = tide_naming_culprit(naming, site->stack);
  if (!frame || frame->file || tide_layer_is_folded(frame->layer))
    return;
  const char *note = tide_naming_note(naming, frame);
  if (!note)
    return;
  struct unnamed *module = &modules[frame->module];
  module->note = note;
  module->peak += (double)TIDE_OF_SITE(site, peak_bytes);
  module->live += (double)tide_site_live_bytes(site);
  module->total += (double)TIDE_OF_SITE(site, b_alloc);
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
      blame(modules, &profile->sites[i], naming);
  for (size_t i = 0; i < image->n_modules; i++)
    weigh(&modules[i], profile);
  qsort(modules, image->n_modules, sizeof *modules, by_falling_share);
  for (size_t i = 0; i < image->n_modules && i < NOTES_MAX && modules[i].share >= 0.01; i++)
    tell(context, modules[i].note);
}
