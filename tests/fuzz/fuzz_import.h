// SPDX-License-Identifier: Apache-2.0
//
// A reader of a foreign format on any bytes, compressed or not. Whatever is read must keep the
// promises of the model, survive being written and read, and say so when it is cut.
#pragma once
#include "base/buf.h"
#include "tide/file.h"
#include "tide/format.h"
#include "fuzz_page.h"
#include "import/importers.h"

#include <stdlib.h>

typedef enum tide_err fuzz_reader(struct tide_stream *stream, struct tide_capture **ret_capture,
                                  struct tide_diag *diag);

static void must(bool condition)
{
  if (!condition)
    abort();
}

static inline void fuzz_import(fuzz_reader *read, const uint8_t *data, size_t n)
{
  struct tide_capture *capture = NULL, *again = NULL;
  struct tide_diag diag = {0};
  struct tide_stream *stream = tide_stream_new(data, n, "fuzz");
  enum tide_err err = read(stream, &capture, &diag);
  tide_stream_free(stream);
  if (err) {
    must(diag.text[0] != 0 && capture == NULL);
    return;
  }
  must(tide_capture_check(capture, NULL) == TIDE_ERR_OK);
  must(capture->cut == (capture->cut_note != NULL));
  must(capture->n_images == 1 && capture->images[0].origin);
  fuzz_page(capture, data, n);
  struct tide_buf out = {0};
  must(tide_file_encode(capture, &out, &diag) == TIDE_ERR_OK);
  err = tide_file_parse(out.data, out.n, "fuzz", &again, &diag);
  if (err != TIDE_ERR_LIMIT) // a file that says little in many bytes may come out very small
    must(err == TIDE_ERR_OK && !again->cut &&
         again->images[0].n_frames == capture->images[0].n_frames);
  tide_buf_done(&out);
  tide_capture_free(again);
  tide_capture_free(capture);
}
