// SPDX-License-Identifier: Apache-2.0
//
// Gathering sites in two steps: those with the same culprit frame fold by its pointer, which is
// cheap and leaves few; those fold by what the kind calls the same, as one line may be inlined in
// many places. Threads and classes cut across sites: see group_across.c.
#define _GNU_SOURCE
#include "view/groups.h"

#include "base/alloc.h"
#include "base/lookup.h"
#include "base/order.h"
#include "model/call_words.h"
#include "view/paths.h"

#include <stdlib.h>
#include <string.h>

struct entry { // a site and whom it is blamed on
  const struct tide_named_frame *frame;
  uint32_t site;
  enum tide_call call; // by calls; else 0
};

struct head { // sites with one culprit: entries[first] and the n - 1 behind it
  const struct tide_named_frame *frame;
  char *crate; // owned until a group has it
  size_t first, n;
};

struct gathering {
  const struct tide_view *view;
  struct tide_groups *groups;
  struct entry *entries;
  struct head *heads;
  size_t n_entries, n_heads;
};

static int compare_text(const char *a, const char *b)
{
  if (!a || !b)
    return (a != NULL) - (b != NULL);
  return strcmp(a, b);
}

static int compare_number(uint64_t a, uint64_t b)
{
  return (a > b) - (a < b);
}

// Same function, file and line; for code without a name, the same address.
int tide_place_compare(const struct tide_named_frame *a, const struct tide_named_frame *b)
{
  int order = compare_text(a->function, b->function);
  if (!order)
    order = compare_text(a->file, b->file);
  if (!order)
    order = compare_number(a->line, b->line);
  if (!order && !a->file)
    order = compare_number(a->module, b->module);
  if (!order && !a->function)
    order = compare_number(a->pc, b->pc);
  return order;
}

int tide_function_compare(const struct tide_named_frame *a, const struct tide_named_frame *b)
{
  int order = compare_text(a->function, b->function);
  if (order || !a->function)
    return order ? order : tide_place_compare(a, b);
  order = compare_text(a->file, b->file);
  return order || a->file ? order : compare_number(a->module, b->module);
}

static int compare_modules(const struct tide_naming *naming, const struct tide_named_frame *a,
                           const struct tide_named_frame *b)
{
  return strcmp(tide_naming_module_path(naming, a), tide_naming_module_path(naming, b));
}

static int by_kind(const void *left, const void *right, void *context)
{
  const struct head *a = left, *b = right;
  const struct gathering *g = context;
  int order = 0;
  if (g->groups->kind == TIDE_GROUP_CALL)
    return compare_number(g->entries[a->first].call, g->entries[b->first].call);
  if (!a->frame || !b->frame) // events without a stack
    return (a->frame != NULL) - (b->frame != NULL);
  switch (g->groups->kind) {
  case TIDE_GROUP_FUNCTION: return tide_function_compare(a->frame, b->frame);
  case TIDE_GROUP_FILE:
    order = compare_text(a->frame->file, b->frame->file);
    return order || a->frame->file ? order : compare_modules(g->view->naming, a->frame, b->frame);
  case TIDE_GROUP_SCOPE: return compare_text(a->crate, b->crate);
  case TIDE_GROUP_CRATE:
    order = compare_text(a->crate, b->crate);
    return order || a->crate ? order : compare_modules(g->view->naming, a->frame, b->frame);
  case TIDE_GROUP_MODULE: return compare_modules(g->view->naming, a->frame, b->frame);
  default: return tide_place_compare(a->frame, b->frame);
  }
}

// The innermost scope of a stack; 0: it has none.
static uint32_t scope_of(const struct tide_image *image, uint32_t stack)
{
  while (stack && !(image->frames[stack].flags & TIDE_FRAME_SCOPE))
    stack = image->frames[stack].parent;
  return stack;
}

// "GET /users > db": from the outermost in. Owned by the caller.
static char *scope_path(struct tide_naming *naming, uint32_t node)
{
  char *path = NULL;
  for (; node; node = tide_naming_image(naming)->frames[node].parent) {
    size_t n;
    const struct tide_named_frame *frame = tide_naming_of_node(naming, node, &n);
    const char *name = n && frame->function ? frame->function : "[scope]";
    char *longer = path ? tide_sprintf("%s > %s", name, path) : tide_strdup(name);
    free(path);
    path = longer;
  }
  return path;
}

