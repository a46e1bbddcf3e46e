// SPDX-License-Identifier: Apache-2.0
//
// A command that was built without the page.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "page/html_report.h"

#include <string.h>

static void there_is_a_way_out(void **state)
{
  struct tide_diag diag = {0};
  assert_null(tide_embedded_page());
  assert_int_equal(tide_embedded_page_check(tide_embedded_page(), &diag), TIDE_ERR_UNSUPPORTED);
  assert_non_null(strstr(diag.text, "-Dui=disabled"));
  assert_non_null(strstr(diag.text, "tidemark export"));
}

static void a_page_needs_none(void **state)
{
  struct tide_diag diag = {0};
  const struct tide_embedded_page page = {"", 0};
  assert_int_equal(tide_embedded_page_check(&page, &diag), TIDE_ERR_OK);
  assert_int_equal(diag.text[0], 0);
}

UNIT_TESTS(left_out_page_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(there_is_a_way_out),
      cmocka_unit_test(a_page_needs_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
