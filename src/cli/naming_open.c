// SPDX-License-Identifier: Apache-2.0
//
// Where names, rules and the cache of names are looked for, as the command line and the environment
// say.
#include "cli/naming_open.h"

#include "base/alloc.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "cli/hint_words.h"
#include "cli/terminal.h"
#include "view/blame.h"
#include "view/groups.h"
#include "view/resolver.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- the cache ----
//
// Where the cache is, and how large. A setting that makes no sense costs a line, not the report.

#define CACHE_BYTES_DEFAULT (256ull << 20)

static const char *environment(const char *name)
{
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

// Owned; NULL: none.
static char *cache_directory(void)
{
  const char *own = environment("TIDEMARK_CACHE"), *cache = environment("XDG_CACHE_HOME");
  const char *home = environment("HOME");
  if (own && strcmp(own, "off") == 0)
    return NULL;
  if (own && *own == '/')
    return tide_strdup(own);
  if (own)
    tide_say("TIDEMARK_CACHE is \"off\" or a path from the root, not \"%s\"; ignored", own);
  if (cache && *cache == '/')
    return tide_sprintf("%s/tidemark", cache);
  bool is_there = home && *home == '/' && access(home, F_OK) == 0; // homes are not ours to make
  return is_there ? tide_sprintf("%s/.cache/tidemark", home) : NULL;
}

static uint64_t cache_max_bytes(void)
{
  const char *text = environment("TIDEMARK_CACHE_MAX");
  uint64_t bytes = CACHE_BYTES_DEFAULT;
  struct tide_diag diag;
  if (text && tide_size_parse(text, &bytes, &diag))
    tide_say("TIDEMARK_CACHE_MAX: %s; ignored", diag.text);
  return bytes;
}

// In TIDEMARK_CACHE, else in $XDG_CACHE_HOME/tidemark or ~/.cache/tidemark; of 256 MiB, or
// TIDEMARK_CACHE_MAX. NULL with --no-cache, with TIDEMARK_CACHE=off, and where there is no home.
static struct tide_name_cache *open_cache(const struct tide_arguments *arguments)
{
  TIDE_CLEANUP_FREE char *dir = arguments->no_cache ? NULL : cache_directory();
  return dir ? tide_name_cache_new(dir, cache_max_bytes()) : NULL;
}

// ---- rules ----
//
// One file at most, so that a report made with --rules is the same on every machine. A file that
// was named must be there; the one in the usual place need not.

// Owned; NULL when the environment does not tell or there is no such file.
static char *usual_path(void)
{
  const char *config = environment("XDG_CONFIG_HOME"), *home = environment("HOME");
  char *path = config ? tide_sprintf("%s/tidemark/rules", config)
               : home ? tide_sprintf("%s/.config/tidemark/rules", home)
                      : NULL;
  if (path && access(path, F_OK) != 0) {
    free(path);
    path = NULL;
  }
  return path;
}

enum tide_err tide_rules_open(const struct tide_arguments *arguments, struct tide_rules **ret_rules,
                              struct tide_diag *diag)
{
  const char *named = arguments->rules ? arguments->rules : environment("TIDEMARK_RULES");
  TIDE_CLEANUP_FREE char *path = named ? tide_strdup(named) : usual_path();
  struct tide_rules *rules = tide_rules_new();
  enum tide_err err = path ? tide_rules_read(rules, path, diag) : TIDE_ERR_OK;
  if (err)
    tide_rules_free(rules);
  else
    *ret_rules = rules;
  return err;
}

// ---- names ----

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
  tide_resolver_set_cache(resolver, open_cache(arguments));
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
