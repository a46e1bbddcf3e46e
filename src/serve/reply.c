// SPDX-License-Identifier: Apache-2.0
//
// See reply.h. Packing is at zlib's quickest: the way is short, and level 6 would take five times
// as long for a tenth less.
#include "serve/reply.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

enum { LEVEL = 1, GZIP_WINDOW = 15 + 16, GUESS_BYTES = 1 << 16 };

struct tide_body *tide_body_new(void)
{
  struct tide_body *body = tide_alloc(sizeof *body);
  body->n_users = 1;
  return body;
}

struct tide_body *tide_body_share(struct tide_body *body)
{
  body->n_users++;
  return body;
}

void tide_body_free(struct tide_body *body)
{
  if (!body || --body->n_users)
    return;
  tide_buf_done(&body->bytes);
  free(body);
}

// zlib counts in 32 bits: larger buffers are handed over in pieces.
static unsigned piece(size_t n)
{
  return n < UINT32_MAX / 2 ? (unsigned)n : UINT32_MAX / 2;
}

struct tide_packer {
  z_stream z;
  struct tide_body *body;
};

struct tide_packer *tide_packer_new(void)
{
  struct tide_packer *packer = tide_alloc(sizeof *packer);
  packer->body = tide_body_new();
  if (deflateInit2(&packer->z, LEVEL, Z_DEFLATED, GZIP_WINDOW, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    abort(); // no memory: as in alloc.c
  return packer;
}

// Until what there is has been taken, or (Z_FINISH) everything is out.
static void pump_packer(struct tide_packer *packer, int how)
{
  struct tide_buf *out = &packer->body->bytes;
  z_stream *z = &packer->z;
  int state = Z_OK;
  do {
    z->next_out = tide_buf_extend(out, GUESS_BYTES);
    z->avail_out = GUESS_BYTES;
    state = deflate(z, how);
    out->n -= z->avail_out;
  } while (state == Z_OK && (z->avail_in || how == Z_FINISH));
}

void tide_packer_take(void *context, const void *bytes, size_t n)
{
  struct tide_packer *packer = context;
  packer->z.next_in = (uint8_t *)(uintptr_t)bytes; // zlib only reads
  while (n) {
    packer->z.avail_in = piece(n);
    n -= packer->z.avail_in;
    pump_packer(packer, Z_NO_FLUSH);
  }
}

struct tide_body *tide_packer_finish(struct tide_packer *packer)
{
  struct tide_body *body = packer->body;
  pump_packer(packer, Z_FINISH);
  deflateEnd(&packer->z);
  free(packer);
  return body;
}

enum tide_err tide_body_unpack(const struct tide_body *packed, struct tide_body **ret_plain,
                               struct tide_diag *diag)
{
  struct tide_body *body = tide_body_new();
  struct tide_buf *out = &body->bytes;
  z_stream z = {0};
  if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
    abort();
  size_t left = packed->bytes.n;
  z.next_in = packed->bytes.data;
  int state = Z_OK;
  while (state == Z_OK) {
    unsigned n = piece(left);
    z.avail_in = n;
    z.next_out = tide_buf_extend(out, GUESS_BYTES);
    z.avail_out = GUESS_BYTES;
    state = inflate(&z, Z_NO_FLUSH);
    left -= n - z.avail_in;
    out->n -= z.avail_out;
  }
  inflateEnd(&z);
  if (state != Z_STREAM_END) {
    tide_body_free(body);
    return tide_fail(diag, TIDE_ERR_DAMAGED, "what was packed does not unpack");
  }
  *ret_plain = body;
  return TIDE_ERR_OK;
}

void tide_reply_text(struct tide_reply *reply, unsigned status, const char *format, ...)
{
  va_list args;
  char text[1024];
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  tide_reply_done(reply);
  reply->status = status;
  reply->type = "text/plain; charset=utf-8";
  reply->body = tide_body_new();
  tide_buf_text(&reply->body->bytes, text);
  tide_buf_text(&reply->body->bytes, "\n");
}

void tide_reply_done(struct tide_reply *reply)
{
  tide_body_free(reply->body);
  *reply = (struct tide_reply){0};
}