char *tide_scope_path(const struct tide_view *view, uint32_t stack)
{
  return scope_path(view->naming, scope_of(view->profile->image, stack));
}

// What stands for a site among the groups; NULL: nothing does.
static const struct tide_named_frame *frame_for(struct tide_view *view, enum tide_group_kind kind,
                                                uint32_t stack)
{
  size_t n = 0;
  if (kind == TIDE_GROUP_CALL)
    return NULL;
  if (kind != TIDE_GROUP_SCOPE)
    return tide_view_culprit(view, stack);
  uint32_t scope = scope_of(view->profile->image, stack);
  const struct tide_named_frame *frame =
      scope ? tide_naming_of_node(view->naming, scope, &n) : NULL;
  return n ? frame : NULL;
}

// The culprit of each site, whatever it weighs: a row's numbers are those of all its stacks. What
// cannot be told goes to the rest.
static void collect_groups(struct gathering *g, struct tide_view *view)
{
  const struct tide_profile *profile = view->profile;
  struct tide_groups *groups = g->groups;
  g->entries = tide_alloc_array(profile->n_sites + 1, sizeof *g->entries);
  tide_naming_limit(view->naming, TIDE_GROUPS_LOOKUPS_MAX);
  for (uint32_t i = 0; i < profile->n_sites; i++) {
    const struct tide_profile_site *site = &profile->sites[i];
    if (!tide_view_has(view, i))
      continue;
    bool has_stack = site->kind != TIDE_SITE_LOST;
    const struct tide_named_frame *frame =
        has_stack ? frame_for(view, groups->kind, site->stack) : NULL;
    groups->n_stacks += site->weight > 0;
    if (has_stack && !frame && !tide_group_kind_is_text(groups->kind)) {
      tide_group_add_site(site->weight > 0 ? &groups->rest : &groups->weightless, site);
      continue;
    }
    groups->n_stacks_placed += site->weight > 0;
    enum tide_call call =
        groups->kind == TIDE_GROUP_CALL ? tide_naming_call(view->naming, site->stack) : 0;
    g->entries[g->n_entries++] = (struct entry){frame, i, call};
  }
}

static uint32_t stack_of_entry(const struct gathering *g, size_t entry_idx)
{
  return g->view->profile->sites[g->entries[entry_idx].site].stack;
}

// By culprit, then by call, then as they are, by site.
static void sort_entries(struct gathering *g)
{
  const size_t n = g->n_entries;
  TIDE_CLEANUP_FREE uint32_t *order = tide_order_new(n);
  TIDE_CLEANUP_FREE uint64_t *keys = tide_alloc_array(n + 1, sizeof *keys);
  for (size_t i = 0; i < n; i++)
    keys[i] = g->entries[i].call;
  tide_order_by(order, n, keys);
  for (size_t i = 0; i < n; i++)
    keys[i] = (uintptr_t)g->entries[i].frame;
  tide_order_by(order, n, keys);
  struct entry *sorted = tide_alloc_array(n + 1, sizeof *sorted);
  for (size_t i = 0; i < n; i++)
    sorted[i] = g->entries[order[i]];
  free(g->entries);
  g->entries = sorted;
}

static void make_heads(struct gathering *g)
{
  bool by_crate = g->groups->kind == TIDE_GROUP_CRATE;
  bool by_scope = g->groups->kind == TIDE_GROUP_SCOPE, by_call = g->groups->kind == TIDE_GROUP_CALL;
  bool by_stack = tide_group_kind_is_stacks(g->groups->kind);
  g->heads = tide_alloc_array(g->n_entries + 1, sizeof *g->heads);
  if (!by_stack)
    sort_entries(g);
  for (size_t i = 0; i < g->n_entries; i++) {
    const struct tide_named_frame *frame = g->entries[i].frame;
    if (i && !by_stack && frame == g->entries[i - 1].frame &&
        g->entries[i].call == g->entries[i - 1].call) {
      g->heads[g->n_heads - 1].n++;
      continue;
    }
    char *crate = by_crate && frame && frame->function ? tide_crate_of(frame->function) : NULL;
    if (by_scope && frame)
      crate = tide_scope_path(g->view, stack_of_entry(g, i));
    if (by_call)
      crate = tide_strdup(tide_call_word(g->entries[i].call));
    g->heads[g->n_heads++] = (struct head){frame, crate, i, 1};
  }
  if (!by_stack)
    qsort_r(g->heads, g->n_heads, sizeof *g->heads, by_kind, g);
}

