// SPDX-License-Identifier: Apache-2.0
//
// One window, refilled from a file or from memory through at most one decompressor.
#define _GNU_SOURCE
#include "import/stream.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { PACKED_BYTES = 128 << 10, WINDOW_BYTES = 256 << 10 };

struct tide_stream_inner {
  int fd; // -1: the bytes are in memory
  const uint8_t *bytes;
  size_t n_bytes;
  uint64_t n_packed; // taken from the file so far
  uint8_t *packed;   // read and not decompressed: packed_at .. packed_n
  size_t packed_at, packed_n;
  uint8_t *window;
  size_t window_cap;
  z_stream gzip;
  bool gzip_ready, gzip_between; // between: the last member ended where we are
  ZSTD_DStream *zstd;
  bool zstd_between;
};

static enum tide_err stop_reading(struct tide_stream *s, enum tide_err err)
{
  s->ended = true;
  s->err = err;
  return err;
}

// Up to n bytes of the file as it is. 0 at its end or after a failure.
static size_t take_raw(struct tide_stream *s, uint8_t *to, size_t n)
{
  struct tide_stream_inner *in = s->own;
  if (in->fd < 0) {
    size_t got = n < in->n_bytes ? n : in->n_bytes;
    if (got)
      memcpy(to, in->bytes, got);
    in->bytes += got;
    in->n_bytes -= got;
    in->n_packed += got;
    return got;
  }
  ssize_t got;
  do
    got = read(in->fd, to, n);
  while (got < 0 && errno == EINTR);
  if (got < 0)
    stop_reading(s, errno == EISDIR ? tide_fail(&s->diag, TIDE_ERR_FORMAT,
                                                "%s is not a capture: it is a directory", s->name)
                                    : tide_fail_errno(&s->diag, "cannot read %s", s->name));
  in->n_packed += got > 0 ? (uint64_t)got : 0;
  return got > 0 ? (size_t)got : 0;
}

// Makes sure that packed bytes are at hand; false at the end of the file.
static bool have_packed(struct tide_stream *s)
{
  struct tide_stream_inner *in = s->own;
  if (in->packed_at < in->packed_n)
    return true;
  in->packed_at = 0;
  in->packed_n = take_raw(s, in->packed, PACKED_BYTES);
  return in->packed_n > 0;
}

static size_t damaged_stream(struct tide_stream *s, const char *kind, const char *why)
{
  stop_reading(s, tide_fail_at(&s->diag, TIDE_ERR_DAMAGED, s->end_offset,
                               "%s: the %s data is damaged (%s) in what it unpacks to", s->name,
                               kind, why ? why : "no reason given"));
  return 0;
}

static size_t cut_short(struct tide_stream *s, const char *kind, bool between)
{
  if (!s->err && !between)
    stop_reading(s,
                 tide_fail_at(&s->diag, TIDE_ERR_CUT, s->end_offset,
                              "%s: the %s data is cut short in what it unpacks to", s->name, kind));
  s->ended = true;
  return 0;
}

// Another gzip member may follow; anything else behind the last one is padding and not ours.
static bool gzip_starts(struct tide_stream *s)
{
  struct tide_stream_inner *in = s->own;
  if (!have_packed(s) || in->packed[in->packed_at] != 0x1f)
    return false;
  inflateReset(&in->gzip);
  in->gzip_between = false;
  return true;
}

static size_t take_gzip(struct tide_stream *s, uint8_t *to, size_t n)
{
  struct tide_stream_inner *in = s->own;
  in->gzip.next_out = to;
  in->gzip.avail_out = (uInt)n;
  while (in->gzip.avail_out == n) {
    if (in->gzip_between ? !gzip_starts(s) : !have_packed(s))
      return cut_short(s, "gzip", in->gzip_between);
    in->gzip.next_in = in->packed + in->packed_at;
    in->gzip.avail_in = (uInt)(in->packed_n - in->packed_at);
    int result = inflate(&in->gzip, Z_NO_FLUSH);
    in->packed_at = in->packed_n - in->gzip.avail_in;
    if (result == Z_STREAM_END)
      in->gzip_between = true;
    else if (result != Z_OK && result != Z_BUF_ERROR)
      return damaged_stream(s, "gzip", in->gzip.msg);
  }
  return n - in->gzip.avail_out;
}

