// SPDX-License-Identifier: Apache-2.0
//
// The table of resident memory, for people and for programs.
#pragma once
#include "report/screen.h"
#include "model/residence_table.h"
#include "view/view.h"

// What malloc_trim(0) gave back when it was called.
struct tide_residence_tried {
  uint64_t rss_before, rss_after, took_ns;
  uint64_t left_bytes; // mapped for the call, and not taken away
};

struct tide_residence_subject {
  const struct tide_residence *residence;
  uint32_t pid;
  const char *name;               // of the process
  const struct tide_image *image; // of a capture, whose table it is; NULL: of a process, now
  struct tide_view *view;         // through which its sites have names; NULL: none are known
  size_t n_rows;                  // of each list
  const struct tide_residence_tried *tried; // NULL: nobody asked for it
};

void tide_residence_write(const struct tide_screen *screen,
                          const struct tide_residence_subject *subject);
void tide_residence_json_write(struct tide_sink *sink,
                               const struct tide_residence_subject *subject);

// ---- places ----
//
// Sites gathered by the place they are blamed on, by falling size in memory.
struct tide_residence_place {
  char *words; // owned
  uint64_t n_blocks, asked, resident, untouched, swapped, n_pinned, pinned;
  uint64_t n_large, large_asked, large_touched;
  uint64_t n_sparse, sparse; // see model/residence_table.h
  bool is_mapped;
};
struct tide_residence_places {
  struct tide_residence_place *items;
  size_t n, cap;
};
void tide_residence_places_make(const struct tide_residence_subject *subject,
                                struct tide_residence_places *ret_places);
// Of the whole run so far: large blocks that were looked at right before they were freed or moved.
// Nothing else is told of these places.
void tide_residence_places_ended(const struct tide_residence_subject *subject,
                                 struct tide_residence_places *ret_places);
void tide_residence_places_done(struct tide_residence_places *places);

// "load, src/index.c:88": the place that a stack is blamed on, or "(no stack)". free().
char *tide_place_of_stack(struct tide_view *view, uint32_t stack);

// "load, src/index.c:88": the place of the program that mapped a file; NULL: not known.
char *tide_residence_file_mapper(const struct tide_residence_subject *subject,
                                 const struct tide_residence_file *file);

// ---- the map of the heap ----

enum tide_residence_map_kind {
  TIDE_RESIDENCE_MAP_LIVE,
  TIDE_RESIDENCE_MAP_PINNED,
  TIDE_RESIDENCE_MAP_FREE,
  TIDE_RESIDENCE_MAP_KINDS
};
const char *tide_residence_map_words(enum tide_residence_map_kind kind);
char *tide_residence_map_title(const struct tide_residence *residence, struct tide_style style);
// Nothing where there is no map.
void tide_residence_map_write(const struct tide_screen *screen,
                              const struct tide_residence *residence);

// ---- told ----
//
// The table and what it means, in words: what the command prints and the page shows.
struct tide_residence_line {
  int64_t bytes;  // below zero: not in memory
  bool has_share; // is a part of the sum
  char *words;    // owned; NULL: there is no such line
};

enum tide_residence_list_kind {
  TIDE_RESIDENCE_LIST_ROWS, // these add up to the sum
  TIDE_RESIDENCE_LIST_PLACES,
  TIDE_RESIDENCE_LIST_PINS,
  TIDE_RESIDENCE_LIST_RUNS,
  TIDE_RESIDENCE_LIST_SPARSE,
  TIDE_RESIDENCE_LIST_LARGE,
  TIDE_RESIDENCE_LIST_ENDED,
  TIDE_RESIDENCE_LIST_ARENAS,
  TIDE_RESIDENCE_LIST_FILES,
  TIDE_RESIDENCE_LISTS
};
const char *tide_residence_list_key(enum tide_residence_list_kind kind);
const char *tide_residence_list_title(enum tide_residence_list_kind kind); // NULL: of the rows

struct tide_residence_list {
  struct tide_residence_line *lines;
  size_t n, cap;
  size_t n_left; // of those worth a line
};

enum tide_residence_note {
  TIDE_RESIDENCE_NOTE_FREE,
  TIDE_RESIDENCE_NOTE_TRIED,
  TIDE_RESIDENCE_NOTE_HUGE,
  TIDE_RESIDENCE_NOTE_BESIDE,
  TIDE_RESIDENCE_NOTE_MISSED,
  TIDE_RESIDENCE_NOTE_LIMITS,
  TIDE_RESIDENCE_NOTES
};
const char *tide_residence_note_label(enum tide_residence_note note);

struct tide_residence_told {
  char *title;
  struct tide_residence_list lists[TIDE_RESIDENCE_LISTS];
  struct tide_residence_line sum;
  struct tide_residence_line absent; // beside the sum: asked for, and not in memory
  char *notes[TIDE_RESIDENCE_NOTES]; // NULL: there is nothing to say
};
void tide_residence_told_make(const struct tide_residence_subject *subject, struct tide_style style,
                              struct tide_residence_told *ret_told);
void tide_residence_told_done(struct tide_residence_told *told);
