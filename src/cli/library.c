// SPDX-License-Identifier: Apache-2.0
//
// The places are tried from near to far, so that a build tree, a copied pair of files and an
// install under DESTDIR each use their own library and never another version's.
#define _GNU_SOURCE
#include "cli/library.h"

#include "base/alloc.h"

#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef TIDE_LIBRARY_DIR
#define TIDE_LIBRARY_DIR "/usr/local/lib/tidemark"
#endif
#ifndef TIDE_DOCUMENTS_DIR
#define TIDE_DOCUMENTS_DIR "/usr/local/share/doc/tidemark"
#endif

const char tide_documents_dir[] = TIDE_DOCUMENTS_DIR;

static char *command_directory(void)
{
  char path[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  if (n <= 0)
    return NULL;
  path[n] = 0;
  char *slash = strrchr(path, '/');
  if (!slash)
    return NULL;
  *slash = 0;
  return tide_strdup(path);
}

// The first readable file that matches, absolute and owned; NULL when there is none.
static char *first_match(const char *pattern)
{
  glob_t found = {0};
  char *path = NULL;
  if (glob(pattern, 0, NULL, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc && !path; i++)
      if (access(found.gl_pathv[i], R_OK) == 0)
        path = realpath(found.gl_pathv[i], NULL);
  globfree(&found);
  return path;
}

static const char *const nearby[] = {
    "",
    "../lib*/tidemark/",
    "../lib/*/tidemark/",
};

enum tide_err tide_library_find(const char *name, char **ret_path, struct tide_diag *diag)
{
  TIDE_CLEANUP_FREE char *directory = command_directory();
  char *path = NULL;
  for (size_t i = 0; directory && !path && i < sizeof nearby / sizeof *nearby; i++) {
    TIDE_CLEANUP_FREE char *pattern = tide_sprintf("%s/%s%s", directory, nearby[i], name);
    path = first_match(pattern);
  }
  if (!path) {
    TIDE_CLEANUP_FREE char *installed = tide_sprintf("%s/%s", TIDE_LIBRARY_DIR, name);
    path = first_match(installed);
  }
  if (!path)
    return tide_fail(diag, TIDE_ERR_NOT_FOUND,
                     "%s is neither beside the command (%s) nor in " TIDE_LIBRARY_DIR
                     "; build or install it again",
                     name, directory ? directory : "unknown");
  *ret_path = path;
  return TIDE_ERR_OK;
}
