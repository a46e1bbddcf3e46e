// SPDX-License-Identifier: Apache-2.0
//
// Groups that cut across sites. By class, each site gives its weight to the classes it is known to
// be of (profile/classes.h).
//
// What a thread did to the blocks of one stack is a row of the image, and a free is booked to the
// thread that freed. So what is left of a thread's blocks is its row where every thread freed its
// own, and all of the stack where no other thread allocated there. Between these, and for a part of
// a run, which has no rows, it is of several threads.
#include "view/groups.h"

#include "base/alloc.h"

#include <stdlib.h>

static void add_wrapping(int64_t *sum, int64_t more)
{
  *sum = (int64_t)((uint64_t)*sum + (uint64_t)more); // from files: may be anything
}

// Adds to a group what a site gives to it.
static void give_weight(struct tide_groups *groups, struct tide_group *group, size_t site,
                        int64_t weight)
{
  if (!weight)
    return;
  add_wrapping(&group->measure, weight);
  TIDE_GROW(groups->gifts, groups->n_gifts, groups->cap_gifts);
  groups->gifts[groups->n_gifts++] = (struct tide_group_gift){group->key, (uint32_t)site, weight};
}

static int by_key_and_weight(const void *left, const void *right)
{
  const struct tide_group_gift *a = left, *b = right;
  int order = (a->key > b->key) - (a->key < b->key);
  if (!order)
    order = (a->weight < b->weight) - (a->weight > b->weight);
  return order ? order : (a->site > b->site) - (a->site < b->site);
}

static void add_classes(struct tide_groups *groups, const struct tide_classes *classes, size_t site)
{
  struct tide_group *several = &groups->items[classes->n];
  struct tide_class_shares shares;
  tide_classes_share(classes, site, &shares);
  for (size_t k = 0; k < classes->n; k++) {
    groups->items[k].n_alloc += shares.counts[k];
    groups->items[k].n_stacks += shares.weights[k] != 0;
    give_weight(groups, &groups->items[k], site, shares.weights[k]);
  }
  if (!shares.several)
    return;
  if (!several->n_stacks || shares.lowest < several->number)
    several->number = shares.lowest;
  if (!several->n_stacks || shares.highest > several->last)
    several->last = shares.highest;
  several->n_stacks++;
  give_weight(groups, several, site, shares.several);
}

// What a thread did there, whosever blocks they were.
static struct tide_group deeds_of(const struct tide_site *row)
{
  return (struct tide_group){.numbers = tide_counters_done(&row->counters), .n_stacks = 1};
}

static void add_holdings(struct tide_group *sum, const struct tide_profile_site *of)
{
  const struct tide_numbers all = tide_site_numbers(of), held = tide_numbers_held(&all);
  tide_numbers_add(&sum->numbers, &held);
}

static struct tide_profile_site row_as_site(const struct tide_site *row)
{
  return (struct tide_profile_site){.in_row = &row->counters};
}

struct rows { // of one site
  const struct tide_profile *profile;
  const struct tide_profile_site *site;
  bool own_frees;    // nobody freed another's block
  uint32_t n_makers; // threads that allocated
  uint32_t maker;    // one of them
};

static struct tide_site row_at(const struct rows *rows, uint32_t i)
{
  const struct tide_profile *profile = rows->profile;
  return tide_image_site(profile->image, profile->rows[rows->site->first_row + i]);
}

static struct rows rows_of(const struct tide_profile *profile, const struct tide_profile_site *site)
{
  struct rows rows = {.profile = profile, .site = site, .own_frees = true};
  for (uint32_t i = 0; i < site->n_rows; i++) {
    const struct tide_site row = row_at(&rows, i);
    rows.own_frees &= row.n_foreign == 0;
    if (!row.n_alloc)
      continue;
    rows.maker = row.thread;
    rows.n_makers++;
  }
  return rows;
}

// Whose the weight is that the rows are not the answer for.
static struct tide_group *owner(struct tide_groups *groups, const struct rows *rows)
{
  return rows->n_makers == 1 ? &groups->items[rows->maker] : &groups->items[groups->n - 1];
}

// Whether the rows answer the question: of allocations in the whole run, or in a part that has all
// of them; of blocks held, where they are the holdings.
static bool rows_answer(const struct rows *rows)
{
  const struct tide_question *question = &rows->profile->question;
  const struct tide_profile_site *site = rows->site;
  bool of_part = question->window.from.given || question->window.to.given;
  bool made = question->measure == TIDE_MEASURE_TOTAL || question->measure == TIDE_MEASURE_TEMP;
  uint64_t all =
      question->unit == TIDE_UNIT_BYTES ? TIDE_OF_SITE(site, b_alloc) : TIDE_OF_SITE(site, n_alloc);
  if (of_part)
    return all && (uint64_t)site->weight == all;
  if (rows->profile->image->is_reset && tide_measure_is_of_new(question->measure))
    return false; // what went of the blocks from before is known of stacks alone
  return made || rows->own_frees;
}

