// SPDX-License-Identifier: Apache-2.0
//
// With the page: its bytes come from tools/build_page.py, and are none where it could not be built.
#include "page/html_report.h"

extern const char tide_page_html[] __attribute__((visibility("hidden")));
extern const char tide_page_html_end[] __attribute__((visibility("hidden")));

const struct tide_embedded_page *tide_embedded_page(void)
{
  static struct tide_embedded_page page;
  page.html = tide_page_html;
  page.n_html = (size_t)(tide_page_html_end - tide_page_html);
  return page.n_html ? &page : NULL;
}
