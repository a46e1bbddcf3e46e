// SPDX-License-Identifier: Apache-2.0
//
// One line per group, one column per measure, a last line "(rest)" for what is not shown, so that
// columns add up to the totals of the report. The first columns say what a group is and depend on
// the kind. `weight` is the answer to the question; classes of size and lifetime have little
// else.
#include "model/image_sums.h"
#include "report/report.h"

#include "base/alloc.h"
#include "report/markup.h"
#include "report/profile_json.h"
#include "report/report_cells.h"
#include "view/groups.h"
#include "view/terms.h"

#include <inttypes.h>
#include <string.h>

static const char *const titles[TIDE_GROUPS_N] = {
    [TIDE_GROUP_PLACE] = "function,file,line,module,address",
    [TIDE_GROUP_FUNCTION] = "function,file,module",
    [TIDE_GROUP_FILE] = "file,module",
    [TIDE_GROUP_CRATE] = "crate,module",
    [TIDE_GROUP_MODULE] = "module",
    [TIDE_GROUP_THREAD] = "thread,tid,owners",
    [TIDE_GROUP_SIZE] = "least_bytes,most_bytes",
    [TIDE_GROUP_LIFETIME] = "ending,least_ns,most_ns",
    [TIDE_GROUP_STACK] = "function,file,line,module,address",
    [TIDE_GROUP_PAGES] = "function,file,line,module,address",
    [TIDE_GROUP_CALL] = "call",
    [TIDE_GROUP_SCOPE] = "scope",
};

struct rows { // what every part needs
  struct tide_sink *sink;
  struct tide_view *view;
  const struct tide_groups *groups;
  enum tide_group_kind kind;
};

static void write_texts(const struct rows *r, size_t n, const char *const *texts)
{
  for (size_t i = 0; i < n; i++) {
    tide_sink_text(r->sink, i ? "," : "");
    tide_csv_text(r->sink, texts[i] ? texts[i] : "");
  }
}

// unnamed is what a row is called that has no frame.
static void write_code(const struct rows *r, const struct tide_group *group, const char *unnamed)
{
  const struct tide_named_frame *frame = group->frame;
  const struct tide_naming *naming = r->view->naming;
  const char *module = frame ? tide_naming_module(naming, frame) : NULL;
  const char *file = frame ? frame->file : NULL;
  const char *function = frame ? frame->function : unnamed;
  switch (r->kind) {
  case TIDE_GROUP_FUNCTION: write_texts(r, 3, (const char *[]){function, file, module}); return;
  case TIDE_GROUP_FILE: write_texts(r, 2, (const char *[]){frame ? file : unnamed, module}); return;
  case TIDE_GROUP_CRATE:
    write_texts(r, 2, (const char *[]){frame ? group->crate : unnamed, module});
    return;
  case TIDE_GROUP_CALL:
  case TIDE_GROUP_SCOPE:
    write_texts(r, 1, (const char *[]){group->crate ? group->crate : unnamed});
    return;
  case TIDE_GROUP_MODULE: write_texts(r, 1, (const char *[]){frame ? module : unnamed}); return;
  default: break;
  }
  write_texts(r, 2, (const char *[]){function, file});
  tide_sink_text(r->sink, ",");
  if (frame && frame->line)
    tide_sink_printf(r->sink, "%" PRIu32, frame->line);
  tide_sink_text(r->sink, ",");
  tide_csv_text(r->sink, module ? module : "");
  tide_sink_text(r->sink, ",");
  if (frame && frame->pc)
    tide_sink_printf(r->sink, "0x%" PRIx64, tide_naming_elf_address(naming, frame));
}

static void write_thread(const struct rows *r, const struct tide_group *group)
{
  const struct tide_image *image = r->view->profile->image;
  const struct tide_thread_row unknown = {0};
  const struct tide_thread_row *thread = !group->several && group->number < image->n_threads_known
                                             ? &image->threads[group->number]
                                             : &unknown;
  TIDE_CLEANUP_FREE char *name = tide_strndup(thread->name, sizeof thread->name);
  tide_csv_text(r->sink, group->several ? tide_term(TIDE_TERM_SEVERAL_THREADS) : name);
  tide_sink_printf(r->sink, ",%" PRIu32 ",%" PRIu32, thread->tid, thread->n_owners);
}

static void write_limit(const struct rows *r, uint64_t limit, bool is_one)
{
  if (is_one)
    tide_sink_printf(r->sink, "%" PRIu64, limit);
}

