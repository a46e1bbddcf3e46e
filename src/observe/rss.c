// SPDX-License-Identifier: Apache-2.0
//
// Looking at the RSS, and telling the two parts of it apart. See rss.h.
#define _GNU_SOURCE
#include "observe/rss.h"

#include "base/alloc.h"
#include "base/proc.h"

#include <stdlib.h>
#include <time.h>

#define MS UINT64_C(1000000)
#define MARK_INTERVAL_NS (50 * MS)
#define FIRST_LOOK_INTERVAL_NS (1 * MS)
#define LOOK_REST 200
#define NEAR_BYTES (1 << 20)
#define SETTLED_NS (1000 * MS)

void tide_rss_init(struct tide_rss *rss, uint32_t pid, uint64_t time_ns)
{
  *rss = (struct tide_rss){
      .pid = pid,
      .look_interval_ns = FIRST_LOOK_INTERVAL_NS,
      .next_look_ns = time_ns,
      .next_mark_ns = time_ns + MARK_INTERVAL_NS,
  };
  tide_resident_open(&rss->resident, pid);
}

void tide_rss_done(struct tide_rss *rss)
{
  tide_resident_close(&rss->resident);
  free(rss->looks);
  free(rss->kinds);
  rss->looks = NULL;
  rss->kinds = NULL;
  rss->n_looks = rss->cap_looks = rss->n_kinds = rss->cap_kinds = 0;
}

static uint64_t own_cpu_ns(void)
{
  struct timespec spent;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return (uint64_t)spent.tv_sec * 1000 * MS + (uint64_t)spent.tv_nsec;
}

static void thin_looks(struct tide_rss *rss)
{
  size_t kept = 0;
  for (size_t i = 1; i < rss->n_looks; i += 2)
    rss->looks[kept++] = rss->looks[i];
  rss->n_looks = kept;
  rss->look_interval_ns *= 2;
}

static uint64_t last_recorder_bytes(const struct tide_rss *rss)
{
  return rss->n_looks ? rss->looks[rss->n_looks - 1].recorder_bytes : 0;
}

static uint64_t less(uint64_t all, uint64_t part)
{
  return all > part ? all - part : 0;
}

// Every other one goes, and those to come are as far apart.
static void thin_kinds(struct tide_rss *rss)
{
  size_t kept = 0;
  uint64_t span_ns = rss->kinds[rss->n_kinds - 1].time_ns - rss->kinds[0].time_ns;
  for (size_t i = 1; i < rss->n_kinds; i += 2)
    rss->kinds[kept++] = rss->kinds[i];
  rss->n_kinds = kept;
  rss->kinds_interval_ns = span_ns / kept;
}

static bool are_kinds_due(const struct tide_rss *rss, uint64_t time_ns)
{
  return !rss->n_kinds || time_ns >= rss->kinds[rss->n_kinds - 1].time_ns + rss->kinds_interval_ns;
}

// Of what kinds the program's own is, beside what is the recorder's.
static void look_at_kinds(struct tide_rss *rss, const struct tide_store_view *view,
                          uint64_t time_ns, uint64_t recorder_bytes)
{
  struct tide_proc_marks marks = tide_proc_marks(rss->pid);
  uint64_t files = rss->resident.recorder_file_bytes, shared = rss->resident.recorder_shared_bytes;
  bool is_still_the_images = tide_resident_all(&rss->resident, view) > 0;
  if (!marks.has_kinds || !is_still_the_images)
    return;
  if (rss->n_kinds == TIDE_RSS_MAX_KINDS)
    thin_kinds(rss);
  TIDE_GROW(rss->kinds, rss->n_kinds, rss->cap_kinds);
  rss->kinds[rss->n_kinds++] = (struct tide_rss_kinds){
      .time_ns = time_ns,
      .anonymous_bytes = less(marks.anonymous_bytes, recorder_bytes - files - shared),
      .file_bytes = less(marks.file_bytes, files),
      .shared_bytes = less(marks.shared_bytes, shared),
      .swapped_bytes = marks.swapped_bytes,
  };
}

