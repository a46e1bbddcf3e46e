// SPDX-License-Identifier: Apache-2.0
//
// The table of resident memory, for people and for programs.
#pragma once
#include "report/screen.h"
#include "model/residence_table.h"
#include "view/view.h"

struct tide_residence_subject {
  const struct tide_residence *residence;
  uint32_t pid;
  const char *name;               // of the process
  const struct tide_image *image; // of a capture, whose table it is; NULL: of a process, now
  struct tide_view *view;         // through which its sites have names; NULL: none are known
  size_t n_rows;                  // of each list
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
  uint64_t n_blocks, asked, resident, untouched, n_pinned, pinned;
  uint64_t n_large, large_asked, large_resident; // see model/residence_table.h
  bool is_mapped;
};
struct tide_residence_places {
  struct tide_residence_place *items;
  size_t n, cap;
};
void tide_residence_places_make(const struct tide_residence_subject *subject,
                                struct tide_residence_places *ret_places);
void tide_residence_places_done(struct tide_residence_places *places);

// "load, src/index.c:88": the place of the program that mapped a file; NULL: not known.
char *tide_residence_file_mapper(const struct tide_residence_subject *subject,
                                 const struct tide_residence_file *file);
