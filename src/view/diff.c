// SPDX-License-Identifier: Apache-2.0
//
// Stacks are gathered into halves, what one side has at one place; halves with the same key are
// twins and make one place. Gathering goes by culprit first, which is cheap and leaves few.
#define _GNU_SOURCE
#include "view/diff.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

const char *const tide_change_words[TIDE_CHANGES_N] = {"added", "gone", "grown", "shrunk", "same"};

struct half {
  struct tide_match_key key;
  const struct tide_named_frame *frame;
  const char *label; // the diff's; NULL: a place
  struct tide_group row;
  enum tide_diff_kind kind;
  bool is_after;
  struct tide_diff_amount amount;
  uint64_t weight;   // how far the frame speaks for the half
  struct half *twin; // on the other side; NULL: none
};

struct halves {
  struct half *items;
  size_t n, cap;
};

static uint64_t size_of(int64_t number)
{
  return number < 0 ? -(uint64_t)number : (uint64_t)number;
}

// Sums are unsigned: they come from files.
static void add_amount(struct tide_diff_amount *sum, const struct tide_diff_amount *item)
{
  sum->bytes = (int64_t)((uint64_t)sum->bytes + (uint64_t)item->bytes);
  sum->blocks = (int64_t)((uint64_t)sum->blocks + (uint64_t)item->blocks);
  sum->n_stacks += item->n_stacks;
}

static void add_place(struct tide_diff_place *sum, const struct tide_diff_place *item)
{
  add_amount(&sum->before, &item->before);
  add_amount(&sum->after, &item->after);
}

int64_t tide_diff_measure(const struct tide_diff *diff, const struct tide_diff_amount *amount)
{
  bool in_bytes = diff->after->profile->question.unit == TIDE_UNIT_BYTES;
  return in_bytes ? amount->bytes : amount->blocks;
}

int64_t tide_diff_change(const struct tide_diff *diff, const struct tide_diff_place *place)
{
  return tide_number_change(tide_diff_measure(diff, &place->before),
                            tide_diff_measure(diff, &place->after));
}

enum tide_change tide_diff_change_kind(const struct tide_diff *diff,
                                       const struct tide_diff_place *place)
{
  int64_t change = tide_diff_change(diff, place);
  if (change == 0)
    return TIDE_CHANGE_NONE;
  if (tide_diff_measure(diff, &place->before) == 0)
    return TIDE_CHANGE_ADDED;
  if (tide_diff_measure(diff, &place->after) == 0)
    return TIDE_CHANGE_GONE;
  return change > 0 ? TIDE_CHANGE_GROWN : TIDE_CHANGE_SHRUNK;
}

// The weights of a profile's sites in the unit that was not asked for; owned.
static int64_t *other_weights(const struct tide_profile *profile)
{
  struct tide_question question = profile->question;
  question.unit = question.unit == TIDE_UNIT_BYTES ? TIDE_UNIT_BLOCKS : TIDE_UNIT_BYTES;
  int64_t *weights = tide_alloc_array(profile->n_sites, sizeof *weights);
  tide_profile_weigh(profile, &question, weights);
  return weights;
}

static void gather_half(struct halves *halves, struct tide_view *view, bool is_after)
{
  const struct tide_profile *profile = view->profile;
  bool in_bytes = profile->question.unit == TIDE_UNIT_BYTES;
  TIDE_CLEANUP_FREE int64_t *others = other_weights(profile);
  tide_naming_limit(view->naming, SIZE_MAX);
  for (size_t i = 0; i < profile->n_sites; i++) {
    const struct tide_profile_site *site = &profile->sites[i];
    if (!tide_view_has(view, i) || (!site->weight && !others[i]))
      continue;
    struct half half = {.is_after = is_after, .weight = size_of(site->weight)};
    half.amount.bytes = in_bytes ? site->weight : others[i];
    half.amount.blocks = in_bytes ? others[i] : site->weight;
    half.amount.n_stacks = 1;
    bool has_stack = site->kind == TIDE_SITE_HEAP;
    half.frame = has_stack ? tide_view_culprit(view, site->stack) : NULL;
    half.kind = half.frame ? TIDE_DIFF_PLACE : has_stack ? TIDE_DIFF_NOWHERE : TIDE_DIFF_LOST;
    TIDE_GROW(halves->items, halves->n, halves->cap);
    halves->items[halves->n++] = half;
  }
}