static void write_class(const struct rows *r, const struct tide_group *group)
{
  struct tide_class_range range = tide_group_range(r->kind, group);
  bool of_life = r->kind == TIDE_GROUP_LIFETIME;
  const char *ending = tide_group_ending(group);
  bool has_limits = !of_life || (ending && group->number < TIDE_LIFE_CLASS_RESIZED);
  if (of_life)
    tide_sink_printf(r->sink, "%s,", ending ? ending : "several");
  write_limit(r, range.least, has_limits);
  tide_sink_text(r->sink, ",");
  write_limit(r, range.most, has_limits && range.most != UINT64_MAX);
}

// What lacks is an empty cell.
static void write_number(const struct rows *r, const char *column, int64_t number)
{
  tide_sink_text(r->sink, ",");
  if (!tide_lacking(r->view->profile->image->lacks, column))
    tide_sink_printf(r->sink, "%" PRId64, number);
}

static void write_count(const struct rows *r, const char *column, uint64_t count)
{
  tide_sink_text(r->sink, ",");
  if (!tide_lacking(r->view->profile->image->lacks, column))
    tide_sink_printf(r->sink, "%" PRIu64, count);
}

// The numbers in the order in which they have always stood. Others of the list end a row.
static const char *const columns[] = {
    "peak_bytes",      "peak_blocks", "live_bytes",  "live_blocks",   "allocated_bytes",
    "allocations",     "freed_bytes", "frees",       "temporary",     "resizes",
    "stacks", // is no number of a stack
    "temporary_bytes", "moved",       "moved_bytes", "foreign_frees",
};
enum { COLUMNS_N = sizeof columns / sizeof *columns };

static const struct tide_number *find_number(const char *name)
{
  for (size_t i = 0; i < tide_number_list_n; i++)
    if (tide_number_list[i].key && strcmp(tide_number_name(&tide_number_list[i]), name) == 0)
      return &tide_number_list[i];
  return NULL;
}

static bool is_further(const struct tide_number *number)
{
  if (!number->key || !tide_number_adds_up(number))
    return false;
  for (size_t i = 0; i < COLUMNS_N; i++)
    if (strcmp(columns[i], tide_number_name(number)) == 0)
      return false;
  return true;
}

static void write_listed(const struct rows *r, const struct tide_group *group,
                         const struct tide_number *number)
{
  uint64_t value = tide_number_get(&group->numbers, number);
  if (!tide_number_is_kept(number, r->view->profile->image))
    tide_sink_text(r->sink, ",");
  else if (number->is_signed)
    write_number(r, number->key, (int64_t)value);
  else
    write_count(r, number->key, value);
}

static void write_numbers(const struct rows *r, const struct tide_group *group)
{
  for (size_t i = 0; i < COLUMNS_N; i++) {
    const struct tide_number *number = find_number(columns[i]);
    if (number)
      write_listed(r, group, number);
    else
      write_count(r, columns[i], group->n_stacks);
  }
  const char *fate = tide_fate_words[group->fate];
  tide_sink_printf(r->sink, ",%s,%" PRId64, fate ? fate : "", group->measure);
}

static bool has_further(enum tide_group_kind kind)
{
  return !tide_group_kind_is_classes(kind) && kind != TIDE_GROUP_PAGES;
}

static void write_further(const struct rows *r, const struct tide_group *group)
{
  for (size_t i = 0; has_further(r->kind) && i < tide_number_list_n; i++)
    if (is_further(&tide_number_list[i]))
      write_listed(r, group, &tide_number_list[i]);
}

static void write_page_numbers(const struct rows *r, const struct tide_group *group)
{
  write_number(r, "own_max_bytes", group->high_bytes);
  write_number(r, "live_bytes", group->live_bytes);
  write_number(r, "live_blocks", group->live_blocks);
  write_count(r, "allocated_bytes", group->b_alloc);
  write_count(r, "allocations", group->n_alloc);
  write_count(r, "freed_bytes", group->b_free);
  write_count(r, "frees", group->n_free);
  write_count(r, "stacks", group->n_stacks);
  tide_sink_printf(r->sink, ",%" PRId64, group->measure);
}

static void write_way(const struct rows *r, const struct tide_group_way *way)
{
  const struct tide_named_frame *frame = way->frame;
  tide_sink_text(r->sink, ",");
  tide_csv_text(r->sink, frame && frame->function ? frame->function : "");
  tide_sink_text(r->sink, ",");
  tide_csv_text(r->sink, frame && frame->file ? frame->file : "");
  tide_sink_text(r->sink, ",");
  if (frame && frame->line)
    tide_sink_printf(r->sink, "%" PRIu32, frame->line);
  tide_sink_text(r->sink, ",");
  tide_csv_text(r->sink, frame ? tide_naming_module(r->view->naming, frame) : "");
}

