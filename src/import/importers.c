// SPDX-License-Identifier: Apache-2.0
//
// The table of formats, and what to say of a file that is none of them.
#include "import/importers.h"

#include "base/given_file.h"
#include "tide/file.h"
#include "tide/format.h"

#include <stdio.h>
#include <string.h>

static const struct importer {
  const char *words;
  bool (*recognise)(const uint8_t *head, size_t n);
  enum tide_err (*read)(struct tide_stream *stream, struct tide_capture **ret_capture,
                        struct tide_diag *diag);
} importers[] = {
#define IMPORT(prefix, words) {words, tide_##prefix##_recognise, tide_##prefix##_read},
#include "import/importers.def"
#undef IMPORT
};

#define IMPORTERS_N (sizeof importers / sizeof *importers)

static enum tide_err refuse(const struct tide_stream *stream, size_t n, struct tide_diag *diag)
{
  enum tide_err err = tide_stream_status(stream, diag);
  if (err)
    return err;
  const char *packed = stream->packing == TIDE_PACKING_GZIP   ? " (gzip-compressed)"
                       : stream->packing == TIDE_PACKING_ZSTD ? " (zstd-compressed)"
                                                              : "";
  if (n == 0)
    return tide_fail(diag, TIDE_ERR_FORMAT, "%s is not a capture: it is empty%s", stream->name,
                     packed);
  char readable[320] = "";
  for (size_t i = 0; i < IMPORTERS_N; i++) {
    size_t used = strlen(readable);
    snprintf(readable + used, sizeof readable - used, "%s%s", i ? ", " : "", importers[i].words);
  }
  return tide_fail(diag, TIDE_ERR_FORMAT,
                   "%s is not a capture: it looks like %s%s; readable are %s", stream->name,
                   tide_file_kind(stream->at, n), packed, readable);
}

static enum tide_err import(struct tide_stream *stream, struct tide_capture **ret_capture,
                            struct tide_diag *diag)
{
  size_t n = tide_stream_fill(stream, TIDE_STREAM_HEAD_BYTES);
  if (n >= 3 && memcmp(stream->at, "\xef\xbb\xbf", 3) == 0) { // an editor's mark that it is UTF-8
    stream->at += 3;
    n -= 3;
  }
  if (n > TIDE_STREAM_HEAD_BYTES)
    n = TIDE_STREAM_HEAD_BYTES;
  for (size_t i = 0; i < IMPORTERS_N; i++)
    if (importers[i].recognise(stream->at, n))
      return importers[i].read(stream, ret_capture, diag);
  return refuse(stream, n, diag);
}

enum tide_err tide_import_file(const char *path, struct tide_capture **ret_capture,
                               struct tide_diag *diag)
{
  struct tide_stream *stream;
  enum tide_err err = tide_stream_open(path, &stream, diag);
  if (err)
    return err;
  err = import(stream, ret_capture, diag);
  tide_stream_free(stream);
  return err;
}

enum tide_err tide_import_bytes(const void *bytes, size_t n, const char *name,
                                struct tide_capture **ret_capture, struct tide_diag *diag)
{
  struct tide_stream *stream = tide_stream_new(bytes, n, name);
  enum tide_err err = import(stream, ret_capture, diag);
  tide_stream_free(stream);
  return err;
}

// ---- our own captures ----
//
// They are one of the formats: also from a pipe, and compressed once more.

// A file cut within its first bytes is still ours.
bool tide_own_recognise(const uint8_t *head, size_t n)
{
  size_t n_magic = n < TIDE_FILE_MAGIC_BYTES ? n : TIDE_FILE_MAGIC_BYTES;
  return n > 0 && memcmp(head, TIDE_FILE_MAGIC, n_magic) == 0;
}

// What stacks are left of a cut image tells who held how much of its peak, and nothing of the
// whole.
static void lack_what_was_cut(struct tide_capture *capture)
{
  for (size_t i = 0; i < capture->n_images; i++)
    if (capture->images[i].is_part)
      capture->images[i].lacks |= TIDE_LACK_LIVE | TIDE_LACK_TOTAL | TIDE_LACK_BLOCKS |
                                  TIDE_LACK_TEMP | TIDE_LACK_LIFETIMES | TIDE_LACK_LIFE_HIST |
                                  TIDE_LACK_SIZE_HIST | TIDE_LACK_RESIZES | TIDE_LACK_THREADS |
                                  TIDE_LACK_TIMES;
}

enum tide_err tide_own_read(struct tide_stream *stream, struct tide_capture **ret_capture,
                            struct tide_diag *diag)
{
  struct tide_buf bytes = {0};
  enum tide_err err = tide_stream_rest(stream, TIDE_MAX_FILE_BYTES, &bytes, diag);
  if (!err)
    err = tide_stream_status(stream, diag);
  if (err == TIDE_ERR_CUT || err == TIDE_ERR_DAMAGED)
    err = TIDE_ERR_OK; // the parser says where what is left ends
  if (!err)
    err = tide_file_parse(bytes.data, bytes.n, stream->name, ret_capture, diag);
  if (!err)
    lack_what_was_cut(*ret_capture);
  tide_buf_done(&bytes);
  return err;
}
