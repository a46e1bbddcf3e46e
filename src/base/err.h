// SPDX-License-Identifier: Apache-2.0
//
// Errors of the hosted code. A function that can fail returns enum tide_err and writes its ret_
// parameters only on success; the diag says what went wrong in one sentence a user can act on.
// Library code never prints and never exits: the command line prints the diag, once.
#pragma once
#include "base/hint.h"

#include <stdbool.h>
#include <stdint.h>

// The general kind of a failure, each with the words used when no better sentence is at hand.
#define TIDE_ERR_LIST(X)                                                                           \
  X(OK, "no error")                                                                                \
  X(SYSTEM, "the operating system refused")                                                        \
  X(FORMAT, "the file is not what it should be")                                                   \
  X(CUT, "the file ends too early")                                                                \
  X(DAMAGED, "the file is damaged")                                                                \
  X(VERSION, "the file was made by another version")                                               \
  X(LIMIT, "a limit was exceeded")                                                                 \
  X(NOT_FOUND, "not found")                                                                        \
  X(EXISTS, "already exists")                                                                      \
  X(USAGE, "the command line was not understood")                                                  \
  X(UNSUPPORTED, "not supported")                                                                  \
  X(EMPTY, "nothing was recorded")

enum tide_err {
#define X(name, text) TIDE_ERR_##name,
  TIDE_ERR_LIST(X)
#undef X
};

struct tide_diag {
  int sys_errno;       // 0 where errno says nothing
  bool has_offset;     // is offset meaningful?
  uint64_t offset;     // byte offset in the file at fault
  char text[512];      // one sentence, no newline, never empty after a failure
  enum tide_hint hint; // what the reader can do about it: whoever shows the sentence words it
};

// Fills diag (which may be NULL) and returns err, so that a failure is one statement.
enum tide_err tide_fail(struct tide_diag *diag, enum tide_err err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// The same with what the reader can do about it.
enum tide_err tide_fail_hint(struct tide_diag *diag, enum tide_err err, enum tide_hint hint,
                             const char *format, ...) __attribute__((format(printf, 4, 5)));
// The same with errno's text appended: "…: No space left on device".
enum tide_err tide_fail_errno(struct tide_diag *diag, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// The same with a byte offset appended: "…, at byte 4096".
enum tide_err tide_fail_at(struct tide_diag *diag, enum tide_err err, uint64_t offset,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));

const char *tide_err_text(enum tide_err err);
