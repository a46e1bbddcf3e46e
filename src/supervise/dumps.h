// SPDX-License-Identifier: Apache-2.0
//
// Captures of a run that goes on, each a file of its own beside the output: when they are due, what
// they are called, and how many of them stay. OUT.tide has OUT.0001.tide, OUT.0002.tide, …
//
// Invariants:
//  1. one is made at a time; what becomes due meanwhile is one more, however often it became so,
//     and what was left out is counted;
//  2. a file is whole or not there (tide/file.h), and none that was there before is written to or
//     removed: numbers go on behind those of another run;
//  3. the newest stays, whatever the bounds are.
//
// All of it belongs to the watch's thread, but tide_dumps_ask(), and what is told at the end.
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

enum tide_dump_kind {
  TIDE_DUMP_TIME,      // every so many ns
  TIDE_DUMP_ALLOCATED, // every so many bytes that are allocated
  TIDE_DUMP_GROWTH,    // every so many bytes by which the heap is larger than at any dump before
  TIDE_DUMP_PEAK,      // the heap is so large and, after that, larger by a tenth than at the last
  TIDE_DUMP_RSS,       // the same of what one process has in memory; anew when it has shrunk
  TIDE_DUMP_LIMIT,  // so many ppm of a limit (limits.h) are used up, then half of the rest, and so
                    // on
  TIDE_DUMP_SIGNAL, // when we are asked; the value is the signal's number
  TIDE_DUMP_KINDS_N,
};

// Why a capture was dumped that somebody asked for, by tidemark ctl or top.
#define TIDE_DUMP_ASKED "asked for"

struct tide_dump_rule {
  enum tide_dump_kind kind;
  uint64_t value;
};

#define TIDE_DUMP_MAX_RULES 16

struct tide_dump_options {
  struct tide_dump_rule rules[TIDE_DUMP_MAX_RULES];
  size_t n_rules;
  uint32_t keep;       // files, at least 1
  uint64_t keep_bytes; // in all; the newest stays even if it is larger
  // Called with one sentence, no newline, about each dump. On the watch's thread; may be NULL.
  void (*say)(void *say_context, const char *sentence);
  // The same about what went wrong.
  void (*warn)(void *say_context, const char *sentence);
  void *say_context;
};

// The run as it is now, as far as rules need it (tide_dumps_needs); bytes are those of all its
// processes together, but for the RSS, which is that of the largest.
struct tide_dump_figures {
  uint64_t now_ns; // CLOCK_MONOTONIC
  uint64_t live_bytes, allocated_bytes, rss_bytes;
  uint64_t used_bytes, most_bytes; // of the nearest limit; most 0: there is none
  const char *limit;               // what limits
};

struct tide_dumps;

// Options are copied, output_path is. TIDE_ERR_USAGE: the output is no file that others could
// stand beside. Says so where dumps of another run are there.
enum tide_err tide_dumps_new(const struct tide_dump_options *options, const char *output_path,
                             uint64_t now_ns, struct tide_dumps **ret_dumps,
                             struct tide_diag *diag);
void tide_dumps_free(struct tide_dumps *dumps); // NULL is fine

bool tide_dumps_needs(const struct tide_dumps *dumps, enum tide_dump_kind kind);
// The signal by which we are asked; 0: none.
int tide_dumps_signal(const struct tide_dump_options *options);
// From any thread.
void tide_dumps_ask(struct tide_dumps *dumps);
bool tide_dumps_is_asked(const struct tide_dumps *dumps);

// When to look at the figures next, which took cost_ns to gather.
uint64_t tide_dumps_next_ns(const struct tide_dumps *dumps, const struct tide_dump_figures *figures,
                            uint64_t cost_ns);
// Why a dump is due now, as a sentence without its end; owned. NULL: none is. Then the rules go on
// from here, whether it can be written or not.
char *tide_dumps_due(struct tide_dumps *dumps, const struct tide_dump_figures *figures);

// The bytes of the capture that was made for it, or why there are none; and how long that took.
void tide_dumps_put(struct tide_dumps *dumps, const struct tide_buf *bytes, const char *why);
void tide_dumps_failed(struct tide_dumps *dumps, const struct tide_diag *diag, const char *why);
void tide_dumps_took(struct tide_dumps *dumps, uint64_t before_ns, uint64_t after_ns);

// How many there are, where, and what was left out, in sentences; owned. NULL: there is nothing to
// tell.
char *tide_dumps_summary(const struct tide_dumps *dumps);
