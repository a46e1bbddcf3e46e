// SPDX-License-Identifier: Apache-2.0
//
// A fact and the sentence about the same stand side by side here: who changes one sees the other.
#include "words/heap_words.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "model/events.h"
#include "model/image_sums.h"
#include "profile/completeness.h"
#include "words/image_text.h"

// ---- memory in use ----
//
// RSS and overhead in words.

#define MIB (UINT64_C(1) << 20)
#define TELLING 20 // a twentieth more is worth a line

static uint64_t telling(uint64_t bytes)
{
  return bytes / TELLING > MIB ? bytes / TELLING : MIB;
}

bool tide_resident_has_high(const struct tide_image *image)
{
  uint64_t then = image->rss_at_peak_bytes;
  return image->max_rss_bytes && (!then || image->max_rss_bytes > then + telling(then));
}

char *tide_resident_high_words(struct tide_style style, const struct tide_image *image)
{
  char time[TIDE_UNITS_MAX], held[TIDE_UNITS_MAX];
  if (tide_image_is_merged(image))
    return tide_strdup("the highest of each process, added up");
  if (!image->has_resident || image->lacks & TIDE_LACK_CLOCK)
    return tide_strdup("at some time");
  uint64_t at_ns = image->max_rss_ns > image->start_ns ? image->max_rss_ns - image->start_ns : 0;
  tide_units_time(time, at_ns, style.utf8);
  if (image->max_rss_live_bytes < 0)
    return tide_sprintf("between two looks, by %s", time);
  return tide_sprintf(
      "at %s, when the heap held %s", time,
      tide_units_bytes(held, tide_image_bytes(image, TIDE_FIGURE_LIVE, image->max_rss_live_bytes),
                       style));
}

bool tide_resident_has_untouched(const struct tide_image *image)
{
  return image->untouched_bytes >= telling((uint64_t)image->peak_bytes);
}

char *tide_resident_untouched_why(const struct tide_image *image, struct tide_style style)
{
  char swapped[TIDE_UNITS_MAX];
  if (!image->swapped_bytes)
    return tide_strdup("never touched");
  return tide_sprintf("never touched, or swapped out (%s at most)",
                      tide_units_bytes(swapped, tide_exact((int64_t)image->swapped_bytes), style));
}

char *tide_resident_untouched_words(struct tide_style style, const struct tide_image *image)
{
  TIDE_CLEANUP_FREE char *why = tide_resident_untouched_why(image, style);
  return tide_sprintf("at least, of the heap at its peak, in memory at no look: %s", why);
}

const char *tide_resident_whose(const struct tide_image *image)
{
  if (image->rss_is_own || image->origin)
    return "";
  return image->resident_is_lost ? " perhaps with the recorder" : " with the recorder";
}

static void put_percent(struct tide_buf *out, struct tide_style style, double share)
{
  if (share < 0.01)
    tide_buf_text(out, "below 1 %");
  else
    tide_buf_printf(out, "%s %.0f %%", style.utf8 ? "≈" : "~", share * 100);
}

static void put_times(struct tide_buf *out, struct tide_style style,
                      const struct tide_profile *profile)
{
  double times = tide_profile_overhead(profile);
  double of_core = tide_profile_overhead_of_core(profile);
  if (times >= 1.1 && of_core > 0) {
    put_percent(out, style, of_core);
    tide_buf_text(out, " of a core");
  } else if (times < 1.1)
    put_percent(out, style, times - 1);
  else
    tide_buf_printf(out, "%s %.1f%s", style.utf8 ? "≈" : "~", times, style.utf8 ? "×" : "x");
}

