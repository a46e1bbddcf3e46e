// SPDX-License-Identifier: Apache-2.0
//
// Source text for a page that nobody serves: the lines around the places in the program's own code
// that the stacks go through, the weightiest first, until there is no more room. A file is read
// only where frames name it by a whole path, where its name is that of source code (a capture from
// elsewhere may name any file, and the page may be sent on), where it is text, and where it has not
// changed since the program was recorded.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "page/page_data.h"

struct tide_page_sources {
  struct tide_buf json; // {"files": [{"path", "note", "parts": [{"line", "text"}]}]}
  size_t n_files;       // of which there are lines
};

// start_realtime_ns: of the recording; 0: not known, and every file is taken to be as it was.
// max_bytes: of text.
void tide_page_sources_init(struct tide_page_sources *sources, const struct tide_page_data *data,
                            uint64_t start_realtime_ns, uint64_t max_bytes);
void tide_page_sources_done(struct tide_page_sources *sources); // all zero is fine

// ---- one file ----
//
// The text of a source file, for a page that shows its lines. The path comes from debug info or
// from another tool's file, so it may be anything: only whole paths of regular files are read, of
// bounded size and without a NUL; nothing waits for a pipe or a device.

enum tide_err tide_source_text_read(const char *path, struct tide_buf *text,
                                    uint64_t *ret_changed_ns, struct tide_diag *diag);
