// SPDX-License-Identifier: Apache-2.0
//
// What the allocator adds: its own part of small blocks, and freed memory that it keeps.
#include "findings/subject.h"

#include <string.h>

// ---- small blocks ----

// Of other allocators nobody knows what a block costs beside what was asked for.
static bool is_all_glibc(const struct tide_image *image)
{
  for (size_t i = 0; i < image->n_allocators; i++)
    if (image->allocators[i].family != TIDE_FAMILY_LIBC)
      return false;
  for (size_t i = 0; !*image->allocator && i < image->n_modules; i++) {
    const char *slash = strrchr(image->modules[i].path, '/');
    if (slash && !strcmp(slash, "/libc.so.6"))
      return true;
  }
  return false;
}

// What glibc's malloc takes for a block beside what was asked for, in the mean of such sizes.
static int64_t overhead_of(int64_t bytes)
{
  int64_t chunk = (bytes + 8 + 15) / 16 * 16;
  return (chunk < 32 ? 32 : chunk) - bytes;
}

static void look_for_small(const struct tide_subject *subject, const struct tide_suspect *suspect)
{
  const struct tide_group *place = suspect->place;
  int64_t each = tide_mean(place->peak_bytes, place->peak_blocks);
  int64_t overhead = overhead_of(each);
  if (place->peak_blocks < SMALL_BLOCKS || each > SMALL_BYTES ||
      overhead * place->peak_blocks < subject->peak_bytes / SMALL_OF_PEAK ||
      tide_suspect_n_sizes(suspect) != 1)
    return;
  struct tide_finding *finding = tide_subject_find(
      subject, TIDE_RULE_SMALL, suspect, TIDE_CONFIDENCE_MEDIUM, overhead * place->peak_blocks);
  finding->saving.exactness = TIDE_ESTIMATED;
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_BLOCKS, place->peak_blocks);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_BYTES, place->peak_bytes);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_BLOCK_BYTES, each);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_OVERHEAD_BYTES, overhead);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_PEAK_BYTES, subject->peak_bytes);
}

// ---- freed and kept ----
//
// From the heap's peak on live bytes fall, and the RSS does not follow. How much more of it is no
// heap than at the peak is what was freed and is still there.

static bool is_usable(const struct tide_tick *tick)
{
  const uint64_t most = 1ull << 50;
  return tick->rss_bytes && tick->rss_bytes < most && tick->live_bytes >= 0 &&
         tick->live_bytes < (int64_t)most && tick->page_bytes >= 0 &&
         tick->page_bytes < (int64_t)most;
}

static int64_t beside_heap(const struct tide_tick *tick)
{
  return (int64_t)tick->rss_bytes - tick->live_bytes - tick->page_bytes;
}

// At the look with the most heap: what the RSS has beside it, which is no fragmentation.
static const struct tide_tick *fullest(const struct tide_image *image)
{
  const struct tide_tick *most = NULL;
  for (size_t i = 0; i < image->n_ticks; i++)
    if (is_usable(&image->ticks[i]) && (!most || image->ticks[i].live_bytes > most->live_bytes))
      most = &image->ticks[i];
  return most;
}

// The least of it over the longest time that is long enough, from the end of the run backwards.
struct rest {
  int64_t bytes;
  const struct tide_tick *at, *since;
};

static struct rest kept_until_end(const struct tide_subject *subject, const struct tide_tick *full)
{
  const struct tide_image *image = subject->image;
  uint64_t last_ns = subject->start_ns + subject->run_ns / 1000 * LAST_PERMILLE;
  uint64_t since_ns = last_ns - subject->run_ns / KEPT_RSS_TIME;
  struct rest rest = {0};
  int64_t at_peak = beside_heap(full) > 0 ? beside_heap(full) : 0;
  for (size_t i = 0; i < image->n_ticks; i++) {
    const struct tide_tick *tick = &image->ticks[i];
    if (tick <= full || tick->time_ns > last_ns || tick->time_ns < subject->start_ns ||
        !is_usable(tick))
      continue;
    int64_t kept = beside_heap(tick) - at_peak;
    if (tick->time_ns < since_ns)
      continue;
    if (!rest.at || kept < rest.bytes)
      rest = (struct rest){kept, tick, rest.since ? rest.since : tick};
  }
  return rest;
}

// Who still has blocks then: whose blocks may be what keeps the pages.
static const struct tide_suspect *survivor(const struct tide_subject *subject)
{
  const struct tide_suspect *most = NULL;
  for (size_t i = 0; subject->has_course && i < subject->n_suspects; i++) {
    const struct tide_suspect *suspect = &subject->suspects[i];
    if (suspect->place->peak_blocks > 0 && suspect->course.live_blocks[MOMENTS - 1] > 0 &&
        (!most || suspect->course.live_blocks[MOMENTS - 1] > most->course.live_blocks[MOMENTS - 1]))
      most = suspect;
  }
  return most;
}

static void look_for_fragmented(const struct tide_subject *subject)
{
  const struct tide_image *image = subject->image;
  const struct tide_tick *full = image->has_resident ? fullest(image) : NULL;
  if (!full || !subject->has_course || image->by_fork)
    return;
  struct rest rest = kept_until_end(subject, full);
  if (!rest.at || rest.bytes < KEPT_RSS_BYTES ||
      rest.bytes < (int64_t)rest.at->rss_bytes / KEPT_RSS_PART)
    return;
  const struct tide_suspect *who = survivor(subject);
  struct tide_finding *finding =
      tide_subject_find(subject, TIDE_RULE_FRAGMENTED, who, TIDE_CONFIDENCE_MEDIUM, rest.bytes);
  finding->saving.exactness = TIDE_ESTIMATED;
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_PEAK_BYTES, subject->peak_bytes);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_HEAP_BYTES, rest.at->live_bytes);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_RSS_BYTES, (int64_t)rest.at->rss_bytes);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_SINCE_NS,
                    (int64_t)(rest.at->time_ns - subject->start_ns));
  if (who)
    tide_finding_tell(finding, TIDE_EVIDENCE_OF_BLOCKS, who->course.live_blocks[MOMENTS - 1]);
}

void tide_rules_of_blocks(const struct tide_subject *subject)
{
  bool is_known = is_all_glibc(subject->image);
  for (size_t i = 0; is_known && i < subject->n_suspects; i++)
    look_for_small(subject, &subject->suspects[i]);
  look_for_fragmented(subject);
}
