// SPDX-License-Identifier: Apache-2.0
//
// First the number as its image knows it (model/image_sums.h), then what the image and its capture
// lack, then what is special to sites.
#include "check/bounds.h"

#include "base/alloc.h"
#include "check/moments.h"
#include "model/image_sums.h"
#include "profile/completeness.h"
#include "view/filter.h"

#include <stdlib.h>
#include <string.h>

const char *const tide_doubt_words[TIDE_DOUBTS_N] = {
#define X(name, word) [TIDE_DOUBT_##name] = word,
    TIDE_DOUBT_LIST(X)
#undef X
};

static int64_t add_bound(int64_t a, uint64_t b)
{
  int64_t sum;
  if (a == TIDE_NO_MOST || b > INT64_MAX || __builtin_add_overflow(a, (int64_t)b, &sum))
    return TIDE_NO_MOST;
  return sum;
}

static int64_t take_bound(int64_t a, uint64_t b)
{
  int64_t rest;
  if (a == TIDE_NO_LEAST || b > INT64_MAX || __builtin_sub_overflow(a, (int64_t)b, &rest))
    return TIDE_NO_LEAST;
  return rest;
}

// ---- how exactly the image knows it ----

// Of samples the moment of the peak is the one whose estimate came out highest: where a heap stays
// level for long, chance chose it, by two to four errors. Six that are taken off are enough for a
// million moments that know nothing of each other.
static uint64_t errors_below(const struct tide_question *question, uint64_t errors)
{
  bool is_chosen = question->measure == TIDE_MEASURE_PEAK;
  return is_chosen && errors <= UINT64_MAX / 2 ? 2 * errors : errors;
}

static struct tide_bounds bounds_of(const struct tide_image *image,
                                    const struct tide_question *question, struct tide_amount amount)
{
  struct tide_bounds bounds = {.value = amount.value, .least = amount.value, .most = amount.value};
  uint64_t errors =
      amount.bound > UINT64_MAX / TIDE_ERRORS_N ? UINT64_MAX : amount.bound * TIDE_ERRORS_N;
  bool knows_error = amount.bound || (image->has_spreads && amount.value > 0);
  switch (amount.exactness) {
  case TIDE_EXACT: return bounds;
  case TIDE_AT_LEAST: bounds.most = TIDE_NO_MOST; return bounds;
  case TIDE_WITHIN:
    bounds.least = amount.bound ? take_bound(amount.value, amount.bound) : TIDE_NO_LEAST;
    bounds.most = amount.bound ? add_bound(amount.value, amount.bound) : TIDE_NO_MOST;
    bounds.doubts = amount.bound ? tide_doubt_bit(TIDE_DOUBT_BOUND) : 0;
    return bounds;
  case TIDE_AT_MOST:
    bounds.least = amount.bound ? take_bound(amount.value, amount.bound) : TIDE_NO_LEAST;
    bounds.doubts = tide_doubt_bit(TIDE_DOUBT_BOUND);
    return bounds;
  case TIDE_ESTIMATED:
    bounds.least =
        knows_error ? take_bound(amount.value, errors_below(question, errors)) : TIDE_NO_LEAST;
    bounds.most = knows_error ? add_bound(amount.value, errors) : TIDE_NO_MOST;
    bounds.doubts = tide_doubt_bit(TIDE_DOUBT_SAMPLED);
    return bounds;
  case TIDE_UNKNOWN: break;
  }
  return (struct tide_bounds){amount.value, TIDE_NO_LEAST, TIDE_NO_MOST,
                              tide_doubt_bit(TIDE_DOUBT_LACKING)};
}

// ---- what is missing ----

// Of what only grows with each event nothing that is missing makes less.
static bool only_grows(enum tide_limited what)
{
  return what == TIDE_LIMITED_TOTAL || what == TIDE_LIMITED_ALLOCS || what == TIDE_LIMITED_TEMP;
}

static void doubt(struct tide_bounds *bounds, enum tide_doubt why, bool is_least_known)
{
  bounds->doubts |= tide_doubt_bit(why);
  bounds->most = TIDE_NO_MOST;
  if (!is_least_known)
    bounds->least = TIDE_NO_LEAST;
}

// An allocator that nobody saw had blocks of its own, and took none of the others'.
static bool is_apart(enum tide_why why)
{
  return why == TIDE_WHY_OWN_ALLOCATOR || why == TIDE_WHY_LOADED_LATER ||
         why == TIDE_WHY_UNSEEN_MEMORY || why == TIDE_WHY_PAGES_ONLY;
}