static void look_at_memory(struct tide_rss *rss, const struct tide_store_view *view,
                           uint64_t time_ns, uint64_t all_bytes, size_t n_sharing)
{
  uint64_t before_ns = own_cpu_ns();
  uint64_t recorder_bytes = tide_resident_recorder(&rss->resident, view);
  bool is_known = recorder_bytes && recorder_bytes < all_bytes;
  if (is_known && are_kinds_due(rss, time_ns))
    look_at_kinds(rss, view, time_ns, recorder_bytes);
  rss->spent_ns = own_cpu_ns() - before_ns;
  uint64_t rest_ns = rss->spent_ns * LOOK_REST * n_sharing;
  rss->next_look_ns = time_ns + (rest_ns > rss->look_interval_ns ? rest_ns : rss->look_interval_ns);
  if (!is_known)
    return;
  if (recorder_bytes < last_recorder_bytes(rss)) // it did shrink, at some time since
    tide_untouched_doubt(&rss->untouched, last_recorder_bytes(rss) - recorder_bytes);
  if (rss->n_looks == TIDE_RSS_MAX_LOOKS)
    thin_looks(rss);
  TIDE_GROW(rss->looks, rss->n_looks, rss->cap_looks);
  rss->looks[rss->n_looks++] = (struct tide_rss_look){time_ns, all_bytes, recorder_bytes};
  if (recorder_bytes > rss->max_recorder_bytes)
    rss->max_recorder_bytes = recorder_bytes;
}

void tide_rss_restart(struct tide_rss *rss)
{
  rss->old_mark_bytes = tide_proc_marks(rss->pid).high_bytes;
  rss->at_tick = rss->marked = (struct tide_rss_high){0};
  rss->max_own_bytes = rss->max_all_bytes = rss->max_swapped_bytes = 0;
  rss->untouched = (struct tide_untouched){0};
}

void tide_rss_note_mark(struct tide_rss *rss, uint64_t time_ns, uint64_t high_bytes)
{
  if (high_bytes > rss->max_all_bytes && high_bytes > rss->marked.all_bytes &&
      high_bytes > rss->old_mark_bytes)
    rss->marked = (struct tide_rss_high){time_ns, high_bytes, -1};
}

void tide_rss_note_ceiling(struct tide_rss *rss, uint64_t high_bytes)
{
  rss->ceiling_bytes = high_bytes;
  rss->ceiling_ns = UINT64_MAX;
}

void tide_rss_note_end(struct tide_rss *rss, uint64_t time_ns)
{
  bool is_final = rss->ceiling_ns == UINT64_MAX;
  tide_untouched_leave(&rss->untouched, time_ns, is_final ? rss->ceiling_bytes : 0);
  rss->has_ended = true;
}

static void look_at_untouched(struct tide_rss *rss, const struct tide_store_view *view,
                              struct tide_untouched_look *look)
{
  struct tide_store_totals totals;
  tide_store_view_totals(view, &totals);
  look->after_bytes = totals.live_bytes > 0 ? totals.live_bytes : 0;
  if (tide_untouched_is_over(&rss->untouched, look)) {
    uint64_t high_bytes = tide_proc_marks(rss->pid).high_bytes;
    bool is_same = tide_resident_all(&rss->resident, view) > 0;
    tide_untouched_leave(&rss->untouched, look->time_ns, is_same ? high_bytes : 0);
  }
  tide_untouched_take(&rss->untouched, look);
}

