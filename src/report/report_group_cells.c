// SPDX-License-Identifier: Apache-2.0
//
// Words for groups: what each kind calls its rows, and where those are.
#include "base/alloc.h"
#include "base/utf8.h"
#include "report/report_cells.h"
#include "view/groups.h"
#include "view/paths.h"
#include "view/terms.h"
#include "words/shorten.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

char *tide_groups_heading(const struct tide_screen *screen, const struct tide_question *question,
                          const struct tide_groups *groups)
{
  char *plain = tide_question_heading(screen, question, groups->n || groups->rest.measure);
  if (groups->kind == TIDE_GROUP_PLACE || groups->kind == TIDE_GROUP_PAGES || !groups->n)
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

static const struct tide_thread_row *thread_of(const struct tide_view *view, uint32_t number)
{
  const struct tide_image *image = view->profile->image;
  return number && number < image->n_threads_known ? &image->threads[number] : NULL;
}

// Slots are handed on: what several threads did one after another cannot be told apart.
static char *thread_location(const struct tide_view *view, uint32_t number)
{
  char count[TIDE_UNITS_MAX];
  const struct tide_thread_row *thread = thread_of(view, number);
  if (!thread)
    return tide_strdup("");
  if (thread->n_owners > 1)
    return tide_sprintf("tid %" PRIu32 " and %s before it", thread->tid,
                        tide_units_plain(count, thread->n_owners - 1));
  return thread->tid ? tide_sprintf("tid %" PRIu32, thread->tid) : tide_strdup("");
}

static char *own_words(const struct tide_screen *screen, const struct tide_view *view,
                       const struct tide_groups *groups, const struct tide_group *group)
{
  const struct tide_named_frame *frame = group->frame;
  const struct tide_style style = tide_screen_style(screen);
  if (tide_group_kind_is_across(groups->kind) || tide_group_kind_is_text(groups->kind))
    return tide_group_label(view->profile, groups->kind, group, style);
  if (!frame)
    return tide_strdup(tide_term(TIDE_TERM_STACK_LOST));
  if (groups->kind == TIDE_GROUP_FILE)
    return tide_strdup(frame->file ? tide_shorten_path(frame->file) : tide_term(TIDE_TERM_NO_FILE));
  if (groups->kind == TIDE_GROUP_CRATE && group->crate)
    return tide_strdup(group->crate);
  return tide_strdup(tide_naming_module(view->naming, frame));
}

static bool is_of_function(enum tide_group_kind kind)
{
  return kind == TIDE_GROUP_PLACE || kind == TIDE_GROUP_FUNCTION || tide_group_kind_is_stacks(kind);
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

char *tide_cell_ways(const struct tide_screen *screen, const struct tide_naming *naming,
                     const struct tide_group_ways *ways, size_t width)
{
  char count[TIDE_UNITS_MAX];
  const struct tide_group_way *way = ways->caller.frame ? &ways->caller : &ways->via;
  if (!way->frame)
    return tide_strdup("");
  const char *word = ways->caller.frame ? "called by" : "via";
  TIDE_CLEANUP_FREE char *more =
      way->n_more ? tide_sprintf(" and %s more", tide_units_plain(count, way->n_more))
                  : tide_strdup("");
  size_t own = strlen(word) + 1 + strlen(more), room = width > own ? width - own : 0;
  TIDE_CLEANUP_FREE char *where = tide_cell_location(naming, way->frame);
  TIDE_CLEANUP_FREE char *whole = tide_cell_name(screen, naming, way->frame, SIZE_MAX / 2);
  bool has_room = tide_utf8_width(whole) + 1 + tide_utf8_width(where) <= room;
  TIDE_CLEANUP_FREE char *name = tide_cell_name(screen, naming, way->frame, room);
  TIDE_CLEANUP_FREE char *text =
      tide_sprintf("%s %s%s%s%s", word, name, has_room ? " " : "", has_room ? where : "", more);
  return tide_utf8_fit(text, width, screen->utf8);
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
    tide_buf_printf(
        &out, "in %s %s below %s", tide_units_plain(count, n_more), noun,
        tide_units_bytes(least, tide_exact((int64_t)min_measure), tide_screen_style(screen)));
  else if (n_more || (!n_stacks && !groups->gone))
    tide_buf_printf(&out, "in %s more %s", tide_units_plain(count, n_more), noun);
  if (n_stacks)
    tide_buf_printf(&out, "%s %s %s without a place", out.n ? " and" : "in",
                    tide_units_plain(count, n_stacks), n_stacks == 1 ? "stack" : "stacks");
  if (groups->gone)
    tide_buf_printf(&out, "%sno longer in the file", out.n ? ", or " : "");
  char *text = tide_strdup(tide_buf_cstr(&out));
  tide_buf_done(&out);
  return text;
}
