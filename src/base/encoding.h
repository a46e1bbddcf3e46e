// SPDX-License-Identifier: Apache-2.0
//
// Bytes that go to a sink encoded, as they come: gzip, zlib, base64. The same bytes give the same
// file: no time and no name is written.
#pragma once
#include "base/sink.h"

struct tide_gzip;

struct tide_gzip *tide_gzip_new(struct tide_sink *sink); // which must outlive it
// The same in zlib's frame, which browsers call "deflate"; level from 1, fast, to 9, small.
struct tide_gzip *tide_gzip_new_zlib(struct tide_sink *sink, int level);
void tide_gzip_bytes(struct tide_gzip *gzip, const void *data, size_t n);
void tide_gzip_finish(struct tide_gzip *gzip); // writes the end and frees it

// Text that may stand anywhere: RFC 4648, with padding, in one line.
void tide_base64_write(struct tide_sink *sink, const void *bytes, size_t n);