uint64_t tide_rss_take(struct tide_rss *rss, const struct tide_store_view *view, uint64_t time_ns,
                       int64_t live_bytes, size_t n_sharing)
{
  uint64_t all_bytes = tide_resident_all(&rss->resident, view);
  // Of these, at least so much is the recorder's: it was counted before, and does not shrink.
  struct tide_untouched_look look = {time_ns, live_bytes, 0, all_bytes, last_recorder_bytes(rss)};
  rss->spent_ns = 0;
  if (!all_bytes)
    return 0;
  look_at_untouched(rss, view, &look);
  if (time_ns >= rss->next_look_ns)
    look_at_memory(rss, view, time_ns, all_bytes, n_sharing);
  uint64_t own_bytes = all_bytes - last_recorder_bytes(rss);
  if (all_bytes > rss->max_all_bytes)
    rss->max_all_bytes = all_bytes;
  if (own_bytes <= all_bytes && own_bytes > rss->max_own_bytes) {
    rss->max_own_bytes = own_bytes;
    rss->at_tick = (struct tide_rss_high){time_ns, all_bytes, live_bytes};
  }
  if (time_ns >= rss->next_mark_ns) {
    struct tide_proc_marks marks = tide_proc_marks(rss->pid);
    rss->next_mark_ns = time_ns + MARK_INTERVAL_NS;
    if (tide_resident_all(&rss->resident, view)) { // still the same image's
      tide_rss_note_mark(rss, time_ns, marks.high_bytes);
      rss->ceiling_bytes = marks.high_bytes;
      rss->ceiling_ns = time_ns;
      if (marks.swapped_bytes > rss->max_swapped_bytes)
        rss->max_swapped_bytes = marks.swapped_bytes;
    }
  }
  return all_bytes;
}

// How far a reading between two looks was on its way from the one to the other, 0 to 1: by what was
// in memory, of which the recorder's is a part, and by time where that tells nothing. (A program
// that allocates quickly and then waits is at its end long before the second look.)
static double way_between(const struct tide_rss_look *before, const struct tide_rss_look *after,
                          uint64_t time_ns, uint64_t all_bytes)
{
  double from = (double)before->all_bytes, to = (double)after->all_bytes;
  double way = ((double)all_bytes - from) / (to - from);
  if (before->all_bytes != after->all_bytes && way >= 0 && way <= 1)
    return way;
  return (double)(time_ns - before->time_ns) / (double)(after->time_ns - before->time_ns);
}

// What of all_bytes was the recorder's at a moment, and by how much that may be wrong.
static uint64_t recorder_at(const struct tide_rss *rss, uint64_t time_ns, uint64_t all_bytes,
                            uint64_t *ret_bound)
{
  size_t low = 0, high = rss->n_looks;
  while (low < high) { // the first that is later
    size_t middle = (low + high) / 2;
    if (rss->looks[middle].time_ns <= time_ns)
      low = middle + 1;
    else
      high = middle;
  }
  const struct tide_rss_look *after = low < rss->n_looks ? &rss->looks[low] : NULL;
  const struct tide_rss_look *before = low ? &rss->looks[low - 1] : after;
  double bytes = (double)before->recorder_bytes;
  *ret_bound = 0;
  if (before->time_ns == time_ns)
    return before->recorder_bytes;
  if (after && after != before) {
    double more = (double)after->recorder_bytes - bytes;
    bytes += more * way_between(before, after, time_ns, all_bytes);
    *ret_bound = (uint64_t)(more < 0 ? -more : more);
  } else if (all_bytes > before->all_bytes) {
    // After the last look: of what came since, as large a part as of what came before it.
    const struct tide_rss_look *first = &rss->looks[0];
    double grown = (double)before->all_bytes - (double)first->all_bytes;
    double ours = bytes - (double)first->recorder_bytes;
    double part = grown > 0 && ours > 0 && ours < grown ? ours / grown : 0;
    *ret_bound = all_bytes - before->all_bytes;
    bytes += part * (double)*ret_bound;
  }
  return bytes < (double)all_bytes ? (uint64_t)bytes : all_bytes;
}

uint64_t tide_rss_own(const struct tide_rss *rss, uint64_t time_ns, uint64_t all_bytes,
                      uint64_t *ret_bound)
{
  *ret_bound = 0;
  return rss->n_looks && all_bytes ? all_bytes - recorder_at(rss, time_ns, all_bytes, ret_bound)
                                   : all_bytes;
}

static void take_if_highest(struct tide_image *image, uint64_t time_ns, uint64_t bytes,
                            int64_t live_bytes)
{
  if (bytes <= image->max_rss_bytes)
    return;
  image->max_rss_bytes = bytes;
  image->max_rss_ns = time_ns;
  image->max_rss_live_bytes = live_bytes;
}

