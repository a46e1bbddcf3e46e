// SPDX-License-Identifier: Apache-2.0
//
// A look at a program before it starts: can the recorder be loaded into it, and will it see the
// allocations? What it finds is one sentence for the user, with the way out. A program that cannot
// be recorded still runs.
#pragma once
#include "model/model.h"
#include "store/codes.h"

#include <stdbool.h>

struct tide_target {
  bool unfit;        // it cannot be recorded, or not as a whole
  enum tide_why why; // then
  char *detail;      // name of its allocator, loader or sanitizer, or ""; NULL when it is fine
  bool preload;      // set LD_PRELOAD for it? (a static program's children can be recorded)
  char *path;        // of the program, or of its script's interpreter; NULL when not found
  char *sentence;    // for the user; NULL when it is fine
};

// Judges a program by its file. True: unfit; *ret_detail is the caller's to free.
bool tide_target_judge(const char *path, enum tide_why *ret_why, char **ret_detail);

// Whose allocator a Rust program has.
enum tide_rust_kind {
  TIDE_RUST_NONE,       // it is no Rust program, or none with blocks
  TIDE_RUST_OF_LIBRARY, // the standard library's, which is libc's
  TIDE_RUST_OF_ITS_OWN, // a #[global_allocator]
  TIDE_RUST_UNTOLD,     // one of the two: optimized as a whole, or without symbols
};
struct tide_target_rust {
  enum tide_rust_kind kind;
  bool uses_libc;        // it calls libc's allocator, as the standard library's does
  uint64_t static_bytes; // that it has without mapping them
};
struct tide_target_rust tide_target_rust(const char *path);

// Has this machine programs that do not start with a library of glibc's preloaded? A static program
// that is not recorded hands its environment on to them.
bool tide_target_musl_is_here(void);

// command is looked up as execvp does; scripts are followed to their interpreter. What cannot be
// found or read is left to exec to complain about.
void tide_target_check(const char *command, struct tide_target *ret_target);
void tide_target_done(struct tide_target *target);

// ---- an allocator that the hooks did not see ----
//
// Has a recorded image an allocator that the hooks did not see? Its profile would be of nothing, or
// of the little that libc itself allocates, and look complete.
//
//  1. The program defines malloc: everybody finds that one before ours. Unless it passes on to the
//     next (a wrapper), nothing or next to nothing was counted.
//  2. It has the symbols or messages of an allocator that it calls by other names (_rjem_malloc,
//     je_malloc, Go's runtime). Unless most of its memory was recorded all the same, it was used.
//  3. Most of its memory is neither in a recorded block nor mapped through libc.

struct tide_own_allocators;

struct tide_own_allocators *tide_own_allocators_new(void);
void tide_own_allocators_free(struct tide_own_allocators *allocators); // NULL is fine

// What a program's file shows that goes with the reason why it is not recorded: the allocator of a
// static program, the name of a sanitizer. NULL: nothing. Lives as long as the allocators.
const char *tide_own_allocators_detail(struct tide_own_allocators *allocators, const char *exe,
                                       enum tide_why why);

// True: it has, and row's why and detail say which; detail lives as long as the allocators.
bool tide_own_allocator_judge(struct tide_own_allocators *allocators,
                              const struct tide_image *image, uint64_t max_anonymous_bytes,
                              struct tide_unrecorded *row);
