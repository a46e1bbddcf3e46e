// SPDX-License-Identifier: Apache-2.0
//
// What is looked at: from a capture to ranked places. See top.h.
#include "base/alloc.h"
#include "base/lookup.h"
#include "profile/completeness.h"
#include "report/tree_writers.h"
#include "top/top_inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TREE_DEPTH = 64, TREE_CHILDREN = 12, TREE_LINES_MAX = 2000 };

struct tide_top *tide_top_new(const struct tide_top_options *options)
{
  struct tide_top *top = tide_alloc(sizeof *top);
  top->options = *options;
  top->sort = options->sort >= 0 || options->is_static ? options->sort : TIDE_MEASURE_LIVE;
  top->calls_per_s = -1;
  top->version = 1;
  return top;
}

static void forget_places(struct tide_top *top)
{
  tide_top_forget_tree(top);
  if (!top->groups)
    return;
  tide_groups_free(top->groups);
  tide_view_done(&top->view);
  top->groups = NULL;
}

static void forget_capture(struct tide_top *top)
{
  forget_places(top);
  tide_naming_free(top->naming);
  tide_profile_free(top->profile);
  tide_capture_free(top->capture);
  top->naming = NULL;
  top->profile = NULL;
  top->capture = NULL;
}

void tide_top_free(struct tide_top *top)
{
  if (!top)
    return;
  forget_capture(top);
  tide_filter_free(top->filter);
  free(top->pattern);
  free(top->base);
  free(top->ended);
  free(top);
}

void tide_top_say(struct tide_top *top, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  vsnprintf(top->message, sizeof top->message, format, args);
  va_end(args);
  top->version++;
}

bool tide_top_is_paused(const struct tide_top *top)
{
  return top->is_paused;
}

uint32_t tide_top_marks(const struct tide_top *top)
{
  return top->n_marks;
}

const struct tide_capture *tide_top_capture(const struct tide_top *top)
{
  return top->capture;
}

uint64_t tide_top_version(const struct tide_top *top)
{
  return top->version;
}

struct tide_screen tide_top_screen(const struct tide_top *top, struct tide_sink *sink, size_t width)
{
  return (struct tide_screen){.sink = sink,
                              .width = width < 40 ? 40 : width,
                              .utf8 = top->options.utf8,
                              .units = top->options.units};
}

// ---- places ----

uint64_t tide_top_place_key(const struct tide_top *top, const struct tide_group *group)
{
  const struct tide_named_frame *frame = group->frame;
  if (!frame)
    return 1;
  const char *module = tide_naming_module_path(top->naming, frame);
  uint64_t key = tide_hash_bytes(2, module, strlen(module));
  if (frame->function)
    key = tide_hash_bytes(key, frame->function, strlen(frame->function));
  if (frame->file)
    key = tide_hash_bytes(key, frame->file, strlen(frame->file));
  return tide_hash_word(key, frame->function ? frame->line
                                             : tide_naming_elf_address(top->naming, frame));
}

// The question as it was chosen; where the image cannot answer it, another, and why.
static struct tide_question question_of(struct tide_top *top)
{
  const struct tide_image *image = top->profile->image;
  struct tide_wish wish = {.sort = top->sort, .by = top->by};
  struct tide_question question = {0};
  struct tide_diag diag = {0};
  if (!tide_question_make(image, &wish, &question, &diag))
    return question;
  tide_top_say(top, "%s", diag.text);
  wish = (struct tide_wish){.sort = -1};
  top->sort = -1;
  top->by = TIDE_BY_DEFAULT;
  if (tide_question_make(image, &wish, &question, &diag))
    question = (struct tide_question){.measure = TIDE_MEASURE_LIVE};
  return question;
}

// The choice stays with its place; where that is gone, with its rank.
static void find_chosen(struct tide_top *top)
{
  size_t n = top->groups->n;
  for (size_t i = 0; top->has_chosen && i < n; i++)
    if (tide_top_place_key(top, &top->groups->items[i]) == top->chosen_key) {
      top->chosen = i;
      return;
    }
  if (!top->has_chosen)
    top->chosen = 0;
  if (top->chosen >= n)
    top->chosen = n ? n - 1 : 0;
}

