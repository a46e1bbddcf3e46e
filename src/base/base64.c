// SPDX-License-Identifier: Apache-2.0
//
// Three bytes become four characters, a piece at a time.
#include "base/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Four characters of three bytes.
static void put_four(char *out, uint32_t word)
{
  for (int i = 0; i < 4; i++)
    out[i] = digits[word >> (18 - 6 * i) & 63];
}

void tide_base64_write(struct tide_sink *sink, const void *bytes, size_t n)
{
  const uint8_t *p = bytes;
  char out[4096];
  size_t used = 0;
  for (; n >= 3; n -= 3, p += 3, used += 4) {
    if (used == sizeof out) {
      tide_sink_bytes(sink, out, used);
      used = 0;
    }
    put_four(out + used, (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2]);
  }
  tide_sink_bytes(sink, out, used);
  if (n) {
    put_four(out, (uint32_t)p[0] << 16 | (n > 1 ? (uint32_t)p[1] << 8 : 0));
    out[3] = '=';
    out[2] = n > 1 ? out[2] : '=';
    tide_sink_bytes(sink, out, 4);
  }
}
