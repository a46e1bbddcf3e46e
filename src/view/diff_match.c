// SPDX-License-Identifier: Apache-2.0
//
// Keys and their order. A key borrows its texts from the views' names.
#define _GNU_SOURCE
#include "view/diff_match.h"

#include "base/alloc.h"
#include "view/paths.h"

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
static const struct tide_module *common_build(const struct tide_diff *diff,
                                              const struct tide_view *view, uint32_t module_idx)
{
  const struct tide_image *before = diff->before->profile->image;
  const struct tide_image *after = diff->after->profile->image;
  const struct tide_module *module = &view->profile->image->modules[module_idx];
  if (before == after)
    return module;
  const struct tide_module *found = find_build(after, module);
  return found && find_build(before, module) ? found : NULL;
}

struct tide_match_key tide_match_key_of(const struct tide_diff *diff, const struct tide_view *view,
                                        enum tide_diff_kind kind,
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
  key.build = common_build(diff, view, frame->module);
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