static int by_frame(const void *left, const void *right)
{
  const struct half *a = left, *b = right;
  int order = (int)a->is_after - (int)b->is_after;
  if (!order)
    order = (a->kind > b->kind) - (a->kind < b->kind);
  return order ? order : (a->frame > b->frame) - (a->frame < b->frame);
}

static int by_key(const void *left, const void *right)
{
  const struct half *a = left, *b = right;
  int order = tide_match_compare(&a->key, &b->key);
  return order ? order : (int)a->is_after - (int)b->is_after;
}

// Of several frames the weightiest comes first, then the first line, then the lowest address: the
// same one in every run.
static int by_key_and_weight(const void *left, const void *right)
{
  const struct half *a = left, *b = right;
  int order = by_key(a, b);
  if (!order)
    order = (a->weight < b->weight) - (a->weight > b->weight);
  if (!order && a->frame && b->frame)
    order = (a->frame->line > b->frame->line) - (a->frame->line < b->frame->line);
  if (!order && a->frame && b->frame)
    order = (a->frame->pc > b->frame->pc) - (a->frame->pc < b->frame->pc);
  return order;
}

typedef int compare(const void *, const void *);

// Sorts, and joins halves that are the same; the first one's frame stays.
static void fold_halves(struct halves *halves, compare *order, compare *same)
{
  size_t out = 0;
  if (halves->n)
    qsort(halves->items, halves->n, sizeof *halves->items, order);
  for (size_t i = 0; i < halves->n; i++) {
    struct half *last = out ? &halves->items[out - 1] : NULL, *item = &halves->items[i];
    if (!last || same(last, item) != 0) {
      halves->items[out++] = *item;
      continue;
    }
    add_amount(&last->amount, &item->amount);
    last->weight += item->weight;
  }
  halves->n = out;
}

static void make_twins(struct half *a, struct half *b)
{
  a->twin = b;
  b->twin = a;
}

// Whether halves of the two sides that are left over, and the only ones to compare equal, are
// twins.
struct second_look {
  int (*compare)(const struct tide_match_key *, const struct tide_match_key *);
  bool (*are_twins)(const struct tide_match_key *, const struct tide_match_key *);
};

static bool both_have_files(const struct tide_match_key *a, const struct tide_match_key *b)
{
  return a->file && b->file;
}

static bool one_has_a_file(const struct tide_match_key *a, const struct tide_match_key *b)
{
  return !a->file != !b->file;
}

static int by_second_look(const void *left, const void *right, void *context)
{
  const struct half *a = *(struct half *const *)left, *b = *(struct half *const *)right;
  const struct second_look *look = context;
  int order = look->compare(&a->key, &b->key);
  if (!order)
    order = (int)a->is_after - (int)b->is_after;
  return order ? order : (a > b) - (a < b);
}

// Each side has one such function and no more: were there several, nobody could tell which is
// which.
static void pair_left(struct halves *halves, struct second_look look)
{
  TIDE_CLEANUP_FREE struct half **left = tide_alloc_array(halves->n, sizeof *left);
  size_t n = 0;
  for (size_t i = 0; i < halves->n; i++)
    if (!halves->items[i].twin && halves->items[i].key.function)
      left[n++] = &halves->items[i];
  if (n)
    qsort_r(left, n, sizeof *left, by_second_look, &look);
  for (size_t i = 0, past; i < n; i = past) {
    past = i + 1;
    while (past < n && look.compare(&left[i]->key, &left[past]->key) == 0)
      past++;
    bool one_each = past - i == 2 && !left[i]->is_after && left[i + 1]->is_after;
    if (one_each && look.are_twins(&left[i]->key, &left[i + 1]->key))
      make_twins(left[i], left[i + 1]);
  }
}

