// SPDX-License-Identifier: Apache-2.0
//
// tidemark diff: two captures, or two moments of one.
#include "base/alloc.h"
#include "cli/commands.h"
#include "cli/hint_words.h"
#include "cli/looking.h"
#include "cli/terminal.h"
#include "remote/endpoint.h"
#include "report/diff.h"
#include "view/blame.h"
#include "view/diff.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { PLACES_DEFAULT = 10, COULD_NOT_TELL = 2, MAX_SECONDS = 24 * 3600 };

struct sides {
  struct tide_looking before, after;
  // Of two moments the later one shares the capture and the names of the earlier.
  struct tide_profile *later;
  struct tide_view later_view;
};

static bool is_one_run(const struct tide_arguments *arguments)
{
  return arguments->from || arguments->until;
}

// A service is compared with itself a while later, or with another one at once.
static enum tide_err check_fetches(const struct tide_arguments *arguments, struct tide_diag *diag)
{
  bool is_first_fetched = arguments->n_rest && tide_address_is(arguments->rest[0]);
  bool is_same = arguments->n_rest == 2 && strcmp(arguments->rest[0], arguments->rest[1]) == 0;
  if (is_first_fetched && is_one_run(arguments))
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "--from and --to are moments of a file; --seconds N compares a URL with "
                     "itself");
  if (is_first_fetched && is_same && !arguments->seconds)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "the same URL twice: --seconds N says how long to wait between the two");
  if (arguments->seconds && (!is_first_fetched || arguments->n_rest > 2))
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "--seconds goes with a URL: what it gives now, and "
                     "what so much later");
  if (arguments->seconds > MAX_SECONDS)
    return tide_fail(diag, TIDE_ERR_USAGE, "--seconds takes at most %d", MAX_SECONDS);
  return TIDE_ERR_OK;
}

// What does not go together, or would be ignored without a word.
static enum tide_err check_diff_arguments(const struct tide_arguments *arguments,
                                          struct tide_diag *diag)
{
  bool one_run = is_one_run(arguments);
  if (arguments->n_rest > 2)
    return tide_fail(diag, TIDE_ERR_USAGE, "two files at a time: \"%s\" is one too many",
                     arguments->rest[2]);
  if (one_run && arguments->n_rest > 1)
    return tide_fail(
        diag, TIDE_ERR_USAGE,
        "--from and --to are moments of one file; --at looks at the same moment of two");
  enum tide_err err = check_fetches(arguments, diag);
  if (err)
    return err;
  if (!one_run && arguments->n_rest < 2 && !arguments->seconds)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "diff needs two files, or --from and --to for two moments of one");
  if (one_run && (arguments->at || arguments->range))
    return tide_fail(diag, TIDE_ERR_USAGE, "--from and --to say when already: no --at or --range");
  if (arguments->json + arguments->csv + arguments->md > 1)
    return tide_fail(diag, TIDE_ERR_USAGE, "one of --json, --csv and --md at a time");
  if (arguments->threshold && !arguments->exit_code)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "--threshold decides the status of --exit-code: give both");
  return TIDE_ERR_OK;
}

static enum tide_group_kind kind_of(const struct tide_arguments *arguments)
{
  return arguments->group < 0 ? TIDE_GROUP_PLACE : (enum tide_group_kind)arguments->group;
}

// Captures of different tools may hold different things: then what both hold is compared.
static enum tide_err ask_in_common(const struct tide_arguments *arguments, struct sides *sides,
                                   struct tide_diag *diag)
{
  const struct tide_image *before = sides->before.profile->image;
  const struct tide_image *after = sides->after.profile->image;
  static const enum tide_measure order[] = {TIDE_MEASURE_PEAK, TIDE_MEASURE_LIVE,
                                            TIDE_MEASURE_TOTAL};
  if (sides->before.profile->question.measure == sides->after.profile->question.measure)
    return TIDE_ERR_OK;
  for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
    struct tide_wish wish = {.sort = (int)order[i], .by = (enum tide_by)arguments->by};
    if (!tide_measure_is_held(before, order[i]) || !tide_measure_is_held(after, order[i]))
      continue;
    enum tide_err err = tide_looking_ask(&sides->before, arguments, &wish, diag);
    return err ? err : tide_looking_ask(&sides->after, arguments, &wish, diag);
  }
  return tide_fail(diag, TIDE_ERR_USAGE, "%s and %s have no measure in common",
                   sides->before.opened.path, sides->after.opened.path);
}

static void wait_seconds(uint64_t n)
{
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += (time_t)n;
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
    continue;
}

static enum tide_err open_files(const struct tide_arguments *arguments, struct sides *sides,
                                struct tide_diag *diag)
{
  enum tide_err err = tide_looking_open(arguments, arguments->rest[0], NULL, &sides->before, diag);
  if (!err && arguments->seconds)
    wait_seconds(arguments->seconds);
  const char *after = arguments->rest[arguments->n_rest - 1];
  if (!err)
    err = tide_looking_open(arguments, after, NULL, &sides->after, diag);
  return err ? err : ask_in_common(arguments, sides, diag);
}

