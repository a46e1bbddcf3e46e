// SPDX-License-Identifier: Apache-2.0
//
// The page and its data in one file that can be mailed or kept: no network, nothing beside it. It
// never grows beyond a limit, since a file that no browser opens is worth nothing: what matters
// least is gathered then, and the file says so.
#pragma once
#include "page/embedded_page.h"
#include "profile/profile.h"
#include "view/naming.h"

struct tide_html_side { // one capture; two are compared
  const struct tide_profile *profile;
  struct tide_naming *naming;
  const char *file; // its name, or NULL
};

struct tide_html_report {
  const struct tide_embedded_page *page; // not owned
  const struct tide_html_side *sides;    // not owned
  size_t n_sides;                        // 1 or 2
  uint64_t limit_bytes;                  // of the whole file
  bool sources;                          // lines of source code, too, as page_sources.h says
};

struct tide_html_told { // what became of it
  uint64_t n_bytes;
  uint64_t n_stacks, n_gathered; // of all sides
  uint64_t n_source_files;       // of which there are lines
};

// Fails, with nothing written, when the limit leaves no room for any data at all. A failure to
// write is the sink's to tell.
enum tide_err tide_html_report_write(const struct tide_html_report *report, struct tide_sink *sink,
                                     struct tide_html_told *ret_told, struct tide_diag *diag);
