// SPDX-License-Identifier: Apache-2.0
//
// Where reports and exports go: a buffer that empties itself into a stdio stream as it fills, or
// keeps everything in memory when there is none. Writers write without checking; the first failure
// is remembered, later bytes are dropped, and tide_sink_finish() tells.
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <stdio.h>

struct tide_sink {
  struct tide_buf buf;
  FILE *file; // not owned; NULL: everything stays in buf
  int failed; // errno of the first failed write, else 0
};

void tide_sink_init(struct tide_sink *sink, FILE *file); // file may be NULL
void tide_sink_done(struct tide_sink *sink);

void tide_sink_bytes(struct tide_sink *sink, const void *data, size_t n);
void tide_sink_text(struct tide_sink *sink, const char *text);
void tide_sink_u64(struct tide_sink *sink, uint64_t v); // in decimal
void tide_sink_printf(struct tide_sink *sink, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void tide_sink_repeat(struct tide_sink *sink, char c, size_t n);

// Writes out what is left and flushes the stream. name is what the message calls the destination.
enum tide_err tide_sink_finish(struct tide_sink *sink, const char *name, struct tide_diag *diag);

// ---- encoded ----
//
// Bytes that go to a sink encoded, as they come: gzip, zlib, base64. The same bytes give the same
// file: no time and no name is written.

struct tide_gzip;

struct tide_gzip *tide_gzip_new(struct tide_sink *sink); // which must outlive it
// The same in zlib's frame, which browsers call "deflate"; level from 1, fast, to 9, small.
struct tide_gzip *tide_gzip_new_zlib(struct tide_sink *sink, int level);
void tide_gzip_bytes(struct tide_gzip *gzip, const void *data, size_t n);
void tide_gzip_finish(struct tide_gzip *gzip); // writes the end and frees it

// Text that may stand anywhere: RFC 4648, with padding, in one line.
void tide_base64_write(struct tide_sink *sink, const void *bytes, size_t n);
