// SPDX-License-Identifier: Apache-2.0
//
// tide_dump FILE: what the C reader sees in a .tide file, as JSON.
#include "base/buf.h"
#include "tide/file.h"
#include "tide_json.h"

#include <stdio.h>

int main(int argc, char **argv)
{
  struct tide_capture *capture = NULL;
  struct tide_diag diag;
  if (argc != 2)
    return fprintf(stderr, "usage: tide_dump FILE\n"), 2;
  if (tide_file_read(argv[1], &capture, &diag))
    return fprintf(stderr, "tide_dump: %s\n", diag.text), 1;
  struct tide_buf out = {0};
  tide_json_file(&out, capture);
  fwrite(out.data, 1, out.n, stdout);
  tide_buf_done(&out);
  tide_capture_free(capture);
  return 0;
}