char *tide_overhead_words(struct tide_style style, const struct tide_profile *profile,
                          bool is_running)
{
  char number[TIDE_UNITS_MAX];
  struct tide_buf out = {0};
  uint64_t memory = profile->image->recorder_rss_bytes;
  if (tide_profile_overhead(profile) > 0) {
    tide_buf_printf(&out, "overhead%s ", is_running ? " in the program" : "");
    put_times(&out, style, profile);
  }
  if (memory)
    tide_buf_printf(&out, "%s %s", out.n ? " and" : "overhead",
                    tide_units_bytes(number, tide_exact((int64_t)memory), style));
  if (!out.n)
    return NULL;
  tide_buf_u8(&out, 0);
  return (char *)out.data;
}

// ---- the heap ----

bool tide_profile_has_heap(const struct tide_profile *profile)
{
  bool counted = !(profile->image->lacks & (TIDE_LACK_TOTAL | TIDE_LACK_BLOCKS));
  bool has_peak = profile->image->is_part && profile->image->peak_bytes > 0;
  bool has_any = profile->totals.n_alloc > 0 || profile->totals.before_blocks > 0;
  return has_peak || (counted ? has_any : profile->n_sites > 0);
}

static bool is_cut_short(const struct tide_profile *profile)
{
  return profile->capture->cut && !profile->totals.n_alloc;
}

bool tide_profile_has_end(const struct tide_profile *profile)
{
  return tide_measure_is_held(profile->image, TIDE_MEASURE_LIVE) && !is_cut_short(profile);
}

bool tide_profile_has_total(const struct tide_profile *profile)
{
  return tide_measure_is_held(profile->image, TIDE_MEASURE_TOTAL) && !is_cut_short(profile);
}

char *tide_end_phrase(const struct tide_image *image, struct tide_style style, bool is_running,
                      const char **ret_gap)
{
  char text[TIDE_UNITS_MAX];
  bool is_merged = tide_image_is_merged(image);
  *ret_gap = is_merged ? ", " : " ";
  if (image->lacks & TIDE_LACK_CLOCK) {
    *ret_gap = is_merged ? ", " : "";
    return tide_strdup(is_merged ? "several recordings merged" : "");
  }
  const char *length = tide_units_time(text, image->end_ns - image->start_ns, style.utf8);
  if (is_merged)
    return tide_sprintf("several processes merged, %s at most", length);
  if (is_running)
    return tide_sprintf("for %s so far", length);
  if (image->origin && image->end_kind == TIDE_END_UNKNOWN)
    return tide_sprintf("ran for %s", length);
  if (image->end_kind == TIDE_END_DETACHED) {
    *ret_gap = ", ";
    return tide_sprintf("recorded for %s, then let go", length);
  }
  TIDE_CLEANUP_FREE char *words = tide_image_end_words(image);
  if (image->lacks & TIDE_LACK_BEFORE)
    return tide_sprintf("%s after %s of recording", words, length);
  const char *preposition = image->end_kind == TIDE_END_EXITED ? "in" : "after";
  return tide_sprintf("%s %s %s", words, preposition, length);
}

void tide_title_around(const struct tide_image *image, struct tide_style style, bool is_running,
                       char **ret_before, char **ret_after)
{
  char text[TIDE_UNITS_MAX];
  const char *gap;
  if (!is_running && image->end_kind == TIDE_END_DETACHED && image->pid) {
    tide_units_time(text, image->end_ns - image->start_ns, style.utf8);
    *ret_before = tide_sprintf("recorded %s of ", text);
    *ret_after = tide_sprintf(" (pid %u), then let go", image->pid);
    return;
  }
  TIDE_CLEANUP_FREE char *phrase = tide_end_phrase(image, style, is_running, &gap);
  *ret_before = tide_strdup("");
  *ret_after = tide_sprintf("%s%s", gap, phrase);
}

const char *tide_no_heap_words(const struct tide_profile *profile)
{
  const struct tide_image *image = profile->image;
  return image->is_part                         ? "nothing is left of the heap"
         : tide_profile_is_pages_alone(profile) ? "what it allocated was not seen, only its pages"
         : tide_image_on_roll(profile->capture, image) ? "what it allocated was not seen"
         : image->n_pauses || image->off_reason || image->loss.n_lost_busy
             ? "nothing of the heap was recorded"
         : image->sampled_every_bytes ? "no sample fell on anything on the heap"
                                      : "nothing was allocated on the heap";
}

