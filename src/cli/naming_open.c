// SPDX-License-Identifier: Apache-2.0
//
// Where names are looked for, as the command line says.
#include "cli/naming_open.h"

#include "base/alloc.h"
#include "cli/download.h"

#include <dirent.h>
#include <string.h>

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
  };
}

struct tide_resolver *tide_resolver_open(const struct tide_arguments *arguments)
{
  struct tide_symbol_sources sources = tide_sources_of(arguments);
  struct tide_resolver *resolver = tide_resolver_new();
  tide_resolver_set_sources(resolver, &sources);
  return resolver;
}

struct tide_naming *tide_naming_open(const struct tide_arguments *arguments,
                                     const struct tide_image *image, const struct tide_rules *rules)
{
  struct tide_naming *naming = tide_naming_new(image, tide_resolver_open(arguments));
  tide_naming_set_rules(naming, rules);
  return naming;
}
