// SPDX-License-Identifier: Apache-2.0
//
// What the page is told in JSON: of an image, at the head of its data; and of all that it can show,
// before it asks for any data.
#pragma once
#include "base/json.h"
#include "page/page_data.h"

// Members of the open object: the facts of docs/page-data.md but for the columns.
void tide_page_facts_write(struct tide_json *json, const struct tide_profile *profile,
                           struct tide_naming *naming, const struct tide_page_options *options,
                           const struct tide_page_data *data);

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
