// SPDX-License-Identifier: Apache-2.0
//
// What comes and does not go: leaks, caches without a limit, queues that are filled faster than
// emptied.
//
// Leaks and caches are told by what is there at a moment and at every later one. If that rises all
// along, and the program frees most of what it allocates or mostly waits, somebody forgets. What
// then happens with the end says which it is: what a clean-up frees was in somebody's hands.
#define _GNU_SOURCE
#include "findings/subject.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static int64_t per_second(int64_t bytes, uint64_t time_ns)
{
  return time_ns ? (int64_t)((double)bytes * 1e9 / (double)time_ns) : 0;
}

static void tell_births(struct tide_finding *finding, const struct tide_suspect *suspect)
{
  const struct tide_group *place = suspect->place;
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_ALLOCATIONS,
                    (int64_t)(place->n_alloc - place->n_resize));
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_FREES, (int64_t)(place->n_free - place->n_resize));
  if (suspect->n_ended)
    tide_finding_tell(finding, TIDE_EVIDENCE_OF_RESIDENCE_NS,
                      (int64_t)(place->life_ns / suspect->n_ended));
  if (place->live_blocks > 0 && place->age_ns > 0)
    tide_finding_tell(finding, TIDE_EVIDENCE_OF_AGE_NS,
                      (int64_t)tide_mean_age_ns(place->age_ns, place->live_blocks));
}

// ---- leaks and caches ----

static bool is_growing(const struct tide_subject *subject, const struct tide_suspect *suspect)
{
  int64_t blocks = suspect->course.base_blocks[MOMENTS - 1];
  int64_t bytes = suspect->course.base_bytes[MOMENTS - 1];
  return blocks >= LEAST_BLOCKS && bytes >= LEAST_BYTES &&
         bytes >= subject->memory_bytes / LEAST_OF_PEAK &&
         tide_course_rises(subject, suspect->course.base_blocks);
}

static bool is_kept(const struct tide_suspect *suspect)
{
  return suspect->place->live_blocks * 100 >=
         suspect->course.base_blocks[MOMENTS - 1] * KEPT_PERCENT;
}

// Of what came after the first moments and was never freed, how much is of places that grow all
// along. A program that ends without freeing anything leaves much beside a leak.
static bool leaks_stand_out(const struct tide_subject *subject)
{
  int64_t all = 0, leaking = 0;
  for (size_t i = 0; i < subject->n_suspects; i++) {
    const struct tide_suspect *suspect = &subject->suspects[i];
    int64_t late = suspect->place->live_bytes - suspect->course.base_bytes[1];
    if (late <= 0)
      continue;
    all = tide_added(all, late);
    if (is_growing(subject, suspect) && is_kept(suspect))
      leaking = tide_added(leaking, late);
  }
  return leaking >= all / 100 * LEAK_PERCENT;
}

// Stacks are by falling weight, of all that was allocated; so all are looked at.
static int by_falling(const void *left, const void *right)
{
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return (a < b) - (a > b);
}

// Through how many stacks half of it came.
static size_t n_stacks_for_half(const struct tide_subject *subject,
                                const struct tide_suspect *suspect)
{
  const struct tide_groups *groups = subject->groups;
  size_t first = groups->first[suspect->group_idx], n_enough = 0;
  size_t n = groups->first[suspect->group_idx + 1] - first;
  TIDE_CLEANUP_FREE int64_t *held = tide_alloc_array(n + 1, sizeof *held);
  int64_t all = 0, sum = 0;
  for (size_t i = 0; i < n; i++) {
    const struct tide_profile_site *site = &subject->profile->sites[groups->sites[first + i]];
    held[i] = TIDE_OF_SITE(site, peak_blocks) > tide_site_live_blocks(site)
                  ? TIDE_OF_SITE(site, peak_blocks)
                  : tide_site_live_blocks(site);
    held[i] = held[i] > 0 ? held[i] : 0;
    all = tide_added(all, held[i]);
  }
  if (n)
    qsort(held, n, sizeof *held, by_falling);
  while (n_enough < n && sum < all / 2)
    sum = tide_added(sum, held[n_enough++]);
  return n_enough;
}

