// SPDX-License-Identifier: Apache-2.0
//
// Where names are looked for, as the command line says.
#include "cli/naming_open.h"

#include "base/alloc.h"
#include "cli/cache_open.h"
#include "cli/download.h"
#include "cli/hint_words.h"
#include "cli/progress.h"
#include "view/blame.h"
#include "view/groups.h"
#include "view/wrappers.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

enum tide_err tide_sources_check(const struct tide_arguments *arguments, struct tide_diag *diag)
{
  for (const char *dirs = arguments->debug_dirs; dirs && *dirs;) {
    size_t n = strcspn(dirs, ":");
    TIDE_CLEANUP_FREE char *dir = tide_strndup(dirs, n);
    DIR *opened = n ? opendir(dir) : NULL;
    if (n && !opened)
      return tide_fail_errno(diag, "--debug-dir: cannot read %s", dir);
    if (opened)
      closedir(opened);
    dirs += n + (dirs[n] == ':');
  }
  return TIDE_ERR_OK;
}

struct tide_symbol_sources tide_sources_of(const struct tide_arguments *arguments)
{
  // `run` ends when its command does, and `info` states facts: neither waits for a network.
  bool may_wait = arguments->verb != TIDE_VERB_RUN && arguments->verb != TIDE_VERB_INFO;
  return (struct tide_symbol_sources){
      .debug_dirs = arguments->debug_dirs,
      .download = may_wait && !arguments->no_debuginfod,
      .watch = tide_download_watch(),
      .hints = tide_cli_hint_words,
  };
}

static void show_progress(void *context, const char *path, size_t n_asked)
{
  static _Thread_local const char *shown;
  const char *slash = strrchr(path, '/');
  if (path == shown && n_asked % 64)
    return; // it is asked thousands of times a second
  shown = path;
  tide_progress_say("tidemark: looking up names in %s (%zu)", slash ? slash + 1 : path, n_asked);
}

struct tide_resolver *tide_resolver_open(const struct tide_arguments *arguments)
{
  struct tide_symbol_sources sources = tide_sources_of(arguments);
  struct tide_resolver *resolver = tide_resolver_new();
  tide_resolver_set_sources(resolver, &sources);
  tide_resolver_set_cache(resolver, tide_cache_open(arguments));
  // Data that is written to the terminal as it is made leaves no room for a line of ours.
  bool is_text = !arguments->json && !arguments->csv && !arguments->md && !arguments->to;
  if (is_text || !isatty(STDOUT_FILENO))
    tide_resolver_watch(resolver, show_progress, NULL);
  return resolver;
}

static size_t know_nothing(void *context, uint32_t module, uint64_t addr,
                           struct tide_symbol_frame *out, size_t max)
{
  return 0;
}

// Looking up names takes time; whoever neither shows them nor chooses by them is spared that.
static bool needs_names(const struct tide_arguments *arguments)
{
  return !arguments->no_symbols || arguments->fold || arguments->function || arguments->file ||
         arguments->ignore || arguments->focus || arguments->hide;
}

// By crate and module the question is whose code allocates: under own blame nearly all of it would
// be the program's.
static enum tide_blamed blamed_of(const struct tide_arguments *arguments)
{
  bool by_part = arguments->group == TIDE_GROUP_CRATE || arguments->group == TIDE_GROUP_MODULE;
  if (arguments->blame >= 0)
    return (enum tide_blamed)arguments->blame;
  return by_part ? TIDE_BLAMED_LIBRARY : TIDE_BLAMED_OWN;
}

struct tide_naming *tide_naming_open(const struct tide_arguments *arguments,
                                     const struct tide_image *image, const struct tide_rules *rules)
{
  static const struct tide_name_source nobody = {.lookup = know_nothing};
  struct tide_naming *naming = needs_names(arguments)
                                   ? tide_naming_new(image, tide_resolver_open(arguments))
                                   : tide_naming_new_from(image, &nobody);
  tide_naming_set_rules(naming, rules);
  tide_naming_set_blame(naming, blamed_of(arguments));
  bool folds = arguments->verb != TIDE_VERB_EXPORT || arguments->fold;
  if (needs_names(arguments) && folds)
    tide_wrappers_fold(naming);
  return naming;
}
