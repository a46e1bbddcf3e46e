// SPDX-License-Identifier: Apache-2.0
//
// Keys and their order: a key borrows its texts from the views' names. Below them, the rows of one
// side that are threads or classes. Weights of the unit that was not asked for are had by asking
// another profile of the same image.
#define _GNU_SOURCE
#include "view/diff_match.h"

#include "base/alloc.h"
#include "view/paths.h"

#include <stdlib.h>
#include <string.h>

// How much of a name the programmer wrote.
static size_t own_length(const char *function)
{
  static const char *const appended[] = {
      ".isra.", ".constprop.", ".part.",  ".cold",    ".lto_priv.",
      ".llvm.", ".localalias", ".clone.", " [clone ",
  };
  size_t n = strlen(function);
  for (size_t i = 0; i < sizeof appended / sizeof *appended; i++) {
    const char *at = memmem(function, n, appended[i], strlen(appended[i]));
    if (at && at > function)
      n = (size_t)(at - function);
  }
  return n;
}

static bool is_same_build(const struct tide_module *a, const struct tide_module *b)
{
  return a->build_id_len && a->build_id_len == b->build_id_len &&
         memcmp(a->build_id, b->build_id, a->build_id_len) == 0;
}

// The module of an image that is the same build; NULL when there is none.
static const struct tide_module *find_build(const struct tide_image *image,
                                            const struct tide_module *module)
{
  for (size_t i = 1; i < image->n_modules; i++)
    if (is_same_build(&image->modules[i], module))
      return &image->modules[i];
  return NULL;
}

// The module both sides have, as the after side knows it.
static const struct tide_module *common_build(const struct tide_image *before,
                                              const struct tide_image *after,
                                              const struct tide_module *module)
{
  if (before == after)
    return module;
  const struct tide_module *found = find_build(after, module);
  return found && find_build(before, module) ? found : NULL;
}

struct tide_match_key tide_match_key_of(const struct tide_image *before,
                                        const struct tide_image *after,
                                        const struct tide_view *view, enum tide_diff_kind kind,
                                        const struct tide_named_frame *frame)
{
  struct tide_match_key key = {.kind = kind};
  if (!frame)
    return key;
  key.function = frame->function;
  key.function_n = frame->function ? own_length(frame->function) : 0;
  key.file = frame->file ? tide_shorten_path(frame->file) : NULL;
  key.module = tide_naming_module(view->naming, frame);
  if (frame->function || frame->file)
    return key;
  key.build = common_build(before, after, &view->profile->image->modules[frame->module]);
  key.addr = key.build ? tide_naming_elf_address(view->naming, frame) : 0;
  return key;
}

char *tide_match_label(const struct tide_view *view, enum tide_group_kind group,
                       const struct tide_named_frame *frame)
{
  char *crate = NULL;
  switch (group) {
  case TIDE_GROUP_FILE:
    if (frame->file)
      return tide_strdup(tide_shorten_path(frame->file));
    break;
  case TIDE_GROUP_CRATE: crate = frame->function ? tide_crate_of(frame->function) : NULL; break;
  case TIDE_GROUP_MODULE: break;
  default: return NULL;
  }
  return crate ? crate : tide_strdup(tide_naming_module(view->naming, frame));
}

static int compare_text(const char *a, const char *b)
{
  if (!a || !b)
    return (a != NULL) - (b != NULL);
  return strcmp(a, b);
}

static int compare_function(const struct tide_match_key *a, const struct tide_match_key *b)
{
  if (!a->function || !b->function)
    return (a->function != NULL) - (b->function != NULL);
  size_t n = a->function_n < b->function_n ? a->function_n : b->function_n;
  int order = memcmp(a->function, b->function, n);
  return order ? order : (a->function_n > b->function_n) - (a->function_n < b->function_n);
}

int tide_match_compare(const struct tide_match_key *a, const struct tide_match_key *b)
{
  int order = (a->kind > b->kind) - (a->kind < b->kind);
  if (!order)
    order = compare_function(a, b);
  if (!order)
    order = compare_text(a->file, b->file);
  if (!order && !a->file)
    order = compare_text(a->module, b->module);
  if (!order)
    order = (a->build > b->build) - (a->build < b->build);
  return order ? order : (a->addr > b->addr) - (a->addr < b->addr);
}

