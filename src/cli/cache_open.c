// SPDX-License-Identifier: Apache-2.0
//
// Where the cache is, and how large. A setting that makes no sense costs a line, not the report.
#include "cli/cache_open.h"

#include "base/alloc.h"
#include "base/units.h"
#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_BYTES_DEFAULT (256ull << 20)

static const char *environment(const char *name)
{
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

// Owned; NULL: none.
static char *directory(void)
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

static uint64_t max_bytes(void)
{
  const char *text = environment("TIDEMARK_CACHE_MAX");
  uint64_t bytes = MAX_BYTES_DEFAULT;
  struct tide_diag diag;
  if (text && tide_size_parse(text, &bytes, &diag))
    tide_say("TIDEMARK_CACHE_MAX: %s; ignored", diag.text);
  return bytes;
}

struct tide_name_cache *tide_cache_open(const struct tide_arguments *arguments)
{
  TIDE_CLEANUP_FREE char *dir = arguments->no_cache ? NULL : directory();
  return dir ? tide_name_cache_new(dir, max_bytes()) : NULL;
}
