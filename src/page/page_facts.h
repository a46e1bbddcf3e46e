// SPDX-License-Identifier: Apache-2.0
//
// What the page is told in JSON: of an image, at the head of its data; and of all that it can show,
// before it asks for any data.
#pragma once
#include "base/json.h"
#include "page/page_data.h"
#include "words/statements.h"

struct tide_page_told { // what happened, in sentences
  struct tide_statements *verdict;
  struct tide_statements *so_far; // the same while the run goes on; NULL: it does not
};

void tide_page_told_init(struct tide_page_told *told, const struct tide_profile *profile,
                         struct tide_naming *naming, const struct tide_page_options *options,
                         const struct tide_page_data *data);
void tide_page_told_done(struct tide_page_told *told);

// Members of the open object: the facts of docs/page-data.md but for the columns.
void tide_page_facts_write(struct tide_json *json, const struct tide_profile *profile,
                           const struct tide_naming *naming,
                           const struct tide_page_options *options,
                           const struct tide_page_data *data, const struct tide_page_told *told);

struct tide_page_capture {
  const struct tide_capture *capture;
  const char *file;
  size_t largest; // the image to begin with
};

struct tide_page_offer {
  const struct tide_page_capture *captures; // one, or two to be compared
  size_t n_captures;
  bool live;          // the run goes on: look again
  uint64_t version;   // rises when there is more to see
  bool sources;       // source files can be asked for
  const char *editor; // template of a link that opens a file, or NULL
};

// One object: captures (file, images, largest), live, version, sources, editor. Without a `<`, so
// that it can stand inside a page.
void tide_page_offer_write(struct tide_sink *sink, const struct tide_page_offer *offer);
