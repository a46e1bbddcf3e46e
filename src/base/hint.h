// SPDX-License-Identifier: Apache-2.0
//
// What a reader can do about it, as a value. Libraries know no options: whoever shows a sentence
// adds the way there in its own words (the command line: src/cli/hint_words.c) or leaves it out.
#pragma once

enum tide_hint {
  TIDE_HINT_NONE,
  // What to ask instead of what has no answer.
  TIDE_HINT_IN_BYTES,
  TIDE_HINT_ONE_TIME,       // a moment or a range, not both
  TIDE_HINT_LIVE,           // at a time
  TIDE_HINT_GROWN,          // over a range
  TIDE_HINT_COUNT,          // of allocations
  TIDE_HINT_MOMENT,         // instead of a range
  TIDE_HINT_PAGES_AT_TIMES, // what was mapped at a moment, or in a range
  TIDE_HINT_WHOLE_RUN,      // neither moment nor range
  TIDE_HINT_NO_MEASURE,     // the format has one
  TIDE_HINT_MOMENT_OR_PEAK, // what was live at a moment
  TIDE_HINT_TABLE,          // of places, not over time
  TIDE_HINT_THRESHOLD,      // a larger one
  TIDE_HINT_ANY_PORT,       // a free one
  TIDE_HINT_WAIT_LONGER,    // for an answer
  TIDE_HINT_WAIT_FOR_ALL,   // that the command started
  TIDE_HINT_TOKEN,          // to be let in
  TIDE_HINT_REPLACE,        // the file that is there
  TIDE_HINT_OUTPUT_FILE,    // in a directory
  TIDE_HINT_DEBUG_DIR,      // where a debug file or a copy of a module lies
  // What is left out here, and how it is shown.
  TIDE_HINT_ALL_FRAMES,
  TIDE_HINT_ALL_NODES,
  TIDE_HINT_PROCESS,    // another one of the capture
  TIDE_HINT_OF_PROCESS, // the one that follows, within a command
  // What to look at next.
  TIDE_HINT_SEE_PAGE,
  TIDE_HINT_SEE_REPORT,
  TIDE_HINT_SEE_LEAKS,
  TIDE_HINT_SEE_TEMPORARY,
  TIDE_HINT_SEE_TOTAL,
  TIDE_HINT_SEE_COUNT, // of allocations
  TIDE_HINT_SEE_PAGES, // mapped by the program itself
  TIDE_HINT_SEE_TREE_OF_PAGES,
  TIDE_HINT_SEE_EVENTS, // that the program counted
  TIDE_HINT_SEE_TREE_OF_EVENTS,
  TIDE_HINT_SEE_EXPORT_OF_EVENTS,
  TIDE_HINT_SEE_DIFF,      // of two captures
  TIDE_HINT_SEE_DIFF_WITH, // of this one with another
  TIDE_HINT_SEE_DIFF_OF,   // the two files that follow
  TIDE_HINT_SEE_INFO,
  TIDE_HINT_SEE_MAPS,
  TIDE_HINT_SEE_FINDINGS,
  TIDE_HINT_SEE_EXPORT,
  TIDE_HINT_SEE_TREE, // this and those that follow: by measure, in the order of enum tide_measure
  TIDE_HINT_SEE_TREE_LAST = TIDE_HINT_SEE_TREE + 5,
  TIDE_HINTS_N,
};

// The words for a hint; NULL: there is nothing the reader could do.
typedef const char *tide_hint_words(enum tide_hint hint);
