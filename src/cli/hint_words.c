// SPDX-License-Identifier: Apache-2.0
//
// Every option that a sentence of a library leads to.
#include "cli/hint_words.h"

#include "base/alloc.h"
#include "profile/question.h"

_Static_assert(TIDE_HINT_SEE_TREE_LAST - TIDE_HINT_SEE_TREE + 1 == TIDE_MEASURES_N,
               "a tree by each measure");

const char *tide_cli_hint_words(enum tide_hint hint)
{
  static const char pages_at_times[] =
      "--group pages takes --at with --sort live (what was mapped then) and --range with "
      "--sort total (what was mapped meanwhile)";
  static const char *const words[TIDE_HINTS_N] = {
      [TIDE_HINT_IN_BYTES] = "try --by bytes",
      [TIDE_HINT_ONE_TIME] = "leave out --at or --range",
      [TIDE_HINT_LIVE] = "--sort live takes a time",
      [TIDE_HINT_GROWN] = "try --sort grown",
      [TIDE_HINT_COUNT] = "try --sort count",
      [TIDE_HINT_MOMENT] = "--at shows a moment",
      [TIDE_HINT_PAGES_AT_TIMES] = pages_at_times,
      [TIDE_HINT_WHOLE_RUN] = "leave out --at and --range",
      [TIDE_HINT_NO_MEASURE] = "leave out --sort and --by",
      [TIDE_HINT_MOMENT_OR_PEAK] = "--at TIME, --sort peak or --sort live",
      [TIDE_HINT_TABLE] = "'tidemark report --csv' prints a table of places",
      [TIDE_HINT_THRESHOLD] = "a larger --threshold decides",
      [TIDE_HINT_ANY_PORT] = "choose another, or leave --port out for a free one",
      [TIDE_HINT_WAIT_LONGER] = "--timeout TIME waits longer",
      [TIDE_HINT_WAIT_FOR_ALL] = "--wait judges them at their end",
      [TIDE_HINT_TOKEN] = "--token-file FILE or TIDEMARK_TOKEN brings a token",
      [TIDE_HINT_REPLACE] = "-f replaces it",
      [TIDE_HINT_OUTPUT_FILE] = "-o wants a file",
      [TIDE_HINT_DEBUG_DIR] = "name its directory with --debug-dir",
      [TIDE_HINT_ALL_FRAMES] = "--all-frames shows them",
      [TIDE_HINT_ALL_NODES] = "--min-share 0 shows all",
      [TIDE_HINT_PROCESS] = "--process PID shows one",
      [TIDE_HINT_OF_PROCESS] = "--process",
      [TIDE_HINT_SEE_PAGE] = "tidemark view",
      [TIDE_HINT_SEE_REPORT] = "tidemark report",
      [TIDE_HINT_SEE_LEAKS] = "tidemark report --sort leak",
      [TIDE_HINT_SEE_TEMPORARY] = "tidemark report --sort temp",
      [TIDE_HINT_SEE_TOTAL] = "tidemark report --sort total",
      [TIDE_HINT_SEE_COUNT] = "tidemark report --sort count",
      [TIDE_HINT_SEE_PAGES] = "tidemark report --group pages",
      [TIDE_HINT_SEE_TREE_OF_PAGES] = "tidemark tree --group pages",
      [TIDE_HINT_SEE_EVENTS] = "tidemark report --events",
      [TIDE_HINT_SEE_TREE_OF_EVENTS] = "tidemark tree --events",
      [TIDE_HINT_SEE_EXPORT_OF_EVENTS] = "tidemark export --events --to dhat",
      [TIDE_HINT_SEE_DIFF] = "tidemark diff BEFORE AFTER",
      [TIDE_HINT_SEE_DIFF_WITH] = "tidemark diff BEFORE",
      [TIDE_HINT_SEE_DIFF_OF] = "tidemark diff",
      [TIDE_HINT_SEE_INFO] = "tidemark info",
      [TIDE_HINT_SEE_MAPS] = "tidemark maps",
      [TIDE_HINT_SEE_FINDINGS] = "tidemark explain",
      [TIDE_HINT_SEE_EXPORT] = "tidemark export --to dhat",
      [TIDE_HINT_SEE_TREE + TIDE_MEASURE_PEAK] = "tidemark tree",
      [TIDE_HINT_SEE_TREE + TIDE_MEASURE_LIVE] = "tidemark tree --sort live",
      [TIDE_HINT_SEE_TREE + TIDE_MEASURE_TOTAL] = "tidemark tree --sort total",
      [TIDE_HINT_SEE_TREE + TIDE_MEASURE_GROWN] = "tidemark tree --sort grown",
      [TIDE_HINT_SEE_TREE + TIDE_MEASURE_LEAK] = "tidemark tree --sort leak",
      [TIDE_HINT_SEE_TREE + TIDE_MEASURE_TEMP] = "tidemark tree --sort temp",
  };
  return (unsigned)hint < TIDE_HINTS_N ? words[hint] : NULL;
}

char *tide_cli_failure_words(enum tide_err err, const struct tide_diag *diag)
{
  const char *text = diag->text[0] ? diag->text : tide_err_text(err);
  const char *way = tide_cli_hint_words(diag->hint);
  return way ? tide_sprintf("%s; %s", text, way) : tide_strdup(text);
}
