// SPDX-License-Identifier: Apache-2.0
//
// Buffered output with one place to ask whether it worked.
#include "base/sink.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

enum { FLUSH_BYTES = 64 * 1024 };

void tide_sink_init(struct tide_sink *sink, FILE *file)
{
  *sink = (struct tide_sink){.file = file};
}

void tide_sink_done(struct tide_sink *sink)
{
  tide_buf_done(&sink->buf);
}

static void empty(struct tide_sink *sink)
{
  if (!sink->failed && sink->buf.n &&
      fwrite(sink->buf.data, 1, sink->buf.n, sink->file) != sink->buf.n)
    sink->failed = errno ? errno : EIO;
  tide_buf_clear(&sink->buf);
}

static void empty_if_full(struct tide_sink *sink)
{
  if (sink->file && sink->buf.n >= FLUSH_BYTES)
    empty(sink);
}

void tide_sink_bytes(struct tide_sink *sink, const void *data, size_t n)
{
  tide_buf_append(&sink->buf, data, n);
  empty_if_full(sink);
}

void tide_sink_text(struct tide_sink *sink, const char *text)
{
  tide_sink_bytes(sink, text, strlen(text));
}

// By hand: reports are numbers for the most part, and printf takes ten times as long.
void tide_sink_u64(struct tide_sink *sink, uint64_t v)
{
  char digits[20]; // of 2^64 - 1
  size_t at = sizeof digits;
  do
    digits[--at] = (char)('0' + v % 10);
  while (v /= 10);
  tide_sink_bytes(sink, digits + at, sizeof digits - at);
}

void tide_sink_printf(struct tide_sink *sink, const char *format, ...)
{
  char text[512];
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (n >= 0 && (size_t)n < sizeof text) {
    tide_buf_append(&sink->buf, text, (size_t)n);
  } else if (n >= 0) {
    uint8_t *room = tide_buf_extend(&sink->buf, (size_t)n + 1);
    vsnprintf((char *)room, (size_t)n + 1, format, again);
    sink->buf.n--; // the NUL
  }
  va_end(again);
  empty_if_full(sink);
}

void tide_sink_repeat(struct tide_sink *sink, char c, size_t n)
{
  memset(tide_buf_extend(&sink->buf, n), c, n);
  empty_if_full(sink);
}

enum tide_err tide_sink_finish(struct tide_sink *sink, const char *name, struct tide_diag *diag)
{
  if (sink->file) {
    empty(sink);
    if (!sink->failed && fflush(sink->file) != 0)
      sink->failed = errno ? errno : EIO;
  }
  if (!sink->failed)
    return TIDE_ERR_OK;
  errno = sink->failed;
  return tide_fail_errno(diag, "cannot write %s", name);
}