static void pair(struct halves *halves)
{
  for (size_t i = 1; i < halves->n; i++) {
    struct half *a = &halves->items[i - 1], *b = &halves->items[i];
    if (tide_match_compare(&a->key, &b->key) == 0)
      make_twins(a, b);
  }
  pair_left(halves, (struct second_look){tide_match_compare_moved, both_have_files});
  pair_left(halves, (struct second_look){tide_match_compare_bare, one_has_a_file});
}

static struct tide_diff_place place_of(const struct half *half)
{
  const struct half *before = half->is_after ? half->twin : half;
  const struct half *after = half->is_after ? half : half->twin;
  const struct tide_match_key *key = &half->key;
  bool has_name = key->function || key->file || key->build;
  struct tide_diff_place place = {
      .kind = half->kind,
      .label = half->label,
      .row = half->row,
      .is_module = half->frame && !has_name,
  };
  if (before) {
    place.before = before->amount;
    place.before_frame = before->frame;
  }
  if (after) {
    place.after = after->amount;
    place.after_frame = after->frame;
  }
  return place;
}

struct ranked {
  struct tide_diff_place place;
  uint64_t change, larger; // sizes
  size_t key_order;
};

static int by_rank(const void *left, const void *right)
{
  const struct ranked *a = left, *b = right;
  int order = (a->change < b->change) - (a->change > b->change);
  if (!order)
    order = (a->larger < b->larger) - (a->larger > b->larger);
  return order ? order : (a->key_order > b->key_order) - (a->key_order < b->key_order);
}

static void make_places(struct tide_diff *diff, const struct halves *halves)
{
  TIDE_CLEANUP_FREE struct ranked *ranked = tide_alloc_array(halves->n, sizeof *ranked);
  for (size_t i = 0; i < halves->n; i++) {
    const struct half *half = &halves->items[i];
    if (half->is_after && half->twin)
      continue; // the other half makes it
    struct tide_diff_place place = place_of(half);
    uint64_t before = size_of(tide_diff_measure(diff, &place.before));
    uint64_t after = size_of(tide_diff_measure(diff, &place.after));
    ranked[diff->n++] = (struct ranked){place, size_of(tide_diff_change(diff, &place)),
                                        before > after ? before : after, i};
  }
  if (diff->n)
    qsort(ranked, diff->n, sizeof *ranked, by_rank);
  diff->places = tide_alloc_array(diff->n, sizeof *diff->places);
  for (size_t i = 0; i < diff->n; i++) {
    const struct tide_diff_place *place = &ranked[i].place;
    enum tide_change kind = tide_diff_change_kind(diff, place);
    diff->places[i] = *place;
    diff->counts[kind]++;
    diff->sums[kind] =
        (int64_t)((uint64_t)diff->sums[kind] + (uint64_t)tide_diff_change(diff, place));
  }
}

// The stacks that are left in a cut file held less than the peak. The rest is kept apart, so that
// the total is the peak that every report tells.
static int64_t open_bytes(const struct tide_view *view, int64_t placed)
{
  const struct tide_question *question = &view->profile->question;
  bool in_bytes = question->unit == TIDE_UNIT_BYTES;
  if (question->measure != TIDE_MEASURE_PEAK || !in_bytes || view->unwanted)
    return 0;
  return tide_number_change(placed, view->whole);
}

static void make_total(struct tide_diff *diff)
{
  for (size_t i = 0; i < diff->n; i++)
    add_place(&diff->total, &diff->places[i]);
  diff->open.before.bytes = open_bytes(diff->before, diff->total.before.bytes);
  diff->open.after.bytes = open_bytes(diff->after, diff->total.after.bytes);
  add_place(&diff->total, &diff->open);
}

// What a row is called is all it is known by; the label is the diff's from now on.
static void label_half(struct tide_diff *diff, struct half *half, char *label)
{
  TIDE_GROW(diff->labels, diff->n_labels, diff->cap_labels);
  half->label = diff->labels[diff->n_labels++] = label;
  half->key = (struct tide_match_key){
      .kind = half->kind, .function = label, .function_n = strlen(label), .module = ""};
}