static void add_head(struct gathering *g, const struct head *head, size_t group_idx)
{
  struct tide_group *group = &g->groups->items[group_idx];
  for (size_t i = head->first; i < head->first + head->n; i++)
    g->groups->of_site[g->entries[i].site] = (uint32_t)group_idx + 1;
  if (head->frame && (!group->frame || head->frame->pc < group->frame->pc))
    group->frame = head->frame; // the same one in every run
}

// The numbers of a million sites lie by rising stack: in that order one waits for memory least.
static void add_numbers(struct gathering *g)
{
  const struct tide_profile *profile = g->view->profile;
  const size_t n_frames = profile->image->n_frames;
  TIDE_CLEANUP_FREE uint32_t *site_of = tide_alloc_array(n_frames + 1, sizeof *site_of);
  for (uint32_t i = 0; i < profile->n_sites; i++)
    if (g->groups->of_site[i])
      site_of[profile->sites[i].stack] = i + 1;
  for (size_t stack = 0; stack < n_frames; stack++) {
    if (!site_of[stack])
      continue;
    uint32_t site = site_of[stack] - 1;
    tide_group_add_site(&g->groups->items[g->groups->of_site[site] - 1], &profile->sites[site]);
  }
}

static void fold_heads(struct gathering *g)
{
  struct tide_groups *groups = g->groups;
  bool by_stack = tide_group_kind_is_stacks(groups->kind);
  groups->items = tide_alloc_array(g->n_heads + 1, sizeof *groups->items);
  groups->of_site = tide_alloc_array(g->view->profile->n_sites + 1, sizeof *groups->of_site);
  for (size_t i = 0; i < g->n_heads; i++) {
    struct head *head = &g->heads[i];
    if (i && !by_stack && by_kind(head - 1, head, g) == 0) {
      add_head(g, head, groups->n - 1);
      continue;
    }
    uint32_t stack = g->view->profile->sites[g->entries[head->first].site].stack;
    groups->items[groups->n++] = (struct tide_group){0};
    groups->items[groups->n - 1].number = by_stack ? stack : g->entries[head->first].call;
    groups->items[groups->n - 1].crate = head->crate ? tide_strdup(head->crate) : NULL;
    add_head(g, head, groups->n - 1);
  }
  add_numbers(g);
}

// What weighs nothing is no row.
static void drop_weightless(struct tide_groups *groups, size_t n_sites)
{
  TIDE_CLEANUP_FREE uint32_t *now = tide_alloc_array(groups->n + 1, sizeof *now);
  size_t n = 0;
  for (size_t i = 0; i < groups->n; i++) {
    struct tide_group *group = &groups->items[i];
    if (group->measure > 0) {
      groups->items[n++] = *group;
      now[i + 1] = (uint32_t)n;
    } else {
      tide_group_add(&groups->weightless, group);
      free(group->crate);
    }
  }
  groups->n = n;
  for (size_t i = 0; i < n_sites; i++)
    groups->of_site[i] = now[groups->of_site[i]];
}

struct rank { // a group and where it was
  const struct tide_group *group;
  uint32_t from;
};

// Equals keep the order of their names.
static int by_measure(const void *left, const void *right)
{
  const struct rank *a = left, *b = right;
  int64_t x = a->group->measure, y = b->group->measure;
  return x != y ? (x < y) - (x > y) : compare_number(a->from, b->from);
}

