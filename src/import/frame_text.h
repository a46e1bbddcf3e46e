// SPDX-License-Identifier: Apache-2.0
//
// A frame as valgrind's tools and dhat-rs write it:
//
//   0x10917A: f (p.c:3)          0x48455EF: malloc (in /usr/libexec/…/vgpreload_dhat.so)
//   0x10917A: f (src/p.rs:3:9)   0x10917A: ???
//
// Function names hold any characters, parentheses too; what is in the last pair decides.
#pragma once
#include "base/buf.h"
#include "import/builder.h"

struct tide_frame_text {
  uint64_t addr; // 0: none
  struct tide_names_frame name;
  const char *object; // "": not told
};

// Texts point into scratch, valid until it changes. Any text gives a frame: what is not understood
// is taken for the function's name.
void tide_frame_text_parse(const char *text, size_t n, struct tide_buf *scratch,
                           struct tide_frame_text *ret_frame);

// The place of a chain of frames that share one address (n > 0), innermost first.
struct tide_import_place tide_frame_text_place(struct tide_builder *builder,
                                               const struct tide_frame_text *frame);