char *tide_allocations_words(const struct tide_profile *profile, struct tide_style style)
{
  char text[TIDE_UNITS_MAX];
  uint64_t n = profile->totals.n_alloc;
  if (profile->image->lacks & (TIDE_LACK_TOTAL | TIDE_LACK_BLOCKS) ||
      tide_profile_is_pages_alone(profile))
    return NULL;
  return tide_sprintf(
      "%s %s", tide_units_count(text, tide_profile_allocated(profile, TIDE_UNIT_BLOCKS), style),
      profile->image->of_events ? tide_units_plural(n, "event", "events")
                                : tide_units_plural(n, "allocation", "allocations"));
}

const char *tide_image_last_words(const struct tide_image *image)
{
  return image->end_kind == TIDE_END_EXITED ? "at exit" : "at the end";
}

const char *tide_image_kept_words(const struct tide_image *image)
{
  if (image->end_kind == TIDE_END_DETACHED)
    return "still live";
  if (image->end_kind == TIDE_END_EXITED)
    return "never freed";
  return image->origin ? "not freed" : "not freed yet";
}

// As exact as what is live; after a reset, a bound where single blocks are not told.
static struct tide_amount as_kept(const struct tide_profile *profile, struct tide_amount amount,
                                  enum tide_exactness bound)
{
  bool is_bound = profile->image->is_reset && !tide_reset_is_told(profile->image);
  if (is_bound && amount.exactness == TIDE_EXACT)
    amount.exactness = bound;
  return amount;
}

struct tide_amount tide_kept_amount(const struct tide_profile *profile)
{
  int64_t bytes = tide_profile_kept(profile, TIDE_UNIT_BYTES);
  struct tide_amount amount = tide_image_bytes(profile->image, TIDE_FIGURE_LIVE, bytes);
  uint64_t error = tide_error_of_bytes(profile->totals.live_bytes_spread);
  return as_kept(profile, tide_with_error(amount, profile->image, error), TIDE_AT_LEAST);
}

// "in 752 blocks"; "" where they are not counted.
static char *in_blocks(const struct tide_profile *profile, struct tide_style style)
{
  char text[TIDE_UNITS_MAX];
  int64_t n = tide_profile_kept(profile, TIDE_UNIT_BLOCKS);
  if (profile->image->lacks & TIDE_LACK_BLOCKS)
    return tide_strdup("");
  struct tide_amount amount = tide_image_blocks(profile->image, TIDE_FIGURE_LIVE, n);
  uint64_t error = tide_error_of_blocks(profile->totals.live_blocks_spread);
  amount = as_kept(profile, tide_with_error(amount, profile->image, error), TIDE_AT_LEAST);
  return tide_sprintf("in %s %s ", tide_units_count(text, amount, style),
                      n == 1 ? "block" : "blocks");
}

// ", beside 17.1 KiB in 50 blocks from before the reset"; "" where there was none, or nothing.
static char *beside_before(const struct tide_profile *profile, struct tide_style style)
{
  char bytes[TIDE_UNITS_MAX], blocks[TIDE_UNITS_MAX];
  const struct tide_image *image = profile->image;
  int64_t held = profile->totals.live_bytes - tide_profile_kept(profile, TIDE_UNIT_BYTES);
  int64_t n = profile->totals.live_blocks - tide_profile_kept(profile, TIDE_UNIT_BLOCKS);
  if (!image->is_reset || (held <= 0 && n <= 0))
    return tide_strdup("");
  struct tide_amount size =
      as_kept(profile, tide_image_bytes(image, TIDE_FIGURE_LIVE, held), TIDE_AT_MOST);
  struct tide_amount count =
      as_kept(profile, tide_image_blocks(image, TIDE_FIGURE_LIVE, n), TIDE_AT_MOST);
  return tide_sprintf(", beside %s in %s %s from before the reset",
                      tide_units_bytes(bytes, size, style), tide_units_count(blocks, count, style),
                      n == 1 ? "block" : "blocks");
}