static void sort(struct tide_groups *groups, size_t n_sites)
{
  struct tide_group *sorted = tide_alloc_array(groups->n + 1, sizeof *sorted);
  TIDE_CLEANUP_FREE struct rank *ranks = tide_alloc_array(groups->n + 1, sizeof *ranks);
  TIDE_CLEANUP_FREE uint32_t *now = tide_alloc_array(groups->n + 1, sizeof *now);
  for (uint32_t i = 0; i < groups->n; i++)
    ranks[i] = (struct rank){&groups->items[i], i};
  qsort(ranks, groups->n, sizeof *ranks, by_measure);
  for (uint32_t i = 0; i < groups->n; i++) {
    sorted[i] = *ranks[i].group;
    now[ranks[i].from + 1] = i + 1;
  }
  for (size_t i = 0; groups->of_site && i < n_sites; i++)
    groups->of_site[i] = now[groups->of_site[i]];
  free(groups->items);
  groups->items = sorted;
}

// The stacks of each group, which rise, so that whoever goes through them goes through memory once.
static void list_stacks(struct tide_groups *groups, const struct tide_profile *profile)
{
  size_t n_frames = profile->image->n_frames;
  TIDE_CLEANUP_FREE uint32_t *group_of = tide_alloc_array(n_frames, sizeof *group_of);
  TIDE_CLEANUP_FREE size_t *next = tide_alloc_array(groups->n + 2, sizeof *next);
  memcpy(next, groups->first, (groups->n + 2) * sizeof *next);
  for (size_t i = 0; i < profile->n_sites; i++)
    group_of[profile->sites[i].stack] = groups->of_site[i];
  for (size_t stack = 0; stack < n_frames; stack++)
    if (group_of[stack])
      groups->stacks[next[group_of[stack] - 1]++] = (uint32_t)stack;
}

static void list_sites(struct tide_groups *groups, const struct tide_profile *profile)
{
  groups->sites = tide_alloc_array(profile->n_sites + 1, sizeof *groups->sites);
  groups->stacks = tide_alloc_array(profile->n_sites + 1, sizeof *groups->stacks);
  groups->first = tide_alloc_array(groups->n + 2, sizeof *groups->first);
  size_t *first = groups->first;
  for (size_t i = 0; i < profile->n_sites; i++)
    if (groups->of_site[i])
      first[groups->of_site[i] + 1]++;
  for (size_t i = 1; i <= groups->n + 1; i++)
    first[i] += first[i - 1];
  for (uint32_t i = 0; i < profile->n_sites; i++) {
    if (!groups->of_site[i])
      continue;
    size_t at = first[groups->of_site[i]]++; // in the end, first[g] is where group g begins
    groups->sites[at] = i;
  }
  list_stacks(groups, profile);
}

// What a cut file still tells of the peak is more than its stacks hold.
static void add_gone(struct tide_groups *groups, const struct tide_view *view)
{
  const struct tide_question *question = &view->profile->question;
  bool of_peak = question->measure == TIDE_MEASURE_PEAK && question->unit == TIDE_UNIT_BYTES;
  if (!of_peak || question->of_pages || view->unwanted || !view->profile->image->is_part ||
      tide_group_kind_is_classes(groups->kind) || view->wanted >= view->whole)
    return;
  groups->gone = view->whole - view->wanted;
  groups->rest.measure += groups->gone;
  groups->rest.peak_bytes += groups->gone;
}

struct tide_groups *tide_groups_new(struct tide_view *view, enum tide_group_kind kind)
{
  struct tide_groups *groups = tide_alloc(sizeof *groups);
  groups->kind = kind;
  groups->rest = groups->weightless = (struct tide_group){0};
  if (tide_group_kind_is_across(kind)) {
    tide_groups_across(groups, view);
  } else {
    struct gathering g = {.view = view, .groups = groups};
    collect_groups(&g, view);
    make_heads(&g);
    fold_heads(&g);
    drop_weightless(groups, view->profile->n_sites);
    for (size_t i = 0; i < g.n_heads; i++)
      free(g.heads[i].crate);
    free(g.heads);
    free(g.entries);
  }
  add_gone(groups, view);
  if (!tide_group_kind_is_classes(kind))
    sort(groups, view->profile->n_sites);
  if (groups->of_site)
    list_sites(groups, view->profile);
  return groups;
}

