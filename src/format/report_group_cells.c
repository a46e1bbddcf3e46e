// SPDX-License-Identifier: Apache-2.0
//
// Words for groups: what each kind calls its rows, and where those are.
#include "base/alloc.h"
#include "base/utf8.h"
#include "format/report_cells.h"
#include "format/shorten.h"
#include "view/source_path.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *one, *many;
} nouns[TIDE_GROUPS_N] = {
    [TIDE_GROUP_PLACE] = {"place", "places"},
    [TIDE_GROUP_FUNCTION] = {"function", "functions"},
    [TIDE_GROUP_FILE] = {"file", "files"},
    [TIDE_GROUP_CRATE] = {"crate or module", "crates and modules"},
    [TIDE_GROUP_MODULE] = {"module", "modules"},
    [TIDE_GROUP_THREAD] = {"thread", "threads"},
    [TIDE_GROUP_SIZE] = {"class of sizes", "classes of sizes"},
    [TIDE_GROUP_LIFETIME] = {"class of lifetimes", "classes of lifetimes"},
    [TIDE_GROUP_STACK] = {"stack", "stacks"},
};

const char *tide_group_noun(enum tide_group_kind kind, uint64_t n)
{
  return n == 1 ? nouns[kind].one : nouns[kind].many;
}

char *tide_groups_heading(const struct tide_screen *screen, const struct tide_question *question,
                          const struct tide_groups *groups)
{
  char *plain = tide_question_heading(screen, question, groups->n || groups->rest.measure);
  if (groups->kind == TIDE_GROUP_PLACE || !groups->n)
    return plain;
  if (tide_group_kind_is_classes(groups->kind)) { // all of them, in their own order
    free(plain);
    plain = tide_question_words(screen, question);
  }
  size_t n = strlen(plain);
  if (n && plain[n - 1] == ':')
    plain[n - 1] = 0;
  char *heading = tide_sprintf("%s, by %s:", plain, tide_group_words[groups->kind]);
  free(plain);
  return heading;
}

struct tide_class_range tide_class_range(enum tide_group_kind kind, uint32_t number)
{
  uint32_t k = number;
  if (kind == TIDE_GROUP_SIZE)
    return (struct tide_class_range){k ? (1ull << (k + 1)) + 1 : 0,
                                     k + 1 < TIDE_SIZE_BUCKETS_N ? 1ull << (k + 2) : UINT64_MAX};
  if (k >= TIDE_LIFE_CLASS_RESIZED)
    return (struct tide_class_range){0, 0};
  uint32_t past = TIDE_LIFE_CLASS_SHORTEST + k * TIDE_LIFE_CLASS_BUCKETS; // of its buckets
  uint32_t first = k ? past - TIDE_LIFE_CLASS_BUCKETS : 0;
  return (struct tide_class_range){first ? 1ull << (first - 1) : 0, past < TIDE_LIFE_BUCKETS_N
                                                                        ? (1ull << (past - 1)) - 1
                                                                        : UINT64_MAX};
}

struct tide_class_range tide_group_range(enum tide_group_kind kind, const struct tide_group *group)
{
  struct tide_class_range range = tide_class_range(kind, group->number);
  if (group->several)
    range.most = tide_class_range(kind, group->last).most;
  return range;
}

const char *tide_group_ending(const struct tide_group *group)
{
  if (group->several)
    return NULL;
  return group->number == TIDE_LIFE_CLASS_RESIZED ? "resized"
         : group->number == TIDE_LIFE_CLASS_LIVE  ? "never"
                                                  : "freed";
}

static char *size_words(const struct tide_screen *screen, const struct tide_group *group)
{
  char least[TIDE_UNITS_MAX], most[TIDE_UNITS_MAX];
  struct tide_class_range range = tide_group_range(TIDE_GROUP_SIZE, group);
  tide_units_bytes(least, (int64_t)range.least, screen->units);
  const char *several = group->several ? "several sizes, " : "";
  if (range.most == UINT64_MAX)
    return tide_sprintf("%s%s and more", several, least);
  return tide_sprintf("%s%s to %s", several, least,
                      tide_units_bytes(most, (int64_t)range.most, screen->units));
}

static char *lifetime_words(const struct tide_screen *screen, const struct tide_group *group)
{
  char least[TIDE_UNITS_MAX], most[TIDE_UNITS_MAX];
  uint32_t number = group->number;
  struct tide_class_range range = tide_class_range(TIDE_GROUP_LIFETIME, number);
  if (group->several)
    return tide_strdup("(several lifetimes)");
  if (number == TIDE_LIFE_CLASS_RESIZED)
    return tide_strdup("(went on as a resized block)");
  if (number == TIDE_LIFE_CLASS_LIVE)
    return tide_strdup("(never freed)");
  tide_units_time(least, range.least, screen->utf8);
  if (range.most == UINT64_MAX)
    return tide_sprintf("%s and more", least);
  tide_units_time(most, range.most + 1, screen->utf8);
  return range.least ? tide_sprintf("%s to %s", least, most) : tide_sprintf("less than %s", most);
}

