// SPDX-License-Identifier: Apache-2.0
//
// Reading, and on demand writing, golden files.
#include "golden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tide_golden_expect(const struct tide_buf *text, const char *name)
{
  TIDE_CLEANUP_FREE char *path = tide_sprintf("%s/../golden/%s", TIDE_UNIT_DIR, name);
  bool write = getenv("TIDE_GOLDEN_WRITE");
  FILE *file = fopen(path, write ? "w+" : "r");
  assert_non_null(file);
  if (write) {
    fwrite(text->data, 1, text->n, file);
    rewind(file);
  }
  struct tide_buf golden = {0}, own = {0};
  char part[4096];
  for (size_t n; (n = fread(part, 1, sizeof part, file)) > 0;)
    tide_buf_append(&golden, part, n);
  fclose(file);
  tide_buf_append(&own, text->data, text->n);
  assert_string_equal(tide_buf_cstr(&own), tide_buf_cstr(&golden));
  tide_buf_done(&golden);
  tide_buf_done(&own);
}

void tide_golden_expect_width(const struct tide_buf *text, size_t width)
{
  TIDE_CLEANUP_FREE char *all = tide_strndup((const char *)text->data, text->n);
  for (char *save = NULL, *line = strtok_r(all, "\n", &save); line;
       line = strtok_r(NULL, "\n", &save))
    if (tide_utf8_width(line) > width)
      fail_msg("wider than %zu: %s", width, line);
}
