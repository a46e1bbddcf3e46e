// SPDX-License-Identifier: Apache-2.0
//
// The .tide reader on any bytes. Each input is read twice: as it is, and with the checksums,
// sequence numbers and lengths of its parts put right, since no mutation would guess a checksum.
// Whatever is read must keep the promises of the model, and must survive being written and read.
#include "base/buf.h"
#include "tide/file.h"
#include "tide/format.h"
#include "fuzz_page.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void put_le(uint8_t *to, uint64_t v, unsigned bytes)
{
  for (unsigned i = 0; i < bytes; i++)
    to[i] = (uint8_t)(v >> 8 * i);
}

static uint64_t get_le(const uint8_t *from, unsigned bytes)
{
  uint64_t v = 0;
  for (unsigned i = 0; i < bytes; i++)
    v |= (uint64_t)from[i] << 8 * i;
  return v;
}

// Makes every part that fits the file a good one as far as its header goes. A length that does not
// fit is taken as "to the end".
static void put_right(uint8_t *data, size_t n)
{
  uint32_t sequence = 0;
  if (n >= TIDE_FILE_HEADER_BYTES) {
    memcpy(data, TIDE_FILE_MAGIC, TIDE_FILE_MAGIC_BYTES);
    put_le(data + 8, TIDE_FILE_MAJOR, 2);
  }
  for (size_t at = TIDE_FILE_HEADER_BYTES; at + TIDE_PART_HEADER_BYTES <= n;) {
    uint8_t *part = data + at;
    size_t room = n - at - TIDE_PART_HEADER_BYTES;
    uint64_t stored = get_le(part + 24, 8);
    if (stored > room)
      stored = room;
    put_le(part, TIDE_PART_MAGIC, 4);
    put_le(part + 6, part[6] & TIDE_PART_STORED, 2);
    put_le(part + 12, sequence++, 4);
    if (part[6] & TIDE_PART_STORED)
      put_le(part + 16, stored, 8);
    put_le(part + 24, stored, 8);
    put_le(part + TIDE_PART_CRC_OFFSET, 0, 4);
    put_le(part + TIDE_PART_CRC_OFFSET, crc32_z(0, part, TIDE_PART_HEADER_BYTES + stored), 4);
    at += TIDE_PART_HEADER_BYTES + stored;
  }
}

static void must(bool condition)
{
  if (!condition)
    abort();
}

static bool same_amount(const struct tide_image *a, const struct tide_image *b)
{
  return a->n_modules == b->n_modules && a->n_frames == b->n_frames && a->n_sites == b->n_sites &&
         a->n_threads_known == b->n_threads_known && a->n_ticks == b->n_ticks &&
         a->n_snapshots == b->n_snapshots && a->n_marks == b->n_marks &&
         a->names.n_places == b->names.n_places && a->names.n_frames == b->names.n_frames;
}

static void read_twice(const uint8_t *data, size_t n)
{
  struct tide_capture *capture = NULL, *again = NULL;
  struct tide_diag diag = {0};
  if (tide_file_parse(data, n, "fuzz", &capture, &diag)) {
    must(diag.text[0] != 0 && capture == NULL);
    return;
  }
  must(tide_capture_check(capture, NULL) == TIDE_ERR_OK);
  must(capture->cut == (capture->cut_note != NULL));
  fuzz_page(capture, data, n);
  struct tide_buf out = {0};
  must(tide_file_encode(capture, &out, &diag) == TIDE_ERR_OK);
  enum tide_err err = tide_file_parse(out.data, out.n, "fuzz", &again, &diag);
  if (err != TIDE_ERR_LIMIT) { // a file that says little in many bytes may come out very small
    must(err == TIDE_ERR_OK && !again->cut && again->n_images == capture->n_images);
    for (size_t i = 0; i < capture->n_images; i++)
      must(same_amount(&capture->images[i], &again->images[i]));
  }
  tide_buf_done(&out);
  tide_capture_free(again);
  tide_capture_free(capture);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  read_twice(data, n);
  uint8_t *copy = malloc(n ? n : 1);
  if (n)
    memcpy(copy, data, n);
  put_right(copy, n);
  read_twice(copy, n);
  free(copy);
  return 0;
}
