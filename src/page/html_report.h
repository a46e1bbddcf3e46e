// SPDX-License-Identifier: Apache-2.0
//
// The page and its data in one file that can be mailed or kept: no network, nothing beside it. It
// never grows beyond a limit, since a file that no browser opens is worth nothing: what matters
// least is gathered then, and the file says so.
#pragma once
#include "base/err.h"
#include "base/sink.h"
#include "profile/profile.h"
#include "view/naming.h"

// ---- the page itself ----
//
// The page itself, as the build put it into the command: one HTML file with script and style
// inside, a place for data, and a policy that lets nothing else run.

struct tide_embedded_page {
  const char *html; // static; ends in NUL
  size_t n_html;
};

// NULL when the command was built without the page (-Dui=disabled).
const struct tide_embedded_page *tide_embedded_page(void);
// Says what to do when there is none.
enum tide_err tide_embedded_page_check(const struct tide_embedded_page *page,
                                       struct tide_diag *diag);

// The page's policy as a server says it in a header; owned. NULL when the page has none.
char *tide_embedded_page_policy(const struct tide_embedded_page *page);

// The page as a file that needs nobody: with what `fill` writes in the places for data, and a
// policy that does not let it ask for anything. Fails when it has no such places or policy.
enum tide_page_place {
  TIDE_PAGE_FACTS, // before its script, which does not wait for more
  TIDE_PAGE_DATA,  // at the end
};
typedef void tide_page_filler(struct tide_sink *sink, enum tide_page_place place, void *context);
enum tide_err tide_embedded_page_fill(const struct tide_embedded_page *page, struct tide_sink *sink,
                                      tide_page_filler *fill, void *context,
                                      struct tide_diag *diag);
// How much of that is not data.
size_t tide_embedded_page_bytes(const struct tide_embedded_page *page);

// ---- with its data, as a file ----

struct tide_html_side { // one capture; two are compared
  const struct tide_profile *profile;
  struct tide_naming *naming;
  const char *file; // its name, or NULL
};

// Other processes of the capture, those that matter most first: as many of them as there is room
// for besides, with all their stacks, are in the file, too.
struct tide_html_others {
  const size_t *images; // not owned
  size_t n;
  // The names of one of them; the caller ends them.
  struct tide_naming *(*name)(void *context, const struct tide_image *image);
  void *context;
};

struct tide_html_report {
  const struct tide_embedded_page *page; // not owned
  const struct tide_html_side *sides;    // not owned
  size_t n_sides;                        // 1 or 2
  struct tide_html_others others;        // of a single side
  uint64_t limit_bytes;                  // of the whole file
  bool sources;                          // lines of source code, too, as page_sources.h says
};

struct tide_html_told { // what became of it
  uint64_t n_bytes;
  uint64_t n_stacks, n_gathered; // of all sides
  uint64_t n_source_files;       // of which there are lines
  size_t n_others;               // processes besides
};

// Fails, with nothing written, when the limit leaves no room for any data at all. A failure to
// write is the sink's to tell.
enum tide_err tide_html_report_write(const struct tide_html_report *report, struct tide_sink *sink,
                                     struct tide_html_told *ret_told, struct tide_diag *diag);
