// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a foreign file as a stream, gzip and zstd taken off on the way (told by content, any
// number of members or frames). A window of the stream is in memory, never more: readers of files
// of any size look at `at` .. `end`, take what they need and ask for more.
//
// Offsets count the bytes after decompression: that is the text which a person can look at with
// zcat. A failure (a cut or damaged stream, a limit) ends the stream like its end does; whoever
// reads to the end asks tide_stream_status() then.
//
// A compressed file may claim to be anything, so: beyond TIDE_SOURCE_FREE_BYTES at most
// TIDE_SOURCE_MAX_RATIO bytes come of one, at most TIDE_STREAM_MAX_BYTES in all. A line is at most
// TIDE_STREAM_MAX_LINE bytes.
#pragma once
#include "base/buf.h"
#include "base/err.h"

#define TIDE_SOURCE_FREE_BYTES (4ull << 30)
#define TIDE_SOURCE_MAX_RATIO 10000u // a tight loop recorded by heaptrack comes to half of this
#define TIDE_STREAM_MAX_BYTES (256ull << 30)
#define TIDE_STREAM_MAX_LINE (4u << 20)
#define TIDE_STREAM_HEAD_BYTES (64u << 10) // what a format is recognised by: command lines are long

enum tide_packing { TIDE_PACKING_NONE, TIDE_PACKING_GZIP, TIDE_PACKING_ZSTD };

struct tide_stream {
  const uint8_t *at, *end; // the window: what was not taken yet
  uint64_t end_offset;     // of `end` in the stream
  const char *name;        // for messages; owned
  enum tide_packing packing;
  bool ended; // nothing follows the window
  enum tide_err err;
  struct tide_diag diag;         // of err
  struct tide_stream_inner *own; // buffers and decompressors
};

// The file at path, or bytes that must outlive the source (fuzzing, tests).
enum tide_err tide_stream_open(const char *path, struct tide_stream **ret_stream,
                               struct tide_diag *diag);
struct tide_stream *tide_stream_new(const void *bytes, size_t n, const char *name);
void tide_stream_free(struct tide_stream *stream); // NULL is fine

// Makes the window at least n bytes long, unless the stream has less left. Gives what it has.
// Pointers into the window are void afterwards.
size_t tide_stream_fill(struct tide_stream *stream, size_t n);

// Where the window starts.
static inline uint64_t tide_stream_offset(const struct tide_stream *stream)
{
  return stream->end_offset - (uint64_t)(stream->end - stream->at);
}

struct tide_stream_line { // without its end; a NUL, '\r' or '\n' follows it, in memory that may be
                          // written
  const char *text;
  size_t n;
  uint64_t offset;
  bool is_whole; // ended by a newline: the last one of a cut file is not
};

// The next line, valid until the next call. False at the end of the stream.
bool tide_stream_line(struct tide_stream *stream, struct tide_stream_line *ret_line);

// The whole rest, for formats that cannot be read in passing. Fails beyond max_bytes.
enum tide_err tide_stream_rest(struct tide_stream *stream, size_t max_bytes, struct tide_buf *out,
                               struct tide_diag *diag);

// How the stream ended, if it has: TIDE_ERR_OK at its real end.
enum tide_err tide_stream_status(const struct tide_stream *stream, struct tide_diag *diag);

// "at byte N", and of which text where that is not the file's own.
enum tide_err tide_stream_fail(const struct tide_stream *stream, enum tide_err err, uint64_t offset,
                               struct tide_diag *diag, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
