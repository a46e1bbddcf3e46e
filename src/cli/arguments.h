// SPDX-License-Identifier: Apache-2.0
//
// The command line: one table of verbs, one of options. Parsing, help and did-you-mean all read
// the same tables, so what is accepted, what is explained and what is suggested cannot disagree.
#pragma once
#include "base/err.h"
#include "base/sink.h"
#include "check/budgets.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tide_verb {
  TIDE_VERB_RUN,
  TIDE_VERB_ATTACH,
  TIDE_VERB_TOP,
  TIDE_VERB_CTL,
  TIDE_VERB_DETACH,
  TIDE_VERB_DOCTOR,
  TIDE_VERB_MAPS,
  TIDE_VERB_REPORT,
  TIDE_VERB_TREE,
  TIDE_VERB_VIEW,
  TIDE_VERB_SERVE,
  TIDE_VERB_DIFF,
  TIDE_VERB_CHECK,
  TIDE_VERB_EXPLAIN,
  TIDE_VERB_MERGE,
  TIDE_VERB_FETCH,
  TIDE_VERB_INFO,
  TIDE_VERB_HTML,
  TIDE_VERB_EXPORT,
  TIDE_VERB_SYMBOLIZE,
  TIDE_VERB_HELP,
  TIDE_VERB_VERSION,
  TIDE_VERBS_N,
};

enum tide_color { TIDE_COLOR_AUTO, TIDE_COLOR_ALWAYS, TIDE_COLOR_NEVER };

// What was asked for. Strings belong to argv.
enum tide_tree_group { TIDE_TREE_HEAP, TIDE_TREE_PAGES }; // what a tree is of

struct tide_arguments {
  enum tide_verb verb;
  bool try_trim;    // of maps
  bool has_command; // "--" stood before the rest
  bool help, force, quiet, no_follow, wait, json, csv, md, no_pager, all_frames, no_debuginfod;
  bool no_open, detach, view, redact_args, start_paused;
  bool events; // ad hoc ones in place of the heap
  bool no_cache, no_symbols, fold, invert, lines, details, exit_code, all;
  const char *output, *process, *to, *rules;
  const char *at, *range;
  const char *from, *until; // moments
  const char *threshold;
  const char *duration; // how long to record
  const char *listen, *editor;
  const char *serve, *token_file; // for profilers: where, and by which token; NULL: not given
  uint64_t port;                  // 0: any
  uint64_t timeout_s, seconds;    // for an answer; between two looks; 0: not given
  const char *function, *file, *module, *ignore, *focus, *hide; // regular expressions
  const char *callers, *callees;                                // likewise
  const char *min_share;                                        // as it was typed
  uint64_t sample; // one sample for so many bytes; 0: every event
  uint64_t depth;  // 0: no limit
  uint64_t top;    // 0: not given
  uint64_t stacks; // per place; 0: none
  uint64_t min_bytes;
  bool sources;
  uint64_t max_bytes, max_stacks; // of what is written; 0: not given
  int sort;                       // in tide_sort_words; -1: not given
  int by;                         // enum tide_by
  const char *suppressions;
  int group;                              // enum tide_group_kind; -1: not given
  int tree_group;                         // enum tide_tree_group
  int blame;                              // enum tide_blamed; -1: not said
  int color;                              // enum tide_color
  int units;                              // enum tide_units
  int how;                                // enum tide_how
  char *debug_dirs;                       // separated by colons; owned; NULL: not given
  char *push, *push_labels;               // separated by line ends; owned; NULL: not given
  char *dump_every, *dump_on, *dump_keep; // likewise
  const char *push_token_file, *push_tenant;
  bool push_debuginfo;
  uint64_t push_every_s;                        // 0: not given
  const char *max[TIDE_LIMITED_N], *max_growth; // of check, as they were typed; NULL: not given
  char *max_sites;                              // likewise, separated by line ends; owned
  const char *baseline, *budget, *program, *result;
  int check_format; // enum tide_check_format
  char **rest;      // what is not an option, NULL-terminated; owned
  size_t n_rest;
};

// ---- the tables ----

enum tide_operand { // what a verb's own words are, for completion
  TIDE_OPERAND_NONE,
  TIDE_OPERAND_COMMAND,
  TIDE_OPERAND_CAPTURE,
  TIDE_OPERAND_VERB,
};

struct tide_verb_row {
  const char *name, *operands, *summary;
  const char *more; // paragraphs for its own help page; lines end in \n
  enum tide_operand operand;
};

enum tide_option_kind {
  TIDE_OPTION_FLAG,    // bool
  TIDE_OPTION_TEXT,    // const char *
  TIDE_OPTION_PATHS,   // char *, owned: may be given again, separated by colons
  TIDE_OPTION_LIST,    // the same, separated by line ends
  TIDE_OPTION_NUMBER,  // uint64_t, at least 1
  TIDE_OPTION_COUNT,   // the same, its value optional: --name is 1, --name=N is N
  TIDE_OPTION_SECONDS, // uint64_t, at least 1: 90, 90s, 1.5m
  TIDE_OPTION_SIZE,    // uint64_t, in bytes
  TIDE_OPTION_EVERY,   // the same, its value optional: --name is the usual one
  TIDE_OPTION_CHOICE,  // int, index in words
};

struct tide_option_row {
  unsigned verbs; // bit per verb
  char letter;    // 0: none
  const char *name;
  const char *value; // what its value is called in help, FILE for a path; NULL for flags
  enum tide_option_kind kind;
  size_t offset;            // in struct tide_arguments
  const char *const *words; // of a choice
  size_t n_words;
  const char *help;
};

// May it be given without its value?
static inline bool tide_option_is_optional(const struct tide_option_row *row)
{
  return row->kind == TIDE_OPTION_COUNT || row->kind == TIDE_OPTION_EVERY;
}

extern const struct tide_verb_row tide_verb_rows[TIDE_VERBS_N];
extern const struct tide_option_row tide_option_rows[];
extern const size_t tide_option_rows_n;

// ---- reading and explaining ----

// Reads argv[1] as the verb and the rest as its options. A failure is always TIDE_ERR_USAGE, with
// what was meant most likely. Free with tide_arguments_done() in either case.
enum tide_err tide_arguments_parse(int argc, char **argv, struct tide_arguments *ret_arguments,
                                   struct tide_diag *diag);
void tide_arguments_done(struct tide_arguments *arguments);

// The verb of that name; TIDE_VERBS_N when there is none (diag then suggests one).
enum tide_verb tide_verb_find(const char *name, struct tide_diag *diag);
const char *tide_verb_name(enum tide_verb verb);

// All verbs, or one verb with its options.
void tide_help_overview(struct tide_sink *sink);
void tide_help_verb(struct tide_sink *sink, enum tide_verb verb);

// How often is sampled: can it be had? name: of what was given that value.
enum tide_err tide_sampling_check(const char *name, const char *value, uint64_t bytes,
                                  struct tide_diag *diag);
