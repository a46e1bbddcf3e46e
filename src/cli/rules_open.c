// SPDX-License-Identifier: Apache-2.0
//
// One file at most, so that a report made with --rules is the same on every machine. A file that
// was named must be there; the one in the usual place need not.
#include "cli/rules_open.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <unistd.h>

static const char *environment(const char *name)
{
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

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
