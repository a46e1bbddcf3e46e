// SPDX-License-Identifier: Apache-2.0
//
// Each step needs the one before; what fails leaves nothing behind.
#include "cli/looking.h"

#include "base/alloc.h"
#include "base/proc.h"
#include "base/units.h"
#include "cli/opening.h"
#include "cli/terminal.h"
#include "model/capture.h"
#include "model/events.h"
#include "model/image_sums.h"
#include "profile/completeness.h"
#include "residence/take.h"
#include "view/groups.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum tide_err ask_profile(const struct tide_arguments *arguments,
                                 const struct tide_wish *wish, struct tide_profile *profile,
                                 struct tide_diag *diag)
{
  struct tide_wish own = {arguments->sort, (enum tide_by)arguments->by, arguments->at,
                          arguments->range};
  struct tide_question question;
  own.of_pages = arguments->verb == TIDE_VERB_TREE && arguments->tree_group == TIDE_TREE_PAGES;
  if (arguments->suppressions && own.sort < 0)
    own.sort = TIDE_MEASURE_LEAK;
  enum tide_err err = tide_question_make(profile->image, wish ? wish : &own, &question, diag);
  if (!err && arguments->min_bytes && question.unit != TIDE_UNIT_BYTES)
    err = tide_fail(diag, TIDE_ERR_USAGE, "--min is a size, but blocks are counted here");
  if (!err)
    tide_profile_ask(profile, &question);
  return err;
}

// What each one hid is counted at the end.
static enum tide_err open_suppressions(const struct tide_arguments *arguments,
                                       struct tide_suppressions **ret_suppressions,
                                       struct tide_diag *diag)
{
  bool moments = arguments->from || arguments->until || arguments->at || arguments->range;
  if (moments)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "--suppressions is about the end: without --at, --range, --from and --to");
  if (arguments->sort >= 0 && arguments->sort != TIDE_MEASURE_LEAK)
    return tide_fail(diag, TIDE_ERR_USAGE, "--suppressions is about leaks: --sort leak");
  if (arguments->group == TIDE_GROUP_PAGES || arguments->tree_group == TIDE_TREE_PAGES)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "--suppressions is about leaks of the heap: without --group pages");
  *ret_suppressions = tide_suppressions_new();
  return tide_suppressions_read(*ret_suppressions, arguments->suppressions, diag);
}

static enum tide_err open_filter(const struct tide_arguments *arguments,
                                 struct tide_filter **ret_filter, struct tide_diag *diag)
{
  const struct tide_filter_options options = {
      .function = arguments->function,
      .file = arguments->file,
      .module = arguments->module,
      .ignore = arguments->ignore,
      .focus = arguments->focus,
      .hide = arguments->hide,
      .callers = arguments->callers,
      .callees = arguments->callees,
  };
  return tide_filter_new(&options, ret_filter, diag);
}

// The events of a capture in place of its heap.
static enum tide_err turn_to_events(const struct tide_arguments *arguments,
                                    struct tide_opened *opened, struct tide_diag *diag)
{
  bool moments = arguments->from || arguments->until || arguments->at || arguments->range;
  if (moments || arguments->suppressions)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "--events is of whole runs: without --at, --range, --from, --to and "
                     "--suppressions");
  if (arguments->group == TIDE_GROUP_PAGES || arguments->tree_group == TIDE_TREE_PAGES)
    return tide_fail(diag, TIDE_ERR_USAGE, "--events and --group pages exclude each other");
  if (!tide_capture_show_events(opened->capture))
    return tide_fail(diag, TIDE_ERR_EMPTY,
                     "%s has no ad hoc events: programs count them with tidemark_event() "
                     "of <tidemark/tidemark.h>",
                     opened->path);
  return TIDE_ERR_OK;
}

// Then a report is of those, asked for or not.
static bool has_events_alone(const struct tide_image *image)
{
  return image->n_events && !image->page_n_map && !tide_profile_allocations(image);
}

// Of events, the process with the largest weight.
static enum tide_err pick_image(const struct tide_arguments *arguments,
                                const struct tide_capture *capture, size_t *ret_image_idx,
                                struct tide_diag *diag)
{
  if (!arguments->events || arguments->process)
    return tide_profile_pick(capture, arguments->process, ret_image_idx, diag);
  size_t most = 0;
  for (size_t i = 1; i < capture->n_images; i++) {
    struct tide_event_sum sum = tide_image_event_sum(&capture->images[i]);
    struct tide_event_sum before = tide_image_event_sum(&capture->images[most]);
    if (sum.weight > before.weight || (sum.weight == before.weight && sum.n > before.n))
      most = i;
  }
  *ret_image_idx = most;
  return TIDE_ERR_OK;
}