static bool is_sure(const struct tide_subject *subject, const struct tide_suspect *suspect)
{
  return suspect->course.base_bytes[MOMENTS - 1] >= subject->memory_bytes / SURE_OF_MEMORY &&
         n_stacks_for_half(subject, suspect) <= SPREAD_STACKS;
}

static void find_growth(const struct tide_subject *subject, const struct tide_suspect *suspect,
                        enum tide_finding_rule rule, enum tide_confidence confidence)
{
  const struct tide_group *place = suspect->place;
  int64_t bytes = suspect->course.base_bytes[MOMENTS - 1];
  bool kept = is_kept(suspect);
  struct tide_finding *finding =
      tide_subject_find(subject, rule, suspect, confidence,
                        kept && place->live_bytes > bytes ? place->live_bytes : bytes);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_BLOCKS,
                    kept ? place->live_blocks : suspect->course.base_blocks[MOMENTS - 1]);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_BYTES, finding->saving.value);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_PEAK_BYTES, subject->peak_bytes);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_BYTES_PER_SECOND,
                    per_second(finding->saving.value, subject->run_ns));
  tell_births(finding, suspect);
}

static bool is_waiting(const struct tide_subject *subject)
{
  uint64_t cpu_ns = subject->image->cpu_ns;
  return cpu_ns && cpu_ns < subject->run_ns / WAITING_PART;
}

// One that frees little is less sure of it: what it waits for may be what it keeps.
static enum tide_confidence confidence_of(const struct tide_subject *subject,
                                          const struct tide_suspect *suspect)
{
  if (!is_sure(subject, suspect))
    return TIDE_CONFIDENCE_LOW;
  return subject->churned_percent < CHURN_PERCENT ? TIDE_CONFIDENCE_MEDIUM : TIDE_CONFIDENCE_HIGH;
}

static void look_for_growth(const struct tide_subject *subject)
{
  bool is_ended = subject->image->end_kind == TIDE_END_EXITED;
  bool stand_out = leaks_stand_out(subject);
  if (subject->churned_percent < CHURN_PERCENT && !is_waiting(subject))
    return;
  for (size_t i = 0; i < subject->n_suspects; i++) {
    const struct tide_suspect *suspect = &subject->suspects[i];
    if (!is_growing(subject, suspect))
      continue;
    bool is_leak = is_kept(suspect) && is_ended;
    find_growth(subject, suspect, is_leak ? TIDE_RULE_LEAK : TIDE_RULE_GROWTH,
                is_leak && !stand_out ? TIDE_CONFIDENCE_LOW : confidence_of(subject, suspect));
  }
}

// ---- backlogs ----

// The most that waited at once, by what was seen and by what the peak and the end tell.
static int64_t most_waiting(const struct tide_suspect *suspect)
{
  int64_t most = suspect->place->peak_blocks;
  for (int i = 0; i < MOMENTS; i++)
    if (suspect->course.live_blocks[i] > most)
      most = suspect->course.live_blocks[i];
  return most;
}

// Used up while the run goes on: more is made meanwhile, or it goes little by little.
static bool is_used_up(const struct tide_subject *subject, const struct tide_suspect *suspect,
                       int64_t born, int64_t most)
{
  uint64_t first_ns = suspect->place->first_ns, last_ns = suspect->place->last_ns;
  uint64_t made_ns = last_ns > first_ns ? last_ns - first_ns : 0;
  bool meanwhile = most * 100 < born * KEPT_PERCENT && made_ns > subject->run_ns / EARLY_PART;
  bool all_along = !subject->image->has_late_frees || subject->is_seldom_seen ||
                   tide_course_frees(suspect->course.freed_blocks) >= FREES_LEAST;
  return (meanwhile && all_along) || tide_course_falls(suspect->course.live_blocks) >= FALLS_LEAST;
}

// Lives that are brief for this run: what is made in numbers and used at once is in no queue.
static uint64_t n_brief(const struct tide_subject *subject, const struct tide_suspect *suspect)
{
  uint64_t n = 0;
  for (unsigned i = 0; i < TIDE_LIFE_BUCKETS_N && 1ull << i <= subject->run_ns / BRIEF_PART; i++)
    n += suspect->lives[i];
  return n;
}