bool tide_rss_is_at_peak(const struct tide_image *image, const struct tide_tick *tick)
{
  return image->peak_bytes - tick->live_bytes <= image->peak_bytes / 64;
}

static bool is_like_peak(const struct tide_image *image, const struct tide_tick *tick)
{
  int64_t missing = image->peak_bytes - tick->live_bytes;
  return missing < NEAR_BYTES || missing < image->peak_bytes / 4;
}

// Were the blocks of the peak freed by then, or is there no later?
static bool is_peak_over_by(const struct tide_image *image, uint64_t time_ns)
{
  for (size_t i = 0; i < image->n_ticks; i++) {
    const struct tide_tick *tick = &image->ticks[i];
    if (tick->time_ns >= image->peak_ns &&
        tick->live_bytes < image->peak_bytes - image->peak_bytes / 4)
      return tick->time_ns <= time_ns;
  }
  return false;
}

// What was allocated at the peak beyond all that was ever in memory, until that was freed. It needs
// no look at the peak itself.
static uint64_t above_ceiling(const struct tide_rss *rss, const struct tide_image *image)
{
  if (!rss->ceiling_bytes || image->peak_bytes <= 0)
    return 0;
  bool is_final = rss->ceiling_ns == UINT64_MAX || is_peak_over_by(image, rss->ceiling_ns) ||
                  (!rss->has_ended && rss->ceiling_ns >= image->peak_ns + SETTLED_NS);
  uint64_t peak_bytes = (uint64_t)image->peak_bytes;
  return is_final && peak_bytes > rss->ceiling_bytes ? peak_bytes - rss->ceiling_bytes : 0;
}

static uint64_t untouched_bytes(const struct tide_rss *rss, const struct tide_image *image)
{
  if (rss->max_swapped_bytes || image->sampled_every_bytes) // of an estimate, nothing is at least
    return 0;
  uint64_t above = above_ceiling(rss, image);
  uint64_t seen = tide_untouched_bytes(&rss->untouched, image->peak_bytes);
  return above > seen ? above : seen;
}

static void fill_kinds(const struct tide_rss *rss, struct tide_image *image)
{
  if (!rss->n_kinds)
    return;
  image->rss_kinds = tide_alloc_array(rss->n_kinds, sizeof *image->rss_kinds);
  for (size_t i = 0; i < rss->n_kinds; i++)
    if (rss->kinds[i].time_ns >= image->start_ns && rss->kinds[i].time_ns <= image->end_ns)
      image->rss_kinds[image->n_rss_kinds++] = rss->kinds[i];
}

void tide_rss_fill_image(const struct tide_rss *rss, const struct tide_tick *near,
                         struct tide_image *image)
{
  const struct tide_rss_high *highs[] = {&rss->at_tick, &rss->marked};
  uint64_t bound;
  image->has_resident = true;
  image->rss_is_own = rss->n_looks > 0;
  image->recorder_rss_bytes = rss->max_recorder_bytes;
  image->swapped_bytes = rss->max_swapped_bytes;
  fill_kinds(rss, image);
  for (size_t i = 0; i < image->n_ticks; i++)
    take_if_highest(image, image->ticks[i].time_ns, image->ticks[i].rss_bytes,
                    image->ticks[i].live_bytes);
  for (size_t i = 0; i < 2; i++)
    if (i == 0 || highs[i]->all_bytes > rss->max_all_bytes)
      take_if_highest(image, highs[i]->time_ns,
                      tide_rss_own(rss, highs[i]->time_ns, highs[i]->all_bytes, &bound),
                      highs[i]->live_bytes);
  image->untouched_bytes = untouched_bytes(rss, image);
  if (!near->rss_bytes || !is_like_peak(image, near))
    return;
  image->rss_at_peak_bytes =
      tide_rss_own(rss, near->time_ns, near->rss_bytes, &image->rss_bound_bytes);
}