static enum tide_err open_and_say(const struct tide_arguments *arguments, const char *path,
                                  struct tide_opened *ret_opened, struct tide_diag *diag)
{
  enum tide_err err = tide_capture_open(arguments, path, ret_opened, diag);
  if (!err && ret_opened->by_default)
    tide_say("reading %s", ret_opened->path);
  if (!err && arguments->redact_args)
    ret_opened->is_redacted = tide_capture_redact_args(ret_opened->capture);
  return err;
}

enum tide_err tide_looking_capture(const struct tide_arguments *arguments,
                                   struct tide_opened *ret_opened, struct tide_diag *diag)
{
  const char *path = NULL;
  enum tide_err err = tide_looking_path(arguments, &path, diag);
  return err ? err : open_and_say(arguments, path, ret_opened, diag);
}

// Viewers of exports have filters of their own, so there stacks stay whole.
static void view_anew(struct tide_looking *l, const struct tide_arguments *arguments)
{
  bool whole = arguments->all_frames || (arguments->verb == TIDE_VERB_EXPORT && !arguments->fold);
  tide_view_done(&l->view);
  tide_view_init(&l->view, l->profile, l->naming, l->filter, whole);
}

static enum tide_err look_at_capture(const struct tide_arguments *arguments, const char *path,
                                     const struct tide_wish *wish, struct tide_looking *l,
                                     struct tide_diag *diag)
{
  size_t image_idx = 0;
  enum tide_err err = tide_rules_open(arguments, &l->rules, diag);
  if (!err)
    err = open_filter(arguments, &l->filter, diag);
  if (!err && arguments->suppressions)
    err = open_suppressions(arguments, &l->suppressions, diag);
  if (!err)
    err = open_and_say(arguments, path, &l->opened, diag);
  if (!err && arguments->events)
    err = turn_to_events(arguments, &l->opened, diag);
  if (!err)
    err = pick_image(arguments, l->opened.capture, &image_idx, diag);
  if (err)
    return err;
  if (arguments->verb == TIDE_VERB_REPORT &&
      has_events_alone(&l->opened.capture->images[image_idx]))
    tide_capture_show_events(l->opened.capture);
  l->profile = tide_profile_new(l->opened.capture, image_idx);
  err = ask_profile(arguments, wish, l->profile, diag);
  if (err)
    return err;
  l->naming = tide_naming_open(arguments, l->profile->image, l->rules);
  view_anew(l, arguments);
  if (l->suppressions)
    tide_suppressions_apply(l->suppressions, &l->view);
  return TIDE_ERR_OK;
}

void tide_looking_tell_suppressed(const struct tide_looking *looking,
                                  const struct tide_arguments *arguments)
{
  const struct tide_suppressions *suppressions = looking->suppressions;
  char size[TIDE_UNITS_MAX], count[TIDE_UNITS_MAX];
  uint64_t n_stacks = 0, n_bytes = 0;
  size_t n_used = 0;
  if (!suppressions)
    return;
  for (size_t i = 0; i < suppressions->n; i++) {
    n_stacks += suppressions->items[i].n_stacks;
    n_bytes += (uint64_t)suppressions->items[i].live_bytes;
    n_used += suppressions->items[i].n_stacks > 0;
  }
  tide_say("%s: %zu of %zu suppressions left out %s in %s %s", looking->opened.path, n_used,
           suppressions->n,
           tide_units_bytes(
               size, tide_image_bytes(looking->profile->image, TIDE_FIGURE_LIVE, (int64_t)n_bytes),
               (struct tide_style){.units = (enum tide_units)arguments->units}),
           tide_units_plain(count, n_stacks), n_stacks == 1 ? "stack" : "stacks");
}

enum tide_err tide_looking_ask(struct tide_looking *looking, const struct tide_arguments *arguments,
                               const struct tide_wish *wish, struct tide_diag *diag)
{
  enum tide_err err = ask_profile(arguments, wish, looking->profile, diag);
  if (!err)
    view_anew(looking, arguments);
  return err;
}