static size_t take_zstd(struct tide_stream *s, uint8_t *to, size_t n)
{
  struct tide_stream_inner *in = s->own;
  ZSTD_outBuffer out = {to, n, 0};
  while (out.pos == 0) {
    if (!have_packed(s)) {
      // What the decompressor still holds back comes without more input.
      ZSTD_inBuffer none = {NULL, 0, 0};
      size_t result = in->zstd_between ? 0 : ZSTD_decompressStream(in->zstd, &out, &none);
      if (out.pos == 0 || ZSTD_isError(result))
        return cut_short(s, "zstd", in->zstd_between);
      break;
    }
    ZSTD_inBuffer from = {in->packed, in->packed_n, in->packed_at};
    size_t result = ZSTD_decompressStream(in->zstd, &out, &from);
    in->packed_at = from.pos;
    if (ZSTD_isError(result))
      return damaged_stream(s, "zstd", ZSTD_getErrorName(result));
    in->zstd_between = result == 0;
  }
  return out.pos;
}

static size_t take_bytes(struct tide_stream *s, uint8_t *to, size_t n)
{
  switch (s->packing) {
  case TIDE_PACKING_GZIP: return take_gzip(s, to, n);
  case TIDE_PACKING_ZSTD: return take_zstd(s, to, n);
  default: break;
  }
  struct tide_stream_inner *in = s->own;
  if (!have_packed(s)) {
    s->ended = true;
    return 0;
  }
  size_t got = in->packed_n - in->packed_at < n ? in->packed_n - in->packed_at : n;
  memcpy(to, in->packed + in->packed_at, got);
  in->packed_at += got;
  return got;
}

static bool is_a_bomb(const struct tide_stream *s)
{
  if (s->packing == TIDE_PACKING_NONE || s->end_offset <= TIDE_SOURCE_FREE_BYTES)
    return false;
  return s->end_offset > TIDE_STREAM_MAX_BYTES ||
         s->end_offset / TIDE_SOURCE_MAX_RATIO > s->own->n_packed;
}

// The unread part moves to the front of a window that has room for n bytes.
static void make_room(struct tide_stream *s, size_t n)
{
  struct tide_stream_inner *in = s->own;
  size_t left = (size_t)(s->end - s->at);
  if (left)
    memmove(in->window, s->at, left);
  if (n > in->window_cap) {
    size_t cap = in->window_cap * 2 > n ? in->window_cap * 2 : n;
    in->window = tide_realloc_array(in->window, cap + 1, 1);
    in->window_cap = cap;
  }
  s->at = in->window;
  s->end = in->window + left;
}

size_t tide_stream_fill(struct tide_stream *s, size_t n)
{
  struct tide_stream_inner *in = s->own;
  if ((size_t)(s->end - s->at) >= n || s->ended)
    return (size_t)(s->end - s->at);
  make_room(s, n);
  while ((size_t)(s->end - s->at) < n && !s->ended) {
    size_t used = (size_t)(s->end - in->window);
    size_t got = take_bytes(s, in->window + used, in->window_cap - used);
    s->end += got;
    s->end_offset += got;
    if (is_a_bomb(s))
      stop_reading(s, tide_fail_at(&s->diag, TIDE_ERR_LIMIT, s->end_offset,
                                   "%s unpacks to far more than a profile would (from %llu bytes); "
                                   "unpack it by hand if you trust it: stopped",
                                   s->name, (unsigned long long)in->n_packed));
  }
  in->window[s->end - in->window] = 0;
  return (size_t)(s->end - s->at);
}

static void tell_packing(struct tide_stream *s)
{
  struct tide_stream_inner *in = s->own;
  // A pipe may give its first bytes one by one.
  while (!s->ended && in->packed_n < 4) {
    size_t got = take_raw(s, in->packed + in->packed_n, PACKED_BYTES - in->packed_n);
    if (got == 0)
      break;
    in->packed_n += got;
  }
  if (in->packed_n >= 2 && memcmp(in->packed, "\x1f\x8b", 2) == 0) {
    s->packing = TIDE_PACKING_GZIP;
    in->gzip_ready = inflateInit2(&in->gzip, 15 + 16) == Z_OK;
    if (!in->gzip_ready)
      stop_reading(s, tide_fail(&s->diag, TIDE_ERR_SYSTEM, "%s: zlib does not start", s->name));
  } else if (in->packed_n >= 4 && memcmp(in->packed, "\x28\xb5\x2f\xfd", 4) == 0) {
    s->packing = TIDE_PACKING_ZSTD;
    in->zstd = ZSTD_createDStream();
    if (!in->zstd || ZSTD_isError(ZSTD_initDStream(in->zstd)))
      stop_reading(s, tide_fail(&s->diag, TIDE_ERR_SYSTEM, "%s: zstd does not start", s->name));
  }
}