static void rank_places(struct tide_top *top)
{
  forget_places(top);
  const struct tide_question question = question_of(top);
  tide_profile_ask(top->profile, &question);
  tide_view_init(&top->view, top->profile, top->naming, top->filter, false);
  top->groups = tide_groups_new(&top->view, TIDE_GROUP_PLACE);
  find_chosen(top);
  top->version++;
}

void tide_top_rank(struct tide_top *top)
{
  if (top->profile)
    rank_places(top);
}

// ---- captures ----

// The last that is known: nobody looks at the very end.
static uint64_t last_rss(const struct tide_image *image)
{
  for (size_t i = image->n_ticks; i > 0; i--)
    if (image->ticks[i - 1].rss_bytes)
      return image->ticks[i - 1].rss_bytes;
  return 0;
}

static void note_look(struct tide_top *top, const struct tide_profile *profile, uint64_t rss_bytes)
{
  const struct tide_image *image = profile->image;
  if (top->history_pid != image->pid || !top->history.n) {
    top->history.n = top->history.next = 0;
    top->looked_ns = 0;
    top->calls_per_s = -1;
    top->history_pid = image->pid;
    tide_top_history_fill(&top->history, image);
  }
  const struct tide_top_sample now = {
      .time_ns = image->end_ns,
      .live_bytes = profile->totals.live_bytes,
      .rss_bytes = rss_bytes ? rss_bytes : last_rss(image),
      .n_alloc = profile->totals.n_alloc,
  };
  if (top->looked_ns && now.time_ns > top->looked_ns && now.n_alloc >= top->looked_alloc)
    top->calls_per_s =
        (double)(now.n_alloc - top->looked_alloc) * 1e9 / (double)(now.time_ns - top->looked_ns);
  top->looked_ns = now.time_ns;
  top->looked_alloc = now.n_alloc;
  tide_top_history_add(&top->history, &now);
}

static bool is_same_look(const struct tide_top *top, const struct tide_profile *profile)
{
  const struct tide_profile *shown = top->profile;
  return shown && shown->image->pid == profile->image->pid && shown->n_sites == profile->n_sites &&
         shown->image->n_modules == profile->image->n_modules &&
         shown->image->n_marks == profile->image->n_marks &&
         shown->image->is_reset == profile->image->is_reset &&
         shown->capture->n_images == profile->capture->n_images &&
         shown->totals.n_alloc == profile->totals.n_alloc &&
         shown->totals.n_free == profile->totals.n_free &&
         shown->totals.b_alloc == profile->totals.b_alloc &&
         shown->totals.b_free == profile->totals.b_free &&
         shown->image->end_kind == profile->image->end_kind;
}

enum tide_err tide_top_take(struct tide_top *top, struct tide_capture *capture, uint64_t rss_bytes,
                            struct tide_diag *diag)
{
  size_t image_idx = 0;
  enum tide_err err = capture->n_images
                          ? tide_profile_pick(capture, top->options.process, &image_idx, diag)
                          : TIDE_ERR_OK;
  if (err || !capture->n_images) {
    tide_capture_free(capture);
    return err;
  }
  struct tide_profile *profile = tide_profile_new(capture, image_idx);
  note_look(top, profile, rss_bytes);
  top->version++;
  if (is_same_look(top, profile)) {
    tide_profile_free(profile);
    tide_capture_free(capture);
    return TIDE_ERR_OK;
  }
  forget_capture(top);
  top->capture = capture;
  top->profile = profile;
  top->naming = top->options.name(top->options.context, profile->image);
  rank_places(top);
  return TIDE_ERR_OK;
}

void tide_top_end(struct tide_top *top, const char *why)
{
  free(top->ended);
  top->ended = tide_strdup(why);
  if (top->mode == TIDE_TOP_QUIT)
    top->mode = TIDE_TOP_LIST;
  top->version++;
}