enum tide_err tide_looking_open(const struct tide_arguments *arguments, const char *path,
                                const struct tide_wish *wish, struct tide_looking *ret_looking,
                                struct tide_diag *diag)
{
  struct tide_looking looking = {0};
  enum tide_err err = look_at_capture(arguments, path, wish, &looking, diag);
  if (err)
    tide_looking_done(&looking);
  else
    *ret_looking = looking;
  return err;
}

// ---- processes ----

enum tide_err tide_looking_pid(const char *word, uint32_t *ret_pid, struct tide_diag *diag)
{
  *ret_pid = 0;
  if (!word || !*word || word[strspn(word, "0123456789")] || !access(word, F_OK))
    return TIDE_ERR_OK;
  unsigned long pid = strlen(word) < 11 ? strtoul(word, NULL, 10) : 0;
  if (!pid || pid > INT_MAX)
    return tide_fail(diag, TIDE_ERR_USAGE, "%s is not the number of a process", word);
  *ret_pid = (uint32_t)pid;
  return TIDE_ERR_OK;
}

static struct tide_capture *unrecorded_capture(uint32_t pid)
{
  char name[64] = "";
  struct tide_capture *capture = tide_capture_new();
  tide_proc_name(pid, name, sizeof name);
  capture->images = tide_image_unrecorded(pid, name);
  capture->n_images = 1;
  return capture;
}

static enum tide_err look_at_nobody(const struct tide_arguments *arguments, uint32_t pid,
                                    struct tide_looking *ret_looking, struct tide_diag *diag)
{
  struct tide_looking l = {0};
  enum tide_err err = tide_rules_open(arguments, &l.rules, diag);
  if (err)
    return err;
  l.opened.capture = unrecorded_capture(pid);
  l.opened.path = tide_sprintf("%" PRIu32, pid);
  l.profile = tide_profile_new(l.opened.capture, 0);
  tide_profile_ask(l.profile, &(struct tide_question){0});
  l.naming = tide_naming_open(arguments, l.profile->image, l.rules);
  tide_view_init(&l.view, l.profile, l.naming, NULL, false);
  *ret_looking = l;
  return TIDE_ERR_OK;
}

static enum tide_err look_at_store(const struct tide_arguments *arguments, uint32_t pid,
                                   int store_fd, struct tide_looking *ret_looking,
                                   struct tide_diag *diag)
{
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", store_fd);
  enum tide_err err = tide_looking_open(arguments, path, NULL, ret_looking, diag);
  if (!err) {
    free(ret_looking->opened.path);
    ret_looking->opened.path = tide_sprintf("%" PRIu32, pid);
  }
  return err;
}

enum tide_err tide_looking_process(const struct tide_arguments *arguments, uint32_t pid,
                                   struct tide_looking *ret_looking, struct tide_diag *diag)
{
  struct tide_residence residence;
  int store_fd = -1;
  enum tide_err err = tide_residence_take(pid, -1, &residence, &store_fd, diag);
  if (err)
    return err;
  // A store that cannot be read is as none: the table is there all the same.
  bool has_store = store_fd >= 0 &&
                   !look_at_store(arguments, pid, store_fd, ret_looking, &(struct tide_diag){0});
  if (!has_store)
    err = look_at_nobody(arguments, pid, ret_looking, diag);
  if (store_fd >= 0)
    close(store_fd);
  if (err) {
    tide_residence_done(&residence);
    return err;
  }
  struct tide_image *image = &ret_looking->opened.capture->images[ret_looking->profile->image_idx];
  image->residences = tide_alloc(sizeof *image->residences);
  image->residences[0] = residence;
  image->n_residences = 1;
  return TIDE_ERR_OK;
}

void tide_looking_done(struct tide_looking *looking)
{
  tide_view_done(&looking->view);
  tide_naming_free(looking->naming);
  tide_profile_free(looking->profile);
  tide_opened_done(&looking->opened);
  tide_filter_free(looking->filter);
  tide_suppressions_free(looking->suppressions);
  tide_rules_free(looking->rules);
  *looking = (struct tide_looking){0};
}

enum tide_err tide_looking_path(const struct tide_arguments *arguments, const char **ret_path,
                                struct tide_diag *diag)
{
  if (arguments->n_rest > 1)
    return tide_fail(diag, TIDE_ERR_USAGE, "one file at a time: \"%s\" is one too many",
                     arguments->rest[1]);
  *ret_path = arguments->n_rest ? arguments->rest[0] : NULL;
  return TIDE_ERR_OK;
}
