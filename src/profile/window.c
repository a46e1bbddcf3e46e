// SPDX-License-Identifier: Apache-2.0
//
// From a moment in words to the snapshot that answers for it.
#include "profile/window.h"

#include "base/alloc.h"
#include "base/quantity.h"
#include "base/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t since_start(const struct tide_image *image, uint64_t time_ns)
{
  return time_ns > image->start_ns ? time_ns - image->start_ns : 0;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
  return a > b ? a - b : b - a;
}

static uint64_t whole_of(const struct tide_image *image)
{
  return image->lacks & TIDE_LACK_CLOCK ? since_start(image, image->end_ns) : 0;
}

// The snapshot nearest to a moment; the start counts as one, and the peak where it may.
static struct tide_point nearest(const struct tide_image *image, uint64_t asked_ns, bool with_peak)
{
  struct tide_point best = {true, asked_ns, 0, TIDE_POINT_START, whole_of(image), NULL};
  for (size_t i = 0; i < image->n_snapshots; i++) {
    uint64_t seen_ns = since_start(image, image->snapshots[i].time_ns);
    if (!with_peak && image->snapshots[i].kind == TIDE_SNAPSHOT_PEAK)
      continue;
    if (distance(seen_ns, asked_ns) <= distance(best.seen_ns, asked_ns)) {
      best.seen_ns = seen_ns;
      best.snapshot = i;
    }
  }
  return best;
}

static bool of_kind(const struct tide_image *image, enum tide_snapshot_kind kind,
                    struct tide_point *ret_point)
{
  for (size_t i = 0; i < image->n_snapshots; i++) {
    if (image->snapshots[i].kind != kind)
      continue;
    uint64_t seen_ns = since_start(image, image->snapshots[i].time_ns);
    *ret_point = (struct tide_point){true, seen_ns, seen_ns, i, whole_of(image), NULL};
    if (image->lacks & TIDE_LACK_CLOCK)
      ret_point->word = kind == TIDE_SNAPSHOT_PEAK ? "peak" : "end";
    return true;
  }
  return false;
}

// Whether a moment between start and end means anything here.
static enum tide_err check_clock(const struct tide_image *image, const struct tide_moment *moment,
                                 struct tide_diag *diag)
{
  const char *source = tide_image_source(image);
  if (!(image->lacks & TIDE_LACK_CLOCK))
    return TIDE_ERR_OK;
  if (!whole_of(image))
    return tide_fail(diag, TIDE_ERR_USAGE, "%s has no clock; moments of it are start, peak and end",
                     source);
  if (moment->kind == TIDE_MOMENT_TIME)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "%s has no clock; a moment of it is a share such as 40%%, or peak or end",
                     source);
  return TIDE_ERR_OK;
}

static enum tide_err bind(const struct tide_image *image, const struct tide_moment *moment,
                          const char *text, struct tide_point *ret_point, struct tide_diag *diag)
{
  uint64_t run_ns = since_start(image, image->end_ns);
  if (moment->kind == TIDE_MOMENT_START) {
    *ret_point = (struct tide_point){true, 0, 0, TIDE_POINT_START, whole_of(image), NULL};
    return TIDE_ERR_OK;
  }
  enum tide_snapshot_kind kind =
      moment->kind == TIDE_MOMENT_PEAK ? TIDE_SNAPSHOT_PEAK : TIDE_SNAPSHOT_END;
  if (moment->kind == TIDE_MOMENT_PEAK || moment->kind == TIDE_MOMENT_END) {
    if (of_kind(image, kind, ret_point))
      return TIDE_ERR_OK;
    return tide_fail(diag, TIDE_ERR_NOT_FOUND, "the capture holds no snapshot of the %s", text);
  }
  if (image->n_snapshots == 0)
    return tide_fail(diag, TIDE_ERR_NOT_FOUND, "the capture holds no snapshots to look at");
  enum tide_err err = check_clock(image, moment, diag);
  if (err)
    return err;
  char length[TIDE_UNITS_MAX];
  uint64_t asked_ns = moment->time_ns;
  if (moment->kind == TIDE_MOMENT_SHARE)
    asked_ns = (uint64_t)((unsigned __int128)run_ns * moment->share_ppm / 1000000);
  if (asked_ns > run_ns)
    return tide_fail(diag, TIDE_ERR_USAGE, "%s lies after the end; the process ran for %s", text,
                     tide_units_time(length, run_ns, false));
  *ret_point = nearest(image, asked_ns, true);
  return TIDE_ERR_OK;
}