static int64_t weight_of_row(const struct rows *rows, const struct tide_site *row)
{
  struct tide_question question = rows->profile->question;
  bool of_part = question.window.from.given || question.window.to.given;
  struct tide_profile_site site = row_as_site(row);
  if (of_part)
    question.measure = TIDE_MEASURE_TOTAL; // all that was ever allocated is meant
  return tide_profile_weight(&site, &question);
}

static void add_threads(struct tide_groups *groups, const struct tide_profile *profile,
                        size_t site_idx)
{
  const struct tide_profile_site *site = &profile->sites[site_idx];
  const struct rows rows = rows_of(profile, site);
  bool answered = rows_answer(&rows);
  for (uint32_t i = 0; i < site->n_rows; i++) {
    const struct tide_site row = row_at(&rows, i);
    struct tide_group *group = &groups->items[row.thread];
    struct tide_group deeds = deeds_of(&row);
    tide_group_add(group, &deeds);
    if (rows.own_frees) {
      struct tide_profile_site own = row_as_site(&row);
      add_holdings(group, &own);
    }
    if (answered)
      give_weight(groups, group, site_idx, weight_of_row(&rows, &row));
  }
  struct tide_group *whose = owner(groups, &rows);
  if (!rows.own_frees)
    add_holdings(whose, site);
  if (answered || !site->weight)
    return;
  give_weight(groups, whose, site_idx, site->weight);
  whose->n_stacks += whose->several;
}

static bool is_nothing(const struct tide_group *group, bool of_thread)
{
  bool did = group->n_alloc || group->n_free || group->live_blocks || group->peak_blocks;
  return !group->measure && !(of_thread && did);
}

// Groups of nothing are left out.
static void compact(struct tide_groups *groups)
{
  size_t out = 0;
  for (size_t i = 0; i < groups->n; i++)
    if (!is_nothing(&groups->items[i], groups->kind == TIDE_GROUP_THREAD))
      groups->items[out++] = groups->items[i];
  groups->n = out;
}

static void make_items(struct tide_groups *groups, size_t n)
{
  groups->n = n + 1; // the last one: of several
  groups->items = tide_alloc_array(groups->n + 1, sizeof *groups->items);
  for (uint32_t i = 0; i < groups->n; i++) {
    groups->items[i] = (struct tide_group){0};
    groups->items[i].number = groups->items[i].key = i;
    groups->items[i].several = i == n;
  }
}

void tide_groups_across(struct tide_groups *groups, const struct tide_view *view)
{
  const struct tide_profile *profile = view->profile;
  bool of_threads = groups->kind == TIDE_GROUP_THREAD;
  size_t n_threads = profile->image->n_threads_known ? profile->image->n_threads_known : 1;
  struct tide_classes classes = {0};
  if (!of_threads)
    tide_classes_init(&classes, profile, groups->kind == TIDE_GROUP_LIFETIME);
  make_items(groups, of_threads ? n_threads : classes.n);
  for (size_t i = 0; i < profile->n_sites; i++) {
    if (!tide_view_has(view, i))
      continue;
    groups->n_stacks += profile->sites[i].weight > 0;
    if (of_threads)
      add_threads(groups, profile, i);
    else
      add_classes(groups, &classes, i);
  }
  tide_classes_done(&classes);
  if (groups->n_gifts)
    qsort(groups->gifts, groups->n_gifts, sizeof *groups->gifts, by_key_and_weight);
  groups->n_stacks_placed = groups->n_stacks;
  compact(groups);
}

// Its stacks do, or none of them: it was not told before, nor by other tools.
static bool tells_calls(const struct tide_image *image)
{
  for (size_t i = 1; i < image->n_frames; i++)
    if (tide_call_of_flags(image->frames[i].flags))
      return true;
  return !image->n_sites;
}

enum tide_err tide_groups_check(enum tide_group_kind kind, const struct tide_image *image,
                                struct tide_diag *diag)
{
  static const uint32_t needs[TIDE_GROUPS_N] = {
      [TIDE_GROUP_THREAD] = TIDE_LACK_THREADS,
      [TIDE_GROUP_SIZE] = TIDE_LACK_SIZE_HIST,
      [TIDE_GROUP_LIFETIME] = TIDE_LACK_LIFE_HIST,
  };
  if (kind == TIDE_GROUP_CALL ? tells_calls(image) : !(image->lacks & needs[kind]))
    return TIDE_ERR_OK;
  return tide_fail(diag, TIDE_ERR_USAGE,
                   "%s holds nothing by %s; it does by function, file, crate and module",
                   tide_image_source(image), tide_group_words[kind]);
}