static enum tide_err open_moments(const struct tide_arguments *arguments, struct sides *sides,
                                  struct tide_diag *diag)
{
  struct tide_looking *before = &sides->before;
  struct tide_wish wish = {.sort = arguments->sort, .by = (enum tide_by)arguments->by};
  struct tide_question question;
  wish.at = arguments->from ? arguments->from : "start";
  enum tide_err err = tide_looking_open(arguments, arguments->rest[0], &wish, before, diag);
  if (err)
    return err;
  wish.at = arguments->until ? arguments->until : "end";
  err = tide_question_make(before->profile->image, &wish, &question, diag);
  if (!err && question.window.to.asked_ns < before->profile->question.window.to.asked_ns)
    err = tide_fail(diag, TIDE_ERR_USAGE, "--to lies before --from");
  if (err)
    return err;
  sides->later = tide_profile_new(before->opened.capture, before->profile->image_idx);
  tide_profile_ask(sides->later, &question);
  tide_view_init(&sides->later_view, sides->later, before->naming, before->filter,
                 arguments->all_frames);
  return TIDE_ERR_OK;
}

static void sides_done(struct sides *sides)
{
  tide_view_done(&sides->later_view);
  tide_profile_free(sides->later);
  tide_looking_done(&sides->after);
  tide_looking_done(&sides->before);
}

static enum tide_err write_diff(const struct tide_arguments *arguments, const struct sides *sides,
                                const struct tide_diff *diff, struct tide_diag *diag)
{
  bool plain = !arguments->json && !arguments->csv && !arguments->md;
  const struct tide_looking *after = sides->later ? &sides->before : &sides->after;
  struct tide_diff_options options = {
      .n_places = arguments->top           ? arguments->top
                  : plain || arguments->md ? PLACES_DEFAULT
                                           : SIZE_MAX,
      .min_change = arguments->min_bytes < INT64_MAX ? (int64_t)arguments->min_bytes : INT64_MAX,
      .all = (arguments->json || arguments->csv) && !arguments->top && !arguments->min_bytes,
      .before_file = sides->before.opened.path,
      .after_file = after->opened.path,
  };
  struct tide_sink sink;
  if (plain)
    tide_pager_begin(&sink, arguments);
  else
    tide_sink_init(&sink, stdout);
  struct tide_screen screen = tide_terminal_screen(&sink, stdout, arguments);
  if (arguments->json)
    tide_diff_json_write(&sink, diff, &options);
  else if (arguments->csv)
    tide_diff_csv_write(&sink, diff, &options);
  else if (arguments->md)
    tide_diff_md_write(&screen, diff, &options);
  else
    tide_diff_text_write(&screen, diff, &options);
  return tide_pager_finish(&sink, "the diff", diag);
}

static enum tide_err parse_threshold(const struct tide_arguments *arguments,
                                     const struct sides *sides,
                                     struct tide_threshold *ret_threshold, struct tide_diag *diag)
{
  struct tide_diag why = {0};
  enum tide_err err = tide_threshold_parse(
      arguments->threshold, sides->before.profile->question.unit, ret_threshold, &why);
  return err ? tide_fail(diag, err, "--threshold: %s", why.text) : TIDE_ERR_OK;
}

// Whether it grew, as an exit status.
static int status_by_threshold(const struct tide_diff *diff, const struct tide_threshold *threshold)
{
  struct tide_diag diag = {0};
  switch (tide_diff_judge(diff, threshold, &diag)) {
  case TIDE_VERDICT_KEPT: return 0;
  case TIDE_VERDICT_GROWN: return 1;
  case TIDE_VERDICT_UNKNOWN: break;
  }
  TIDE_CLEANUP_FREE char *words = tide_cli_failure_words(TIDE_ERR_LIMIT, &diag);
  tide_say("%s", words);
  return COULD_NOT_TELL;
}

int tide_cmd_diff(const struct tide_arguments *arguments)
{
  struct sides sides = {0};
  struct tide_diag diag = {0};
  struct tide_threshold threshold = {0};
  int status = 0;
  enum tide_err err = check_diff_arguments(arguments, &diag);
  if (!err && is_one_run(arguments))
    err = open_moments(arguments, &sides, &diag);
  else if (!err)
    err = open_files(arguments, &sides, &diag);
  if (!err)
    err = tide_groups_check(kind_of(arguments), sides.before.profile->image, &diag);
  if (!err && !sides.later)
    err = tide_groups_check(kind_of(arguments), sides.after.profile->image, &diag);
  if (!err && arguments->threshold)
    err = parse_threshold(arguments, &sides, &threshold, &diag);
  if (!err) {
    struct tide_view *after = sides.later ? &sides.later_view : &sides.after.view;
    if (!sides.later)
      tide_wrappers_share(sides.before.naming, sides.after.naming);
    struct tide_diff *diff = tide_diff_new(&sides.before.view, after, kind_of(arguments));
    err = write_diff(arguments, &sides, diff, &diag);
    if (!err) {
      tide_looking_tell_suppressed(&sides.before, arguments);
      tide_looking_tell_suppressed(&sides.after, arguments);
    }
    if (!err && arguments->exit_code)
      status = status_by_threshold(diff, &threshold);
    tide_diff_free(diff);
  }
  sides_done(&sides);
  if (err)
    status = tide_cmd_failed(err, &diag);
  return err && arguments->exit_code ? COULD_NOT_TELL : status;
}