// A mark is found by its name; of several of one name, the first.
static const struct tide_mark *find_mark(const struct tide_image *image, const char *name)
{
  for (size_t i = 0; i < image->n_marks; i++)
    if (strcmp(image->marks[i].name, name) == 0)
      return &image->marks[i];
  return NULL;
}

enum tide_err tide_point_parse(const struct tide_image *image, const char *text,
                               struct tide_point *ret_point, struct tide_diag *diag)
{
  const struct tide_mark *mark = find_mark(image, text);
  if (mark) {
    *ret_point = nearest(image, since_start(image, mark->time_ns), true);
    return TIDE_ERR_OK;
  }
  struct tide_moment moment;
  enum tide_err err = tide_moment_parse(text, &moment, diag);
  return err ? err : bind(image, &moment, text, ret_point, diag);
}

static enum tide_err nobody_looked(const char *range, const struct tide_point *point,
                                   struct tide_diag *diag)
{
  char seen[TIDE_UNITS_MAX];
  if (point->whole)
    snprintf(seen, sizeof seen, "%.1f %%", 100 * (double)point->seen_ns / (double)point->whole);
  else
    tide_units_time(seen, point->seen_ns, false);
  return tide_fail(diag, TIDE_ERR_NOT_FOUND,
                   "nobody looked between the ends of %s: the moment nearest to both is %s; try a "
                   "longer range",
                   range, seen);
}

enum tide_err tide_range_parse(const struct tide_image *image, const char *text,
                               struct tide_window *ret_window, struct tide_diag *diag)
{
  const char *dots = strstr(text, "..");
  if (!dots)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "\"%s\" is no range; write it as 2s..6.1s, start..peak or 40%%..", text);
  TIDE_CLEANUP_FREE char *from = tide_strndup(text, (size_t)(dots - text));
  const char *to = dots + 2;
  struct tide_window window = {0};
  enum tide_err err = tide_point_parse(image, *from ? from : "start", &window.from, diag);
  if (!err)
    err = tide_point_parse(image, *to ? to : "end", &window.to, diag);
  if (!err && window.from.asked_ns > window.to.asked_ns)
    err = tide_fail(diag, TIDE_ERR_USAGE, "the range %s ends before it begins", text);
  if (!err && window.from.snapshot == window.to.snapshot)
    err = nobody_looked(text, &window.to, diag);
  if (!err)
    *ret_window = window;
  return err;
}

enum tide_err tide_window_leave_peak(const struct tide_image *image, const char *range,
                                     struct tide_window *window, struct tide_diag *diag)
{
  struct tide_point *ends[] = {&window->from, &window->to};
  for (size_t i = 0; i < 2; i++) {
    struct tide_point *end = ends[i];
    bool at_peak = end->given && end->snapshot != TIDE_POINT_START &&
                   image->snapshots[end->snapshot].kind == TIDE_SNAPSHOT_PEAK;
    if (at_peak)
      *end = nearest(image, end->asked_ns, false);
  }
  bool empty = window->from.given && window->from.snapshot == window->to.snapshot;
  return empty ? nobody_looked(range, &window->to, diag) : TIDE_ERR_OK;
}

void tide_window_snapshots(const struct tide_image *image, const struct tide_window *window,
                           size_t *ret_first, size_t *ret_past)
{
  const struct tide_point *from = &window->from, *to = &window->to;
  *ret_first = from->given && from->snapshot != TIDE_POINT_START ? from->snapshot + 1 : 0;
  *ret_past = !to->given                         ? image->n_snapshots
              : to->snapshot == TIDE_POINT_START ? 0
                                                 : to->snapshot + 1;
}
