// SPDX-License-Identifier: Apache-2.0
//
// The page that stands in the command: what is put into it, and what is taken out.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "page/html_report.h"

#include <stdlib.h>
#include <string.h>

static void write_words(struct tide_sink *sink, enum tide_page_place place, void *context)
{
  tide_sink_text(sink, place == TIDE_PAGE_FACTS ? "[FACTS]" : context);
}

static enum tide_err fill(const char *html, struct tide_sink *sink)
{
  struct tide_diag diag = {0};
  const struct tide_embedded_page page = {html, strlen(html)};
  tide_sink_init(sink, NULL);
  enum tide_err err = tide_embedded_page_fill(&page, sink, write_words, "[DATA]", &diag);
  assert_int_equal(err != TIDE_ERR_OK, *diag.text != 0);
  return err;
}

#define META "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"
#define ASK " connect-src 'self';"
#define FACTS "<!--TIDEMARK-FACTS-->"
#define PLACE FACTS "d<!--TIDEMARK-DATA-->"

static void data_goes_in_and_the_network_out(void **state)
{
  struct tide_sink sink;
  assert_int_equal(fill("<a>" META ASK " base-uri 'none'\">b" PLACE "c", &sink), TIDE_ERR_OK);
  assert_string_equal(tide_buf_cstr(&sink.buf), "<a>" META " base-uri 'none'\">b[FACTS]d[DATA]c");
  tide_sink_done(&sink);
}

static void a_page_without_its_places_is_refused(void **state)
{
  static const char *const pages[] = {
      "",
      META ASK "\">",
      PLACE,
      META "\">" PLACE,
      PLACE META ASK "\">",
      ASK META "\">" PLACE,
      META ASK "\">" FACTS,
  };
  for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
    struct tide_sink sink;
    assert_int_equal(fill(pages[i], &sink), TIDE_ERR_FORMAT);
    assert_int_equal(sink.buf.n, 0);
    tide_sink_done(&sink);
  }
}

static void the_policy_can_be_had(void **state)
{
  const char html[] = "<a>" META ASK " base-uri 'none'\">";
  char *policy = tide_embedded_page_policy(&(struct tide_embedded_page){html, strlen(html)});
  assert_string_equal(policy, "default-src 'none';" ASK " base-uri 'none'");
  free(policy);
  assert_null(tide_embedded_page_policy(&(struct tide_embedded_page){"<a>", 3}));
}

// The page of this build, if it has one.
static void the_real_page_has_its_places(void **state)
{
  const struct tide_embedded_page *page = tide_embedded_page();
  if (!page)
    skip();
  struct tide_sink sink;
  assert_int_equal(page->html[page->n_html], 0);
  assert_int_equal(fill(page->html, &sink), TIDE_ERR_OK);
  assert_null(strstr(tide_buf_cstr(&sink.buf), "connect-src"));
  assert_non_null(strstr(tide_buf_cstr(&sink.buf), "script-src 'sha256-"));
  tide_sink_done(&sink);
}

UNIT_TESTS(embedded_page_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(data_goes_in_and_the_network_out),
      cmocka_unit_test(a_page_without_its_places_is_refused),
      cmocka_unit_test(the_policy_can_be_had),
      cmocka_unit_test(the_real_page_has_its_places),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
