// SPDX-License-Identifier: Apache-2.0
//
// Which part of a path a person would say.
#define _GNU_SOURCE
#include "view/source_path.h"

#include <string.h>

static const char *after(const char *path, const char *mark)
{
  const char *at = strstr(path, mark);
  return at ? at + strlen(mark) : NULL;
}

const char *tide_shorten_path(const char *path)
{
  // A registry holds one directory per index, then one per crate:
  // "…/registry/src/INDEX/crate-1.0/…"
  const char *registry = after(path, "/registry/src/");
  const char *crate = registry ? strchr(registry, '/') : NULL;
  if (crate)
    return crate + 1;
  const char *rust = after(path, "/rustc/");
  const char *library = rust ? strchr(rust, '/') : NULL;
  if (library)
    return library + 1;
  const char *slash = strrchr(path, '/');
  const char *before = slash ? memrchr(path, '/', (size_t)(slash - path)) : NULL;
  return before ? before + 1 : path;
}
