// SPDX-License-Identifier: Apache-2.0
//
// Our own captures, as one of the formats: also from a pipe, and compressed once more.
#include "capture/tide_file.h"
#include "capture/tide_format.h"
#include "import/importers.h"

#include <string.h>

// A file cut within its first bytes is still ours.
bool tide_own_recognise(const uint8_t *head, size_t n)
{
  size_t n_magic = n < TIDE_FILE_MAGIC_BYTES ? n : TIDE_FILE_MAGIC_BYTES;
  return n > 0 && memcmp(head, TIDE_FILE_MAGIC, n_magic) == 0;
}

enum tide_err tide_own_read(struct tide_source *source, struct tide_capture **ret_capture,
                            struct tide_diag *diag)
{
  struct tide_buf bytes = {0};
  enum tide_err err = tide_source_rest(source, TIDE_MAX_FILE_BYTES, &bytes, diag);
  if (!err)
    err = tide_source_status(source, diag);
  if (err == TIDE_ERR_CUT || err == TIDE_ERR_DAMAGED)
    err = TIDE_ERR_OK; // the parser says where what is left ends
  if (!err)
    err = tide_file_parse(bytes.data, bytes.n, source->name, ret_capture, diag);
  tide_buf_done(&bytes);
  return err;
}