static const char *base_name(const char *path)
{
  const char *slash = path ? strrchr(path, '/') : NULL;
  return slash ? slash + 1 : path;
}

int tide_match_compare_moved(const struct tide_match_key *a, const struct tide_match_key *b)
{
  int order = (a->kind > b->kind) - (a->kind < b->kind);
  if (!order)
    order = compare_function(a, b);
  return order ? order : compare_text(base_name(a->file), base_name(b->file));
}

int tide_match_compare_bare(const struct tide_match_key *a, const struct tide_match_key *b)
{
  int order = (a->kind > b->kind) - (a->kind < b->kind);
  if (!order)
    order = compare_function(a, b);
  return order ? order : compare_text(a->module, b->module);
}

// A view of another profile that has the same stacks.
static void view_alike(struct tide_view *ret_view, const struct tide_view *view,
                       struct tide_profile *profile)
{
  const struct tide_image *image = profile->image;
  TIDE_CLEANUP_FREE uint8_t *has = tide_alloc_array(image->n_frames, 1);
  for (size_t i = 0; i < view->profile->n_sites; i++)
    has[view->profile->sites[i].stack] = tide_view_has(view, i);
  tide_view_init(ret_view, profile, view->naming, NULL, view->all_frames);
  ret_view->unwanted = tide_alloc_array(profile->n_sites + 1, 1);
  for (size_t i = 0; i < profile->n_sites; i++)
    ret_view->unwanted[i] = !has[profile->sites[i].stack];
}

static char *label_of(const struct tide_profile *profile, enum tide_group_kind kind,
                      const struct tide_group *group)
{
  const struct tide_image *image = profile->image;
  const struct tide_thread_row *threads = image->threads;
  uint32_t number = group->number;
  bool is_thread = kind == TIDE_GROUP_THREAD && !group->several;
  bool known = is_thread && number && number < image->n_threads_known;
  if (known && !threads[number].name[0] && threads[number].tid != image->pid)
    return tide_strdup("(threads without a name)"); // the number is another in every run
  if (kind == TIDE_GROUP_SIZE && group->several)
    return tide_strdup("several sizes"); // which they are may differ
  return tide_group_label(profile, kind, group, (struct tide_style){.utf8 = true});
}

static void add_groups(struct tide_across *across, const struct tide_profile *profile,
                       const struct tide_groups *groups, bool in_bytes, bool asked)
{
  for (size_t i = 0; i < groups->n; i++) {
    const struct tide_group *group = &groups->items[i];
    if (!group->measure)
      continue;
    TIDE_GROW(across->items, across->n, across->cap);
    across->items[across->n++] = (struct tide_across_row){
        .label = label_of(profile, groups->kind, group),
        .row = {.number = group->several ? 0 : group->number,
                .several = group->several,
                .last = group->several ? TIDE_SIZE_CLASSES_N - 1 : 0}, // the sides may differ
        .amount = {in_bytes ? group->measure : 0, in_bytes ? 0 : group->measure,
                   asked ? group->n_stacks : 0},
    };
  }
}

void tide_across_init(struct tide_across *across, struct tide_view *view, enum tide_group_kind kind)
{
  const struct tide_profile *profile = view->profile;
  struct tide_question question = profile->question;
  bool in_bytes = question.unit == TIDE_UNIT_BYTES;
  *across = (struct tide_across){0};
  struct tide_groups *groups = tide_groups_new(view, kind);
  add_groups(across, profile, groups, in_bytes, true);
  tide_groups_free(groups);
  question.unit = in_bytes ? TIDE_UNIT_BLOCKS : TIDE_UNIT_BYTES;
  struct tide_profile *other = tide_profile_new(profile->capture, profile->image_idx);
  struct tide_view other_view;
  tide_profile_ask(other, &question);
  view_alike(&other_view, view, other);
  groups = tide_groups_new(&other_view, kind);
  add_groups(across, profile, groups, !in_bytes, false);
  tide_groups_free(groups);
  tide_view_done(&other_view);
  tide_profile_free(other);
}

void tide_across_done(struct tide_across *across)
{
  for (size_t i = 0; i < across->n; i++)
    free(across->items[i].label);
  free(across->items);
  *across = (struct tide_across){0};
}
