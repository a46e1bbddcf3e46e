// SPDX-License-Identifier: Apache-2.0
//
// Maps of made code, of any bytes, cut anywhere. An input is the size of the pieces (one byte),
// then the text. In one piece or in many, the names must be the same.
#include "symbol/perfmap.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const uint64_t addrs[] = {0, 1, 0x10, 0x100, 0x1000, 0x1010, 0x7f00000000ff, UINT64_MAX};
enum { ADDRS_N = sizeof addrs / sizeof *addrs };

static struct tide_perfmap *read_text(const char *text, size_t n, size_t piece)
{
  struct tide_perfmap *map = tide_perfmap_new(addrs, ADDRS_N);
  for (size_t at = 0; at < n; at += piece)
    tide_perfmap_feed(map, text + at, n - at < piece ? n - at : piece);
  tide_perfmap_end(map);
  return map;
}

static void check_parts(const char *name)
{
  struct tide_perfmap_place place;
  tide_perfmap_split(name, &place);
  if (strlen(place.function) > strlen(name) + strlen("(anonymous)") ||
      (place.file && strlen(place.file) > strlen(name)))
    abort();
  tide_perfmap_place_done(&place);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  if (n == 0)
    return 0;
  const char *text = (const char *)data + 1;
  struct tide_perfmap *whole = read_text(text, n - 1, n),
                      *cut = read_text(text, n - 1, data[0] + 1u);
  for (int i = 0; i < ADDRS_N; i++) {
    const char *a = tide_perfmap_name(whole, addrs[i]), *b = tide_perfmap_name(cut, addrs[i]);
    if ((a == NULL) != (b == NULL) || (a && strcmp(a, b) != 0))
      abort();
    if (a)
      check_parts(a);
  }
  tide_perfmap_free(whole);
  tide_perfmap_free(cut);
  return 0;
}
