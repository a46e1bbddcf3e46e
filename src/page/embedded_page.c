// SPDX-License-Identifier: Apache-2.0
//
// The page has a few places that are known by their text; ui/build.mjs sees to it that each is
// there once.
#define _GNU_SOURCE
#include "page/embedded_page.h"

#include "base/alloc.h"

#include <string.h>

static const char data_place[] = "<!--TIDEMARK-DATA-->";
static const char policy_start[] = "<meta http-equiv=\"Content-Security-Policy\" content=\"";
static const char asking[] = " connect-src 'self';"; // what only a served page needs

// Where a text is in the page; NULL when it is not.
static const char *text_in_page(const struct tide_embedded_page *page, const char *text)
{
  return memmem(page->html, page->n_html, text, strlen(text));
}

enum tide_err tide_embedded_page_check(const struct tide_embedded_page *page,
                                       struct tide_diag *diag)
{
  if (page)
    return TIDE_ERR_OK;
  return tide_fail(
      diag, TIDE_ERR_UNSUPPORTED,
      "this tidemark was built without the page; 'make' adds it where npm is installed and "
      "reaches its registry (and -Dui=disabled is not set); 'tidemark report' and "
      "'tidemark export' (svg) need none");
}

char *tide_embedded_page_policy(const struct tide_embedded_page *page)
{
  const char *start = text_in_page(page, policy_start);
  const char *end = start ? strchr(start + strlen(policy_start), '"') : NULL;
  if (!end)
    return NULL;
  start += strlen(policy_start);
  return tide_strndup(start, (size_t)(end - start));
}

enum tide_err tide_embedded_page_fill(const struct tide_embedded_page *page, struct tide_sink *sink,
                                      void (*write_data)(struct tide_sink *sink, void *context),
                                      void *context, struct tide_diag *diag)
{
  const char *policy = text_in_page(page, policy_start), *place = text_in_page(page, data_place);
  const char *ask = policy ? text_in_page(page, asking) : NULL;
  if (!ask || !place || ask < policy || place < ask)
    return tide_fail(diag, TIDE_ERR_FORMAT,
                     "the page in this tidemark is not whole: it was not built properly");
  const char *end = page->html + page->n_html;
  const char *after_ask = ask + strlen(asking), *after_place = place + strlen(data_place);
  tide_sink_bytes(sink, page->html, (size_t)(ask - page->html));
  tide_sink_bytes(sink, after_ask, (size_t)(place - after_ask));
  write_data(sink, context);
  tide_sink_bytes(sink, after_place, (size_t)(end - after_place));
  return TIDE_ERR_OK;
}

size_t tide_embedded_page_bytes(const struct tide_embedded_page *page)
{
  size_t n_out = strlen(data_place) + strlen(asking);
  return page->n_html > n_out ? page->n_html - n_out : 0;
}