// ---- marks ----

static int by_key(const void *left, const void *right)
{
  const struct tide_top_base *a = left, *b = right;
  return (a->key > b->key) - (a->key < b->key);
}

// What every place holds now, whatever is shown of it.
void tide_top_note_base(struct tide_top *top)
{
  const struct tide_question asked = top->profile->question;
  const struct tide_question live = {.measure = TIDE_MEASURE_LIVE};
  struct tide_view view;
  tide_profile_ask(top->profile, &live);
  tide_view_init(&view, top->profile, top->naming, NULL, false);
  struct tide_groups *groups = tide_groups_new(&view, TIDE_GROUP_PLACE);
  free(top->base);
  top->base = tide_alloc_array(groups->n + 1, sizeof *top->base);
  top->n_base = groups->n;
  for (size_t i = 0; i < groups->n; i++)
    top->base[i] = (struct tide_top_base){
        .key = tide_top_place_key(top, &groups->items[i]),
        .live_bytes = groups->items[i].live_bytes,
        .live_bytes_spread = groups->items[i].numbers.live_bytes_spread,
    };
  qsort(top->base, top->n_base, sizeof *top->base, by_key);
  tide_groups_free(groups);
  tide_view_done(&view);
  tide_profile_ask(top->profile, &asked);
}

struct tide_top_base tide_top_base_of(const struct tide_top *top, uint64_t key)
{
  size_t i = TIDE_FIRST_NOT_BELOW(top->base, top->n_base, key, key);
  return i < top->n_base && top->base[i].key == key ? top->base[i] : (struct tide_top_base){0};
}

// ---- the tree of a place ----

void tide_top_forget_tree(struct tide_top *top)
{
  for (size_t i = 0; top->tree && i < top->n_tree; i++)
    free(top->tree[i]);
  free(top->tree);
  top->tree = NULL;
  top->n_tree = top->tree_width = 0;
}

// Everything but the stacks of the chosen place is unwanted.
static void view_chosen(struct tide_top *top, struct tide_view *ret_view)
{
  const struct tide_groups *groups = top->groups;
  tide_view_init(ret_view, top->profile, top->naming, top->filter, false);
  if (!ret_view->unwanted)
    ret_view->unwanted = tide_alloc_array(top->profile->n_sites + 1, 1);
  for (size_t i = 0; i < top->profile->n_sites; i++)
    if (groups->of_site[i] != top->chosen + 1)
      ret_view->unwanted[i] = 1;
}

static void keep_lines(struct tide_top *top, const char *text)
{
  size_t cap = 0;
  while (*text && top->n_tree < TREE_LINES_MAX) {
    size_t n = strcspn(text, "\n");
    TIDE_GROW(top->tree, top->n_tree, cap);
    top->tree[top->n_tree++] = tide_strndup(text, n);
    text += n + (text[n] == '\n');
  }
}

void tide_top_write_tree(struct tide_top *top, size_t width)
{
  if (top->tree && top->tree_width == width)
    return;
  tide_top_forget_tree(top);
  top->tree_width = width;
  if (!top->groups || top->chosen >= top->groups->n)
    return;
  struct tide_view view;
  struct tide_sink sink;
  view_chosen(top, &view);
  const struct tide_tree_options options = {
      .inverted = true, .limits = {.depth = TREE_DEPTH, .n_children = TREE_CHILDREN}};
  struct tide_tree *tree = tide_tree_new(&view, &options);
  tide_sink_init(&sink, NULL);
  const struct tide_screen screen = tide_top_screen(top, &sink, width);
  const struct tide_tree_writing writing = {
      .view = &view, .tree = tree, .limits = options.limits, .is_table = true};
  tide_tree_text_write(&screen, &writing);
  keep_lines(top, tide_buf_cstr(&sink.buf));
  tide_sink_done(&sink);
  tide_tree_free(tree);
  tide_view_done(&view);
}