static void doubt_allocators(const struct tide_profile *profile, enum tide_limited what,
                             struct tide_bounds *bounds)
{
  const struct tide_image *image = profile->image;
  const struct tide_unrecorded *row = tide_image_on_roll(profile->capture, image);
  struct tide_completeness completeness;
  tide_completeness_judge(profile, &completeness);
  if (image->lacks & TIDE_LACK_UNHOOKED || tide_image_unseen(image))
    doubt(bounds, TIDE_DOUBT_UNHOOKED, only_grows(what));
  else if (completeness.image_is_hollow)
    doubt(bounds, TIDE_DOUBT_UNHOOKED, only_grows(what) || !row || is_apart(row->why));
}

// A process that ended gave everything back; of one that goes on nobody can say what it leaks.
static bool goes_on(const struct tide_profile *profile)
{
  const struct tide_image *image = profile->image;
  bool is_ours = !image->origin && !tide_image_is_merged(image);
  return image->end_kind == TIDE_END_DETACHED || (is_ours && image->end_kind == TIDE_END_UNKNOWN) ||
         profile->capture->taken;
}

static void doubt_heap(const struct tide_profile *profile, enum tide_limited what,
                       struct tide_bounds *bounds)
{
  const struct tide_image *image = profile->image;
  bool is_leaked = what == TIDE_LIMITED_LEAKED;
  if (profile->capture->cut)
    doubt(bounds, TIDE_DOUBT_DAMAGED, only_grows(what));
  if (!profile->capture->finished || goes_on(profile))
    doubt(bounds, TIDE_DOUBT_UNFINISHED, !is_leaked);
  if (image->off_reason)
    doubt(bounds, TIDE_DOUBT_STEPPED_ASIDE, !is_leaked);
  if (image->n_pauses)
    doubt(bounds, TIDE_DOUBT_PAUSED, true);
  if (image->loss.n_lost_busy)
    doubt(bounds, TIDE_DOUBT_LOST, only_grows(what));
  if (image->lacks & TIDE_LACK_BEFORE)
    doubt(bounds, TIDE_DOUBT_BEFORE, true);
  if (image->is_reset)
    doubt(bounds, TIDE_DOUBT_RESET, true);
  doubt_allocators(profile, what, bounds);
}

// ---- sites ----

enum { HAS_MATCH = 1, HAS_CUT = 2, HAS_NO_NAME = 4 };

// A program has many stacks of few frames: what was said of a frame is kept.
enum { KEPT = 4096 };
struct kept_judgement {
  const struct tide_named_frame *frames; // NULL: none
  uint8_t bits;
};

static uint8_t judge_frames(struct tide_naming *naming, const struct tide_filter *filter,
                            uint32_t node, const struct tide_named_frame *frames, size_t n)
{
  uint8_t bits = 0;
  for (size_t i = 0; i < n; i++) {
    bool is_like = filter && tide_filter_judge(filter, naming, &frames[i]) &
                                 (TIDE_FILTER_FUNCTION | TIDE_FILTER_FILE);
    bool is_own = !tide_naming_is_in_library(naming, node);
    bits |= is_like ? HAS_MATCH : !frames[i].function && is_own ? HAS_NO_NAME : 0;
  }
  return bits;
}

static uint8_t look_at_node(const struct tide_profile *profile, struct tide_naming *naming,
                            const struct tide_filter *filter, uint32_t node,
                            struct kept_judgement kept[KEPT])
{
  const struct tide_frame *frame = &profile->image->frames[node];
  size_t n;
  if (frame->flags & TIDE_FRAME_CUT)
    return HAS_CUT;
  if (frame->flags & (TIDE_FRAME_PAGES | TIDE_FRAME_LOST))
    return 0;
  const struct tide_named_frame *frames = tide_naming_of_node(naming, node, &n);
  struct kept_judgement *own = &kept[((uintptr_t)frames / sizeof *frames) % KEPT];
  if (!n)
    return 0;
  if (own->frames != frames)
    *own = (struct kept_judgement){frames, judge_frames(naming, filter, node, frames, n)};
  return own->bits;
}