void tide_groups_free(struct tide_groups *groups)
{
  if (!groups)
    return;
  for (size_t i = 0; i < groups->n; i++)
    free(groups->items[i].crate);
  free(groups->items);
  free(groups->of_site);
  free(groups->sites);
  free(groups->stacks);
  free(groups->first);
  free(groups->gifts);
  free(groups);
}

static size_t first_gift(const struct tide_groups *groups, uint32_t key)
{
  return TIDE_FIRST_NOT_BELOW(groups->gifts, groups->n_gifts, key, key);
}

size_t tide_groups_stacks(const struct tide_groups *groups, const struct tide_profile *profile,
                          size_t group_idx)
{
  uint32_t key = groups->items[group_idx].key;
  if (!groups->of_site)
    return first_gift(groups, key + 1) - first_gift(groups, key);
  size_t first = groups->first[group_idx], past = groups->first[group_idx + 1];
  while (past > first && profile->sites[groups->sites[past - 1]].weight <= 0)
    past--;
  return past - first;
}

struct tide_group_gift tide_groups_stack(const struct tide_groups *groups,
                                         const struct tide_profile *profile, size_t group_idx,
                                         size_t i)
{
  uint32_t key = groups->items[group_idx].key;
  if (!groups->of_site)
    return groups->gifts[first_gift(groups, key) + i];
  uint32_t site = groups->sites[groups->first[group_idx] + i];
  return (struct tide_group_gift){key, site, profile->sites[site].weight};
}

size_t tide_groups_shown(struct tide_groups *groups, size_t n_max, int64_t min_measure)
{
  size_t n = 0;
  bool limited = n_max < groups->n || min_measure;
  if (limited && tide_group_kind_is_classes(groups->kind))
    sort(groups, 0);
  while (n < groups->n && n < n_max && (!min_measure || groups->items[n].measure >= min_measure) &&
         (n_max == SIZE_MAX || groups->items[n].measure))
    n++;
  return n;
}

struct tide_group tide_groups_rest(const struct tide_groups *groups, size_t n_shown)
{
  struct tide_group rest = groups->rest;
  for (size_t i = n_shown; i < groups->n; i++)
    tide_group_add(&rest, &groups->items[i]);
  return rest;
}

struct tide_group tide_groups_others(const struct tide_groups *groups, size_t n_shown)
{
  struct tide_group others = tide_groups_rest(groups, n_shown);
  tide_group_add(&others, &groups->weightless);
  return others;
}

// ---- sums ----

void tide_group_add(struct tide_group *sum, const struct tide_group *item)
{
  sum->measure += item->measure;
  sum->n_stacks += item->n_stacks;
  tide_numbers_add(&sum->numbers, &item->numbers);
}

void tide_group_add_site(struct tide_group *sum, const struct tide_profile_site *site)
{
  sum->measure += site->weight;
  sum->n_stacks++;
  const struct tide_numbers numbers = tide_site_numbers(site);
  tide_numbers_add(&sum->numbers, &numbers);
}

void tide_groups_histograms(const struct tide_groups *groups, const struct tide_profile *profile,
                            size_t group_idx, uint64_t ret_sizes[TIDE_SIZE_BUCKETS_N],
                            uint64_t ret_lifetimes[TIDE_LIFE_BUCKETS_N])
{
  memset(ret_sizes, 0, TIDE_SIZE_BUCKETS_N * sizeof *ret_sizes);
  memset(ret_lifetimes, 0, TIDE_LIFE_BUCKETS_N * sizeof *ret_lifetimes);
  if (!groups->of_site)
    return;
  for (size_t i = groups->first[group_idx]; i < groups->first[group_idx + 1]; i++) {
    uint64_t sizes[TIDE_SIZE_BUCKETS_N], lives[TIDE_LIFE_BUCKETS_N];
    tide_profile_site_histograms(profile, &profile->sites[groups->sites[i]], sizes, lives);
    for (unsigned k = 0; k < TIDE_SIZE_BUCKETS_N; k++)
      ret_sizes[k] += sizes[k];
    for (unsigned k = 0; k < TIDE_LIFE_BUCKETS_N; k++)
      ret_lifetimes[k] += lives[k];
  }
}
