// SPDX-License-Identifier: Apache-2.0
//
// What is served, and nothing else:
//   /                               the page
//   /facts                          which captures there are, and their versions (JSON)
//   /data/N?process=I               the page's data of image I of capture N; without I, of the one
//                                   that is shown first
//   /source/N?process=I&text=T      the source file that text T of that data names
// A path is compared with these, never looked up in a file system; of files only those are read
// that frames of the capture name, and of those only the ones that are text.
#pragma once
#include "page/html_report.h"
#include "serve/exhibit.h"

enum { TIDE_ROUTES_MAX_CAPTURES = 2 };

struct tide_routes {
  struct tide_exhibit exhibits[TIDE_ROUTES_MAX_CAPTURES];
  size_t n_exhibits;
  const char *editor;      // template of a link that opens an editor: %f file, %l line; NULL: none
  struct tide_body *page;  // packed
  char *policy;            // the page's
  struct tide_body *facts; // as they were last asked for; NULL: not yet
  uint64_t facts_tag;
};

// Makes ready to serve a page, without any capture yet.
void tide_routes_init(struct tide_routes *routes, const struct tide_embedded_page *page);
// One capture more, as tide_exhibit_open() opens it.
enum tide_err tide_routes_add(struct tide_routes *routes, struct tide_source *source,
                              const struct tide_exhibit_namer *namer, const char *process,
                              struct tide_diag *diag);

// A tide_server_answer.
void tide_routes_answer(void *routes, const struct tide_request *request, struct tide_reply *reply);

// Looks whether there is something newer, which somebody wants or not.
void tide_routes_look(struct tide_routes *routes, bool is_wanted);
bool tide_routes_is_live(const struct tide_routes *routes); // will there be?
void tide_routes_done(struct tide_routes *routes);          // all zero is fine