// What is known of each stack's frames: bits per frame of the trie, with those outside of it.
static uint8_t *look_along(const struct tide_profile *profile, struct tide_naming *naming,
                           const char *pattern)
{
  const struct tide_image *image = profile->image;
  const struct tide_filter_options options = {.function = pattern, .file = pattern};
  struct tide_filter *filter = NULL;
  uint8_t *along = tide_alloc_array(image->n_frames + 1, 1);
  TIDE_CLEANUP_FREE struct kept_judgement *kept = tide_alloc_array(KEPT, sizeof *kept);
  if (pattern)
    tide_filter_new(&options, &filter, NULL); // whoever read the budget has tried it
  for (uint32_t node = 1; node < image->n_frames; node++)
    along[node] =
        along[image->frames[node].parent] | look_at_node(profile, naming, filter, node, kept);
  tide_filter_free(filter);
  return along;
}

uint8_t *tide_bounds_match(const struct tide_profile *profile, struct tide_naming *naming,
                           const char *pattern)
{
  uint8_t *matches = tide_alloc_array(profile->n_sites + 1, 1);
  TIDE_CLEANUP_FREE uint8_t *along = look_along(profile, naming, pattern);
  for (size_t i = 0; i < profile->n_sites; i++)
    matches[i] = along[profile->sites[i].stack] & HAS_MATCH;
  return matches;
}

struct sums { // of stacks, under the question asked
  int64_t matched, cut, no_name, no_stack;
  struct tide_numbers numbers; // of the matched, for what is uncertain of samples
  bool has_match;
};

static void sum_sites(const struct tide_profile *profile, struct tide_naming *naming,
                      const char *pattern, struct sums *ret_sums)
{
  TIDE_CLEANUP_FREE uint8_t *along = look_along(profile, naming, pattern);
  for (size_t i = 0; i < profile->n_sites; i++) {
    const struct tide_profile_site *site = &profile->sites[i];
    uint8_t bits = along[site->stack];
    if (!tide_question_is_about(&profile->question, site->kind))
      continue;
    if (site->kind == TIDE_SITE_LOST) {
      ret_sums->no_stack += site->weight;
    } else if (bits & HAS_MATCH) {
      if (profile->image->has_samples) {
        const struct tide_numbers numbers = tide_site_numbers(site);
        tide_numbers_add(&ret_sums->numbers, &numbers);
      }
      ret_sums->matched += site->weight;
      ret_sums->has_match = true;
    } else if (bits & HAS_CUT) {
      ret_sums->cut += site->weight;
    } else if (bits & HAS_NO_NAME) {
      ret_sums->no_name += site->weight;
    }
  }
}

bool tide_bounds_is_nameless(const struct tide_profile *profile, struct tide_naming *naming)
{
  TIDE_CLEANUP_FREE uint8_t *along = look_along(profile, naming, NULL);
  int64_t all = 0, nameless = 0;
  for (size_t i = 0; i < profile->n_sites; i++) {
    const struct tide_profile_site *site = &profile->sites[i];
    if (!tide_question_is_about(&profile->question, site->kind) || site->weight <= 0)
      continue;
    all += site->weight;
    nameless += along[site->stack] & HAS_NO_NAME ? site->weight : 0;
  }
  return nameless > all / 2;
}

static void allow(struct tide_bounds *bounds, enum tide_doubt why, int64_t more)
{
  if (more <= 0)
    return;
  bounds->doubts |= tide_doubt_bit(why);
  bounds->most = add_bound(bounds->most, (uint64_t)more);
}

static struct tide_bounds bounds_of_site(const struct tide_profile *profile,
                                         struct tide_naming *naming,
                                         const struct tide_question *question, const char *pattern)
{
  struct sums sums = {0};
  sum_sites(profile, naming, pattern, &sums);
  struct tide_bounds bounds =
      bounds_of(profile->image, question,
                tide_question_estimate(profile->image, question, sums.matched, &sums.numbers));
  bounds.has_match = sums.has_match;
  allow(&bounds, TIDE_DOUBT_CUT, sums.cut);
  allow(&bounds, TIDE_DOUBT_NO_STACK, sums.no_stack);
  allow(&bounds, TIDE_DOUBT_NO_NAME, sums.no_name);
  return bounds;
}

// ---- what a budget limits ----

