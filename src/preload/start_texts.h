// SPDX-License-Identifier: Apache-2.0
//
// What is kept of a process's start, by start.c and exec_env.c. Together, for most of it is empty:
// each page of its own would cost every process a fault, and every fork its copy.
#pragma once
#include "preload/environment.h"

struct tide_start_texts {
  char program[1024]; // its path
  char library[1024]; // path of this library
  struct tide_options options;
  char options_entry[4096]; // "TIDEMARK_OPTIONS=…"
};

extern struct tide_start_texts tide_start_texts;
