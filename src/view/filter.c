// SPDX-License-Identifier: Apache-2.0
//
// Compiled patterns, one per option that was given.
#include "view/filter.h"

#include "base/alloc.h"

#include <regex.h>
#include <stdlib.h>

enum { PATTERNS_N = 8 };

struct tide_filter {
  regex_t regex[PATTERNS_N]; // [k] is that of bit 1 << k
  unsigned given;            // bits of the patterns that there are
};

static enum tide_err compile(struct tide_filter *filter, unsigned k, const char *name,
                             const char *pattern, struct tide_diag *diag)
{
  if (!pattern)
    return TIDE_ERR_OK;
  int failed = regcomp(&filter->regex[k], pattern, REG_EXTENDED | REG_NOSUB);
  if (!failed) {
    filter->given |= 1u << k;
    return TIDE_ERR_OK;
  }
  char why[128];
  regerror(failed, &filter->regex[k], why, sizeof why);
  return tide_fail(diag, TIDE_ERR_USAGE, "--%s: \"%s\" is no regular expression: %s", name, pattern,
                   why);
}

enum tide_err tide_filter_new(const struct tide_filter_options *options,
                              struct tide_filter **ret_filter, struct tide_diag *diag)
{
  const struct {
    const char *name, *pattern;
  } all[PATTERNS_N] = {
      {"function", options->function}, {"file", options->file},       {"module", options->module},
      {"ignore", options->ignore},     {"focus", options->focus},     {"hide", options->hide},
      {"callers", options->callers},   {"callees", options->callees},
  };
  struct tide_filter *filter = tide_alloc(sizeof *filter);
  for (unsigned k = 0; k < PATTERNS_N; k++) {
    enum tide_err err = compile(filter, k, all[k].name, all[k].pattern, diag);
    if (err) {
      tide_filter_free(filter);
      return err;
    }
  }
  *ret_filter = filter;
  return TIDE_ERR_OK;
}

void tide_filter_free(struct tide_filter *filter)
{
  if (!filter)
    return;
  for (unsigned k = 0; k < PATTERNS_N; k++)
    if (filter->given & 1u << k)
      regfree(&filter->regex[k]);
  free(filter);
}

bool tide_filter_is_empty(const struct tide_filter *filter)
{
  return !filter || filter->given == 0;
}

unsigned tide_filter_judge(const struct tide_filter *filter, const struct tide_naming *naming,
                           const struct tide_named_frame *frame)
{
  const char *module = tide_naming_module_path(naming, frame);
  const char *function = frame->function ? frame->function : tide_naming_module(naming, frame);
  const char *texts[PATTERNS_N] = {function, frame->file, module,   function,
                                   function, function,    function, function};
  unsigned bits = 0;
  for (unsigned k = 0; k < PATTERNS_N; k++)
    if (filter->given & 1u << k && texts[k] && !regexec(&filter->regex[k], texts[k], 0, NULL, 0))
      bits |= 1u << k;
  return bits;
}

bool tide_filter_wants(const struct tide_filter *filter, unsigned bits)
{
  const unsigned needed = TIDE_FILTER_FUNCTION | TIDE_FILTER_FILE | TIDE_FILTER_MODULE |
                          TIDE_FILTER_FOCUS | TIDE_FILTER_CALLERS | TIDE_FILTER_CALLEES;
  return !(filter->given & needed & ~bits) && !(bits & TIDE_FILTER_IGNORE);
}