static bool is_all_freed(const struct tide_profile *profile)
{
  return !(profile->image->lacks & TIDE_LACK_BLOCKS) &&
         tide_profile_kept(profile, TIDE_UNIT_BLOCKS) == 0 &&
         (!profile->image->is_reset || tide_reset_is_told(profile->image) ||
          !profile->totals.live_blocks);
}

// What a process had before it was attached to, or before a reset, is not meant. Of blocks that
// nobody looked at nothing is said.
static const char *all_freed_words(const struct tide_profile *profile)
{
  const struct tide_image *image = profile->image;
  bool is_part = image->lacks & TIDE_LACK_BEFORE || image->is_reset;
  enum tide_exactness how = tide_image_blocks(image, TIDE_FIGURE_LIVE, 0).exactness;
  if (how == TIDE_ESTIMATED)
    return "every block that was sampled was freed";
  if (how != TIDE_EXACT)
    return "every block that was recorded was freed";
  return is_part ? "every block allocated meanwhile was freed" : "every block was freed";
}

char *tide_end_fact(const struct tide_profile *profile, struct tide_style style)
{
  TIDE_CLEANUP_FREE char *blocks = in_blocks(profile, style);
  TIDE_CLEANUP_FREE char *beside = beside_before(profile, style);
  if (is_all_freed(profile))
    return tide_sprintf("%s%s", all_freed_words(profile), beside);
  return tide_sprintf("%s%s%s", blocks, tide_image_kept_words(profile->image), beside);
}

char *tide_end_sentence(const struct tide_profile *profile, struct tide_style style,
                        bool is_running)
{
  char text[TIDE_UNITS_MAX];
  TIDE_CLEANUP_FREE char *blocks = in_blocks(profile, style);
  TIDE_CLEANUP_FREE char *beside = beside_before(profile, style);
  bool is_one = blocks[0] && tide_profile_kept(profile, TIDE_UNIT_BLOCKS) == 1;
  struct tide_amount kept = as_kept(profile,
                                    tide_image_bytes(profile->image, TIDE_FIGURE_LIVE,
                                                     tide_profile_kept(profile, TIDE_UNIT_BYTES)),
                                    TIDE_AT_LEAST);
  const char *amount = tide_units_bytes(text, kept, style);
  if (is_running && !is_all_freed(profile))
    return tide_sprintf("so far %s %s%s not freed%s", amount, blocks, is_one ? "is" : "are",
                        beside);
  const char *when = is_running ? "so far" : tide_image_last_words(profile->image);
  if (is_all_freed(profile))
    return tide_sprintf("%s %s%s", when, all_freed_words(profile), beside);
  return tide_sprintf("%s %s %s%s %s%s", when, amount, blocks, is_one ? "was" : "were",
                      tide_image_kept_words(profile->image), beside);
}

static const char *temporary_part(char *out, const struct tide_profile *profile,
                                  struct tide_style style)
{
  const struct tide_numbers *totals = &profile->totals;
  struct tide_amount n =
      tide_image_blocks(profile->image, TIDE_FIGURE_ALLOCATED, (int64_t)totals->n_temp);
  return tide_units_percent(out, n, totals->n_alloc, style);
}

// "1,001 events with a weight of 3,007"
static char *events_sentence(const struct tide_image *image)
{
  char n[TIDE_UNITS_MAX], weight[TIDE_UNITS_MAX];
  struct tide_event_sum sum = tide_image_event_sum(image);
  return tide_sprintf("%s %s with a weight of %s in all", tide_units_plain(n, sum.n),
                      tide_units_plural(sum.n, "event", "events"),
                      tide_units_plain(weight, sum.weight));
}

