// SPDX-License-Identifier: Apache-2.0
//
// The places are gathered, the rules asked, and what they found is ranked.
#include "findings/findings.h"

#include "base/alloc.h"
#include "findings/subject.h"
#include "profile/timeline.h"

#include <stdlib.h>
#include <string.h>

const struct tide_rule_row tide_rule_rows[TIDE_RULES_N] = {
#define TIDE_RULE(name, word, unit, needs, hint, says)                                             \
  {word, TIDE_SAVING_##unit, needs, TIDE_HINT_##hint, says},
#include "findings/rules.def"
};
const struct tide_evidence_row tide_evidence_rows[TIDE_EVIDENCES_N] = {
#define TIDE_EVIDENCE(name, key, unit) {key, TIDE_EVIDENCE_##unit},
#include "findings/rules.def"
};
const char *const tide_saving_words[TIDE_SAVINGS_N] = {"bytes", "copied_bytes", "calls"};
const char *const tide_confidence_words[] = {"low", "medium", "high"};
const char *const tide_finding_kind_words[] = {"fault", "note"};

// ---- what is looked at ----

// Numbers come from files. Of those that no program ever had nothing is concluded, and what is left
// can be multiplied and added without a thought.
static const uint64_t most = 1ull << 50;    // a petabyte
static const uint64_t longest = 1ull << 60; // 36 years

static int64_t sane(int64_t value)
{
  return value < 0 ? 0 : value > (int64_t)most ? (int64_t)most : value;
}

// Pages that were mapped and never touched are no memory.
static int64_t memory_of(const struct tide_image *image)
{
  int64_t pages = sane(image->page_peak_bytes);
  int64_t resident = image->max_rss_bytes > most ? (int64_t)most : (int64_t)image->max_rss_bytes;
  return sane(image->peak_bytes) + (resident && pages > resident ? resident : pages);
}

static bool is_sane(const struct tide_image *image, const struct tide_group *group)
{
  for (size_t i = 0; i < tide_number_list_n; i++) {
    const struct tide_number *number = &tide_number_list[i];
    if (number->unit != TIDE_NUMBER_NS && tide_number_get(&group->numbers, number) > most)
      return false; // or below zero
  }
  bool has_times = group->n_alloc && !(image->lacks & TIDE_LACK_TIMES);
  // Their order is not to be relied on: of a block alone first and last are two readings of a
  // clock.
  if (has_times && (group->first_ns > longest || group->last_ns > longest))
    return false;
  return group->life_ns / (1 + group->n_free) <= longest && group->n_resize <= group->n_alloc &&
         group->n_free <= group->n_alloc && group->n_resize <= group->n_free;
}

// The looks that stand for the moments of a run up to last_ns after its start; how many there are.
static unsigned pick_looks(const struct tide_subject *subject, const struct tide_timeline *timeline,
                           uint64_t last_ns, size_t ret_looks[MOMENTS])
{
  unsigned n_seen = 0;
  size_t look = 0;
  for (unsigned i = 0; i < MOMENTS; i++) {
    uint64_t at = subject->start_ns + last_ns - last_ns / MOMENTS * (MOMENTS - 1 - i);
    size_t before = look;
    while (look + 1 < timeline->n_times && timeline->times_ns[look + 1] <= at)
      look++;
    n_seen += !i || look != before;
    ret_looks[i] = look;
  }
  return n_seen;
}

static uint64_t n_since(uint64_t after, uint64_t before)
{
  return after > before ? after - before : 0;
}

// From one tick to the next it freed and made nothing new, or next to nothing.
static bool is_taking_down(const struct tide_tick *before, const struct tide_tick *after)
{
  return n_since(after->n_alloc, before->n_alloc) <=
         n_since(after->n_free, before->n_free) / TAKEN_DOWN_PART;
}

// Where the program began to take down what it had built: since that tick it allocated nothing any
// more, and freed. NULL: it did not.
static const struct tide_tick *last_at_work(const struct tide_image *image)
{
  const struct tide_tick *first = image->ticks, *found = NULL;
  for (size_t i = image->n_ticks; i > 1 && is_taking_down(&first[i - 2], &first[i - 1]); i--)
    if (first[i - 1].n_free > first[i - 2].n_free)
      found = &first[i - 2];
  return found;
}

// How much of the run tells what grows: up to where programs take down what they built or, where a
// busy machine held this one up at that, up to its beginning.
static uint64_t grown_until(const struct tide_subject *subject)
{
  const struct tide_image *image = subject->image;
  const struct tide_tick *last = last_at_work(image);
  uint64_t usual_ns = subject->run_ns / 1000 * LAST_PERMILLE;
  if (!last || last->time_ns < subject->start_ns)
    return usual_ns;
  uint64_t until_ns = last->time_ns - subject->start_ns;
  uint64_t n_freed = n_since(image->ticks[image->n_ticks - 1].n_free, last->n_free);
  bool is_held_up = n_freed < (subject->run_ns - usual_ns) / TAKEN_DOWN_NS;
  return is_held_up && until_ns < usual_ns && until_ns >= subject->run_ns / 1000 * GROWN_PERMILLE
             ? until_ns
             : usual_ns;
}

// False: there are too few looks to tell a course.
static bool pick_moments(struct tide_subject *subject, const struct tide_timeline *timeline,
                         size_t ret_looks[MOMENTS], size_t ret_growing[MOMENTS])
{
  uint64_t last_ns = subject->run_ns / 1000 * LAST_PERMILLE;
  unsigned n_seen = pick_looks(subject, timeline, last_ns, ret_looks);
  pick_looks(subject, timeline, grown_until(subject), ret_growing);
  for (unsigned i = 0; i < MOMENTS; i++)
    subject->moments_ns[i] = timeline->times_ns[ret_growing[i]];
  subject->is_seldom_seen = n_seen < MOMENTS_SEEN;
  return n_seen >= MOMENTS_LEAST;
}

// What is there at a moment and at all looks after it, up to the last moment.
static void base_of(const int64_t *curve, const size_t looks[MOMENTS], int64_t base[MOMENTS])
{
  int64_t least = curve[looks[MOMENTS - 1]];
  size_t look = looks[MOMENTS - 1];
  for (int i = MOMENTS - 1; i >= 0; i--) {
    for (; look > looks[i]; look--)
      least = curve[look] < least ? curve[look] : least;
    least = curve[look] < least ? curve[look] : least;
    base[i] = sane(least);
  }
}

static void tell_courses(struct tide_subject *subject, const struct tide_timeline *timeline,
                         const size_t looks[MOMENTS], const size_t growing[MOMENTS])
{
  const struct tide_groups *groups = subject->groups;
  TIDE_CLEANUP_FREE int64_t *live = tide_alloc_array(timeline->n_times + 1, sizeof *live);
  for (size_t i = 0; i < subject->n_suspects; i++) {
    struct tide_suspect *suspect = &subject->suspects[i];
    size_t first = groups->first[suspect->group_idx];
    size_t n = groups->first[suspect->group_idx + 1] - first;
    tide_timeline_sum(timeline, groups->stacks + first, n, TIDE_UNIT_BLOCKS, live, NULL);
    for (unsigned k = 0; k < MOMENTS; k++)
      suspect->course.live_blocks[k] = sane(live[looks[k]]);
    base_of(live, growing, suspect->course.base_blocks);
    tide_timeline_sum(timeline, groups->stacks + first, n, TIDE_UNIT_BYTES, live, NULL);
    for (unsigned k = 0; k < MOMENTS; k++)
      suspect->course.live_bytes[k] = sane(live[looks[k]]);
    base_of(live, growing, suspect->course.base_bytes);
  }
}

// By the snapshot in which they were freed: what is freed in the interval of its birth never
// waited.
static void tell_frees(struct tide_subject *subject, const size_t looks[MOMENTS])
{
  const struct tide_image *image = subject->image;
  for (size_t i = 0; i < image->n_late_frees; i++) {
    const struct tide_late_free *freed = &image->late_frees[i];
    size_t idx = tide_subject_of_stack(subject, freed->stack);
    unsigned k = 0;
    while (k < MOMENTS && looks[k] < freed->freed)
      k++;
    if (k == MOMENTS || idx == TIDE_SUSPECT_NONE || freed->n_blocks > most)
      continue;
    int64_t *sum = &subject->suspects[idx].course.freed_blocks[k];
    *sum = tide_added(*sum, (int64_t)freed->n_blocks);
  }
}

static uint64_t threads_of(const struct tide_subject *subject, const struct tide_suspect *suspect)
{
  const struct tide_groups *groups = subject->groups;
  const struct tide_image *image = subject->image;
  TIDE_CLEANUP_FREE uint8_t *met = tide_alloc(image->n_threads_known + 1);
  uint64_t n = 0;
  for (size_t i = groups->first[suspect->group_idx]; i < groups->first[suspect->group_idx + 1];
       i++) {
    const struct tide_profile_site *site = &subject->profile->sites[groups->sites[i]];
    for (uint32_t k = 0; k < site->n_rows; k++) {
      const struct tide_site row =
          tide_image_site(image, subject->profile->rows[site->first_row + k]);
      if (row.thread >= image->n_threads_known || !row.n_alloc || met[row.thread])
        continue;
      met[row.thread] = 1;
      n += image->threads[row.thread].n_owners ? image->threads[row.thread].n_owners : 1;
    }
  }
  return n;
}

static void gather_suspects(struct tide_subject *subject)
{
  const struct tide_groups *groups = subject->groups;
  subject->suspects = tide_alloc_array(groups->n + 1, sizeof *subject->suspects);
  subject->of_stack = tide_alloc_array(subject->image->n_frames + 1, sizeof *subject->of_stack);
  for (size_t i = 0; i < groups->n; i++) {
    const struct tide_group *place = &groups->items[i];
    struct tide_suspect *suspect = &subject->suspects[subject->n_suspects];
    if (!place->frame || !is_sane(subject->image, place))
      continue;
    *suspect = (struct tide_suspect){.place = place, .group_idx = i};
    tide_groups_histograms(groups, subject->profile, i, suspect->sizes, suspect->lives);
    suspect->n_ended = tide_profile_n_ended(subject->image, place->n_free, suspect->lives);
    suspect->n_threads = threads_of(subject, suspect);
    subject->n_suspects++;
    for (size_t k = groups->first[i]; k < groups->first[i + 1]; k++)
      subject->of_stack[groups->stacks[k]] = (uint32_t)subject->n_suspects;
  }
}

// The latest tick up to a moment.
static const struct tide_tick *tick_at(const struct tide_subject *subject, unsigned moment)
{
  const struct tide_image *image = subject->image;
  const struct tide_tick *last = NULL;
  for (size_t i = 0; i < image->n_ticks; i++)
    if (image->ticks[i].time_ns <= subject->moments_ns[moment])
      last = &image->ticks[i];
  return last;
}

static void tell_progress(struct tide_subject *subject)
{
  uint64_t before = 0, all = 0;
  for (unsigned i = 0; i < MOMENTS; i++) {
    const struct tide_tick *tick = tick_at(subject, i);
    uint64_t now = tick && tick->n_alloc < most ? tick->n_alloc : before;
    subject->made[i] = i ? n_since(now, before) : 0;
    all += subject->made[i];
    before = now;
  }
  for (unsigned i = 1; i < MOMENTS; i++)
    subject->gets_on[i] = subject->made[i] > all / (MOMENTS - 1) / STEP_PART;
}

static uint64_t churned_percent(const struct tide_subject *subject)
{
  const struct tide_image *image = subject->image;
  const struct tide_tick *last = tick_at(subject, MOMENTS - 1);
  if (!last || !last->n_alloc || last->n_alloc > most || last->live_blocks < 0)
    return 0;
  uint64_t resized = image->has_tick_resizes ? last->n_resize : 0;
  uint64_t born = last->n_alloc > resized ? last->n_alloc - resized : 1;
  uint64_t live = (uint64_t)last->live_blocks;
  return live < born ? (born - live) * 100 / born : 0;
}

static void follow_places(struct tide_subject *subject)
{
  const struct tide_image *image = subject->image;
  size_t looks[MOMENTS], growing[MOMENTS];
  subject->start_ns = image->start_ns;
  subject->run_ns = image->end_ns > image->start_ns ? image->end_ns - image->start_ns : 0;
  if (subject->run_ns > longest)
    subject->run_ns = 0;
  if (image->lacks & TIDE_LACK_CLOCK || !image->n_snapshots || !subject->run_ns)
    return;
  struct tide_timeline *timeline = tide_timeline_new(image, NULL, 0);
  subject->has_course = pick_moments(subject, timeline, looks, growing);
  if (subject->has_course) {
    tell_courses(subject, timeline, looks, growing);
    tell_frees(subject, looks);
    tell_progress(subject);
    subject->churned_percent = churned_percent(subject);
  }
  tide_timeline_free(timeline);
}

// ---- what is told ----

static bool same_place(const struct tide_finding *a, const struct tide_finding *b)
{
  return a->frame && b->frame && !tide_place_compare(a->frame, b->frame);
}

// Of two at one place, in the same unit, the one of the earlier rule; but no note hides a fault.
static bool is_outdone(const struct tide_findings *findings, const struct tide_finding *finding)
{
  for (size_t i = 0; i < findings->n; i++) {
    const struct tide_finding *other = &findings->items[i];
    enum tide_saving mine = tide_rule_rows[finding->rule].saving;
    bool alike =
        (tide_rule_rows[other->rule].saving == TIDE_SAVING_BYTES) == (mine == TIDE_SAVING_BYTES);
    bool is_first =
        other->is_note == finding->is_note ? other->rule < finding->rule : finding->is_note;
    if (is_first && alike && same_place(other, finding))
      return true;
  }
  return false;
}

static void drop_outdone(struct tide_findings *findings)
{
  TIDE_CLEANUP_FREE uint8_t *out = tide_alloc(findings->n + 1);
  size_t n = 0;
  for (size_t i = 0; i < findings->n; i++)
    out[i] = is_outdone(findings, &findings->items[i]);
  for (size_t i = 0; i < findings->n; i++)
    if (!out[i])
      findings->items[n++] = findings->items[i];
  findings->n = n;
}

// What would be saved, as a share of all there is of it, in millionths.
static int64_t weight_of(const struct tide_profile *profile, const struct tide_finding *finding)
{
  double all = (double)profile->image->peak_bytes;
  if (tide_rule_rows[finding->rule].saving == TIDE_SAVING_CALLS)
    all = (double)profile->totals.n_alloc;
  if (tide_rule_rows[finding->rule].saving == TIDE_SAVING_COPIED)
    all = (double)profile->totals.b_alloc;
  double share = all > 0 ? (double)finding->saving.value / all : 0;
  return (int64_t)(1e6 * (share > 1 ? 1 : share));
}

struct ranked {
  struct tide_finding finding;
  int64_t weight;
};

static int by_rank(const void *left, const void *right)
{
  const struct ranked *a = left, *b = right;
  if (a->finding.is_note != b->finding.is_note)
    return a->finding.is_note ? 1 : -1;
  if (a->finding.confidence != b->finding.confidence)
    return (int)b->finding.confidence - (int)a->finding.confidence;
  if (a->weight != b->weight)
    return a->weight < b->weight ? 1 : -1;
  if (a->finding.rule != b->finding.rule)
    return (int)a->finding.rule - (int)b->finding.rule;
  return a->finding.frame && b->finding.frame
             ? tide_place_compare(a->finding.frame, b->finding.frame)
             : 0;
}

// Much smaller ones of a rule are counted with its first.
static bool is_alike(struct tide_findings *findings, const struct tide_finding *finding)
{
  for (size_t i = 0; i < findings->n; i++) {
    struct tide_finding *first = &findings->items[i];
    if (first->rule != finding->rule || first->is_note != finding->is_note)
      continue;
    bool is_less = finding->saving.value < first->saving.value / ALIKE_PART;
    first->n_alike += is_less;
    return is_less;
  }
  return false;
}

static void rank_findings(struct tide_findings *findings, const struct tide_profile *profile)
{
  size_t n = findings->n;
  TIDE_CLEANUP_FREE struct ranked *ranks = tide_alloc_array(n + 1, sizeof *ranks);
  for (size_t i = 0; i < n; i++)
    ranks[i] = (struct ranked){findings->items[i], weight_of(profile, &findings->items[i])};
  if (n)
    qsort(ranks, n, sizeof *ranks, by_rank);
  findings->n = 0;
  for (size_t i = 0; i < n; i++)
    if (!is_alike(findings, &ranks[i].finding))
      findings->items[findings->n++] = ranks[i].finding;
}

static void ask_rules(const struct tide_subject *subject)
{
  tide_rules_of_growth(subject);
  tide_rules_of_capacity(subject);
  tide_rules_of_blocks(subject);
  tide_rules_of_calls(subject);
  tide_rules_of_residence(subject);
}

// A rule whose numbers lack has judged by zeros: what it found is nothing.
static void drop_unjudged(struct tide_findings *findings, const struct tide_image *image)
{
  size_t n = 0;
  for (int rule = 0; rule < TIDE_RULES_N; rule++)
    if (image->lacks & tide_rule_rows[rule].needs)
      findings->unjudged |= 1u << rule;
  for (size_t i = 0; i < findings->n; i++)
    if (!(findings->unjudged >> findings->items[i].rule & 1))
      findings->items[n++] = findings->items[i];
  findings->n = n;
}

static struct tide_groups *places_by(struct tide_profile *profile, struct tide_view *view,
                                     struct tide_naming *naming, enum tide_measure measure)
{
  const struct tide_question question = {.measure = measure};
  tide_profile_ask(profile, &question);
  tide_view_init(view, profile, naming, NULL, false);
  return tide_groups_new(view, TIDE_GROUP_PLACE);
}

struct tide_findings *tide_findings_new(struct tide_profile *profile, struct tide_naming *naming)
{
  struct tide_findings *findings = tide_alloc(sizeof *findings);
  const struct tide_question asked = profile->question;
  const struct tide_image *image = profile->image;
  bool has_total = tide_measure_is_held(image, TIDE_MEASURE_TOTAL);
  bool has_peak = tide_measure_is_held(image, TIDE_MEASURE_PEAK);
  struct tide_view view;
  if (has_total && has_peak) { // so that those who hold most at the peak have names, whatever they
    tide_groups_free(places_by(profile, &view, naming, TIDE_MEASURE_PEAK)); // allocate in all
    tide_view_done(&view);
  }
  struct tide_groups *groups = places_by(profile, &view, naming,
                                         has_total  ? TIDE_MEASURE_TOTAL
                                         : has_peak ? TIDE_MEASURE_PEAK
                                                    : TIDE_MEASURE_LIVE);
  struct tide_subject subject = {.to = findings,
                                 .profile = profile,
                                 .image = image,
                                 .naming = naming,
                                 .groups = groups,
                                 .peak_bytes = sane(image->peak_bytes),
                                 .memory_bytes = memory_of(image)};
  gather_suspects(&subject);
  follow_places(&subject);
  findings->is_short = !subject.has_course;
  ask_rules(&subject);
  drop_unjudged(findings, image);
  drop_outdone(findings);
  rank_findings(findings, profile);
  free(subject.suspects);
  free(subject.of_stack);
  tide_groups_free(groups);
  tide_view_done(&view);
  tide_profile_ask(profile, &asked);
  return findings;
}

struct tide_findings *tide_findings_new_beside(struct tide_profile *profile,
                                               struct tide_naming *naming)
{
  return profile->n_sites > TIDE_FINDINGS_BESIDE_MAX ? NULL : tide_findings_new(profile, naming);
}

void tide_findings_free(struct tide_findings *findings)
{
  if (!findings)
    return;
  free(findings->items);
  free(findings);
}
