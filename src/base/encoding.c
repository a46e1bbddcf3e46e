// SPDX-License-Identifier: Apache-2.0
//
// zlib's stream between two buffers, which with our memory has nothing left to fail on; and base64,
// where three bytes become four characters, a piece at a time.
#include "base/sink.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <zlib.h>

// ---- gzip and zlib ----

enum { ZLIB_WINDOW = 15, GZIP_WINDOW = 15 + 16 }; // the largest; and zlib's way to say gzip

struct tide_gzip {
  struct tide_sink *sink;
  z_stream z;
  uint8_t out[64 * 1024];
};

static void *give_memory(void *opaque, unsigned n, unsigned bytes_each)
{
  return tide_alloc_array(n, bytes_each);
}

static void take_back(void *opaque, void *memory)
{
  free(memory);
}

static struct tide_gzip *start_gzip(struct tide_sink *sink, int window, int level)
{
  struct tide_gzip *gzip = tide_alloc(sizeof *gzip);
  gzip->sink = sink;
  gzip->z.zalloc = give_memory;
  gzip->z.zfree = take_back;
  deflateInit2(&gzip->z, level, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY);
  return gzip;
}

struct tide_gzip *tide_gzip_new(struct tide_sink *sink)
{
  return start_gzip(sink, GZIP_WINDOW, Z_DEFAULT_COMPRESSION);
}

struct tide_gzip *tide_gzip_new_zlib(struct tide_sink *sink, int level)
{
  return start_gzip(sink, ZLIB_WINDOW, level);
}

static void pump_gzip(struct tide_gzip *gzip, int flush)
{
  do {
    gzip->z.next_out = gzip->out;
    gzip->z.avail_out = sizeof gzip->out;
    deflate(&gzip->z, flush);
    tide_sink_bytes(gzip->sink, gzip->out, sizeof gzip->out - gzip->z.avail_out);
  } while (gzip->z.avail_out == 0);
}

void tide_gzip_bytes(struct tide_gzip *gzip, const void *data, size_t n)
{
  enum { PIECE = 1 << 30 }; // zlib counts in unsigned int
  const uint8_t *at = data;
  for (size_t piece; n; n -= piece, at += piece) {
    piece = n < PIECE ? n : PIECE;
    gzip->z.next_in = (uint8_t *)at;
    gzip->z.avail_in = (unsigned)piece;
    pump_gzip(gzip, Z_NO_FLUSH);
  }
}

void tide_gzip_finish(struct tide_gzip *gzip)
{
  pump_gzip(gzip, Z_FINISH);
  deflateEnd(&gzip->z);
  free(gzip);
}

// ---- base64 ----

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