char *tide_events_fact(const struct tide_image *image, const char *way)
{
  char weight[TIDE_UNITS_MAX];
  struct tide_event_sum sum = tide_image_event_sum(image);
  return tide_sprintf("counted by the program, with a weight of %s in all%s%s",
                      tide_units_plain(weight, sum.weight), way ? "; " : "", way ? way : "");
}

char *tide_churn_fact(const struct tide_profile *profile, struct tide_style style)
{
  char text[TIDE_UNITS_MAX];
  if (profile->image->lacks & TIDE_LACK_TEMP)
    return tide_strdup("allocated in all");
  return tide_sprintf("allocated in all; %s of blocks temporary",
                      temporary_part(text, profile, style));
}

char *tide_churn_sentence(const struct tide_profile *profile, struct tide_style style)
{
  char all[TIDE_UNITS_MAX], part[TIDE_UNITS_MAX];
  if (profile->image->of_events)
    return events_sentence(profile->image);
  tide_units_bytes(all, tide_profile_allocated(profile, TIDE_UNIT_BYTES), style);
  if (profile->image->lacks & (TIDE_LACK_TEMP | TIDE_LACK_BLOCKS))
    return tide_sprintf("%s were allocated in all", all);
  return tide_sprintf("%s were allocated in all; %s of blocks were temporary (freed within one "
                      "further allocation)",
                      all, temporary_part(part, profile, style));
}

static bool is_usual(const struct tide_image *image)
{
  return !image->by_agent && image->n_allocators == 1 &&
         image->allocators[0].family == TIDE_FAMILY_LIBC;
}

char *tide_allocators_words(const struct tide_image *image, struct tide_style style)
{
  char share[TIDE_UNITS_MAX];
  struct tide_buf out = {0};
  if (!image->n_allocators)
    return NULL;
  for (size_t i = 0; i < image->n_allocators; i++) {
    const struct tide_allocator *a = &image->allocators[i];
    tide_buf_printf(&out, "%s%s", i ? ", " : "", tide_family_words(a->family));
    if (image->n_allocators > 1)
      tide_buf_printf(&out, " %s%s",
                      tide_units_share(share,
                                       tide_image_bytes(image, TIDE_FIGURE_PEAK, a->peak_bytes),
                                       image->peak_bytes, style),
                      i ? "" : " of the peak");
  }
  tide_buf_printf(&out, "; by %s", image->by_agent ? "the agent" : "a preloaded library");
  char *text = tide_strdup(tide_buf_cstr(&out));
  tide_buf_done(&out);
  return text;
}

char *tide_allocators_fact(const struct tide_image *image, struct tide_style style)
{
  return is_usual(image) ? NULL : tide_allocators_words(image, style);
}

char *tide_allocators_sentence(const struct tide_image *image, struct tide_style style)
{
  TIDE_CLEANUP_FREE char *fact = tide_allocators_fact(image, style);
  return fact ? tide_sprintf("%s: %s", image->n_allocators > 1 ? "allocators" : "allocator", fact)
              : NULL;
}

char *tide_allocator_words(const struct tide_image *image, const struct tide_allocator *allocator,
                           struct tide_style style)
{
  char share[TIDE_UNITS_MAX], peak[TIDE_UNITS_MAX], all[TIDE_UNITS_MAX], n[TIDE_UNITS_MAX];
  struct tide_amount at_peak = tide_image_bytes(image, TIDE_FIGURE_PEAK, allocator->peak_bytes);
  struct tide_amount total =
      tide_image_bytes(image, TIDE_FIGURE_ALLOCATED, (int64_t)allocator->b_alloc);
  struct tide_amount blocks =
      tide_image_blocks(image, TIDE_FIGURE_ALLOCATED, (int64_t)allocator->n_alloc);
  style.bounds_beside = true; // with the peak
  return tide_sprintf("%s: %s of the peak (%s), %s in %s allocations",
                      tide_family_words(allocator->family),
                      tide_units_share(share, at_peak, image->peak_bytes, style),
                      tide_units_bytes(peak, at_peak, style), tide_units_bytes(all, total, style),
                      blocks.exactness == TIDE_EXACT ? tide_units_digits(n, (uint64_t)blocks.value)
                                                     : tide_units_count(n, blocks, style));
}