// Within one thread a queue is told from a working set by its course alone: up and, once nothing
// comes any more, down, and nearly all of it waits. What was there as a whole before any of it went
// is no queue, but what a program reads in and takes down at its end.
static bool has_course_of_queue(const struct tide_subject *subject,
                                const struct tide_suspect *suspect, int64_t born, int64_t most)
{
  const int64_t *curve = suspect->course.live_blocks;
  return most * 100 < born * KEPT_PERCENT &&
         tide_course_climbs(curve) + tide_course_falls(curve) >= RISES_LEAST &&
         n_brief(subject, suspect) < suspect->n_ended / BRIEF_SHARE;
}

// What the blocks wait in, where its own blocks come from the same line: the outermost frame below
// the place, of one of its stacks, that is called after a queue.
static bool is_of_queue(const struct tide_named_frame *frame)
{
  static const char *const words[] = {"mpsc", "mpmc", "channel", "queue", "deque"};
  for (size_t i = 0; frame->function && i < sizeof words / sizeof *words; i++)
    if (strcasestr(frame->function, words[i]))
      return true;
  return false;
}

static const struct tide_named_frame *queue_of_stack(const struct tide_subject *subject,
                                                     uint32_t stack)
{
  const struct tide_named_frame *queue = NULL;
  for (uint32_t node = stack; node; node = subject->image->frames[node].parent) {
    size_t n = 0;
    const struct tide_named_frame *frames = tide_naming_try_node(subject->naming, node, &n);
    for (size_t i = 0; frames && i < n; i++) {
      if (frames[i].layer == TIDE_LAYER_USER)
        return queue;
      queue = is_of_queue(&frames[i]) ? &frames[i] : queue;
    }
    if (!frames)
      return NULL;
  }
  return NULL;
}

static const struct tide_named_frame *queue_of(const struct tide_subject *subject,
                                               const struct tide_suspect *suspect)
{
  const struct tide_groups *groups = subject->groups;
  const struct tide_named_frame *queue = NULL;
  size_t first = groups->first[suspect->group_idx], end = groups->first[suspect->group_idx + 1];
  for (size_t i = first; !queue && i < end && i < first + SPREAD_STACKS; i++)
    queue = queue_of_stack(subject, groups->stacks[i]);
  return queue;
}

static void look_for_backlog(const struct tide_subject *subject, const struct tide_suspect *suspect)
{
  const struct tide_group *place = suspect->place;
  int64_t born = (int64_t)(place->n_alloc - place->n_resize);
  int64_t died = (int64_t)(place->n_free - place->n_resize), most = most_waiting(suspect);
  uint64_t residence_ns = suspect->n_ended ? place->life_ns / suspect->n_ended : 0;
  int64_t bytes =
      (int64_t)((double)most * (double)place->b_alloc / (double)(place->n_alloc + !place->n_alloc));
  if (most < BACKLOG_BLOCKS || most < born / BACKLOG_PART || bytes < LEAST_BYTES ||
      bytes < subject->peak_bytes / BACKLOG_OF_PEAK || died < born / BACKLOG_PART ||
      residence_ns < subject->run_ns / RESIDENCE_PART)
    return;
  bool is_foreign = place->n_foreign > (uint64_t)died / 2;
  if (!is_used_up(subject, suspect, born, most) ||
      (!is_foreign && !has_course_of_queue(subject, suspect, born, most)))
    return;
  struct tide_finding *finding =
      tide_subject_find(subject, TIDE_RULE_BACKLOG, suspect,
                        is_foreign ? TIDE_CONFIDENCE_HIGH : TIDE_CONFIDENCE_MEDIUM, bytes);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_BLOCKS, most);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_BYTES, bytes);
  tide_finding_tell(finding, TIDE_EVIDENCE_OF_PEAK_BYTES, subject->peak_bytes);
  tell_births(finding, suspect);
  finding->queue = queue_of(subject, suspect);
  if (is_foreign)
    tide_finding_tell(finding, TIDE_EVIDENCE_OF_FOREIGN_FREES, (int64_t)place->n_foreign);
}

void tide_rules_of_growth(const struct tide_subject *subject)
{
  if (!subject->has_course)
    return;
  look_for_growth(subject);
  for (size_t i = 0; i < subject->n_suspects; i++)
    look_for_backlog(subject, &subject->suspects[i]);
}