static struct tide_stream *source_new(int fd, const void *bytes, size_t n, const char *name)
{
  struct tide_stream *s = tide_alloc(sizeof *s);
  s->own = tide_alloc(sizeof *s->own);
  s->name = tide_strdup(name);
  s->own->fd = fd;
  s->own->bytes = bytes;
  s->own->n_bytes = n;
  s->own->packed = tide_alloc(PACKED_BYTES);
  s->own->window = tide_alloc(WINDOW_BYTES + 1);
  s->own->window_cap = WINDOW_BYTES;
  s->at = s->end = s->own->window;
  tell_packing(s);
  return s;
}

struct tide_stream *tide_stream_new(const void *bytes, size_t n, const char *name)
{
  return source_new(-1, bytes, n, name);
}

enum tide_err tide_stream_open(const char *path, struct tide_stream **ret_stream,
                               struct tide_diag *diag)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return tide_fail_errno(diag, "cannot open %s", path);
  struct tide_stream *s = source_new(fd, NULL, 0, path);
  enum tide_err err = s->err;
  if (err) {
    if (diag)
      *diag = s->diag;
    tide_stream_free(s);
    return err;
  }
  *ret_stream = s;
  return TIDE_ERR_OK;
}

void tide_stream_free(struct tide_stream *s)
{
  if (!s)
    return;
  struct tide_stream_inner *in = s->own;
  if (in->fd >= 0)
    close(in->fd);
  if (in->gzip_ready)
    inflateEnd(&in->gzip);
  ZSTD_freeDStream(in->zstd);
  free(in->packed);
  free(in->window);
  free((char *)s->name);
  free(in);
  free(s);
}

static bool line_is_endless(struct tide_stream *s)
{
  stop_reading(s, tide_stream_fail(s, TIDE_ERR_LIMIT, tide_stream_offset(s), &s->diag,
                                   "a line is longer than %u bytes", TIDE_STREAM_MAX_LINE));
  s->at = s->end;
  return false;
}

bool tide_stream_line(struct tide_stream *s, struct tide_stream_line *ret_line)
{
  size_t seen = 0;
  for (;;) {
    size_t n = (size_t)(s->end - s->at);
    const uint8_t *newline = n > seen ? memchr(s->at + seen, '\n', n - seen) : NULL;
    if (newline || (s->ended && n)) {
      size_t length = newline ? (size_t)(newline - s->at) : n;
      bool has_return = newline && length && newline[-1] == '\r'; // it was on another system
      *ret_line = (struct tide_stream_line){(const char *)s->at, length - has_return,
                                            tide_stream_offset(s), newline};
      s->at += length + (newline ? 1 : 0);
      return true;
    }
    if (s->ended)
      return false;
    if (n > TIDE_STREAM_MAX_LINE)
      return line_is_endless(s);
    seen = n;
    // A window's worth at once, so that what is left over is moved seldom.
    tide_stream_fill(s, n + (n < WINDOW_BYTES / 2 ? WINDOW_BYTES / 2 : n));
  }
}

enum tide_err tide_stream_rest(struct tide_stream *s, size_t max_bytes, struct tide_buf *out,
                               struct tide_diag *diag)
{
  while (tide_stream_fill(s, 1) > 0) {
    size_t n = (size_t)(s->end - s->at);
    if (out->n + n > max_bytes)
      return tide_stream_fail(s, TIDE_ERR_LIMIT, tide_stream_offset(s), diag,
                              "more than %zu bytes are too many to be read at once", max_bytes);
    tide_buf_append(out, s->at, n);
    s->at = s->end;
  }
  return TIDE_ERR_OK;
}

enum tide_err tide_stream_status(const struct tide_stream *s, struct tide_diag *diag)
{
  if (s->err && diag)
    *diag = s->diag;
  return s->err;
}

enum tide_err tide_stream_fail(const struct tide_stream *s, enum tide_err err, uint64_t offset,
                               struct tide_diag *diag, const char *format, ...)
{
  if (!diag)
    return err;
  char why[384];
  va_list args;
  va_start(args, format);
  vsnprintf(why, sizeof why, format, args);
  va_end(args);
  *diag = (struct tide_diag){.has_offset = true, .offset = offset};
  snprintf(diag->text, sizeof diag->text, "%s: %s, at byte %llu%s", s->name, why,
           (unsigned long long)offset,
           s->packing == TIDE_PACKING_NONE ? "" : " of what it unpacks to");
  return err;
}