static const struct tide_thread *thread_of(const struct tide_view *view, uint32_t number)
{
  const struct tide_image *image = view->profile->image;
  return number && number < image->n_threads_known ? &image->threads[number] : NULL;
}

static char *thread_words(const struct tide_view *view, const struct tide_group *group)
{
  const struct tide_thread *thread = thread_of(view, group->number);
  if (group->several)
    return tide_strdup("(several threads)");
  if (!thread)
    return tide_strdup("(thread not known)");
  if (thread->tid && thread->tid == view->profile->image->pid)
    return tide_strdup("main thread");
  if (!thread->name[0])
    return tide_sprintf("thread %" PRIu32, thread->tid);
  return tide_strndup(thread->name, sizeof thread->name);
}

// Slots are handed on: what several threads did one after another cannot be told apart.
static char *thread_location(const struct tide_view *view, uint32_t number)
{
  char count[TIDE_UNITS_MAX];
  const struct tide_thread *thread = thread_of(view, number);
  if (!thread)
    return tide_strdup("");
  if (thread->n_owners > 1)
    return tide_sprintf("tid %" PRIu32 " and %s before it", thread->tid,
                        tide_units_count(count, thread->n_owners - 1));
  return thread->tid ? tide_sprintf("tid %" PRIu32, thread->tid) : tide_strdup("");
}

static char *own_words(const struct tide_screen *screen, const struct tide_view *view,
                       const struct tide_groups *groups, const struct tide_group *group)
{
  const struct tide_named_frame *frame = group->frame;
  switch (groups->kind) {
  case TIDE_GROUP_THREAD: return thread_words(view, group);
  case TIDE_GROUP_SIZE: return size_words(screen, group);
  case TIDE_GROUP_LIFETIME: return lifetime_words(screen, group);
  default: break;
  }
  if (!frame)
    return tide_strdup("(stack not recorded)");
  if (groups->kind == TIDE_GROUP_FILE)
    return tide_strdup(frame->file ? tide_shorten_path(frame->file) : "(file not known)");
  if (groups->kind == TIDE_GROUP_CRATE && group->crate)
    return tide_strdup(group->crate);
  return tide_strdup(tide_naming_module(view->naming, frame));
}

static bool is_of_function(enum tide_group_kind kind)
{
  return kind == TIDE_GROUP_PLACE || kind == TIDE_GROUP_FUNCTION || kind == TIDE_GROUP_STACK;
}

char *tide_cell_group(const struct tide_screen *screen, const struct tide_view *view,
                      const struct tide_groups *groups, const struct tide_group *group,
                      size_t width)
{
  if (is_of_function(groups->kind))
    return tide_cell_name(screen, view->naming, group->frame, width);
  TIDE_CLEANUP_FREE char *words = own_words(screen, view, groups, group);
  return tide_utf8_fit(words, width, screen->utf8);
}

char *tide_cell_group_location(const struct tide_view *view, const struct tide_groups *groups,
                               const struct tide_group *group)
{
  const struct tide_named_frame *frame = group->frame;
  if (groups->kind == TIDE_GROUP_THREAD)
    return thread_location(view, group->number);
  if (!frame || group->crate)
    return tide_strdup("");
  if (groups->kind == TIDE_GROUP_MODULE || groups->kind == TIDE_GROUP_CRATE)
    return tide_strdup(tide_naming_module_path(view->naming, frame));
  if (groups->kind == TIDE_GROUP_FUNCTION && frame->file)
    return tide_strdup(tide_shorten_path(frame->file));
  if (groups->kind == TIDE_GROUP_FILE)
    return tide_sprintf("in %s", tide_naming_module(view->naming, frame));
  return tide_cell_location(view->naming, frame);
}

char *tide_cell_rest(const struct tide_screen *screen, const struct tide_groups *groups,
                     size_t n_shown, int64_t min_measure)
{
  char count[TIDE_UNITS_MAX], least[TIDE_UNITS_MAX];
  size_t n_stacks = groups->n_stacks - groups->n_stacks_placed, n_more = groups->n - n_shown;
  const char *noun = tide_group_noun(groups->kind, n_more);
  bool small = min_measure && n_more && groups->items[n_shown].measure < min_measure;
  struct tide_buf out = {0};
  if (small)
    tide_buf_printf(&out, "in %s %s below %s", tide_units_count(count, n_more), noun,
                    tide_units_bytes(least, min_measure, screen->units));
  else if (n_more || !n_stacks)
    tide_buf_printf(&out, "in %s more %s", tide_units_count(count, n_more), noun);
  if (n_stacks)
    tide_buf_printf(&out, "%s %s %s without a place", out.n ? " and" : "in",
                    tide_units_count(count, n_stacks), n_stacks == 1 ? "stack" : "stacks");
  char *text = tide_strdup(tide_buf_cstr(&out));
  tide_buf_done(&out);
  return text;
}
