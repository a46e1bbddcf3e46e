// SPDX-License-Identifier: Apache-2.0
//
// Our own captures, as one of the formats: also from a pipe, and compressed once more.
#include "tide/file.h"
#include "tide/format.h"
#include "import/importers.h"

#include <string.h>

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
  if (!err)
    lack_what_was_cut(*ret_capture);
  tide_buf_done(&bytes);
  return err;
}