char *tide_pages_fact(const struct tide_image *image, struct tide_style style)
{
  char text[TIDE_UNITS_MAX];
  return tide_sprintf("at most, mapped beside the heap; %s at the end",
                      tide_units_bytes(text, tide_exact((int64_t)image->page_live_bytes), style));
}

char *tide_pages_sentence(const struct tide_image *image, struct tide_style style)
{
  char most[TIDE_UNITS_MAX], live[TIDE_UNITS_MAX];
  return tide_sprintf("beside the heap it mapped %s at most, %s at the end",
                      tide_units_bytes(most, tide_exact((int64_t)image->page_peak_bytes), style),
                      tide_units_bytes(live, tide_exact((int64_t)image->page_live_bytes), style));
}

char *tide_peak_sentence(const struct tide_image *image, struct tide_style style)
{
  char size[TIDE_UNITS_MAX], time[TIDE_UNITS_MAX];
  const char *beside = image->lacks & TIDE_LACK_BEFORE ? "beside blocks from before, " : "";
  tide_units_bytes(size, tide_image_peak(image), style);
  if (tide_image_is_merged(image))
    return tide_sprintf("the peaks of all that was merged add up to %s", size);
  if (image->lacks & TIDE_LACK_CLOCK)
    return tide_sprintf("the heap peaked at %s", size);
  uint64_t at_ns = image->peak_ns > image->start_ns ? image->peak_ns - image->start_ns : 0;
  return tide_sprintf("%sthe heap peaked at %s at %s", beside, size,
                      tide_units_time(time, at_ns, style.utf8));
}

char *tide_rss_sentence(const struct tide_image *image, struct tide_style style)
{
  char then[TIDE_UNITS_MAX], other[TIDE_UNITS_MAX];
  if (!image->rss_at_peak_bytes || image->lacks & TIDE_LACK_PEAK)
    return NULL;
  struct tide_amount rss = tide_image_rss_at_peak(image);
  struct tide_amount more =
      tide_amount_of_two(rss.value - image->peak_bytes, rss, tide_image_peak(image));
  tide_units_bytes(then, rss, style);
  if (tide_resident_has_untouched(image)) {
    TIDE_CLEANUP_FREE char *why = tide_resident_untouched_why(image, style);
    return tide_sprintf(
        "RSS was then %s: at least %s of the heap was in memory at no look: %s", then,
        tide_units_bytes(other, tide_exact((int64_t)image->untouched_bytes), style), why);
  }
  if (more.value < 0)
    return tide_sprintf("RSS was then %s", then);
  return tide_sprintf("RSS was then %s, %s more than the heap: %s%scode, stacks, own pages and the "
                      "allocator",
                      then, tide_units_bytes(other, more, style),
                      image->lacks & TIDE_LACK_BEFORE ? "blocks from before, " : "",
                      !*tide_resident_whose(image) ? ""
                      : image->resident_is_lost    ? "perhaps the recorder, "
                                                   : "the recorder, ");
}

char *tide_rss_high_sentence(const struct tide_image *image, struct tide_style style)
{
  char most[TIDE_UNITS_MAX];
  const char *whose = tide_resident_whose(image);
  TIDE_CLEANUP_FREE char *words = tide_resident_high_words(style, image);
  return tide_sprintf("RSS was %s at its highest, %s%s%s",
                      tide_units_bytes(most, tide_exact((int64_t)image->max_rss_bytes), style),
                      words, *whose ? "," : "", whose);
}
