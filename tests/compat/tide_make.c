// SPDX-License-Identifier: Apache-2.0
//
// tide_make SEED SCALE FILE: writes the capture that tide_gen.h makes of a seed. With a fourth
// argument N: a capture of SCALE stacks and N snapshots as a real program would give. With a fifth
// one, of any number of rows: snapshots of more go to several parts; N may be 0.
#include "tide/file.h"
#include "tide/format.h"
#include "tide_gen.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
  if (argc < 4)
    return fprintf(stderr, "usage: tide_make SEED SCALE FILE [SNAPSHOTS [ROWS]]\n"), 2;
  uint64_t seed = strtoull(argv[1], NULL, 10);
  size_t scale = strtoull(argv[2], NULL, 10);
  size_t n_snapshots = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
  if (argc > 5)
    tide_snapshot_rows = strtoull(argv[5], NULL, 10);
  struct tide_capture *capture =
      n_snapshots ? tide_gen_program(seed, scale, n_snapshots) : tide_gen_capture(seed, scale);
  struct tide_diag diag;
  enum tide_err err = tide_file_write(capture, argv[3], &diag);
  if (err)
    fprintf(stderr, "tide_make: %s\n", diag.text);
  tide_capture_free(capture);
  return err != TIDE_ERR_OK;
}
