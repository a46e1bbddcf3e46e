// SPDX-License-Identifier: Apache-2.0
//
// Captures in other tools' formats. A writer takes a view and streams: it needs memory for the
// model, not for what it writes. Views come without folding unless the user wants it, since
// viewers have filters of their own.
#pragma once
#include "base/sink.h"
#include "view/view.h"

struct tide_pprof_base;

enum tide_export_part { TIDE_EXPORT_ALL, TIDE_EXPORT_HELD, TIDE_EXPORT_ALLOCATED };

// What a limit took out: told by the writer, for whoever wants to say it.
struct tide_export_left_out {
  uint64_t n_stacks; // gathered as "[other]"; 0: none
  uint64_t n_kept;
};

struct tide_export_options {
  const char *file;      // the capture's path, for formats that name their source
  bool no_symbols;       // addresses and build ids, for servers that have the names
  bool names_without_id; // all the same, of code that no build id stands for
  bool measure_said;     // the user chose what to measure; otherwise a format takes what suits it
  // Of a recording that goes on, pprof alone: when it was asked, by the calendar; 0: not so.
  // Servers tell profiles apart by it, also of a process in which nothing happened meanwhile.
  uint64_t asked_realtime_ns;
  const struct tide_pprof_base *base; // all is the difference to this, of so long ago; NULL: none
  bool only_allocated_since;          // what was allocated is, and what is held is not
  uint64_t since_ns;                  // 0: readers need not know
  enum tide_export_part part;
  bool shows_allocated; // readers of pprof show first what was allocated, not what is held
  bool is_plain;        // not packed; pprof alone
  // For servers that refuse what is larger; pprof alone. 0: no limit.
  uint64_t max_bytes; // before it is packed
  uint64_t max_stacks;
  uint64_t max_frames;                   // of a stack; the outermost are left out
  struct tide_export_left_out *left_out; // NULL: nobody asks
};

// May fail where the view cannot be said in the format; then nothing was written.
typedef enum tide_err tide_export_fn(struct tide_sink *sink, struct tide_view *view,
                                     const struct tide_export_options *options,
                                     struct tide_diag *diag);

struct tide_export_format {
  const char *word, *suffix, *summary;
  bool says_exactness; // in the file
  tide_export_fn *write;
};

#define EXPORT(word, function, suffix, room, summary) tide_export_fn function;
#include "export/exports.def"
#undef EXPORT

// The format of that word; NULL when there is none.
const struct tide_export_format *tide_export_find(const char *word);
