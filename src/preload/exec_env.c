// SPDX-License-Identifier: Apache-2.0
//
// Environments for exec, without allocating: the caller lends scratch memory (its stack: it may be
// a vfork child, whose memory is its parent's).
#include "preload/exec_image.h"

#include "preload/environment.h"
#include "preload/loader.h"
#include "rt/sys.h"
#include "rt/text.h"
#include "store/program_signs.h"

#include <fcntl.h>

static const char *const library = tide_start_texts.library;
static bool following;

void tide_exec_env_init(const char *preload, const char *options, bool follow)
{
  struct tide_object self;
  if (!tide_loader_object_at((uint64_t)&tide_exec_env_init, &self))
    return;
  struct tide_line path = TIDE_LINE(tide_start_texts.library);
  struct tide_line entry = TIDE_LINE(tide_start_texts.options_entry);
  tide_line_add(&path, self.path);
  tide_line_add(&entry, "TIDEMARK_OPTIONS=");
  tide_line_add(&entry, options);
  // Loaded by other means than LD_PRELOAD (linked, dlopen'ed): the next image is not ours.
  following = follow && library[0] == '/' && tide_text_find(preload, library);
}

bool tide_exec_env_library_is_gone(void)
{
  enum { R_OK_ = 4 };
  return following && tide_sys_failed(TIDE_SYS(SYS_faccessat, AT_FDCWD, library, R_OK_));
}

static const char *value_of(char *const env[], const char *name_and_equals)
{
  for (; env && *env; env++)
    if (tide_text_starts(*env, name_and_equals))
      return *env + tide_text_len(name_and_equals);
  return NULL;
}

// A sanitizer's runtime that the program preloads must come first, or it ends the next image.
bool tide_exec_env_has_sanitizer(char *const env[])
{
  return following && tide_sanitizer_in(value_of(env, "LD_PRELOAD="));
}

size_t tide_exec_env_need(char *const env[])
{
  const char *preload = value_of(env, "LD_PRELOAD=");
  if (!following)
    return 0;
  bool has_options = value_of(env, "TIDEMARK_OPTIONS=");
  if (preload && tide_text_find(preload, library) && has_options)
    return 0;
  size_t n = 0;
  while (env && env[n])
    n++;
  return (n + 3) * sizeof(char *) + sizeof "LD_PRELOAD=" + tide_text_len(library) + 1 +
         (preload ? tide_text_len(preload) : 0) + 1;
}

char **tide_exec_env_fix(char *const env[], void *scratch)
{
  const char *preload = value_of(env, "LD_PRELOAD=");
  bool preload_fine = preload && tide_text_find(preload, library);
  bool has_options = value_of(env, "TIDEMARK_OPTIONS=");
  char **fixed = scratch;
  size_t n = 0, k = 0;
  while (env && env[n])
    n++;
  char *entry = (char *)(fixed + n + 3);
  struct tide_line line = {entry, 0, (size_t)-1};
  for (size_t i = 0; i < n; i++)
    if (preload_fine || !tide_text_starts(env[i], "LD_PRELOAD="))
      fixed[k++] = env[i];
  if (!preload_fine) {
    tide_line_add(&line, "LD_PRELOAD=");
    tide_line_add(&line, library);
    if (preload && *preload) {
      tide_line_add(&line, ":");
      tide_line_add(&line, preload);
    }
    fixed[k++] = entry;
  }
  if (!has_options)
    fixed[k++] = tide_start_texts.options_entry;
  fixed[k] = NULL;
  return fixed;
}

size_t tide_exec_env_need_without(char *const env[])
{
  const char *preload = value_of(env, "LD_PRELOAD=");
  if (!preload || !library[0] || !tide_text_find(preload, library))
    return 0;
  size_t n = 0;
  while (env[n])
    n++;
  return (n + 1) * sizeof(char *) + sizeof "LD_PRELOAD=" + tide_text_len(preload);
}

char **tide_exec_env_without(char *const env[], void *scratch)
{
  const char *preload = value_of(env, "LD_PRELOAD="), *us = tide_text_find(preload, library);
  const char *rest = us + tide_text_len(library);
  char **fixed = scratch;
  size_t n = 0, k = 0;
  while (env[n])
    n++;
  char *entry = (char *)(fixed + n + 1);
  struct tide_line line = {entry, 0, (size_t)-1};
  tide_line_add(&line, "LD_PRELOAD=");
  tide_line_add_n(&line, preload, (size_t)(us - preload));
  tide_line_add(&line, *rest ? rest + 1 : ""); // the separator goes with us
  for (size_t i = 0; i < n; i++)
    if (!tide_text_starts(env[i], "LD_PRELOAD=") && !tide_text_starts(env[i], "TIDEMARK_OPTIONS="))
      fixed[k++] = env[i];
  if (line.n > sizeof "LD_PRELOAD=" - 1)
    fixed[k++] = entry;
  fixed[k] = NULL;
  return fixed;
}

static void is_not_to_load_us(struct tide_exec_target *target)
{
  target->takes_us = false;
  if (!target->is_unfit)
    target->why = TIDE_WHY_SANITIZER;
  target->is_unfit = true;
}

void tide_exec_target_heed(struct tide_exec_target *target, char *const env[])
{
  bool may_load_us = !target->is_unfit || target->why == TIDE_WHY_OWN_ALLOCATOR;
  if (target->is_elf && may_load_us && tide_exec_env_library_is_gone()) {
    target->is_unfit = true;
    target->why = TIDE_WHY_NO_LIBRARY;
  }
  if (tide_exec_env_has_sanitizer(env))
    is_not_to_load_us(target);
}
