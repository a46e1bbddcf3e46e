// SPDX-License-Identifier: Apache-2.0
//
// Looks are found by their times; between two of them the profile is asked as by a range.
#include "check/moments.h"

#include <string.h>

enum { NO_SNAPSHOT = -2, AT_START = -1 }; // else an index
enum { CLOCK_NS = 10000000 }; // the recorder reads its clock now and then: the peak's time is near

// The moment of a name; of several marks the first.
static bool find_moment(const struct tide_image *image, const char *name, uint64_t *ret_time_ns)
{
  for (size_t i = 0; i < image->n_marks; i++)
    if (strcmp(image->marks[i].name, name) == 0) {
      *ret_time_ns = image->marks[i].time_ns;
      return true;
    }
  bool is_start = strcmp(name, "start") == 0;
  *ret_time_ns = is_start ? image->start_ns : image->end_ns;
  return is_start || strcmp(name, "end") == 0;
}

bool tide_span_has_marks(const struct tide_image *image, const struct tide_heap_budget *budget)
{
  uint64_t from_ns, to_ns;
  return find_moment(image, budget->from, &from_ns) && find_moment(image, budget->to, &to_ns) &&
         from_ns <= to_ns;
}

static bool is_look(const struct tide_image *image, long i)
{
  return image->snapshots[i].kind != TIDE_SNAPSHOT_PEAK; // nobody looked at that
}

// The last look at or before a moment, and the first at or after it.
static long look_before(const struct tide_image *image, uint64_t time_ns)
{
  for (long i = (long)image->n_snapshots - 1; i >= 0; i--)
    if (is_look(image, i) && image->snapshots[i].time_ns <= time_ns)
      return i;
  return AT_START;
}

static long look_after(const struct tide_image *image, uint64_t time_ns)
{
  if (time_ns <= image->start_ns)
    return AT_START;
  for (long i = 0; i < (long)image->n_snapshots; i++)
    if (is_look(image, i) && image->snapshots[i].time_ns >= time_ns)
      return i;
  return NO_SNAPSHOT;
}

static struct tide_point point_at(const struct tide_image *image, long look)
{
  return tide_point_of(image, look == AT_START ? TIDE_POINT_START : (size_t)look);
}

// What was used from one look to another; nothing if that is none after it.
static int64_t ask_between(struct tide_profile *profile, struct tide_question *question, long from,
                           long to)
{
  const struct tide_image *image = profile->image;
  if (from >= to)
    return 0;
  question->window = (struct tide_window){point_at(image, from), point_at(image, to)};
  tide_profile_ask(profile, question);
  return profile->whole;
}

static bool find_sum(struct tide_profile *profile, uint64_t from_ns, uint64_t to_ns,
                     struct tide_mark_span *span)
{
  const struct tide_image *image = profile->image;
  struct tide_question around = span->question;
  long after_from = look_after(image, from_ns), after_to = look_after(image, to_ns);
  if (after_from == NO_SNAPSHOT || after_to == NO_SNAPSHOT ||
      tide_question_check(image, &span->question, true, NULL))
    return false;
  span->most = ask_between(profile, &around, look_before(image, from_ns), after_to);
  span->least = ask_between(profile, &span->question, after_from, look_before(image, to_ns));
  if (!span->question.window.to.given) // there was no look inside
    span->question = around;
  span->most = span->most > span->least ? span->most : span->least;
  span->value = span->most;
  return true;
}

static void find_peak(const struct tide_image *image, uint64_t from_ns, uint64_t to_ns,
                      struct tide_mark_span *span)
{
  span->least = 0;
  for (size_t i = 0; i < image->n_ticks; i++) {
    const struct tide_tick *tick = &image->ticks[i];
    if (tick->time_ns >= from_ns && tick->time_ns <= to_ns && tick->live_bytes > span->least)
      span->least = tick->live_bytes;
  }
  span->most = image->peak_bytes;
  bool has_peak = (image->peak_ns >= from_ns + CLOCK_NS || from_ns <= image->start_ns) &&
                  (image->peak_ns + CLOCK_NS <= to_ns || to_ns >= image->end_ns);
  if (has_peak || span->least > span->most)
    span->least = span->most;
  span->value = span->most;
}

bool tide_span_find(struct tide_profile *profile, const struct tide_heap_budget *budget,
                    const struct tide_question *question, struct tide_mark_span *ret_span)
{
  uint64_t from_ns, to_ns;
  const struct tide_image *image = profile->image;
  *ret_span = (struct tide_mark_span){.question = *question};
  if (!find_moment(image, budget->from, &from_ns) || !find_moment(image, budget->to, &to_ns) ||
      image->lacks & TIDE_LACK_CLOCK)
    return false;
  if (budget->what != TIDE_LIMITED_PEAK)
    return find_sum(profile, from_ns, to_ns, ret_span);
  tide_profile_ask(profile, question);
  find_peak(image, from_ns, to_ns, ret_span);
  return true;
}