// Of what is part of the code; of the row of the rest, nothing.
static void write_ways(const struct rows *r, const struct tide_group *group, bool is_rest)
{
  struct tide_group_ways ways = {0};
  if (tide_group_kind_is_across(r->kind))
    return;
  if (!is_rest)
    ways = tide_groups_ways(r->groups, r->view, (size_t)(group - r->groups->items));
  write_way(r, &ways.via);
  write_way(r, &ways.caller);
}

// Sizes say besides whether they are several.
static void write_class_numbers(const struct rows *r, const struct tide_group *group)
{
  tide_sink_printf(r->sink, ",%" PRIu64 ",%" PRIu32 ",%" PRId64, group->n_alloc, group->n_stacks,
                   group->measure);
  if (r->kind == TIDE_GROUP_SIZE)
    tide_sink_text(r->sink, group->several ? ",several" : ",");
}

static void write_row(const struct rows *r, const struct tide_group *group, bool is_rest)
{
  size_t n_columns = 1;
  for (const char *c = titles[r->kind]; *c; c++)
    n_columns += *c == ',';
  bool has_frame = !tide_group_kind_is_across(r->kind);
  if (is_rest && !has_frame) {
    tide_sink_text(r->sink, "(rest)");
    tide_sink_repeat(r->sink, ',', n_columns - 1);
  } else if (has_frame) {
    const char *unnamed = tide_group_kind_is_text(r->kind) ? "" : tide_term(TIDE_TERM_STACK_LOST);
    write_code(r, group, is_rest ? "(rest)" : unnamed);
  } else if (r->kind == TIDE_GROUP_THREAD) {
    write_thread(r, group);
  } else {
    write_class(r, group);
  }
  if (tide_group_kind_is_classes(r->kind))
    write_class_numbers(r, group);
  else if (r->kind == TIDE_GROUP_PAGES)
    write_page_numbers(r, group);
  else
    write_numbers(r, group);
  write_ways(r, group, is_rest);
  write_further(r, group);
  tide_sink_text(r->sink, ",");
  tide_exactness_csv(r->sink, r->view->profile);
  tide_sink_text(r->sink, "\n");
}

static void write_numbers_title(const struct rows *r)
{
  if (r->kind == TIDE_GROUP_SIZE)
    tide_sink_text(r->sink, ",allocations,stacks,weight,several");
  else if (r->kind == TIDE_GROUP_LIFETIME)
    tide_sink_text(r->sink, ",allocations,stacks,weight");
  else if (r->kind == TIDE_GROUP_PAGES)
    tide_sink_text(r->sink, ",own_max_bytes,live_bytes,live_blocks,allocated_bytes,allocations,"
                            "freed_bytes,frees,stacks,weight");
  if (!has_further(r->kind))
    return;
  for (size_t i = 0; i < COLUMNS_N; i++)
    tide_sink_printf(r->sink, ",%s", columns[i]);
  tide_sink_text(r->sink, ",fate,weight");
}

static const char *ways_title(enum tide_group_kind kind)
{
  if (tide_group_kind_is_across(kind))
    return "";
  return ",via_function,via_file,via_line,via_module,caller_function,caller_file,caller_line,"
         "caller_module";
}

static void write_title(const struct rows *r)
{
  tide_sink_text(r->sink, titles[r->kind]);
  write_numbers_title(r);
  tide_sink_text(r->sink, ways_title(r->kind));
  for (size_t i = 0; has_further(r->kind) && i < tide_number_list_n; i++)
    if (is_further(&tide_number_list[i]))
      tide_sink_printf(r->sink, ",%s", tide_number_name(&tide_number_list[i]));
  tide_sink_text(r->sink, ",exactness\n");
}

void tide_report_csv_write(struct tide_sink *sink, struct tide_view *view,
                           const struct tide_report_options *options)
{
  struct tide_groups *groups = tide_groups_new(view, options->group);
  const struct rows r = {sink, view, groups, options->group};
  size_t n_shown = tide_groups_shown(groups, options->n_rows, options->min_bytes);
  tide_groups_tell_fates(groups, view->profile->image, n_shown);
  struct tide_group rest = tide_groups_others(groups, n_shown);
  write_title(&r);
  for (size_t i = 0; i < n_shown; i++)
    write_row(&r, &groups->items[i], false);
  if (rest.n_stacks || rest.measure)
    write_row(&r, &rest, true);
  tide_groups_free(groups);
}
