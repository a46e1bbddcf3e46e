// SPDX-License-Identifier: Apache-2.0
//
// zlib's stream between two buffers. With our memory it has nothing left to fail on.
#include "base/gzip.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <zlib.h>

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

static struct tide_gzip *start(struct tide_sink *sink, int window, int level)
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
  return start(sink, GZIP_WINDOW, Z_DEFAULT_COMPRESSION);
}

struct tide_gzip *tide_gzip_new_zlib(struct tide_sink *sink, int level)
{
  return start(sink, ZLIB_WINDOW, level);
}

static void pump(struct tide_gzip *gzip, int flush)
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
    pump(gzip, Z_NO_FLUSH);
  }
}

void tide_gzip_finish(struct tide_gzip *gzip)
{
  pump(gzip, Z_FINISH);
  deflateEnd(&gzip->z);
  free(gzip);
}