// Threads and classes, which stacks do not fold into, scopes, and calls.
static void gather_across(struct tide_diff *diff, struct halves *halves, bool is_after)
{
  struct tide_across across;
  tide_across_init(&across, is_after ? diff->after : diff->before, diff->group);
  for (size_t i = 0; i < across.n; i++) {
    const struct tide_across_row *row = &across.items[i];
    struct half half = {.is_after = is_after, .amount = row->amount, .row = row->row};
    half.weight = size_of(tide_diff_measure(diff, &half.amount));
    label_half(diff, &half, tide_strdup(row->label));
    TIDE_GROW(halves->items, halves->n, halves->cap);
    halves->items[halves->n++] = half;
  }
  tide_across_done(&across);
}

// By what the half is known again.
static void name_half(struct tide_diff *diff, struct half *half)
{
  const struct tide_view *view = half->is_after ? diff->after : diff->before;
  char *label = half->frame ? tide_match_label(view, diff->group, half->frame) : NULL;
  if (label)
    label_half(diff, half, label);
  else
    half->key = tide_match_key_of(diff->before->profile->image, diff->after->profile->image, view,
                                  half->kind, half->frame);
}

static void gather_code(struct tide_diff *diff, struct halves *halves)
{
  gather_half(halves, diff->before, false);
  gather_half(halves, diff->after, true);
  fold_halves(halves, by_frame, by_frame);
  for (size_t i = 0; i < halves->n; i++)
    name_half(diff, &halves->items[i]);
}

struct tide_diff *tide_diff_new(struct tide_view *before, struct tide_view *after,
                                enum tide_group_kind group)
{
  struct tide_diff *diff = tide_alloc(sizeof *diff);
  struct halves halves = {0};
  diff->group = group;
  diff->before = before;
  diff->after = after;
  bool goes_on = before->profile->question.goes_on || after->profile->question.goes_on;
  before->profile->question.goes_on = after->profile->question.goes_on = goes_on;
  if (tide_group_kind_is_across(group) || tide_group_kind_is_text(group)) {
    gather_across(diff, &halves, false);
    gather_across(diff, &halves, true);
  } else {
    gather_code(diff, &halves);
  }
  fold_halves(&halves, by_key_and_weight, by_key);
  pair(&halves);
  make_places(diff, &halves);
  make_total(diff);
  free(halves.items);
  return diff;
}

void tide_diff_free(struct tide_diff *diff)
{
  if (!diff)
    return;
  for (size_t i = 0; i < diff->n_labels; i++)
    free(diff->labels[i]);
  free(diff->labels);
  free(diff->places);
  free(diff);
}

size_t tide_diff_shown(const struct tide_diff *diff, size_t n_max, int64_t min)
{
  size_t n = 0;
  uint64_t least = min > 0 ? (uint64_t)min : 1;
  while (n < diff->n && n < n_max && size_of(tide_diff_change(diff, &diff->places[n])) >= least)
    n++;
  return n;
}

struct tide_diff_place tide_diff_rest(const struct tide_diff *diff, size_t n_shown)
{
  struct tide_diff_place rest = {0};
  for (size_t i = n_shown; i < diff->n; i++)
    add_place(&rest, &diff->places[i]);
  return rest;
}

const struct tide_named_frame *tide_diff_frame(const struct tide_diff *diff,
                                               const struct tide_diff_place *place,
                                               const struct tide_naming **ret_naming)
{
  bool newer = place->after_frame || !place->before_frame;
  *ret_naming = newer ? diff->after->naming : diff->before->naming;
  return newer ? place->after_frame : place->before_frame;
}

bool tide_diff_is_one_run(const struct tide_diff *diff)
{
  return diff->before->profile->image == diff->after->profile->image;
}

bool tide_diff_same_command(const struct tide_image *before, const struct tide_image *after)
{
  uint32_t n = before->cmdline_len;
  return n == after->cmdline_len && (!n || memcmp(before->cmdline, after->cmdline, n) == 0);
}
