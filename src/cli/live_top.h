// SPDX-License-Identifier: Apache-2.0
//
// The live terminal of `tidemark top`: of a recording in this process, by a thread beside it, or of
// a source that somebody else writes.
#pragma once
#include "cli/arguments.h"
#include "model/capture.h"
#include "supervise/run.h"

struct tide_live_top;

// ---- beside a recording ----

enum tide_top_way { TIDE_TOP_RUN, TIDE_TOP_ATTACH };

// Before the recording, and before any thread. Of a run, makes the file that the command's output
// goes to, where that would be the terminal.
enum tide_err tide_live_top_new(const struct tide_arguments *arguments, enum tide_top_way way,
                                struct tide_live_top **ret_live, struct tide_diag *diag);
void tide_live_top_free(struct tide_live_top *live); // of one that was never started; NULL is fine

// For tide_run_options and tide_attach_options, the live top being the companion.
struct tide_control *tide_live_top_control(struct tide_live_top *live);
const int *tide_live_top_stdio(const struct tide_live_top *live);
void tide_live_top_start(void *live, const char *output_path);
uint64_t tide_live_top_spent_ns(void *live);

// The recording is over. Where its end is worth a look (the program has ended by itself) it is
// shown until the user leaves. Gives the terminal back, says where the command's output is, and
// frees it.
void tide_live_top_finish(struct tide_live_top *live, const struct tide_run_result *result,
                          bool is_worth_a_look);

// ---- of a source ----

struct tide_watching {
  struct tide_source *source; // taken over
  const char *how;            // "recorded by another tidemark"
  const char *quits;          // what q does
  const char *dumps;          // what dumps are named after; NULL: there is nothing to dump
  uint32_t rss_pid;           // whose RSS is shown; 0: the captures tell
};

// Until the user leaves. Gives the exit status.
int tide_live_top_watch(const struct tide_arguments *arguments,
                        const struct tide_watching *watching);
