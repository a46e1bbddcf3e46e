// SPDX-License-Identifier: Apache-2.0
//
// The page itself, as the build put it into the command: one HTML file with script and style
// inside, a place for data, and a policy that lets nothing else run.
#pragma once
#include "base/err.h"
#include "base/sink.h"

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

// The page as a file that needs nobody: with what `write_data` writes in the place for data, and a
// policy that does not let it ask for anything. Fails when it has no such place or policy.
enum tide_err tide_embedded_page_fill(const struct tide_embedded_page *page, struct tide_sink *sink,
                                      void (*write_data)(struct tide_sink *sink, void *context),
                                      void *context, struct tide_diag *diag);
// How much of that is not data.
size_t tide_embedded_page_bytes(const struct tide_embedded_page *page);