static struct tide_wish wish_of(enum tide_limited what)
{
  static const int sorts[TIDE_LIMITED_N] = {
      [TIDE_LIMITED_PEAK] = TIDE_MEASURE_PEAK, [TIDE_LIMITED_TOTAL] = TIDE_MEASURE_TOTAL,
      [TIDE_LIMITED_ALLOCS] = TIDE_SORT_COUNT, [TIDE_LIMITED_LEAKED] = TIDE_MEASURE_LEAK,
      [TIDE_LIMITED_TEMP] = TIDE_MEASURE_TEMP, [TIDE_LIMITED_RSS] = TIDE_MEASURE_PEAK,
  };
  bool in_bytes = tide_limited_rows[what].in_bytes;
  return (struct tide_wish){.sort = sorts[what], .by = in_bytes ? TIDE_BY_BYTES : TIDE_BY_BLOCKS};
}

// The kernel's number; of recordings before format 1.4 with the recorder's part in it.
static struct tide_bounds bounds_of_rss(const struct tide_profile *profile)
{
  const struct tide_image *image = profile->image;
  int64_t value = image->max_rss_bytes > INT64_MAX ? INT64_MAX : (int64_t)image->max_rss_bytes;
  struct tide_bounds bounds = {.value = value, .least = value, .most = value};
  if (!image->max_rss_bytes)
    return (struct tide_bounds){0, TIDE_NO_LEAST, TIDE_NO_MOST, tide_doubt_bit(TIDE_DOUBT_LACKING)};
  if (!image->rss_is_own && !image->origin) {
    bounds.doubts |= tide_doubt_bit(TIDE_DOUBT_RSS);
    bounds.least = TIDE_NO_LEAST;
  }
  if (!profile->capture->finished || profile->capture->taken)
    doubt(&bounds, TIDE_DOUBT_UNFINISHED, true);
  if (profile->capture->cut)
    doubt(&bounds, TIDE_DOUBT_DAMAGED, true);
  return bounds;
}

static const struct tide_bounds lacking = {0, TIDE_NO_LEAST, TIDE_NO_MOST,
                                           UINT32_C(1) << TIDE_DOUBT_LACKING};

static struct tide_bounds bounds_of_run(struct tide_profile *profile, struct tide_naming *naming,
                                        const struct tide_heap_budget *budget,
                                        struct tide_question *ret_question)
{
  const struct tide_wish wish = wish_of(budget->what);
  struct tide_question question;
  if (tide_question_make(profile->image, &wish, &question, NULL) ||
      tide_image_is_unrecorded(profile->image))
    return lacking;
  *ret_question = question;
  tide_profile_ask_anew(profile, &question);
  if (budget->site)
    return bounds_of_site(profile, naming, &question, budget->site);
  return bounds_of(
      profile->image, &question,
      tide_question_estimate(profile->image, &question, profile->whole, &profile->totals));
}

static struct tide_bounds bounds_of_range(struct tide_profile *profile,
                                          const struct tide_heap_budget *budget,
                                          struct tide_question *ret_question)
{
  const struct tide_wish wish = wish_of(budget->what);
  struct tide_question question;
  struct tide_mark_span span;
  if (tide_image_is_unrecorded(profile->image) ||
      tide_question_make(profile->image, &wish, &question, NULL) ||
      !tide_span_find(profile, budget, &question, &span))
    return lacking;
  struct tide_bounds bounds =
      bounds_of(profile->image, &span.question,
                tide_question_amount(profile->image, &span.question, span.least));
  if (bounds.most != TIDE_NO_MOST)
    bounds.most = add_bound(bounds.most, (uint64_t)(span.most - span.least));
  if (span.most != span.least)
    bounds.doubts |= tide_doubt_bit(TIDE_DOUBT_BETWEEN);
  bounds.value = span.value;
  *ret_question = span.question;
  return bounds;
}

bool tide_bounds_find(struct tide_profile *profile, struct tide_naming *naming,
                      const struct tide_heap_budget *budget, struct tide_bounds *ret_bounds,
                      struct tide_question *ret_question)
{
  *ret_question = (struct tide_question){0};
  if (budget->what == TIDE_LIMITED_RSS) {
    *ret_bounds = bounds_of_rss(profile);
    return false;
  }
  *ret_bounds = budget->from ? bounds_of_range(profile, budget, ret_question)
                             : bounds_of_run(profile, naming, budget, ret_question);
  doubt_heap(profile, budget->what, ret_bounds);
  return !(ret_bounds->doubts & tide_doubt_bit(TIDE_DOUBT_LACKING));
}
